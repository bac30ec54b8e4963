"""The command line, on files that people have: what it prints, writes and refuses."""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.text import Text
from typer.testing import CliRunner

from captionbias import __version__
from captionbias.cli import app
from captionbias.metrics import catalogue, dbac, find_metric, lic
from captionbias.synthetic import plant
from tests.patience import PATIENCE

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # 60 images are few

SCRIPT = Path(sys.executable).with_name("captionbias")
MODULES = Path(__file__).parents[2] / "metrics"
METRICS = {"lic": lic, "dbac": dbac}
LABEL_METRICS = [name for name in catalogue.METRICS if name not in METRICS]
QUICK = ["--preset", "fast", "--trials", "2", "--bootstrap", "20"]
CHOSEN = {"preset": "fast", "trials": 2, "bootstrap": 20}
IMAGES = 60
FILE_OPTIONS = [
    *("--predictions", "--references", "--attributes", "--tasks", "--keep", "--output"),
    *("--id-column", "--prediction-column", "--reference-column", "--attribute-column", "--task-column"),
]
SPELLED = {"attribute_lexicon": "--attribute", "directions": "--direction"}
# What only programs give: captions and labels, which files hold; settings that presets fix; what a command decides.
PROGRAMS = {
    *("predictions", "references", "attributes", "tasks", "predicted_attributes", "predicted_tasks"),
    *("training_attributes", "training_tasks", "alignment", "delta", "tokenizer", "bayes", "most_frequent"),
    *("details", "progress", "distributed", "keep_attackers"),
}
OPTIONS = {
    "": ["--version", "measure", "compare", "consistency", "report", "weights", "app", "data", "card", "publish"],
    "measure": [*catalogue.METRICS, "all"],
    "measure all": [*FILE_OPTIONS, "--attribute", "--task-lexicon", "--preset", "--trials", "--cache", "--no-cache"],
    "compare": [*FILE_OPTIONS, "--metric", "--score", "--direction", "--vectors", "--preset", "--no-equalize"],
    "install-metrics": ["names"],
    "cache": ["--clear"],
    "demo": ["--images", "--seed"],
}


def run(*arguments, **environment):
    """The installed command in a process of its own."""
    # Many threads for such small sums would only wait for one another.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "80", **environment}
    command = [SCRIPT, *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE)


def ran(*arguments, status=0, columns="200"):
    """The command in this process: its standard output and standard error."""
    result = CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": columns})
    assert result.exit_code == status, result.output
    return Text.from_ansi(result.stdout).plain, Text.from_ansi(result.stderr).plain


def invoke(*arguments):
    return ran(*arguments)[0]


def refused(*arguments):
    """The one line of an error; what ends without a result must end with status 2 and no traceback."""
    shown, complaint = ran(*arguments, status=2)
    *notes, error = complaint.splitlines()
    assert all(note.startswith("note: ") for note in notes)
    assert error.startswith("error: ")
    assert shown == ""
    return error.removeprefix("error: ")


def strict(path):
    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)


@pytest.fixture(scope="module")
def captions():
    """Predictions, references and attributes of a few planted images; some human words are not the captioner's."""
    given = vars(plant(images=IMAGES, captions=2, a_to_t=0.5))
    given["references"][3][0] += " near a puddle"
    given["references"][8][1] += " near a puddle"
    return {name: given[name] for name in ("predictions", "references", "attributes")}


@pytest.fixture(scope="module")
def rows(captions):
    return list(zip(range(100, 100 + IMAGES), *captions.values(), strict=True))


def write_csv(path, header, body):
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *body])
    return path


@pytest.fixture(scope="module")
def parquet(rows, tmp_path_factory):
    """Two Parquet files, named as the help's examples name them."""
    folder = tmp_path_factory.mktemp("parquet")
    ids, predictions, references, attributes = zip(*rows, strict=True)
    pq.write_table(pa.table({"image_id": ids, "caption": predictions}), folder / "nic.parquet")
    people = {"image_id": ids, "references": references, "gender": attributes}
    pq.write_table(pa.table(people), folder / "people.parquet")
    return folder


