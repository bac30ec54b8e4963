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
from captionbias.attackers.pretrained.encoding import reading, refuse_missing, silenced
from captionbias.attackers.pretrained.models import Model, find_model
from captionbias.attackers.ranks import share
from captionbias.io.files import replacing
from captionbias.io.store import Store, open_store
from captionbias.progress import told_if_long
from captionbias.vision import needs_images
from captionbias.vision.images import Images, open_image, read_images, read_source
from captionbias.warnings import CaptionBiasWarning

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image

Watch = Callable[[str, float], None]

PROMPT = "Describe the image in one short sentence."  # for a chat model that is given none
# What makes captions: another version may make others.
LIBRARIES = ("transformers", "tokenizers", "torch", "pillow")
# Part of every key: raise it when captions are kept, or images digested, in another way.
FORMAT = 1
THREADS = min(8, os.cpu_count() or 1)  # that read and decode images while the model captions others
MAX_LISTED = 20  # images in a warning


def caption(
    model: str | Path,
    images: Any,
    *,
    prompt: str | None = None,
    batch_size: int = 16,
    max_new_tokens: int = 30,
    num_beams: int = 1,
    strict: bool = False,
    cache: bool | str | Path = True,
    distributed: bool = True,
    watch: Watch | None = None,
) -> dict[str, str]:
    """Caption images with a model of transformers, and keep each caption: no image is captioned twice.

    A vision encoder-decoder, BLIP, GIT or the like captions the image; a chat model, one whose processor has a chat
    template, answers a prompt about it. The search is greedy, or by beams. Weights are in bf16 on a GPU, else in fp32.
    A caption does not depend on the other images of its batch, except by rounding.

    Several processes of `accelerate launch` share the batches out; each must make the same call and gets all captions.
    A run that was killed goes on where it stopped, and loses a batch a process at most.

    Args:
        model: owner/name on the Hub, or a folder that `save_pretrained` wrote: weights (safetensors), processor or
            image processor, and tokenizer. No code of the model's own is run.
        images: see `captionbias.vision.images.read_images`.
        prompt: what a chat model is asked, by default `PROMPT`; or how the captions of another model begin, which they
            then leave out.
        batch_size: images a batch, on each process.
        max_new_tokens: longest caption, in tokens.
        num_beams: beams of the search.
        strict: make an image that cannot be read an error.
        cache: keep captions in the usual folder (True), in this one, or not (False).
        distributed: False when one process captions alone.
        watch: called with what is being done and the share of the work that is done, in [0, 1]; without it a bar, or
            log lines without a terminal or notebook, if it takes long.

    Returns:
        The caption of each image by its id, in the images' order. Images that cannot be read or whose caption is empty
        are left out.

    Raises:
        ValueError: the model or the images cannot be read, or the model takes no images or no prompt.

    Warns:
        CaptionBiasWarning: images are left out.

    Example:
        caption("Salesforce/blip-image-captioning-base", "photos")  # {"42": "a woman with a dog", ...}
    """
    found = read_images(images)
    with needs_images():
        import torch
        import transformers  # noqa: F401

        from captionbias.training.captioning import GPUS, caption_images
    for argument, value in (("batch_size", batch_size), ("max_new_tokens", max_new_tokens), ("num_beams", num_beams)):
        if value < 1:
            raise ValueError(f"{argument} is {value}: it must be 1 or more")
    files, store, place = find_model(str(model), "model", LIBRARIES), open_store(cache), device()
    precision = torch.bfloat16 if place.type in GPUS else torch.float32
    settings = [FORMAT, files.identity, prompt, max_new_tokens, num_beams, str(precision)]
    identity = hashlib.blake2b(json.dumps(settings).encode(), digest_size=16).hexdigest()
    kept = _kept(store, identity)
    load = once(partial(_load, files, prompt, precision, place))

    def captions_of(pictures: list[Any]) -> list[str]:
        captioner, processor, tokenizer = load()
        try:
            with silenced():
                texts = caption_images(
                    captioner,
                    processor,
                    pictures,
                    tokenizer=tokenizer,
                    batch_size=batch_size,
                    max_new_tokens=max_new_tokens,
                    num_beams=num_beams,
                    distributed=False,
                )
        except torch.OutOfMemoryError as error:
            raise ValueError(f"batch_size {batch_size} needs more memory than {place} has: lower it") from error
        return [" ".join(text.split()) for text in texts]

    batches = [range(start, min(start + batch_size, len(found))) for start in range(0, len(found), batch_size)]

    def run(positions: Sequence[int]) -> Generator[tuple[int, list[tuple[str, str]]], None, None]:
        with closing(_ahead(partial(_read, found, kept), (batches[position] for position in positions))) as read:
            for number, (position, batch) in enumerate(zip(positions, read, strict=True)):
                report(number, len(positions))
                if strict and (faults := [one.fault for one in batch if one.fault]):
                    raise ValueError(faults[0])
                if missing := [one for one in batch if one.picture is not None]:
                    texts = captions_of([one.picture for one in missing])
                    fresh = {one.digest: text for one, text in zip(missing, texts, strict=True)}
                    kept.update(fresh)
                    if store:
                        _keep(store, identity, fresh)
                yield position, [(kept.get(one.digest, ""), one.fault) for one in batch]
            if store:
                store.trim()

    keys = [f"{identity} {[found.ids[row] for row in batch]}" for batch in batches]
    doing = f"captions by {files.name}"
    with (
        nullcontext(lambda number, total: watch(doing, number / total)) if watch else told_if_long(doing, "batches")
    ) as report:
        done = [one for batch in share(keys, run, distributed=distributed) for one in batch]
    unread = [fault for _, fault in done if fault]
    if len(unread) == len(found):
        raise ValueError(f"images: none of {len(found):,} can be read; the first: {unread[0]}")
    _note_left_out(unread, len(found), "cannot be read and are left out")
    captions = {image: text for image, (text, fault) in zip(found.ids, done, strict=True) if not fault}
    silent = [image for image, text in captions.items() if not text]
    _note_left_out(silent, len(found), "have an empty caption and are left out")
    return {image: text for image, text in captions.items() if text}


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


