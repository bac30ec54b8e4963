"""Labels in: each way to give them is the same labels, and what is none is refused with its row and the way out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from captionbias.captions import check_labels, join_labels

NAMES = ("cake", "dog", "knife")
FLAGS = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 0], [1, 1, 1]])
LISTS = [["knife", "cake"], [], ["dog"], ["dog", "cake", "knife"]]

random_flags = st.integers(1, 6).flatmap(
    lambda width: st.lists(st.lists(st.booleans(), min_size=width, max_size=width), min_size=1, max_size=12)
)


def fault(value, known=None):
    with pytest.raises(ValueError, match=r".") as raised:
        check_labels("tasks", value, known=known, known_as="truth")
    assert len(str(raised.value)) < 400
    return str(raised.value)


# --- names ---


@pytest.mark.parametrize(
    "rows",
    [
        LISTS,
        tuple(map(tuple, LISTS)),
        pd.Series(LISTS),
        [np.array(row, object) for row in LISTS],
        [[f" {name}\n" for name in row] for row in LISTS],
        [row * 2 for row in LISTS],
    ],
    ids=["lists", "tuples", "Series", "arrays", "blanks", "twice"],
)
def test_lists_of_names_are_flags_of_the_sorted_names(rows):
    labels = check_labels("tasks", rows)
    assert labels.names == NAMES
    assert labels.flags.dtype == bool
    assert np.array_equal(labels.flags, FLAGS)
    assert not labels.numbered
    assert len(labels) == 4


@pytest.mark.parametrize(
    "rows", [["f", "m", "f"], [["f"], "m", ("f",)], np.array(["f", "m", "f"]), pd.Series([*"fmf"])]
)
def test_a_single_name_is_a_list_of_one(rows):
    labels = check_labels("attributes", rows)
    assert labels.names == ("f", "m")
    assert labels.flags.tolist() == [[True, False], [False, True], [True, False]]


def test_the_first_rows_may_be_empty():
    assert check_labels("tasks", [[], [], ["dog"]]).flags.tolist() == [[False], [False], [True]]


@settings(deadline=None)
@given(random_flags.filter(lambda rows: np.any(rows)))
def test_names_and_flags_say_the_same(rows):
    flags = np.array(rows)
    names = [f"t{number}" for number in range(flags.shape[1])]
    labels = check_labels("tasks", [[names[task] for task in np.flatnonzero(row)] for row in flags])
    occurring = flags.any(axis=0)
    assert labels.names == tuple(name for name, there in zip(names, occurring, strict=True) if there)
    assert np.array_equal(labels.flags, flags[:, occurring])


# --- arrays ---


@pytest.mark.parametrize("kind", [bool, np.int64, np.uint8, np.float32, object])
def test_arrays_of_any_kind_of_0_and_1_are_the_same(kind):
    labels = check_labels("tasks", FLAGS.astype(kind))
    assert np.array_equal(labels.flags, FLAGS)
    assert labels.flags.dtype == bool
    assert labels.names == ("0", "1", "2")
    assert labels.numbered


def test_lists_of_numbers_and_of_bools_are_arrays():
    for rows in (FLAGS.tolist(), FLAGS.astype(bool).tolist(), list(FLAGS), [[True, 0, 1.0], *FLAGS.tolist()[1:]]):
        assert np.array_equal(check_labels("tasks", rows).flags, FLAGS)


def test_tensors_are_arrays_also_those_that_have_a_gradient():
    torch = pytest.importorskip("torch")
    for tensor in (torch.tensor(FLAGS), torch.tensor(FLAGS, dtype=torch.float32, requires_grad=True)):
        assert np.array_equal(check_labels("tasks", tensor).flags, FLAGS)


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table,
        lambda table: table.astype(bool),
        lambda table: table.convert_dtypes(),
        lambda table: table.astype({"dog": bool}),
        lambda table: table.astype({"dog": "boolean"}),
    ],
    ids=["int", "bool", "nullable", "of two kinds", "one nullable"],
)
def test_a_table_names_its_columns_and_keeps_their_order(change):
    labels = check_labels("tasks", change(pd.DataFrame(FLAGS, columns=["knife", "cake", "dog"])))
    assert labels.names == ("knife", "cake", "dog")
    assert np.array_equal(labels.flags, FLAGS)
    assert not labels.numbered


# --- among known labels ---


def test_known_names_are_looked_up_and_may_be_missing():
    known = check_labels("tasks", LISTS)
    assert check_labels("told", [["dog"], []], known=known, known_as="tasks").flags.tolist() == [
        [False, True, False],
        [False, False, False],
    ]


def test_predictions_may_be_empty_everywhere():
    known = check_labels("tasks", LISTS)
    assert not check_labels("told", [[], []], known=known, known_as="tasks").flags.any()
    assert not check_labels("told", np.zeros((2, 3)), known=check_labels("tasks", FLAGS), known_as="tasks").flags.any()


def test_an_array_follows_the_columns_of_a_known_table_and_a_table_those_of_an_array():
    table = pd.DataFrame(FLAGS, columns=["knife", "cake", "dog"])
    assert check_labels("told", FLAGS, known=check_labels("tasks", table), known_as="tasks").names == tuple(table)
    assert check_labels("told", table, known=check_labels("tasks", FLAGS), known_as="tasks").names == ("0", "1", "2")
    names = check_labels("told", [["dog"]], known=check_labels("tasks", table), known_as="tasks")
    assert names.flags.tolist() == [[False, False, True]]


def test_an_array_cannot_follow_names_that_have_no_order():
    """Whether its first column is "cake" is anybody's guess."""
    message = fault(FLAGS, known=check_labels("tasks", LISTS))
    assert message == ("tasks is an array without names and truth has names: give both as arrays, or both as names")
    assert "give both as arrays, or both as names" in fault(LISTS, known=check_labels("tasks", FLAGS))


