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

from captionbias import __version__, metrics
from captionbias.cli import app
from captionbias.metrics import dbac, lic
from captionbias.report import ROWS, interval
from captionbias.synthetic import plant
from tests.patience import PATIENCE

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # 60 images are few

SCRIPT = Path(sys.executable).with_name("captionbias")
MODULES = Path(__file__).parents[2] / "metrics"
METRICS = {"lic": lic, "dbac": dbac}
QUICK = ["--preset", "fast", "--trials", "2", "--bootstrap", "20"]
CHOSEN = {"preset": "fast", "trials": 2, "bootstrap": 20}
IMAGES = 60
SHARED_OPTIONS = [
    *("--predictions", "--references", "--attributes", "--attribute", "--keep"),
    *("--id-column", "--prediction-column", "--reference-column", "--attribute-column"),
    *("--preset", "--encoder", "--precision", "--trials", "--seed", "--bootstrap", "--cache", "--no-cache", "--output"),
]
FILE_OPTIONS = [*SHARED_OPTIONS[:9], "--tasks", "--task-column", "--seed", "--bootstrap", "--output"]
ATTACKER_OPTIONS = ["--encoder", "--equalize", "--no-equalize", "--trials", "--cache", "--no-cache"]
LABEL_METRICS = {
    "directional_ba": ["--task-lexicon"],
    "multi_directional_ba": ["--task-lexicon", "--at-least"],
    "ba_mals": ["--task-lexicon", "--words"],
    "dpa": ["--task-lexicon", *ATTACKER_OPTIONS, "--quality"],
    "label_leakage": ["--task-lexicon", *ATTACKER_OPTIONS],
    "gender_error": [],
}
OPTIONS = {
    "": [
        "--version",
        "measure",
        "compare",
        "consistency",
        "data",
        "card",
        "publish",
        "install-metrics",
        "cache",
        "demo",
    ],
    "measure": ["lic", "dbac", *LABEL_METRICS, "all"],
    **{f"measure {name}": [*FILE_OPTIONS, *own] for name, own in LABEL_METRICS.items()},
    "measure all": [*FILE_OPTIONS, "--task-lexicon", "--preset", "--trials", "--cache", "--no-cache"],
    "measure lic": [*SHARED_OPTIONS, "--unseen-only"],
    "measure dbac": [
        *SHARED_OPTIONS,
        "--tasks",
        "--task-lexicon",
        "--task-column",
        "--direction",
        "--quality",
        "--vectors",
    ],
    "compare": [*SHARED_OPTIONS, "--tasks", "--task-column", "--metric", "--score", "--direction", "--vectors"],
    "install-metrics": ["names"],
    "cache": ["--clear"],
    "demo": ["--images", "--seed"],
}


def run(*arguments, folder=None, **environment):
    """The installed command in a process of its own."""
    # Many threads for such small sums would only wait for one another.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "80", **environment}
    return subprocess.run(
        [SCRIPT, *map(str, arguments)], cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE
    )


def invoke(*arguments, status=0):
    """The command in this process: its standard output."""
    result = CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "200"})
    assert result.exit_code == status, result.output
    return Text.from_ansi(result.stdout).plain


def strict(path):
    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

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


@pytest.mark.parametrize("command", OPTIONS)
def test_help_names_every_option(command):
    shown = invoke(*command.split(), "--help")
    assert [option for option in OPTIONS[command] if not re.search(rf"(?<![\w-]){option}(?![\w-])", shown)] == []


def examples(command):
    return re.findall(r"Example: captionbias (.+?)\s*$", invoke(*command.split(), "--help"), re.MULTILINE)


@pytest.mark.parametrize("command", [name for name in OPTIONS if name not in ("", "measure")])
def test_help_has_an_example_of_the_command(command):
    (example,) = examples(command)
    assert example.startswith(command)


@pytest.mark.parametrize("command", ["measure lic", "measure dbac"])
def test_the_example_runs_as_it_stands(command, parquet, monkeypatch):
    monkeypatch.chdir(parquet)
    (example,) = examples(command)
    assert "captioner" in invoke(*shlex.split(example), "--trials", "1", "--bootstrap", "0")


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


