"""BA (MALS) against its definition, on labels, on captions and on frequent words."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from captionbias.metrics.ba_mals import ba_mals
from captionbias.synthetic import plant
from captionbias.text import load_lexicon
from captionbias.text.tokens import split_words


def by_definition(known, told, values, tasks):
    """From rows `(values, tasks)` as sets: the score, the tasks that count and the undefined pairs."""

    def count(rows, a, t):
        return sum(a in row_values and t in row_tasks for row_values, row_tasks in rows)

    parts, undefined = [], 0
    for t in range(tasks):
        known_of, told_of = ([count(rows, a, t) for a in range(values)] for rows in (known, told))
        if not sum(known_of):
            undefined += values
            continue
        leaning = [a for a in range(values) if Fraction(known_of[a], sum(known_of)) > Fraction(1, values)]
        if leaning and not sum(told_of):
            undefined += len(leaning)
            continue
        parts.append(sum(Fraction(told_of[a], sum(told_of)) - Fraction(known_of[a], sum(known_of)) for a in leaning))
    return (float(sum(parts) / Fraction(len(parts))) if parts else None), len(parts), undefined


def rows_of(attributes, tasks):
    return [
        (set(np.flatnonzero(a).tolist()), set(np.flatnonzero(t).tolist()))
        for a, t in zip(attributes, tasks, strict=True)
    ]


def flags(rows, width):
    return st.lists(st.lists(st.booleans(), min_size=width, max_size=width), min_size=rows, max_size=rows)


@st.composite
def labels(draw):
    images, values, tasks = draw(st.integers(1, 15)), draw(st.integers(1, 4)), draw(st.integers(1, 4))
    found = [np.array(draw(flags(images, width))) for width in (values, tasks, values, tasks)]
    assume(found[0].any() and found[1].any())
    return dict(zip(("attributes", "tasks", "predicted_attributes", "predicted_tasks"), found, strict=True))


def summary(result):
    return result["ba_mals"], result["tasks_ba_mals"], result["undefined_pairs_ba_mals"]


def shape(given_labels):
    return given_labels["attributes"].shape[1], given_labels["tasks"].shape[1]


def wanted_of(given_labels, known=None):
    known = known or rows_of(given_labels["attributes"], given_labels["tasks"])
    told = rows_of(given_labels["predicted_attributes"], given_labels["predicted_tasks"])
    return by_definition(known, told, *shape(given_labels))


# --- labels ---


@settings(deadline=None, max_examples=60)
@given(labels())
def test_it_is_the_definition(given_labels):
    wanted = wanted_of(given_labels)
    if wanted[0] is None:
        with pytest.raises(
            ValueError, match=r"^tasks: none occurs with an attribute value in the data and in the predictions"
        ):
            ba_mals(**given_labels, bootstrap=0)
    else:
        assert summary(ba_mals(**given_labels, bootstrap=0)) == pytest.approx(wanted, abs=1e-12)


@settings(deadline=None, max_examples=50)
@given(labels(), st.data())
def test_training_labels_say_what_leans(given_labels, data):
    known = [np.array(data.draw(flags(9, width))) for width in shape(given_labels)]
    assume(all(array.any() for array in known))
    wanted = wanted_of(given_labels, rows_of(*known))
    assume(wanted[0] is not None)
    result = ba_mals(**given_labels, training_attributes=known[0], training_tasks=known[1], bootstrap=0)
    assert summary(result) == pytest.approx(wanted, abs=1e-12)


@settings(deadline=None, max_examples=50)
@given(labels(), st.sampled_from(["predicted_attributes", "predicted_tasks"]))
def test_what_is_not_predicted_is_as_it_is_shown(given_labels, left_out):
    as_shown = given_labels | {left_out: given_labels[left_out.removeprefix("predicted_")]}
    assume(wanted_of(as_shown)[0] is not None)
    without = {name: array for name, array in given_labels.items() if name != left_out}
    assert ba_mals(**without, bootstrap=0) == ba_mals(**as_shown, bootstrap=0)


@settings(deadline=None, max_examples=40)
@given(labels())
def test_predictions_equal_to_the_labels_amplify_nothing(given_labels):
    true = given_labels | {f"predicted_{name}": given_labels[name] for name in ("attributes", "tasks")}
    assume(wanted_of(true)[0] is not None)
    result = ba_mals(**true, bootstrap=20)
    assert {value for key, value in result.items() if key.startswith("ba_mals")} == {0}


@settings(deadline=None, max_examples=40)
@given(labels(), st.randoms(use_true_random=False))
def test_the_order_of_images_and_of_labels_changes_nothing(given_labels, random):
    assume(wanted_of(given_labels)[0] is not None)
    rows = random.sample(range(len(given_labels["tasks"])), len(given_labels["tasks"]))
    columns = {
        kind: random.sample(range(given_labels[kind].shape[1]), given_labels[kind].shape[1])
        for kind in ("attributes", "tasks")
    }
    other = {name: array[rows][:, columns[name.removeprefix("predicted_")]] for name, array in given_labels.items()}
    one, other = ba_mals(**given_labels, bootstrap=0), ba_mals(**other, bootstrap=0)
    assert summary(one) == pytest.approx(summary(other), abs=1e-12)


@settings(deadline=None, max_examples=40)
@given(labels())
def test_shares_of_the_table_sum_to_the_score_and_no_number_is_nan(given_labels):
    assume(wanted_of(given_labels)[0] is not None)
    result = ba_mals(**given_labels, bootstrap=20, details=True)
    table = result["details"]["pairs"]
    assert sum(row["share"] for row in table if row["share"] is not None) == pytest.approx(result["ba_mals"], abs=1e-12)
    assert all(math.isfinite(value) for row in table for value in row.values() if isinstance(value, float))
    assert all(math.isfinite(value) for value in result.values() if isinstance(value, float))
    if "ba_mals_ci_low" in result:  # of few images, a replicate may have drawn none of a task
        assert result["ba_mals_ci_low"] - 1e-12 <= result["ba_mals"] <= result["ba_mals_ci_high"] + 1e-12
    for row in table:
        both = given_labels["attributes"][:, int(row["attribute"])] & given_labels["tasks"][:, int(row["task"])]
        assert row["count"] == both.sum()
        if row["predicted_probability"] is None:
            assert row["predicted_count"] == 0


def test_by_hand():
    """Three of four knives are with women: their share is 3/4, and 4/5 in the predictions."""
    given_labels = {"attributes": [*"fffmm"], "tasks": [["knife"]] * 4 + [[]]}
    told = {"predicted_attributes": [*"ffffm"], "predicted_tasks": [["knife"]] * 5}
    assert ba_mals(**given_labels, **told, bootstrap=0)["ba_mals"] == pytest.approx(0.8 - 0.75)


def test_labels_without_predictions_are_refused():
    with pytest.raises(
        ValueError, match=r"^predicted_tasks and predicted_attributes are both missing: give one of them"
    ):
        ba_mals(attributes=["f", "m"], tasks=[["a"], ["b"]])


# --- captions ---

LEXICON = {"cake": ["cake", "cakes"], "hot dog": ["hot dog"], "dog": ["dog", "puppy"]}


def named(text, lexicon):
    """By string search alone; "hot dog" hides its dog."""
    words = f" {' '.join(split_words(text))} ".replace(" hot dog ", " hot_dog ")
    listed = enumerate(load_lexicon(lexicon).groups.values())
    return {number for number, some in listed if any(f" {word.replace(' ', '_')} " in words for word in some)}


def test_every_human_caption_counts_as_much_as_any_other():
    predictions = ["a woman and a hot dog", "a man with a cake", "a lady and a cake", "a cake", "a man, a puppy"]
    references = [
        ["a woman eats a hot dog", "a girl, a dog"],
        ["a man with cakes"] * 3,
        ["a lady with a cake", "somebody with a cake", "a man and a woman with a dog and a cake"],
        ["the cake"],
        ["a man with a dog", "a man and a hot dog", "a boy and his puppy"],
    ]
    result = ba_mals(
        predictions=predictions,
        references=references,
        attributes=["female", "male", "female", "female", "male"],
        task_lexicon=LEXICON,
        bootstrap=50,
    )
    known, told = (
        [(named(text, "gender"), named(text, LEXICON)) for text in texts]
        for texts in ((text for row in references for text in row), predictions)
    )
    assert summary(result) == pytest.approx(by_definition(known, told, 2, 3), abs=1e-12)
    assert result["signature"].startswith("metric:ba_mals|tok:words|attribute:gender|task:custom")


def test_a_planted_bias_in_who_is_named_is_found():
    faithful, amplified = (
        ba_mals(**vars(plant(images=1500, captions=2, t_to_a=dial)), bootstrap=200) for dial in (0.0, 0.5)
    )
    assert faithful["ba_mals_ci_low"] <= 0 <= faithful["ba_mals_ci_high"]
    assert amplified["ba_mals_ci_low"] > 0


def test_frequent_words_are_tasks_as_in_a_lexicon_of_them():
    planted = vars(plant(images=200, captions=2, t_to_a=0.5))
    result = ba_mals(**planted, words=True, most_frequent=12, at_least=20, bootstrap=20, details=True)
    words = {row["task"] for row in result["details"]["pairs"]}
    assert 3 < len(words) <= 12
    assert not words & {"a", "in", "is", "the", "woman", "man", "guy", "."}
    again = ba_mals(**planted, task_lexicon={word: [word] for word in sorted(words)}, bootstrap=20, details=True)
    for key in set(result) - {"signature"}:
        assert result[key] == again[key]
    assert "task:frequent,12,20" in result["signature"]


@pytest.mark.parametrize("missing", ["references", "predictions"])
@pytest.mark.parametrize("words", [True, False])
def test_captions_of_one_side_are_refused(missing, words):
    planted = vars(plant(images=20, captions=1)) | {missing: None}
    with pytest.raises(ValueError, match=f"^{missing} is missing: "):
        ba_mals(**planted, words=words, at_least=0)


@pytest.mark.parametrize(
    ("option", "value", "least"),
    [("most_frequent", 0, 1), ("at_least", -1, 0), ("at_least", 2.5, 0), ("bootstrap", -1, 0)],
)
def test_bad_numbers_are_refused(option, value, least):
    planted = vars(plant(images=20, captions=1))
    with pytest.raises(ValueError, match=f"^{option} must be a whole number of {least} or more, not {value}"):
        ba_mals(**planted, words=True, **{option: value})
