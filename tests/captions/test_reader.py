"""One reader: columns that are named, in files and tables of every kind, of one captioner or several."""

import datasets
import pandas as pd
import pyarrow as pa
import pytest

from captionbias import CaptionBiasWarning
from captionbias.captions import check_captions, on_the_same_images, read_captioners, read_captions
from captionbias.captions.reader import read_labels
from captionbias.captions.tables import table_from_memory
from captionbias.captions.texts import canonical_order

COLUMNS = {
    "image_id": [42, 7, 2**63 - 1],
    "caption": ["a man", "a woman", "a girl"],
    "references": [["a guy"], ["a lady", "a woman"], ["a child"]],
    "attribute": ["male", "female", "female"],
    "tasks": [["dog"], [], ["cat", "dog"]],
}
OTHER_NAMES = {
    **{"id_column": "key", "prediction_column": "said", "reference_column": "human"},
    **{"attribute_column": "gender", "task_column": "things"},
}


@pytest.mark.usefixtures("no_warnings")
@pytest.mark.parametrize(
    "make",
    [
        *(dict, pd.DataFrame, pa.table, datasets.Dataset.from_dict, table_from_memory),
        lambda columns: datasets.Dataset.from_dict(columns).with_format("numpy", columns=["caption"]),
        lambda columns: {name: pd.Series(column) for name, column in columns.items()},
    ],
    ids=["dict", "DataFrame", "pyarrow", "Dataset", "Table", "formatted Dataset", "dict of Series"],
)
def test_every_kind_of_table_gives_the_same_captions(make):
    table = make(COLUMNS)
    captions = read_captions(table)
    assert captions.image_ids == ("7", "42", "9223372036854775807")
    assert captions.predictions == ("a woman", "a man", "a girl")
    assert captions.references == canonical_order([["a lady", "a woman"], ["a guy"], ["a child"]], once=False)
    assert captions.attributes == ("female", "male", "female")
    assert captions.tasks == ((), ("dog",), ("cat", "dog"))
    assert read_captions(predictions=table, references=table) == captions


@pytest.mark.usefixtures("no_warnings")
def test_a_column_that_is_named_is_read_from_a_file_as_from_a_table_and_numbers_are_labels(tmp_path, write):
    renamed = dict(zip(OTHER_NAMES.values(), COLUMNS.values(), strict=True))
    path = write(tmp_path / "a.parquet", renamed)
    for table in (path, str(path), renamed):
        assert read_captions(predictions=table, **OTHER_NAMES) == read_captions(COLUMNS)
    for labels in ([0, 1, 1], [False, True, True], [0.0, 1.0, 1.0]):
        table = {"caption": ["x"] * 3, "attribute": labels}
        for source in (table, write(tmp_path / "a.json", table)):
            assert read_captions(source).attributes == tuple(map(str, labels))


def test_labels_come_from_references_first_then_predictions():
    predictions = {"image_id": [0, 1], "caption": ["x", "x"], "attribute": ["a", "b"], "tasks": [["t"], ["t"]]}
    bare = {"image_id": [0, 1], "references": [["y"], ["y"]]}
    assert read_captions(predictions=predictions, references=bare).attributes == ("a", "b")
    captions = read_captions(predictions=predictions, references=bare | {"attribute": ["m", "f"]})
    assert (captions.attributes, captions.tasks) == (("m", "f"), (("t",), ("t",)))


def test_a_column_that_is_in_none_of_the_files(predictions, people, fault):
    message = fault(read_captions, predictions=predictions, references=people, task_column="x")
    assert message == (
        f"{people} has no column 'x': it has 'image_id', 'references', 'attribute', 'tasks'; "
        f"{predictions} has no column 'x': it has 'image_id', 'caption'; name one of these with task_column"
    )


SAID = {"id": [5, 6], "caption": ["a man", "a girl"]}
SEX = {"sex": ["m", "f"]}
JOINED = {"table": None, "predictions": SAID, "attributes": SEX, "attribute": "sex"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"table": [{"caption": "a"}]}, "table is of type list: give a file, a datasets.Dataset"),
        ({"table": {"attribute": ["m", "f"]}}, "table has no column 'caption': it has 'attribute'; name one of "),
        ({"table": {**COLUMNS, "caption": ["a"]}}, "'caption' of table has length 1, unlike other columns: make "),
        ({"table": None, "attributes": COLUMNS}, "predictions and references are both missing"),
        ({"prediction_column": "p"}, "table has no column 'p': it has 'image_id', 'caption', "),
        ({"id_column": "i"}, "table has no column 'i': "),
        ({"reference_column": "caption"}, "predictions and references are both 'caption' of table: "),
        ({"id_column": "attribute"}, "id_column and attribute_column are both 'attribute' of table: "),
        ({"predictions": COLUMNS}, "table may hold everything: give either it or predictions and references"),
        (
            JOINED,
            "attributes has no column 'id' with ids such as 5, 6 to join it by: it has 'sex'; name the column of ",
        ),
        (JOINED | {"attributes": SEX | {"key": [8, 9]}}, "attributes has no column 'id' with ids such as 5, 6 to join"),
        (
            JOINED | {"predictions": {"caption": ["a", "b"]}},
            "predictions has no column 'image_id' to join it by: it has",
        ),
    ],
)
def test_what_is_no_table_of_captions_or_not_such_a_column(given, message, fault):
    assert fault(read_captions, **{"table": COLUMNS} | given).startswith(message)


