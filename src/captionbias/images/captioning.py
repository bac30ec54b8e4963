"""Captions of images from any image-to-text model of transformers: kept as they are made, shared by processes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, nullcontext
from functools import cache as memoised
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import numpy as np

from captionbias.attackers.pretrained.encoding import silenced
from captionbias.attackers.pretrained.models import first_line
from captionbias.attackers.ranks import device, share
from captionbias.captions.answers import is_refusal
from captionbias.errors import InputError, few, phrase
from captionbias.images import need_images
from captionbias.images.captioners import PROMPT, Captioner, Hearing, find_captioner, load_captioner
from captionbias.images.reading import Images, read_ahead, read_images
from captionbias.images.served import Draw, Served
from captionbias.io.store import open_store
from captionbias.progress import Watch, report_if_long
from captionbias.warnings import warn

if TYPE_CHECKING:
    from PIL.Image import Image
    from torch import Tensor

# Part of every key: raise it when captions are made or kept, or images digested, in another way.
FORMAT = 3
MOST_TOKENS, MOST_SERVED = 30, 300  # of a caption


def caption(
    model: str | Path,
    images: Any,
    *,
    endpoint: str | None = None,
    prompt: str | None = None,
    template_arguments: Mapping[str, Any] | None = None,
    batch_size: int = 16,
    max_new_tokens: int | None = None,
    num_beams: int = 1,
    temperature: float | None = None,
    top_p: float | None = None,
    sampling_seed: int = 0,
    dtype: str | None = None,
    device_map: str | Mapping[str, Any] | None = None,
    revision: str | None = None,
    cache: bool | str | Path = True,
    distributed: bool = False,
    watch: Watch | None = None,
) -> dict[str, str]:
    """Caption images with a model of transformers, and keep each caption: no image is captioned twice.

    A chat model (one with a chat template) answers a prompt about the image. The search is greedy, by beams, or
    sampled. A caption does not depend on the rest of its batch, except by rounding, and has no prompt, thoughts, boxes
    or their tokens.

    A run that was killed continues where it stopped, and loses at most one batch per process.

    Args:
        model: owner/name on the Hub, or a folder that `save_pretrained` wrote: weights (safetensors), processor or
            image processor, and tokenizer; or the adapter that peft saved for such a model, which needs `peft`. The
            model's own code is not run. With `endpoint`, the name that its server has for the model.
        images: see `captionbias.images.reading.read_images`.
        endpoint: address of a server that speaks OpenAI's protocol, such as "http://localhost:8000/v1"; needs `openai`.
            Its token is read from OPENAI_API_KEY. Images are sent as PNG, one batch at once.
        prompt: what a chat model is asked; for other models, the beginning of each caption, which is then removed. By
            default what its family takes: `captionbias.images.captioners.PROMPTS`.
        template_arguments: arguments of the chat template, such as `{"enable_thinking": False}`.
        batch_size: images per batch, in each process.
        max_new_tokens: longest caption, in tokens; when None 30, or 300 for a served model, which may say more than
            asked.
        num_beams: number of beams of the search.
        temperature, top_p: sample captions at this temperature (above 0), from the likeliest tokens whose probabilities
            add up to `top_p`, in (0, 1]; each image's by `sampling_seed`.
        dtype: type of the weights: float32, bfloat16, float16, or auto for that of the files. When None, bfloat16 on a
            GPU and float32 elsewhere.
        device_map: how transformers spreads the model over devices, such as "auto"; Accelerate's device when None.
        revision: branch, tag or commit of a model on the Hub.
        cache: keep captions in the usual folder (True), in this one, or not (False).
        distributed: share the batches with the other processes of `accelerate launch`, each of which must then make the
            same call and gets all captions.
        watch: called with what is being done and the share of the work that is done, in [0, 1]; without it a bar, or
            log lines without a terminal or notebook, if it takes long.

    Returns:
        The caption of each image by its id, in the images' order; "" if the model says nothing or refuses. Images that
        cannot be read are left out.

    Warns:
        CaptionBiasWarning: images are left out or without a caption, or captions are cut off at `max_new_tokens`.

    Example:
        caption("Salesforce/blip-image-captioning-base", "photos")  # {"42": "a woman with a dog", ...}
    """
    pictures = read_images(images)
    if max_new_tokens is None:
        max_new_tokens = MOST_SERVED if endpoint else MOST_TOKENS
    search = {"max_new_tokens": max_new_tokens, "num_beams": num_beams}
    draw, arguments = _draw(temperature, top_p, num_beams, sampling_seed), dict(template_arguments or {})
    if endpoint:
        if num_beams > 1 or dtype or device_map or revision:
            raise ValueError("num_beams, dtype, device_map and revision are the server's to choose: leave them out")
        served = Served(str(model), endpoint, prompt or PROMPT, max_new_tokens, draw, arguments)
        name, settings, ask = served.name, [*vars(served).values()], served.ask
    else:
        need_images("torch", "transformers")
        from captionbias.training.captioning import GPUS

        files, place = find_captioner(str(model), revision), device()
        precision, name = dtype or ("bfloat16" if place.type in GPUS else "float32"), files.name
        settings = [files.identity, prompt, arguments, [max_new_tokens, num_beams, draw], precision]
        load = memoised(partial(load_captioner, files, prompt, arguments, precision, place, device_map))
        ask = partial(_ask, name, load, draw, search)
    identity = hashlib.blake2b(json.dumps([FORMAT, *settings]).encode(), digest_size=16).hexdigest()
    store, stored = open_store(cache), dict[str, tuple[str, bool]]()
    if store:
        for key in store.keys("captions", identity):
            stored |= store.load("captions", key, lambda arrays: json.loads(arrays["captions"].tobytes())) or {}
    batches = [range(start, min(start + batch_size, len(pictures))) for start in range(0, len(pictures), batch_size)]

    def run(positions: Sequence[int]) -> Generator[tuple[int, list[tuple[str, bool, str]]], None, None]:
        """The answers to each of these batches, which are read while the batch before is captioned: of each image the
        caption, and whether the limit cut it off, or why the image cannot be read."""
        read = partial(_read, pictures, stored)
        with closing(read_ahead(read, (batches[position] for position in positions))) as coming:
            for number, (position, batch) in enumerate(zip(positions, coming, strict=True)):
                report(number, len(positions))
                if new := {digest: picture for digest, picture, _ in batch if picture is not None}:
                    made = dict(zip(new, ask(new), strict=True))
                    stored.update(made)
                    if store:
                        content = np.frombuffer(json.dumps(made).encode(), np.uint8)
                        store.save("captions", f"{identity}-{token_hex(8)}", {"captions": content})
                yield position, [(*stored.get(digest, ("", False)), fault) for digest, _, fault in batch]
            if store:
                store.trim()

    keys = [f"{identity} {[pictures.ids[row] for row in batch]}" for batch in batches]
    doing = f"captions by {name}"
    with (
        nullcontext(lambda number, total: watch(doing, number / total)) if watch else report_if_long(doing, "batches")
    ) as report:
        answers = [answer for batch in share(keys, run, distributed=distributed) for answer in batch]
    return _captions(dict(zip(pictures.ids, answers, strict=True)), max_new_tokens)


def _captions(answers: Mapping[str, tuple[str, bool, str]], max_new_tokens: int) -> dict[str, str]:
    """The captions of `run`'s answers, empty ones of refusals, with warnings of images that have none, or a cut one."""
    faults = [fault for _, _, fault in answers.values() if fault]
    if len(faults) == len(answers):
        raise InputError("images", f": none of {len(answers):,} can be read; the first: {faults[0]}")
    captions = {image: text for image, (text, _, fault) in answers.items() if not fault}
    refused = {image: text for image, text in captions.items() if text and is_refusal(text)}
    for images, lack in (
        (faults, "cannot be read and are left out"),
        ([image for image, text in captions.items() if not text], "have an empty caption"),
        ([f"{image} ({text})" for image, text in refused.items()], "are refused, and have an empty caption"),
        (
            [image for image, (_, is_cut, _) in answers.items() if is_cut],
            f"have a caption cut off at {max_new_tokens} tokens (raise max_new_tokens)",
        ),
    ):
        if images:
            text = f"{len(images):,} of {len(answers):,} images {lack}: {few(images)}"
            warn(text)
    return {**captions, **dict.fromkeys(refused, "")}


