"""Cards on disk: real results in, everything else byte for byte, the second run nothing, a refused run nothing."""

from __future__ import annotations

import copy
import os
import stat

import pytest
import yaml
from huggingface_hub import DatasetCard, ModelCard, parse_eval_result_entries
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from captionbias import metrics
from captionbias.hub.cards import update_dataset_card, update_model_card
from captionbias.hub.eval_results import TASK_NAME
from captionbias.hub.markdown import BEGIN, END, fixed
from captionbias.hub.scores import TASKS
from captionbias.synthetic import plant

pytestmark = pytest.mark.filterwarnings("ignore::captionbias.captions.CaptionBiasWarning")  # 80 images are few

ATTACK = {"preset": "fast", "trials": 2, "bootstrap": 20, "details": True}
DATASET = "someone/captions"
ODD = "\ufeff" + (
    "---\nz: &x 'é'   # why\nlanguage: [en]\nmodel-index:\n- name: x\n  results:\n  - task: {type: a}\n"
    "    dataset: {type: b, name: c}\n    metrics:\n    - {type: lic, value: 3}  # theirs\ny: *x\n---\n# Card\n"
).replace("\n", "\r\n")
ODD += "a line feed\nno end"
SEARCH = settings(deadline=None, max_examples=50)
TEXT = st.lists(
    st.sampled_from(["\n", "\r\n", "\r", "# Card", "---", "\ufeff", "```", "<!--"])
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    max_size=8,
).map("".join)


@pytest.fixture(scope="module")
def captions():
    return vars(plant(images=80, captions=2, a_to_t=0.5))


@pytest.fixture(scope="module")
def both(captions):
    """Every metric, of a captioner and people."""
    chosen = {"lic": ATTACK, "dbac": ATTACK, "dpa": {"trials": 2}, "label_leakage": {"trials": 2}}
    few = {"bootstrap": 20, "details": True}
    return {name: getattr(metrics, name)(**captions, **few | chosen.get(name, {})) for name in metrics.__all__}


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
    return {label: (value, interval) for label, value, interval in lines[2:]}


def entries_in(folder):
    return parse_eval_result_entries(yaml.safe_load(text_of(folder / ".eval_results" / "captionbias.yaml")))


# A dataset


@pytest.mark.parametrize("measured", ["both", "people"])
def test_a_dataset_card_has_what_was_measured_of_people(measured, write, request):
    results = request.getfixturevalue(measured)
    path = write("# Card\n")
    assert update_dataset_card(path, results) == [path]
    lic, dbac = results["lic"], results["dbac"]
    rows = rows_of(path)
    assert rows["LIC x 100, human captions"][0] == f"{lic['lic_d']:.1f}"
    assert rows["omega A to T, human captions"] == (
        f"{dbac['omega_h_a_to_t']:.3f}",
        f"[{dbac['omega_h_a_to_t_ci_low']:.3f}, {dbac['omega_h_a_to_t_ci_high']:.3f}]",
    )
    assert rows["omega T to A, human captions"][0] == f"{dbac['omega_h_t_to_a']:.3f}"
    assert all(label.endswith("human captions") for label in rows)
    assert f"`{lic['signature']}`" in section_of(path)
    assert f"`{dbac['signature']}`" in section_of(path)
    assert "80 images (40 female, 40 male)" in section_of(path)


def test_a_captioner_alone_says_nothing_of_a_dataset(both, write):
    path = write("# Card\n")
    with pytest.raises(ValueError, match="no score of human captions"):
        update_dataset_card(path, {"gender_error": both["gender_error"], "directional_ba": both["directional_ba"]})
    assert text_of(path) == "# Card\n"


def test_a_dataset_card_that_is_not_there_is_made(people, tmp_path):
    assert update_dataset_card(tmp_path, people) == [tmp_path / "README.md"]
    assert DatasetCard.load(tmp_path / "README.md").data.task_categories == ["image-to-text"]
    assert update_dataset_card(tmp_path, people) == []


# A model


def test_a_model_card_has_every_score_three_times(both, tmp_path):
    changed = update_model_card(tmp_path, both, dataset=DATASET, model_name="nic")
    assert changed == [tmp_path / "README.md", tmp_path / ".eval_results" / "captionbias.yaml"]
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
        assert order.index(f"DBAC {direction}, as published") == order.index(f"DBAC {direction}, matched") + 1
    assert card.data.model_name == "nic"
    assert all(f"`{result['signature']}`" in section_of(changed[0]) for result in both.values())


def test_one_direction_of_dbac_is_enough(captions, tmp_path):
    dbac = metrics.dbac(**captions, **ATTACK, directions=["a_to_t"])
    update_model_card(tmp_path, {"dbac": dbac}, dataset=DATASET)
    assert [entry.task_id for entry in entries_in(tmp_path)] == ["dbac_a_to_t_matched", "dbac_a_to_t"]


def test_everything_but_our_parts_stays(both, write):
    path = write(ODD)
    update_model_card(path, both, dataset=DATASET)
    done = text_of(path)
    front, text = ODD.split("y: *x", 1)
    assert done.startswith(front)
    assert done.partition(BEGIN)[0].endswith("y: *x" + text + "\r\n\r\n")
    assert done.endswith(END + "\r\n")
    assert done.count("\n") == done.count("\r\n") + 1  # the line feed that was there
    theirs, *ours = ModelCard.load(path).data.eval_results
    assert (theirs.metric_type, theirs.metric_value) == ("lic", 3)
    assert {result.task_name for result in ours} == {TASK_NAME}