def test_the_file_of_lic_has_trials_alignment_and_groups(sides, tmp_path):
    output = tmp_path / "lic.json"
    invoke("measure", "lic", *sides, *QUICK, "--output", output)
    details = strict(output)["details"]
    assert [row["seed"] for row in details["trials"]["m"]] == [row["seed"] for row in details["trials"]["d"]] == [0, 1]
    assert ("puddle", "<unk>", 2) in {
        (pair["word"], pair["replacement"], pair["tokens"]) for pair in details["alignment"]["pairs"]
    }
    assert set(details["by_attribute"]["m"]) == {"female", "male"}
    assert any("uncertain" in warning for warning in details["warnings"])


def test_the_file_of_dbac_has_trials_and_alignment_of_both_directions(sides, tmp_path):
    output = tmp_path / "dbac.json"
    invoke("measure", "dbac", *sides, *QUICK, "--seed", "7", "--output", output)
    details = strict(output)["details"]
    for direction in ("a_to_t", "t_to_a"):
        assert [row["seed"] for row in details[direction]["trials"]] == [7, 8]
        assert "puddle" in {pair["word"] for pair in details[direction]["alignment"]["pairs"]}
    assert details["task_counts"]["dog"] > 0


def test_what_is_undefined_is_left_out_of_the_file_and_a_dash_on_the_screen(tmp_path):
    body = [
        (image, "a person with a dog", "a person with a cake", "female" if image % 2 else "male") for image in range(60)
    ]
    table = write_csv(tmp_path / "all.csv", ["image_id", "caption", "references", "gender"], body)
    shown = invoke(
        *("measure", "dbac", "--predictions", table, "--references", table, "--direction", "a_to_t", *QUICK),
        *("--output", tmp_path / "dbac.json"),
    )
    written = strict(tmp_path / "dbac.json")
    assert "dbac_a_to_t_matched" not in written["scores"]
    assert not any("dbac_matched" in row for row in written["details"]["a_to_t"]["trials"])
    assert re.search(r"DBAC, matched\s+-\s*\n", shown)


@pytest.mark.parametrize("metric", METRICS)
def test_a_captioner_alone(metric, parquet, tmp_path):
    tasks = ["--direction", "a_to_t"] if metric == "dbac" else []
    labels = parquet / "people.parquet"
    files = ["--predictions", parquet / "nic.parquet", "--attributes", labels, "--output", tmp_path / "result.json"]
    shown = invoke("measure", metric, *files, *tasks, *QUICK)
    scores = strict(tmp_path / "result.json")["scores"]
    assert {"lic": "lic_m", "dbac": "omega_m_a_to_t"}[metric] in scores
    assert not {"lic", "lic_d", "dbac_a_to_t", "omega_h_a_to_t"} & set(scores)
    assert "human captions" not in shown


@pytest.mark.parametrize("metric", METRICS)
def test_human_captions_alone(metric, parquet, tmp_path):
    shown = invoke(
        *("measure", metric, "--references", parquet / "people.parquet", *QUICK, "--output", tmp_path / "result.json")
    )
    scores = strict(tmp_path / "result.json")["scores"]
    assert {"lic": "lic_d", "dbac": "omega_h_a_to_t"}[metric] in scores
    assert not {"lic", "lic_m", "dbac_a_to_t", "omega_m_a_to_t"} & set(scores)
    assert "captioner" not in shown


@pytest.fixture
def skin(rows, tmp_path):
    """Labels in another column, of three values."""
    values = ["Light", "Dark", "Unsure"]
    return write_csv(
        tmp_path / "skin.csv", ["image_id", "skin"], [(row[0], values[i % 3]) for i, row in enumerate(rows)]
    )


def test_keep_and_another_column_choose_the_images(sides, skin):
    chosen = ["--attribute", "race", "--attribute-column", "skin", "--keep", "Light", "--keep", "Dark"]
    shown = invoke("measure", "lic", *sides, "--attributes", skin, *chosen, *QUICK)
    assert "40 images: 20 Dark, 20 Light" in shown
    assert "|attribute:race|" in shown


