"""Uploaded files and the columns that are chosen become captioners, within the limits of the page."""

from __future__ import annotations

from dataclasses import replace

import pytest

from captionbias.app import data as module
from captionbias.app import uploads
from captionbias.app.data import (
    CAPTIONER,
    MAX_CAPTIONERS,
    MAX_FILES,
    Columns,
    Data,
    as_said,
    captions_of,
    corrected,
    count_labels,
    guess_words,
    labels_at_first,
    left_out,
    read_uploads,
)
from captionbias.captions.tables import table_from_memory

TABLE = {"id": [1, 2, 3], "a": ["a man", "a girl", "a dog"], "b": ["he", "she", "it"], "who": ["m", "f", " m "]}


def uploaded(write, columns, *files):
    """Uploads of the same table, of which these columns are chosen."""
    tables = [table_from_memory(TABLE, name) for name in files]
    return replace(as_said(tables, dict.fromkeys(files, CAPTIONER)), columns=columns)


def test_labels_are_counted_without_blanks_the_most_frequent_first(write):
    data = uploaded(write, Columns(), "x.csv")
    assert count_labels(data, "who") == {"m": 2, "f": 1}
    assert count_labels(data, "missing") == count_labels(data, "") == {}
    some = table_from_memory({"skin": ["dark", " ", None, "dark", " light "]})
    assert count_labels(Data({"nic": some}), "skin") == {"dark": 2, "light": 1}


def test_labels_left_out_are_noted_and_numbers_are_labels():
    table = table_from_memory({"caption": ["a man"] * 25, "sex": [0] * 12 + [1] * 11 + [2] * 2})
    data = Data({"nic": table})
    counts = count_labels(data, "sex")
    assert counts == {"0": 12, "1": 11, "2": 2}
    chosen = Columns("", ("caption",), attribute_column="sex", keep=tuple(labels_at_first(counts)))
    data = replace(data, columns=chosen)
    assert left_out(data) == "left out by their label: '2' (2 rows, too few to split)"
    captions = captions_of(data)["nic"]
    assert (len(captions), set(captions.attributes)) == (23, {"0", "1"})


@pytest.mark.parametrize(
    ("name", "labels", "words"),
    [
        ("x", ["Female", "male"], "gender"),
        ("gender", ["Light", "Dark"], "race"),
        ("x", ["light", "dark", "unsure"], "race"),
        ("x", ["young", "old"], "age"),
        ("Bb Skin", ["1", "2"], "race"),
        ("sex", ["f", "m"], "gender"),
        ("emotion", ["positive", "negative"], "emotion"),
        ("x", ["f", "m"], "gender"),
    ],
)
def test_words_are_guessed_by_labels_then_by_the_column_s_name(name, labels, words):
    table = table_from_memory({name: labels, "other": labels})
    assert guess_words(Data({"nic": table}, columns=Columns(attribute_column=name))) == words


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (Columns("id", (), attribute_column="who"), "choose the file and the column of the captioner's captions"),
        (Columns("id", ("a",)), "no attribute is chosen: choose the column that has the label of each image"),
        (Columns("id", tuple(map(str, range(11))), "", "who"), "11 captioners, and this page takes 10 at most"),
        (Columns("id", ("a",), "", "who", "what"), "x.csv has no column 'what'"),
    ],
)
def test_columns_that_cannot_be_measured_are_refused(write, columns, message):
    with pytest.raises(ValueError, match=message):
        captions_of(uploaded(write, columns, "x.csv"))


def test_data_beyond_the_limits_are_refused(write, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="upload files, or take the example data"):
        captions_of(read_uploads([]))
    (tmp_path / "other").mkdir()
    second = write("x.csv", TABLE).rename(tmp_path / "other" / "x.csv")
    first = write("x.csv", TABLE)
    with pytest.raises(ValueError, match=r"two files are called x\.csv: rename a file"):
        read_uploads([str(second), str(first)])
    with pytest.raises(ValueError, match="21 files, and this page takes 20 at most"):
        read_uploads(["x.csv"] * (MAX_FILES + 1))
    names = [f"{number}.csv" for number in range(MAX_CAPTIONERS + 1)]
    with pytest.raises(ValueError, match="11 captioners, and this page takes 10 at most"):
        uploaded(write, Columns(), *names)
    with pytest.raises(ValueError, match="two captioners are called x: rename a file"):
        uploaded(write, Columns(), "x.csv", "x.json")
    monkeypatch.setattr(module, "MAX_IMAGES", 2)
    with pytest.raises(ValueError, match="there are 3 images, and this page takes 2 at most"):
        captions_of(uploaded(write, Columns("id", ("a",), attribute_column="who"), "x.csv"))
    monkeypatch.setattr(uploads, "MAX_TOTAL", 100)
    with pytest.raises(ValueError, match="MB together, and this page takes 0 MB at most"):
        read_uploads([str(first), str(write("y.csv", TABLE))])


def test_only_columns_that_there_are_can_be_chosen_and_labels_that_went_are_not_kept(write):
    data = uploaded(write, Columns("id", ("a",), "", "who", keep=("m",)), "x.csv")
    assert corrected(data, data.columns) is data
    for columns, message in (
        (
            replace(data.columns, prediction_column=("a", "<b>")),
            "prediction_column is '<b>', and the columns are 'id', 'a'",
        ),
        (replace(data.columns, id_column="nr"), "id_column is 'nr', and the columns are"),
    ):
        with pytest.raises(ValueError, match=message):
            corrected(data, columns)
    every = corrected(data, replace(data.columns, keep=()))
    assert corrected(every, replace(data.columns, keep=())) is every  # the page says some changes twice
    stale = replace(data.columns, attribute_column="b", keep=("m", "he"))
    assert corrected(data, stale).columns.keep == ("he",)
