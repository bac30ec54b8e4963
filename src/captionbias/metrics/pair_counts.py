"""How many images have each pair of labels, in random groups, so that the bootstrap draws counts instead of text."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from captionbias.arrays import Flags, Floats, Integers
from captionbias.metrics.measurement import summarize
from captionbias.statistics.intervals import multiplicities

# With more images than groups, a replicate draws groups of images. The spread that it finds is as right on average, and
# varies by 1 / sqrt(2 groups) of itself.
GROUPS = 4096


def random_groups(images: int, seed: int, most: int = GROUPS) -> Integers:
    """The group of each image, shape `(images,)`: one image a group if there are few, else of equal size.

    >>> random_groups(3, seed=0).tolist(), random_groups(9, seed=0, most=3).tolist()
    ([0, 1, 2], [1, 1, 2, 0, 0, 0, 2, 1, 2])
    """
    if images <= most:
        return np.arange(images)
    return np.random.default_rng([seed, 5]).permutation(images) % most


class PairCounts:
    """Rows with each pair of a label on the left and one on the right, by the group of the row's image."""

    def __init__(self, groups: Integers, left: int, right: int) -> None:
        self._group = groups
        self._counts = np.zeros((int(groups.max()) + 1, left, right))

    def add(self, image: Integers, left: Flags, right: Flags) -> None:
        """Count rows: the image of each, `(rows,)`, and its labels, `(rows, left)` and `(rows, right)`."""
        from scipy.sparse import csr_array

        groups, width, _ = self._counts.shape
        row, label = np.nonzero(left)
        cell = self._group[image[row]] * width + label
        gather = csr_array((np.ones(len(row), np.float32), (cell, row)), shape=(groups * width, len(left)))
        self._counts += (gather @ right.astype(np.float32)).reshape(self._counts.shape)

    def of(self, multiplicity: Floats | None) -> Floats:
        """The counts when group `g` is drawn `multiplicity[g, r]` times: shape `(left, right, replicates)`.

        For None each is drawn once: shape `(left, right, 1)`.
        """
        groups, left, right = self._counts.shape
        if multiplicity is None:
            return np.asarray(self._counts.sum(axis=0)[:, :, None])
        flat = self._counts.reshape(groups, -1).T @ multiplicity
        return np.asarray(flat.reshape(left, right, multiplicity.shape[1]))


def with_intervals(
    quantities: Callable[[Floats | None], Mapping[str, Floats]],
    bounds: tuple[float, float] | Mapping[str, tuple[float, float]],
    groups: Integers,
    bootstrap: int,
    seed: int,
) -> dict[str, float]:
    """Each quantity with its 95% interval over images.

    `quantities`: their values, shape `(replicates,)` each, for multiplicities of groups `(groups, replicates)`; for
    None, as they are. `bounds`: the range of all, or of each.
    """
    estimates = quantities(None)
    replicates: dict[str, list[Floats]] = {name: [np.zeros(0)] for name in estimates}
    for multiplicity in multiplicities(int(groups.max()) + 1, bootstrap, seed):
        for name, values in quantities(multiplicity).items():
            replicates[name].append(values)
    result: dict[str, float] = {}
    for name, values in estimates.items():
        result |= summarize(
            name, values, np.concatenate(replicates[name]), bounds[name] if isinstance(bounds, Mapping) else bounds
        )
    return result
