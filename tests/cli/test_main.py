"""The command line, on files that people have: what it prints, writes and refuses."""

import csv
import json
import re
import shlex
import subprocess
import sys
import warnings
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from captionbias import CaptionBiasWarning, __version__
from captionbias.bench.arguments import ARGUMENTS
from captionbias.captions import check_captions
from captionbias.cli.measure import _tell_cost
from captionbias.cli.options import METRIC, in_options
from captionbias.errors import InputError, missing, phrase, render
from captionbias.io.formats import json_text
from captionbias.metrics import catalogue, dbac, find_metric, lic
from captionbias.synthetic import plant
from tests.cli.conftest import invoke, ran, refused, write_sides
from tests.patience import PATIENCE

SCRIPT = Path(sys.executable).with_name("captionbias")
METRICS = {"lic": lic, "dbac": dbac}
QUICK = ["--preset", "fast", "--trials", "2", "--bootstrap", "20"]
CHOSEN = {"preset": "fast", "trials": 2, "bootstrap": 20}
IMAGES = 60
FILE_OPTIONS = [
    *("--predictions", "--references", "--attributes", "--tasks", "--keep", "--output"),
    *("--id-column", "--prediction-column", "--reference-column", "--attribute-column", "--task-column"),
    "--weight-column",
]
SPELLED = {"attribute_lexicon": "--attribute", "directions": "--direction"}
# What only programs give: captions and labels, which files hold; settings that presets fix; what a command decides.
PROGRAMS = ARGUMENTS.keys() - METRIC.keys() - {"language"}


def content(path):
    return json.loads(path.read_text(encoding="utf-8"))


def planted():
    """A few images; some human words are not the captioner's."""
    given = plant(images=IMAGES, captions=2, a_to_t=0.5)
    given.references[3][0] += " near a puddle"
    given.references[8][1] += " near a puddle"
    return given


@pytest.fixture(scope="module")
def captions():
    given = vars(planted())
    return {name: given[name] for name in ("predictions", "references", "attributes")}


@pytest.fixture(scope="module")
def rows(captions):
    return list(zip(range(100, 100 + IMAGES), *captions.values(), strict=True))


def write_csv(path, header, body):
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *body])
    return path


@pytest.fixture(scope="module")
def parquet(tmp_path_factory):
    """Two Parquet files, named as the help's examples name them."""
    folder = tmp_path_factory.mktemp("parquet")
    write_sides(folder, planted(), first=100)
    return folder


@pytest.fixture
def sides(parquet):
    return ["--predictions", parquet / "nic.parquet", "--references", parquet / "people.parquet"]


@pytest.fixture(scope="module")
def expected(captions):
    return {name: metric(**captions, **CHOSEN, details=True) for name, metric in METRICS.items()}


@pytest.mark.parametrize("metric", catalogue.of_captions())
def test_every_metric_has_a_command_with_an_option_for_each_of_its_arguments(metric):
    arguments = find_metric(metric).options() - PROGRAMS
    options = [SPELLED.get(name, f"--{name.replace('_', '-')}") for name in arguments]
    shown = invoke("measure", metric, "--help")
    for option in (*FILE_OPTIONS, *options):
        assert re.search(rf"(?<![\w-]){option}(?![\w-])", shown), option


def test_a_metric_is_called_as_in_python_or_with_hyphens():
    asked, known = (invoke("measure", name, "--help") for name in ("label-leakage", "label_leakage"))
    assert asked.replace("label-leakage", "label_leakage") == known
    assert find_metric("label-leakage") is find_metric("label_leakage")


def example(command):
    (found,) = re.findall(r"Example: captionbias (.+?)\s*$", invoke(*command.split(), "--help"), re.MULTILINE)
    return shlex.split(found)


