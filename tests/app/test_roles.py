"""Dropped files are sorted out by what is in them: captioners, people, labels and tasks, in any order."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from captionbias.app.data import CAPTIONER, LABELS, PEOPLE, TASKS, UNUSED, roles_of
from captionbias.captions.tables import Table, table_from_memory

ROWS = 60
IDS = list(range(100, 100 + ROWS))
TEXTS = [f"a person with thing {n}" for n in range(ROWS)]
LISTS = [[f"someone and thing {n}", f"they have thing {n}"] for n in range(ROWS)]
WORDS = [["dog", "hot dog"] if n % 3 else [] for n in range(ROWS)]
GENDER = ["female", "male"] * (ROWS // 2)
NOTES = [f"checked by hand on day {n}" for n in range(ROWS)]

SHAPES: list[tuple[str, str, dict[str, Any]]] = [
    (CAPTIONER, "nic.csv", {"image_id": IDS, "caption": TEXTS}),
    (CAPTIONER, "nic.json", {"image_id": IDS, "id": IDS, "caption": TEXTS}),
    (CAPTIONER, "nic.csv", {"image_id": IDS, "caption": TEXTS, "gender": GENDER, "tasks": WORDS}),
    (CAPTIONER, "all.csv", {"id": IDS, "caption": TEXTS, "references": LISTS, "bb_gender": GENDER}),
    (CAPTIONER, "all.csv", {"id": IDS, "note": NOTES, "text": TEXTS, "human": TEXTS[::-1], "gender": GENDER}),
    (CAPTIONER, "two.csv", {"image": IDS, "prediction": TEXTS, "sat": TEXTS[::-1]}),
    (CAPTIONER, "no-ids.csv", {"caption": TEXTS, "gender": GENDER}),
    (PEOPLE, "captions_val2014.json", {"image_id": IDS * 2, "id": range(2 * ROWS), "caption": TEXTS * 2}),
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
    (UNUSED, "nic.csv", {"image": IDS, "nic": TEXTS}),
    (UNUSED, "sizes.csv", {"image_id": IDS, "width": [0.5] * ROWS}),
]


def table(name: str, shape: int) -> Table:
    return table_from_memory(SHAPES[shape][2], name)


@pytest.mark.parametrize(("role", "name", "columns"), SHAPES)
def test_a_file_alone_is_told_by_its_columns_then_by_its_name(role, name, columns):
    assert roles_of([table_from_memory(columns, name)]) == {name: role}
    assert roles_of([table_from_memory(dict(reversed(columns.items())), name)]) == {name: role}


def test_of_several_that_can_be_people_s_the_surest_is_and_no_captioner_is_left_out():
    files = {"gt.csv": 0, "b-lists.csv": 9, "a-rows.csv": 7, "nic.csv": 0}
    found = roles_of([table(name, shape) for name, shape in files.items()])
    assert found == {"gt.csv": UNUSED, "b-lists.csv": PEOPLE, "a-rows.csv": UNUSED, "nic.csv": CAPTIONER}
    same = [table(name, 16) for name in ("b.csv", "a.csv")]
    assert roles_of(same) == {"a.csv": LABELS, "b.csv": UNUSED}


@settings(deadline=None)
@given(st.lists(st.integers(0, len(SHAPES) - 1), max_size=5))
def test_the_order_of_the_files_does_not_count(shapes):
    tables = [table(f"{number}-{SHAPES[shape][1]}", shape) for number, shape in enumerate(shapes)]
    expected = roles_of(tables)
    for order in list(permutations(tables))[:6]:
        assert roles_of(order) == expected
    counts = {role: list(expected.values()).count(role) for role in (PEOPLE, LABELS, TASKS)}
    assert max(counts.values()) <= 1
