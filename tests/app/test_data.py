"""Uploaded files, sorted out by what is in them, become captioners, within the limits of the page."""

import json
from collections import Counter
from dataclasses import replace
from itertools import permutations
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from captionbias.app import data as module
from captionbias.app import uploads
from captionbias.app.data import (
    CAPTIONER,
    LABELS,
    LEAN,
    PEOPLE,
    TASKS,
    UNUSED,
    Columns,
    as_said,
    captions_of,
    with_columns,
    with_roles,
)
from captionbias.captions import read_captions
from captionbias.captions.tables import Table, table_from_memory
from tests.captions.conftest import _write
from tests.captions.test_harnesses import LOGS_OF, OF_IMAGES, write_log
from tests.captions.test_tables import COLUMNS, SOURCES, write_source
from tests.refusals import refuses

TABLE = {"id": [1, 2, 3], "a": ["a man", "a girl", "a dog"], "b": ["he", "she", "it"], "who": ["m", "f", " m "]}
IDS = [*range(60)]
TEXTS = [f"a person with thing {image}" for image in IDS]
HUMAN = [[f"someone and thing {image}"] for image in IDS]
GENDER = ["female", "male"] * 30


def said(*tables, **roles):
    """Tables in memory as what the user says they are, by their names."""
    named = [table_from_memory(columns, f"{name}.csv") for name, columns in tables]
    return as_said(named, {f"{name}.csv": role for name, role in roles.items()})


def test_labels_are_counted_of_the_images_that_are_measured():
    """Of people's labels some are of no image of the captioner, some of images without human captions, some missing;
    the captioner's file has labels, too."""
    people = {"image_id": IDS, "references": HUMAN, "gender": GENDER}
    people["gender"] = ["unsure"] * 12 + ["both"] * 12 + [" male ", None] + GENDER[26:]
    people["references"] = [[]] * 12 + HUMAN[12:]
    nic = {"image_id": IDS[:12] + IDS[24:], "caption": TEXTS[12:], "gender": ["other"] * 48}
    sat = {"image_id": IDS[:-1], "caption": TEXTS[1:]}
    data = said(("nic", nic), ("sat", sat), ("people", people), nic=CAPTIONER, sat=CAPTIONER, people=PEOPLE)
    measured = read_captions(predictions=nic, references=people, attribute_column="gender", keep=["female", "male"])
    assert Counter(measured.attributes) == {"female": 17, "male": 18}
    assert (data.counts, {*data.columns.keep}) == ({"female": 17, "male": 17}, {"female", "male"}), "sat lacks one"
    counted = {name: Counter(captions.attributes) for name, captions in captions_of(data).items()}
    assert counted == {"nic": data.counts, "sat": data.counts}
    alone = said(("nic", nic), ("people", people), nic=CAPTIONER, people=PEOPLE)
    assert captions_of(alone)["nic"] == measured
    assert with_columns(data, {**vars(data.columns), "keep": ["unsure", "male"]}).columns.keep == ("male",)


@pytest.mark.parametrize(
    ("columns", "others", "guess"),
    [
        ({"bild": IDS, "satz": TEXTS, "wer": GENDER}, {}, Columns("", ("satz",), "", "wer", keep=("female", "male"))),
        (
            {"bild": IDS, "satz": TEXTS},
            {PEOPLE: {"nummer": IDS, "sätze": HUMAN, "wer": GENDER}},
            Columns("bild", ("satz",), "sätze", "wer", keep=("female", "male")),
        ),
        (
            {"bild": [f"{image}.jpg" for image in IDS], "satz": TEXTS, "ort": ["here", "there"] * 30},
            {LABELS: {"nr": IDS, "wer": GENDER}, TASKS: {"foto": IDS, "dinge": [["dog"], []] * 30}},
            Columns("bild", ("satz",), "", "wer", "dinge", keep=("female", "male")),
        ),
        ({"bild": IDS, "satz": TEXTS, "text 2": TEXTS[::-1], "wer": GENDER}, {}, Columns("", (), "", "wer")),
        ({"bild": IDS, "satz": TEXTS, "wer": GENDER, "ort": ["here", "there"] * 30}, {}, Columns("", ("satz",))),
    ],
)
def test_columns_whose_names_say_nothing_are_guessed_by_what_is_left(columns, others, guess):
    tables = [("nic", columns), *others.items()]
    data = said(*tables, nic=CAPTIONER, **{role: role for role in others})
    assert data.columns == guess
    assert not {"bild", "nr", "nummer", "foto"} & {*module.choices_of(data)["attribute_column"]}, "ids are not labels"
    assert bool(module.missing_columns(data)) == (guess.keep == ())
    assert module.missing_files(data) == ""