@pytest.mark.usefixtures("no_warnings")
@pytest.mark.parametrize(
    "ids",
    [
        {"id": [4, 5], "image_id": [6, 5]},  # 5 is there by chance, as COCO's captions have numbers
        {"id": [6, 5], "image_id": [6, 5]},
        {"n": [0, None], "key": ["6", "5.0"]},
        {"cocoid": ["6.0", " 5"], "n": [6, 5]},
    ],
)
def test_a_table_is_joined_by_the_column_that_has_the_ids(ids):
    captions = read_captions(predictions=SAID, attributes=SEX | ids, id_column="id", attribute_column="sex")
    assert captions.attributes == ("f", "m")


def test_the_usual_name_of_ids_is_not_replaced():
    predictions = {"image_id": [5, 6], "caption": ["a man", "a girl"]}
    attributes = {"image_id": [6, 7], "id": [5, 6], "sex": ["f", "m"]}
    tasks = {"cocoid": [5, 6], "tasks": [["dog"], []]}
    with pytest.warns(CaptionBiasWarning) as noted, pytest.raises(ValueError, match="only one value 'f'"):
        read_captions(predictions=predictions, attributes=attributes, tasks=tasks, attribute="sex")
    assert "1 of 2 images have no entry in attributes" in str(noted[0].message), "notes come before the error too"


PEOPLE = {"image_id": [1, 2], "references": [["he"], ["she"]], "attribute": ["m", "f"]}
TABLE = {"image_id": [1, 2], "a": ["a man", "a girl"], "b": ["a guy", "a dog"]}


@pytest.mark.parametrize(
    ("tables", "columns", "names"),
    [
        (["x"], None, {"x": "caption"}),
        (["x"], ["a", "b"], {"a": "a", "b": "b"}),
        (["x", "y"], ["a"], {"x": "a", "y": "a"}),
        (["x", "y"], ["a", "b"], {"x a": "a", "x b": "b", "y a": "a", "y b": "b"}),
    ],
)
def test_captioners_are_called_after_files_columns_or_both(tables, columns, names):
    table = {**TABLE, "caption": ["one", "two"]}
    read = read_captioners(dict.fromkeys(tables, table), references=PEOPLE, prediction_column=columns)
    assert list(read) == list(names)
    for name, column in names.items():
        assert read[name] == read_captions(predictions=table, references=PEOPLE, prediction_column=column)
    people = [captions.words().human_image for captions in on_the_same_images(read).values()]
    assert all(each is people[0] for each in people), "the human side is read, checked and split once"


def test_captioners_of_one_name_and_bad_captions_are_named(fault):
    message = fault(read_captioners, {"a": TABLE, "a b": TABLE}, references=PEOPLE, prediction_column=["b c", "c"])
    assert message == "two captioners would be called 'a b c': rename a file or a column"
    bad = {**TABLE, "b": ["a guy", 5]}
    message = fault(read_captioners, {"x": bad}, references=PEOPLE, prediction_column=["a", "b"])
    assert message.startswith("b: predictions[1] (image 2) is of type int")


def test_labels_are_read_without_captions(fault):
    attributes = {"image_id": [3, 1, 2, 1], "attribute": ["m", "f", None, "f"]}
    tasks = {"cocoid": [1, 2, 3], "what": [["dog"], [], ["cat"]]}
    with pytest.warns(CaptionBiasWarning, match="1 of 3 images have no label"):
        images = read_labels(attributes, tasks, task_column="what", keep=["m", "f"])
    assert (images.image_ids, images.attributes, images.tasks) == (("1", "3"), ("f", "m"), (("dog",), ("cat",)))
    assert images.predictions is images.references is None
    message = "attributes has no column 'tasks': it has 'image_id', 'attribute'; name one of these with task_column"
    assert fault(read_labels, attributes) == message


def test_labels_are_renamed_before_any_are_kept(fault):
    table = {"caption": ["a man", "a girl", "a dog", "a boy"], "attribute": [1, 0, 2, 1], "skin": ["x", "y", "x", "y"]}
    names = {0: "female", "1": "male"}
    assert read_captions(table, labels=names, keep=["female", "male"]).attributes == ("male", "female", "male")
    crossed = read_captions(table, attribute=["attribute", "skin"], labels={**names, "y": "dark"})
    assert crossed.attributes == ("male, x", "female, dark", "2, x", "male, dark")
    told = fault(read_captions, table, labels={"f": "female"})
    assert told.startswith("labels names 'f', which is not a label in ")
    assert told.endswith(": it has 0, 1, 2")
    lists = {"predictions": ["a man", "a girl"], "attributes": ["m", "w"]}
    told = fault(check_captions, **lists, labels={"f": "female"})
    assert told == "labels names 'f', which is not a label in attributes: it has m, w"