def test_a_second_run_writes_nothing(both, write):
    path = write(ODD)
    update_model_card(path, both, dataset=DATASET, date="2026-01-31")
    files = [path, path.parent / ".eval_results" / "captionbias.yaml"]
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
    update_model_card(path, both, dataset=DATASET)
    assert text_of(path) == first


def test_a_given_date_replaces_the_date(both, tmp_path):
    update_model_card(tmp_path, both, dataset=DATASET, date="2026-01-31")
    changed = update_model_card(tmp_path, both, dataset=DATASET, date="2026-02-28")
    assert changed == [tmp_path / ".eval_results" / "captionbias.yaml"]
    assert {entry.date for entry in entries_in(tmp_path)} == {"2026-02-28"}


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


def test_people_alone_say_nothing_of_a_model(people, tmp_path):
    with pytest.raises(ValueError, match="no score of a captioner beside its data"):
        update_model_card(tmp_path, people, dataset=DATASET)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("value", [float("nan"), None, "0.1"])
def test_a_refused_score_changes_nothing(value, both, tmp_path):
    spoiled = copy.deepcopy(both) | {"lic": {**both["lic"], "lic": value}}
    for update in (update_dataset_card, lambda *given: update_model_card(*given, dataset=DATASET)):
        with pytest.raises(ValueError, match=r"results\['lic'\]: lic is"):
            update(tmp_path, spoiled)
    assert not list(tmp_path.iterdir())


# Text between two rules at the start is front matter to the Hub as well.
@pytest.mark.parametrize("text", [f"{END}\n{BEGIN}", BEGIN, "---\na: [\n---\n", "---\nsome text\n---\n"])
def test_a_card_that_cannot_be_changed_is_left_and_named(text, both, write):
    path = write(text)
    with pytest.raises(ValueError, match=r"README\.md: the (markers|front matter)"):
        update_model_card(path, both, dataset=DATASET)
    assert text_of(path) == text
    assert [file.name for file in path.parent.iterdir()] == ["README.md"]


# Files


@pytest.mark.skipif(os.name != "posix", reason="modes")
def test_the_mode_of_a_card_stays(people, write):
    path = write("# Card\n")
    path.chmod(0o640)
    update_dataset_card(path, people)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [file.name for file in path.parent.iterdir()] == ["README.md"]


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


@pytest.mark.skipif(os.name != "posix", reason="links")
def test_a_folder_behind_a_link_is_a_folder(people, tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "here").symlink_to(tmp_path / "there")
    assert update_dataset_card(tmp_path / "here", people) == [tmp_path / "there" / "README.md"]


@pytest.mark.parametrize("place", ["none", "none/README.md", "data.parquet"])
def test_what_is_no_card_is_refused(place, people, tmp_path):
    (tmp_path / "data.parquet").write_bytes(b"PAR1")
    with pytest.raises(ValueError, match=r"give a README\.md, or the folder"):
        update_dataset_card(tmp_path / place, people)
    assert [file.name for file in tmp_path.iterdir()] == ["data.parquet"]


def test_a_card_that_is_not_utf8_is_left_and_named(people, tmp_path):
    (tmp_path / "README.md").write_bytes("# Bäume".encode("latin-1"))
    with pytest.raises(ValueError, match=r"README\.md is not UTF-8, from byte 3"):
        update_dataset_card(tmp_path, people)
    assert (tmp_path / "README.md").read_bytes() == "# Bäume".encode("latin-1")


def test_when_the_second_file_cannot_be_written_the_first_is_not(both, write, monkeypatch):
    path = write("# Card\n")
    (path.parent / ".eval_results" / "captionbias.yaml.part").mkdir(parents=True)
    monkeypatch.setattr("captionbias.io.files._part", lambda file: file.with_name(f"{file.name}.part"))
    with pytest.raises(ValueError, match=r"captionbias\.yaml cannot be written"):
        update_model_card(path, both, dataset=DATASET)
    assert text_of(path) == "# Card\n"
    assert sorted(file.name for file in path.parent.iterdir()) == [".eval_results", "README.md"]


@SEARCH
@given(front=st.none() | st.sampled_from(["", "license: mit\n", "# c\na: 'é' # d\n", "t: |+\n  x\n\n"]), text=TEXT)
def test_any_card_keeps_its_bytes_and_the_second_run_changes_nothing(front, text, both, tmp_path_factory):
    assume(front is not None or not text.removeprefix("\ufeff").lstrip().startswith("---"))
    path = tmp_path_factory.mktemp("card") / "README.md"
    before = text if front is None else f"---\n{front}---\n{text}"
    path.write_bytes(before.encode())
    results = {"lic": both["lic"]}
    assert update_dataset_card(path, results) == [path]
    assert path.read_bytes().startswith(before.encode())
    assert update_dataset_card(path, results) == []
    path.write_bytes(before.encode())
    update_model_card(path, results, dataset=DATASET)
    mark = "\ufeff" if front is None and text.startswith("\ufeff") else ""
    head = mark if front is None else f"---\n{front}"
    done = text_of(path)
    assert done.startswith(head)
    assert done.partition(BEGIN)[0].rstrip("\r\n").endswith(before[len(head) :].rstrip("\r\n"))
    assert before[len(head) :] in done
    assert update_model_card(path, results, dataset=DATASET) == []
