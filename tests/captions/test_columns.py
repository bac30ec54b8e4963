"""The columns of uploaded tables are guessed by name and by content, and the tables joined by ids of any name."""

from __future__ import annotations

import json

import pytest

from captionbias.app.uploads import open_upload
from captionbias.captions import CaptionBiasWarning
from captionbias.captions import columns as app_columns
from captionbias.captions.columns import guess_columns, join_uploads
from captionbias.captions.tables import table_from_memory

ROWS = 60
IDS = list(range(100, 100 + ROWS))
MODEL = [f"a person with thing {n}" for n in range(ROWS)]
HUMAN = [[f"someone and thing {n}", f"they have thing {n}"] for n in range(ROWS)]
GENDER = ["female", "male"] * (ROWS // 2)
TASKS = [["dog", "hot dog"] if n % 3 else [] for n in range(ROWS)]
NONE = [None] * ROWS


def guessed(**tables):
    """The guess for each argument, by table."""
    named = guess_columns(**{role: table_from_memory(columns) for role, columns in tables.items()})
    return [getattr(named, role).column for role in ("id", "prediction", "reference", "attribute", "tasks")]


@pytest.mark.parametrize(
    ("names", "of_lists"),
    [
        (["image_id", "caption", "references", "gender", "tasks"], HUMAN),
        (["IMG_ID", "Generated Caption", "Human-Captions", "BB_gender", "rmdup_obj_list"], HUMAN),
        (["cocoid", "text", "captions", "Skin", "objects"], HUMAN),
        (["file_name", "hypothesis", "caption", "sex", "labels"], [text for text, _ in HUMAN]),
        (["id", "predictions", "gt", "label", "categories"], [json.dumps(texts) for texts in HUMAN]),
        (["one", "two", "three", "four", "five"], HUMAN),
        (["one", "two", "three", "four", "five"], [json.dumps(texts) for texts in HUMAN]),
    ],
)
def test_one_table_may_hold_everything_in_any_order(names, of_lists):
    table = dict(zip(names, [IDS, MODEL, of_lists, GENDER, TASKS], strict=True))
    assert guessed(predictions=table) == names
    assert guessed(predictions=dict(reversed(table.items()))) == names


def test_a_name_goes_before_what_a_column_holds():
    table = {"split": ["a", "b"] * (ROWS // 2), "note": MODEL, "caption": ["dog"] * ROWS, "gender": ["male"] * ROWS}
    assert guessed(predictions=table) == [None, "caption", None, "gender", None]


def test_a_name_is_no_guess_where_the_content_cannot_be_meant():
    table = {"caption": HUMAN, "image_id": HUMAN, "gender": [0, 1] * (ROWS // 2), "prediction": [0.5] * ROWS}
    assert guessed(predictions=table) == [None, None, "caption", None, None]


@pytest.mark.parametrize(
    "values",
    [
        ["same"] * ROWS,
        [f"group {n}" for n in range(ROWS)],
        [f"group {n % 21}" for n in range(ROWS)],
        [n % 2 for n in range(ROWS)],
        NONE,
    ],
)
def test_an_attribute_without_a_name_is_text_of_2_to_20_values_that_repeat(values):
    assert guessed(predictions={"image_id": IDS, "caption": MODEL, "x": values})[3] is None
    twenty = [f"group {n % 20}" for n in range(ROWS)]
    assert guessed(predictions={"image_id": IDS, "caption": MODEL, "x": values, "y": twenty})[3] == "y"


def test_several_files_each_have_their_own_columns():
    tables = {
        "predictions": {"image_id": IDS, "caption": MODEL},
        "references": {"id": list(range(2 * ROWS)), "image_id": IDS * 2, "caption": MODEL * 2},
        "attributes": {"img": IDS, "who": GENDER, "what": TASKS},
    }
    assert guessed(**tables) == ["image_id", "caption", "caption", "who", "what"]
    separate = {"objects_seen": TASKS, "image": IDS}
    assert guessed(**tables, tasks=separate) == ["image_id", "caption", "caption", "who", "objects_seen"]
    assert guessed(references={"a": IDS, "b": HUMAN, "c": GENDER}) == ["a", None, "b", "c", None]


def test_ids_of_few_images_in_many_rows_are_no_attribute():
    few = {"image_id": [f"COCO_{n % 12}.jpg" for n in range(ROWS)], "caption": MODEL}
    assert guessed(references=few) == ["image_id", None, "caption", None, None]


def test_the_choices_are_all_columns_of_the_file_the_guess_first():
    predictions = table_from_memory({"image_id": IDS, "n": IDS, "caption": MODEL})
    references = table_from_memory({"image_id": IDS, "references": HUMAN, "sex": GENDER})
    columns = guess_columns(predictions=predictions, references=references)
    assert columns.id.choices == ("image_id", "n", "caption")
    assert columns.prediction.choices == ("caption", "image_id", "n")
    assert columns.reference.choices == ("references", "image_id", "sex")
    assert columns.attribute.choices == ("sex", "image_id", "references", "n", "caption")
    assert (columns.tasks.column, columns.tasks.choices) == (None, ("image_id", "references", "sex", "n", "caption"))
    nothing = guess_columns()
    assert (nothing.id.column, nothing.id.choices) == (None, ())


def test_the_guessed_columns_of_uploaded_files_join_to_captions(tmp_path):
    def upload(name, text):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return open_upload(tmp_path / name, name)

    tables = {
        "predictions": upload(
            "p.json", json.dumps([{"image_id": i, "caption": c} for i, c in zip(IDS, MODEL, strict=True)])
        ),
        "references": upload(
            "r.json",
            json.dumps(
                {
                    "annotations": [
                        {"id": 100 + 2 * row + n, "image_id": image, "caption": text}
                        for row, image in enumerate(IDS)
                        for n, text in enumerate(HUMAN[row])
                    ]
                }
            ),
        ),
        "attributes": upload("a.csv", "img;who\n" + "".join(f"{i};{g}\n" for i, g in zip(IDS, GENDER, strict=True))),
    }
    columns = guess_columns(**tables)
    captions = join_uploads(
        **tables,
        id_column=columns.id.column,
        prediction_column=columns.prediction.column,
        reference_column=columns.reference.column,
        attribute_column=columns.attribute.column,
        task_column=columns.tasks.column,
    )
    assert captions.image_ids == tuple(map(str, IDS))
    assert captions.predictions == tuple(MODEL)
    assert captions.references == tuple(map(tuple, HUMAN))
    assert captions.attributes == tuple(GENDER)
    assert captions.tasks is None


def test_a_table_is_joined_by_the_column_that_has_the_ids():
    predictions = table_from_memory({"id": [5, 6], "caption": ["a man", "a girl"]})
    # Its own "id" has the number 5 by chance, as annotations of COCO do.
    attributes = table_from_memory({"id": [4, 5], "image_id": [6, 5], "sex": ["female", "male"]})
    chosen = {"id_column": "id", "prediction_column": "caption", "attribute_column": "sex"}
    assert join_uploads(predictions=predictions, attributes=attributes, **chosen).attributes == ("male", "female")
    other = table_from_memory({"sex": ["x", "female", "male"], "key": ["7", "6", "5.0"]})
    with pytest.warns(CaptionBiasWarning, match="1 of 3 images with a label have no caption"):
        assert join_uploads(predictions=predictions, attributes=other, **chosen).attributes == ("male", "female")


def test_one_table_needs_no_ids_and_gives_every_side():
    table = table_from_memory({"m": ["a man", "a girl"], "h": [["he"], ["she"]], "sex": ["m", "f"], "t": [["dog"], []]})
    captions = join_uploads(
        predictions=table, prediction_column="m", reference_column="h", attribute_column="sex", task_column="t"
    )
    assert captions.image_ids == ("row 0", "row 1")
    assert captions.references == (("he",), ("she",))
    assert captions.tasks == (("dog",), ())
    human = join_uploads(references=table, reference_column="h", attribute_column="sex", keep=["f", "m"])
    assert human.predictions is None


CHOSEN = {"id_column": "i", "prediction_column": "c", "attribute_column": "a"}
TABLE = {"i": [1, 2], "c": ["x y", "z"], "a": ["m", "f"]}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"prediction_column": None}, "no column of captions is chosen: choose"),
        ({"attribute_column": None}, "no attribute is chosen: choose"),
        ({"predictions": None}, "column 'c' is chosen, and no file that could have it is given"),
        ({"reference_column": "h"}, "table has no column 'h': it has 'i', 'c', 'a'"),
        ({"id_column": "j"}, "table has no column 'j': it has 'i', 'c', 'a'"),
        ({"reference_column": "c"}, "predictions and references are both 'c' of table"),
        ({"attributes": table_from_memory({"i": [8, 9], "a": ["m", "f"]})}, "have no image in common"),
        ({"attributes": table_from_memory({"a": ["m", "f"]})}, "has no column 'i' to join it by"),
    ],
)
def test_a_choice_that_cannot_be_joined_says_why(changes, message):
    with pytest.raises(ValueError, match=r".") as raised:
        join_uploads(**{"predictions": table_from_memory(TABLE), **CHOSEN, **changes})
    assert message in str(raised.value)


def test_more_images_than_the_app_takes_are_refused(monkeypatch):
    monkeypatch.setattr(app_columns, "MAX_IMAGES", 1)
    with pytest.raises(ValueError, match="there are 2 images, and this page takes 1 at most"):
        join_uploads(predictions=table_from_memory(TABLE), **CHOSEN)


def test_a_cell_of_many_brackets_is_text():
    brackets = "[" * 5000 + "]" * 5000
    table = table_from_memory({**TABLE, "h": [brackets, "x"]})
    assert join_uploads(references=table, reference_column="h", attribute_column="a").references[0] == (brackets,)
    assert guess_columns(references=table).reference.column is None
