"""BA (MALS) against its definition, on labels, on captions and on frequent words."""

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from captionbias.captions import check_captions
from captionbias.metrics import ba_mals
from captionbias.metrics.ba_mals import frequent_words
from captionbias.synthetic import plant
from captionbias.text import load_lexicon
from captionbias.text.languages import closed_words
from captionbias.text.tokens import split_words
from tests.metrics.by_definition import (
    THINGS,
    VALUES,
    captioned_images,
    label_tables,
    rows_of_labels,
    scores,
    sets_of,
    tables_and_training,
    written,
)


def wanted(known, predicted, values, tasks):
    """From rows `(values, tasks)` as sets: the score, the tasks that count and the undefined pairs; None without."""

    def counts(rows, task):
        return [sum(value in of_row and task in tasks_of_row for of_row, tasks_of_row in rows) for value in values]

    parts, undefined = [], 0
    for task in tasks:
        before, after = counts(known, task), counts(predicted, task)
        leaning = [place for place, count in enumerate(before) if count * len(values) > sum(before)]
        if not sum(before) or not sum(after):
            undefined += len(values)
        else:
            shares = ((Fraction(after[a], sum(after)), Fraction(before[a], sum(before))) for a in leaning)
            parts.append(sum(new - old for new, old in shares))
    if not parts:
        return None
    score = float(sum(parts) / Fraction(len(parts)))
    found = {"ba_mals": score, "tasks_ba_mals": len(parts), "undefined_pairs_ba_mals": undefined}
    return pytest.approx(found, abs=1e-12)


def wanted_of_labels(table, training=None):
    values, tasks = (range(table[name].shape[1]) for name in ("attributes", "tasks"))
    predicted = [sets_of(table[f"predicted_{name}"]) for name in ("attributes", "tasks")]
    return wanted(rows_of_labels(table, training)["a_to_t"][2], list(zip(*predicted, strict=True)), values, tasks)


@settings(deadline=None, max_examples=80)
@given(tables_and_training())
def test_it_is_the_definition_in_which_training_labels_say_what_leans(drawn):
    table, training = drawn
    found = wanted_of_labels(table, training)
    if found is None:
        with pytest.raises(ValueError, match=r"^tasks: none occurs with an attribute value in the data and in the pre"):
            ba_mals(**table, **training, bootstrap=0)
    else:
        assert scores(ba_mals(**table, **training, bootstrap=0)) == found


@settings(deadline=None, max_examples=50)
@given(label_tables(), st.sampled_from(["predicted_attributes", "predicted_tasks"]))
def test_what_is_not_predicted_is_as_it_is_shown(table, left_out):
    as_shown = table | {left_out: table[left_out.removeprefix("predicted_")]}
    assume(wanted_of_labels(as_shown) is not None)
    without = {name: array for name, array in table.items() if name != left_out}
    assert scores(ba_mals(**without, bootstrap=0)) == scores(ba_mals(**as_shown, bootstrap=0))


@settings(deadline=None, max_examples=60)
@given(captioned_images())
def test_every_human_caption_counts_as_much_as_any_other(images):
    known, predicted = (
        [(named & VALUES, named & THINGS) for named in side]
        for side in ([one for _, _, humans in images for one in humans], [named for _, named, _ in images])
    )
    found = wanted(known, predicted, sorted(VALUES), sorted(THINGS))
    assume(found is not None)
    result = ba_mals(**written(images), bootstrap=0, controls=False, details=True)
    assert scores(result) == found
    for row in result["details"]["pairs"]:
        assert row["count"] == sum(row["attribute"] in values and row["task"] in tasks for values, tasks in known)


def test_frequent_words_are_tasks_as_in_a_lexicon_of_them():
    captions = check_captions(**vars(plant(images=200, captions=2, t_to_a=0.5)))
    fixed = {"bootstrap": 20, "controls": False, "details": True}
    result = ba_mals(captions, words=True, most_frequent=40, at_least=20, **fixed)
    assert not result["details"]["warnings"], "the tasks that are given play no part"
    words = {row["task"] for row in result["details"]["pairs"]}
    assert 3 < len(words) < 40
    again = ba_mals(captions, task_lexicon={word: [word] for word in sorted(words)}, **fixed)
    for each in (result, again):
        del each["signature"], each["details"]["settings"]
    assert result == again


# --- frequent words: counted anew by hand ---

GENDER = load_lexicon("gender")


def frequent(references, most=1000, at_least=1, lexicon=GENDER):
    captions = check_captions(references=references, attributes=["female", "male"] * (len(references) // 2))
    return list(frequent_words(captions, lexicon, "words", most, at_least).labels)


def by_definition(references, most, at_least):
    split = [split_words(text) for row in references for text in row]
    masked = {word for words in GENDER.groups.values() for word in words}
    frequency = Counter(word for text in split for word in text)
    most_frequent = sorted(filter(str.isalpha, frequency), key=lambda word: (-frequency[word], word))[:most]
    kept = []
    for word in set(most_frequent) - masked - closed_words():
        with_word = [set(text) for text in split if word in text]
        if all(
            sum(bool(text & set(GENDER.groups[label])) for text in with_word) >= at_least for label in GENDER.labels
        ):
            kept.append(word)
    return sorted(kept)


@pytest.mark.parametrize(("most", "at_least"), [(1000, 0), (1000, 20), (40, 1), (25, 10), (30, 40)])
def test_they_are_the_most_frequent_that_occur_often_enough_with_either_gender(most, at_least):
    references = plant(images=300, captions=2).references
    found = frequent(references, most, at_least)
    assert found == by_definition(references, most, at_least)
    assert found


def test_a_word_counts_once_a_caption_but_every_time_for_its_frequency():
    references = [["a woman with dogs dogs dogs"], ["a man with dogs"], ["a lady with cakes"], ["a guy with cakes"]]
    assert frequent(references, most=3, at_least=1) == ["dogs"], "after 'a' and 'with'"
    with pytest.raises(
        ValueError, match=r"^references: no word occurs in 2 captions with each of female, male; .*at_l"
    ):
        frequent(references, at_least=2)