def test_what_is_unknown_is_refused():
    known = check_labels("tasks", LISTS)
    assert fault([["dog"], ["dog", "Cake"]], known).startswith(
        "tasks[1] names 'Cake', which is not a label of truth (cake, dog, knife): leave it out, or correct its spelling"
    )
    many = check_labels("tasks", [[f"t{number:03}" for number in range(300)]])
    assert "(t000, t001, t002, t003, t004, ...)" in fault([["dog"]], many)


def test_columns_that_differ_are_refused():
    known = check_labels("tasks", FLAGS)
    assert "tasks has 2 columns and truth has 3 labels" in fault(FLAGS[:, :2], known)
    table = pd.DataFrame(FLAGS, columns=["knife", "cake", "dog"])
    message = fault(table[["cake", "knife", "dog"]], check_labels("tasks", table))
    assert message.startswith(
        "tasks has 3 columns and truth has 3 labels (cake, knife, dog and knife, cake, dog): give the same"
    )


# --- joined ---


def test_joined_labels_have_the_names_of_both():
    one, other = check_labels("tasks", [["dog"], ["cake"]]), check_labels("further", [["ape", "dog"]])
    one, other = join_labels("tasks", one, "further", other)
    assert one.names == other.names == ("cake", "dog", "ape")
    assert one.flags.tolist() == [[False, True, False], [True, False, False]]
    assert other.flags.tolist() == [[False, True, True]]


def test_arrays_are_joined_column_by_column_or_not_at_all():
    one, other = check_labels("tasks", FLAGS), check_labels("further", FLAGS[:1])
    assert join_labels("tasks", one, "further", other)[1].flags.tolist() == [[True, False, True]]
    for further in (FLAGS[:, :2], LISTS):
        with pytest.raises(
            ValueError, match=r"^further has . labels \(.*\), tasks 3 .*give both as names, or as arrays"
        ):
            join_labels("tasks", one, "further", check_labels("further", further))


# --- refused ---


