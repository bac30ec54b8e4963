"""The same tasks without the harnesses: of each there is only how it calls a task."""

import asyncio
import importlib
import json
import math
import re
import runpy
import sys
from dataclasses import make_dataclass
from types import ModuleType, SimpleNamespace

import pandas as pd
import pytest
import yaml
from PIL import Image

from captionbias.captions import read_captions
from captionbias.harnesses.rows import flat_scores, images_of
from captionbias.metrics import sway
from captionbias.warnings import CaptionBiasWarning
from tests.cli.conftest import ran, refused
from tests.refusals import refuses


@pytest.fixture
def stand_in(monkeypatch):
    """Modules with these names in them, as if they were installed."""

    def module(name, **names):
        made = ModuleType(name)
        vars(made).update(names)
        monkeypatch.setitem(sys.modules, name, made)
        return made

    return module


def answered(asked, folder):
    """The rows of a task's images.jsonl, with the planted caption of each."""
    rows = [json.loads(line) for line in (folder / "images.jsonl").read_text(encoding="utf-8").splitlines()]
    return [(row, asked.caption(Image.open(row["file"]))) for row in rows]


def test_lmms_eval_calls_a_function_for_each_score_of_its_list(asked, tmp_path):
    folder = asked.task_for("lmms-eval", tmp_path / "task")
    task = yaml.safe_load(re.sub("!function ", "", (folder / "caption_bias.yaml").read_text()))
    utils = runpy.run_path(str(folder / "utils.py"))
    (row, caption), *_ = pairs = answered(asked, folder)
    assert asked.caption(*utils["pictures"](row)) == caption
    kept = [utils["answer"](row, [caption]) for row, caption in pairs]
    assert [entry["metric"] for entry in task["metric_list"]] == list(kept[0])
    for entry in task["metric_list"]:
        name = entry["metric"]
        function = utils.get(name) or utils["__getattr__"](name)
        score = function([answer[name] for answer in kept])
        if name == "sway_worst_of":
            assert score == "wrong, unnamed, t_to_a, words, length, a_to_t, missing"
        else:
            assert score == asked.scores.get(name) or (math.isnan(score) and name not in asked.scores)
        assert entry["aggregation"] == f"utils.{name}"
        assert entry["higher_is_better"] is (False if name == "sway_worst" else None)


def test_vlmevalkit_gives_a_table_of_answers(asked, tmp_path, stand_in):
    class ImageBaseDataset:
        def __init__(self, dataset):
            self.data = self.load_data(dataset)

    listed, written = stand_in("vlmeval.dataset", DATASET_CLASSES=[]), {}
    stand_in("vlmeval", dataset=listed)
    stand_in("vlmeval.dataset.image_base", ImageBaseDataset=ImageBaseDataset)
    stand_in("vlmeval.smp", load=pd.read_excel, dump=lambda scores, path: written.update({path: scores}))
    stand_in(
        "vlmeval.smp.file",
        get_intermediate_file_path=lambda path, end, kind: f"{path}{end}.{kind}",
        INFER_FAIL_MSG="Failed to obtain",
    )
    runpy.run_path(str(asked.task_for("vlmevalkit", tmp_path / "task") / "caption_bias.py"))
    (dataset,) = listed.DATASET_CLASSES
    answers = dataset("CaptionBias").data
    answers["prediction"] = [asked.caption(Image.open(path)) for path in answers.image_path]
    answers.to_excel(tmp_path / "answers.xlsx", index=False)
    scores = dataset.evaluate(str(tmp_path / "answers.xlsx"))
    assert scores == asked.scores == written[f"{tmp_path}/answers.xlsx_score.json"]
    people = read_captions(tmp_path / "answers.xlsx", attribute="gender")
    assert sway(people)["sway_worst"] == scores["sway_worst"]
    assert dataset.report_primary_metric(scores) == {"sway_worst": scores["sway_worst"]}
    answers.loc[:49, "prediction"], answers.loc[50:99, "prediction"] = None, "Failed to obtain answer via API."
    answers.to_excel(tmp_path / "answers.xlsx", index=False)
    assert dataset.evaluate(str(tmp_path / "answers.xlsx"))["sway_images"] == len(answers) - 100


def test_lighteval_gives_documents_and_their_answers(asked, tmp_path, stand_in):
    document = make_dataclass("Doc", ["query", "choices", "gold_index", "images", "specific", "task_name"])
    metric = make_dataclass("CorpusLevelMetric", ["name", "higher_is_better", "category", "sample", "corpus"])
    for name in ("", ".metrics", ".metrics.utils", ".tasks"):
        stand_in(f"lighteval{name}")
    stand_in("lighteval.metrics.metrics_corpus", CorpusLevelComputation=object)
    stand_in("lighteval.metrics.sample_preparator", Preparator=object)
    stand_in("lighteval.metrics.utils.metric_utils", CorpusLevelMetric=metric)
    stand_in("lighteval.tasks.lighteval_task", LightevalTaskConfig=lambda *who, **how: (*who, how))
    stand_in("lighteval.tasks.requests", Doc=document, SamplingMethod=SimpleNamespace(GENERATIVE="generative"))
    folder = asked.task_for("lighteval", tmp_path / "task")
    ((name, prompt, repository, _, options),) = runpy.run_path(str(folder / "caption_bias.py"))["TASKS_TABLE"]
    (metric,) = options["metrics"]
    assert (repository, metric.higher_is_better) == (str(folder), False)
    docs = [prompt(row, name) for row, _ in answered(asked, folder)]
    assert all(len(doc.choices) == len(doc.gold_index) == 2 for doc in docs)
    answers = [SimpleNamespace(final_text=[asked.caption(*doc.images)]) for doc in docs]
    items = [metric.sample.prepare(doc=doc, model_response=answer) for doc, answer in zip(docs, answers, strict=True)]
    assert metric.corpus.compute_corpus(items) == asked.scores