@pytest.mark.parametrize(
    ("role", "columns", "files", "column"),
    [
        (UNUSED, {"satz": TEXTS, "wer": GENDER}, "choose below which file has a captioner's captions, or", "choose"),
        (CAPTIONER, {"id": IDS, "a": TEXTS, "b": TEXTS}, "none of these files has labels of the images", "choose"),
        (CAPTIONER, {"a": TEXTS, "b": TEXTS, "wer": GENDER}, "", "choose the column of the captioner's captions below"),
        (CAPTIONER, {"a": TEXTS, "b": GENDER, "c": GENDER}, "", "no attribute is chosen: choose the column of the lab"),
    ],
)
def test_what_is_missing_is_told_with_the_choice_that_makes_up_for_it(role, columns, files, column):
    data = said(("nic", columns), nic=role)
    assert module.missing_files(data)[: len(files) or None] == files
    assert module.missing_columns(data).startswith(column)
    refuses(files or column, captions_of, data)


WORDS_OF = (
    "x Female male: gender, gender Light Dark: race, x light dark unsure: race, x young old: age, Bb_Skin 1 2: race, "
    "sex f m: gender, emotion positive negative: emotion, x f m: gender"
)


@pytest.mark.parametrize("told", WORDS_OF.split(", "))
def test_words_are_guessed_by_labels_then_by_the_column_s_name(told):
    (name, *labels), words = told.partition(": ")[0].split(), told.partition(": ")[2]
    data = said(("nic", {"caption": TEXTS, name.replace("_", " "): labels * (60 // len(labels))}), nic=CAPTIONER)
    assert module.guess_words(data) == words


@pytest.mark.parametrize(
    ("captions", "language"),
    [
        (["eine Frau mit einem Hund", None], "de"),
        ([["女の子が犬と歩いています", "女の子"], []], "ja"),
        (['["una mujer en la calle"]', " "], "es"),
        (["kobieta z psem", "kobieta"], "en"),
        ([], "en"),
    ],
)
def test_the_language_is_guessed_from_captions_of_any_form(captions, language):
    data = said(("nic", {"caption": captions * 10} if captions else {"x": [1]}), nic=CAPTIONER)
    columns = replace(data.columns, prediction_column=("caption",) if captions else ())
    assert module.guess_spoken(replace(data, columns=columns)) == language


def test_data_that_cannot_be_measured_or_are_beyond_the_limits_are_refused(write, tmp_path, monkeypatch):
    one = said(("x", TABLE), x=CAPTIONER)
    eleven, missing = Columns("id", tuple(map(str, range(11))), "", "who"), Columns("id", ("a",), "", "who", "what")
    refuses("11 captioners, and this page takes 10 at most", captions_of, replace(one, columns=eleven))
    refuses("x.csv has no column 'what'", captions_of, replace(one, columns=missing))
    refuses("upload files, or take the example data", captions_of, module.read_uploads([]))
    (tmp_path / "other").mkdir()
    second = write("x.csv", TABLE).rename(tmp_path / "other" / "x.csv")
    first = write("x.csv", TABLE)
    refuses(r"two files are called x\.csv: rename a file", module.read_uploads, [str(second), str(first)])
    refuses("21 files, and this page takes 20 at most", module.read_uploads, ["x.csv"] * (module.MAX_FILES + 1))
    names = [*map(str, range(module.MAX_CAPTIONERS + 1))]
    many = [(name, TABLE) for name in names]
    refuses("11 captioners, and this page takes 10", said, *many, **dict.fromkeys(names, CAPTIONER))
    same = [table_from_memory(TABLE, name) for name in ("x.csv", "x.json")]
    refuses("two captioners are called x: rename a file", as_said, same, {table.name: CAPTIONER for table in same})
    monkeypatch.setattr(module, "MAX_IMAGES", 2)
    three = replace(one, columns=Columns("id", ("a",), attribute_column="who"))
    refuses("there are 3 images, and this page takes 2 at most", captions_of, three)
    monkeypatch.setattr(uploads, "MAX_TOTAL", 100)
    both = [str(first), str(write("y.csv", TABLE))]
    refuses("MB together, and this page takes 0 MB at most", module.read_uploads, both)


WHO = {"id": range(60), "caption": ["a man"] * 60, "who": ["m", "f"] * 30, "skin": ["x", "y", "z"] * 20}


def test_only_columns_that_there_are_can_be_chosen_and_another_of_labels_has_other_labels_and_words():
    one = said(("x", WHO), x=CAPTIONER)
    chosen = {"id_column": "id", "prediction_column": ["caption"], "attribute_column": "skin"}
    refuses(
        "prediction_column is '<b>', and the col", with_columns, one, {**chosen, "prediction_column": ["id", "<b>"]}
    )
    refuses("id_column is 'nr', and the columns are 'id', ", with_columns, one, {**chosen, "id_column": "nr"})
    data = with_columns(one, {**chosen, "keep": ["m", "f"]})
    assert (data.columns.attribute_column, data.columns.keep) == ("skin", ("x", "y", "z"))
    assert module.guess_words(data) == "race"
    data = with_columns(data, {**chosen, "keep": ["x", "f"]})
    assert (data.columns.keep, data.counts) == (("x",), {"x": 20, "y": 20, "z": 20})
    assert with_columns(data, {**chosen, "keep": ["x"]}) is data, "what changes nothing is not read again"
    german = with_columns(data, {**chosen, "language": "de"})
    assert with_columns(german, {**chosen, "attribute_column": "who"}).columns.language == "de", (
        "what was guessed stays"
    )


def test_files_are_what_the_user_says_they_are():
    one = said(("a", WHO), ("b", WHO), ("c", WHO), a=CAPTIONER, b=CAPTIONER, c=CAPTIONER)
    assert with_roles(one, {CAPTIONER: ["a.csv", "b.csv", "c.csv"]}) is one
    data = with_roles(one, {CAPTIONER: ["a.csv"], PEOPLE: "b.csv", TASKS: None})
    assert data.roles == {"a.csv": CAPTIONER, "b.csv": PEOPLE, "c.csv": UNUSED}
    roles = {CAPTIONER: ["a.csv"], TASKS: "d.csv"}
    refuses("there is no file 'd.csv': the files are 'a.csv', 'b.csv', 'c.csv'", with_roles, one, roles)
    people = said(("a", WHO), ("b", {"id": IDS, "who": WHO["who"]}), a=CAPTIONER, b=PEOPLE)
    assert module.missing_columns(people) == "no column of b.csv is chosen: choose the one of people's captions below"
    chosen = {CAPTIONER: ["a.csv", "b.csv"], PEOPLE: "c.csv", LABELS: "a.csv"}
    data = with_roles(one, chosen)
    told = [(data.roles[table.name], table.name) for table in data.tables]
    assert told == [(CAPTIONER, "b.csv"), (PEOPLE, "c.csv"), (LABELS, "a.csv")]
    assert with_roles(data, chosen) is data, "the same event a second time"


LISTS = [[f"someone and thing {n}", f"they have thing {n}"] for n in range(60)]
WORDS = [["dog", "hot dog"] if n % 3 else [] for n in range(60)]
NOTES = [f"checked by hand on day {n}" for n in range(60)]

SHAPES: list[tuple[str, str, dict[str, Any]]] = [
    (CAPTIONER, "nic.csv", {"image_id": IDS, "caption": TEXTS}),
    (CAPTIONER, "nic.json", {"image_id": IDS, "id": IDS, "caption": TEXTS}),
    (CAPTIONER, "nic.csv", {"image_id": IDS, "caption": TEXTS, "gender": GENDER, "tasks": WORDS}),
    (CAPTIONER, "all.csv", {"id": IDS, "caption": TEXTS, "references": LISTS, "bb_gender": GENDER}),
    (CAPTIONER, "all.csv", {"id": IDS, "note": NOTES, "text": TEXTS, "human": TEXTS[::-1], "gender": GENDER}),
    (CAPTIONER, "two.csv", {"image": IDS, "prediction": TEXTS, "sat": TEXTS[::-1]}),
    (CAPTIONER, "no-ids.csv", {"caption": TEXTS, "gender": GENDER}),
    (PEOPLE, "captions_val2014.json", {"image_id": IDS * 2, "id": range(120), "caption": TEXTS * 2}),
    (PEOPLE, "rows.csv", {"image_id": IDS * 5, "caption": TEXTS * 5, "gender": GENDER * 5}),
    (PEOPLE, "lists.jsonl", {"image_id": IDS, "captions": LISTS, "gender": GENDER, "tasks": WORDS}),
    (PEOPLE, "json-in-csv.csv", {"image_id": IDS, "refs": list(map(json.dumps, LISTS))}),
    (PEOPLE, "people.csv", {"image_id": IDS, "caption": TEXTS, "gender": GENDER}),
    (PEOPLE, "My human captions.tsv", {"image_id": IDS, "caption": TEXTS}),
    (PEOPLE, "gt.csv", {"image_id": IDS, "caption": TEXTS}),
    (PEOPLE, "x.csv", {"image_id": IDS, "human": TEXTS, "gender": GENDER}),
    (PEOPLE, "x.csv", {"image_id": IDS, "Human Caption": TEXTS}),
    (LABELS, "labels.csv", {"image_id": IDS, "gender": GENDER}),
    (LABELS, "labels.csv", {"image_id": IDS, "gender": GENDER, "note": NOTES}),
    (LABELS, "labels.csv", {"image_id": IDS, "bb_gender": GENDER, "tasks": WORDS}),
    (LABELS, "who.csv", {"photo": [f"{n}.jpg" for n in IDS], "sex": GENDER}),
    (TASKS, "objects.csv", {"image_id": IDS, "tasks": WORDS}),
    (TASKS, "objects.csv", {"image_id": IDS, "split": GENDER, "objects": list(map(json.dumps, WORDS))}),
    (TASKS, "objects.csv", {"image_id": IDS, "who": GENDER, "categories": WORDS}),
    (TASKS, "people.parquet", {"image_id": IDS, "objects": [None, *WORDS[1:]]}),
    (CAPTIONER, "nic.csv", {"bild": IDS, "beschreibung": TEXTS}),
    (CAPTIONER, "lmms.csv", {"doc_id": IDS, "target": TEXTS, "filtered_resps": TEXTS[::-1], "image_id": IDS}),
    (CAPTIONER, "lmms.csv", {"doc_id": IDS, "filtered_resps": [f"['{text}']" for text in TEXTS]}),
    (PEOPLE, "leute.csv", {"nr": IDS, "sätze": LISTS, "wer": GENDER}),
    (LABELS, "wer.csv", {"bild": IDS, "wer": GENDER}),
    (UNUSED, "train_images.txt", {"value": [f"{n}.jpg" for n in IDS]}),
    (LEAN, "leans.json", {"image_id": ["female", "male"], "value": [["nurse"], ["pilot", "judge"]]}),
    (UNUSED, "sizes.csv", {"image_id": IDS, "width": [0.5] * 60}),
]


def table(name: str, shape: int) -> Table:
    return table_from_memory(SHAPES[shape][2], name)


@pytest.mark.parametrize(("role", "name", "columns"), SHAPES)
def test_a_file_alone_is_told_by_its_columns_then_by_its_name(role, name, columns):
    assert module.roles_of([table_from_memory(columns, name)]) == {name: role}
    assert module.roles_of([table_from_memory(dict(reversed(columns.items())), name)]) == {name: role}


def test_of_several_that_can_be_people_s_the_surest_is_and_no_captioner_is_left_out():
    files = {"gt.csv": 0, "b-lists.csv": 9, "a-rows.csv": 7, "nic.csv": 0}
    found = module.roles_of([table(name, shape) for name, shape in files.items()])
    assert found == {"gt.csv": UNUSED, "b-lists.csv": PEOPLE, "a-rows.csv": UNUSED, "nic.csv": CAPTIONER}
    same = [table(name, 16) for name in ("b.csv", "a.csv")]
    assert module.roles_of(same) == {"a.csv": LABELS, "b.csv": UNUSED}


@settings(deadline=None)
@given(st.lists(st.integers(0, len(SHAPES) - 1), max_size=5))
def test_the_order_of_the_files_does_not_count(shapes):
    tables = [table(f"{number}-{SHAPES[shape][1]}", shape) for number, shape in enumerate(shapes)]
    expected = module.roles_of(tables)
    for order in list(permutations(tables))[:6]:
        assert module.roles_of(order) == expected
    counts = {role: list(expected.values()).count(role) for role in (PEOPLE, LABELS, TASKS)}
    assert max(counts.values()) <= 1


# What the library reads


def dropped(folder, *paths):
    """The data of files, each of which lies in a folder of its own, as the page has them."""
    for number in range(len(paths)):
        (folder / f"{number}").mkdir()
    return module.read_uploads([str(path.rename(folder / f"{n}" / path.name)) for n, path in enumerate(paths)])


@pytest.mark.parametrize(("name", "content"), SOURCES)
def test_every_file_that_the_library_reads_is_people_s_captions_on_the_page(tmp_path, name, content):
    nic, labels = table_from_memory(COLUMNS, "nic.jsonl"), tmp_path / "labels.json"
    labels.write_text(json.dumps(dict(zip(COLUMNS["image_id"], COLUMNS["gender"], strict=True))))
    said = tmp_path / "nic.jsonl"
    rows = zip(nic.column("image_id"), nic.column("caption"), strict=True)
    said.write_text("\n".join(json.dumps({"image_id": image, "caption": f"{text} there"}) for image, text in rows))
    people = write_source(tmp_path, name, content)
    expected = read_captions(predictions=said, references=people, attributes=labels, attribute="gender")
    data = dropped(tmp_path, said, labels, people, *tmp_path.glob("train_images.txt"))
    data = with_roles(data, {CAPTIONER: ["nic.jsonl"], PEOPLE: name, LABELS: "labels.json"})
    assert captions_of(data) == {"nic": expected}


@pytest.mark.parametrize(("name", "content"), LOGS_OF)
def test_every_log_that_the_library_reads_is_a_captioner_s_on_the_page(tmp_path, name, content):
    log = write_log(tmp_path / name, content, _write)
    labels = _write(tmp_path / "labels.csv", list(OF_IMAGES.values()))
    expected = read_captions(predictions=log, attributes=labels, attribute="gender")
    data = dropped(tmp_path, log, labels)
    assert data.roles == {name: CAPTIONER, "labels.csv": LABELS}
    [captions] = captions_of(data).values()
    for what in ("image_ids", "predictions", "attributes"):
        assert getattr(captions, what) == getattr(expected, what)


def test_answers_of_servers_tables_of_vlmevalkit_and_excel_are_found_without_a_choice(tmp_path):
    ids, rows = [*range(40)], [f"a person with thing {n}" for n in range(40)]
    message = {"role": "assistant", "content": ""}
    batch = [
        {"custom_id": n, "id": "batch", "response": {"body": {"choices": [{"message": message | {"content": text}}]}}}
        for n, text in zip(ids, rows, strict=True)
    ]
    (tmp_path / "batch.jsonl").write_text("\n".join(map(json.dumps, batch)))
    (tmp_path / "vllm.json").write_text(json.dumps([{"id": n, "outputs": [{"text": rows[n]}]} for n in ids]))
    vlm = {"index": ids, "image": ["x" * 20_000] * 40, "question": ["Describe it."] * 40, "prediction": rows}
    pd.DataFrame(vlm).to_csv(tmp_path / "VLM.tsv", sep="\t", index=False)
    pd.DataFrame(vlm | {"image": ids}).to_excel(tmp_path / "excel.xlsx", index=False)
    pd.DataFrame({"image_id": ids, "gender": GENDER[:40]}).to_csv(tmp_path / "labels.csv", index=False)
    for name in ("batch.jsonl", "vllm.json", "VLM.tsv", "excel.xlsx"):
        data = module.read_uploads([str(tmp_path / name), str(tmp_path / "labels.csv")])
        data = with_roles(data, {CAPTIONER: [name], LABELS: "labels.csv"})
        [captions] = captions_of(data).values()
        assert (captions.predictions[0], len(captions)) == (rows[0], 40), name
