"""The examples of the README and of docs/ run as written, on planted captions and files of their names."""

import contextlib
import glob
import io
import itertools
import json
import re
import runpy
import shlex
import shutil
import sys
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
import typer

from captionbias.cli.main import app
from captionbias.hub.modules import install_metrics
from captionbias.synthetic import plant
from tests.attackers.conftest import small_networks, tiny_bert  # noqa: F401
from tests.cli.conftest import ran
from tests.images.coco_pictures import annotation, write_annotations, write_pictures
from tests.training.conftest import images, learner, processor, tokenizer  # noqa: F401

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
NUMBER = r"-?\d+\.?\d*"


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def commands(page: Path) -> list[list[str]]:
    """The words after `captionbias` of each command, in fences and in lines with an indent."""
    text = page.read_text(encoding="utf-8")
    indented = "\n".join(re.findall(r"^    (.*)", text, re.MULTILINE))
    lines = "\n".join([*blocks(page, "bash"), indented]).replace("\\\n", " ").splitlines()
    words = [shlex.split(line, comments=True) for line in lines if re.match(r"captionbias |.* -m captionbias ", line)]
    return [line[line.index("captionbias") + 1 :] for line in words]


@pytest.fixture(autouse=True)
def one_core(monkeypatch) -> None:
    """So little is trained that starting workers would take longer."""
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")


@pytest.fixture(scope="session")
def planted():
    return plant(300, a_to_t=0.7, t_to_a=0.9, captions=2, seed=6)


@pytest.fixture
def folder(planted, tmp_path, monkeypatch) -> Path:
    """The working folder: the files that examples name."""

    def white(text: str) -> str:
        return text.replace("a man", "a white man")

    def write(name: str, **columns: Any) -> None:
        pd.DataFrame({"image_id": ids, **columns}).to_parquet(tmp_path / f"{name}.parquet")

    ids, given = list(range(len(planted.predictions))), {"gender": planted.attributes, "tasks": planted.tasks}
    skin = ["Light" if image % 3 else "Dark" for image in ids]
    write("people", references=[list(map(white, texts)) for texts in planted.references], skin=skin, **given)
    write("objects", objects=planted.tasks)
    write("train", **given)
    for name, seed in (("nic", 5), ("sat", 6)):
        write(name, caption=list(map(white, plant(len(ids), a_to_t=0.7, captions=1, seed=seed).predictions)))
    german = plant(len(ids), captions=2, language="de")
    write("nic_de", caption=german.predictions)
    write("people_de", references=german.references, gender=german.attributes)
    labels = [(image, n, label) for n in range(3) for image, label in enumerate(planted.attributes)]
    votes = [(image, n, label if (image + n) % 7 else "unsure") for image, n, label in labels]
    pd.DataFrame(votes, columns=["image_id", "annotator", "gender"]).to_csv(tmp_path / "votes.csv", index=False)
    (tmp_path / "my_tasks.json").write_text(json.dumps({"cake": ["cake"], "dog": ["dog"]}))
    write_pictures(tmp_path / "val2014", [42, 43])
    write_annotations(tmp_path, [annotation(42)], ids=(42, 43))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def names(folder, planted) -> dict[str, Any]:
    """What examples take as given."""
    flags = np.random.default_rng(0).random((2, len(planted.predictions), 8)) < 0.3
    flags = {"genders": np.eye(2)[np.arange(300) % 2], "objects": flags[0], "predicted_objects": flags[1]}
    return {**vars(planted), **flags, "train_attributes": planted.attributes, "train_tasks": planted.tasks}


@pytest.fixture
def few(names) -> dict[str, Any]:
    """So little that networks learn in seconds."""
    return {key: names[key][:60] for key in ("predictions", "references", "attributes")}


@pytest.fixture
def installed(modules_cache):
    """The metrics where evaluate finds them by name, as after `captionbias install-metrics`."""
    install_metrics(["dbac", "sway"])


@pytest.fixture
def run(names, folder, monkeypatch):
    """Runs the Python of a page as one script, in which these names are given too; what it leaves."""

    def run(page: str, **given: Any) -> dict[str, Any]:
        script = folder / "examples.py"
        script.write_text("\n".join(blocks(ROOT / page, "python")), encoding="utf-8")
        module = ModuleType("examples")
        module.__file__ = str(script)
        vars(module).update(names | given)
        monkeypatch.setitem(sys.modules, "examples", module)
        exec(compile(script.read_text(encoding="utf-8"), script, "exec"), vars(module))
        return vars(module)

    return run


