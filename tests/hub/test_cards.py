"""Cards on disk: real results in, the rest byte for byte as it was; a second run or a refused one changes nothing."""

import re

import pytest
import yaml
from click import unstyle
from huggingface_hub import DatasetCard, ModelCard, parse_eval_result_entries
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from captionbias import metrics
from captionbias.bench.catalogue import SCORES, of_captions
from captionbias.bench.verdicts import judge
from captionbias.hub.cards import BEGIN, END, model_section, put_section, update_dataset_card, update_model_card
from captionbias.hub.commands import card as command
from captionbias.hub.results import checked
from captionbias.io.formats import write_json
from captionbias.metrics import catalogue
from captionbias.report.wording import interval, verdict_text
from captionbias.statistics.samples import Estimate
from captionbias.synthetic import plant
from captionbias.text.markdown import escaped
from tests.refusals import refuses

DATASET = "someone/captions"
ODD = "---\r\nz: &x 'é'   # why\r\ny: *x\r\n---\r\n# Card\r\na line feed\nno end"


@pytest.fixture(scope="module")
def both():
    """Every metric, of a captioner and people."""
    captions = vars(plant(images=80, captions=2, a_to_t=0.5))
    options = {"preset": "fast", "trials": 2, "bootstrap": 20, "details": True}
    found = map(metrics.find_metric, of_captions())
    return {metric.name: metric(**captions, **metric.accepted(options)) for metric in found}


@pytest.fixture(scope="module")
def people():
    captions = vars(plant(images=80, captions=2)) | {"predictions": None}
    return {"lic": metrics.lic(**captions, preset="fast", trials=2, bootstrap=20, details=True)}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "README.md"


def text_of(path):
    return path.read_bytes().decode()


def rows_of(path):
    section = text_of(path).partition(BEGIN)[2].partition(END)[0]
    lines = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("|")]
    return {label: tuple(cells) for label, *cells in lines[2:]}


def entries_in(folder):
    return parse_eval_result_entries(yaml.safe_load(text_of(folder / ".eval_results" / "captionbias.yaml")))


def test_a_new_dataset_card_has_what_was_measured_of_people(both, people, tmp_path):
    for folder, results in (("both", both), ("people", people)):
        path = tmp_path / folder / "README.md"
        path.parent.mkdir()
        assert update_dataset_card(path.parent, results) == [path]
        assert update_dataset_card(path.parent, results) == []
        assert DatasetCard.load(path).data.task_categories == ["image-to-text"]
        rows = rows_of(path)
        assert rows["LIC x 100, human captions"] == (interval(results["lic"].estimates["lic_d"], 1),)
        assert all(label.endswith("human captions") for label in rows)
        assert f"`{results['lic']['signature']}`" in text_of(path)
        assert ("beside a captioner's captions" in text_of(path)) == (results is both)


def test_a_model_card_has_every_score_with_its_verdict_in_text_and_entries(both, path):
    changed = update_model_card(path.parent, both, dataset=DATASET)
    assert [file.name for file in changed] == ["README.md", "captionbias.svg", "captionbias.yaml"]
    measured = {key: one.value for result in both.values() for key, one in result.estimates.items()}
    tasks = {task: score for task, score in catalogue.TASKS.items() if score.key in measured}  # words take more images
    assert ModelCard.load(path).data.pipeline_tag == "image-to-text"
    assert path.parent.name in changed[1].read_text()
    entries = {entry.task_id: entry for entry in entries_in(path.parent)}
    assert {task: entry.value for task, entry in entries.items()} == {key: measured[tasks[key].key] for key in tasks}
    rows = rows_of(path)
    for task, score in tasks.items():
        estimates = both[score.metric].estimates
        said = verdict_text(score.key, estimates[score.key], both[score.metric]["details"]) if score.judged else "-"
        assert rows[score.label] == (interval(estimates[score.key], score.digits), said)
        assert said == "-" or f"; {said}; " in entries[task].notes
    for name, result in both.items():
        assert all(escaped(f"{name}: {note}") in text_of(path) for note in result["details"]["warnings"])
        assert f"`{result['signature']}`" in text_of(path)
    assert "not for publication" in text_of(path)
    assert "not for publication" in entries["lic"].notes


def test_a_card_says_whom_a_gap_is_against_and_what_would_have_been_found(both, path):
    gaps = [{"attribute": value, "wrong_gap": gap} for value, gap in (("female", 9.0), ("male", -9.0))]
    found = {"sway_wrong_gap": Estimate(9.0, 7.0, 11.0), "sway_words": Estimate(0.4, 0.2, detectable=2.0)}
    scores = {key: one.as_dict() for key, one in judge({**both["sway"].estimates, **found}).items()}
    details = {**both["sway"]["details"], "gaps": gaps, "scores": scores}
    update_model_card(path, {"sway": {**both["sway"], "details": details}}, dataset=DATASET)
    rows = rows_of(path)
    nothing = "nothing found (would have seen a word in 2 of 100 captions)"
    assert rows[SCORES["sway_wrong_gap"].label] == ("9.0 [7.0, 11.0]", "more than people, worse for women")
    assert rows[SCORES["sway_words"].label] == ("0.4, at least 0.2", nothing)
    notes = {entry.task_id: entry.notes for entry in entries_in(path.parent)}
    assert notes["sway_words"].startswith(f"95% interval at least 0.2; {nothing}; ")


