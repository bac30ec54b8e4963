"""The command line, on files that people have: what it prints, writes and notes."""

import csv
import json
import re
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
from captionbias.metrics import catalogue, find_metric
from captionbias.synthetic import plant
from tests.cli.conftest import invoke, ran, refused, write_sides
from tests.patience import PATIENCE

SCRIPT = Path(sys.executable).with_name("captionbias")
QUICK = ["--preset", "fast", "--trials", "2", "--bootstrap", "20"]
CHOSEN = {"preset": "fast", "trials": 2, "bootstrap": 20}
IMAGES = 60
OF_FILES = ["predictions", "references", "attributes", "tasks", "keep", "output"]
COLUMNS = ["id_column", "prediction_column", "reference_column", "attribute_column", "task_column", "weight_column"]
SPELLED = {"attribute_lexicon": "--attribute", "directions": "--direction"}
# What only programs give: captions and labels, which files hold; settings that presets fix; what a command decides.
PROGRAMS = ARGUMENTS.keys() - METRIC.keys() - {"language"}


def content(path):
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def few():
    """A few images; some human words are not the captioner's."""
    given = plant(images=IMAGES, captions=2, a_to_t=0.5)
    given.references[3][0] += " near a puddle"
    given.references[8][1] += " near a puddle"
    return given


@pytest.fixture(scope="module")
def captions(few):
    return {name: vars(few)[name] for name in ("predictions", "references", "attributes")}


@pytest.fixture(scope="module")
def rows(captions):
    return list(zip(range(100, 100 + IMAGES), *captions.values(), strict=True))


def write_csv(path, header, body):
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *body])
    return path


@pytest.fixture(scope="module")
def sides(few, tmp_path_factory):
    return write_sides(tmp_path_factory.mktemp("parquet"), few, first=100)


def option(name):
    return SPELLED.get(name, f"--{name.replace('_', '-')}")


@pytest.mark.parametrize("metric", [*catalogue.of_captions(), "all"])
def test_every_metric_has_a_command_with_an_option_for_each_of_its_arguments_and_an_example(metric):
    shown = invoke("measure", metric, "--help")
    arguments = set() if metric == "all" else find_metric(metric).options() - PROGRAMS
    for flag in map(option, (*OF_FILES, *COLUMNS, *arguments)):
        assert re.search(rf"(?<![\w-]){flag}(?![\w-])", shown), flag
    assert f"captionbias measure {metric} --predictions nic.parquet --references people.parquet" in shown


def test_a_metric_is_called_as_in_python_or_with_hyphens():
    asked, known = (invoke("measure", name, "--help") for name in ("label-leakage", "label_leakage"))
    assert asked.replace("label-leakage", "label_leakage") == known
    assert find_metric("label-leakage") is find_metric("label_leakage")


def test_the_installed_command_tells_its_version():
    finished = subprocess.run([SCRIPT, "--version"], capture_output=True, text=True, timeout=PATIENCE)
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, f"captionbias {__version__}\n", "")


OF_ALL = {**CHOSEN, "seed": 3, "alignment": "constant", "task_lexicon": "coco_objects"}
OWN = {
    "lic": {"encoder": "bow", "unseen_only": True},
    "dbac": {"quality": "accuracy"},
    "directional_ba": {"task_lexicon": "coco_names"},
    "multi_directional_ba": {"at_least": 3},
    "dpa": {"equalize": False},
}


@pytest.mark.parametrize("metric", catalogue.of_captions())
def test_files_give_the_library_s_scores_and_options_that_a_metric_does_not_have_are_named(
    metric, sides, captions, tmp_path
):
    """A cache changes no score, and is never named."""
    chosen, known, output = OF_ALL | OWN.get(metric, {}), find_metric(metric), tmp_path / "result.json"
    written = ["--no-cache", "--allow-unmasked"]
    for name, value in chosen.items():
        flag = option(name) if value is not False else f"--no-{name}"
        written += [flag] if isinstance(value, bool) else [flag, value]
    shown, notes = ran("measure", metric, *sides, *written, "--output", output)
    arguments = {name: value for name, value in (chosen | {"allow_unmasked": True}).items() if name in known.options()}
    scores = known(**captions, **arguments, details=True)
    everything = {"metric": metric, "version": __version__, "details": scores.pop("details"), "scores": scores}
    found = content(output)
    assert found == json.loads(json_text(everything)) | {"image_set": found["image_set"]}
    assert f"signature {scores['signature']}" in shown
    assert f"{IMAGES} images: {IMAGES // 2} female, {IMAGES // 2} male" in shown
    assert [file.name for file in tmp_path.iterdir()] == ["result.json"]
    unused = re.findall(rf"^note: --(\S+)(?: \w+)? does not apply to {metric}, and is ignored$", notes, re.MULTILINE)
    assert {name.replace("-", "_") for name in unused} == {*chosen, "allow_unmasked"} - known.options()
    for score in catalogue.scores_of(metric):
        if score.in_tables and metric not in ("lic", "dbac") and not score.key.startswith("meteor"):  # of WordNet
            measured = score.key in scores or score.key in everything["details"]["scores"]
            assert ((score.row or score.label)[:20] in shown) == measured  # a long one goes on below