# Below, in tests/datasets/test_build.py and tests/counting/test_engines.py.
ELSEWHERE = ("attackers", "extend", "processes", "training", "datasets", "cluster", "counting")
ALONE = {f"docs/{name}.md" for name in ELSEWHERE}
WITH_PYTHON = {str(path.relative_to(ROOT)) for path in PAGES if blocks(path, "python")}


@pytest.mark.parametrize("page", sorted(WITH_PYTHON - ALONE))
def test_the_python_of_a_page_runs(page, run, installed):
    run(page)


@pytest.mark.slow
def test_attackers_of_your_own_pretrained_ones_and_a_script_of_several_processes(
    few,
    run,
    folder,
    tiny_bert,  # noqa: F811
    small_networks,  # noqa: F811
):
    for name in ("all-MiniLM-L6-v2", "models/bert"):  # folders of these names stand for what is downloaded
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).symlink_to(tiny_bert)
    for page in ("attackers", "processes"):
        run(f"docs/{page}.md", **few)


def test_a_callback_of_a_training(run, planted, learner, processor, tokenizer, images, monkeypatch):  # noqa: F811
    import torch
    import transformers
    from datasets import Dataset

    words = tokenizer(planted.predictions, padding="max_length", max_length=14, return_tensors="pt")
    rows = {"pixel_values": images, "image": images, "labels": words.input_ids.numpy()}
    pixels = {"dtype": torch.float32, "columns": ["pixel_values"], "output_all_columns": True}
    train = Dataset.from_dict(rows).with_format("torch", **pixels)
    quick = {"num_train_epochs": 1, "report_to": "none", "disable_tqdm": True, "use_cpu": True}
    for kind in ("TrainingArguments", "Seq2SeqTrainingArguments"):
        monkeypatch.setattr(transformers, kind, partial(getattr(transformers, kind), **quick))
    processor.batch_decode, processor.save_pretrained = tokenizer.batch_decode, print
    given = {"model": learner, "processor": processor, "tokenizer": tokenizer}
    left = run("docs/training.md", train=train.select(range(8)), validation=train, **given)
    assert any("eval_lic" in row for row in left["trainer"].state.log_history)
    generated = np.where(words.input_ids == tokenizer.pad_token_id, -100, words.input_ids)
    assert left["compute_metrics"](transformers.EvalPrediction(generated, None))["sway_worst"] > 0
    assert left["seq2seq"].state.best_metric is not None


def parsed(arguments: list[str]) -> str:
    """The command that the arguments name; every option is known, and every required one is there."""
    command, context = typer.main.get_command(app), None
    while True:
        name, rest = (arguments[0], arguments[1:]) if context else ("captionbias", arguments)
        context = command.make_context(name, list(rest), parent=context)
        rest = [*context._protected_args, *context.args]
        if not hasattr(command, "resolve_command") or not rest:
            return context.command_path
        _, command, _ = command.resolve_command(context, rest)
        arguments = rest


@pytest.mark.parametrize("page", [str(path.relative_to(ROOT)) for path in PAGES if commands(path)])
def test_the_commands_of_a_page_are_understood(page, folder):
    for arguments in commands(ROOT / page):
        assert parsed(arguments).startswith("captionbias"), arguments


def test_quick_commands_run(folder):
    """The first of each metric with `--preset fast`, and what works on their results."""
    quick = {}
    for arguments in (arguments for page in PAGES for arguments in commands(page)):
        if {"fast", "--fast"} & {*arguments[2:]}:
            quick.setdefault(tuple(arguments[:2]), arguments)
    assert {command for command, _ in quick} >= {"measure", "compare"}
    for arguments in quick.values():
        ran(*arguments)


