"""Cards on disk: real results in, the rest of the text byte for byte; a second run or a refused one changes nothing."""

from __future__ import annotations

import os

import pytest
import yaml
from huggingface_hub import DatasetCard, ModelCard, parse_eval_result_entries

from captionbias import metrics
from captionbias.hub.cards import BEGIN, END, update_dataset_card, update_model_card
from captionbias.hub.eval_results import TASK_NAME
from captionbias.metrics import catalogue
from captionbias.metrics.catalogue import of_captions
from captionbias.metrics.verdicts import verdict
from captionbias.report.picture import written
from captionbias.report.wording import fixed
from captionbias.synthetic import plant
from captionbias.text.markdown import escaped

TASKS = {task: score for task, score in catalogue.TASKS.items() if score.metric in of_captions()}
pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # 80 images are few

ATTACK = {"preset": "fast", "trials": 2, "bootstrap": 20, "details": True}
DATASET = "someone/captions"
FRONT = """---
z: &x 'é'   # why
language: [en]
model-index:
- name: x
  results:
  - task: {type: a}
    dataset: {type: b, name: c}
    metrics:
    - {type: lic, value: 3}  # theirs
y: *x
---
"""
TEXT = "# Card\r\na line feed\nno end"
ODD = FRONT.replace("\n", "\r\n") + TEXT


@pytest.fixture(scope="module")
def captions():
    return vars(plant(images=80, captions=2, a_to_t=0.5))


@pytest.fixture(scope="module")
def both(captions):
    """Every metric, of a captioner and people."""
    chosen = {"lic": ATTACK, "dbac": ATTACK, "dpa": {"trials": 2}, "label_leakage": {"trials": 2}}
    few = {"bootstrap": 20, "details": True}
    return {name: getattr(metrics, name)(**captions, **few | chosen.get(name, {})) for name in of_captions()}


@pytest.fixture(scope="module")
def people(captions):
    """LIC and DBAC, of people alone."""
    alone = {key: value for key, value in captions.items() if key != "predictions"}
    return {"lic": metrics.lic(**alone, **ATTACK), "dbac": metrics.dbac(**alone, **ATTACK)}


@pytest.fixture
def write(tmp_path):
    def card(text):
        path = tmp_path / "README.md"
        path.write_bytes(text.encode())
        return path

    return card


def text_of(path):
    return path.read_bytes().decode()


def section_of(path):
    return text_of(path).partition(BEGIN)[2].partition(END)[0]


def rows_of(path):
    lines = [line.strip("| ").split(" | ") for line in section_of(path).splitlines() if line.startswith("|")]
    return {label: tuple(cells) for label, *cells in lines[2:]}


def entries_in(folder):
    return parse_eval_result_entries(yaml.safe_load(text_of(folder / ".eval_results" / "captionbias.yaml")))


# A dataset


@pytest.mark.parametrize("measured", ["both", "people"])
def test_a_new_dataset_card_has_what_was_measured_of_people(measured, tmp_path, request):
    results = request.getfixturevalue(measured)
    path = tmp_path / "README.md"
    assert update_dataset_card(tmp_path, results) == [path]
    assert update_dataset_card(tmp_path, results) == []
    assert DatasetCard.load(path).data.task_categories == ["image-to-text"]
    lic, dbac = results["lic"], results["dbac"]
    rows = rows_of(path)
    assert rows["LIC x 100, human captions"][0] == f"{lic['lic_d']:.1f}"
    assert rows["omega A to T, human captions"] == (
        f"{dbac['omega_h_a_to_t']:.3f}",
        f"[{dbac['omega_h_a_to_t_ci_low']:.3f}, {dbac['omega_h_a_to_t_ci_high']:.3f}]",
    )
    assert rows["omega T to A, human captions"][0] == f"{dbac['omega_h_t_to_a']:.3f}"
    assert all(label.endswith("human captions") for label in rows)
    assert all(f"`{result['signature']}`" in section_of(path) for result in (lic, dbac))
    assert "80 images (40 female, 40 male)" in section_of(path)
    assert ("beside a captioner's captions" in section_of(path)) == (measured == "both")


# A model


