"""Captions of images from any image-to-text model of transformers: kept as they are made, shared by processes."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, nullcontext
from dataclasses import dataclass
from functools import cache as once
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import numpy as np

from captionbias.attackers.device import device
from captionbias.attackers.pretrained.encoding import silenced
from captionbias.attackers.ranks import share
from captionbias.images import needs_images
from captionbias.images.captioners import DTYPES, Hearing, find_captioner, load_captioner, reason
from captionbias.images.draws import Draws
from captionbias.images.reading import Images, open_image, read_images, read_source
from captionbias.io.files import replacing
from captionbias.io.store import Store, open_store
from captionbias.progress import Watch, told_if_long
from captionbias.warnings import CaptionBiasWarning

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image


# Part of every key: raise it when captions are made or kept, or images digested, in another way.
FORMAT = 2
THREADS = min(8, os.cpu_count() or 1)  # that read and decode images while the model captions others
MAX_LISTED = 20  # images in a warning


def caption(
    model: str | Path,
    images: Any,
    *,
    prompt: str | None = None,
    template_arguments: Mapping[str, Any] | None = None,
    batch_size: int = 16,
    max_new_tokens: int = 30,
    num_beams: int = 1,
    temperature: float | None = None,
    top_p: float | None = None,
    sampling_seed: int = 0,
    dtype: str | None = None,
    device_map: str | Mapping[str, Any] | None = None,
    revision: str | None = None,
    strict: bool = False,
    cache: bool | str | Path = True,
    distributed: bool = True,
    watch: Watch | None = None,
) -> dict[str, str]:
    """Caption images with a model of transformers, and keep each caption: no image is captioned twice.

    A vision encoder-decoder, BLIP, GIT or the like captions the image; a chat model, one whose processor or tokenizer
    has a chat template, answers a prompt about it. The search is greedy, by beams, or drawn. A caption does not depend
    on the other images of its batch, except by rounding, and is without the prompt, thoughts, boxes and their tokens.

    Several processes of `accelerate launch` share the batches out; each must make the same call and gets all captions.
    A run that was killed goes on where it stopped, and loses a batch a process at most.

    Args:
        model: owner/name on the Hub, or a folder that `save_pretrained` wrote: weights (safetensors), processor or
            image processor, and tokenizer; or the adapter that peft saved for such a model, which needs `peft`. No
            code of the model's own is run.
        images: see `captionbias.images.reading.read_images`.
        prompt: what a chat model is asked; or how the captions of another model begin, which they then leave out. By
            default what its family takes: `captionbias.images.captioners.PROMPTS`.
        template_arguments: of the chat template, such as `{"enable_thinking": False}`.
        batch_size: images a batch, on each process.
        max_new_tokens: longest caption, in tokens.
        num_beams: beams of the search.
        temperature: draw captions, at this temperature (above 0).
        top_p: draw captions, from the likeliest tokens whose probabilities add up to this, in (0, 1].
        sampling_seed: of drawn captions.
        dtype: of the weights: float32, bfloat16, float16, or auto for the files'. bfloat16 on a GPU and float32
            elsewhere when None.
        device_map: how transformers spreads the model over devices, such as "auto"; Accelerate's device when None.
        revision: branch, tag or commit of a model on the Hub.
        strict: make an image that cannot be read an error.
        cache: keep captions in the usual folder (True), in this one, or not (False).
        distributed: False when one process captions alone.
        watch: called with what is being done and the share of the work that is done, in [0, 1]; without it a bar, or
            log lines without a terminal or notebook, if it takes long.

    Returns:
        The caption of each image by its id, in the images' order. Images that cannot be read or whose caption is empty
        are left out.

    Raises:
        ValueError: the model or the images cannot be read, or the model takes no images, no prompt or no such options.

    Warns:
        CaptionBiasWarning: images are left out, or captions are cut off at `max_new_tokens`.

    Example:
        caption("Salesforce/blip-image-captioning-base", "photos")  # {"42": "a woman with a dog", ...}
    """
    found = read_images(images)
    with needs_images():
        import torch
        import transformers

        from captionbias.training.captioning import caption_images
    for argument, value in (("batch_size", batch_size), ("max_new_tokens", max_new_tokens), ("num_beams", num_beams)):
        if value < 1:
            raise ValueError(f"{argument} is {value}: it must be 1 or more")
    drawn = _drawn(temperature, top_p, num_beams)
    files, store, place = find_captioner(str(model), revision), open_store(cache), device()
    precision = _precision(dtype, place)
    arguments = dict(template_arguments or {})
    generation = [max_new_tokens, num_beams, drawn and [*drawn, sampling_seed]]
    settings = [FORMAT, files.identity, prompt, arguments, generation, precision]
    identity = hashlib.blake2b(json.dumps(settings).encode(), digest_size=16).hexdigest()
    kept = _kept(store, identity)
    load = once(partial(load_captioner, files, prompt, arguments, precision, place, device_map))

    def captions_of(batch: list[_Read]) -> list[tuple[str, bool]]:
        captioner = load()
        hearing, options = Hearing(captioner), {}
        if drawn:
            draws = Draws(*drawn, [f"{sampling_seed} {one.digest}" for one in batch])
            options["logits_processor"] = transformers.LogitsProcessorList([draws])
        try:
            with silenced():
                texts = caption_images(
                    captioner.model,
                    captioner.processor,
                    [one.picture for one in batch],
                    tokenizer=hearing,
                    batch_size=batch_size,
                    max_new_tokens=max_new_tokens,
                    num_beams=num_beams,
                    generation=options,
                    distributed=False,
                )
        except torch.OutOfMemoryError as error:
            raise ValueError(f"batch_size {batch_size} needs more memory than {place} has: lower it") from error
        except Exception as error:  # families raise almost anything at what they cannot do
            raise ValueError(
                f"model {files.name!r} cannot caption these images, asked {captioner.asked!r} ({reason(error)}): give "
                "another prompt, or name another model"
            ) from error
        return [(" ".join(text.split()), row in hearing.cut) for row, text in enumerate(texts)]

    batches = [range(start, min(start + batch_size, len(found))) for start in range(0, len(found), batch_size)]

    def run(positions: Sequence[int]) -> Generator[tuple[int, list[tuple[str, bool, str]]], None, None]:
        with closing(_ahead(partial(_read, found, kept), (batches[position] for position in positions))) as read:
            for number, (position, batch) in enumerate(zip(positions, read, strict=True)):
                report(number, len(positions))
                if strict and (faults := [one.fault for one in batch if one.fault]):
                    raise ValueError(faults[0])
                if missing := [one for one in batch if one.picture is not None]:
                    fresh = {one.digest: said for one, said in zip(missing, captions_of(missing), strict=True)}
                    kept.update(fresh)
                    if store:
                        _keep(store, identity, fresh)
                yield position, [(*kept.get(one.digest, ("", False)), one.fault) for one in batch]
            if store:
                store.trim()

    keys = [f"{identity} {[found.ids[row] for row in batch]}" for batch in batches]
    doing = f"captions by {files.name}"
    with (
        nullcontext(lambda number, total: watch(doing, number / total)) if watch else told_if_long(doing, "batches")
    ) as report:
        done = [one for batch in share(keys, run, distributed=distributed) for one in batch]
    unread = [fault for _, _, fault in done if fault]
    if len(unread) == len(found):
        raise ValueError(f"images: none of {len(found):,} can be read; the first: {unread[0]}")
    _note(unread, len(found), "cannot be read and are left out")
    said = {image: text for image, (text, _, fault) in zip(found.ids, done, strict=True) if not fault}
    _note([image for image, text in said.items() if not text], len(found), "have an empty caption and are left out")
    cut = [image for image, (_, is_cut, _) in zip(found.ids, done, strict=True) if is_cut]
    _note(cut, len(found), f"have a caption cut off at {max_new_tokens} tokens (raise max_new_tokens)")
    return {image: text for image, text in said.items() if text}


def _drawn(temperature: float | None, top_p: float | None, num_beams: int) -> tuple[float, float] | None:
    """Temperature and top p of captions that are drawn."""
    if temperature is None and top_p is None:
        return None
    found = 1.0 if temperature is None else temperature, 1.0 if top_p is None else top_p
    if not 0 < found[0] < np.inf:
        raise ValueError(f"temperature is {temperature}: it must be above 0; leave it out for a search")
    if not 0 < found[1] <= 1:
        raise ValueError(f"top_p is {top_p}: it must be above 0 and no more than 1")
    if num_beams > 1:
        raise ValueError(f"num_beams is {num_beams}: captions are drawn without beams; leave out temperature and top_p")
    return found


def _precision(dtype: str | None, place: torch.device) -> str:
    from captionbias.training.captioning import GPUS

    if dtype is None:
        return "bfloat16" if place.type in GPUS else "float32"
    if dtype not in DTYPES:
        raise ValueError(f"dtype is {dtype!r}: choose from {', '.join(DTYPES)}")
    return dtype


def write_captions(captions: Mapping[str, str], path: str | Path) -> None:
    """Write `image_id, caption` as Parquet or CSV, by the ending of the name, whole or not at all.

    Raises:
        ValueError: another ending, or a file that cannot be written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_captions({"42": "a dog"}, Path(folder) / "nic.csv")
    ...     print((Path(folder) / "nic.csv").read_text(), end="")
    image_id,caption
    42,a dog
    """
    import pandas as pd

    check_ending(path)
    table = pd.DataFrame({"image_id": list(captions), "caption": list(captions.values())}, dtype=str)
    with replacing(Path(path)) as part:
        if Path(path).suffix == ".csv":
            table.to_csv(part, index=False, lineterminator="\n", encoding="utf-8")
        else:
            table.to_parquet(part, index=False)


def check_ending(path: str | Path) -> None:
    """Raise a ValueError if `write_captions` cannot write a file of this name."""
    if Path(path).suffix not in (".csv", ".parquet"):
        raise ValueError(f"{path} ends in neither .csv nor .parquet: name a file of one of these kinds")


# The model


def open_captioner(
    model: str | Path,
    *,
    prompt: str | None = None,
    template_arguments: Mapping[str, Any] | None = None,
    dtype: str | None = None,
    device_map: str | Mapping[str, Any] | None = None,
    revision: str | None = None,
) -> tuple[Any, Any, Any]:
    """A captioner, what makes its input of images, and its tokenizer.

    Args:
        model, prompt, template_arguments, device_map, revision: see `caption`.
        dtype: as of `caption`, but float32 on every device when None.

    Raises:
        ValueError: the model cannot be read, or does not caption images.
    """
    with needs_images():
        import torch  # noqa: F401
        import transformers  # noqa: F401

    files = find_captioner(str(model), revision)
    precision = _precision(dtype or "float32", device())
    captioner = load_captioner(files, prompt, template_arguments or {}, precision, device(), device_map)
    return captioner.model, captioner.processor, captioner.tokenizer


# Images


@dataclass(frozen=True)
class _Read:
    """An image's digest, and the picture if it has no caption yet; or why it cannot be read."""

    digest: str = ""
    picture: Image | None = None
    fault: str = ""


