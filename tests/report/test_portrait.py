"""Captioners in sentences: what each does more than people, what is like people's, and what cannot be told."""

from __future__ import annotations

import pytest

from captionbias.analysis.audit import audit
from captionbias.bench.verdicts import verdict
from captionbias.metrics import catalogue, sway
from captionbias.report.matrix import matrix_of
from captionbias.report.portrait import headline, sentence, sentences
from captionbias.report.wording import words_of
from captionbias.synthetic import plant
from tests.metrics.test_sway_questions import of_women, woman_is, world
from tests.report.conftest import QUICK

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")
WORDS = words_of("gender", "objects", "the other")


def told(**captions):
    """The sentences of a captioner called nic."""
    measured = sway.measure(**captions, bootstrap=200, details=True)
    said = {score.key: verdict(measured.estimates, score.key) for score in catalogue.scores_of("sway") if score.judged}
    return sentence("nic", measured.flat(), said, WORDS)


def test_of_a_person_nothing_is_more():
    first, *rest = told(**world()).split(". ")
    assert first == "Of nic nothing was found that is more than people's"
    assert rest[0].startswith("No word was found to follow the gender; one in ")
    assert "Like people: who is named wrong" in rest[1]


def test_who_is_named_wrong_is_told_with_both_levels():
    text = told(**of_women(world(), woman_is("a man"), 0.2))
    assert text.startswith("nic calls women men more often than men women (")
    assert " and 0 of 100; people 0 and 0)" in text


def test_words_are_told_with_whom_they_follow():
    text = told(**of_women(world(), lambda text: f"{text} happy", 0.2))
    assert text.startswith("Of nic's other words happy (women) follows the gender more than people's do")
    girls = told(**of_women(world(), woman_is("a girl"), 0.5))
    assert "girl (women)" in girls or "girl and" in girls
    assert "girl|boy" not in girls


def test_silence_where_the_objects_suggest_another_value_is_told():
    text = told(**vars(plant(2000, silence=0.5)))
    assert text.startswith(
        "nic leaves the gender out or gets it wrong more often beside objects that go with the other"
    )


def test_words_without_a_verdict_are_told_as_such():
    text = told(**of_women(world(600), lambda text: f"{text} happy", 0.3))  # too few images for a score
    assert "its other words, of which happy (women)" in text.partition("Cannot tell")[2]


def test_who_names_one_value_alone_is_said_to():
    text = told(**of_women(world(), woman_is("a man")))
    assert text.startswith(
        "nic hardly names more than one gender, so nothing that it does is called like people; calls"
    )
    assert "Like people" not in text


def test_the_headline_of_several_counts_them_and_names_who_does_most():
    people = world(600)
    captioners = {
        name: of_women(dict(people), woman_is("a man"), share)["predictions"]
        for name, share in (("some", 0.2), ("most", 0.5), ("none", 0.0))
    }
    people.pop("predictions")
    found = audit(captioners, **people, metrics=["sway"], **QUICK | {"bootstrap": 1000})
    text = headline(found, matrix_of(found))
    assert text.startswith("most and some name one gender wrong more often (most most)")
    assert len(sentences(found)) == 3
    assert sentences(found)[0].startswith("most calls women men more often than men women")
    one = audit({"most": captioners["most"]}, **people, metrics=["sway"], **QUICK | {"bootstrap": 200})
    assert headline(one, matrix_of(one)).startswith("most calls women men more often")
    assert sentences(one) == []


def test_without_people_there_is_no_verdict(alone):
    assert headline(alone, matrix_of(alone)).startswith("There is no verdict")
