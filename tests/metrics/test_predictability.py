"""What attackers read from labels: sets as words, labels made as wrong as a model's, means that are counted anew."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from captionbias.attackers.base import Examples, Trial, TrialScores
from captionbias.metrics.label_inputs import read_labels
from captionbias.metrics.predictability import Predictability, Sets, as_tokens, as_wrong_as, over_trials
from captionbias.scores import number_sets


@st.composite
def two_tables(draw):
    rows, width = draw(st.integers(1, 40)), draw(st.integers(1, 4))
    random = np.random.default_rng(draw(st.integers(0, 999)))
    return random.random((rows, width)) < 0.4, random.random((rows, width)) < random.random()


# --- labels as wrong as a model's ---


@settings(deadline=None)
@given(two_tables(), st.integers(0, 99))
def test_each_label_is_missed_and_invented_exactly_as_often_as_by_the_model(tables, seed):
    truth, predicted = tables
    found = as_wrong_as(truth, predicted, seed)
    assert found.dtype == bool
    for label in range(truth.shape[1]):
        for members in (truth[:, label], ~truth[:, label]):
            assert found[members, label].sum() == predicted[members, label].sum()


@settings(deadline=None)
@given(two_tables(), st.integers(0, 99))
def test_right_predictions_leave_the_truth_as_it_is_and_wrong_ones_turn_it_round(tables, seed):
    truth, _ = tables
    assert np.array_equal(as_wrong_as(truth, truth, seed), truth)
    assert np.array_equal(as_wrong_as(truth, ~truth, seed), ~truth)


def test_what_was_given_is_left_as_it_was_and_the_seed_draws():
    random = np.random.default_rng(0)
    truth, predicted = random.random((2, 100, 2)) < 0.5
    before = truth.copy(), predicted.copy()
    drawn = {as_wrong_as(truth, predicted, seed).tobytes() for seed in (0, 1, 2, 0, 1)}
    assert len(drawn) == 3
    assert np.array_equal(truth, before[0])
    assert np.array_equal(predicted, before[1])


def test_errors_have_nothing_to_do_with_anything_else():
    """The model misses the label for men and invents it for women; the same errors fall on both alike."""
    random = np.random.default_rng(0)
    woman, truth = random.random(400) < 0.5, random.random((400, 1)) < 0.5
    predicted = np.where(random.random(400) < 0.6, woman, truth[:, 0])[:, None]

    def gaps(labels):
        """What women have of the label beyond men, among images that show it and among those that do not."""
        return [
            labels[members & woman].mean() - labels[members & ~woman].mean() for members in (truth[:, 0], ~truth[:, 0])
        ]

    assert min(gaps(predicted)) > 0.4
    drawn = np.array([gaps(as_wrong_as(truth, predicted, seed)) for seed in range(200)])
    error = drawn.std(axis=0, ddof=1) / np.sqrt(200)
    assert (np.abs(drawn.mean(axis=0)) < 4 * error).all()
    assert (error < 0.01).all()


def test_the_errors_of_two_labels_have_nothing_to_do_with_each_other():
    truth = np.ones((400, 2), bool)
    predicted = np.repeat(np.random.default_rng(0).random((400, 1)) < 0.5, 2, axis=1)
    both = [as_wrong_as(truth, predicted, seed).all(axis=1).mean() for seed in range(100)]
    assert predicted.all(axis=1).mean() == pytest.approx(0.5, abs=0.1)
    assert np.mean(both) == pytest.approx(predicted[:, 0].mean() ** 2, abs=0.01)


# --- labels as captions ---


@settings(deadline=None)
@given(two_tables())
def test_each_image_s_labels_are_its_words(tables):
    flags, _ = tables
    tokens = as_tokens(flags)
    assert tokens.texts() == [" ".join(map(str, np.flatnonzero(row))) for row in flags]
    assert len(tokens.words) == flags.shape[1], "also those that no image has"


# --- sets ---


def sets_of(attributes, tasks, **further):
    everything = dict.fromkeys(("predictions", "references", "predicted_attributes", "predicted_tasks"))
    options = {"attribute_lexicon": "gender", "task_lexicon": "coco_objects", "tokenizer": "words"}
    return Sets.of(read_labels(**everything | options | {"attributes": attributes, "tasks": tasks} | further))


def test_sets_are_whole_and_only_those_labels_of_a_lexicon_count_that_images_show():
    shown = [["dog"], ["cake", "dog"]] * 2
    told = ["a woman, a cake", "a man, a knife", "someone", "a guy"]
    sets = sets_of(["female", "male"] * 2, shown, predictions=told)
    assert sets.values == ("female", "male")
    assert sets.tasks.shape == (4, 2)
    assert sets.tasks.sum() == 6
    assert sets.predicted_tasks.sum() == 1, "a knife is nowhere"
    assert sets.predicted_attributes.tolist() == [[True, False], [False, True], [False, False], [False, True]]
    assert sets.counts() == {"female": 2, "male": 2}


def test_of_labels_that_are_given_all_count():
    sets = sets_of(np.eye(3)[[0, 1] * 3], np.eye(2)[[0] * 6], predicted_tasks=np.eye(2)[[1] * 6])
    assert sets.attributes.shape == (6, 3)
    assert sets.predicted_tasks.tolist() == [[False, True]] * 6
    assert sets.predicted_attributes is None


def test_each_set_of_values_is_a_class():
    attributes = [["f"], ["m"], ["f", "m"], []] * 10
    classes = sets_of(attributes, [["a"]] * 40, predicted_tasks=[["a"]] * 40).classes()
    assert np.array_equal(classes, number_sets([np.array([["f" in row, "m" in row] for row in attributes])])[0])
    assert np.bincount(classes).tolist() == [10] * 4


@pytest.mark.parametrize(("rare", "named"), [(["f", "m"], "f and m"), (["m"], "m"), ([], "no value")])
def test_a_class_too_small_to_split_is_refused_by_its_name(rare, named):
    attributes = [["f"]] * 30 + [rare] * 9
    sets = sets_of(attributes, [["a"]] * 39, predicted_tasks=[["a"]] * 39)
    with pytest.raises(ValueError, match=rf"^attributes: 9 images have {named}; .* at least 10. Add images, or leave"):
        sets.classes()
    enough = sets_of([*attributes, rare], [["a"]] * 40, predicted_tasks=[["a"]] * 40)
    assert enough.classes().max() == 1


# --- how well they are read ---


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 999), st.sampled_from(["inverse_cross_entropy", "accuracy", "confidence"]))
def test_the_quality_is_the_mean_over_the_test_images_that_were_drawn(seed, quality):
    random = np.random.default_rng(seed)
    groups = random.permutation(30) % 10
    examples = Examples(as_tokens(np.ones((30, 1), bool)), np.zeros(30, np.int64), 2)
    trials = [Trial(str(n), examples, np.arange(20), np.sort(random.permutation(30)[:8]), n) for n in range(3)]
    answers = {trial: TrialScores(-random.exponential(size=8) - 0.01, random.random(8) < 0.5) for trial in trials}
    multiplicity = random.integers(0, 3, (10, 4)).astype(float)
    found = Predictability.of(trials, answers, quality, groups).of_trials(multiplicity)
    assert found.shape == (3, 4)
    for row, trial in enumerate(trials):
        scores = answers[trial]
        for column in range(4):
            drawn = multiplicity[groups[trial.test], column]
            if not drawn.sum():
                assert np.isnan(found[row, column])
                continue
            values = {
                "inverse_cross_entropy": -scores.log_probability,
                "accuracy": scores.correct,
                "confidence": np.exp(scores.log_probability),
            }[quality]
            mean = np.average(values, weights=drawn)
            assert found[row, column] == pytest.approx(1 / mean if quality.startswith("inverse") else mean)


def test_over_trials_gives_the_mean_its_spread_and_both_intervals():
    values = np.random.default_rng(0).normal(size=(4, 50))
    result = over_trials(
        lambda multiplicity: {"x": values @ multiplicity / 50}, {"x": (-9.0, 9.0)}, np.arange(50), 4, 500, 0
    )
    assert result["x"] == pytest.approx(values.mean())
    assert result["x_std"] == pytest.approx(values.mean(axis=1).std(ddof=1))
    assert result["x_ci_low"] < result["x"] < result["x_ci_high"]
    assert result["x_trial_ci_low"] < result["x"] < result["x_trial_ci_high"]