@pytest.mark.parametrize("metric", [*catalogue.of_captions(), "all"])
def test_the_example_of_a_metric_runs_as_it_stands(metric, parquet, monkeypatch):
    monkeypatch.chdir(parquet)
    quick = ["--trials", "1"] if metric == "all" or "trials" in find_metric(metric).options() else []
    preset = ["--preset", "fast"] if metric in METRICS else []
    assert "signature" in invoke(*example(f"measure {metric}"), *quick, *preset, "--bootstrap", "0")


def test_the_installed_command_tells_its_version():
    finished = subprocess.run([SCRIPT, "--version"], capture_output=True, text=True, timeout=PATIENCE)
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, f"captionbias {__version__}\n", "")


@pytest.mark.parametrize(
    ("metric", "options", "arguments"),
    [
        ("lic", ["--encoder", "bow", "--seed", "5"], {"encoder": "bow", "seed": 5}),
        ("lic", ["--unseen-only"], {"unseen_only": True}),
        ("dbac", ["--quality", "accuracy"], {"quality": "accuracy"}),
        ("directional_ba", ["--task-lexicon", "coco_names"], {"task_lexicon": "coco_names"}),
        ("multi_directional_ba", ["--at-least", "3"], {"at_least": 3}),
        ("ba_mals", [], {}),
        ("dpa", ["--trials", "2", "--no-equalize"], {"trials": 2, "equalize": False}),
        ("label_leakage", ["--trials", "2", "--seed", "5"], {"trials": 2, "seed": 5}),
        ("gender_error", [], {}),
    ],
)
def test_files_give_the_library_s_scores_and_everything_else(metric, options, arguments, sides, captions, tmp_path):
    output = tmp_path / "result.json"
    options, arguments = (
        ([*QUICK, *options], CHOSEN | arguments)
        if metric in METRICS
        else (["--bootstrap", "20", *options], {"bootstrap": 20, **arguments})
    )
    shown = invoke("measure", metric, *sides, *options, "--output", output)
    scores = find_metric(metric)(**captions, **arguments, details=True)
    everything = {"metric": metric, "version": __version__, "details": scores.pop("details"), "scores": scores}
    written = content(output)
    assert written == json.loads(json_text(everything)) | {"image_set": written["image_set"]}
    assert f"signature {scores['signature']}" in shown
    assert f"{IMAGES} images: {IMAGES // 2} female, {IMAGES // 2} male" in shown
    assert [file.name for file in tmp_path.iterdir()] == ["result.json"]
    for score in catalogue.scores_of(metric):
        if score.in_tables and metric not in METRICS:
            measured = score.key in scores or score.key in everything["details"]["scores"]
            assert (f"{score.row or score.label} " in shown) == measured


def test_seeds_are_listed_with_commas(sides):
    fast = "measure", "lic", *sides, "--preset", "fast", "--bootstrap", "0", "--seeds"
    assert "|seeds:12,0|" in invoke(*fast, "12,0")
    assert refused(*fast, "12,x") == "--seeds must be a whole number of 0 or more, not 'x'"
    assert refused(*fast, "12,0", "--trials", "2") == "--seeds: each is a trial; leave out --trials"


def skins(rows):
    return [(row[0], ["Light", "Dark", "Unsure"][number % 3]) for number, row in enumerate(rows)]


@pytest.fixture
def skin(rows, tmp_path):
    """Labels in another column, of three values."""
    return write_csv(tmp_path / "skin.csv", ["image_id", "skin"], skins(rows))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"Light": "0", "Dark": "1"}, "as in --label 0=... --label 1=... where they are read"),
        ({"Light": "female", "Dark": "man"}, "20 of 60 images have it: leave these out, with --keep female --keep man"),
    ],
)
def test_labels_that_are_no_values_show_the_options_that_help(names, message, sides, skin, rows, tmp_path):
    other = [(image, names.get(value, value if "female" in names.values() else "0")) for image, value in skins(rows)]
    table = write_csv(tmp_path / "labels.csv", ["image_id", "gender"], other)
    for command in (["measure", "all"], ["report", "--output", tmp_path / "report.html"]):
        assert message in refused(*command, *sides, "--attributes", table)


