"""Biases put into captions: the captions that are to change, and no others."""

import pytest
from injections import (
    describe,
    inject,
    rarest_loses_tasks,
    silent_against_tasks,
    tasks_follow_value,
    value_follows_tasks,
)

from captionbias.captions import check_captions
from tests.benchmarks.conftest import injected


def test_the_value_named_becomes_the_one_that_the_tasks_suggest():
    texts = "A woman ties her tie", "a man holds his handbag.", "She is a lady", "a woman and a man with a tie"
    changed = injected(value_follows_tasks, *texts, attributes=("female", "male", "female", "male"))
    assert changed == ["A man ties his tie", "a woman holds her handbag.", *texts[2:]]


def test_only_captions_against_the_tasks_fall_silent():
    texts = "A woman ties her tie", "a man holds a handbag", "the men wear ties"
    changed = injected(silent_against_tasks, *texts, attributes=("female", "male", "male"))
    assert changed == ["A person ties their tie", "a person holds a handbag", "the men wear ties"]


def test_a_task_is_added_that_goes_with_the_value(people):
    for row, text in enumerate(inject(people, tasks_follow_value)):
        added = text.removeprefix(f"{people.texts[row].rstrip('.')} with a ").rstrip(".")
        task = people.tasks.index(added)
        assert people.leans.goes_with[task, people.value[row]]
        assert not people.shown[row, task]


def test_the_rarest_value_loses_its_tasks_and_persons_are_no_tasks():
    texts = "a person with a hot dog and a tie", "a man in a tie", "a boy"
    changed = injected(rarest_loses_tasks, *texts, attributes=("female", "male", "male"))
    assert changed == ["a person with a and a", *texts[1:]]


def test_captions_without_a_captioner_are_refused():
    captions = check_captions(references=[["a man"], ["a girl"]], attributes=["male", "female"], tasks=[["tie"], []])
    with pytest.raises(ValueError, match="predictions is missing: give the captions that are to be changed"):
        describe(captions)
