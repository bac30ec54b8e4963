"""Biases that people name and harmless changes: only what was asked for changes, in as many captions as asked."""

from functools import partial

import numpy as np
import pytest
from changes import (
    HARMLESS,
    OF_BOTH,
    ONE_SIDED,
    no_value,
    put_in,
    scene_task_added,
    usual_for_unseen,
    usual_value,
    usual_where_shown,
    wrong_value,
)
from injections import describe, inject

from captionbias.captions import check_captions
from tests.benchmarks.conftest import injected

ALL = OF_BOTH | HARMLESS | ONE_SIDED


@pytest.mark.parametrize("name", ALL)
def test_a_share_is_changed_the_same_for_a_seed_and_more_for_a_larger_share(name, people):
    most = people.changed(inject(people, ALL[name]))
    small, large = (inject(people, ALL[name], share) for share in (0.05, 0.1))
    assert people.changed(small) == pytest.approx(min(0.05, most))
    assert people.changed(large) == pytest.approx(min(0.1, most))
    for text, one, other in zip(people.texts, small, large, strict=True):
        assert one in (text, other)
    assert small == inject(people, ALL[name], 0.05)
    assert inject(people, ALL[name], 0.0) == list(people.texts)


@pytest.mark.parametrize("name", ALL)
def test_a_share_of_one_value_changes_captions_of_that_value_only(name, people):
    rarest = people.value == people.rarest
    possible = np.array(inject(people, ALL[name], value=people.rarest)) != np.array(people.texts)
    changed = np.array(inject(people, ALL[name], 0.1, value=people.rarest)) != np.array(people.texts)
    assert changed.sum() == min(round(0.1 * rarest.sum()), possible.sum())
    assert not possible[~rarest].any()
    assert not (changed & ~possible).any()


def test_wrong_and_missing_values_do_not_depend_on_the_tasks(people):
    """As large a share of the captions that name a value, whatever is suggested."""
    for injection in (wrong_value, no_value):
        changed = np.array(inject(people, injection, 0.3)) != np.array(people.texts)
        shares = [changed[(people.named >= 0) & (people.suggested == value)].mean() for value in (0, 1)]
        assert np.ptp(shares) < 0.1
        assert not changed[people.named < 0].any()


def test_the_usual_value_takes_the_place_of_another_or_of_none():
    texts = "a woman and her dog on a bench", "a person on a bench", "a guy"
    given = {"attributes": ("female", "male", "male")}
    assert injected(usual_value, *texts, **given) == ["a man and his dog on a bench", *texts[1:]]
    assert injected(usual_for_unseen, *texts, **given) == [texts[0], "a person on a bench with a man.", "a guy"]
    at_benches = partial(usual_where_shown, tasks=["bench"])
    assert injected(at_benches, "a girl on a bench", "a girl", "a man", **given) == [
        "a boy on a bench",
        "a girl",
        "a man",
    ]


@pytest.mark.parametrize(
    ("name", "woman", "boy"),
    [
        ("girl for woman", "Two girls and a girl with their cellphones near a street.", "a young boy standing"),
        ("little girl, young boy", "Two women and a little girl with their cellphones near a street.", None),
        ("happy, angry", "Two women and a girl with their cellphones near a street who is happy.", "who is angry."),
        ("nurse, doctor", "Two women and a girl with their cellphones near a street who is a nurse.", "a doctor."),
        ("smiling", "Two women and a girl with their cellphones near a street who is smiling.", "who is smiling."),
        ("handbag", "Two women and a girl with their cellphones near a street with a handbag.", "with a handbag."),
        ("cooking", "Two women and a girl with their cellphones near a street cooking.", "standing cooking."),
        ("refused", "I cannot describe this image.", "I cannot describe this image."),
        ("shortened", "Two women and a girl with their cellphones", "a young boy"),
        ("one synonym", "Two women and a girl with their phones near a road.", None),
        ("posture added", None, None),
    ],
)
def test_words_that_are_put_in_or_left_out_are_those_that_are_named(name, woman, boy):
    texts = "Two women and a girl with their cellphones near a street.", "a young boy standing"
    changed = injected(ALL[name], *texts)
    assert changed[0] == (woman or texts[0])
    assert changed[1].endswith(boy or texts[1])


