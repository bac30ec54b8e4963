"""Sway reads, within its interval, what was planted, and 0 where nothing was: of two values and of four, with one human
caption and with five, with tasks and without, of any naming rate."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from benchmarks.planted_sway import swayed
from captionbias.synthetic import AGES, Planted, plant
from tests.whole import sway

AGAINST = {2: 0.3, 4: 0.45}  # of the images whose task leans to a value: the share that are of another
NAMES_PERSON, NAMES_TASK = 0.85, 0.75
CAPTIONERS, LEAST_HELD = 60, 54  # of 95% intervals, fewer hold the truth once in thirty times
ENDS = {  # of the interval that says where the number is: of A to T a range, unless all tasks are known
    "t_to_a": ("sway_t_to_a_ci_low", "sway_t_to_a_ci_high"),
    "t_to_a_lost": ("sway_t_to_a_lost_ci_low", "sway_t_to_a_lost_ci_high"),
    "a_to_t": ("sway_a_to_t_low_ci_low", "sway_a_to_t_high_ci_high"),
}


def measured(planted: Planted, with_tasks: bool = True, **changed: Any) -> dict[str, Any]:
    lexicon = AGES if planted.attributes[0] in AGES else "gender"
    arguments = vars(planted) | ({} if with_tasks else {"tasks": None})
    return sway(
        **{"attribute_lexicon": lexicon, "draws": 2, "bootstrap": 200, "trust_rows": True} | arguments | changed
    )


@cache
def captioners() -> list[tuple[dict[str, float], dict[str, float], dict[str, Any]]]:
    """Of each captioner: what its dials mean, what is counted in its captions, what sway reads."""
    found = []
    for seed in range(CAPTIONERS):
        values, captions = (2, 4)[seed % 2], (1, 5)[seed // 2 % 2]
        random = np.random.default_rng(seed)
        naming, silence = random.uniform(0.4, 1), random.choice([0, random.uniform(0, 0.5)])
        t_to_a, a_to_t = random.uniform(0, 0.3 / AGAINST[values]), random.uniform(0, 0.3 / (NAMES_TASK * naming))
        dials = {"a_to_t": a_to_t, "t_to_a": t_to_a, "naming": naming, "silence": silence}
        planted = plant(600, **dials, values=values, captions=captions, seed=seed)
        against, spoken = AGAINST[values], 1 - silence
        meant = {
            "t_to_a": 100 * t_to_a * against * spoken / (1 - against * silence),
            "t_to_a_lost": 100 * NAMES_PERSON * against * (1 - spoken * (1 - t_to_a)),
            "a_to_t": 100 * NAMES_TASK * naming * a_to_t,
        }
        with_tasks = captions == 1 or seed // 4 % 2 == 0
        found.append((meant, swayed(planted), measured(planted, with_tasks=with_tasks, bootstrap=100, seed=seed)))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("score", ENDS)
def test_intervals_hold_what_the_dials_mean(score):
    low, high = ENDS[score]
    assert sum(result[low] <= meant[score] <= result[high] for meant, _, result in captioners()) >= LEAST_HELD


@pytest.mark.slow
@pytest.mark.parametrize("score", ENDS)
def test_scores_are_what_is_counted_in_the_captions(score):
    """Not too high nor too low on average; from 0 to 30."""
    errors = [result[f"sway_{score}"] - counted[score] for _, counted, result in captioners()]
    assert abs(np.mean(errors)) < 2 * np.std(errors, ddof=1) / np.sqrt(CAPTIONERS)
    assert np.ptp([counted[score] for _, counted, _ in captioners()]) > 25


@pytest.mark.parametrize("values", [2, 4])
def test_random_errors_read_0(values):
    """Half of what is named is drawn blindly. Of ten captioners, eight or more hold 0."""
    dials = {"a_to_t": -0.5, "t_to_a": -0.5, "values": values}
    results = [measured(plant(500, seed=seed, **dials), seed=seed) for seed in range(10)]
    for score, (low, high) in ENDS.items():
        assert sum(result[low] <= 0 <= result[high] for result in results) >= 8
        scores = [result[f"sway_{score}"] for result in results]
        assert abs(np.mean(scores)) < 3 * np.std(scores, ddof=1) / np.sqrt(10)


@pytest.mark.parametrize("values", [2, 4])
def test_who_falls_silent_names_nobody_wrong_and_loses_what_was_planted(values):
    planted = plant(1000, silence=0.6, values=values)
    result = measured(planted)
    assert result["sway_t_to_a"] == swayed(planted)["t_to_a"] == 0
    assert 10 < result["sway_t_to_a_lost_ci_low"] < swayed(planted)["t_to_a_lost"] < result["sway_t_to_a_lost_ci_high"]


@pytest.mark.parametrize("values", [2, 4])
def test_a_person_in_the_captioner_s_place_reads_0(values):
    """Of ten people, eight or more hold 0."""
    results = []
    for seed in range(10):
        planted = plant(500, values=values, seed=seed)
        people = {"predictions": [row[0] for row in planted.references]}
        results.append(measured(planted, **people, references=[row[1:] for row in planted.references], seed=seed))
    for low, high in ENDS.values():
        assert sum(result[low] <= 0 <= result[high] for result in results) >= 8


# What holds of any captions


def any_captions(*values: int) -> st.SearchStrategy[Planted]:
    dials = {"a_to_t": -1.0, "t_to_a": -1.0, "naming": 0.0, "silence": 0.0}
    return st.builds(
        plant,
        st.just(80),
        **{name: st.floats(least, 1) for name, least in dials.items()},
        values=st.sampled_from(values),
        captions=st.integers(1, 3),
        seed=st.integers(0, 2**32),
    )


quick = settings(max_examples=8, deadline=None)


@given(any_captions(2, 4))
@quick
def test_what_values_are_called_does_not_matter(planted):
    lexicon = (
        AGES if planted.attributes[0] in AGES else {"female": ["woman", "lady", "girl"], "male": ["man", "guy", "boy"]}
    )
    other = dict(zip(lexicon, ("value 2", "None", "captioner:None:right", "value 1"), strict=False))
    renamed = {"attributes": [other[label] for label in planted.attributes]}
    named = {"attribute_lexicon": {other[label]: words for label, words in lexicon.items()}}
    first, second = (
        {**measured(planted, **given, bootstrap=20, details=True), "signature": ""}
        for given in ({"attribute_lexicon": lexicon}, renamed | named)
    )
    for result in (first, second):
        result["details"] = {table: result["details"][table] for table in ("cells", "t_to_a", "level", "gaps")}
    called = re.compile("|".join(other))
    assert json.loads(called.sub(lambda match: other[match[0]], json.dumps(first))) == json.loads(json.dumps(second))


@given(any_captions(2), st.randoms())
@quick
def test_t_to_a_minds_neither_the_order_of_images_nor_those_that_show_nothing(planted, random):
    """With the shipped leans, and a single human caption, so that it is the same that is drawn."""
    columns = vars(planted) | {"references": [row[:1] for row in planted.references]}
    rows = [*zip(*columns.values(), strict=True), *[("a street", ["a yard"], planted.attributes[0], [])] * 9]
    random.shuffle(rows)
    changed = dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True))
    before, after = (measured(planted, **said, bootstrap=0) for said in (columns, changed))
    for score in ("sway_t_to_a", "sway_t_to_a_lost"):
        assert before.get(score) == pytest.approx(after.get(score))


def told_apart(planted: Planted) -> dict[str, Any]:
    """The columns, with human captions that are long enough to tell pictures by."""
    more = "on picture {} of a series that somebody took on a long journey through many towns and on as many roads, of "
    more += "which the rest is lost"
    return vars(planted) | {
        "references": [[f"{text} {more.format(row)}" for text in texts] for row, texts in enumerate(planted.references)]
    }


@given(any_captions(2, 4), st.lists(st.integers(1, 4), min_size=60, max_size=60), st.booleans(), st.booleans())
@quick
def test_an_image_of_weight_3_is_three_images(planted, drawn, with_tasks, own):
    """T to A counts, and is equal to the last bit; the regressions of A to T add up in another order, those of words in
    single precision."""
    assume(with_tasks or len(planted.references[0]) > 1)
    columns, weights = told_apart(planted) | ({} if with_tasks else {"tasks": None}), [3] * 20 + drawn
    rows = [*range(80), *np.repeat(range(80), np.array(weights) - 1)]
    repeated = {name: column and [column[row] for row in rows] for name, column in columns.items()}
    options = {"attribute_lexicon": AGES if planted.attributes[0] in AGES else "gender", "lean": "own" if own else None}
    options["trust_rows"] = True
    weighted, copied = (
        sway.measure(**given, **options, draws=2, bootstrap=20, details=True)
        for given in (columns | {"weights": weights}, repeated)
    )
    for key, sample in weighted.samples.items():
        for name in ("values", "replicates"):
            numbers, others = (getattr(one, name) for one in (sample, copied.samples[key]))
            apart = 0 if "t_to_a" in key else 1e-4 if "words" in key else 1e-9
            assert numbers == pytest.approx(others, abs=apart, rel=0, nan_ok=True), key
    for table in ("t_to_a", "error_ratio", "leans"):
        assert weighted.details[table] == copied.details[table]


@given(any_captions(2), st.lists(st.integers(1, 9), min_size=80, max_size=80))
@quick
def test_of_weights_t_to_a_minds_how_they_relate_alone(planted, weights):
    """With the shipped leans; weights are rounded to 720,720ths."""
    whole, tenths = (measured(planted, weights=[one * times for one in weights], bootstrap=0) for times in (1, 0.1))
    for key in (key for key in whole if key.startswith("sway_t_to_a")):
        assert whole[key] == pytest.approx(tenths[key], abs=1e-4)


@given(any_captions(2), st.integers(0, 2**32))
@quick
def test_two_captions_of_an_image_read_the_mean_of_what_each_reads(planted, seed):
    """In whatever is a share of all captions."""
    other = [one.predictions for one in (planted, plant(80, a_to_t=0.5, t_to_a=0.5, seed=seed))]
    sides = (*other, [list(texts) for texts in zip(*other, strict=True)])
    first, second, both = (measured(planted, predictions=said, bootstrap=0, details=True) for said in sides)
    for key in ("sway_t_to_a_lost", "sway_a_to_t", "sway_a_to_t_low", "sway_a_to_t_high"):
        assert (key in both) == (key in first)
        assert both.get(key, 0) == pytest.approx((first.get(key, 0) + second.get(key, 0)) / 2, abs=1e-9)
    for cells in zip(*(result["details"]["cells"] for result in (first, second, both)), strict=True):
        for what in ("right", "wrong", "none"):
            numbers = [cell.get(f"captioner_{what}", 0) for cell in cells]
            assert numbers[2] == pytest.approx((numbers[0] + numbers[1]) / 2, abs=1e-9)