@pytest.mark.slow
def test_commands_that_train_run(folder, tiny_bert, small_networks):  # noqa: F811
    """With small networks; each page's in their order, in a folder with what they name."""
    for name in ("MODEL_FOLDER", "DATASET_FOLDER", "models", "results", "run"):
        (folder / name).mkdir()
    state = {"best_global_step": 2, "log_history": [{"step": 2, "eval_sway_wrong_gap": 1.0}]}
    (folder / "run" / "trainer_state.json").write_text(json.dumps(state))
    (folder / "models" / "all-MiniLM-L6-v2").symlink_to(tiny_bert)
    (folder / "DATASET_FOLDER" / "README.md").write_text("---\nlicense: mit\n---\n# Captions\n")
    shutil.copy(folder / "nic.parquet", folder / "blip.parquet")
    words = sorted({word for text in pd.read_parquet(folder / "nic.parquet").caption for word in text.split()})
    vectors = np.random.default_rng(0).normal(size=(len(words), 50)).round(3)
    lines = [f"{word} {' '.join(map(str, of_word))}" for word, of_word in zip(words, vectors, strict=True)]
    (folder / "glove.6B.50d.txt").write_text("\n".join(lines))
    for name in ("nic", "sat", "people"):
        pd.read_parquet(f"{name}.parquet")[:60].to_parquet(f"{name}.parquet")
    nic = ["--predictions", "nic.parquet", "--attributes", "people.parquet", "--output", "results/nic.json"]
    ran("measure", "gender_error", *nic)
    done = []
    for arguments in itertools.chain.from_iterable(map(commands, PAGES)):
        kind = " ".join(arguments[: 2 if arguments[0] in ("measure", "card") else 1])
        trained = kind in ("measure all", "report", "card model", "card dataset")
        quick = kind != "measure lic" or "--preset" in arguments[2:-1]
        if (trained or not quick) and not {"--images", "a.csv", "--counts"} & {*arguments}:
            listed = [sorted(glob.glob(word)) if "*" in word else [word] for word in arguments]
            ran(*itertools.chain.from_iterable(listed))
            done.append(kind)
    assert len(set(done)) == 5


def same_but_for_rounding(shown: str, written: str, **by: float) -> None:
    """Another processor may round otherwise."""
    shown, written = (
        "\n".join(" ".join(line.split()) for line in text.strip().splitlines()) for text in (shown, written)
    )
    assert re.sub(NUMBER, "#", shown) == re.sub(NUMBER, "#", written)
    assert [*map(float, re.findall(NUMBER, shown))] == pytest.approx([*map(float, re.findall(NUMBER, written))], **by)


@pytest.mark.slow
def test_the_example_of_the_readme_prints_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    demo, measure = (arguments for arguments in commands(PAGES[0]) if "example" in " ".join(arguments))
    ran(*demo)
    written = re.search(r"^    gap in wrong names.*\n.*\n.*$", PAGES[0].read_text(encoding="utf-8"), re.MULTILINE)
    shown = ran(*measure, columns="80")[0].splitlines()
    starts = next(row for row, line in enumerate(shown) if line.startswith("gap in wrong names"))
    same_but_for_rounding("\n".join(shown[starts : starts + 3]), written[0], abs=0.11)


def test_the_tutorial_prints_what_it_says():
    """To the second digit: another processor may round otherwise."""
    cells = json.loads((ROOT / "docs" / "tutorial.ipynb").read_text(encoding="utf-8"))["cells"]
    session: dict[str, Any] = {}
    for cell in (cell for cell in cells if cell["cell_type"] == "code"):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec("".join(cell["source"]), session)
        written = "".join(line for output in cell["outputs"] for line in output["text"])
        same_but_for_rounding(printed.getvalue(), written, rel=0.05, abs=0.02)


@pytest.mark.parametrize("metric", ["ba_mals", "gender_error"])
def test_pictures_show_the_present_scores(metric):
    drawn = runpy.run_path(str(ROOT / "docs" / "pictures.py"))
    rows = {name: drawn["measured"](metric, dials) for name, dials in drawn["CAPTIONERS"].items()}
    assert drawn["picture"](metric, rows) == (ROOT / "docs" / "pictures" / f"{metric}.svg").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path, monkeypatch):
    from mkdocs.commands import build
    from mkdocs.config import load_config

    monkeypatch.chdir(ROOT)
    build.build(load_config(str(ROOT / "mkdocs.yml"), strict=True, site_dir=str(tmp_path / "site")))
    page = (tmp_path / "site" / "api" / "metrics.html").read_text(encoding="utf-8")
    assert 'id="captionbias.metrics.lic.lic"' in page
    assert (tmp_path / "site" / "files" / "metrics" / "dbac" / "index.html").is_file()
    assert "biased less faithful" in (tmp_path / "site" / "tutorial.html").read_text(encoding="utf-8")
