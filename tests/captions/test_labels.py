"""Labels: each way to give them is the same labels, and what is bad is refused with its row and the way out."""

import re

import numpy as np
import pandas as pd
import pytest

from captionbias.captions import check_labels, join_labels

NAMES, NUMBERS = ("cake", "dog", "knife"), ("0", "1", "2")
FLAGS = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 0], [1, 1, 1]])
LISTS = [["knife", "cake"], [], ["dog"], ["dog", "cake", "knife"]]
TABLE = pd.DataFrame(FLAGS, columns=["knife", "cake", "dog"])


@pytest.mark.parametrize(
    ("given", "names", "numbered"),
    [
        *((rows, NAMES, False) for rows in (LISTS, pd.Series(LISTS), [np.array(row, object) for row in LISTS])),
        ([[f" {name}\n" for name in row] * 2 for row in LISTS], NAMES, False),
        *((FLAGS.astype(kind), NUMBERS, True) for kind in (bool, np.int64, np.uint8, np.float32, object)),
        *((rows, NUMBERS, True) for rows in (FLAGS.tolist(), FLAGS.astype(bool).tolist(), list(FLAGS))),
        ([[True, 0, 1.0], *FLAGS.tolist()[1:]], NUMBERS, True),
        *((table, ("knife", "cake", "dog"), False) for table in (TABLE, TABLE.convert_dtypes())),
        *((TABLE.astype({"dog": kind}), ("knife", "cake", "dog"), False) for kind in (bool, "boolean")),
    ],
)
def test_names_arrays_and_tables_are_flags_with_their_names(given, names, numbered):
    labels = check_labels("tasks", given)
    assert (labels.names, labels.numbered, len(labels), labels.flags.dtype) == (names, numbered, 4, bool)
    assert np.array_equal(labels.flags, FLAGS)


@pytest.mark.parametrize("rows", [[*"fmf"], [["f"], "m", ("f",)], np.array([*"fmf"]), pd.Series([*"fmf"])])
def test_a_single_name_is_a_list_of_one(rows):
    labels = check_labels("attributes", rows)
    assert (labels.names, labels.flags.tolist()) == (("f", "m"), [[True, False], [False, True], [True, False]])


def test_tensors_are_arrays_also_those_that_have_a_gradient():
    torch = pytest.importorskip("torch")
    for tensor in (torch.tensor(FLAGS), torch.tensor(FLAGS, dtype=torch.float32, requires_grad=True)):
        assert np.array_equal(check_labels("tasks", tensor).flags, FLAGS)


@pytest.mark.parametrize(
    ("known", "value", "names", "flags"),
    [
        (LISTS, [["dog"], []], NAMES, [[0, 1, 0], [0, 0, 0]]),
        (LISTS, [[], []], NAMES, [[0, 0, 0], [0, 0, 0]]),
        (FLAGS, np.zeros((2, 3)), NUMBERS, [[0, 0, 0], [0, 0, 0]]),
        (TABLE, FLAGS, ("knife", "cake", "dog"), FLAGS),
        (FLAGS, TABLE, NUMBERS, FLAGS),
        (TABLE, [["dog"]], ("knife", "cake", "dog"), [[0, 0, 1]]),
    ],
)
def test_predictions_have_the_known_labels_and_may_be_empty(known, value, names, flags):
    labels = check_labels("predicted", value, known=check_labels("tasks", known), known_as="tasks")
    assert labels.names == names
    assert np.array_equal(labels.flags, flags)


def test_arrays_are_joined_column_by_column_or_not_at_all():
    one, other = check_labels("tasks", FLAGS), check_labels("further", FLAGS[:1])
    assert join_labels("tasks", one, "further", other)[1].flags.tolist() == [[True, False, True]]
    for further in (FLAGS[:, :2], LISTS):
        with pytest.raises(ValueError, match=r"^further has . labels \(.*\), tasks 3 .*give both as names, or as arr"):
            join_labels("tasks", one, "further", check_labels("further", further))


ONLY = " ... an array of labels holds 0 and 1 alone, as many in each row; give that, or lists of names"
SHAPE = " ... one row an image, one column a label"
NAMED = ": give a label, a list of labels, or an empty list"
EACH = ": give a list with one entry for each image"
TWO_OF_A_NAME = pd.DataFrame([[1, 0]], columns=["a", "a"])


@pytest.mark.parametrize(
    ("value", "known", "message"),
    [
        ([[0, 1], [1, 2]], None, "tasks[1] holds 2" + ONLY),
        (np.array([[0.0, 1.0], [0.5, 1.0]]), None, "tasks[1] holds 0.5" + ONLY),
        (pd.DataFrame({"a": [1, 0], "b": [1, None]}), None, "tasks[1] holds nan" + ONLY),
        (pd.DataFrame({"a": [1, 0], "b": pd.array([1, None], "Int64")}), None, "tasks is not an array" + ONLY),
        ([[0, 1], ["cake", "dog"]], None, "tasks is not an array" + ONLY),
        ([[0, 1], [1]], None, "tasks is not an array" + ONLY),
        (np.zeros((2, 2, 2)), None, "tasks has shape (2, 2, 2)" + SHAPE),
        (np.zeros((2, 0)), None, "tasks has shape (2, 0)" + SHAPE),
        (np.zeros((2, 2)), None, "tasks has no label in any image: name what the images show"),
        (TWO_OF_A_NAME, None, "tasks has more than one column of a name: give each label one column"),
        ([["cake"], [0, 1]], None, "tasks[1] holds 0: a label is a string"),
        ([["cake"], ["dog", " "]], None, "tasks[1] holds ' ': a label is a string that is not empty"),
        (pd.Series(["cake", pd.NA]), None, "tasks[1] is of type  ... " + NAMED[2:]),
        (["cake", {"dog"}], None, "tasks[1] is of type set" + NAMED),
        ([], None, "tasks has no rows: give the labels of at least one image"),
        ("cake", None, "tasks is a string" + EACH),
        (None, None, "tasks is of type NoneType" + EACH),
        # Whether the first column is "cake" is anybody's guess.
        (FLAGS, LISTS, "tasks is an array without names and truth has names: give both as arrays, or both as names"),
        (LISTS, FLAGS, "tasks has names and truth is an array without names: give both as arrays, or both as names"),
        ([["dog"], ["Cake"]], LISTS, "tasks[1] names 'Cake', which is not a label of truth (cake, dog, knife): "),
        ([["dog"]], [[*"abcdefg"]], "tasks[0] names 'dog', which is not a label of truth (a, b, c, d, e and 2 more): "),
        (FLAGS[:, :2], FLAGS, "tasks has 2 columns and truth has 3 labels (0, 1 and 0, 1, 2): give the same ones"),
        (TABLE[["cake", "knife", "dog"]], TABLE, "tasks has 3 columns and truth has 3 labels (cake, knife, dog and kn"),
    ],
)
def test_what_is_refused_alone_or_beside_known_labels(value, known, message):
    truth = None if known is None else check_labels("tasks", known)
    pattern = ".*".join(map(re.escape, message.split(" ... ")))
    with pytest.raises(ValueError, match=f"^{pattern}") as raised:
        check_labels("tasks", value, known=truth, known_as="truth")
    assert len(str(raised.value)) < 400