def test_a_model_card_has_every_score_three_times(both, tmp_path):
    changed = update_model_card(tmp_path, both, dataset=DATASET, model_name="nic")
    assert changed == [tmp_path / name for name in ("README.md", "captionbias.svg", ".eval_results/captionbias.yaml")]
    drawn = changed[1].read_text()
    assert "(captionbias.svg)" in section_of(changed[0])
    for key in ("dbac_a_to_t_net", "dbac_t_to_a_net", "lic"):
        assert written(both[catalogue.SCORES[key].metric].estimates[key], catalogue.SCORES[key]) in drawn
    values = {task: both[score.metric][score.key] for task, score in TASKS.items()}
    card = ModelCard.load(changed[0])
    assert {result.metric_type: result.metric_value for result in card.data.eval_results} == values
    assert {entry.task_id: entry.value for entry in entries_in(tmp_path)} == values
    rows = rows_of(changed[0])
    assert {task: rows[score.label][0] for task, score in TASKS.items()} == {
        task: fixed(values[task], score.digits) for task, score in TASKS.items()
    }
    order = list(rows)
    for direction in ("A to T", "T to A"):
        first = order.index(f"DBAC {direction}, net")
        of_direction = [f"DBAC {direction}, {form}" for form in ("net", "matched", "blind", "as published")]
        assert order[first : first + 4] == of_direction
    assert card.data.model_name == "nic"
    assert all(f"`{result['signature']}`" in section_of(changed[0]) for result in both.values())


def test_verdicts_and_reservations_reach_the_card_as_the_tool_gives_them(captions, tmp_path):
    """Also in the entries; and the quick preset is said not to be for publication."""
    found = metrics.dbac.measure(**captions, preset="fast", trials=2, bootstrap=200, details=True, cache=False)
    update_model_card(tmp_path, {"dbac": found.flat()}, dataset=DATASET)
    rows = rows_of(tmp_path / "README.md")
    for direction in ("a_to_t", "t_to_a"):
        said = verdict(found.estimates, f"dbac_{direction}_net")
        assert said != "-"
        assert rows[catalogue.label(f"dbac_{direction}_net")][-1] == said
        (entry,) = (one for one in entries_in(tmp_path) if one.task_id == f"dbac_{direction}_net")
        assert f"; {said}; preset fast, not for publication; metric:dbac|" in entry.notes
        assert rows[catalogue.label(f"dbac_{direction}")][-1] == "-", "no verdict goes by it"
    section = section_of(tmp_path / "README.md")
    assert found.notes
    assert all(escaped(f"dbac: {note}") in section for note in found.notes)
    assert "not for publication" in section


def test_everything_but_our_parts_stays_and_a_second_run_writes_nothing(both, write):
    path = write(ODD)
    files = update_model_card(path, both, dataset=DATASET, date="2026-01-31")
    done = text_of(path)
    assert done.partition(BEGIN)[0].endswith(f"\r\n---\r\n{TEXT}\r\n\r\n")
    assert done.endswith(END + "\r\n")
    assert done.count("\n") == done.count("\r\n") + 1  # the line feed that was there
    card = ModelCard.load(path)
    theirs, *ours = card.data.eval_results
    assert (theirs.metric_type, theirs.metric_value) == ("lic", 3)
    assert {result.task_name for result in ours} == {TASK_NAME}
    assert (card.data.z, card.data.y, card.data.language, card.data.model_name) == ("é", "é", ["en"], "x")
    for file in files:
        file.chmod(0o444)
        os.utime(file, (1, 1))
    before = [(file.stat().st_ino, file.stat().st_mtime, file.read_bytes()) for file in files]
    assert update_model_card(path, both, dataset=DATASET) == []
    assert [(file.stat().st_ino, file.stat().st_mtime, file.read_bytes()) for file in files] == before


def test_new_results_take_the_place_of_the_old(both, write):
    path = write(ODD)
    update_model_card(path, both, dataset=DATASET, date="2026-01-31")
    first = text_of(path)
    update_model_card(path, {"lic": both["lic"]}, dataset="other/captions", date="2026-02-28")
    assert {entry.date for entry in entries_in(path.parent)} == {"2026-02-28"}
    assert [entry.task_id for entry in entries_in(path.parent)] == ["lic", "leakage", "confidence"]
    assert [result.dataset_type for result in ModelCard.load(path).data.eval_results] == ["b", *["other/captions"] * 3]
    update_model_card(path, both, dataset=DATASET, date="2026-01-31")
    assert text_of(path) == first
    changed = update_model_card(path, both, dataset=DATASET, date="2026-02-28")
    assert changed == [path.parent / ".eval_results" / "captionbias.yaml"]
    assert {entry.date for entry in entries_in(path.parent)} == {"2026-02-28"}


