"""Every table of the papers can be measured on anybody's captioners, and stands beside what was printed."""

import json
import math
import re
from pathlib import Path

import pytest

from captionbias.captions import check_captions
from captionbias.images.drawings import draw
from captionbias.studies import tables as module
from captionbias.studies.papers.dbac_2026 import beside_weights
from captionbias.studies.reproduce import find_table, listing, reproduce
from captionbias.studies.tables import Experiment
from captionbias.synthetic import plant
from captionbias.warnings import CaptionBiasWarning
from tests.refusals import refuses

LISTED = [(grid.title.split(":")[0], str(row[0])) for grid in listing() for row in grid.rows]
MEASURED = [(paper, name) for paper, name in LISTED if "images" not in find_table(paper, name).needs]

VERBS = {"30:20", "35:15", "40:10", "45:5"}


QUICK = {"fast": True, "trials": 1, "bootstrap": 0, "vectors": ["captions"]}


@pytest.fixture(scope="module")
def captioners():
    return {name: vars(plant(800, captions=3, **dials)) for name, dials in {"nic": {"t_to_a": 0.5}, "mine": {}}.items()}


@pytest.fixture(scope="module")
def of_gender(captioners):
    return {name: check_captions(**one) for name, one in captioners.items()}


@pytest.fixture(scope="module")
def of_race(captioners):
    """The women are black and the men are white, and captions say so."""

    def told(text):
        return re.sub("woman|lady|girl", r"black \g<0>", re.sub(r"\b(man|guy|boy)\b", r"white \g<0>", text))

    def made(predictions, references, attributes, **rest):
        labels = [{"female": "dark", "male": "light"}[label] for label in attributes]
        people = [[told(text) for text in texts] for texts in references]
        return check_captions(predictions=[*map(told, predictions)], references=people, attributes=labels, **rest)

    return {name: made(**one) for name, one in captioners.items()}


@pytest.mark.parametrize(("paper", "name"), MEASURED)
def test_every_table_is_measured_on_anybody_s_captioners(of_gender, of_race, paper, name):
    found = reproduce(paper, name, of_race if find_table(paper, name).attribute == "race" else of_gender, **QUICK)
    assert found.columns
    assert all(math.isfinite(cell.value) for column in found.columns.values() for cell in column.values())
    [table, *_] = found.grids()
    assert {row[0] for row in table.rows} == ({"nic", "mine"} if find_table(paper, name).needs else VERBS)
    assert "convex attackers" in table.meaning


def test_printed_numbers_belong_to_tables_and_stand_beside_captioners_of_their_names():
    printed = {
        (file.stem, name)
        for file in Path(module.__file__).with_name("printed").glob("*.json")
        for name in json.loads(file.read_text())["tables"]
    }
    assert printed == {*LISTED}
    table = find_table("dbac-2026", "table-9")
    assert [table.print_of(column, "NIC") for column in ("A to T", "T to A")] == [-43.66, 27.43]
    assert table.print_of("T to A", "nic+") is None
    assert find_table("lic-2023", "table-2").print_of("LIC_M", "NIC+") == 46.3


@pytest.mark.parametrize(
    ("name", "printed", "near"),
    [
        *((name, 11.72, None) for name in ("updn", "UpDn", "updown", "Up-Down", "up_dn")),
        *((name, 25.52, None) for name in ("NIC+Equalizer", "nic_equalizer", "NIC Equalizer", "nic_plus_equalizer")),
        *((name, -2.06, None) for name in ("ViT-GPT2", "vit_gpt2", "vitgpt2")),
        ("nic_official", 27.43, None),
        ("updwn", None, "updown"),
        ("nic_equaliser", None, "nic_equalizer"),
        ("att2in2", None, "att2in"),
        ("transfomer", None, "transformer"),
        *((name, None, None) for name in ("nic_plus", "mine", "gpt-4o", "confident", "x")),
    ],
)
def test_a_captioner_is_known_by_any_of_its_names_and_one_of_a_near_name_is_asked_about(name, printed, near):
    table = find_table("dbac-2026", "table-9")
    assert (table.print_of("T to A", name), table.near_name(name)) == (printed, near)


def test_the_question_comes_before_anything_is_measured(of_gender):
    asked = "'updwn' is not a captioner of dbac-2026: is it 'updown'? Then call it so, and print is beside it"
    with pytest.warns(CaptionBiasWarning) as told:
        reproduce("dbac-2026", "table-9", {"updwn": of_gender["nic"], "nic": of_gender["nic"]}, **QUICK)
    assert str(told[0].message) == asked
    assert [str(one.message) for one in told if "not a captioner" in str(one.message)] == [asked]


