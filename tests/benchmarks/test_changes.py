"""Biases and harmless changes put into captions: only what was asked for changes, in as many captions as asked."""

import re
from functools import partial

import changes
import injections
import numpy as np
import pytest
from changes import HARMLESS, OF_BOTH, ONE_SIDED, no_value, put_in, wrong_value
from injections import describe, inject

from captionbias.captions import check_captions
from tests.benchmarks.conftest import described, injected
from tests.refusals import refuses

ALL = OF_BOTH | HARMLESS | ONE_SIDED
REFUSED = "I cannot describe this image."
TWO = "Two women and a girl with their cellphones near a street"


def changed_by(people, *asked, **options):
    return np.array(inject(people, *asked, **options)) != np.array(people.texts)


@pytest.mark.parametrize("name", ALL)
def test_a_share_is_changed_the_same_for_a_seed_and_more_for_a_larger_share_and_of_one_value_only(name, people):
    most = people.changed(inject(people, ALL[name]))
    small, large = (inject(people, ALL[name], share) for share in (0.05, 0.1))
    assert people.changed(small) == pytest.approx(min(0.05, most))
    assert people.changed(large) == pytest.approx(min(0.1, most))
    assert all(one in (text, other) for text, one, other in zip(people.texts, small, large, strict=True))
    assert small == inject(people, ALL[name], 0.05)
    assert inject(people, ALL[name], 0.0) == list(people.texts)
    rarest, possible = people.value == people.rarest, changed_by(people, ALL[name], value=people.rarest)
    changed = changed_by(people, ALL[name], 0.1, value=people.rarest)
    assert changed.sum() == min(round(0.1 * rarest.sum()), possible.sum())
    assert not (possible & ~rarest | changed & ~possible).any()


@pytest.mark.parametrize("injection", [wrong_value, no_value])
def test_wrong_and_missing_values_do_not_depend_on_the_tasks(injection, people):
    """As large a share of the captions that name a value, whatever is suggested."""
    changed = changed_by(people, injection, 0.3)
    shares = [changed[(people.named >= 0) & (people.suggested == value)].mean() for value in (0, 1)]
    assert np.ptp(shares) < 0.1
    assert not changed[people.named < 0].any()


@pytest.mark.parametrize(
    ("injection", "values", "told"),
    [
        (changes.usual_value, "fmm", "a [woman|man] and [her|his] dog on a bench / a person on a bench / a guy"),
        (changes.usual_for_unseen, "fmm", "a woman on a bench / a person on a bench[| with a man.] / a guy"),
        (partial(changes.usual_where_shown, tasks=["bench"]), "fmm", "a [girl|boy] on a bench / a girl / a man"),
        (
            changes.scene_task_added,
            "mmmm",
            "a man on a bench[| with a dog.] / a man on a bench with a dog / a man with a dog[| with a bench.] / a cat",
        ),
        (
            injections.value_follows_tasks,
            "fmfm",
            "A [woman|man] ties [her|his] tie / a [man|woman] holds [his|her] handbag. / She is a lady / "
            "a woman and a man with a tie",
        ),
        (
            injections.silent_against_tasks,
            "fmm",
            "A [woman|person] ties [her|their] tie / a [man|person] holds a handbag / the men wear ties",
        ),
        (injections.rarest_loses_tasks, "fmm", "a person with a[ hot dog|] and a[ tie|] / a man in a tie / a boy"),
        (HARMLESS["retrieved"], "mff", "a man holds his big dog / a woman holds her big dog"),
    ],
)
def test_captions_that_are_to_change_do_and_no_others(injection, values, told):
    """`[woman|man]`: what was there, and what is there now."""
    before, after = (re.sub(r"\[(.*?)\|(.*?)\]", side, told).split(" / ") for side in (r"\1", r"\2"))
    attributes = [{"f": "female", "m": "male"}[value] for value in values[: len(before)]]
    assert injected(injection, *before, attributes=attributes) == after


