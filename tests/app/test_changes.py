"""What a user changes about data: roles, columns, and the captioners of an earlier run beside one's own."""

from dataclasses import replace

import pytest

from captionbias.app.changes import columns, roles, together
from captionbias.app.data import CAPTIONER, LABELS, PEOPLE, UNUSED, Columns, Data, as_said, captioners_of, guess_words
from captionbias.app.results import again
from captionbias.captions.tables import table_from_memory

WHO = {"id": range(60), "caption": ["a man"] * 60, "who": ["m", "f"] * 30, "skin": ["x", "y", "z"] * 20}

SETTINGS = dict.fromkeys(("metrics", "preset", "trials", "seed"))


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


def files(captioners, labels="gender", ids="id", caption="caption", first=0):
    """Captioners' files, each text once, and labels of their images in another."""
    rows = range(first, first + 40)
    tables = {
        name: table_from_memory({ids: rows, caption: [f"{text} {row}" for row in rows]}, f"{name}.csv")
        for name, text in captioners.items()
    }
    people = table_from_memory({ids: rows, labels: ["female", "male"] * 20}, "people.csv")
    return Data(tables, {LABELS: people}, columns=Columns(ids, (caption,), attribute_column=labels))


def texts(data):
    return {name: captions.predictions[0] for name, captions in captioners_of(data).items()}


def test_an_earlier_run_s_captioners_are_measured_on_the_images_of_this_one():
    data = together(files({"nic": "a man"}), files({"sat": "a guy"}, ids="image", caption="text", labels="skin"))
    assert texts(data) == {"nic": "a man 0", "sat": "a guy 0"}
    assert set(captioners_of(data)["sat"].attributes) == {"female", "male"}
    assert again(data, SETTINGS, {}) is None


def test_a_name_that_is_taken_is_told_apart():
    one, other = files({"nic": "a man"}), files({"nic": "a guy", "nic (2)": "a boy"})
    assert texts(together(one, other)) == {"nic": "a man 0", "nic (2)": "a guy 0", "nic (2) (2)": "a boy 0"}


def test_one_file_with_everything_keeps_its_labels_and_several_columns_of_captions():
    rows = {"id": range(40), "a": ["a man"] * 40, "b": ["a guy"] * 40, "human": ["he"] * 40, "sex": ["f", "m"] * 20}
    whole = Data({"all": table_from_memory(rows, "all.csv")}, columns=Columns("id", ("a", "b"), "human", "sex"))
    data = together(whole, files({"nic": "a boy"}))
    assert texts(data) == {"a": "a man", "b": "a guy", "nic": "a boy 0"}
    assert {captions.references[0] for captions in captioners_of(data).values()} == {("he",)}
    command = again(together(files({"nic": "x"}), files({"sat": "y"})), SETTINGS, {})
    assert "--predictions nic.csv --predictions sat.csv" in command


@pytest.mark.parametrize(
    ("earlier", "message"),
    [
        (files({"sat": "a guy"}, first=1000), "have no image in common"),
        (replace(files({"sat": "a guy"}), columns=Columns("", ("caption",))), "without image ids nobody knows"),
    ],
)
def test_runs_that_share_nothing_are_refused(earlier, message):
    with pytest.raises(ValueError, match=message):
        together(files({"nic": "a man"}), earlier)
