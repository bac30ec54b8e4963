"""Multi-attribute bias amplification against its definition, one combination at a time."""

from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from captionbias.metrics import multi_directional_ba
from tests.metrics.by_definition import (
    ARGUMENTS,
    DIRECTIONS,
    VALUES,
    amplified,
    captioned_images,
    rows_of_captions,
    rows_of_labels,
    scores,
    sets_of,
    tables_and_training,
    written,
)
from tests.refusals import refuses


def combinations_of(rows, at_least=1):
    """A combination is the whole set of tasks of some row; a row has it if it has all of its tasks."""
    sets = [tasks for _, tasks in rows["a_to_t"][2]]
    return {one for one in sets if one and sets.count(one) >= at_least}


def leaning(values, combinations, known, predicted):
    """Of each combination and value: how much larger the value's share of it is in what is predicted, where it is the
    likelier one in what is known, else 0; None of a combination that either names with no value."""
    parts = []
    for t in combinations:
        old, new = ([sum(a in of and t <= tasks for of, tasks in rows) for a in values] for rows in (known, predicted))
        if not sum(old) or not sum(new):
            continue
        parts += [
            Fraction(after, sum(new)) - Fraction(before, sum(old)) if before * len(values) > sum(old) else Fraction(0)
            for before, after in zip(old, new, strict=True)
        ]
    return parts


def wanted(values, combinations, rows, known, predicted):
    """The mean of |Delta| and the variance of Delta of each direction, the same undirected, and what is counted."""
    found = {"combinations": len(combinations)}
    for name in DIRECTIONS:
        parts = amplified(name, values, combinations, *rows[name], signed=False)
        defined = [part for part in parts if part is not None]
        found |= mean_and_variance(f"multi_directional_ba_{name}", defined)
        found[f"undefined_pairs_{name}"] = len(parts) - len(defined)
    if parts := leaning(values, combinations, known, predicted):
        found |= mean_and_variance("multi_mals", parts)
        found["multi_mals"] *= len(values)
    return pytest.approx(found, abs=1e-12)


def mean_and_variance(key, parts):
    mean = sum(parts) / Fraction(len(parts))
    variance = sum((part - mean) ** 2 for part in parts) / len(parts)
    return {key: float(sum(map(abs, parts)) / len(parts)), f"{key}_variance": float(variance)}


def label_rows(table, values, tasks):
    return list(zip(sets_of(table[values]), sets_of(table[tasks]), strict=True))


@settings(deadline=None, max_examples=100)
@given(tables_and_training(), st.integers(1, 3))
def test_it_is_the_definition_of_combinations_often_enough_in_training_that_some_image_contains(drawn, at_least):
    table, training = drawn
    rows = rows_of_labels(table, training)
    shown = [tasks for _, tasks in rows["a_to_t"][0]]
    combinations = {one for one in combinations_of(rows, at_least) if any(one <= tasks for tasks in shown)}
    assume(combinations)
    found = multi_directional_ba(**table, **training, at_least=at_least, bootstrap=0)
    known = label_rows(training, *training) if training else label_rows(table, *ARGUMENTS[:2])
    predicted = label_rows(table, *ARGUMENTS[2:])
    assert scores(found) == wanted(range(table["attributes"].shape[1]), combinations, rows, known, predicted)


@settings(deadline=None, max_examples=80)
@given(captioned_images(), st.integers(1, 2))
def test_of_captions_it_is_the_definition_whatever_the_number_of_human_captions(images, at_least):
    rows = rows_of_captions(images)
    combinations = combinations_of(rows, at_least)
    assume(combinations)
    assume(any(VALUES & named for _, said, humans in images for named in (said, *humans)))
    found = multi_directional_ba(**written(images), at_least=at_least, bootstrap=0, controls=False)
    known = [(named & VALUES, named) for _, _, humans in images for named in humans]
    predicted = [(named & VALUES, named) for _, named, _ in images]
    assert scores(found) == wanted(VALUES, combinations, rows, known, predicted)


def test_combinations_that_are_too_many_too_rare_or_that_no_image_has_are_refused_with_a_way_out(monkeypatch):
    monkeypatch.setattr(import_module("captionbias.metrics.multi_directional_ba"), "MOST_COMBINATIONS", 3)
    tasks = [["a"], ["b"], ["c"], ["a", "b"], ["a"], ["b"]]
    labels = {"attributes": ["f", "m"] * 3, "tasks": tasks, "predicted_tasks": tasks}
    many = r"^tasks: 4 sets .* of 1 or more images.* more than 3 .*give a larger at_least"
    refuses(many, multi_directional_ba, **labels)
    assert multi_directional_ba(**labels, at_least=2)["combinations"] == 2
    rare = "^at_least: no set of tasks is shared by 3 images or captions; give a smaller "
    refuses(rare, multi_directional_ba, **labels, at_least=3)
    training = {"training_attributes": ["f", "m"], "training_tasks": [["a", "b", "c"]] * 2}
    nowhere = "^tasks: no image shows any of the combinations of training_tasks"
    refuses(nowhere, multi_directional_ba, **labels, **training)


def test_noise_is_told_from_bias_by_what_exchanged_labels_read():
    """Another draw of the labels reads as much as the null, above its 95% point once in twenty; a bias reads more."""
    key, leans = "multi_directional_ba_a_to_t", {"cake": 0.6, "tie": 0.3}
    beyond = {0: 0, 0.3: 0}
    for seed in range(8):
        random = np.random.default_rng(seed)
        labels = ["female" if female else "male" for female in random.random(200) < 0.5]
        shown, *predicted = (
            [
                [task for task in leans if random.random() < leans[task] + shift * (label == "female")]
                for label in labels
            ]
            for shift in (0, *beyond)
        )
        for shift, told in zip(beyond, predicted, strict=True):
            found = multi_directional_ba(attributes=labels, tasks=shown, predicted_tasks=told, bootstrap=20)
            assert 0 < found[f"{key}_null"] < found[f"{key}_null_high"]
            assert "multi_directional_ba_t_to_a_null" not in found, "nothing is predicted there"
            beyond[shift] += found[key] > found[f"{key}_null_high"]
    assert beyond[0] <= 2
    assert beyond[0.3] == 8
