"""C1 to C4: how many captions of each cell, which ones, and what DBAC says of them."""

import random
from collections import Counter

import numpy as np
import pytest

from captionbias.datasets.controlled_verbs import COUNTS, FORMS, SUBSETS, ControlledVerbs
from tests.datasets.conftest import records_of, verbs, write
from tests.whole import dbac


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = write(tmp_path_factory.mktemp("verbs"), verbs(60))
    source = ControlledVerbs(folder)
    return {name: list(source.rows(name)) for name in COUNTS}


@pytest.fixture(scope="module")
def cells(tables):
    found = {name: {} for name in tables}
    for name, rows in tables.items():
        for row in rows:
            found[name].setdefault((row["tasks"][0], row["attribute"], row["verb"]), []).append(row["caption_id"])
    return found


def test_the_counts_are_those_of_the_paper(cells):
    expected = {"C1": (30, 20), "C2": (35, 15), "C3": (40, 10), "C4": (45, 5)}
    for name, (many, few) in expected.items():
        for task, (of_men, of_women) in SUBSETS.items():
            assert len(cells[name][task, "male", of_men]) == many
            assert len(cells[name][task, "male", of_women]) == few
            assert len(cells[name][task, "female", of_men]) == few
            assert len(cells[name][task, "female", of_women]) == many
        assert sum(map(len, cells[name].values())) == 300


def test_the_verbs_drawn_first_are_drawn_again(cells):
    """More of the leading verb are added to those of the milder subset, and some of the other are dropped."""
    for milder, stronger in (("C1", "C2"), ("C2", "C3"), ("C3", "C4")):
        for cell, drawn in cells[milder].items():
            other = cells[stronger][cell]
            shorter = min(len(drawn), len(other))
            assert drawn[:shorter] == other[:shorter]


def test_captions_say_what_their_row_says_and_each_is_of_another_image(tables):
    said = {"male": "A man ", "female": "A woman "}
    stems = dict(zip(FORMS, ("lies", "sitting", "throws", "plays", "holds", "walks"), strict=True))
    for rows in tables.values():
        assert max(Counter(row["image_id"] for row in rows).values()) == 1
        for row in rows:
            [caption] = row["references"]
            assert caption.startswith(said[row["attribute"]])
            assert f" {stems[row['verb']]} " in caption
            assert row["tasks"][0] in caption


def test_what_is_drawn_depends_on_ids_alone(tables, tmp_path):
    files = verbs(60)
    [content] = files.values()
    for records in content.values():
        random.Random(1).shuffle(records)
    assert records_of(ControlledVerbs, write(tmp_path, files), "C2") == tables["C2"]


def test_train_and_val_are_read_together(tmp_path):
    files = verbs(45)
    [content] = files.values()
    half = {
        name: {
            "images": [image for image in content["images"] if image["id"] % 2 == side],
            "annotations": [caption for caption in content["annotations"] if caption["image_id"] % 2 == side],
        }
        for side, name in enumerate(("captions_train2014.json", "captions_val2014.json"))
    }
    together, alone = write(tmp_path / "two", half), write(tmp_path / "one", files)
    assert records_of(ControlledVerbs, together, "C4") == records_of(ControlledVerbs, alone, "C4")
    one = write(tmp_path / "few", {"captions_val2014.json": half["captions_val2014.json"]})
    with pytest.raises(ValueError, match="captions_train2014"):
        records_of(ControlledVerbs, one, "C4")


def test_dbac_finds_the_human_bias_rise(tables):
    """In what the verb tells of the gender; that each verb belongs to one task is the same in all four."""
    omegas = []
    for rows in tables.values():
        references, attributes, tasks = ([row[key] for row in rows] for key in ("references", "attribute", "tasks"))
        people = {"references": references, "attributes": attributes, "tasks": tasks}
        result = dbac(**people, preset="fast", trials=3, bootstrap=0)
        omegas.append([result["omega_h_a_to_t"], result["omega_h_t_to_a"]])
    a_to_t, t_to_a = np.transpose(omegas)
    assert (np.diff(a_to_t) > 0.02).all()
    assert np.ptp(t_to_a) < 0.02