def test_weights_and_samples_are_columns_and_rows_of_the_files(rows, tmp_path):
    people = [(image, label, 1 + image % 3) for image, _, _, label in rows]
    said = [(image, text) for image, caption, *_ in rows for text in (caption, "a woman with a cake")]
    nic = write_csv(tmp_path / "nic.csv", ("image_id", "caption"), said)
    labels = write_csv(tmp_path / "people.csv", ("image_id", "gender", "times"), people)
    options = ["--predictions", nic, "--attributes", labels, "--weight-column", "times", "--json"]
    found = json.loads(invoke("measure", "gender-error", *options, "--bootstrap", 0))
    captions = {
        "predictions": [[row[1], "a woman with a cake"] for row in rows],
        "attributes": [row[3] for row in rows],
    }
    ids = {"image_ids": [row[0] for row in rows], "weights": [row[2] for row in people]}
    assert found["scores"] == find_metric("gender_error")(check_captions(**captions, **ids), bootstrap=0)


def test_labels_are_renamed_by_option(sides, skin):
    names = ["--label", "Light=female", "--label", "Dark=male", "--keep", "female", "--keep", "male"]
    shown = invoke("measure", "lic", *sides, "--attributes", skin, "--attribute-column", "skin", *names, *QUICK)
    assert "40 images: 20 female, 20 male" in shown