def test_a_published_dbac_never_comes_without_the_matched_one(both, path):
    details = both["dbac"]["details"]
    scores = {key: one for key, one in details["scores"].items() if key != "dbac_a_to_t_matched"}
    update_model_card(path, {"dbac": {**both["dbac"], "details": {**details, "scores": scores}}}, dataset=DATASET)
    assert rows_of(path)[SCORES["dbac_a_to_t_matched"].label] == ("undefined", "-")


def test_everything_of_others_stays_and_a_second_run_writes_nothing(both, path):
    path.write_bytes(ODD.encode())
    files = update_model_card(path, both, dataset=DATASET)
    done = text_of(path)
    assert done.partition(BEGIN)[0] == f"{ODD}\r\n\r\n"
    assert done.count("\n") == done.count("\r\n") + 1  # the line feed that was there
    before = [file.stat().st_mtime_ns for file in files]
    assert update_model_card(path, both, dataset=DATASET) == []
    assert [file.stat().st_mtime_ns for file in files] == before


def test_options_and_results_that_cannot_be_shown_are_refused_and_nothing_changes(both, people, path):
    spoiled = both | {"lic": {**both["lic"], "lic": float("nan")}}
    for dataset in ("", "name", "a/b/c", "a/b.git"):
        refuses("dataset is", update_model_card, path, both, dataset=dataset)
    for results in (people, spoiled):
        refuses("results", update_model_card, path, results, dataset=DATASET)
    for results in ({"dpa": both["dpa"]}, spoiled):
        refuses("results", update_dataset_card, path, results)
    assert not list(path.parent.iterdir())


def test_a_card_that_cannot_be_changed_is_left_and_named(both, path):
    for content in (f"{END}\n{BEGIN}".encode(), BEGIN.encode(), f"{BEGIN}{END}".encode() * 2, b"B\xe4ume"):
        path.write_bytes(content)
        refuses(r"README\.md", update_model_card, path, both, dataset=DATASET)
        assert path.read_bytes() == content
        assert list(path.parent.iterdir()) == [path]


def test_a_link_is_refused_and_what_it_points_to_stays(both, path):
    """Others may share that, in a cache for example."""
    blob = path.with_name("blob.md")
    blob.write_text("# Card\n")
    path.symlink_to(blob)
    refuses("is a link", update_dataset_card, path, both)
    assert blob.read_text() == "# Card\n"


PIECES = st.sampled_from(["\n", "\r\n", "# Card", "```", "<!--", "-->", "| a |", "é😀", " ", "\ufeff", "---"])
TEXT = st.lists(PIECES | st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8), max_size=8).map("".join)
HOSTILE = st.text(st.sampled_from("|\n\r`<>!-_*[]()\\& ab") | st.characters(), max_size=12) | st.sampled_from(
    [END, BEGIN, "| a |\n| b |", "<script>", "--> <b>", "`|`", "[x](javascript:y)", "a\n# b"]
)


@settings(deadline=None)
@given(label=HOSTILE, words=HOSTILE, version=HOSTILE)
def test_no_label_or_signature_gets_out_of_its_place(label, words, version):
    def card_of(label, signature):
        details = {"images": 1200, "attribute_counts": {label: 1200}, "settings": {"preset": "papers"}}
        result = {"lic": 1.25, "lic_d": 45.75, "signature": signature, "details": details}
        return put_section("", model_section(checked({"lic": result}), "a/b"))

    plain, card = card_of("female", "metric:lic|v:0.1.0"), card_of(label, f"metric:{words}|v:{version}")
    assert len(re.split(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]", card)) == plain.count("\n") + 1
    assert (card.count(BEGIN), card.count(END)) == (1, 1)
    assert not re.search(r"(?<!\\)<(?!!-- captionbias: (begin|end) -->)", card)
    card.encode("utf-8")


@settings(deadline=None)
@given(TEXT, TEXT)
def test_any_text_stays_and_the_second_time_nothing_changes(before, behind):
    new = put_section(before, "Bias.\n\nIt is 3.")
    assert new.startswith(before)
    assert put_section(new, "Bias.\n\nIt is 3.") == new
    moved = put_section(new + behind, "Other.")
    assert moved.endswith(END + new.rpartition(END)[2] + behind)
    assert moved.startswith(new.partition(BEGIN)[0] + BEGIN)
    assert put_section(moved, "Bias.\n\nIt is 3.") == new + behind


def test_the_commands_name_the_files_that_changed_or_the_bad_entry(both, path):
    written = path.with_name("lic.json")

    def invoke(kind, lic, *options, status=0):
        scores = {key: value for key, value in lic.items() if key != "details"}
        write_json({"metric": "lic", "scores": scores, "details": lic["details"]}, written)
        done = CliRunner().invoke(command, [kind, str(path), "--results", str(written), *options])
        assert done.exit_code == status, done.output
        return unstyle(done.output).replace("\n", "")

    options = ["--dataset", DATASET]
    assert "lic is" in invoke("model", {**both["lic"], "lic": None}, *options, status=2)
    assert str(path) in invoke("model", both["lic"], *options)
    assert invoke("model", both["lic"], *options) == "nothing changed"
    assert invoke("dataset", both["lic"]) == str(path)
    path.unlink()
    (path.parent / ".eval_results" / "captionbias.yaml").unlink()
    assert "no .eval_results was written: it needs --dataset" in invoke("model", both["lic"])
    assert "Measured on" not in text_of(path)
    assert not list((path.parent / ".eval_results").iterdir())
