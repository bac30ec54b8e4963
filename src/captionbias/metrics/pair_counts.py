"""How many images have each pair of labels, in random groups, so that the bootstrap draws counts instead of text."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from captionbias.arrays import Flags, Floats, Integers, sparse

# With more images than groups, a replicate draws groups of images. The spread that it finds is as right on average, and
# varies by 1 / sqrt(2 groups) of itself.
GROUPS = 4096
ROWS_AT_ONCE = 10_000


def random_groups(images: int, seed: int, most: int = GROUPS, copies: Integers | None = None) -> Integers:
    """The group of each image, shape `(images,)`: one image a group if there are few, else of equal size.

    `copies`: see `Captions.copies`; those of a picture are in one group.
    """
    if copies is not None:
        return random_groups(int(copies.max()) + 1, seed, most)[copies]
    if images <= most:
        return np.arange(images)
    return np.random.default_rng([seed, 5]).permutation(images) % most


def in_parts(rows: int, at_once: int = ROWS_AT_ONCE) -> Iterator[slice]:
    """Slices that cover so many rows, a part at a time: products of all rows would not fit into memory."""
    return (slice(start, min(start + at_once, rows)) for start in range(0, rows, at_once))


class PairCounts:
    """Rows with each pair of a label on the left and one on the right, by the group of the row's image."""

    def __init__(self, groups: Integers, left: int, right: int) -> None:
        self._group = groups
        self._shape = left, right
        self._cells: list[Integers] = []
        self._groups: list[Integers] = []

    def add(self, image: Integers, left: Flags, right: Flags) -> None:
        """Count rows: the image of each, `(rows,)`, and its labels, `(rows, left)` and `(rows, right)`."""
        row, column = np.nonzero(right)
        for label, flags in enumerate(left.T):
            both = flags[row]
            self._cells.append(label * self._shape[1] + column[both])
            self._groups.append(self._group[image[row[both]]])

    @cached_property
    def _counts(self) -> Any:
        """How often each group has each pair: sparse, `(pairs, groups)`."""
        cells, groups = np.concatenate(self._cells), np.concatenate(self._groups)
        return sparse(np.ones(len(cells)), (cells, groups), (int(np.prod(self._shape)), int(self._group.max()) + 1))

    def of(self, multiplicity: Floats | None = None) -> Floats:
        """The counts with group `g` drawn `multiplicity[g, r]` times (None: once): `(left, right, replicates)`."""
        flat = self._counts.sum(axis=1)[:, None] if multiplicity is None else self._counts @ multiplicity
        return np.asarray(flat, np.float64).reshape(*self._shape, -1)