def test_seeds_are_listed_with_commas(sides):
    assert "|seeds:12,0|" in invoke("measure", "lic", *sides, "--preset", "fast", "--bootstrap", "0", "--seeds", "12,0")


def test_weights_and_samples_are_columns_and_rows_of_the_files(rows, tmp_path):
    people = [(image, label, 1 + image % 3) for image, _, _, label in rows]
    texts = [[caption, "a woman with a cake"] for _, caption, *_ in rows]
    said = [(row[0], text) for row, both in zip(rows, texts, strict=True) for text in both]
    nic = write_csv(tmp_path / "nic.csv", ("image_id", "caption"), said)
    labels = write_csv(tmp_path / "people.csv", ("image_id", "gender", "times"), people)
    options = ["--predictions", nic, "--attributes", labels, "--weight-column", "times", "--json"]
    found = json.loads(invoke("measure", "gender-error", *options, "--bootstrap", 0))
    ids, attributes, weights = (list(column) for column in zip(*people, strict=True))
    captions = check_captions(predictions=texts, attributes=attributes, image_ids=ids, weights=weights)
    assert found["scores"] == find_metric("gender_error")(captions, bootstrap=0)


def test_labels_are_renamed_by_option(sides, rows, tmp_path):
    skins = [(row[0], ["Light", "Dark", "Unsure"][number % 3]) for number, row in enumerate(rows)]
    skin = write_csv(tmp_path / "skin.csv", ["image_id", "skin"], skins)
    names = ["--label", "Light=female", "--label", "Dark=male", "--keep", "female", "--keep", "male"]
    shown = invoke("measure", "lic", *sides, "--attributes", skin, "--attribute-column", "skin", *names, *QUICK)
    assert "40 images: 20 female, 20 male" in shown


def test_images_left_out_are_noted_once_and_nothing_else_is_on_stderr(sides, rows, tmp_path):
    more = [row[:2] for row in rows] + [(image, "a dog") for image in range(1, 6)]
    table = write_csv(tmp_path / "more.csv", ["image_id", "caption"], more)
    shown, complaint = ran("measure", "lic", "--predictions", table, *sides[2:], *QUICK)
    notes = complaint.splitlines()
    assert all(note.startswith("note: ") for note in notes)
    assert len(set(notes)) == len(notes)
    assert complaint.count("5 of 65 images have no human captions and are left out (first: 1, 2, 3 and 2 more)") == 1
    assert "note" not in shown


def test_all_gives_every_metric_as_its_own_command_does(sides, captions, tmp_path):
    shown = invoke("measure", "all", *sides, "--trials", "2", "--bootstrap", "20", "--output", tmp_path / "all.json")
    written = content(tmp_path / "all.json")["metrics"]
    assert list(written) == catalogue.of_captions()
    for name, options in (("lic", CHOSEN), ("dbac", CHOSEN), ("directional_ba", {"bootstrap": 20})):
        expected = json.loads(json.dumps(find_metric(name)(**captions, **options)).replace("NaN", "null"))
        assert written[name]["scores"] == expected
    for label in ("DBAC A to T, net", "LIC x 100", "directional BA A to T", "BA (MALS)", "DPA T to A"):
        assert label in shown


def test_all_measures_what_a_captioner_alone_allows_and_says_why_not_the_rest(sides, tmp_path):
    labels = pq.read_table(sides[3]).select(["image_id", "gender"])
    pq.write_table(labels, tmp_path / "labels.parquet")
    files = [*sides[:2], "--attributes", tmp_path / "labels.parquet"]
    _, notes = ran("measure", "all", *files, "--trials", "2", "--bootstrap", "0", "--output", tmp_path / "all.json")
    assert list(content(tmp_path / "all.json")["metrics"]) == ["sway", "dbac", "lic", "gender_error", "resolution"]
    assert "note: no directional_ba: --tasks is missing" in notes


def test_all_gives_dbac_a_to_t_of_one_human_caption_an_image_and_names_the_rest(sides, rows, tmp_path):
    ids, _, references, labels = zip(*rows, strict=True)
    people = {"image_id": ids, "gender": labels, "references": [texts[:1] for texts in references]}
    pq.write_table(pa.table(people), tmp_path / "one.parquet")
    files = [*sides[:2], "--references", tmp_path / "one.parquet", "--output", tmp_path / "all.json"]
    shown, notes = ran("measure", "all", *files, "--trials", "2", "--bootstrap", "20")
    metrics = content(tmp_path / "all.json")["metrics"]
    assert {"sway_wrong_gap", "sway_length_gap"} <= set(sway := metrics["sway"]["scores"]) - {"sway_t_to_a"}
    assert "yardstick:single" in sway["signature"]
    scores = metrics["dbac"]["scores"]
    assert "DBAC A to T, net" in shown
    assert "dbac_a_to_t_net" in scores
    assert "dbac_t_to_a" not in scores
    left_out = [note for note in notes.splitlines() if note.startswith("note: no ")]
    assert left_out[0].startswith("note: no dbac T to A: ")
    assert left_out[0].endswith("besides the one that is scored; give tasks, or more references")
    assert not any("=" in note for note in left_out)