def open_captioner(model: str | Path) -> tuple[Any, Any, Any]:
    """A captioner in fp32 on Accelerate's device, what makes its input of images, and its tokenizer.

    Raises:
        ValueError: the model cannot be read, or does not caption images.
    """
    with needs_images():
        import torch
        import transformers  # noqa: F401

    return _load(find_model(str(model), "model", LIBRARIES), None, torch.float32, device())


def _load(files: Model, prompt: str | None, precision: torch.dtype, place: torch.device) -> tuple[Any, Any, Any]:
    """The model on its device, what makes its input of images, and its tokenizer."""
    from transformers import AutoConfig, AutoModelForImageTextToText
    from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES

    with reading(files, "model"):
        kind = AutoConfig.from_pretrained(files.folder).model_type
    if kind not in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES:
        raise ValueError(f"model {files.name!r} is of the kind {kind!r}, which does not caption images: name another")
    with reading(files, "model"):
        loaded: Any = AutoModelForImageTextToText.from_pretrained(
            files.folder, dtype=precision, output_loading_info=True
        )
        model, found = loaded
        refuse_missing(found["missing_keys"])
    return model.to(place), *_processor(files, kind, prompt)


def _processor(files: Model, kind: str, prompt: str | None) -> tuple[Any, Any]:
    import transformers

    auto: Any = transformers  # its classes have no types
    with reading(files, "model"):
        processor = auto.AutoProcessor.from_pretrained(files.folder)
        if hasattr(processor, "image_processor"):
            tokenizer = processor.tokenizer
        else:  # vision encoder-decoders have two separate ones
            processor = auto.AutoImageProcessor.from_pretrained(files.folder)
            tokenizer = auto.AutoTokenizer.from_pretrained(files.folder)
    tokenizer.padding_side = "left"  # a decoder goes on after the last token
    if getattr(processor, "chat_template", None):
        asked = [{"type": "image"}, {"type": "text", "text": prompt or PROMPT}]
        text = processor.apply_chat_template([{"role": "user", "content": asked}], add_generation_prompt=True)
        begun = tokenizer.bos_token is not None and text.startswith(tokenizer.bos_token)

        def chat(images: list[Any], return_tensors: str) -> Any:
            options = {"padding": True, "add_special_tokens": not begun, "return_tensors": return_tensors}
            return processor(text=[text] * len(images), images=[[image] for image in images], **options)

        return chat, tokenizer
    if prompt is None:
        return processor, tokenizer
    if not hasattr(processor, "tokenizer"):
        raise ValueError(f"prompt: model {files.name!r} takes images alone; leave the prompt out")

    def begin(images: list[Any], return_tensors: str) -> Any:
        inputs = processor(images=images, text=[prompt] * len(images), return_tensors=return_tensors)
        if kind == "git":  # it would go on after the token that ends a text; BLIP takes that one off itself
            inputs.update({name: inputs[name][:, :-1] for name in ("input_ids", "attention_mask")})
        return inputs

    return begin, tokenizer


# Images


@dataclass(frozen=True)
class _Read:
    """An image's digest, and the picture if it has no caption yet; or why it cannot be read."""

    digest: str = ""
    picture: Image | None = None
    fault: str = ""


def _read(images: Images, kept: Mapping[str, str], row: int) -> _Read:
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


def _note_left_out(images: list[str], total: int, lack: str) -> None:
    if images:
        listed = "; ".join(images[:MAX_LISTED]) + ("; ..." if len(images) > MAX_LISTED else "")
        warnings.warn(f"{len(images):,} of {total:,} images {lack}: {listed}", CaptionBiasWarning, stacklevel=3)


# Captions that are kept


def _kept(store: Store | None, identity: str) -> dict[str, str]:
    """Captions by the digests of their images."""
    found: dict[str, str] = {}
    if store is None:
        return found
    for key in store.keys("captions", identity):
        found |= store.load("captions", key, lambda arrays: json.loads(arrays["captions"].tobytes())) or {}
    return found


def _keep(store: Store, identity: str, captions: Mapping[str, str]) -> None:
    content = np.frombuffer(json.dumps(captions).encode(), np.uint8)
    store.save("captions", f"{identity}-{token_hex(8)}", {"captions": content})
