"""Every table of the papers can be measured on anybody's captioners, and stands beside what was printed."""

import json
import math
import re
from pathlib import Path

import pytest

from captionbias.captions import check_captions
from captionbias.images.drawings import draw
from captionbias.studies import tables as module
from captionbias.studies.reproduce import find_table, listing, reproduce
from captionbias.synthetic import plant

LISTED = [(grid.title.split(":")[0], str(row[0])) for grid in listing() for row in grid.rows]
MEASURED = [(paper, name) for paper, name in LISTED if "images" not in find_table(paper, name).needs]

VERBS = {"30:20", "35:15", "40:10", "45:5"}


def planted(races=False):
    """Two captioners; with `races`, the women are black and the men are white, and captions say so."""

    def told(text):
        return re.sub("woman|lady|girl", r"black \g<0>", re.sub(r"\b(man|guy|boy)\b", r"white \g<0>", text))

    captioners = {}
    for name, dials in {"nic": {"t_to_a": 0.5}, "mine": {}}.items():
        one = vars(plant(800, captions=3, **dials))
        if races:
            one["predictions"] = [*map(told, one["predictions"])]
            one["references"] = [[*map(told, texts)] for texts in one["references"]]
            one["attributes"] = [{"female": "dark", "male": "light"}[label] for label in one["attributes"]]
        captioners[name] = check_captions(**one)
    return captioners


@pytest.fixture(scope="module")
def captioners():
    return planted()


@pytest.fixture(scope="module")
def races():
    return planted(races=True)


@pytest.mark.parametrize(("paper", "name"), MEASURED)
def test_every_table_is_measured_on_anybody_s_captioners(captioners, races, paper, name):
    of_race = find_table(paper, name).attribute == "race"
    options = {"fast": True, "trials": 1, "bootstrap": 0, "vectors": ["captions"]}
    found = reproduce(paper, name, races if of_race else captioners, **options)
    assert found.columns
    assert all(math.isfinite(cell.value) for column in found.columns.values() for cell in column.values())
    [table, *_] = found.grids()
    assert {row[0] for row in table.rows} == ({"nic", "mine"} if find_table(paper, name).needs else VERBS)
    assert "convex attackers" in table.meaning


def test_every_printed_number_belongs_to_a_table():
    printed = {
        (file.stem, name)
        for file in Path(module.__file__).with_name("printed").glob("*.json")
        for name in json.loads(file.read_text())["tables"]
    }
    assert printed == {*LISTED}


def test_printed_numbers_stand_beside_captioners_of_their_names():
    table = find_table("dbac-2026", "table-9")
    assert [table.print_of(column, "NIC") for column in ("A to T", "T to A")] == [-43.66, 27.43]
    assert table.print_of("T to A", "nic_official") == 27.43
    assert table.print_of("T to A", "nic+") is None
    assert find_table("lic-2023", "table-2").print_of("LIC_M", "NIC+") == 46.3


def test_columns_are_called_as_in_print(captioners):
    found = reproduce("dbac-2026", "table-8a", captioners, fast=True, trials=1, bootstrap=0, vectors=["captions"] * 2)
    [table, *_] = found.grids()
    assert [column.name.replace("\n", " ") for column in table.columns] == [
        "",
        *("constant", "constant, printed", "GloVe", "GloVe, printed", "FastText", "FastText, printed"),
    ]
    assert [row[2] for row in table.rows] == [0.377, None]


def test_a_planted_bias_is_in_the_table(captioners):
    options = {"fast": True, "trials": 3, "bootstrap": 0, "vectors": ["captions"]}
    found = reproduce("dbac-2026", "table-10", captioners, **options)
    assert found.columns["bow"]["nic"].value > found.columns["bow"]["mine"].value
    gains = found.gains["DBAC T to A, bow: captioner"]
    assert gains["nic"].value > gains["mine"].value


def test_attributions_outside_the_person_stand_in_the_table_of_masking(captioners):
    options = {"fast": True, "trials": 1, "bootstrap": 0, "vectors": ["captions"]}
    found = reproduce("dbac-2026", "table-4", captioners, shares={"nic": 70.0}, **options)
    [table, *_] = found.grids()
    assert [[*row][:2] for row in table.rows] == [["nic", 70.0], ["mine", None]]


def test_a_judge_reads_the_images_that_other_metrics_leave_alone():
    one = plant(80, captions=2)
    images, masks = draw(one)
    options = {"fast": True, "trials": 1, "epochs": 1, "bootstrap": 0, "images": images, "masks": masks}
    found = reproduce("imagecaptioner2-2023", "table-4", {"sat": check_captions(**vars(one))}, **options)
    assert [*found.columns] == ["LIC, bow", "LIC, linear", "ImageCaptioner2, sat"]
    judged = [signature for signature in found.signatures if "judge:sat" in signature]
    assert len(judged) == 1
    assert not any("image_encoder" in signature for signature in found.signatures)


@pytest.mark.parametrize(
    ("paper", "name", "message"),
    [
        ("dbac", "table-9", "paper 'dbac' is unknown; choose one of dbac-2026"),
        ("dbac-2026", "table-2", "table 'table-2' is unknown; choose one of table-3"),
        ("imagecaptioner2-2023", "table-2", "images must be given"),
        ("dbac-2026", "table-5a", "encoder must be given twice"),
    ],
)
def test_what_cannot_be_measured_is_refused(captioners, paper, name, message):
    with pytest.raises(ValueError, match=message):
        reproduce(paper, name, captioners, encoders=["bow"])
