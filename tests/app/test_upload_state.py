"""Files and columns become captioners by name, with the labels that can be learned."""

from __future__ import annotations

import pytest

from captionbias.app.upload_state import (
    MAX_CAPTIONERS,
    Chosen,
    Given,
    captions_of,
    kept_at_first,
    labels,
    left_out,
    names_of,
    read_given,
)
from captionbias.captions.tables import table_from_memory

COLUMNS = {"id": [1, 2, 3], "a": ["a man", "a girl", "a dog"], "b": ["he", "she", "it"], "who": ["m", "f", " m "]}


@pytest.mark.parametrize(
    ("files", "columns", "names"),
    [
        (["x.csv"], ["a"], ["x"]),
        (["x.csv"], ["a", "b"], ["a", "b"]),
        (["x.csv", "y.csv"], ["a"], ["x", "y"]),
        (["x.csv", "y.csv"], ["a", "b"], ["x a", "x b", "y a", "y b"]),
    ],
)
def test_captioners_are_called_after_files_columns_or_both(write, files, columns, names):
    given = read_given([str(write(name, COLUMNS)) for name in files], None, None, None)
    chosen = Chosen("id", tuple(columns), None, "who", None)
    assert names_of(given, chosen) == list(captions_of(given, chosen)) == names
    assert list(captions_of(given, chosen, only=names[-1])) == names[-1:]


def test_labels_are_counted_without_blanks_the_most_frequent_first(write):
    given = read_given([str(write("x.csv", COLUMNS))], None, None, None)
    assert labels(given, "who") == {"m": 2, "f": 1}
    assert labels(given, "missing") == labels(given, None) == {}
    assert kept_at_first({"many": 1000, "one": 1}) == ["many"]


def test_two_files_of_one_name_and_too_many_are_refused(write, tmp_path):
    first = write("x.csv", COLUMNS)
    (tmp_path / "other").mkdir()
    second = first.rename(tmp_path / "other" / "x.csv")
    with pytest.raises(ValueError, match="two files of captioners are called x: rename one"):
        read_given([str(second), str(write("x.csv", COLUMNS))], None, None, None)
    with pytest.raises(ValueError, match="11 captioners, and this page takes 10 at most"):
        read_given(["x.csv"] * (MAX_CAPTIONERS + 1), None, None, None)


def test_captions_are_asked_for_where_there_are_none(write):
    with pytest.raises(ValueError, match="upload a file, or take the example data"):
        captions_of(read_given([], None, None, None), Chosen(None, (), None, None, None))
    given = read_given([str(write("x.csv", COLUMNS))], None, None, None)
    with pytest.raises(ValueError, match="choose the file and the column"):
        captions_of(given, Chosen("id", (), None, "who", None))


def test_captioners_of_one_name_and_too_many_columns_are_refused():
    table = table_from_memory({"id": [1], "b c": ["a man"], "c": ["a dog"]})
    given = Given({"a": table, "a b": table})
    with pytest.raises(ValueError, match="two captioners would be called 'a b c'"):
        names_of(given, Chosen("id", ("b c", "c"), None, None, None))
    with pytest.raises(ValueError, match="there are 12 captioners, and this page takes 10 at most"):
        names_of(given, Chosen("id", tuple(map(str, range(6))), None, None, None))


def test_labels_left_out_are_told_and_number_labels_are_labels():
    table = table_from_memory(
        {"id": range(25), "caption": ["a man"] * 25, "sex": [0] * 12 + [1] * 11 + [2] * 2}
    )._replace(name="nic.csv")
    given = Given({"nic": table})
    counts = labels(given, "sex")
    assert counts == {"0": 12, "1": 11, "2": 2}
    keep = kept_at_first(counts)
    assert left_out(counts, keep) == "left out by their label: '2' (2 rows)"
    captions = captions_of(given, Chosen("id", ("caption",), None, "sex", None, tuple(keep)))["nic"]
    assert (len(captions), set(captions.attributes)) == (23, {"0", "1"})