def _draw(temperature: float | None, top_p: float | None, num_beams: int, seed: int) -> Draw | None:
    """How captions are drawn; None for a search."""
    if temperature is None and top_p is None:
        return None
    draw = Draw(1.0 if temperature is None else temperature, 1.0 if top_p is None else top_p, seed)
    if not 0 < draw.temperature < np.inf:
        raise InputError("temperature", f"is {temperature}: it must be above 0; leave it out for a search")
    if num_beams > 1:
        raise InputError(
            "num_beams",
            f"is {num_beams}: captions are drawn without beams",
            phrase("leave out {temperature} and {top_p}"),
        )
    return draw


def open_captioner(
    model: str | Path,
    *,
    prompt: str | None = None,
    template_arguments: Mapping[str, Any] | None = None,
    dtype: str | None = None,
    device_map: str | Mapping[str, Any] | None = None,
    revision: str | None = None,
) -> tuple[Any, Any, Any]:
    """A captioner, what makes its input of images, and its tokenizer; the arguments are those of `caption`, but the
    weights are float32 on every device where `dtype` is None.
    """
    need_images("torch", "transformers")
    files = find_captioner(str(model), revision)
    captioner = load_captioner(files, prompt, template_arguments or {}, dtype or "float32", device(), device_map)
    return captioner.model, captioner.processor, captioner.tokenizer


