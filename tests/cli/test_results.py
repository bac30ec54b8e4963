"""What measure and compare write: of several captioners and attributes, by a file's suffix or on standard output."""

import csv
import json

import numpy as np
import pytest

from captionbias import intersections, read_captions
from captionbias.analysis.compare import compare
from captionbias.attackers import engine, ranks
from captionbias.captions import count_cells
from captionbias.metrics import catalogue, find_metric
from captionbias.synthetic import plant
from tests.cli.conftest import IMAGES, invoke, ran, write_sides

QUICK = ["--preset", "fast", "--trials", "2", "--bootstrap", "30"]


def content(path):
    return json.loads(path.read_text())


def test_several_captioners_are_each_measured_as_one_alone(files, tmp_path):
    alone = {}
    for name, captioner in (("nic", files[:2]), ("sat", files[2:4])):
        invoke("measure", "lic", *captioner, *files[4:], *QUICK, "--output", tmp_path / f"{name}.json")
        alone[name] = content(tmp_path / f"{name}.json")
    shown = invoke("measure", "lic", *files, *QUICK, "--output", tmp_path / "both.json")
    written = content(tmp_path / "both.json")
    assert list(written["results"]) == ["nic", "sat"]
    for name, found in written["results"].items():
        assert alone[name].pop("image_set") == written["image_set"]
        assert found == {key: value for key, value in alone[name].items() if key not in ("version", "metric")}
    lines = shown.splitlines()
    assert lines.index("nic") < lines.index("sat")
    assert shown.count("signature metric:lic|") == 2


@pytest.mark.parametrize("command", [["measure", "lic"], ["compare", "--metric", "lic"]])
def test_the_suffix_chooses_the_format(command, files, tmp_path):
    for suffix in ("json", "csv", "md"):
        invoke(*command, *files, *QUICK, "--output", tmp_path / f"result.{suffix}")
    found = content(tmp_path / "result.json")["results"]["sat"]
    scores = found.get("scores", found)
    with (tmp_path / "result.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    (lic,) = (row for row in rows if (row["captioner"], row["score"]) == ("sat", "lic"))
    assert float(lic["value"]) == scores["lic"]
    assert float(lic["low"]) == scores["lic_ci_low"]
    assert lic["signature"] == scores["signature"]
    text = (tmp_path / "result.md").read_text()
    assert f"| sat | LIC x 100 | {scores['lic']:.1f} [{scores['lic_ci_low']:.1f}, " in text
    assert f"`{scores['signature']}`" in text


def test_standard_output_has_the_json_and_nothing_else(files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = ["measure", "lic", *files[2:], *QUICK]
    invoke(*arguments, "--output", "result.json")
    printed, complaint = ran(*arguments, "--json")
    assert json.loads(printed) == content(tmp_path / "result.json")
    assert "LIC x 100" in complaint
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]
    assert "LIC x 100" in invoke(*arguments)  # and the next command prints as usual


@pytest.fixture(scope="module")
def crossed(tmp_path_factory):
    """Planted captions of women and men with light, dark and a few unsure skins."""
    planted = plant(images=IMAGES, captions=2, a_to_t=0.5)
    skin = np.random.default_rng(0).permutation(["light", "dark", "dark"] * (IMAGES // 3)).tolist()
    skin[:4] = ["unsure"] * 4
    for row, word in enumerate({"light": "white", "dark": "black"}.get(label, "tall") for label in skin):
        if row % 3 == 0:
            planted.predictions[row] = f"{word} {planted.predictions[row]}"
            planted.references[row][0] = f"{word} {planted.references[row][0]}"
    return write_sides(tmp_path_factory.mktemp("files"), planted, skin=skin, tasks=planted.tasks)


def test_both_attributes_are_shown_and_written_alone_and_crossed(crossed, tmp_path):
    both, keep = ["--attribute", "gender", "--attribute", "skin"], ["--keep", "light", "--keep", "dark"]
    output = tmp_path / "result.json"
    shown = invoke("measure", "lic", *crossed, *both, *keep, *QUICK, "--output", output)
    read = {"attribute": ["gender", "skin"], "keep": ["light", "dark"]}
    captions = read_captions(predictions=crossed[1], references=crossed[3], **read)
    expected = intersections(
        captions, {"gender": "gender", "skin": "race"}, "lic", preset="fast", trials=2, bootstrap=30, details=True
    )
    written = json.loads(output.read_text())
    assert written["metric"] == "lic"
    signature = expected["gender x skin"].signature
    assert written["scores"]["signature"] == signature
    for name, found in {"gender x skin": written, **written["alone"]}.items():
        measured = expected[name]
        scores = measured.flat()
        assert scores.pop("details")["attribute_counts"] == found["details"]["attribute_counts"]
        assert found["scores"] == {key: None if value != value else value for key, value in scores.items()}
    cells = [(*cell["labels"].values(), cell["images"]) for cell in written["cells"]]
    assert cells == [(*labels, count) for labels, count in count_cells(captions.attributes, 2).items()]
    assert list(written["alone"]) == ["gender", "skin"]
    lines = [line.split() for line in shown.splitlines()]
    for cell in written["cells"]:
        assert [*cell["labels"].values(), str(cell["images"])] in lines
    for heading in ("gender", "skin", "gender x skin"):
        assert any(line.startswith(heading) and "LIC x 100" in line for line in shown.splitlines())
    assert f"signature {signature}" in shown
    assert f"{len(captions)} images" in shown


@pytest.mark.parametrize("metric", ["dbac", "gender_error"])
def test_the_files_give_the_library_s_comparison_of_any_metric(metric, files, planted, tmp_path):
    """A name in brackets is shown letter by letter: Rich would take `[/v2]` for the end of a style."""
    quick = [*QUICK[:4], "--bootstrap", "300", "--no-cache"]
    chosen = {"preset": "fast", "trials": 2, "bootstrap": 300, "cache": False, "attribute_lexicon": "gender"}
    renamed = ["--predictions", f"nic[/v2]={files[1]}", "--predictions", f"[bold]={files[3]}", *files[4:]]
    shown = invoke("compare", *renamed, "--metric", metric, *quick, "--output", tmp_path / "all.json")
    people = {name: column for name, column in vars(planted["nic"]).items() if name != "predictions"}
    captioners = {"nic[/v2]": planted["nic"].predictions, "[bold]": planted["sat"].predictions}
    expected = compare(captioners, **people, metric=metric, **find_metric(metric).accepted(chosen))
    written = json.loads((tmp_path / "all.json").read_text())
    assert written["differences"] == json.loads(json.dumps(expected.as_dict()["differences"]))
    assert (written["metric"], written["images"]) == (metric, IMAGES)
    assert written["signature"] == expected.signature
    texts = ["first less second", f"signature {expected.signature}", "p, corrected", *captioners]
    assert all(text in shown for text in [*texts, *map(catalogue.label, expected.scores)])


@pytest.mark.parametrize("command", ["measure lic", "compare --metric lic", "report --metric lic --output {}/r.html"])
def test_every_command_that_trains_attackers_shares_them(command, files, tmp_path, monkeypatch):
    """Among the processes that `accelerate launch` started."""
    asked = []

    def share(keys, train, *, distributed=False):
        asked.append(distributed)
        return ranks.share(keys, train)

    monkeypatch.setattr(engine, "share", share)
    quick = ["--preset", "fast", "--trials", "1", "--bootstrap", "0", "--no-cache"]
    invoke(*command.format(tmp_path).split(), *files, *quick)
    assert set(asked) == {True}