def _read(images: Images, kept: Mapping[str, Any], row: int) -> _Read:
    try:
        name = f"image {images.ids[row]}"
        source, digest = read_source(images.sources[row], name)
        return _Read(digest, None if digest in kept else open_image(source, name))
    except ValueError as error:
        return _Read(fault=str(error))


def _ahead(read: Callable[[int], _Read], batches: Iterable[range]) -> Generator[list[_Read], None, None]:
    """The images of each batch, read by threads while the batch before is captioned."""
    with ThreadPoolExecutor(THREADS) as pool:
        coming: deque[list[Future[_Read]]] = deque()
        for batch in batches:
            coming.append([pool.submit(read, row) for row in batch])
            if len(coming) > 1:
                yield [one.result() for one in coming.popleft()]
        for last in coming:
            yield [one.result() for one in last]


def _note(images: list[str], total: int, lack: str) -> None:
    if images:
        listed = "; ".join(images[:MAX_LISTED]) + ("; ..." if len(images) > MAX_LISTED else "")
        warnings.warn(f"{len(images):,} of {total:,} images {lack}: {listed}", CaptionBiasWarning, stacklevel=3)


# Captions that are kept


def _kept(store: Store | None, identity: str) -> dict[str, tuple[str, bool]]:
    """Captions by the digests of their images, and whether they are cut off."""
    found: dict[str, tuple[str, bool]] = {}
    if store is None:
        return found
    for key in store.keys("captions", identity):
        found |= store.load("captions", key, lambda arrays: json.loads(arrays["captions"].tobytes())) or {}
    return found


def _keep(store: Store, identity: str, captions: Mapping[str, tuple[str, bool]]) -> None:
    content = np.frombuffer(json.dumps(captions).encode(), np.uint8)
    store.save("captions", f"{identity}-{token_hex(8)}", {"captions": content})