def _read(images: Images, stored: Mapping[str, Any], row: int) -> tuple[str, Image | None, str]:
    """An image's digest, and the picture if it has no caption yet; or why it cannot be read."""
    try:
        picture = images[row]
    except ValueError as error:
        return "", None, str(error)
    content = f"{picture.size}".encode() + picture.tobytes()
    digest = hashlib.blake2b(content, digest_size=16).hexdigest()
    return digest, None if digest in stored else picture, ""


class Draws:
    """A logits processor by which greedy search draws: the highest of log-probabilities with Gumbel noise is a draw
    from them. Each row has a generator of its own, by its key, so that a caption depends neither
    on the others of its batch nor on a restart.
    """

    def __init__(self, temperature: float, top_p: float, keys: Sequence[str]) -> None:
        import torch

        self.temperature, self.top_p = temperature, top_p
        digests = [hashlib.blake2b(key.encode(), digest_size=7).digest() for key in keys]
        self.generators = [torch.Generator().manual_seed(int.from_bytes(digest, "big")) for digest in digests]

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        import torch
        from transformers import TopPLogitsWarper

        likely = TopPLogitsWarper(self.top_p)(input_ids, scores.float() / self.temperature)
        drawn = [torch.empty(scores.shape[1]).exponential_(generator=generator) for generator in self.generators]
        noisy: Tensor = likely - torch.stack(drawn).log().to(scores.device)
        return noisy


def _ask(
    name: str,
    load: Callable[[], Captioner],
    draw: Draw | None,
    search: Mapping[str, int],
    pictures: Mapping[str, Image],
) -> list[tuple[str, bool]]:
    """The captions of pictures, which are named by their digests, and whether the limit cut them off."""
    from transformers import LogitsProcessorList

    from captionbias.training.captioning import caption_images

    captioner = load()
    hearing = Hearing(captioner)
    generation: dict[str, Any] = {**search}
    if draw:
        draws = Draws(draw.temperature, draw.top_p, [f"{draw.seed} {digest}" for digest in pictures])
        generation["logits_processor"] = LogitsProcessorList([draws])
    given = list(pictures.values())
    options: dict[str, Any] = {"batch_size": len(given), "generation": generation}
    try:
        with silenced():
            texts = caption_images(captioner.model, captioner.processor, given, tokenizer=hearing, **options)
    except Exception as error:  # families raise almost anything at what they cannot do
        raise InputError(
            "model",
            f"{name!r} cannot caption these images, asked {captioner.asked!r} ({first_line(error)}):",
            phrase("give another {prompt} or {batch_size}"),
            "name another model",
        ) from error
    return [(" ".join(text.split()), row in hearing.cut) for row, text in enumerate(texts)]