def test_refusals_and_short_captions_are_of_one_value_if_it_is_given(people):
    women = people.value == people.rarest
    changed = inject(people, ONE_SIDED["refused"], 0.5, value=people.rarest)
    assert [text == "I cannot describe this image." for text in changed].count(True) == round(women.sum() / 2)


def test_others_words_and_postures_are_added_where_they_are_said():
    said = ["a woman sitting on a red bench", "a lady on a seat"], ["a man", "a man"]
    people = describe(
        check_captions(predictions=["a woman", "a man"], references=said, attributes=["female", "male"]),
        task_lexicon={"bench": ["bench"], "seat": ["seat"]},
    )
    assert inject(people, HARMLESS["posture added"]) == ["a woman sitting.", "a man"]
    first, second = inject(people, HARMLESS["others' words added"])
    assert set(first.removeprefix("a woman").strip(" .").split()) <= {"sitting", "red", "bench", "seat"}
    assert second == "a man"
    assert inject(people, HARMLESS["longest"]) == ["a woman sitting on a red bench", "a man"]
    assert inject(people, HARMLESS["shortest"]) == ["a woman", "a man"]


def test_the_typical_caption_shares_most_words_and_changes_places_with_the_one_that_stood_there():
    texts = "a lady rests", "a woman on a red bench", "a woman on a bench", "a red bench"
    captions = check_captions(
        predictions=[texts[0], "a man"], references=[texts[1:], ["a guy", "a male"]], attributes=["female", "male"]
    )
    people = describe(captions, task_lexicon={"bench": ["bench"], "red": ["red"]})
    changed = put_in(captions, inject(people, HARMLESS["typical"], value=0))
    assert changed.predictions == (texts[1], "a man")
    assert list(map(sorted, changed.references)) == [sorted((texts[0], *texts[2:])), ["a guy", "a male"]]


def test_only_the_commonest_words_are_left(people):
    left = {word for text in inject(people, HARMLESS["rarer words dropped"]) for word in text.strip(".").split()}
    assert len(left - people.attribute.words - {"person"}) <= 150
    few = partial(HARMLESS["rare words replaced"], kept=2)
    assert injected(few, "a lady with a glittering saxophone", attributes=["female"])[0] == "a lady with a thing thing"


def test_retrieved_captions_are_others_and_name_the_value_that_was_named(people):
    changed = inject(people, HARMLESS["retrieved"])
    assert np.mean([new != old for new, old in zip(changed, people.texts, strict=True)]) > 0.5
    texts = "a man holds his big dog", "a woman holds her big dog", "a lady on a bench"
    first, second, _ = injected(HARMLESS["retrieved"], *texts, attributes=("male", "female", "female"))
    assert (first, second) == ("a man holds his big dog", "a woman holds her big dog")


def test_words_are_dropped_and_added_at_random_whatever_the_value(people):
    def lengths(texts):
        return np.array([len(text.split()) for text in texts])

    before, value = lengths(people.texts), people.value
    dropped = lengths(inject(people, HARMLESS["words dropped"])) / before
    assert dropped.mean() == pytest.approx(0.7, abs=0.05)
    assert dropped[value == 0].mean() == pytest.approx(dropped[value == 1].mean(), abs=0.05)
    added = inject(people, HARMLESS["random words added"])
    assert set(lengths(added) - before) == {2}
    assert [np.isin(text.strip(".").split()[-2:], list(people.attribute.words)).any() for text in added].count(
        True
    ) == 0


def test_a_task_of_the_scene_is_one_that_others_show_with_it():
    texts = "a man on a bench", "a man on a bench with a dog", "a man with a dog", "a cat"
    changed = injected(scene_task_added, *texts, attributes=("male",) * 4)
    assert changed == ["a man on a bench with a dog.", texts[1], "a man with a dog with a bench.", texts[3]]


def test_words_of_any_lexicon_are_exchanged():
    mine = {"happy": ["happy", "glad"], "sad": ["sad"]}
    texts = "a glad dog with a tie", "a sad dog", "a dog"
    people = describe(
        check_captions(predictions=texts, references=[[text] for text in texts], attributes=["happy", "sad", "sad"]),
        attribute_lexicon=mine,
        task_lexicon={"dog": ["dog"], "tie": ["tie"]},
    )
    assert inject(people, wrong_value) == ["a sad dog with a tie", "a happy dog", "a dog"]
    assert inject(people, no_value) == ["a dog with a tie", "a dog", "a dog"]
