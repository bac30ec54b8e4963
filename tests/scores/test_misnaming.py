"""The gaps of naming, by the definition written out, on planted captioners, and of people."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from captionbias.scores.misnaming import naming_gaps

WOMEN, MEN, NONE = 0, 1, -1


def tables(value, captioner, person, stratum, multiplicity, values=2):
    """Captions by value, stratum, side and kind (all, named, right), counted as often as images of each replicate."""
    sides = [[np.ones(len(value)), named != NONE, named == value] for named in (captioner, person)]
    counts = np.array(sides).transpose(2, 0, 1)[..., None] * multiplicity[:, None, None]
    table = np.zeros((values, int(max(stratum)) + 1, *counts.shape[1:]))
    np.add.at(table, (value, stratum), counts)
    return table


def gaps(value, captioner, person, stratum, weights=None, values=2):
    weights = np.ones(len(value)) if weights is None else weights
    return naming_gaps(tables(value, captioner, person, stratum, weights[:, None], values))[..., 0]


def by_definition(value, captioner, person, stratum, weights):
    """Wrong and unnamed gaps of the first of two values, caption by caption."""

    def share(named, error, chosen):
        rows = [i for i in range(len(value)) if chosen(i)]
        return sum(weights[i] for i in rows if error(named[i], value[i])) / sum(weights[i] for i in rows)

    def gap(named, error):
        total = weight = 0.0
        for level in set(stratum):
            cell = [[i for i in range(len(value)) if value[i] == v and stratum[i] == level] for v in (WOMEN, MEN)]
            women, men = (sum(weights[i] for i in rows) for rows in cell)
            if women and men:
                shares = [share(named, error, lambda i, rows=rows: i in rows) for rows in cell]
                total += women * men / (women + men) * (shares[0] - shares[1])
                weight += women * men / (women + men)
        return total / weight

    def wrong(name, true):
        return name not in (true, NONE)

    def unnamed(name, _):
        return name == NONE

    def everyone(_):
        return True

    captioner_wrong, person_wrong = (share(named, wrong, everyone) for named in (captioner, person))
    scale = min(1, captioner_wrong / person_wrong) if person_wrong else 1
    captioner_none, person_none = (share(named, unnamed, everyone) for named in (captioner, person))
    by_unnamed = captioner_none / person_none if captioner_none < person_none else 1
    by_named = (1 - captioner_none) / (1 - person_none) if captioner_none > person_none else 1
    return (
        100 * (gap(captioner, wrong) - scale * gap(person, wrong)),
        100 * (gap(captioner, unnamed) - by_unnamed * by_named * gap(person, unnamed)),
    )


@st.composite
def images(draw):
    size = draw(st.integers(8, 30))
    names = st.lists(st.sampled_from([WOMEN, MEN, NONE]), min_size=size, max_size=size)
    value = [WOMEN, MEN, *draw(st.lists(st.sampled_from([WOMEN, MEN]), min_size=size - 2, max_size=size - 2))]
    stratum = [0, 0, *draw(st.lists(st.integers(0, 2), min_size=size - 2, max_size=size - 2))]
    weights = draw(st.lists(st.integers(1, 3), min_size=size, max_size=size))
    return tuple(np.array(column) for column in (value, draw(names), draw(names), stratum, weights))


@given(images())
@settings(max_examples=60, deadline=None)
def test_gaps_are_those_of_the_definition(columns):
    value, captioner, person, stratum, weights = columns
    assert gaps(value, captioner, person, stratum, weights)[:, 0] == pytest.approx(by_definition(*columns))


def people(images: int, seed: int):
    """Women and men of whom a third are hard to see: people name fewer of these, and women more seldom."""
    random = np.random.default_rng(seed)
    value = (random.random(images) < 0.6).astype(int)
    hard = random.random((images, 1)) < np.where(value == WOMEN, 0.45, 0.25)[:, None]
    says = random.random((images, 6))
    none = says < np.where(hard, 0.6, 0.1)
    wrong = ~none & (says > np.where(hard, 0.97, 0.995))
    named = np.where(none, NONE, np.where(wrong, 1 - value[:, None], value[:, None]))
    seen = (named[:, 2:] == value[:, None]).sum(axis=1)
    return value, named[:, 0], named[:, 1], seen, random


@pytest.mark.parametrize("dropped", [0, 0.25, 0.5, 0.9, 1.0])
def test_a_person_has_no_gap_whatever_share_of_values_is_left_out_at_random(dropped):
    value, captioner, person, stratum, random = people(40_000, 1)
    captioner = np.where(random.random(len(value)) < dropped, NONE, captioner)
    assert gaps(value, captioner, person, stratum)[:, 0] == pytest.approx([0, 0], abs=1.2)
    assert gaps(value, value, person, stratum)[:, 0] == pytest.approx([0, 0], abs=1e-9), "who never errs"
