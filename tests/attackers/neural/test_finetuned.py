"""A fine-tuned encoder learns what is planted."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from captionbias.attackers import registry as attackers
from captionbias.attackers.base import Trial, TrialScores
from captionbias.attackers.neural.finetuned import Classifier
from captionbias.attackers.pretrained import encoding
from captionbias.attackers.recipes import BERT_FINETUNED
from captionbias.attackers.registry import find_attacker
from captionbias.text import tokenize
from tests.attackers.scored import bits

# The tiny encoder knows nothing yet, so that it has to take larger steps.
QUICK = replace(BERT_FINETUNED, schedule=replace(BERT_FINETUNED.schedule, learning_rate=3e-3, batch=32, epochs=3))


@pytest.fixture(autouse=True)
def quick(monkeypatch) -> None:
    monkeypatch.setattr(attackers, "BERT_FINETUNED", QUICK)
    # More would wait for each other on a busy machine, and add up in another order on another one.
    monkeypatch.setattr(encoding, "cores", lambda: 1)


def trained(trials: list[Trial], model: Path, precision: str = "fp32") -> list[TrialScores]:
    attacker = find_attacker("bert-finetuned", precision, str(model), cache=False)
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


def test_it_learns_two_classes(tiny_bert, class_trial):
    (scores,) = trained([class_trial(n=200, test=60)], tiny_bert, precision="bf16")
    assert scores.correct.mean() > 0.95
    assert quality(scores) > 0.85


def test_it_learns_three_classes_and_tasks_beside_each_other(tiny_bert, class_trial, task_trial, capfd):
    trial = task_trial(n=300, test=60)
    classes, tasks = trained([class_trial(n=300, classes=3, test=60), trial], tiny_bert)
    assert capfd.readouterr() == ("", "")
    assert classes.correct.mean() > 0.9, "1/3 is chance"
    shares = np.clip(trial.examples.targets[trial.train].mean(axis=0), 0.01, 0.99)
    truth = trial.examples.targets[trial.test]
    without_captions = np.exp(np.log(np.where(truth, shares, 1 - shares)).sum(axis=1)).mean()
    assert quality(tasks) > 1.5 * without_captions


def test_a_caption_that_is_too_long_is_cut_off(tiny_bert, class_trial, passes):
    trial = class_trial(n=60, test=20)
    texts = [" ".join(["w1"] * 100) if row % 2 else text for row, text in enumerate(trial.examples.tokens.texts())]
    trained([replace(trial, examples=replace(trial.examples, tokens=tokenize(texts)))], tiny_bert)
    assert max(shape[1] for shape in passes) == 64


def test_a_seed_gives_the_same_bits_whatever_else_is_trained_or_drawn(tiny_bert, class_trial):
    one, other = class_trial(n=50, test=20), class_trial(n=45, test=15, seed=1)
    alone = bits(*trained([one], tiny_bert))
    torch.manual_seed(3)
    state = torch.get_rng_state()
    assert bits(*trained([other, one], tiny_bert))[1:] == alone
    assert torch.equal(torch.get_rng_state(), state), "the script's own random numbers go on as if nothing had been"
    assert bits(*trained([replace(one, seed=7)], tiny_bert)) != alone