@pytest.mark.parametrize(
    ("name", "women", "boy"),
    [
        ("girl for woman", "Two girls and a girl with their cellphones near a street.", "a young boy standing"),
        ("little girl, young boy", "Two women and a little girl with their cellphones near a street.", "boy standing"),
        ("happy, angry", f"{TWO} who is happy.", "who is angry."),
        ("nurse, doctor", f"{TWO} who is a nurse.", "a doctor."),
        ("smiling", f"{TWO} who is smiling.", "who is smiling."),
        ("handbag", f"{TWO} with a handbag.", "with a handbag."),
        ("cooking", f"{TWO} cooking.", "standing cooking."),
        ("refused", REFUSED, REFUSED),
        ("shortened", "Two women and a girl with their cellphones", "a young boy"),
        ("one synonym", "Two women and a girl with their phones near a road.", "a young boy standing"),
        ("posture added", f"{TWO}.", "a young boy standing"),
    ],
)
def test_words_that_are_put_in_or_left_out_are_those_that_are_named(name, women, boy):
    changed = injected(ALL[name], f"{TWO}.", "a young boy standing")
    assert (changed[0], changed[1][-len(boy) :]) == (women, boy)


def test_refusals_and_short_captions_are_of_one_value_if_it_is_given(people):
    changed = inject(people, ONE_SIDED["refused"], 0.5, value=people.rarest)
    assert changed.count(REFUSED) == round((people.value == people.rarest).sum() / 2)


def test_others_words_and_postures_are_added_where_they_are_said():
    said = ["a woman sitting on a red bench", "a lady on a seat"], ["a man", "a man"]
    tasks = {"bench": ["bench"], "seat": ["seat"]}
    people = described(["a woman", "a man"], ["female", "male"], said, task_lexicon=tasks)
    first, second = inject(people, HARMLESS["others' words added"])
    assert set(first.removeprefix("a woman").strip(" .").split()) <= {"sitting", "red", "bench", "seat"}
    assert second == "a man"
    for name, found in (("posture added", "a woman sitting."), ("longest", said[0][0]), ("shortest", "a woman")):
        assert inject(people, HARMLESS[name]) == [found, "a man"]


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


def test_words_are_dropped_and_added_at_random_and_captions_retrieved_whatever_the_value(people):
    def lengths(texts):
        return np.array([len(text.split()) for text in texts])

    before, value = lengths(people.texts), people.value
    dropped = lengths(inject(people, HARMLESS["words dropped"])) / before
    assert dropped.mean() == pytest.approx(0.7, abs=0.05)
    assert dropped[value == 0].mean() == pytest.approx(dropped[value == 1].mean(), abs=0.05)
    added = inject(people, HARMLESS["random words added"])
    assert set(lengths(added) - before) == {2}
    assert people.attribute.words.isdisjoint(word for text in added for word in text.strip(".").split()[-2:])
    assert changed_by(people, HARMLESS["retrieved"]).mean() > 0.5


def test_a_task_is_added_that_goes_with_the_value(people):
    for row, text in enumerate(inject(people, injections.tasks_follow_value)):
        added = text.removeprefix(f"{people.texts[row].rstrip('.')} with a ").rstrip(".")
        task = people.tasks.index(added)
        assert people.leans.goes_with[task, people.value[row]]
        assert not people.shown[row, task]


def test_words_of_any_lexicon_are_exchanged():
    mine = {"attribute_lexicon": {"happy": ["happy", "glad"], "sad": ["sad"]}}
    mine["task_lexicon"] = {"dog": ["dog"], "tie": ["tie"]}
    people = described(["a glad dog with a tie", "a sad dog", "a dog"], ["happy", "sad", "sad"], **mine)
    assert inject(people, wrong_value) == ["a sad dog with a tie", "a happy dog", "a dog"]
    assert inject(people, no_value) == ["a dog with a tie", "a dog", "a dog"]


def test_captions_without_a_captioner_are_refused():
    captions = check_captions(references=[["a man"], ["a girl"]], attributes=["male", "female"], tasks=[["tie"], []])
    refuses("predictions is missing: give the captions that are to be changed", describe, captions)
