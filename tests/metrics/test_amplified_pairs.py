"""Tables of pairs: totals, what counts, and what a caption lexicon has words for and nobody shows."""

from __future__ import annotations

import numpy as np
import pytest

from captionbias.metrics.amplified_pairs import Pairs, with_totals
from captionbias.metrics.label_inputs import read_labels
from captionbias.metrics.pair_counts import random_groups

ATTRIBUTES = ["female", "male", "female", "male"]
CAPTIONS = {
    "predictions": ["a woman with a cake", "a man with a hot dog", "a lady", "a dog"],
    "references": [["a woman with a cake"], ["a man and a dog", "a man and a hot dog"], ["a woman, a cake"], ["a man"]],
    "attributes": ATTRIBUTES,
}


def read(**given_labels):
    everything = dict.fromkeys(
        ("predictions", "references", "attributes", "tasks", "predicted_attributes", "predicted_tasks")
    )
    settings = {"attribute_lexicon": "gender", "task_lexicon": "coco_objects", "tokenizer": "words"}
    return read_labels(None, **everything | given_labels, **settings)


def pairs_of(labels):
    return Pairs.of(labels, random_groups(len(labels), seed=0), labels.tasks)


def test_the_total_of_rows_counts_those_with_any_label():
    values, tasks = np.array([[1, 0], [0, 0], [0, 0]], bool), np.array([[0], [1], [0]], bool)
    left, right = with_totals(values, tasks)
    assert left.tolist() == [[True, False, True], [False, False, True], [False, False, False]]
    assert right.tolist() == [[False, True], [True, True], [False, True]]


def test_of_a_lexicon_only_the_labels_that_images_show_count():
    labels = read(**CAPTIONS)
    assert len(labels.tasks) == 80
    pairs = pairs_of(labels)
    assert (pairs.attributes, set(pairs.tasks)) == (("female", "male"), {"cake", "dog", "hot dog"})
    assert pairs.attribute_counts() == {"female": 2, "male": 2}
    assert pairs.amplification(None)["a_to_t"].shape == (2, 3, 1)


def test_of_labels_that_are_given_all_count_whether_or_not_an_image_shows_them():
    given_labels = {
        "attributes": np.eye(3)[[0, 1, 0]],
        "tasks": np.eye(2)[[0, 0, 0]],
        "predicted_tasks": np.eye(2)[[1] * 3],
    }
    pairs = pairs_of(read(**given_labels))
    assert (pairs.attributes, pairs.tasks) == (("0", "1", "2"), ("0", "1"))
    assert np.isnan(pairs.amplification(None)["a_to_t"][:, :, 0]).tolist() == [[False] * 2] * 2 + [[True] * 2]


def test_a_row_of_the_table_says_what_its_pair_is_made_of():
    rows = pairs_of(read(**CAPTIONS)).table()
    (cake,) = [row for row in rows["a_to_t"] if (row["attribute"], row["task"]) == ("female", "cake")]
    # Both human captions of women name a cake, and one of two model captions; three tasks and two values are six pairs.
    assert cake == {
        "attribute": "female",
        "task": "cake",
        "share": pytest.approx(-0.5 / 6),
        "given": 2,
        "both": 2,
        "probability": 1.0,
        "predicted_given": 2,
        "predicted_both": 1,
        "predicted_probability": 0.5,
    }
    (told,) = [row for row in rows["a_to_t"] if (row["attribute"], row["task"]) == ("male", "dog")]
    # Men have three human captions, of which one names the dog, and two model captions.
    assert (told["given"], told["both"], told["predicted_given"], told["predicted_both"]) == (3, 1, 2, 1)
    (dog,) = [row for row in rows["t_to_a"] if (row["attribute"], row["task"]) == ("male", "dog")]
    # The image that shows a dog has two human captions and one model caption, and all of them name a man.
    assert (dog["given"], dog["both"], dog["predicted_given"], dog["predicted_both"]) == (2, 2, 1, 1)
    assert {type(value) for value in dog.values()} == {str, int, float}


def test_without_human_captions_the_rows_of_the_table_are_images():
    captions = {name: CAPTIONS[name] for name in ("predictions", "attributes")}
    shown = {"tasks": [["cake"], ["dog", "hot dog"], ["cake"], ["dog"]]}
    rows = pairs_of(read(**captions, **shown)).table()
    (told,) = [row for row in rows["a_to_t"] if (row["attribute"], row["task"]) == ("male", "dog")]
    assert (told["given"], told["both"], told["predicted_given"], told["predicted_both"]) == (2, 2, 2, 1)
    (dog,) = [row for row in rows["t_to_a"] if (row["attribute"], row["task"]) == ("male", "dog")]
    assert (dog["given"], dog["both"], dog["predicted_given"], dog["predicted_both"]) == (2, 2, 2, 1)


def test_expanded_tasks_are_counted_in_the_place_of_the_labels_own():
    labels = read(attributes=ATTRIBUTES, tasks=[["a", "b"], ["a"], ["b"], []], predicted_tasks=[["a", "b"]] * 4)
    both = pairs_of(labels)
    expanded = Pairs.of(labels, random_groups(4, seed=0), ("a + b",), lambda tasks: tasks.all(axis=1, keepdims=True))
    assert set(both.directions) == {"a_to_t"}, "nobody is predicted"
    one, other = both.directions["a_to_t"], expanded.directions["a_to_t"]
    assert one.data.of(None)[:2, :2, 0].tolist() == [[1, 2], [1, 0]]
    assert other.data.of(None)[:2, 0, 0].tolist() == [1, 0]
    assert other.predicted.of(None)[:2, 0, 0].tolist() == [2, 2]


def test_human_captions_that_name_no_task_are_refused():
    silent = CAPTIONS | {"references": [["somebody"]] * 4}
    with pytest.raises(ValueError, match=r"^references: no human caption names a task of task_lexicon.*give tasks, or"):
        pairs_of(read(**silent))