ARRAYS = [
    ([[0, 1], [1, 2]], "tasks[1] holds 2", "0 and 1 alone; give those, or lists of names"),
    (np.array([[0, 1], [1, -1]]), "tasks[1] holds -1", "0 and 1 alone"),
    (np.array([[0.0, 1.0], [0.5, 1.0]]), "tasks[1] holds 0.5", "0 and 1 alone"),
    (np.array([[0.0, 1.0], [1.0, np.nan]]), "tasks[1] holds nan", "0 and 1 alone"),
    (pd.DataFrame({"a": [1, 0], "b": [1, None]}), "tasks[1] holds nan", "0 and 1 alone"),
    (pd.DataFrame({"a": [1, 0], "b": pd.array([1, None], "Int64")}), "tasks[1] holds <NA>", "0 and 1 alone"),
    ([[0, 1], [None, 1]], "tasks[1] holds None", "0 and 1 alone"),
    ([[0, 1], ["cake", "dog"]], "tasks[1] holds 'cake'", "0 and 1 alone; give those, or lists of names"),
    (np.array([["0", "1"], ["1", "0"]]), "tasks[0] holds '0'", "0 and 1 alone"),
    (np.array([[0, 1j]]), "tasks[0] holds", "0 and 1 alone"),
    ([[0, 1], [1]], "tasks[1] has more or fewer numbers than other rows", "give 0 for a label that an image lacks"),
    (
        [[0, 1], [0, 1], []],
        "tasks[2] has more or fewer numbers than other rows",
        "give 0 for a label that an image lacks",
    ),
    ([[0, 1], 1], "tasks[1] has more or fewer numbers than other rows", "give 0 for a label that an image lacks"),
    (np.zeros((2, 2, 2)), "tasks has shape (2, 2, 2)", "one row an image, one column a label"),
    (np.zeros((0, 2)), "tasks has shape (0, 2)", "one row an image, one column a label"),
    (np.zeros((2, 0)), "tasks has shape (2, 0)", "one row an image, one column a label"),
    (np.zeros((2, 2)), "tasks has no label in any image", "name what the images show"),
    (pd.DataFrame([[1, 0]], columns=["a", "a"]), "tasks has more than one column 'a'", "each label one column"),
]
LISTED = [
    ([["cake"], [0, 1]], "tasks[1] holds 0, of type int", "a label is a string"),
    ([["cake"], [b"dog"]], "tasks[1] holds b'dog', of type bytes", "a label is a string"),
    ([["cake"], ["dog", None]], "tasks[1] holds None", "a label is a string"),
    ([["cake"], ["dog", " "]], "tasks[1] holds an empty label", "name it, or take it out"),
    (["cake", ""], "tasks[1] holds an empty label", "name it, or take it out"),
    (["cake", None], "tasks[1] is missing", "give a label, a list of labels, or an empty list"),
    (["cake", float("nan")], "tasks[1] is missing", "give a label, a list of labels, or an empty list"),
    (pd.Series(["cake", pd.NA]), "tasks[1] is missing", "give a label, a list of labels, or an empty list"),
    (["cake", {"dog"}], "tasks[1] is of type set", "give a label, or a list of labels"),
    ([0, 1], "tasks[0] is of type int", "give a label, or a list of labels"),
    (np.array([0, 1]), "tasks[0] is of type int", "give a label, or a list of labels"),
    ([[], []], "tasks has no label in any image", "name what the images show"),
    ([], "tasks has no rows", "give the labels of at least one image"),
    ("cake", "tasks is a string", "give a list with one entry for each image"),
    ({"a": 1}, "tasks is of type dict", "give a list with one entry for each image"),
    (None, "tasks is of type NoneType", "give a list with one entry for each image"),
    (7, "tasks is of type int", "give a list with one entry for each image"),
]


@pytest.mark.parametrize(("value", "what", "way_out"), [*ARRAYS, *LISTED])
def test_what_is_refused(value, what, way_out):
    message = fault(value)
    assert message.startswith(what)
    assert way_out in message


@settings(deadline=None, max_examples=30)
@given(random_flags, st.data())
def test_the_first_bad_row_is_named(rows, data):
    array = np.array(rows, float)
    place = tuple(data.draw(st.integers(0, length - 1)) for length in array.shape)
    array[place] = data.draw(st.sampled_from([2, -1, 0.5, np.nan, np.inf]))
    array[place[0] + 1 :, 0] = 9
    assert fault(array).startswith(f"tasks[{place[0]}] holds {array[place]}")
