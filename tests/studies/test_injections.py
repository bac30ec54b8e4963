"""Captions with a bias or an error put in: only what was asked for changes, in as many captions as asked."""

import numpy as np
import pytest

from captionbias.captions import check_captions
from captionbias.studies import injections
from captionbias.studies.injections import BIASES, describe, inject
from captionbias.synthetic import plant

IMAGES = 600
OTHERS = "a woman with a handbag", "a man with a tie"


def described(texts, attributes=("female", "male"), **lexicons):
    """These captions, beside images of women with handbags and of men with ties."""
    count = 30
    return describe(
        check_captions(
            predictions=[*texts, *count * OTHERS],
            references=[*([text] for text in texts), *([text] for text in count * OTHERS)],
            attributes=[*attributes, *count * ("female", "male")],
            trust_rows=True,
        ),
        **lexicons,
    )


def injected(injection, *texts, **given):
    return inject(described(texts, **given), injection)[: len(texts)]


def people_described():
    given = vars(plant(IMAGES))
    return describe(check_captions(**{name: given[name] for name in ("predictions", "references", "attributes")}))


@pytest.fixture(scope="module")
def people():
    return people_described()


def test_the_value_named_becomes_the_one_that_the_tasks_suggest():
    texts = "A woman ties her tie", "a man holds his handbag.", "She is a lady", "a woman and a man with a tie"
    changed = injected(injections.value_follows_tasks, *texts, attributes=("female", "male", "female", "male"))
    assert changed == ["A man ties his tie", "a woman holds her handbag.", *texts[2:]]


def test_only_captions_against_the_tasks_fall_silent():
    texts = "A woman ties her tie", "a man holds a handbag", "the men wear ties"
    changed = injected(BIASES["silent where tasks go against"], *texts, attributes=("female", "male", "male"))
    assert changed == ["A person ties their tie", "a person holds a handbag", "the men wear ties"]


def test_a_task_is_added_that_goes_with_the_value(people):
    changed = inject(people, injections.tasks_follow_value)
    for row, text in enumerate(changed):
        added = text.removeprefix(f"{people.texts[row].rstrip('.')} with a ").rstrip(".")
        task = people.tasks.index(added)
        assert people.leans.goes_with[task, people.value[row]]
        assert not people.shown[row, task]


def test_the_rarest_value_loses_its_tasks_and_persons_are_no_tasks():
    texts = "a person with a hot dog and a tie", "a man in a tie", "a boy"
    changed = injected(injections.rarest_loses_tasks, *texts, attributes=("female", "male", "male"))
    assert changed == ["a person with a and a", *texts[1:]]


def test_crossed_attributes_and_captions_without_a_captioner_are_refused():
    captions = check_captions(references=[["a man"], ["a girl"]], attributes=["male", "female"], tasks=[["tie"], []])
    with pytest.raises(ValueError, match="predictions is missing: give the captions that are to be changed"):
        describe(captions)
    with pytest.raises(ValueError, match="is a crossing"):
        describe(captions.with_predictions(["a man", "a girl"]), ["gender", "race"])


def changes_a_share(injection, people):
    most = people.changed(inject(people, injection))
    small, large = (inject(people, injection, share) for share in (0.05, 0.1))
    assert people.changed(small) == pytest.approx(min(0.05, most))
    assert people.changed(large) == pytest.approx(min(0.1, most))
    for text, one, other in zip(people.texts, small, large, strict=True):
        assert one in (text, other)
    assert small == inject(people, injection, 0.05)
    assert inject(people, injection, 0.0) == list(people.texts)


@pytest.mark.parametrize("name", BIASES)
def test_a_share_is_changed_the_same_for_a_seed_and_more_for_a_larger_share(name, people):
    changes_a_share(BIASES[name], people)


def changes_one_value(injection, people):
    rarest = people.value == people.rarest
    possible = np.array(inject(people, injection, value=people.rarest)) != np.array(people.texts)
    changed = np.array(inject(people, injection, 0.1, value=people.rarest)) != np.array(people.texts)
    assert changed.sum() == min(round(0.1 * rarest.sum()), possible.sum())
    assert not possible[~rarest].any()
    assert not (changed & ~possible).any()


@pytest.mark.parametrize("name", BIASES)
def test_a_share_of_one_value_changes_captions_of_that_value_only(name, people):
    changes_one_value(BIASES[name], people)
