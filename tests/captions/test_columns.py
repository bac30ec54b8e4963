"""Columns are guessed by name, for a user to correct; what is named or usual needs no guess."""

import json

import pytest

from captionbias.captions import CaptionBiasWarning, guess_columns, read_captions
from captionbias.captions.tables import table_from_memory
from captionbias.captions.texts import canonical_order

ROWS = 60
ROLES = ("id_column", "prediction_column", "reference_column", "attribute_column", "task_column")
IDS = list(range(100, 100 + ROWS))
MODEL = [f"a person with thing {n}" for n in range(ROWS)]
HUMAN = [[f"someone and thing {n}", f"they have thing {n}"] for n in range(ROWS)]
GENDER = ["female", "male"] * (ROWS // 2)
TASKS = [["dog", "hot dog"] if n % 3 else [] for n in range(ROWS)]


def guessed(**tables):
    """The guess for each argument, by table."""
    found = guess_columns(**{role: table_from_memory(columns) for role, columns in tables.items()})
    return [found[role].column for role in ROLES]


@pytest.mark.parametrize(
    ("names", "of_lists"),
    [
        (["image_id", "caption", "references", "gender", "tasks"], HUMAN),
        (["IMG_ID", "Generated Caption", "Human-Captions", "BB_gender", "rmdup_obj_list"], HUMAN),
        (["file_name", "hypothesis", "caption", "sex", "labels"], [text for text, _ in HUMAN]),
        (["id", "predictions", "gt", "label", "categories"], [json.dumps(texts) for texts in HUMAN]),
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


def test_what_is_needed_is_guessed_and_said():
    tables = {
        "predictions": {"IMG": IDS, "Response": MODEL},
        "references": {"cocoid": [str(image) for image in IDS], "people": HUMAN, "sex": GENDER, "objects": TASKS},
    }
    with pytest.warns(CaptionBiasWarning) as noted:
        captions = read_captions(**tables, attribute="gender")
    assert [str(note.message) for note in noted] == [
        "guessed: image_ids from 'IMG' of predictions, predictions from 'Response' of predictions, references from "
        "'people' of references, attributes from 'sex' of references; name the columns if this is wrong"
    ]
    assert {note.filename for note in noted} == {__file__}
    assert (captions.predictions, captions.attributes) == (tuple(MODEL), tuple(GENDER))
    assert captions.references == canonical_order(HUMAN, once=False)
    assert captions.tasks is None, "tasks are not needed"
    tasks = {"tasks": {"image_id": IDS, "categories": TASKS}}
    with pytest.warns(CaptionBiasWarning, match="tasks from 'categories' of tasks"):
        assert read_captions(**tables, **tasks, attribute="gender").tasks[1] == ("dog", "hot dog")


def test_the_column_of_another_attribute_is_not_a_guess(fault):
    table = {"caption": MODEL, "gender": GENDER}
    told = "predictions has no column 'race': it has 'caption', 'gender'; name one of these with attribute_column"
    assert fault(read_captions, predictions=table, attribute="race") == told
    with pytest.warns(CaptionBiasWarning, match="attributes from 'bb_skin'"):
        assert read_captions(predictions={**table, "bb_skin": GENDER}, attribute="race").attributes == tuple(GENDER)


@pytest.mark.usefixtures("no_warnings")
@pytest.mark.parametrize(
    ("ids", "of_labels"),
    [
        ({"image": ["/9j/4AA", "/9j/4BB"], "index": [7, 9]}, {"image_id": [7, 9]}),  # VLMEvalKit
        (
            {"uid": ["a", "b"], "url": ["http://x/7.jpg", "http://x/9.jpg"]},
            {"url": ["http://x/7.jpg", "http://x/9.jpg"]},
        ),
        ({"uid": ["a", "b"], "url": ["http://x/7.jpg", "http://x/9.jpg"]}, {"image_id": ["a", "b"]}),  # PixelProse
        ({"image": ["val/7.jpg", "val/9.jpg"]}, {"image_id": [7, 9]}),
        ({"image_id": [7, 9]}, {"file_name": ["/data/val/7.jpg", "/data/val/9.jpg"]}),
        ({"image_id": ["train/7.jpg", "val/7.jpg"]}, {"image_id": ["train/7.jpg", "val/7.jpg"]}),
    ],
)
def test_of_columns_that_are_called_like_ids_the_one_that_other_tables_have_is_guessed(ids, of_labels):
    said, labels = {"vlm_caption": ["a man", "a girl"]}, {"gender": ["male", "female"]}
    with pytest.warns(CaptionBiasWarning, match="guessed: "):
        captions = read_captions(predictions=ids | said, attributes=of_labels | labels, attribute="gender")
    assert {*zip(captions.predictions, captions.attributes, strict=True)} == {("a man", "male"), ("a girl", "female")}


def test_usual_names_go_before_what_would_be_guessed():
    table = {"image_id": IDS, "prediction": GENDER, "caption": MODEL, "references": HUMAN, "attribute": GENDER}
    table |= {"gender": TASKS, "tasks": TASKS, "objects": HUMAN}
    alone = read_captions(predictions=table, reference_column="")
    assert (alone.predictions, alone.references, alone.attributes) == (tuple(MODEL), None, tuple(GENDER))
    assert alone.tasks[1] == ("dog", "hot dog")
    said = [f"{text} too" for text in MODEL]
    both = read_captions(predictions=table, references={"image_id": IDS, "gt": HUMAN, "caption": said})
    assert both.references == tuple((text,) for text in said)
    assert read_captions(predictions=table, task_column="", reference_column="").tasks is None
    rows = read_captions(predictions={"id": IDS, "caption": MODEL, "attribute": GENDER})
    assert rows.image_ids[0] == "row 0", "one table needs no ids"
    assert read_captions(predictions=table, id_column="", reference_column="").image_ids[0] == "row 0"


FIVE = {f"caption{k}": [f"someone and thing {n} {k}" for n in range(ROWS)] for k in range(1, 6)}


@pytest.mark.parametrize(
    ("human", "name", "first"),
    [
        (FIVE, "caption1 ... caption5", 5),
        ({f"Human_Caption_{k}": texts for k, texts in enumerate(FIVE.values())}, "Human_Caption_0 ... ", 5),
        ({"refs": HUMAN}, "refs", 2),
        ({"sentences": [[{"raw": text} for text in texts] for texts in HUMAN]}, "sentences", 2),
        ({"captions": [[{"caption": text} for text in texts] for texts in HUMAN]}, "captions", 2),
        ({"reference": [text for text, _ in HUMAN]}, "reference", 1),
    ],
)
@pytest.mark.parametrize("model", ["caption", "prediction"])
def test_human_captions_beside_the_captioner_s_are_read_and_said(human, name, first, model, tmp_path, write):
    table = {"image_id": IDS, model: MODEL, **human, "gender": GENDER}
    for source in (table, write(tmp_path / "all.jsonl", table), write(tmp_path / "all.parquet", table)):
        with pytest.warns(CaptionBiasWarning, match=f"references from '{name}") as noted:
            captions = read_captions(predictions=source, attribute="gender")
        assert (len(noted), captions.predictions, len(captions.references[0])) == (1, tuple(MODEL), first)
        assert captions.references[0][0].startswith("someone and thing 0")


@pytest.mark.usefixtures("no_warnings")
def test_what_is_not_surely_human_is_not_read_beside_the_captioner_s():
    for name, texts in (("text", MODEL[::-1]), ("people", list(map(str, IDS))), ("candidates", HUMAN), ("refs", TASKS)):
        table = {"caption": MODEL, name: texts, "gender": GENDER}
        assert read_captions(predictions=table, attribute="gender").references is None, name
    numbered = {**FIVE, "gender": GENDER}
    assert read_captions(predictions=numbered, prediction_column="caption1", attribute="gender").references is None


def test_numbered_captions_alone_are_nobody_s_predictions(fault):
    message = fault(read_captions, predictions={**FIVE, "gender": GENDER}, attribute="gender")
    assert message.startswith("predictions has no column 'caption': it has 'caption1', 'caption2', ")
    with pytest.warns(CaptionBiasWarning, match=r"references from 'caption1 \.\.\. caption5'"):
        people = read_captions(references={**FIVE, "gender": GENDER}, attribute="gender")
    assert sorted(people.references[0]) == [f"someone and thing 0 {k}" for k in range(1, 6)]


@pytest.mark.usefixtures("no_warnings")
def test_several_columns_of_references_are_several_captions_an_image(fault):
    people = {"a": ["a man", "a girl"], "b": ['["a guy", "one"]', None], "gender": ["male", "female"]}
    table = {"caption": ["a man", "a child"], **people}
    captions = read_captions(predictions=table, reference_column=["a", "b"], attribute="gender")
    assert captions.references == canonical_order([["a man", "a guy", "one"], ["a girl"]], once=False)
    message = fault(read_captions, predictions=table, reference_column=["a", "c"], attribute="gender")
    assert message.startswith("predictions has no column 'c': it has 'caption', 'a', 'b', 'gender'")


def batched(text):
    """As OpenAI's batches answer."""
    message = {"role": "assistant", "content": text}
    return {"body": {"id": "a", "choices": [{"index": 0, "message": message}]}}


ANSWERS = [{"image_id": i, "id": f"batch {i}", "response": batched(t)} for i, t in zip(IDS, MODEL, strict=True)]
OUTPUTS = [{"image_id": i, "outputs": [{"text": t}, {"text": t[::-1]}]} for i, t in zip(IDS, MODEL, strict=True)]
SCORED = [{"image_id": i, "output": {"n": {"top": 1}, "text": t}} for i, t in zip(IDS, MODEL, strict=True)]
NESTED = "is nested: name what is in it, as in prediction_column="


@pytest.mark.parametrize(
    ("rows", "column", "wrong"),
    [
        (
            SCORED,
            "output.text",
            {"output.txt": "it has 'output.n', 'output.text'; name", "output": NESTED + "'output.t"},
        ),
        (OUTPUTS, "outputs.0.text", {"outputs.2.text": "it has 'outputs.0', 'outputs.1'"}),
        (ANSWERS, "response.body.choices.0.message.content", {"response.body.choices.message": ".choices.0'"}),
    ],
)
def test_names_with_dots_and_numbers_reach_into_objects_and_lists(rows, column, wrong, tmp_path, write, fault):
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    for source in (columns, write(tmp_path / "said.jsonl", rows), write(tmp_path / "said.parquet", rows)):
        said = {"predictions": source, "attributes": {"image_id": IDS, "gender": GENDER}, "attribute": "gender"}
        assert read_captions(**said, prediction_column=column).predictions == tuple(MODEL)
        for name, told in wrong.items():
            assert told in fault(read_captions, **said, prediction_column=name)
    if rows is OUTPUTS:
        assert read_captions(**said, prediction_column="outputs").samples[1] == (MODEL[1], MODEL[1][::-1])
    else:
        assert fault(read_captions, **said).endswith(f"{NESTED}'{column}'")


@pytest.mark.usefixtures("no_warnings")
def test_the_case_of_names_plays_no_part_where_one_column_is_meant(fault):
    table = {"Image_ID": IDS, "CAPTION": MODEL, "Gender": GENDER}
    assert read_captions(predictions=table, attribute="gender").attributes == tuple(GENDER)
    named = read_captions(predictions=table, attribute_column="GENDER", prediction_column="caption")
    assert (named.predictions, named.attributes) == (tuple(MODEL), tuple(GENDER))
    table |= {"gender": GENDER[::-1]}
    assert read_captions(predictions=table, attribute="gender").attributes == tuple(GENDER[::-1])
    assert "no column 'GENDER'" in fault(read_captions, predictions=table, attribute_column="GENDER")
