"""Captions with a bias or an error put in: only what was asked for changes, in as many captions as asked."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from captionbias.captions import check_captions
from captionbias.studies.injections import (
    BIASES,
    HARMLESS,
    describe,
    inject,
    no_value,
    rarest_loses_tasks,
    scene_task_added,
    tasks_follow_value,
    usual_for_rarest,
    usual_for_unseen,
    usual_where_shown,
    value_follows_tasks,
    wrong_value,
)
from captionbias.synthetic import plant

IMAGES = 600
ALL = BIASES | HARMLESS
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
    assert changed == ["a person with a thing and a thing", *texts[1:]]


def test_wrong_and_missing_values_do_not_depend_on_the_tasks(people):
    """As large a share of the captions that name a value, whatever is suggested."""
    for injection in (wrong_value, no_value):
        changed = np.array(inject(people, injection, 0.3)) != np.array(people.texts)
        shares = [changed[(people.named >= 0) & (people.suggested == value)].mean() for value in (0, 1)]
        assert np.ptp(shares) < 0.1
        assert not changed[people.named < 0].any()


def test_the_usual_value_takes_the_place_of_the_rarest_or_of_none():
    texts = "a woman on a bench", "a person on a bench", "a guy"
    given = {"attributes": ("female", "male", "male")}
    assert injected(usual_for_rarest, *texts, **given) == ["a man on a bench", *texts[1:]]
    assert injected(usual_for_unseen, *texts, **given) == [texts[0], "a person on a bench with a man.", "a guy"]
    at_benches = partial(usual_where_shown, tasks=["bench"])
    assert injected(at_benches, "a girl on a bench", "a girl", "a man", **given) == [
        "a boy on a bench",
        "a girl",
        "a man",
    ]


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
