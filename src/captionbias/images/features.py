"""Pictures through a pretrained image model that is not trained: features for attackers to read beside a caption."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Sequence
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from captionbias.arrays import Floats32
from captionbias.attackers.pretrained.embeddings import Embeddings, embed, in_16_bits
from captionbias.attackers.pretrained.encoding import read_model, reading
from captionbias.attackers.pretrained.models import IMAGE_LIBRARIES, PROCESSORS, Model, find_model
from captionbias.attackers.ranks import device, share
from captionbias.attackers.workers import cores, threads
from captionbias.errors import InputError
from captionbias.io.store import Store

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image

ARGUMENT = "image_encoder"
USUAL = "microsoft/resnet-50"
BATCH = 32
# Pictures that are prepared and kept at a time: what a killed run loses at most.
PIECE = 256


def find_image_encoder(name: str) -> Model:
    if not all(map(find_spec, ("torch", "accelerate", "transformers", "PIL"))):
        raise InputError(ARGUMENT, f"{name!r} needs torch, transformers and Pillow: pip install 'captionbias[images]'")
    return find_model(name, ARGUMENT, IMAGE_LIBRARIES, PROCESSORS)


def picture_features(
    pictures: Sequence[Image], model: Model, store: Store | None, *, distributed: bool = False
) -> Floats32:
    """Features of pictures in RGB, `(n, width)`: standardized over the pictures, and of mean square length 1.

    What the model pools, else the mean of its last states. Each picture is read once, with a `store` once for good;
    `distributed`, the processes of `accelerate launch` share the pictures out.
    """
    place = device()
    with reading(model, ARGUMENT):
        import transformers

        reader: Any = transformers.AutoImageProcessor  # it has no types
        processor = reader.from_pretrained(model.folder, trust_remote_code=False)
    encode = _encoder(model, place)
    starts = range(0, len(pictures), PIECE)

    def read(positions: Sequence[int]) -> Generator[tuple[int, Embeddings], None, None]:
        for position in positions:
            start = starts[position]
            piece = [
                np.asarray(processor(images=pictures[row], return_tensors="np")["pixel_values"][0], np.float32)
                for row in range(start, min(start + PIECE, len(pictures)))
            ]
            yield position, _embedded(piece, encode, store, f"{model.identity} {place.type}")

    keys = [f"{model.identity} {len(pictures)} {start}" for start in starts]
    return _standardized(np.concatenate(share(keys, read, distributed=distributed)))


def _embedded(
    piece: list[Floats32], encode: Callable[[list[Floats32]], Embeddings], store: Store | None, identity: str
) -> Embeddings:
    """The embeddings of pictures, each known by a digest of what the model reads."""
    keys = [hashlib.blake2b(repr(pixels.shape).encode() + pixels.tobytes()).hexdigest() for pixels in piece]
    by_key = dict(zip(keys, piece, strict=True))
    rows = {key: row for row, key in enumerate(by_key)}
    embeddings = embed(list(by_key), lambda missing: encode([by_key[key] for key in missing]), store, identity)
    return embeddings[[rows[key] for key in keys]]


def _encoder(model: Model, place: torch.device) -> Callable[[list[Floats32]], Embeddings]:
    """A function from prepared pictures to 16-bit features; the model is loaded when it is first called."""
    load = cache(lambda: _load(model, place))

    def encode(pictures: list[Floats32]) -> Embeddings:
        import torch

        network, pooled = load()
        parts = []
        with threads(cores()), torch.inference_mode():
            for start in range(0, len(pictures), BATCH):
                batch = torch.from_numpy(np.stack(pictures[start : start + BATCH])).to(place)
                parts.append(_features(network, batch, pooled).float().cpu().numpy())
        return in_16_bits(np.concatenate(parts), model, ARGUMENT)

    return encode


def _load(model: Model, place: torch.device) -> tuple[Any, bool]:
    """The model, and whether the weights of its pooling are there; those of many checkpoints are not."""
    import torch
    from transformers import AutoModel

    network, lacking = read_model(AutoModel, model, ARGUMENT, dtype=torch.float32)
    if not hasattr(network, "get_image_features") and network.main_input_name != "pixel_values":
        raise InputError(
            ARGUMENT,
            f"{model.name!r} reads {network.main_input_name}, not pictures; choose an image model such as {USUAL}",
        )
    return network.to(place).eval(), not any("pooler." in name for name in lacking)


def _features(network: Any, pixels: torch.Tensor, pooled: bool) -> torch.Tensor:
    outputs = getattr(network, "get_image_features", network)(pixel_values=pixels)
    features: torch.Tensor | None = getattr(outputs, "pooler_output", None) if pooled else None
    if features is not None:
        return features.flatten(1)
    states: torch.Tensor = outputs.last_hidden_state
    return states.flatten(2).mean(dim=2) if states.ndim == 4 else states.mean(dim=1)


def _standardized(features: Embeddings) -> Floats32:
    wide = features.astype(np.float32)
    spread = wide.std(axis=0)
    scaled: Floats32 = (wide - wide.mean(axis=0)) / np.where(spread > 0, spread, 1) / np.sqrt(np.float32(wide.shape[1]))
    return scaled
