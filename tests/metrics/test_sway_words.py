"""Words as a count of captions: what is planted is read, a person reads nothing; and people of one caption an image."""

from functools import cache, partial

import pytest

from captionbias.bench.verdicts import CANNOT_TELL, LIKE, MORE, NOTHING_FOUND
from captionbias.metrics import sway
from captionbias.synthetic import plant
from tests.metrics.test_sway_questions import of_women, said, woman_is

LOOKS = "pretty lovely gorgeous stylish elegant cute stunning charming slim blonde glamorous graceful delicate sweet"
LOOKS = [*LOOKS.split(), "radiant", "petite", "adorable", "dainty", "pouty", "glossy"]
measure = partial(sway.measure, bootstrap=200, details=True)
planted = partial(plant, 2000, seed=3)


def in_captions_of(value, every, text, captions=4, also=""):
    """A faithful captioner with this text, by number, behind one of every so many captions of a value, and
    another behind all."""
    columns, number = vars(planted(captions=captions)), 0
    for row, (words, label) in enumerate(zip(columns["predictions"], columns["attributes"], strict=True)):
        number += label == value
        planted_here = label == value and number % every == 0
        columns["predictions"][row] = f"{words[:-1]}{also}{text(number // every) if planted_here else ''}"
    return columns


@pytest.mark.parametrize(
    ("value", "every", "text", "share", "content"),
    [
        ("female", 20, lambda _: " wearing magenta lipstick at dusk", 5, {"appearance": 100}),
        ("male", 20, lambda number: (" smiling", " in gowns")[number % 2], 5, {"emotion": 50, "appearance": 50}),
        ("female", 10, lambda number: f" looking {LOOKS[number % 20]}", 10, {"appearance": 70, "body": 15}),
        ("female", 10, lambda number: f" so {LOOKS[number % 20]}", 10, {"appearance": 70, "body": 15}),
        ("female", 1, lambda _: " ???", 100, {}),
        ("male", 1, lambda _: " \u2665", 100, {}),
    ],
)
def test_captions_with_words_that_follow_a_value_are_counted_once(value, every, text, share, content):
    """Whether five words are in each or one of twenty, of whatever value, words or signs; and what they are about."""
    measured = measure(**in_captions_of(value, every, text))
    found = measured.estimates["sway_words"]
    assert (found.verdict, found.high) == (MORE, None)
    assert found.value == pytest.approx(share, abs=2)
    assert found.low < share
    [row] = [row for row in measured.details["words_chosen"] if row["columns"]]
    assert row["attribute"] == value
    assert row["sway_words"] == found.value
    [first, *_] = row["columns"]
    assert first["uses_captioner"] - first["uses_person"] == pytest.approx(share, abs=1)
    assert {of["content"]: of["uses"] for of in row["content"]} == pytest.approx(content, abs=5)
    assert [of["uses_others"] for of in row["content"]] == [0] * len(content)


def test_of_a_person_and_of_few_images_nothing_is_counted():
    measured = measure(**in_captions_of("female", 1, lambda _: ""))
    assert measured.estimates["sway_words"].verdict == NOTHING_FOUND
    assert not [row for row in measured.details["words_chosen"] if row["columns"]]
    assert measured.facts["sway_words_seen"] <= 5
    few = {key: column[:499] for key, column in in_captions_of("female", 1, lambda _: " ???").items()}
    assert "sway_words" not in measure(**few).estimates


def test_what_paragraphs_say_that_people_never_write_may_be_there():
    also = " in soft light and warm colors, all of it calm and a little blurred towards the edges"
    paragraphs = in_captions_of("female", 2, lambda number: f" with {LOOKS[number % 20]} composure", also=also)
    found = measure(**paragraphs).estimates["sway_words"]
    assert (found.verdict, found.low > 20) == (CANNOT_TELL, True)
    assert found.doubt.startswith("they may be there: people's captions are shorter")


# One human caption an image


@cache
def one_caption(change=None, share=1.0, tasks=False):
    columns = vars(planted(captions=1)) | ({} if tasks else {"tasks": None})
    return measure(**(of_women(columns, change, share) if change else columns))


def test_a_person_reads_no_verdict_beside_one_human_caption_an_image():
    found = one_caption()
    assert "yardstick:single" in found.signature
    assert said(found, "wrong_gap") == {"wrong_gap": LIKE}
    assert MORE not in {one.verdict for one in found.estimates.values()}
    assert found.estimates["sway_words"].verdict == NOTHING_FOUND


def test_women_who_are_called_men_and_words_are_found_beside_one_human_caption_an_image():
    found = one_caption(woman_is("a man"), 0.2).estimates["sway_wrong_gap"]
    assert found.verdict == MORE
    assert found.low < 20 * 0.85 < found.high  # of 100 captions 85 name the person
    words = one_caption(lambda text: f"{text} ???").estimates["sway_words"]
    assert (words.verdict, words.value) == (MORE, pytest.approx(100, abs=2))


def test_tasks_are_asked_of_beside_one_human_caption_an_image_if_they_are_given():
    keys = {"sway_t_to_a", "sway_t_to_a_lost", "sway_a_to_t"}
    assert not one_caption().estimates.keys() & keys
    assert any("T to A and A to T are not asked: images have one human" in text for text in one_caption().notes)
    assert one_caption(tasks=True).estimates.keys() >= keys