def test_inspect_gives_the_scores_of_samples(asked, stand_in):
    def as_it_is(*_, **__):
        return lambda function: function

    names = ("ChatMessageUser", "ContentImage", "ContentText", "HeadlineMetric", "Metric", "SampleScore", "Score")
    names += ("Scorer", "Target", "TaskState")
    plain = dict.fromkeys(names, SimpleNamespace)
    stand_in("inspect_ai", task=lambda function: function, Task=lambda samples, **rest: (samples, rest["scorer"]))
    stand_in("inspect_ai.dataset", Sample=lambda said, **rest: SimpleNamespace(said=said, **rest))
    stand_in("inspect_ai.scorer", metric=as_it_is, scorer=as_it_is, **plain)
    for part in ("log", "model", "solver"):
        stand_in(f"inspect_ai.{part}", **plain)
    task = importlib.import_module("captionbias.harnesses.inspect")
    sys.modules.pop("captionbias.harnesses.inspect")
    samples, scorer = task.caption_bias(asked.folder / "val2014", references=asked.folder / "people.parquet")
    captions = [asked.caption(Image.open(sample.said[0].content[1].image)) for sample in samples]
    outputs = [SimpleNamespace(output=SimpleNamespace(completion=caption)) for caption in captions]
    scores = [asyncio.run(scorer(output, None)) for output in outputs]
    pairs = zip(scores, samples, strict=True)
    given = [SimpleNamespace(score=score, sample_metadata=sample.metadata) for score, sample in pairs]
    assert task.caption_sway()(given) == asked.scores


def test_labels_alone_ask_of_wrong_and_unnamed_names_and_words(asked, tmp_path):
    people = pd.read_parquet(asked.folder / "people.parquet")
    people[["image_id", "gender"]].to_csv(tmp_path / "labels.csv", index=False)
    files = ("--images", asked.folder / "val2014", "--attributes", tmp_path / "labels.csv")
    ran("harness", "lighteval", *files, "--output", tmp_path / "task")
    rows = [row | {"caption": caption} for row, caption in answered(asked, tmp_path / "task")]
    assert {*rows[0]} == {"id", "file", "label", "lexicon", "caption"}  # logs have no column that nobody filled in
    scores = flat_scores(rows)
    asks = {key.removeprefix("sway_worst_of_") for key in scores if key.startswith("sway_worst_of_")}
    assert (asks, scores["sway_images"]) == ({"wrong", "unnamed", "words", "missing"}, len(rows))
    library = sway(predictions=[row["caption"] for row in rows], attributes=list(people.gender))
    assert scores["sway_worst"] == library["sway_worst"]


def test_labels_of_another_attribute_go_with_its_words(asked):
    labels = {"image_id": range(60), "skin": ["light", "dark"] * 30}
    rows = images_of(asked.folder / "val2014", attributes=labels, attribute="skin")
    assert flat_scores([row | {"caption": "a black man"} for row in rows])["wrong_light"] == 100


def test_what_cannot_be_measured_is_nan_and_a_warning_not_a_lost_run():
    with pytest.warns(CaptionBiasWarning, match="no sway_worst: attributes .* only one value 'male'"):
        scores = flat_scores([{"id": 1, "caption": "a man", "label": "male"}] * 2)
    assert list(scores) == ["sway_worst"]
    assert math.isnan(scores["sway_worst"])


@pytest.mark.parametrize("silence", ["", None, [""], []])
def test_images_of_which_a_model_says_nothing_are_asked_about(silence):
    rows = [{"id": n, "caption": silence if n % 4 == 0 else "a man", "label": "fm"[n % 2]} for n in range(200)]
    assert flat_scores(rows)["sway_missing_gap"] == 50


def test_several_answers_of_an_image_count_as_shares_of_one():
    rows = [{"id": n, "caption": "a man", "label": label} for n, label in enumerate(["female", "male"] * 20)]
    wrong = [row | {"caption": "a woman"} for row in rows]
    assert flat_scores([*rows, *wrong])["wrong_female"] == 50
    assert flat_scores([*rows, *wrong])["sway_images"] == 40


def test_images_without_a_file_are_left_out_and_none_at_all_is_refused(asked, tmp_path):
    labels = {"image_id": [0, 1, 9999], "gender": ["female", "male", "male"]}
    with pytest.warns(CaptionBiasWarning, match="1 of 3 images have no file in"):
        assert [row["id"] for row in images_of(asked.folder / "val2014", attributes=labels)] == ["0", "1"]
    refuses("no file in .* such as 0", images_of, tmp_path, attributes=labels)
    refuses("references and attributes are both missing: give one", images_of, tmp_path)


@pytest.mark.parametrize(
    ("harness", "files", "told"),
    [
        ("helm", ["--attributes", "labels.csv"], "choose one of lmms-eval, vlmevalkit, lighteval"),
        ("lighteval", [], "--references and --attributes are both missing"),
        ("lighteval", ["--attributes", "labels.csv", "--output", "."], ". is not empty"),
    ],
)
def test_a_folder_that_cannot_be_written_is_refused(harness, files, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "labels.csv").write_text("image_id,gender\n1,female\n2,male\n")
    output = [] if "--output" in files else ["--output", "task"]
    assert told in refused("harness", harness, "--images", ".", *files, *output)