@pytest.fixture
def sides(parquet):
    return ["--predictions", parquet / "nic.parquet", "--references", parquet / "people.parquet"]


@pytest.fixture(scope="module")
def in_every_format(parquet, rows, tmp_path_factory):
    """The arguments that name the same captions as Parquet, as one CSV, and as COCO files with labels beside them."""
    folder = tmp_path_factory.mktemp("formats")
    table = write_csv(
        folder / "all.csv",
        ["image_id", "caption", "references", "gender"],
        [(image, prediction, json.dumps(human), label) for image, prediction, human, label in rows],
    )
    results, coco = folder / "results.json", folder / "captions_val.json"
    results.write_text(json.dumps([{"image_id": image, "caption": prediction} for image, prediction, _, _ in rows]))
    annotations = [{"image_id": image, "caption": text} for image, _, human, _ in rows for text in human]
    coco.write_text(json.dumps({"images": [], "annotations": annotations}))
    labels = write_csv(folder / "labels.csv", ["image_id", "gender"], [(row[0], row[3]) for row in rows])
    return {
        "parquet": ["--predictions", parquet / "nic.parquet", "--references", parquet / "people.parquet"],
        "csv": ["--predictions", table, "--references", table],
        "coco": ["--predictions", results, "--references", coco, "--attributes", labels],
    }


@pytest.fixture(scope="module")
def expected(captions):
    return {name: metric(**captions, **CHOSEN, details=True) for name, metric in METRICS.items()}


# Help


def missing(command, options):
    shown = invoke(*command.split(), "--help")
    return [option for option in options if not re.search(rf"(?<![\w-]){option}(?![\w-])", shown)]


@pytest.mark.parametrize("command", OPTIONS)
def test_help_names_every_option(command):
    assert missing(command, OPTIONS[command]) == []


@pytest.mark.parametrize("metric", catalogue.METRICS)
def test_every_metric_has_a_command_with_an_option_for_each_of_its_arguments(metric):
    arguments = find_metric(metric).options() - PROGRAMS
    options = [SPELLED.get(name, f"--{name.replace('_', '-')}") for name in arguments]
    assert missing(f"measure {metric}", [*FILE_OPTIONS, *options]) == []


def example(command):
    (found,) = re.findall(r"Example: captionbias (.+?)\s*$", invoke(*command.split(), "--help"), re.MULTILINE)
    return shlex.split(found)


@pytest.mark.parametrize("command", ["compare", "consistency", "report", "weights", "app", "cache", "demo"])
def test_help_has_an_example_of_the_command(command):
    assert example(command)[0] == command


@pytest.mark.parametrize("metric", [*catalogue.METRICS, "all"])
def test_the_example_of_a_metric_runs_as_it_stands(metric, parquet, monkeypatch):
    monkeypatch.chdir(parquet)
    quick = ["--trials", "1"] if metric == "all" or catalogue.METRICS[metric].trained else []
    preset = ["--preset", "fast"] if metric in METRICS else []
    assert "signature" in invoke(*example(f"measure {metric}"), *quick, *preset, "--bootstrap", "0")


def test_version():
    finished = run("--version")
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, f"captionbias {__version__}\n", "")


# Measuring


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("form", ["parquet", "csv", "coco"])
def test_files_of_every_kind_give_the_library_s_scores_and_everything_else(
    metric, form, in_every_format, expected, tmp_path
):
    output = tmp_path / "result.json"
    shown = invoke("measure", metric, *in_every_format[form], *QUICK, "--output", output)
    written = strict(output)
    details = expected[metric]["details"]
    scores = {key: value for key, value in expected[metric].items() if key != "details"}
    assert written == json.loads(
        json.dumps({"metric": metric, "version": __version__, "scores": scores, "details": details})
    )
    assert f"signature {scores['signature']}" in shown
    assert f"{IMAGES} images: {IMAGES // 2} female, {IMAGES // 2} male" in shown
    assert [file.name for file in tmp_path.iterdir()] == ["result.json"]


