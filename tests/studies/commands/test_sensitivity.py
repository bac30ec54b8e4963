"""`captionbias sensitivity` and `report --sensitivity`: the library's numbers, and one line for an error."""

import json

import pytest

from captionbias.analysis.sensitivity import sensitivity
from captionbias.studies.power import power
from tests.cli.conftest import IMAGES, ran

QUICK = ["--trials", "2", "--bootstrap", "60", "--no-cache"]
CHOSEN = {"trials": 2, "bootstrap": 60, "cache": False}


@pytest.fixture
def files(planted, folder):
    """Captioners whose names look like markup."""
    captioners = [part for name in planted for part in ("--predictions", f"{name}[/v2]={folder / name}.parquet")]
    return [*captioners, "--references", folder / "people.parquet"]


def measured(planted, **chosen):
    given = planted["nic"]
    return sensitivity(
        {f"{name}[/v2]": one.predictions for name, one in planted.items()},
        references=given.references,
        attributes=given.attributes,
        tasks=given.tasks,
        **CHOSEN,
        **chosen,
    )


def test_the_files_give_the_library_s_numbers_as_tables_json_and_plot(files, planted, tmp_path):
    chosen = ["--delta", "0.4", "--quality", "accuracy", "--quality", "confidence", "--seed", "3"]
    chosen += ["--direction", "a_to_t"]
    shown, notes = ran(
        "sensitivity", *files, *QUICK, *chosen, "--json", tmp_path / "o.json", "--plot", tmp_path / "o.svg"
    )
    expected = measured(planted, delta=0.4, quality=["accuracy", "confidence"], seed=3, directions=["a_to_t"])
    written = json.loads((tmp_path / "o.json").read_text())
    assert written == {"version": written["version"], "images": IMAGES, **json.loads(json.dumps(expected.as_dict()))}
    for text in (
        "Scores by choices",
        "nic[/v2] ",
        " task words coco_names",
        " quality confidence",
        "How far each choice moves DBAC",
    ):
        assert text in shown
    assert f"signature of the base {expected.specifications[0].signature}" in shown
    assert "0% done: nic[/v2], base" in notes
    assert "DBAC A to T, net" in (tmp_path / "o.svg").read_text()


def test_biases_are_put_into_people_s_captions(files, planted, tmp_path):
    chosen = ["--inject", "--seed", "2", "--tokenizer", "whitespace", "--bootstrap", "60"]
    shown, notes = ran("sensitivity", *files[2:], *chosen, "--json", tmp_path / "o.json")
    given = planted["nic"]
    expected = power(
        references=given.references,
        attributes=given.attributes,
        tasks=given.tasks,
        seed=2,
        tokenizer="whitespace",
        bootstrap=60,
    )
    written = json.loads((tmp_path / "o.json").read_text())
    assert written == {"version": written["version"], **json.loads(json.dumps(expected.as_dict()))}
    assert "What would sway have seen" in shown
    assert "not at 2" in shown
    assert "value follows tasks" in notes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--delta", "0.4"], "--delta is no option of --inject, which measures sway"),
        (["--trials", "3"], "--trials is no option of --inject"),
        (["--plot", "a.svg"], "--plot is no option of --inject"),
        (["--seed", "1", "--seed", "2"], "--seed is given more than once: --inject tries no choices"),
    ],
)
def test_choices_have_no_part_in_what_is_injected(arguments, message, files):
    _, notes = ran("sensitivity", *files, "--inject", *arguments, status=2)
    (line,) = (line for line in notes.splitlines() if line.startswith("error: "))
    assert message in line
