"""Small networks, and captions in which signs tell what attackers are to predict."""

from dataclasses import replace

import pytest

from captionbias.attackers.base import Fitted
from captionbias.attackers.recipes import RECIPES, Bag, Recipe, Recurrent, Schedule, Transformer
from captionbias.attackers.registry import find_attacker
from captionbias.text import tokenize
from tests.attackers.conftest import made_task_trial, made_trial

QUICK = Schedule(1e-2, batch=32, epochs=6)
SMALL = {
    "lstm-lic": Recipe(Recurrent("lstm", 6, layers=2, bidirectional=True), 5, (), 0.2, False, QUICK),
    "lstm-dbac": Recipe(Recurrent("lstm", 6), 5, (8, 8), 0.1, True, QUICK),
    "birnn": Recipe(Recurrent("rnn", 6, bidirectional=True), 5, (8, 8), 0.1, True, QUICK),
    "transformer-1h": Recipe(Transformer(1, 8), 6, (8, 8), 0.1, True, QUICK),
    "dense": Recipe(Bag(), 6, (8,), 0.0, True, QUICK),
}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    for name, recipe in SMALL.items():
        monkeypatch.setitem(RECIPES, name, recipe)


@pytest.fixture
def fitted():
    """An attacker of an encoder, fitted on captions of this kind: the last is empty, the one before has an unknown
    word."""

    def fit(encoder: str, kind: str = "classes", classes: int = 2) -> Fitted:
        trial = made_task_trial(160, classes, test=42) if kind == "tasks" else made_trial(160, classes, 0.7, test=42)
        texts = trial.examples.tokens.texts()
        texts[trial.test[-2]] += " unknown"
        texts[trial.test[-1]] = ""
        examples = replace(trial.examples, tokens=tokenize(texts))
        return find_attacker(encoder, None if encoder in ("bow", "linear") else "fp32").fit(
            replace(trial, examples=examples)
        )

    return fit