def test_without_keep_all_labels_are_measured(sides, skin):
    chosen = ["--attribute", "race", "--attribute-column", "skin"]
    shown = invoke("measure", "lic", *sides, "--attributes", skin, *chosen, *QUICK)
    assert "60 images: 20 Dark, 20 Light, 20 Unsure" in shown
    assert re.search(r"chance\s+11\.1 or more\s+33\.3\s+33\.3", shown)


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


def test_images_left_out_are_noted_once_and_nothing_else_stands_on_stderr(parquet, rows, tmp_path):
    more = [*rows, *((image, "a dog", ["a dog"], "male") for image in range(1, 6))]
    table = write_csv(tmp_path / "more.csv", ["image_id", "caption"], [row[:2] for row in more])
    finished = run("measure", "lic", "--predictions", table, "--references", parquet / "people.parquet", *QUICK)
    assert finished.returncode == 0
    notes = finished.stderr.splitlines()
    assert all(note.startswith("note: ") for note in notes)
    assert len(set(notes)) == len(notes)
    assert sum("5 of 65 images have no human captions and are left out (first: 1, 2, 3)" in note for note in notes) == 1
    assert "note" not in finished.stdout


def refused(*arguments, folder=None, **environment):
    """The one line of an error; what ends without a result must end with status 2 and no traceback."""
    finished = run(*arguments, folder=folder, **environment)
    *notes, error = finished.stderr.splitlines()
    assert finished.returncode == 2
    assert all(note.startswith("note: ") for note in notes)
    assert error.startswith("error: ")
    assert finished.stdout == ""
    return error.removeprefix("error: ")


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
def test_what_cannot_be_measured_is_one_line_and_leaves_no_file(changes, message, parquet, tmp_path):
    write_csv(tmp_path / "others.csv", ["image_id", "caption"], [(1, "a dog"), (2, "a cat")])
    (tmp_path / "notes.txt").write_text("a dog\n")
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
    assert re.search(message, refused("measure", metric, *arguments, folder=tmp_path))
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("place", ["missing/result.json", "file/result.json", "folder"])
def test_an_output_that_cannot_be_written_is_refused_before_any_work(place, tmp_path):
    (tmp_path / "file").write_text("a file")
    (tmp_path / "folder").mkdir()
    error = refused("measure", "dbac", "--predictions", "gone.csv", *QUICK, "--output", place, folder=tmp_path)
    assert error.startswith(f"{place} cannot be written (")
    assert sorted(file.name for file in tmp_path.rglob("*")) == ["file", "folder"]


def test_an_error_leaves_an_earlier_result_as_it_was(parquet, tmp_path):
    output = tmp_path / "result.json"
    output.write_text("earlier")
    refused("measure", "lic", "--predictions", parquet / "nic.parquet", *QUICK, "--output", output)
    assert output.read_text() == "earlier"


# The metrics on labels


def few_trials(name):
    return ["--trials", "2"] if name in ("dpa", "label_leakage", "all") else []


@pytest.mark.parametrize("metric", LABEL_METRICS)
def test_a_metric_on_labels_gives_the_library_s_scores(metric, sides, captions, tmp_path):
    shown = invoke(
        "measure", metric, *sides, *few_trials(metric), "--bootstrap", "20", "--output", tmp_path / "result.json"
    )
    written = strict(tmp_path / "result.json")
    chosen = {"trials": 2} if few_trials(metric) else {}
    expected = getattr(metrics, metric)(**captions, **chosen, bootstrap=20)
    assert written["metric"] == metric
    assert written["scores"] == expected
    assert f"signature {expected['signature']}" in shown
    assert "60 images: 30 female, 30 male" in shown
    for row in ROWS[metric]:
        assert (f"{row.label} " in shown) == (row.key in expected)
        assert interval(expected, row.key, row.digits) in shown or row.key not in expected


