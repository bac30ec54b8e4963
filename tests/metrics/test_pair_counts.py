"""Counts of pairs, in groups of images: what a bootstrap draws instead of text."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from captionbias.metrics.pair_counts import PairCounts, random_groups
from captionbias.statistics.intervals import multiplicities


@settings(deadline=None)
@given(st.integers(1, 200), st.integers(1, 50), st.integers(0, 9))
def test_groups_are_of_equal_size_and_none_is_empty(images, most, seed):
    groups = random_groups(images, seed, most)
    sizes = np.bincount(groups)
    assert len(groups) == images
    assert len(sizes) == min(images, most)
    assert sizes.max() - sizes.min() <= 1
    if images <= most:
        assert groups.tolist() == list(range(images))


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 15), st.integers(1, 4), st.integers(1, 3), st.integers(1, 3), st.integers(0, 99))
def test_counts_are_those_of_a_plain_loop(images, most, left, right, seed):
    random = np.random.default_rng(seed)
    image = random.integers(images, size=30)  # several rows an image, and in any order
    one, other = random.random((30, left)) < 0.4, random.random((30, right)) < 0.4
    groups = random_groups(images, seed, most)
    table = PairCounts(groups, left, right)
    for rows in np.array_split(np.arange(30), 3):
        table.add(image[rows], one[rows], other[rows])

    def counted(drawn):
        found = np.zeros((left, right))
        for row in range(30):
            found += drawn[groups[image[row]]] * np.outer(one[row], other[row])
        return found

    assert np.array_equal(table.of(None)[:, :, 0], counted(np.ones(groups.max() + 1)))
    multiplicity = np.concatenate(list(multiplicities(groups.max() + 1, 3, seed)), axis=1)
    for number, drawn in enumerate(multiplicity.T):
        assert np.array_equal(table.of(multiplicity)[:, :, number], counted(drawn))
