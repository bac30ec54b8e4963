"""The captioners of an earlier run are measured beside those of another, on the images that both have."""

from dataclasses import replace

import pytest

from captionbias.app.compared import together
from captionbias.app.data import CAPTIONER, LABELS, Columns, as_said, captions_of
from captionbias.app.results import again
from captionbias.captions.tables import table_from_memory
from tests.refusals import refuses

SETTINGS = dict.fromkeys(("metrics", "preset", "trials", "seed"))


def files(captioners, labels="gender", ids="id", caption="caption", first=0):
    """Captioners' files, each text once, and labels of their images in another."""
    rows = range(first, first + 40)
    tables = [
        table_from_memory({ids: rows, caption: [f"{text} {row}" for row in rows]}, f"{name}.csv")
        for name, text in captioners.items()
    ]
    images = table_from_memory({ids: rows, labels: ["female", "male"] * 20}, f"{labels}.csv")
    roles = dict.fromkeys((table.name for table in tables), CAPTIONER) | {images.name: LABELS}
    return replace(as_said([*tables, images], roles), columns=Columns(ids, (caption,), attribute_column=labels))


def texts(data):
    return {name: captions.predictions[0] for name, captions in captions_of(data).items()}


def test_an_earlier_run_s_captioners_are_measured_on_the_images_of_this_one():
    data = together(files({"nic": "a man"}), files({"sat": "a guy"}, ids="image", caption="text", labels="skin"))
    assert texts(data) == {"nic": "a man 0", "sat": "a guy 0"}
    assert set(captions_of(data)["sat"].attributes) == set(data.counts) == {"female", "male"}
    assert again(data, SETTINGS, {}) is None, "no command reads sat.csv by these columns"
    command = again(together(files({"nic": "x"}), files({"sat": "y"})), SETTINGS, {})
    assert "--predictions nic.csv --predictions sat.csv" in command


def test_a_name_that_is_taken_is_told_apart():
    earlier = files({"v1.nic": "a guy", "v1.nic (2)": "a boy", "gender": "a lad"}, labels="skin")
    both = together(files({"v1.nic": "a man"}), earlier)
    assert texts(both) == {
        "v1.nic": "a man 0",
        "v1.nic (2)": "a guy 0",
        "v1.nic (2) (2)": "a boy 0",
        "gender (2)": "a lad 0",
    }
    assert again(both, SETTINGS, {}) is None, "there are no files of these names"


def test_one_file_with_everything_keeps_its_labels_and_several_columns_of_captions():
    rows = {"id": range(40), "a": ["a man"] * 40, "b": ["a guy"] * 40, "human": ["he"] * 40, "sex": ["f", "m"] * 20}
    whole = as_said([table_from_memory(rows, "all.csv")], {"all.csv": CAPTIONER})
    whole = replace(whole, columns=Columns("id", ("a", "b"), "human", "sex"))
    data = together(whole, files({"nic": "a boy"}))
    assert texts(data) == {"a": "a man", "b": "a guy", "nic": "a boy 0"}
    assert {captions.references[0] for captions in captions_of(data).values()} == {("he",)}


@pytest.mark.parametrize("without", [0, 1])
def test_without_image_ids_nothing_is_compared(without):
    runs = [files({"nic": "a man"}), files({"sat": "a guy"})]
    runs[without] = replace(runs[without], columns=Columns("", ("caption",)))
    refuses("without image ids nobody knows", together, *runs)