def test_a_new_index_is_named_after_the_folder(both, tmp_path, monkeypatch):
    folder = tmp_path / "my-model"
    folder.mkdir()
    monkeypatch.chdir(folder)
    update_model_card("README.md", {"lic": both["lic"]}, dataset=DATASET)
    assert ModelCard.load(folder / "README.md").data.model_name == "my-model"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dataset": "captions"}, "OWNER/NAME"),
        ({"dataset": DATASET, "dataset_revision": "main"}, "dataset_revision"),
        ({"dataset": DATASET, "date": "today"}, "date is"),
        ({"dataset": DATASET, "source_user": "me"}, "source_url is missing"),
        ({"dataset": DATASET, "model_name": " "}, "model_name is empty"),
    ],
)
def test_a_refused_option_changes_nothing(options, message, both, tmp_path):
    with pytest.raises(ValueError, match=message):
        update_model_card(tmp_path, both, **options)
    assert not list(tmp_path.iterdir())


def test_results_without_what_the_card_shows_are_refused(both, people, tmp_path):
    with pytest.raises(ValueError, match="no score of a captioner beside its data"):
        update_model_card(tmp_path, people, dataset=DATASET)
    with pytest.raises(ValueError, match="no score of human captions"):
        update_dataset_card(tmp_path, {name: both[name] for name in ("gender_error", "dpa")})
    spoiled = both | {"lic": {**both["lic"], "lic": float("nan")}}
    for update in (update_dataset_card, lambda *arguments: update_model_card(*arguments, dataset=DATASET)):
        with pytest.raises(ValueError, match=r"results\['lic'\]: lic is"):
            update(tmp_path, spoiled)
    assert not list(tmp_path.iterdir())


# Text between two rules at the start is front matter to the Hub as well.
@pytest.mark.parametrize("text", [f"{END}\n{BEGIN}", BEGIN, "---\na: [\n---\n", "---\nsome text\n---\n"])
def test_a_card_that_cannot_be_changed_is_left_and_named(text, both, write):
    path = write(text)
    with pytest.raises(ValueError, match=r"README\.md: the (markers|front matter)"):
        update_model_card(path, both, dataset=DATASET)
    if BEGIN in text:
        with pytest.raises(ValueError, match=r"README\.md: the markers"):
            update_dataset_card(path, both)
    assert text_of(path) == text
    assert [file.name for file in path.parent.iterdir()] == ["README.md"]


# Files


@pytest.mark.skipif(os.name != "posix", reason="links")
def test_a_link_is_refused_and_what_it_points_to_stays(both, tmp_path):
    cache, repository = tmp_path / "cache", tmp_path / "repository"
    for folder in (cache, repository):
        folder.mkdir()
    (cache / "blob").write_text("# Card\n")
    (repository / "README.md").symlink_to(cache / "blob")
    with pytest.raises(ValueError, match=r"README\.md is a link to .*blob"):
        update_dataset_card(repository, both)
    (repository / "README.md").unlink()
    (repository / ".eval_results").symlink_to(cache)
    with pytest.raises(ValueError, match=r"\.eval_results is a link to .*cache"):
        update_model_card(repository, both, dataset=DATASET)
    assert (cache / "blob").read_text() == "# Card\n"
    assert not (repository / "README.md").exists()


def test_what_is_not_a_card_is_refused_and_named(people, tmp_path):
    (tmp_path / "README.md").write_bytes("# Bäume".encode("latin-1"))
    with pytest.raises(ValueError, match=r"README\.md is not UTF-8, from byte 3"):
        update_dataset_card(tmp_path, people)
    for place in ("none", "none/README.md", "data.parquet"):
        with pytest.raises(ValueError, match=r"name a README\.md, or the folder"):
            update_dataset_card(tmp_path / place, people)
    assert [file.read_bytes() for file in tmp_path.iterdir()] == ["# Bäume".encode("latin-1")]


def test_when_the_second_file_cannot_be_written_the_first_is_not(both, write, monkeypatch):
    path = write("# Card\n")
    (path.parent / ".eval_results" / "captionbias.yaml.part").mkdir(parents=True)
    monkeypatch.setattr("captionbias.io.files._part", lambda file: file.with_name(f"{file.name}.part"))
    with pytest.raises(ValueError, match=r"captionbias\.yaml cannot be written"):
        update_model_card(path, both, dataset=DATASET)
    assert text_of(path) == "# Card\n"
    assert sorted(file.name for file in path.parent.iterdir()) == [".eval_results", "README.md"]
