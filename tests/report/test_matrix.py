"""Captioners by questions: the four words, what stands behind them, and the whole in a sentence."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from captionbias.analysis.audit import audit
from captionbias.bench.verdicts import CANNOT_TELL, LESS, LIKE, MORE
from captionbias.metrics import catalogue
from captionbias.report.html import html_report
from captionbias.report.matrix import answer, correction, matrix_of, title_of
from captionbias.report.people import cells, doubts, dumbbells
from captionbias.report.wording import words_of
from captionbias.synthetic import plant
from tests.report.conftest import QUICK, measured

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # few images, no WordNet

WORDS = words_of("gender", "objects")


@pytest.fixture(scope="module")
def swayed():
    """A faithful captioner, and one whose gender follows the objects."""
    people = vars(plant(600, captions=3))
    captioners = {"faithful": people.pop("predictions"), "biased": plant(600, captions=3, t_to_a=0.6).predictions}
    return audit(captioners, **people, metrics=["sway"], **QUICK | {"bootstrap": 200})


def test_planted_bias_is_more_than_people_and_a_faithful_captioner_is_not(swayed):
    matrix = matrix_of(swayed)
    assert list(matrix.rows) == ["biased", "faithful"]
    asked = [one.score.key for one in matrix.questions]
    assert asked == ["sway_wrong_gap", "sway_unnamed_gap", "sway_t_to_a", "sway_a_to_t"]  # tasks are given; few images
    assert matrix.answers(2)["biased"] == MORE
    assert matrix.answers(2)["faithful"] in (LIKE, CANNOT_TELL)
    assert matrix.person[0].verdict == "-"
    assert title_of(swayed) == "Do these captioners exaggerate gender?"
    assert "are given at once" in correction(swayed)


def test_each_cell_of_sway_has_its_numbers_and_captions_that_are_wrong(swayed):
    shown = cells(swayed, "biased")
    assert [one.title for one in shown] == [
        f"{who} beside objects that go with {whom}"
        for who, whom in (("Women", "men"), ("Women", "women"), ("Men", "women"), ("Men", "men"))
    ]
    wrong = {
        cell["captioner_wrong_of_named"] for cell in swayed.details("sway", "biased")["cells"] if cell["suggested"]
    }
    assert {one.captioner for one in shown} == wrong
    assert all(one.quotes for one in shown if one.captioner > 5)


def test_the_images_themselves_stand_beside_their_captions_where_they_are_given(swayed):
    images = {row: {**image, "id": str(row)} for row, image in swayed.evidence["images"].items()}
    page = html_report(replace(swayed, evidence={**swayed.evidence, "images": images}), picture_of="data:,{}".format)
    quoted = sum(len(cell.quotes) for name in swayed.captioners for cell in cells(swayed, name))
    assert quoted == len(re.findall(r'<img src="data:,(\d+)" alt="image \1">', page)) > 0
    assert "<img" not in html_report(swayed)


def test_the_most_unequal_tasks_have_both_groups_of_captioner_and_people(swayed):
    found = dumbbells(swayed, "biased")
    assert 0 < len(found) <= 6
    row = swayed.details("sway", "biased")["tasks"][0]
    person, own = (
        [f"{row[f'named_{who}'][value]:.1f}" for value in ("female", "male")] for who in ("person", "captioner")
    )
    text, drawn = found[0]
    people = f"{row['task']}: people {person[0]} of 100 women, {person[1]} of 100 men"
    assert text.startswith(f"{people}; biased {own[0]} and {own[1]} (named of about")
    assert drawn.count("<circle") == 4


@pytest.mark.parametrize(
    ("low", "high", "word", "others", "text"),
    [
        (2.0, 4.0, MORE, {}, "more than people: 3.0 more (2.0 to 4.0 more)"),
        (0.5, 4.0, MORE, {}, "more than people, a little: 2.2 more (0.5 to 4.0 more)"),
        (-4.0, -2.0, LESS, {}, "less than people: 3.0 less (2.0 to 4.0 less)"),
        (-0.5, 0.5, LIKE, {}, "like people: 0.0 (0.5 less to 0.5 more)"),
        (-3.0, 9.0, CANNOT_TELL, {}, "cannot tell: from 3.0 less to 9.0 more"),
        (2.0, 4.0, CANNOT_TELL, {}, "cannot tell: among so many verdicts this could be chance"),
        (0.2, 4.0, CANNOT_TELL, {}, "cannot tell: other people can differ by as much"),
        (
            2.0,
            4.0,
            CANNOT_TELL,
            {"lic_unseen": (-3.0, -1.0)},
            "cannot tell: the sign changes when repeated captions are left out",
        ),
    ],
)
def test_an_answer_has_its_word_and_what_it_rests_on(low, high, word, others, text):
    estimates = measured("lic", low, high, **others).estimates
    assert answer(estimates, catalogue.SCORES["lic"], word, WORDS).text == text


def test_without_people_there_is_no_verdict_and_without_sway_each_score_is_a_question(alone, every_metric):
    assert not any(matrix_of(alone).person)
    asked = [one.score.key for one in matrix_of(every_metric).questions]
    assert asked == ["sway_wrong_gap", "sway_unnamed_gap", "sway_t_to_a", "sway_a_to_t"]
    assert {"lic_m", "omega_m_a_to_t"} <= {one.score.key for one in matrix_of(alone).questions}
    assert len(doubts(every_metric)) <= 3