@pytest.mark.parametrize(
    ("option", "argument"),
    [
        (["directional_ba", "--task-lexicon", "coco_names"], {"task_lexicon": "coco_names"}),
        (["multi_directional_ba", "--at-least", "3"], {"at_least": 3}),
        (["dpa", "--trials", "2", "--no-equalize"], {"trials": 2, "equalize": False}),
        (["dpa", "--trials", "2", "--quality", "accuracy"], {"trials": 2, "quality": "accuracy"}),
        (["label_leakage", "--trials", "2", "--seed", "5"], {"trials": 2, "seed": 5}),
    ],
)
def test_options_reach_a_metric_on_labels(option, argument, sides, captions, tmp_path):
    invoke("measure", *option, *sides, "--bootstrap", "0", "--output", tmp_path / "result.json")
    expected = getattr(metrics, option[0])(**captions, bootstrap=0, **argument)
    assert strict(tmp_path / "result.json")["scores"] == expected


def test_all_gives_every_metric_as_its_own_command_does(sides, captions, expected, tmp_path):
    shown = invoke("measure", "all", *sides, "--trials", "2", "--bootstrap", "20", "--output", tmp_path / "all.json")
    written = strict(tmp_path / "all.json")["metrics"]
    assert list(written) == ["dbac", "lic", *LABEL_METRICS]
    for name in METRICS:
        assert written[name]["scores"] == {key: value for key, value in expected[name].items() if key != "details"}
    assert written["directional_ba"]["scores"] == metrics.directional_ba(**captions, bootstrap=20)
    for label in ("DBAC A to T, matched", "LIC x 100", "directional BA A to T", "BA (MALS)", "DPA T to A"):
        assert label in shown


def test_all_measures_what_a_captioner_alone_allows_and_says_why_not_the_rest(parquet, tmp_path):
    labels = pq.read_table(parquet / "people.parquet").select(["image_id", "gender"])
    pq.write_table(labels, tmp_path / "labels.parquet")
    finished = run(
        *("measure", "all", "--predictions", parquet / "nic.parquet", "--attributes", tmp_path / "labels.parquet"),
        *("--trials", "2", "--bootstrap", "0", "--output", tmp_path / "all.json"),
    )
    assert finished.returncode == 0, finished.stderr
    assert list(strict(tmp_path / "all.json")["metrics"]) == ["lic", "gender_error"]
    assert "note: no directional_ba: tasks is missing" in finished.stderr


def test_all_that_allows_nothing_is_one_error(tmp_path):
    table = write_csv(
        tmp_path / "few.csv", ["image_id", "caption", "age"], [(1, "a dog", "big"), (2, "a cat", "small")]
    )
    error = refused("measure", "all", "--predictions", table, "--attributes", table, "--attribute", "age")
    assert "'big' has 1 images" in error


# The other commands


def test_install_metrics_puts_all_where_evaluate_looks(tmp_path):
    finished = run("install-metrics", HF_MODULES_CACHE=str(tmp_path / "modules"))
    assert (finished.returncode, finished.stderr) == (0, "")
    loads = dict(re.findall(r"evaluate\.load\('(\w+)'\) loads (.+)", finished.stdout))
    assert set(loads) == {"dbac", "lic", *LABEL_METRICS}
    for name, path in loads.items():
        assert Path(path).is_relative_to(tmp_path / "modules")
        assert Path(path).read_bytes() == (MODULES / name / f"{name}.py").read_bytes()


def test_install_metrics_explains_a_cache_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("a file")
    error = refused("install-metrics", HF_MODULES_CACHE=str(tmp_path / "file" / "modules"))
    assert "HF_MODULES_CACHE" in error
    assert str(tmp_path / "file") in error


def test_install_metrics_without_evaluate_says_what_to_install():
    without = "import sys; sys.modules['evaluate'] = None; from captionbias.cli import app; app(['install-metrics'])"
    finished = subprocess.run([sys.executable, "-c", without], capture_output=True, text=True)
    assert finished.returncode == 2
    assert re.fullmatch(r"error: .*evaluate.*pip install 'captionbias\[evaluate\]'.*\n", finished.stderr)


def test_demo_measures_five_captioners_whose_bias_is_known():
    finished = run("demo", "--images", "400")
    assert (finished.returncode, finished.stderr) == (0, "")
    lines = finished.stdout.splitlines()
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
