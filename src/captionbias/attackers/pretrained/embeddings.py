"""Embeddings in the store: what an encoder has read once, it does not read again. Texts are known by a 128-bit digest;
an entry holds the embeddings of one batch of new texts and is never changed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from secrets import token_hex

import numpy as np
import numpy.typing as npt

from captionbias.arrays import Floats32, Integers
from captionbias.attackers.pretrained.models import Model
from captionbias.io.store import Arrays, Store

Embeddings = npt.NDArray[np.float16]
Encode = Callable[[list[str]], Embeddings]

# Part of every key: raise it when entries are written, or texts digested, in another way.
FORMAT = 4
DIGEST = np.dtype("V16")
# Texts that are encoded and kept at a time: what a killed run loses at most.
PIECE = 8192


def embed(texts: Sequence[str], encode: Encode, store: Store | None, identity: str) -> Embeddings:
    """The embeddings of distinct texts, `(n, width)`; `encode` gets those that are not kept yet. `identity`: everything
    that determines an embedding beside the text."""
    encoder = _digest(f"{FORMAT} {identity}").hex()
    digests = np.array([_digest(text) for text in texts], DIGEST)
    missing = np.ones(len(texts), bool)
    parts: list[tuple[Integers, Embeddings]] = []
    if store is not None:
        for key in store.keys("embeddings", encoder):
            if part := store.load("embeddings", key, partial(_matching, digests)):
                parts.append(part)
                missing[part[0]] = False
    numbers = np.flatnonzero(missing)
    for start in range(0, len(numbers), PIECE):
        piece = numbers[start : start + PIECE]
        fresh = encode([texts[number] for number in piece.tolist()])
        if store is not None:
            arrays = {"digests": digests[piece], "embeddings": fresh}
            store.save("embeddings", f"{encoder}-{token_hex(8)}", arrays)
        parts.append((piece, fresh))
    rows = np.empty((len(texts), parts[0][1].shape[1]), np.float16)
    for numbers, embeddings in parts:
        rows[numbers] = embeddings
    return rows


def in_16_bits(features: Floats32, model: Model, argument: str = "encoder") -> Embeddings:
    """A model's features, coarser than what the order of a sum changes in 32 bits; ValueError unless finite."""
    with np.errstate(over="ignore"):
        embeddings = np.asarray(features, np.float16)
    if not np.isfinite(embeddings).all():
        raise ValueError(
            f"{argument} {model.name!r} computes values that are not finite in 16 bits: its weights in {model.folder} "
            "are damaged, or belong to another kind of model"
        )
    return embeddings


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=DIGEST.itemsize).digest()


def _matching(wanted: npt.NDArray[np.void], arrays: Arrays) -> tuple[Integers, Embeddings] | None:
    """The numbers of the wanted texts that an entry has, and their embeddings."""
    _, here, there = np.intersect1d(wanted, arrays["digests"], assume_unique=True, return_indices=True)
    return (here, arrays["embeddings"][there]) if len(here) else None
