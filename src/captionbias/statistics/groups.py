"""Sums over groups of images, of which the bootstrap draws some: whole numbers, so that those of parts of the images
add, in any order, to the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from captionbias.arrays import Floats, Integers, sparse
from captionbias.hashes import Hashes, seeded

# A replicate draws groups of images. The spread that it finds is as right on average, and varies by 1 / sqrt(2 groups)
# of itself.
GROUPS = 4096
SCENE_NAMES = "scene names"  # the table that has one unit of each scene, whose images are counted together
UNIT = 720_720  # of an image: each of its 1 to 16 captions is a whole number of these


class NamedUnits(NamedTuple):
    """Units of columns that are told by their names, as which there are depends on the images."""

    names: Sequence[str]
    units: Any  # sparse, `(columns, GROUPS)`


def random_groups(keys: Hashes, seed: int) -> Integers:
    """The group of each image, `(images,)`, of `GROUPS`, by the key of its picture."""
    return (seeded(keys, seed) % np.uint64(GROUPS)).astype(np.int64)


def units_of(counts: Any, weight: Floats, group: Integers) -> Any:
    """The units that rows of these weights and groups, `(rows,)`, count in each column, of counts `(rows, columns)`,
    dense or sparse: sparse, `(columns, GROUPS)`."""
    from scipy.sparse import coo_array

    counts = coo_array(counts)
    row, column = counts.coords
    return sparse(np.rint(UNIT * weight[row] * counts.data), (column, group[row]), (counts.shape[1], GROUPS))


def totals(units: Mapping[Any, Any]) -> dict[Any, Floats]:
    """The sums over all groups of tables of units, in images: `(columns, 1)` each; but of those with `NamedUnits`."""
    tables = {name: table for name, table in units.items() if not isinstance(table, NamedUnits)}
    return {name: np.asarray(table.sum(axis=1))[:, None] / UNIT for name, table in tables.items()}
