"""C1 to C4: how many captions of each cell, which ones, and what DBAC says of them."""

import random
from collections import Counter

import numpy as np
import pytest

from captionbias.datasets.controlled_verbs import COUNTS, FORMS, SUBSETS, ControlledVerbs
from tests.datasets.conftest import records_of, verbs, write
from tests.refusals import refuses
from tests.whole import dbac

COLUMNS = {"references": "references", "attributes": "attribute", "tasks": "tasks"}


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = write(tmp_path_factory.mktemp("verbs"), verbs(60))
    source = ControlledVerbs(folder)
    return {name: list(source.rows(name)) for name in COUNTS}


def test_the_counts_are_those_of_the_paper_and_the_verbs_drawn_first_are_drawn_again(tables):
    """More of the leading verb are added to those of the milder subset, and some of the other are dropped."""
    cells = {name: {} for name in tables}
    for name, rows in tables.items():
        for row in rows:
            cells[name].setdefault((row["tasks"][0], row["attribute"], row["verb"]), []).append(row["caption_id"])
    for name, (many, few) in {"C1": (30, 20), "C2": (35, 15), "C3": (40, 10), "C4": (45, 5)}.items():
        wanted = {}
        for task, (of_men, of_women) in SUBSETS.items():
            wanted |= {(task, "male", of_men): many, (task, "male", of_women): few}
            wanted |= {(task, "female", of_men): few, (task, "female", of_women): many}
        assert {cell: len(drawn) for cell, drawn in cells[name].items()} == wanted
    for milder, stronger in (("C1", "C2"), ("C2", "C3"), ("C3", "C4")):
        for cell, drawn in cells[milder].items():
            assert all(one == other for one, other in zip(drawn, cells[stronger][cell], strict=False))


def test_captions_say_what_their_row_says_and_each_is_of_another_image(tables):
    stems = dict(zip(FORMS, ("lies", "sitting", "throws", "plays", "holds", "walks"), strict=True))
    for rows in tables.values():
        assert max(Counter(row["image_id"] for row in rows).values()) == 1
        for row in rows:
            [caption] = row["references"]
            assert caption.startswith({"male": "A man ", "female": "A woman "}[row["attribute"]])
            assert f" {stems[row['verb']]} " in caption
            assert row["tasks"][0] in caption


def test_what_is_drawn_depends_on_ids_alone_not_on_order_or_files(tables, tmp_path):
    [content] = verbs(60).values()
    for records in content.values():
        random.Random(1).shuffle(records)
    half = {
        f"captions_{name}2014.json": {
            "images": [image for image in content["images"] if image["id"] % 2 == side],
            "annotations": [caption for caption in content["annotations"] if caption["image_id"] % 2 == side],
        }
        for side, name in enumerate(("train", "val"))
    }
    assert records_of(ControlledVerbs, write(tmp_path, half), "C2") == tables["C2"]
    (tmp_path / "captions_train2014.json").unlink()
    refuses("captions_train2014", records_of, ControlledVerbs, tmp_path, "C4")


def test_dbac_finds_the_human_bias_rise(tables):
    """In what the verb tells of the gender; that each verb belongs to one task is the same in all four."""
    omegas = []
    for rows in tables.values():
        people = {name: [row[key] for row in rows] for name, key in COLUMNS.items()}
        result = dbac(**people, preset="fast", trials=3, bootstrap=0)
        omegas.append([result["omega_h_a_to_t"], result["omega_h_t_to_a"]])
    a_to_t, t_to_a = np.transpose(omegas)
    assert (np.diff(a_to_t) > 0.02).all()
    assert np.ptp(t_to_a) < 0.02