ALONE = {
    "captioner": (["lic_m", "omega_m_a_to_t"], ["lic", "lic_d", "dbac_a_to_t", "omega_h_a_to_t"], "human captions"),
    "people": (["lic_d", "omega_h_a_to_t"], ["lic", "lic_m", "dbac_a_to_t", "omega_m_a_to_t"], "captioner"),
}


@pytest.mark.parametrize("side", ALONE)
@pytest.mark.parametrize("metric", METRICS)
def test_one_side_alone(metric, side, parquet, tmp_path):
    people, output = parquet / "people.parquet", tmp_path / "result.json"
    files = ["--references", people]
    if side == "captioner":
        files = ["--predictions", parquet / "nic.parquet", "--attributes", people]
        files += ["--direction", "a_to_t"] if metric == "dbac" else []
    shown = invoke("measure", metric, *files, *QUICK, "--output", output)
    present, absent, unseen = ALONE[side]
    scores = strict(output)["scores"]
    assert present[metric == "dbac"] in scores
    assert not set(absent) & set(scores)
    assert unseen not in shown


@pytest.fixture
def skin(rows, tmp_path):
    """Labels in another column, of three values."""
    values = ["Light", "Dark", "Unsure"]
    return write_csv(
        tmp_path / "skin.csv", ["image_id", "skin"], [(row[0], values[i % 3]) for i, row in enumerate(rows)]
    )


@pytest.mark.parametrize(
    ("keep", "counts", "chance"),
    [
        (["--keep", "Light", "--keep", "Dark"], "40 images: 20 Dark, 20 Light", r"25\.0 or more\s+50\.0"),
        ([], "60 images: 20 Dark, 20 Light, 20 Unsure", r"11\.1 or more\s+33\.3"),
    ],
)
def test_keep_and_another_column_choose_the_images(keep, counts, chance, sides, skin):
    chosen = ["--attribute", "race", "--attribute-column", "skin", *keep]
    shown = invoke("measure", "lic", *sides, "--attributes", skin, *chosen, *QUICK)
    assert counts in shown
    assert "|attribute:race|" in shown
    assert re.search(rf"chance\s+{chance}", shown)


def test_words_of_your_own_are_masked_in_place_of_ours(sides, parquet, tmp_path):
    words = tmp_path / "gender.json"
    words.write_text(json.dumps({"female": ["seamstress"], "male": ["plumber"]}))
    leakage = {}
    for name, attribute in (("ours", "gender"), ("own", words)):
        output = tmp_path / f"{name}-result.json"
        invoke("measure", "lic", *sides, "--attribute", attribute, *QUICK, "--output", output)
        leakage[name] = strict(output)["scores"]["leakage_m"]
    assert leakage["own"] == pytest.approx(100, abs=15)  # nearly every caption names the person, and no word is hidden
    assert leakage["ours"] < leakage["own"]


def test_options_reach_the_metric(sides):
    shown = invoke("measure", "lic", *sides, *QUICK, "--encoder", "bow", "--seed", "5", "--unseen-only")
    assert all(
        part in shown for part in ("|attacker:bow|", "|trials:2|", "|seed:5|", "|unseen:True|", "|bootstrap:20|")
    )
    shown = invoke("measure", "dbac", *sides, *QUICK, "--quality", "accuracy", "--task-lexicon", "coco_names")
    assert all(part in shown for part in ("|quality:accuracy|", "|task:coco_names|", "|tasks:named|"))


# Notes and errors


