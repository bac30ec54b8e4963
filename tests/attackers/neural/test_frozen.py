"""Heads on a frozen encoder: torch's own arithmetic, what is planted is learnt, and what was encoded stays encoded."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from captionbias.attackers.base import Examples, Trial, TrialScores
from captionbias.attackers.engine import run_trials
from captionbias.attackers.registry import find_attacker
from captionbias.text import tokenize


def trained(
    trials: list[Trial], encoder: str, model: Path, precision: str = "fp32", cache: bool = True, keep: Any = ()
) -> list[TrialScores]:
    by_name = {"encoder": "bert-frozen", "model": str(model)} if encoder == "bert-frozen" else {"encoder": str(model)}
    return run_trials(trials, find_attacker(**by_name, precision=precision, cache=cache), cache=cache, keep=keep)


@pytest.mark.parametrize("encoder", ["sentences", "bert-frozen"])
def test_a_trial_gives_the_same_alone_and_among_others(tiny_bert, class_trial, encoder):
    trials = [class_trial(n=size, test=40, seed=size) for size in (120, 169)]  # the last step of one has one caption
    together = trained(trials, encoder, tiny_bert, cache=False)
    for trial, scores in zip(trials, together, strict=True):
        [alone] = trained([trial], encoder, tiny_bert, cache=False)
        assert scores.log_probability.tolist() == alone.log_probability.tolist()


def written(random: np.random.Generator, things: list[str]) -> str:
    place = random.choice(["street", "room", "park", "kitchen", "field"])
    return f"a [masked] in a {place} with " + " and ".join(things or ["nothing"])


def test_a_real_encoder_reads_a_planted_attribute_and_planted_tasks(minilm):
    random = np.random.default_rng(0)
    objects = [["skirt", "handbag", "umbrella"], ["tie", "surfboard", "truck"]]
    classes = random.integers(2, size=1400)
    captions = [written(random, [str(random.choice(objects[value]))]) for value in classes]
    rows = random.permutation(1400)
    attribute = Trial(Examples(tokenize(captions), classes, 2), rows[200:], rows[:200], 0)
    flags = random.random((1400, 3)) < 0.3
    captions = [
        written(random, [thing for thing, shown in zip(objects[1], row, strict=True) if shown]) for row in flags
    ]
    tasks = Trial(Examples(tokenize(captions), flags, 3), rows[200:], rows[:200], 0)
    one, other = trained([attribute, tasks], "sentences", minilm)
    assert one.correct.mean() > 0.95
    assert np.exp(one.log_probability).mean() > 0.8
    chance = np.log(0.7) * 2.1 + np.log(0.3) * 0.9  # of three tasks with a share of 0.3 each
    assert other.log_probability.mean() > chance + 0.7
    assert other.correct.mean() > 0.34 + 0.3  # 0.7 ** 3 without reading


def test_each_distinct_caption_is_encoded_once_and_for_good(tiny_bert, class_trial, read):
    trial, other = class_trial(n=200, signal=0.0), class_trial(n=300, signal=0.0)
    distinct = set(trial.examples.tokens.texts()) | set(other.examples.tokens.texts())
    first = trained([trial, replace(trial, seed=1), other], "sentences", tiny_bert)
    assert sum(map(len, read)) == len(distinct) < 500
    again, *_ = trained([trial, replace(trial, seed=2)], "sentences", tiny_bert, keep=[trial])
    assert sum(map(len, read)) == len(distinct), "nor for other seeds, or attackers that are kept"
    assert again.log_probability.tolist() == first[0].log_probability.tolist()


def test_poolings_precisions_and_weights_are_kept_apart(tiny_bert, own_bert, class_trial, own_cache, read):
    from safetensors.torch import load_file, save_file

    weights = load_file(own_bert / "model.safetensors")
    weights["embeddings.word_embeddings.weight"] *= -1
    save_file(weights, own_bert / "model.safetensors", {"format": "pt"})
    kept, scores = [], set()
    for encoder, model, precision in (
        ("sentences", tiny_bert, "fp32"),
        ("sentences", tiny_bert, "bf16"),
        ("bert-frozen", tiny_bert, "fp32"),
        ("sentences", own_bert, "fp32"),
    ):
        read.clear()
        [found] = trained([class_trial(n=60, test=20)], encoder, model, precision)
        assert read
        kept.append(len(list(own_cache.glob("embeddings-*.npz"))))
        scores.add(found.log_probability.tobytes())
    assert kept == [1, 2, 3, 4]
    assert len(scores) == 4
