"""Columns are found by name in files, and in tables of every kind."""

from __future__ import annotations

import datasets
import pandas as pd
import pyarrow as pa
import pytest

from captionbias.captions import CaptionBiasWarning, captions_from_table, read_captions

FORMATS = ["csv", "tsv", "json", "jsonl", "parquet"]


class TestColumns:
    def test_other_names(self, tmp_path, write):
        rows = [
            {"id": i, "said": "x", "human": ["y"], "gender": g, "things": ["dog"]} for i, g in enumerate(["m", "f"])
        ]
        path = write(tmp_path / "a.parquet", rows)
        captions = read_captions(
            predictions=path,
            references=path,
            id_column="id",
            prediction_column="said",
            reference_column="human",
            attribute_column="gender",
            task_column="things",
        )
        assert captions.predictions == ("x", "x")
        assert captions.references == (("y",), ("y",))
        assert captions.attributes == ("m", "f")
        assert captions.tasks == (("dog",), ("dog",))

    def test_labels_come_from_references_first_then_predictions(self, tmp_path, write):
        predictions = write(
            tmp_path / "p.json", [{"image_id": i, "caption": "x", "attribute": "ab"[i], "tasks": ["t"]} for i in (0, 1)]
        )
        bare = write(tmp_path / "bare.json", [{"image_id": i, "references": ["y"]} for i in (0, 1)])
        labelled = write(
            tmp_path / "l.json", [{"image_id": i, "references": ["y"], "attribute": "mf"[i]} for i in (0, 1)]
        )
        assert read_captions(predictions=predictions, references=bare).attributes == ("a", "b")
        captions = read_captions(predictions=predictions, references=labelled)
        assert captions.attributes == ("m", "f")
        assert captions.tasks == (("t",), ("t",))

    @pytest.mark.parametrize("extension", FORMATS)
    def test_a_missing_column_lists_those_that_exist(self, tmp_path, people, extension, write, fault):
        rows = [{"image_id": 7, "text": "x"}, {"image_id": 42, "text": "y"}]
        path = write(tmp_path / f"p.{extension}", rows)
        message = fault(read_captions, predictions=path, references=people)
        assert message == f"{path} has no column 'caption': it has 'image_id', 'text'; name one of these"

    def test_no_attributes_anywhere(self, predictions, people, fault):
        message = fault(read_captions, predictions=predictions, references=people, attribute_column="gender")
        assert message.startswith("attributes needs a column 'gender', and there is none in ")
        assert f"{people}, which has 'image_id', 'references', 'attribute', 'tasks'" in message
        assert f"{predictions}, which has 'image_id', 'caption'" in message

    def test_tasks_are_optional_until_they_are_named(self, predictions, people, fault):
        message = fault(read_captions, predictions=predictions, references=people, task_column="objects")
        assert message.startswith("tasks needs a column 'objects'")

    def test_references_stand_before_captions(self, tmp_path, predictions, people_records, write, fault):
        both = write(tmp_path / "both.json", [{**record, "caption": "not this"} for record in people_records])
        captions = read_captions(predictions=predictions, references=both)
        assert captions.references[0] == ("a man rides",)
        neither = write(tmp_path / "neither.json", [{"image_id": 7, "attribute": "male"}])
        message = fault(read_captions, predictions=predictions, references=neither)
        assert message.startswith(f"{neither} has no column 'references'")

    def test_a_reference_column_that_is_named_is_not_replaced(
        self, tmp_path, predictions, people, write, fault, prediction_records
    ):
        rows = [{"image_id": r["image_id"], "caption": "x"} for r in prediction_records]
        other = write(tmp_path / "o.json", rows)
        message = fault(
            read_captions, predictions=predictions, references=other, attributes=people, reference_column="human"
        )
        assert "has no column 'human'" in message

    def test_one_column_is_not_both_sides(self, tmp_path, write, fault):
        path = write(tmp_path / "a.json", [{"image_id": i, "caption": "x", "attribute": "mf"[i]} for i in (0, 1)])
        assert "has no column 'references'" in fault(read_captions, predictions=path, references=path)
        message = fault(read_captions, predictions=path, references=path, reference_column="caption")
        assert message.startswith("predictions and references are both 'caption' of ")

    def test_a_doubled_column(self, tmp_path, fault):
        path = tmp_path / "a.csv"
        path.write_text("image_id,caption,caption,attribute\n1,a,b,m\n")
        assert "has more than one column 'caption'" in fault(read_captions, predictions=path)

    def test_neither_side(self, people, fault):
        assert fault(read_captions, attributes=people).startswith("predictions and references are both missing")

    def test_numbers_as_labels(self, tmp_path, write, fault):
        path = write(tmp_path / "a.json", [{"image_id": i, "caption": "x", "attribute": i} for i in (0, 1)])
        assert fault(read_captions, predictions=path).startswith("attributes[0] (image 0) is 0, of type int")

    def test_an_id_that_is_missing(self, tmp_path, write, fault):
        rows = [{"image_id": i, "caption": "x", "attribute": "m"} for i in (0, "")]
        path = write(tmp_path / "a.csv", rows)
        assert fault(read_captions, predictions=path).startswith(f"{path}: image_id[1] is missing")