def test_images_left_out_are_noted_once_and_nothing_else_is_on_stderr(parquet, rows, tmp_path):
    more = [*rows, *((image, "a dog", ["a dog"], "male") for image in range(1, 6))]
    table = write_csv(tmp_path / "more.csv", ["image_id", "caption"], [row[:2] for row in more])
    people = parquet / "people.parquet"
    shown, complaint = ran("measure", "lic", "--predictions", table, "--references", people, *QUICK)
    notes = complaint.splitlines()
    assert all(note.startswith("note: ") for note in notes)
    assert len(set(notes)) == len(notes)
    assert sum("5 of 65 images have no human captions and are left out (first: 1, 2, 3)" in note for note in notes) == 1
    assert "note" not in shown


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"--predictions": "gone.parquet"}, "gone.parquet does not exist"),
        ({"--predictions": "notes.txt"}, "notes.txt has the unknown extension '.txt': give one of .csv"),
        ({"--preset": "slow"}, "preset 'slow' is unknown; choose one of lic-2022, fast"),
        ({"--encoder": "gru"}, "encoder 'gru' is unknown; choose one of bow, linear, lstm"),
        ({"--trials": "0"}, "trials must be a whole number of 1 or more, not 0"),
        ({"--attribute": "height"}, "'height'"),
        ({"--prediction-column": "text"}, "nic.parquet has no column 'text': it has 'image_id', 'caption'"),
        ({"--attribute-column": "sex"}, "has no column 'sex': it has 'image_id', 'references', 'gender'"),
        ({"--predictions": "others.csv"}, r"others.csv \(images 1, 2\).*no image in common"),
        ({"--keep": "women"}, "keep names 'women', which is not a label .*: it has 'female', 'male'"),
        ({"--vectors": "gone.txt", "--preset": "fast", "metric": "dbac"}, "gone.txt"),
        ({"--predictions": None, "--references": None}, "predictions and references are both missing"),
    ],
)
def test_what_cannot_be_measured_is_one_line_and_leaves_an_earlier_file(
    changes, message, parquet, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "others.csv", ["image_id", "caption"], [(1, "a dog"), (2, "a cat")])
    (tmp_path / "notes.txt").write_text("a dog\n")
    (tmp_path / "result.json").write_text("earlier")
    before = sorted(tmp_path.iterdir())
    options = {
        "--predictions": parquet / "nic.parquet",
        "--references": parquet / "people.parquet",
        **dict(zip(QUICK[::2], QUICK[1::2], strict=True)),
        "--output": "result.json",
        **changes,
    }
    metric = options.pop("metric", "lic")
    arguments = [part for name, value in options.items() if value is not None for part in (name, value)]
    assert re.search(message, refused("measure", metric, *arguments))
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "result.json").read_text() == "earlier"


