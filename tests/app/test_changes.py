"""What a user changes about data: roles and columns."""

from __future__ import annotations

from dataclasses import replace

import pytest

from captionbias.app.changes import columns, roles
from captionbias.app.data import CAPTIONER, LABELS, PEOPLE, UNUSED, as_said, guess_words
from captionbias.captions.tables import table_from_memory

WHO = {"id": range(60), "caption": ["a man"] * 60, "who": ["m", "f"] * 30, "skin": ["x", "y", "z"] * 20}


def test_another_column_of_labels_has_other_labels_and_words():
    one = as_said([table_from_memory(WHO, "x.csv")], {"x.csv": CAPTIONER})
    read = {"id_column": "id", "prediction_column": ["caption"], "attribute_column": "skin"}
    data = columns(one, **read, keep=["m", "f"])
    assert (data.columns.attribute_column, data.columns.keep) == ("skin", ("x", "y", "z"))
    assert guess_words(data) == "race"
    data = columns(data, **read, keep=["x", "y"])
    assert data.columns.keep == ("x", "y")
    assert columns(data, **read, keep=["x", "y"]) is data, "what changes nothing is not read again"
    assert columns(data, **read, keep=["x", "y"], language="de").columns.language == "de"
    german = replace(data, columns=replace(data.columns, language="de"))
    assert columns(german, **read | {"attribute_column": "who"}).columns.language == "de", "what was guessed stays"


def test_files_are_what_the_user_says_they_are():
    tables = [table_from_memory(WHO, name) for name in ("a.csv", "b.csv", "c.csv")]
    one = as_said(tables, {table.name: CAPTIONER for table in tables})
    assert roles(one, ["a.csv", "b.csv", "c.csv"]) is one
    data = roles(one, "a.csv", people="b.csv")
    assert [(role, table.name) for role, table in data.tables()] == [
        (CAPTIONER, "a.csv"),
        (PEOPLE, "b.csv"),
        (UNUSED, "c.csv"),
    ]
    with pytest.raises(ValueError, match=r"there is no file 'd.csv': the files are 'a.csv', 'b.csv', 'c.csv'"):
        roles(one, ["a.csv"], tasks="d.csv")
    data = roles(one, ["a.csv", "b.csv"], "c.csv", labels="a.csv")
    assert [(role, table.name) for role, table in data.tables()] == [
        (CAPTIONER, "b.csv"),
        (PEOPLE, "c.csv"),
        (LABELS, "a.csv"),
    ]
    assert roles(data, ["a.csv", "b.csv"], "c.csv", labels="a.csv") is data, "the same event a second time"