def test_table_9_has_each_direction_by_the_quality_of_print_and_says_so(of_gender):
    nine, ten = (reproduce("dbac-2026", f"table-{number}", of_gender, **QUICK) for number in (9, 10))
    for row in of_gender:
        assert nine.columns["T to A"][row].value == pytest.approx(100 * ten.columns["bow"][row].value)
    assert {signature for signature in nine.signatures if "t_to_a" in signature} < {*ten.signatures}
    assert all("preset:dbac-2026-published" in one for one in nine.signatures if "directions:a_to_t" in one)
    assert nine.title.endswith("A to T by confidence, T to A by 1 / cross-entropy")
    assert "att2in and blip have the other sign; no reading gives T to A of NIC and NIC+Equalizer" in nine.about


def test_beside_pretrained_encoders_stand_the_weights_alone():
    """Of what captions name of the attribute: women, men, both, none."""
    people = [["a woman", "a man", "a dog", "a woman and a man"], ["a woman", "a man", "a dog", "a dog"]] * 40
    captions = check_captions(
        predictions=["a woman with a cup", "a man and a dog"] * 40,
        references=people,
        attributes=["female", "male"] * 40,
    )
    of_people = (2 / 8) ** 2 + (2 / 8) ** 2 + (1 / 8) ** 2 + (3 / 8) ** 2
    expected = (0.5 - of_people) / (0.5 + of_people)
    run = Experiment(find_table("dbac-2026", "table-12a"), {"mine": captions}, (), (), {}, True, str, {})
    beside_weights(run, lambda run, encoders: run.put("mine", {"an encoder": 0.1}))
    assert run.columns["weights alone"]["mine"].value == pytest.approx(expected)
    for name in ("table-12a", "table-15a", "table-5b", "table-6b"):
        assert "inferred, not confirmed" in find_table("dbac-2026", name).differs


def test_a_title_names_the_attacker_that_was_taken_not_the_paper_s(of_gender):
    for paper, name, of_paper, taken in [
        ("lic-2023", "table-4", "attributions of words by LSTM", "attributions of words by bow"),
        ("dbac-2026", "table-11", "LIC by network, gender", "LIC by bow, linear, gender"),
    ]:
        assert of_paper in {str(row[1]) for grid in listing() for row in grid.rows}
        assert reproduce(paper, name, of_gender, **QUICK).title == taken
    assert reproduce("lic-2023", "table-4", of_gender, **QUICK, encoders=["linear"]).title.endswith("by linear")
    assert "METEOR nearly does, 2 to 4 higher here" in find_table("lic-2023", "table-2").differs


def test_columns_are_called_as_in_print_and_have_attributions_that_are_given(of_gender):
    [table, *_] = reproduce("dbac-2026", "table-8a", of_gender, **QUICK | {"vectors": ["captions"] * 2}).grids()
    assert [column.name.replace("\n", " ") for column in table.columns] == [
        "",
        *("constant", "constant, printed", "GloVe", "GloVe, printed", "FastText", "FastText, printed"),
    ]
    assert [row[2] for row in table.rows] == [0.377, None]
    [table, *_] = reproduce("dbac-2026", "table-4", of_gender, shares={"nic": 70.0}, **QUICK).grids()
    assert [[*row][:2] for row in table.rows] == [["nic", 70.0], ["mine", None]]


def test_a_planted_bias_is_in_the_table(of_gender):
    found = reproduce("dbac-2026", "table-10", of_gender, **QUICK | {"trials": 3})
    for scores in (found.columns["bow"], found.gains["DBAC T to A, bow: captioner"]):
        assert scores["nic"].value > scores["mine"].value


def test_a_judge_reads_the_images_that_other_metrics_leave_alone():
    one = plant(80, captions=2)
    images, masks = draw(one)
    options = {"fast": True, "trials": 1, "epochs": 1, "bootstrap": 0, "images": images, "masks": masks}
    found = reproduce("imagecaptioner2-2023", "table-4", {"sat": check_captions(**vars(one))}, **options)
    assert [*found.columns] == ["LIC, bow", "LIC, linear", "ImageCaptioner2, sat"]
    assert ["judge:sat" in signature for signature in found.signatures].count(True) == 1
    assert not any("image_encoder" in signature for signature in found.signatures)


def test_what_cannot_be_measured_is_refused(of_gender):
    for paper, name, message in [
        ("dbac", "table-9", "paper 'dbac' is unknown; choose one of dbac-2026"),
        ("dbac-2026", "table-2", "table 'table-2' is unknown; choose one of table-3"),
        ("imagecaptioner2-2023", "table-2", "images must be given"),
        ("dbac-2026", "table-5a", "encoder must be given twice"),
    ]:
        refuses(message, reproduce, paper, name, of_gender, encoders=["bow"])