def test_install_metrics_puts_all_where_evaluate_looks(modules_cache):
    loads = dict(re.findall(r"evaluate\.load\('(\w+)'\) loads (.+)", invoke("install-metrics")))
    assert set(loads) == set(catalogue.METRICS)
    assert all(Path(path).is_relative_to(modules_cache) for path in loads.values())


def test_demo_measures_five_captioners_whose_bias_is_known_and_writes_their_captions(tmp_path):
    shown, complaint = ran("demo", "--images", "400", "--output", str(tmp_path), columns="80")
    lines = shown.splitlines()
    assert (complaint.strip(), lines[0].partition(" images")[0], max(map(len, lines)) <= 80) == (
        "",
        "400 planted",
        True,
    )
    names = ["faithful to", "faithful,", "attribute", "tasks sway", "errs at"]
    starts = [next(i for i, line in enumerate(lines[3:], 3) if line.startswith(name)) for name in names]
    a_to_t, t_to_a, _, lic = zip(*(re.split(r"\s{2,}", lines[i + 2].strip())[-4:] for i in starts), strict=True)
    assert [word.startswith("more than") for word in a_to_t] == [False, False, True, False, False]
    assert [word.startswith("more than") for word in t_to_a] == [False, False, False, True, False]
    assert lic[2].startswith("more than")
    files = ("--predictions", f"{tmp_path}/tasks_sway_attribute.csv", "--references", f"{tmp_path}/people.csv")
    measured = re.search(r"sway T to A, of 100 +(\S+)", ran("measure", "sway", *files)[0])
    assert measured[1] == re.split(r"\s{2,}", lines[starts[3]].strip())[-3]


CROSSED, ROW = (
    phrase("{attribute_lexicon}", attribute_lexicon=["gender", "race"]),
    InputError("references", "is", row=3),
)


@pytest.mark.parametrize(
    ("message", "written"),
    [
        (phrase("leave out {unseen_only}, give {bootstrap}", unseen_only=True), "out --unseen-only, give --bootstrap"),
        (phrase("give {tasks}, or {directions}", directions=["a_to_t"]), "give tasks, or --direction a_to_t"),
        (CROSSED, "--attribute gender --attribute race"),
        (phrase("choose {vectors}, or {cache}", vectors="captions", cache=False), "--vectors captions, or --no-cache"),
        (phrase("as in {labels}", labels={"0": "a woman"}), "as in --label '0=a woman'"),
        *((phrase("give {unsplit}", unsplit=True), "give unsplit=True"), (ROW, "references[3] is")),
        (missing("references", "is missing"), "--references is missing"),
    ],
)
def test_messages_of_the_library_name_options_in_place_of_arguments(message, written):
    names = ("unseen_only", "bootstrap", "vectors", "tasks", "references", "directions", "attribute_lexicon")
    flags = {name: (option(name), "") for name in names} | {
        "cache": ("--cache", "--no-cache"),
        "labels": ("--label", ""),
    }
    assert render(message, partial(in_options, flags)).endswith(written)


def test_what_users_name_like_arguments_is_said_as_it_is(tmp_path):
    """Of the labels and the task, whose names no option may replace, and of a column called like an argument."""
    rows = [(row, f"a man with a {row}", ("predictions", "keep=True")[row % 2]) for row in range(40)]
    table = write_csv(tmp_path / "directions=x.csv", ["image_id", "caption", "attributes"], rows)
    sides = ("--predictions", f"lean={table}", "--attributes", table, "--attribute-column", "attributes")
    error = refused("measure", "all", *sides)
    assert "attributes: 'keep=True', 'predictions' are not labels of --attribute 'gender'" in error
    error = refused("measure", "all", *sides, "--keep", "unseen_only").replace(f"{table.parent}/", "")
    assert f"--keep names 'unseen_only', which is not a label in 'attributes' of {table.name}" in error


@pytest.mark.parametrize("metric", ["lic", "dbac"])
def test_what_a_paper_s_protocol_trains_is_said_before_it_does(metric):
    told = r"^10 lstm\S* trainings for each set of captions; --preset fast takes seconds"
    with pytest.warns(CaptionBiasWarning, match=told):
        _tell_cost(find_metric(metric), {"preset": "papers"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _tell_cost(find_metric(metric), {"preset": "fast"})
