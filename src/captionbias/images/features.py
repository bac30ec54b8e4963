"""Pictures through a pretrained image model that is not trained: features for attackers to read beside a caption."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Sequence
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
    from PIL.Image import Image

ARGUMENT = "image_encoder"
USUAL = "microsoft/resnet-50"
BATCH = 32
# Pictures that are prepared and kept at a time: what a killed run loses at most.
PIECE = 256


def find_image_encoder(name: str) -> Model:
    if not all(map(find_spec, ("torch", "accelerate", "transformers", "PIL"))):
        raise InputError(ARGUMENT, f"{name!r} needs torch, transformers and Pillow: pip install '.[images]' in a clone")
    return find_model(name, ARGUMENT, IMAGE_LIBRARIES, PROCESSORS)


def picture_features(
    pictures: Sequence[Image], model: Model, store: Store | None, *, distributed: bool = False
) -> Floats32:
    """Features of pictures in RGB, `(n, width)`: standardized over the pictures, and of mean square length 1.

    What the model pools, else the mean of its last states. Each picture is read once, with a `store` once for good;
    `distributed`, the processes of `accelerate launch` share the pictures out.
    """
    with reading(model, ARGUMENT):
        import transformers

        reader: Any = transformers.AutoImageProcessor  # it has no types
        processor = reader.from_pretrained(model.folder, trust_remote_code=False)
    network = cache(lambda: _load(model))  # not loaded where all features are kept
    identity = f"{model.identity} {device().type}"
    pieces = [range(start, min(start + PIECE, len(pictures))) for start in range(0, len(pictures), PIECE)]

    def embedded(prepared: Sequence[Floats32]) -> Embeddings:
        """The features of prepared pictures, each known by a digest of what the model reads."""
        digests = [hashlib.blake2b(repr(one.shape).encode() + one.tobytes()).hexdigest() for one in prepared]
        distinct = dict(zip(digests, prepared, strict=True))
        rows = {digest: row for row, digest in enumerate(distinct)}

        def encode(new: list[str]) -> Embeddings:
            return _features(model, *network(), [distinct[digest] for digest in new])

        return embed(list(distinct), encode, store, identity)[[rows[digest] for digest in digests]]

    def read(positions: Sequence[int]) -> Generator[tuple[int, Embeddings], None, None]:
        for position in positions:
            prepared = [processor(images=pictures[row], return_tensors="np") for row in pieces[position]]
            yield position, embedded([np.asarray(one["pixel_values"][0], np.float32) for one in prepared])

    keys = [f"{model.identity} {len(pictures)} {piece.start}" for piece in pieces]
    features = np.concatenate(share(keys, read, distributed=distributed)).astype(np.float32)
    spread = features.std(axis=0)
    scaled: Floats32 = (features - features.mean(axis=0)) / np.where(spread > 0, spread, 1)
    scaled /= np.sqrt(np.float32(features.shape[1]))
    return scaled


def _load(model: Model) -> tuple[Any, bool]:
    """The model, and whether the weights of its pooling are there; those of many checkpoints are not."""
    import torch
    from transformers import AutoModel

    network, lacking = read_model(AutoModel, model, ARGUMENT, dtype=torch.float32)
    if not hasattr(network, "get_image_features") and network.main_input_name != "pixel_values":
        raise InputError(
            ARGUMENT,
            f"{model.name!r} reads {network.main_input_name}, not pictures; choose an image model such as {USUAL}",
        )
    return network.to(device()).eval(), not any("pooler." in name for name in lacking)


def _features(model: Model, network: Any, pooled: bool, prepared: list[Floats32]) -> Embeddings:
    """The features of prepared pictures, in 16 bits."""
    import torch

    parts = []
    with threads(cores()), torch.inference_mode():
        for start in range(0, len(prepared), BATCH):
            pixels = torch.from_numpy(np.stack(prepared[start : start + BATCH])).to(network.device)
            outputs = getattr(network, "get_image_features", network)(pixel_values=pixels)
            features = getattr(outputs, "pooler_output", None) if pooled else None
            if features is None:
                states = outputs.last_hidden_state
                features = states.flatten(2).mean(dim=2) if states.ndim == 4 else states.mean(dim=1)
            parts.append(features.flatten(1).float().cpu().numpy())
    return in_16_bits(np.concatenate(parts), model, ARGUMENT)
