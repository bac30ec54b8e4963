"""A fine-tuned encoder learns what is planted, and after a kill as if there had been none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from captionbias.attackers import registry as attackers
from captionbias.attackers.base import Trial, TrialScores
from captionbias.attackers.neural import finetuned
from captionbias.attackers.neural.finetuned import Classifier
from captionbias.attackers.pretrained import encoding
from captionbias.attackers.recipes import BERT_FINETUNED
from captionbias.attackers.registry import find_attacker
from captionbias.text import tokenize
from tests.attackers.scored import bits

pytest.importorskip("sentence_transformers")

# The tiny encoder knows nothing yet, so that it has to take larger steps.
QUICK = replace(BERT_FINETUNED, schedule=replace(BERT_FINETUNED.schedule, learning_rate=3e-3, batch=32, epochs=3))


@pytest.fixture(autouse=True)
def quick(monkeypatch) -> None:
    monkeypatch.setattr(attackers, "BERT_FINETUNED", QUICK)
    # More would wait for each other on a busy machine, and add up in another order on another one.
    monkeypatch.setattr(encoding, "cores", lambda: 1)


def trained(trials: list[Trial], model: Path, folder: Path | None = None, precision: str = "fp32") -> list[TrialScores]:
    attacker = find_attacker("bert-finetuned", precision, str(model), cache=folder or False)
    return [attacker.fit(trial).test_scores for trial in trials]


def quality(scores: TrialScores) -> float:
    return float(np.exp(scores.log_probability).mean())


@pytest.fixture
def passes(monkeypatch) -> list[torch.Size]:
    """The shapes of all captions that go through the encoder from now on."""
    shapes, forward = [], Classifier.forward

    def counted(self, tokens, lengths):
        shapes.append(tokens.shape)
        return forward(self, tokens, lengths)

    monkeypatch.setattr(Classifier, "forward", counted)
    return shapes


# --- what it learns ---


def test_it_learns_two_classes(tiny_bert, class_trial):
    (scores,) = trained([class_trial(n=300)], tiny_bert, precision="bf16")
    assert scores.correct.mean() > 0.95
    assert quality(scores) > 0.9


def test_it_learns_three_classes_and_tasks_beside_each_other(tiny_bert, class_trial, task_trial, capfd):
    trial = task_trial(n=400)
    classes, tasks = trained([class_trial(n=400, classes=3), trial], tiny_bert)
    assert capfd.readouterr() == ("", "")
    assert classes.correct.mean() > 0.9, "1/3 is chance"
    shares = np.clip(trial.examples.targets[trial.train].mean(axis=0), 0.01, 0.99)
    truth = trial.examples.targets[trial.test]
    without_captions = np.exp(np.log(np.where(truth, shares, 1 - shares)).sum(axis=1)).mean()
    assert quality(tasks) > 1.5 * without_captions


# --- what the encoder is given ---


def test_a_caption_that_is_too_long_is_cut_off(tiny_bert, class_trial, passes):
    trial = class_trial(n=60, test=20)
    texts = [" ".join(["w1"] * 100) if row % 2 else text for row, text in enumerate(trial.examples.tokens.texts())]
    trained([replace(trial, examples=replace(trial.examples, tokens=tokenize(texts)))], tiny_bert)
    assert max(shape[1] for shape in passes) == 64


# --- what the scores depend on ---


def test_a_seed_gives_the_same_bits_whatever_else_is_trained_or_drawn(tiny_bert, class_trial):
    one, other = class_trial(n=100, test=40), class_trial(n=90, test=30, seed=1)
    alone = bits(*trained([one], tiny_bert))
    torch.manual_seed(3)
    state = torch.get_rng_state()
    assert bits(*trained([other, one], tiny_bert))[1:] == alone
    assert torch.equal(torch.get_rng_state(), state), "the script's own random numbers go on as if nothing had been"
    assert bits(*trained([replace(one, seed=7)], tiny_bert)) != alone


# --- checkpoints ---


@pytest.fixture
def kept_at_every_step(monkeypatch) -> None:
    monkeypatch.setattr(finetuned, "SECONDS_BETWEEN", 0.0)


@contextmanager
def stopped_in_step(monkeypatch, number: int) -> Iterator[None]:
    """What is trained within is stopped when step `number` begins."""
    steps, forward = iter(range(1, number + 1)), Classifier.forward

    def stopping(self, tokens, lengths):
        if next(steps) == number:
            raise KeyboardInterrupt
        return forward(self, tokens, lengths)

    with monkeypatch.context() as patch:
        patch.setattr(Classifier, "forward", stopping)
        with pytest.raises(KeyboardInterrupt):
            yield


@pytest.mark.usefixtures("kept_at_every_step")
@pytest.mark.parametrize("stop", [2, 7, 9])
def test_a_training_that_was_stopped_goes_on_where_it_was(tiny_bert, class_trial, tmp_path, monkeypatch, passes, stop):
    """3 steps an epoch: in the middle of one, at its end, in the last step. To the bit."""
    trial = class_trial(n=110, test=20)
    undisturbed = bits(*trained([trial], tiny_bert))
    with stopped_in_step(monkeypatch, stop):
        trained([trial], tiny_bert, tmp_path)
    passes.clear()
    assert bits(*trained([trial], tiny_bert, tmp_path)) == undisturbed
    assert len(passes) == 9 - (stop - 1) + 1, "the steps that are left, and the test captions"
    assert not list(tmp_path.iterdir()), "it goes with its training"