@pytest.mark.parametrize("place", ["missing/result.json", "file/result.json", "folder"])
def test_an_output_that_cannot_be_written_is_refused_before_any_work(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("a file")
    (tmp_path / "folder").mkdir()
    error = refused("measure", "dbac", "--predictions", "gone.csv", *QUICK, "--output", place)
    assert error.startswith(f"{place} cannot be written (")
    assert sorted(file.name for file in tmp_path.rglob("*")) == ["file", "folder"]


# The metrics on labels


@pytest.mark.parametrize(
    ("metric", "options", "arguments"),
    [
        ("directional_ba", [], {}),
        ("directional_ba", ["--task-lexicon", "coco_names"], {"task_lexicon": "coco_names"}),
        ("multi_directional_ba", ["--at-least", "3"], {"at_least": 3}),
        ("ba_mals", [], {}),
        ("dpa", ["--trials", "2", "--no-equalize"], {"trials": 2, "equalize": False}),
        ("dpa", ["--trials", "2", "--quality", "accuracy"], {"trials": 2, "quality": "accuracy"}),
        ("label_leakage", ["--trials", "2", "--seed", "5"], {"trials": 2, "seed": 5}),
        ("gender_error", [], {}),
    ],
)
def test_a_metric_on_labels_gives_the_library_s_scores_with_its_options(
    metric, options, arguments, sides, captions, tmp_path
):
    output = tmp_path / "result.json"
    shown = invoke("measure", metric, *sides, *options, "--bootstrap", "20", "--output", output)
    written, expected = strict(output), find_metric(metric)(**captions, **arguments, bootstrap=20)
    assert (written["metric"], written["scores"]) == (metric, expected)
    assert f"signature {expected['signature']}" in shown
    assert "60 images: 30 female, 30 male" in shown
    for score in catalogue.scores_of(metric):
        if score.in_tables:
            assert (f"{score.row or score.label} " in shown) == (score.key in expected)


def test_all_gives_every_metric_as_its_own_command_does(sides, captions, expected, tmp_path):
    shown = invoke("measure", "all", *sides, "--trials", "2", "--bootstrap", "20", "--output", tmp_path / "all.json")
    written = strict(tmp_path / "all.json")["metrics"]
    assert list(written) == list(catalogue.METRICS)
    for name in METRICS:
        assert written[name]["scores"] == {key: value for key, value in expected[name].items() if key != "details"}
    assert written["directional_ba"]["scores"] == find_metric("directional_ba")(**captions, bootstrap=20)
    for label in ("DBAC A to T, matched", "LIC x 100", "directional BA A to T", "BA (MALS)", "DPA T to A"):
        assert label in shown


def test_all_measures_what_a_captioner_alone_allows_and_says_why_not_the_rest(parquet, tmp_path):
    labels = pq.read_table(parquet / "people.parquet").select(["image_id", "gender"])
    pq.write_table(labels, tmp_path / "labels.parquet")
    files = ["--predictions", parquet / "nic.parquet", "--attributes", tmp_path / "labels.parquet"]
    _, notes = ran("measure", "all", *files, "--trials", "2", "--bootstrap", "0", "--output", tmp_path / "all.json")
    assert list(strict(tmp_path / "all.json")["metrics"]) == ["lic", "gender_error"]
    assert "note: no directional_ba: tasks is missing" in notes


def test_all_that_allows_nothing_is_one_error(tmp_path):
    body = [(1, "a dog", "big"), (2, "a cat", "small")]
    table = write_csv(tmp_path / "few.csv", ["image_id", "caption", "age"], body)
    error = refused("measure", "all", "--predictions", table, "--attributes", table, "--attribute", "age")
    assert "'big' has 1 images" in error


# The other commands


def test_install_metrics_puts_all_where_evaluate_looks_and_explains_a_cache_that_cannot_be_written(tmp_path):
    finished = run("install-metrics", HF_MODULES_CACHE=str(tmp_path / "modules"))
    assert (finished.returncode, finished.stderr) == (0, "")
    loads = dict(re.findall(r"evaluate\.load\('(\w+)'\) loads (.+)", finished.stdout))
    assert set(loads) == set(catalogue.METRICS)
    for name, path in loads.items():
        assert Path(path).is_relative_to(tmp_path / "modules")
        assert Path(path).read_bytes() == (MODULES / name / f"{name}.py").read_bytes()
    (tmp_path / "file").write_text("a file")
    finished = run("install-metrics", HF_MODULES_CACHE=str(tmp_path / "file" / "modules"))
    assert (finished.returncode, finished.stdout) == (2, "")
    assert re.fullmatch(rf"error: .*{re.escape(str(tmp_path / 'file'))}.*HF_MODULES_CACHE.*\n", finished.stderr)


def test_install_metrics_without_evaluate_says_what_to_install(monkeypatch):
    monkeypatch.delitem(sys.modules, "captionbias.hub.modules", raising=False)
    monkeypatch.setitem(sys.modules, "evaluate", None)
    assert re.search(r"evaluate.*pip install 'captionbias\[evaluate\]'", refused("install-metrics"))


def test_demo_measures_five_captioners_whose_bias_is_known():
    shown, complaint = ran("demo", "--images", "400", columns="80")
    assert complaint == ""
    lines = shown.splitlines()
    assert lines[0].startswith("400 planted images")
    assert max(map(len, lines)) <= 80
    names = ["faithful to", "faithful,", "attribute", "tasks shape", "mitigates"]
    starts = [next(i for i, line in enumerate(lines[3:], 3) if line.startswith(name)) for name in names]
    assert starts == sorted(starts)
    verdicts = [re.split(r"\s{2,}", lines[start + 2].strip())[-4:] for start in starts]
    columns = dict(zip(["matched", "published", "t_to_a", "lic"], zip(*verdicts, strict=True), strict=True))
    assert columns["matched"][:3] == ("no clear change", "no clear change", "amplifies")
    assert columns["published"][1] == "amplifies"
    assert columns["lic"][2] == "amplifies"
