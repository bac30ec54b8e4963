"""Captions with a bias or an error put in: only what was asked for changes, in as many captions as asked."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from captionbias.captions import check_captions
from captionbias.studies.injections import (
    BIASES,
    HARMLESS,
    ONE_SIDED,
    describe,
    inject,
    no_value,
    put_in,
    rarest_loses_tasks,
    scene_task_added,
    tasks_follow_value,
    usual_for_unseen,
    usual_value,
    usual_where_shown,
    value_follows_tasks,
    wrong_value,
)
from captionbias.synthetic import plant

IMAGES = 600
ALL = BIASES | HARMLESS | ONE_SIDED
OTHERS = "a woman with a handbag", "a man with a tie"


def described(texts, attributes=("female", "male"), **lexicons):
    """These captions, beside images of women with handbags and of men with ties."""
    count = 30
    return describe(
        check_captions(
            predictions=[*texts, *count * OTHERS],
            references=[*([text] for text in texts), *([text] for text in count * OTHERS)],
            attributes=[*attributes, *count * ("female", "male")],
        ),
        **lexicons,
    )


def injected(injection, *texts, **given):
    return inject(described(texts, **given), injection)[: len(texts)]


@pytest.fixture(scope="module")
def people():
    given = vars(plant(IMAGES))
    return describe(check_captions(**{name: given[name] for name in ("predictions", "references", "attributes")}))


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


def test_the_value_named_becomes_the_one_that_the_tasks_suggest():
    texts = "A woman ties her tie", "a man holds his handbag.", "She is a lady", "a woman and a man with a tie"
    changed = injected(value_follows_tasks, *texts, attributes=("female", "male", "female", "male"))
    assert changed == ["A man ties his tie", "a woman holds her handbag.", *texts[2:]]


def test_only_captions_against_the_tasks_fall_silent():
    texts = "A woman ties her tie", "a man holds a handbag", "the men wear ties"
    changed = injected(BIASES["silent where tasks go against"], *texts, attributes=("female", "male", "male"))
    assert changed == ["A person ties their tie", "a person holds a handbag", "the men wear ties"]


def test_a_task_is_added_that_goes_with_the_value(people):
    changed = inject(people, tasks_follow_value)
    for row, text in enumerate(changed):
        added = text.removeprefix(f"{people.texts[row].rstrip('.')} with a ").rstrip(".")
        task = people.tasks.index(added)
        assert people.leans.goes_with[task, people.value[row]]
        assert not people.shown[row, task]


def test_the_rarest_value_loses_its_tasks_and_persons_are_no_tasks():
    texts = "a person with a hot dog and a tie", "a man in a tie", "a boy"
    changed = injected(rarest_loses_tasks, *texts, attributes=("female", "male", "male"))
    assert changed == ["a person with a and a", *texts[1:]]


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
    assert changed.references == ((texts[0], *texts[2:]), ("a guy", "a male"))


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


def test_crossed_attributes_and_captions_without_a_captioner_are_refused():
    captions = check_captions(references=[["a man"], ["a girl"]], attributes=["male", "female"], tasks=[["tie"], []])
    with pytest.raises(ValueError, match="predictions is missing: give the captions that are to be changed"):
        describe(captions)
    with pytest.raises(ValueError, match="is a crossing"):
        describe(captions.with_predictions(["a man", "a girl"]), ["gender", "race"])