def test_images_left_out_are_noted_once_and_nothing_else_is_on_stderr(parquet, rows, tmp_path):
    more = [*rows, *((image, "a dog", ["a dog"], "male") for image in range(1, 6))]
    table = write_csv(tmp_path / "more.csv", ["image_id", "caption"], [row[:2] for row in more])
    people = parquet / "people.parquet"
    shown, complaint = ran("measure", "lic", "--predictions", table, "--references", people, *QUICK)
    notes = complaint.splitlines()
    assert all(note.startswith("note: ") for note in notes)
    assert len(set(notes)) == len(notes)
    assert complaint.count("5 of 65 images have no human captions and are left out (first: 1, 2, 3 and 2 more)") == 1
    assert "note" not in shown


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"--predictions": "gone.parquet"}, "gone.parquet does not exist"),
        ({"--encoder": "gru"}, "encoder 'gru' is unknown; choose one of bow, linear, lstm"),
        ({"--attribute": "height"}, "'height'"),
        ({"--keep": "women"}, "keep names 'women', which is not a label .*: it has 'female', 'male'"),
        ({"--vectors": "gone.txt", "--preset": "fast", "metric": "dbac"}, "gone.txt"),
        ({"--predictions": None, "--references": None}, "predictions and references are both missing"),
        ({"--predictions": "=p.parquet"}, "^--predictions =p.parquet has no name before the =; "),
        ({"--attributes": "gender"}, "^--attributes names a file of labels; what is measured is --attribute gender$"),
    ],
)
def test_what_cannot_be_measured_is_one_line_and_leaves_an_earlier_file(
    changes, message, parquet, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
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


def test_all_gives_every_metric_as_its_own_command_does(sides, captions, expected, tmp_path):
    shown = invoke("measure", "all", *sides, "--trials", "2", "--bootstrap", "20", "--output", tmp_path / "all.json")
    written = content(tmp_path / "all.json")["metrics"]
    assert list(written) == catalogue.of_captions()
    for name in METRICS:
        scores = {key: value for key, value in expected[name].items() if key != "details"}
        assert written[name]["scores"] == json.loads(json.dumps(scores))
    expected = find_metric("directional_ba")(**captions, bootstrap=20)
    assert written["directional_ba"]["scores"] == json.loads(json.dumps(expected))
    for label in ("DBAC A to T, net", "LIC x 100", "directional BA A to T", "BA (MALS)", "DPA T to A"):
        assert label in shown


@pytest.mark.parametrize("metric", catalogue.of_captions())
def test_a_metric_takes_the_options_of_all_and_names_those_that_it_leaves_out(metric, sides, tmp_path):
    """But for the cache, which changes no score; the score is that without them."""
    seed = ["--seed", "3", "--bootstrap", "0"]
    more = {"preset": "fast", "alignment": "constant", "trials": "1", "task_lexicon": "coco_objects"}
    flags = {"allow_unmasked": "--allow-unmasked", "cache": "--no-cache"}
    written = [part for name, value in more.items() for part in (f"--{name.replace('_', '-')}", value)]
    options, file = find_metric(metric).options(), tmp_path / "result.json"
    _, notes = ran("measure", metric, *sides, *seed, *written, *flags.values(), "--output", file)
    for name in {**more, **flags}:
        assert (f"--{name.replace('_', '-')}" in notes) == (name not in options and name != "cache"), (name, notes)
    assert notes.count("is left out") == len({*more, "allow_unmasked"} - options)
    own = [part for name, value in more.items() if name in options for part in (f"--{name.replace('_', '-')}", value)]
    own += ["--allow-unmasked"] if "allow_unmasked" in options else []
    ran("measure", metric, *sides, *seed, *own, "--output", tmp_path / "own.json")
    assert content(file)["scores"] == content(tmp_path / "own.json")["scores"]


def test_all_measures_what_a_captioner_alone_allows_and_says_why_not_the_rest(parquet, tmp_path):
    labels = pq.read_table(parquet / "people.parquet").select(["image_id", "gender"])
    pq.write_table(labels, tmp_path / "labels.parquet")
    files = ["--predictions", parquet / "nic.parquet", "--attributes", tmp_path / "labels.parquet"]
    _, notes = ran("measure", "all", *files, "--trials", "2", "--bootstrap", "0", "--output", tmp_path / "all.json")
    assert list(content(tmp_path / "all.json")["metrics"]) == ["sway", "dbac", "lic", "gender_error"]
    assert "note: no directional_ba: --tasks is missing" in notes


def test_all_gives_dbac_a_to_t_of_one_human_caption_an_image_and_names_the_rest(parquet, rows, tmp_path):
    people = {name: [row[place] for row in rows] for name, place in (("image_id", 0), ("gender", 3))}
    people["references"] = [row[2][:1] for row in rows]
    pq.write_table(pa.table(people), tmp_path / "one.parquet")
    files = ["--predictions", parquet / "nic.parquet", "--references", tmp_path / "one.parquet"]
    output = ["--output", tmp_path / "all.json"]
    shown, notes = ran("measure", "all", *files, "--trials", "2", "--bootstrap", "20", *output)
    scores = content(tmp_path / "all.json")["metrics"]["dbac"]["scores"]
    assert "DBAC A to T, net" in shown
    assert "dbac_a_to_t_net" in scores
    assert "dbac_t_to_a" not in scores
    left_out = [note for note in notes.splitlines() if note.startswith("note: no ")]
    assert [note.split(":")[1] for note in left_out][:2] == [" no sway", " no dbac T to A"]
    assert left_out[1].endswith("besides the one that is scored; give tasks, or more references")
    assert not any("=" in note for note in left_out)


def test_all_that_allows_nothing_is_one_error(tmp_path):
    body = [(1, "a dog", "big"), (2, "a cat", "small")]
    table = write_csv(tmp_path / "few.csv", ["image_id", "caption", "age"], body)
    error = refused("measure", "all", "--predictions", table, "--attributes", table, "--attribute", "age")
    assert "'big', 'small' are not labels of --attribute 'age'" in error


def test_install_metrics_puts_all_where_evaluate_looks(modules_cache):
    loads = dict(re.findall(r"evaluate\.load\('(\w+)'\) loads (.+)", invoke("install-metrics")))
    assert set(loads) == set(catalogue.METRICS)
    assert all(Path(path).is_relative_to(modules_cache) for path in loads.values())


def test_demo_measures_five_captioners_whose_bias_is_known():
    shown, complaint = ran("demo", "--images", "400", columns="80")
    assert complaint.strip() == ""
    lines = shown.splitlines()
    assert lines[0].startswith("400 planted images")
    assert max(map(len, lines)) <= 80
    names = ["faithful to", "faithful,", "attribute", "tasks sway", "errs at"]
    starts = [next(i for i, line in enumerate(lines[3:], 3) if line.startswith(name)) for name in names]
    assert starts == sorted(starts)
    verdicts = [re.split(r"\s{2,}", lines[start + 2].strip())[-4:] for start in starts]
    columns = dict(zip(["a_to_t", "t_to_a", "net", "lic"], zip(*verdicts, strict=True), strict=True))
    more = {column: [word.startswith("more than") for word in words] for column, words in columns.items()}
    assert more["a_to_t"] == [False, False, True, False, False]
    assert more["t_to_a"] == [False, False, False, True, False]
    assert more["lic"][2]


@pytest.mark.parametrize(
    ("message", "written"),
    [
        (
            phrase("{bootstrap} must be more; leave out {unseen_only}", unseen_only=True),
            "must be more; leave out --unseen-only",
        ),
        (phrase("give {tasks}, or {directions}", directions=["a_to_t"]), "give tasks, or --direction a_to_t"),
        (
            phrase("as in {attribute_lexicon}", attribute_lexicon=["gender", "race"]),
            "--attribute gender --attribute race",
        ),
        (phrase("choose {vectors}, or {cache}", vectors="captions", cache=False), "--vectors captions, or --no-cache"),
        (phrase("as in {labels}", labels={"0": "a woman"}), "as in --label '0=a woman'"),
        (phrase("give {unsplit}", unsplit=True), "give unsplit=True"),
        (missing("references", "is missing"), "--references is missing"),
        (InputError("references", "is empty", row=3), "references[3] is empty"),
        (InputError("vectors", ": there is no file"), "--vectors: there is no file"),
    ],
)
def test_messages_of_the_library_name_options_in_place_of_arguments(message, written):
    names = ("unseen_only", "bootstrap", "vectors", "tasks", "references")
    flags = {name: (f"--{name.replace('_', '-')}", "") for name in names} | {"cache": ("--cache", "--no-cache")}
    flags |= {"directions": ("--direction", ""), "attribute_lexicon": ("--attribute", ""), "labels": ("--label", "")}
    assert render(message, partial(in_options, flags)).endswith(written)


def test_what_users_name_like_arguments_is_said_as_it_is(tmp_path):
    """Of the labels and the task, whose names no option may replace, and of a column called like an argument."""
    rows = [(row, f"a man with a {row}", ("predictions", "keep=True")[row % 2]) for row in range(40)]
    table = write_csv(tmp_path / "directions=x.csv", ["image_id", "caption", "attributes"], rows)
    sides = ("--predictions", f"lean={table}", "--attributes", table, "--attribute-column", "attributes")
    error = refused("measure", "all", *sides)
    assert "attributes: 'keep=True', 'predictions' are not labels of --attribute 'gender'" in error
    error = refused("measure", "all", *sides, "--keep", "unseen_only")
    assert f"--keep names 'unseen_only', which is not a label in 'attributes' of {table.name}" in error.replace(
        str(table.parent) + "/", ""
    )


@pytest.mark.parametrize("metric", METRICS.values())
def test_what_a_paper_s_protocol_trains_is_said_before_it_does(metric):
    told = r"^10 lstm\S* trainings for each set of captions; --preset fast takes seconds"
    with pytest.warns(CaptionBiasWarning, match=told):
        _tell_cost(metric, {"preset": "papers"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _tell_cost(metric, {"preset": "fast"})


def test_a_command_that_is_gone_says_what_to_do_instead():
    _, complaint = ran("power", "--references", "people.parquet", status=2)
    assert "power was removed: captionbias gate --references people.parquet prints how many images" in complaint