COLUMNS = {
    "image_id": [42, 7, 2**63 - 1],
    "caption": ["a man", "a woman", "a girl"],
    "references": [["a guy"], ["a lady", "a woman"], ["a child"]],
    "attribute": ["male", "female", "female"],
    "tasks": [["dog"], [], ["cat", "dog"]],
}


class TestTable:
    @pytest.mark.usefixtures("no_warnings")
    @pytest.mark.parametrize(
        "make",
        [
            dict,
            pd.DataFrame,
            pa.table,
            datasets.Dataset.from_dict,
            lambda columns: datasets.Dataset.from_dict(columns).with_format("numpy", columns=["caption"]),
            lambda columns: {name: pd.Series(column) for name, column in columns.items()},
        ],
        ids=["dict", "DataFrame", "pyarrow", "Dataset", "formatted Dataset", "dict of Series"],
    )
    def test_every_kind_of_table_gives_the_same_captions(self, make):
        captions = captions_from_table(make(COLUMNS))
        assert captions.image_ids == ("42", "7", "9223372036854775807")
        assert captions.predictions == ("a man", "a woman", "a girl")
        assert captions.references == (("a guy",), ("a lady", "a woman"), ("a child",))
        assert captions.attributes == ("male", "female", "female")
        assert captions.tasks == (("dog",), (), ("cat", "dog"))

    def test_a_selection_of_a_dataset_is_its_own_table(self):
        captions = captions_from_table(datasets.Dataset.from_dict(COLUMNS).select([2, 0]))
        assert captions.predictions == ("a girl", "a man")

    def test_columns_and_labels_can_be_chosen(self):
        table = pd.DataFrame({"gender": ["m", None, "f", "both"], "text": ["a", "b", "c", "d"]})
        with pytest.warns(CaptionBiasWarning, match=r"^1 of 4 images have no label") as raised:
            captions = captions_from_table(table, prediction_column="text", attribute_column="gender", keep=["f", "m"])
        assert captions.predictions == ("a", "c")
        assert captions.references is None
        assert [warning.filename for warning in raised] == [__file__]

    @pytest.mark.parametrize(
        ("columns", "message"),
        [
            ({"prediction_column": "p"}, "table has no column 'p': it has 'image_id', 'caption', "),
            ({"reference_column": "r"}, "table has no column 'r': "),
            ({"attribute_column": "a"}, "table has no column 'a': "),
            ({"task_column": "t"}, "table has no column 't': "),
            ({"reference_column": "caption"}, "predictions and references are both 'caption' of table: "),
        ],
    )
    def test_a_column_that_is_named_must_exist(self, columns, message, fault):
        assert fault(captions_from_table, COLUMNS, **columns).startswith(message)

    def test_a_table_without_captions(self, fault):
        message = fault(captions_from_table, {"attribute": ["m", "f"]})
        assert message.startswith("table has neither predictions, 'caption', nor references, 'references': ")

    def test_columns_of_unequal_length(self, fault):
        message = fault(captions_from_table, {**COLUMNS, "caption": ["a"]})
        assert message.startswith("'caption' of table has length 1 and other columns 3")

    @pytest.mark.parametrize("table", [[{"caption": "a"}], "a", None, 3])
    def test_no_table(self, table, fault):
        message = fault(captions_from_table, table)
        assert message.startswith(f"table is of type {type(table).__name__}: give a datasets.Dataset")
