"""Files and columns become captioners by name, with the labels that can be learned."""

from __future__ import annotations

import pytest

from captionbias.app.given import MAX_CAPTIONERS, Chosen, captions_of, kept_at_first, labels, names_of, read_given

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
