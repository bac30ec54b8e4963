"""64-bit numbers of texts, the same on every machine: what is drawn by them minds neither place nor order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Hashes: TypeAlias = npt.NDArray[np.uint64]
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def mix(numbers: Hashes) -> Hashes:
    """The finaliser of SplitMix64 (Steele, Lea, Flood 2014): every input bit reaches every output bit."""
    numbers = (numbers + _GOLDEN) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def seeded(hashes: Hashes, seed: int) -> Hashes:
    """Other numbers for each seed."""
    with np.errstate(over="ignore"):
        return mix(hashes + mix(np.array([seed % 2**64], np.uint64)))


def hashes_of(texts: Sequence[str]) -> Hashes:
    """The number of each text without the blanks around it: its UTF-8 in eights, filled with zeros, each mixed with its
    place, their sum and the length mixed once more.

    >>> hashes_of(["a man", " a man", "a woman"])[:2].tolist()
    [720286025378780100, 720286025378780100]
    """
    encoded = [text.strip().encode("utf-8", "backslashreplace") for text in texts]
    lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
    eights = -(-lengths // 8) + (lengths == 0)
    filled = b"".join(text.ljust(8 * count, b"\0") for text, count in zip(encoded, eights.tolist(), strict=True))
    first = np.cumsum(eights) - eights
    place = np.arange(len(filled) // 8) - np.repeat(first, eights)
    with np.errstate(over="ignore"):
        mixed = mix(np.frombuffer(filled, "<u8") ^ (8 * place).astype(np.uint64) * _GOLDEN)
        return mix(sums_of(mixed, eights) + lengths.astype(np.uint64))


def sums_of(hashes: Hashes, counts: npt.NDArray[np.int64]) -> Hashes:
    """The sum of so many numbers at a time; 0 of none."""
    totals = np.concatenate((np.zeros(1, np.uint64), np.cumsum(hashes, dtype=np.uint64)))
    ends = np.cumsum(counts)
    return np.asarray(totals[ends] - totals[ends - counts])


def occurrences(hashes: Hashes) -> Hashes:
    """How many equal numbers come before each.

    >>> occurrences(np.array([5, 7, 5, 5], np.uint64)).tolist()
    [0, 0, 1, 2]
    """
    _, number, times = np.unique(hashes, return_inverse=True, return_counts=True)
    before = np.empty(len(hashes), np.uint64)
    before[np.argsort(number, kind="stable")] = np.arange(len(hashes)) - np.repeat(np.cumsum(times) - times, times)
    return before
