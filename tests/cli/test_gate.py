"""The gate of continuous integration: scores within bounds, above them, and such that cannot be told."""

from __future__ import annotations

import re

import pytest

from captionbias.metrics import sway
from captionbias.synthetic import plant
from tests.cli.conftest import ran, refused, write_sides

IMAGES = 300


@pytest.fixture(scope="module")
def planted():
    return plant(IMAGES, captions=3, t_to_a=0.4)


@pytest.fixture(scope="module")
def sides(planted, tmp_path_factory):
    return write_sides(tmp_path_factory.mktemp("gate"), planted)


@pytest.fixture(scope="module")
def scores(planted):
    captions = {name: getattr(planted, name) for name in ("predictions", "references", "attributes")}
    return sway(**captions)


def gated(sides, *bounds, status, options=()):
    given = [part for bound in bounds for part in ("--at-most", bound)]
    return ran("gate", *given, *sides, *options, status=status)[0].splitlines()


def test_an_interval_within_the_bound_passes_above_it_fails_and_around_it_cannot_be_told(sides, scores):
    value, low, high = (scores[f"sway_t_to_a{ending}"] for ending in ("", "_ci_low", "_ci_high"))
    line = f"sway_t_to_a {value:.1f} [{low:.1f}, {high:.1f}], at most"
    bounds = {"pass": high, "fail": low - 0.5, "cannot tell": value}
    (passed, failed, unknown) = (f"sway_t_to_a={bound!r}" for bound in bounds.values())
    expected = [f"{line} {bound:g}: {answer}" for answer, bound in bounds.items()]
    assert gated(sides, passed, status=0) == expected[:1]
    assert gated(sides, failed, status=3) == expected[1:2]
    assert gated(sides, unknown, status=4) == expected[2:]
    assert gated(sides, passed, failed, unknown, status=3) == expected
    assert gated(sides, passed, unknown, status=4) == [expected[0], expected[2]]


def test_a_range_counts_whole(sides, scores):
    """From A to T the score may be anywhere between its ends."""
    low = min(scores[f"sway_a_to_t{end}_ci_low"] for end in ("", "_low"))
    assert scores["sway_a_to_t_ci_high"] < (high := scores["sway_a_to_t_high_ci_high"])
    (line,) = gated(sides, f"sway_a_to_t={scores['sway_a_to_t_ci_high']}", status=4)
    assert f"[{low:.1f}, {high:.1f}]" in line


def test_scores_of_several_metrics_and_captioners(sides):
    quick = ["--bootstrap", "20", "--trials", "2", "--predictions", f"sat={sides[1]}"]
    lines = gated(sides, "lic=90", "dbac_t_to_a_net=1.5", status=0, options=quick)
    shown = [re.sub(r" -?\d\.\d+ \[.*\]", "", line) for line in lines]
    assert shown == [
        f"{name}: {score}: pass"
        for name in ("nic", "sat")
        for score in ("lic, at most 90", "dbac_t_to_a_net, at most 1.5")
    ]


@pytest.mark.parametrize(
    ("bound", "options", "message"),
    [
        ("sway_t_a=1", [], "--at-most sway_t_a: no metric of captions has that score; there are sway_t_to_a"),
        ("sway_t_to_a", [], "--at-most sway_t_to_a: give a score and a number, as in sway_t_to_a=1"),
        ("sway_t_to_a=nan", [], "--at-most sway_t_to_a=nan: give a score and a number"),
        ("sway_t_to_a=1", ["--bootstrap", "0"], "--at-most sway_t_to_a: there is no interval to judge by"),
    ],
)
def test_what_cannot_be_judged_is_an_error(bound, options, message, sides):
    assert refused("gate", "--at-most", bound, *sides, *options).startswith(message)


def test_a_gate_that_asks_nothing_or_has_no_interval_is_an_error(sides):
    assert refused("gate", *sides) == "nothing is asked: give --at-most, as in --at-most sway_t_to_a=1, or --portrait"
    assert "no interval to judge by" in refused("gate", "--portrait", *sides, "--bootstrap", "0")


# The portrait


def asked(planted, folder, *options, status, **columns):
    """What is said of each question, by its first words."""
    sides = write_sides(folder, planted, **columns)
    lines = ran("gate", "--portrait", *sides, *options, status=status)[0].splitlines()
    return dict(line.split("? ", 1) for line in lines)


def test_a_question_that_is_more_than_people_fails_with_its_numbers(planted, scores, tmp_path):
    said = asked(planted, tmp_path, status=3)
    value, low, high = (scores[f"sway_t_to_a{ending}"] for ending in ("", "_ci_low", "_ci_high"))
    numbers = f"{value:.1f} [{low:.1f}, {high:.1f}] captions of 100 beyond people"
    assert said["do wrong names follow the surroundings"] == f"{numbers}: fail"


def test_objects_are_asked_about_where_complete_tasks_are_given(planted, tmp_path):
    without = asked(planted, tmp_path, status=3)["do the objects named follow the attribute"]
    assert without == "Not asked: without --tasks the score is a range that hardly ever tells"
    tasks = {"tasks": planted.tasks}
    said = asked(planted, tmp_path, "--tasks", tmp_path / "people.parquet", status=3, **tasks)
    assert "mentions in 100 captions beyond people" in said["do the objects named follow the attribute"]
