"""Columns are guessed by name and by content, for a user to correct; what is named or usual needs no guess."""

from __future__ import annotations

import json

import pytest

from captionbias.captions import CaptionBiasWarning, guess_columns, read_captions
from captionbias.captions.tables import table_from_memory

ROWS = 60
IDS = list(range(100, 100 + ROWS))
MODEL = [f"a person with thing {n}" for n in range(ROWS)]
HUMAN = [[f"someone and thing {n}", f"they have thing {n}"] for n in range(ROWS)]
GENDER = ["female", "male"] * (ROWS // 2)
TASKS = [["dog", "hot dog"] if n % 3 else [] for n in range(ROWS)]


def guessed(**tables):
    """The guess for each argument, by table."""
    found = guess_columns(**{role: table_from_memory(columns) for role, columns in tables.items()})
    return [guess.column for guess in found.values()]


@pytest.mark.parametrize(
    ("names", "of_lists"),
    [
        (["image_id", "caption", "references", "gender", "tasks"], HUMAN),
        (["IMG_ID", "Generated Caption", "Human-Captions", "BB_gender", "rmdup_obj_list"], HUMAN),
        (["file_name", "hypothesis", "caption", "sex", "labels"], [text for text, _ in HUMAN]),
        (["id", "predictions", "gt", "label", "categories"], [json.dumps(texts) for texts in HUMAN]),
        (["one", "two", "three", "four", "five"], [json.dumps(texts) for texts in HUMAN]),
    ],
)
def test_one_table_may_hold_everything_in_any_order(names, of_lists):
    table = dict(zip(names, [IDS, MODEL, of_lists, GENDER, TASKS], strict=True))
    assert guessed(predictions=table) == names
    assert guessed(predictions=dict(reversed(table.items()))) == names


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        (  # a name goes before what a column holds
            {"split": ["a", "b"] * (ROWS // 2), "note": MODEL, "caption": ["dog"] * ROWS, "gender": ["male"] * ROWS},
            [None, "caption", None, "gender", None],
        ),
        (  # but is not a guess where the content cannot be meant
            {"caption": HUMAN, "image_id": HUMAN, "gender": [0, 1] * (ROWS // 2), "prediction": [0.5] * ROWS},
            [None, None, "caption", None, None],
        ),
        (  # ids of few images in many rows are not an attribute
            {"image_id": [f"COCO_{n % 12}.jpg" for n in range(ROWS)], "caption": MODEL},
            ["image_id", "caption", None, None, None],
        ),
        ({"caption": MODEL, "h": ["[" * 5000 + "]" * 5000] * ROWS}, [None, "caption", None, None, None]),
    ],
)
def test_odd_tables(table, columns):
    assert guessed(predictions=table) == columns


@pytest.mark.parametrize(
    "values",
    [
        ["same"] * ROWS,
        [f"group {n}" for n in range(ROWS)],
        [f"group {n % 21}" for n in range(ROWS)],
        [n % 2 for n in range(ROWS)],
        [None] * ROWS,
    ],
)
def test_an_attribute_without_a_name_is_text_of_2_to_20_values_that_repeat(values):
    table = {"image_id": IDS, "caption": MODEL, "x": values}
    assert guessed(predictions=table)[3] is None
    assert guessed(predictions={**table, "y": [f"group {n % 20}" for n in range(ROWS)]})[3] == "y"


# Read without names


def test_what_is_needed_is_guessed_and_said():
    tables = {
        "predictions": {"IMG": IDS, "said": MODEL},
        "references": {"cocoid": [str(image) for image in IDS], "people": HUMAN, "sex": GENDER, "objects": TASKS},
    }
    with pytest.warns(CaptionBiasWarning) as noted:
        captions = read_captions(**tables, attribute="gender")
    assert [str(note.message) for note in noted] == [
        "guessed: image_ids from 'IMG' of predictions, predictions from 'said' of predictions, references from "
        "'people' of references, attributes from 'sex' of references; name the columns if this is wrong"
    ]
    assert {note.filename for note in noted} == {__file__}
    assert captions.predictions == tuple(MODEL)
    assert captions.references == tuple(map(tuple, HUMAN))
    assert captions.attributes == tuple(GENDER)
    assert captions.tasks is None, "tasks are not needed"
    tasks = {"tasks": {"image_id": IDS, "what": TASKS}}
    with pytest.warns(CaptionBiasWarning, match="tasks from 'what' of tasks"):
        assert read_captions(**tables, **tasks, attribute="gender").tasks[1] == ("dog", "hot dog")


def test_the_column_of_another_attribute_is_not_a_guess(fault):
    table = {"caption": MODEL, "gender": GENDER}
    message = fault(read_captions, predictions=table, attribute="race")
    assert message == (
        "predictions has no column 'race': it has 'caption', 'gender'; name one of these with attribute_column"
    )
    with pytest.warns(CaptionBiasWarning, match="attributes from 'bb_skin'"):
        assert read_captions(predictions={**table, "bb_skin": GENDER}, attribute="race").attributes == tuple(GENDER)


@pytest.mark.usefixtures("no_warnings")
def test_usual_names_go_before_what_would_be_guessed():
    """As the command line has always read files: human captions only from a file for them, tasks if they are there."""
    table = {"image_id": IDS, "prediction": GENDER, "caption": MODEL, "references": HUMAN, "attribute": GENDER}
    table |= {"gender": TASKS, "tasks": TASKS, "objects": HUMAN}
    alone = read_captions(predictions=table)
    assert (alone.predictions, alone.references, alone.attributes) == (tuple(MODEL), None, tuple(GENDER))
    assert alone.tasks[1] == ("dog", "hot dog")
    both = read_captions(predictions=table, references={"image_id": IDS, "gt": HUMAN, "caption": MODEL})
    assert both.references == tuple((text,) for text in MODEL)
    assert read_captions(predictions=table, task_column="").tasks is None
    rows = read_captions(predictions={"id": IDS, "caption": MODEL, "attribute": GENDER})
    assert rows.image_ids[0] == "row 0", "one table needs no ids"
    assert read_captions(predictions=table, id_column="").image_ids[0] == "row 0"
