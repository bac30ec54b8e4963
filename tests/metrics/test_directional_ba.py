"""Directional BA against its definition, on labels and on captions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from captionbias.metrics import directional_ba
from captionbias.synthetic import TASKS, plant
from tests.metrics.by_definition import (
    DIRECTIONS,
    THINGS,
    VALUES,
    amplified,
    captioned_images,
    rows_of_captions,
    rows_of_labels,
    scores,
    tables_and_training,
    written,
)


def wanted(values, tasks, rows):
    """The score and the number of undefined pairs of each direction."""
    found = {}
    for name in DIRECTIONS:
        parts = amplified(name, values, [frozenset({task}) for task in tasks], *rows[name])
        defined = [part for part in parts if part is not None]
        found[f"directional_ba_{name}"] = float(sum(defined) / len(defined))
        found[f"undefined_pairs_{name}"] = len(parts) - len(defined)
    return pytest.approx(found, abs=1e-12)


def interval(result, name):
    return result[f"directional_ba_{name}_ci_low"], result[f"directional_ba_{name}_ci_high"]


@settings(deadline=None, max_examples=80)
@given(tables_and_training())
def test_it_is_the_definition_in_which_training_labels_say_what_goes_together(drawn):
    table, training = drawn
    numbers = (range(table[name].shape[1]) for name in ("attributes", "tasks"))
    result = directional_ba(**table, **training, bootstrap=0)
    assert scores(result) == wanted(*numbers, rows_of_labels(table, training))
    assert ("|training:" in result["signature"]) == bool(training)


@settings(deadline=None, max_examples=40)
@given(captioned_images(), st.data())
def test_of_captions_it_is_the_definition_with_tasks_that_are_given_or_that_any_human_caption_names(images, data):
    rows = st.lists(st.frozensets(st.sampled_from(sorted(THINGS))), min_size=len(images), max_size=len(images))
    tasks = data.draw(st.none() | rows.filter(any))
    shown = tasks or [named & THINGS for _, _, humans in images for named in humans]
    given = tasks and list(map(sorted, tasks))
    result = directional_ba(**written(images), tasks=given, bootstrap=0, controls=False)
    assert scores(result) == wanted(VALUES, frozenset().union(*shown), rows_of_captions(images, tasks))


def test_a_captioner_that_repeats_a_human_caption_of_each_image_amplifies_nothing():
    """Against what images show it would mitigate: one caption names less than all captions of an image together."""
    planted = plant(images=3000, captions=3, seed=4)
    draw = np.random.default_rng(0)
    repeats = [humans[draw.integers(len(humans))] for humans in planted.references]
    shown = [[name for name in TASKS if any(f"a {name}" in text for text in texts)] for texts in planted.references]
    captions = {"predictions": repeats, "attributes": planted.attributes, "bootstrap": 200}
    captions["trust_rows"] = True
    found = directional_ba(**captions, references=planted.references)
    against_images = directional_ba(**captions, tasks=shown)
    for name, within in (("a_to_t", 0.003), ("t_to_a", 0.02)):
        assert abs(found[f"directional_ba_{name}"]) < within
        low, high = interval(found, name)
        assert low < 0 < high
        assert interval(against_images, name)[1] < 0


def test_a_row_of_the_table_says_what_its_pair_is_made_of():
    captions = {
        "predictions": ["a woman with a cake", "a man with a hot dog", "a lady", "a dog"],
        "references": [
            ["a woman with a cake"],
            ["a man and a dog", "a man and a hot dog"],
            ["a woman, a cake"],
            ["a man"],
        ],
        "attributes": ["female", "male", "female", "male"],
    }
    tables = directional_ba(**captions, bootstrap=0, details=True)["details"]["pairs"]
    a_to_t, t_to_a = ({(row["attribute"], row["task"]): row for row in tables[name]} for name in DIRECTIONS)
    # Both human captions of women name a cake, and one of two model captions; three tasks and two values are six pairs.
    assert len(a_to_t) == 6
    assert a_to_t["female", "cake"] == {
        "attribute": "female",
        "task": "cake",
        "share": pytest.approx(-0.5 / 6),
        **{"given": 2, "both": 2, "probability": 1.0},
        **{"predicted_given": 2, "predicted_both": 1, "predicted_probability": 0.5},
    }
    # The image that shows a dog has two human captions and one model caption, and all of them name a man.
    dog = t_to_a["male", "dog"]
    assert (dog["given"], dog["both"], dog["predicted_given"], dog["predicted_both"]) == (2, 2, 1, 1)
    assert {type(value) for value in dog.values()} == {str, int, float}


def test_the_interval_is_about_that_of_whole_resamples_of_images():
    random = np.random.default_rng(0)
    attributes = random.random((300, 2)) < 0.5
    tasks = random.random((300, 2)) < np.where(attributes[:, :1], 0.6, 0.4)
    predicted = np.where(random.random((300, 2)) < 0.3, attributes[:, :1], tasks)

    def measured(rows, bootstrap):
        labels = {"attributes": attributes[rows], "tasks": tasks[rows], "predicted_tasks": predicted[rows]}
        return directional_ba(**labels, bootstrap=bootstrap)

    drawn = [measured(random.integers(300, size=300), 0)["directional_ba_a_to_t"] for _ in range(300)]
    low, high = interval(measured(np.arange(300), 1000), "a_to_t")
    assert high - low == pytest.approx(2 * 1.96 * np.std(drawn), rel=0.2)
