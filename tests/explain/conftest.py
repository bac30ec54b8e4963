"""Small networks, and captions in which signs tell what attackers are to predict."""

import numpy as np
import pytest

from captionbias.attackers.base import Examples, Fitted, Trial
from captionbias.attackers.recipes import RECIPES, Bag, Recipe, Recurrent, Schedule, Transformer
from captionbias.attackers.registry import find_attacker
from captionbias.text import tokenize

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


def _trial(kind: str = "classes", classes: int = 2, n: int = 160) -> Trial:
    """Captions of random words, many twice in a caption; the last is empty, the one before has an unknown word."""
    random = np.random.default_rng(classes)
    captions = [[f"w{word}" for word in random.integers(8, size=random.integers(1, 8))] for _ in range(n)]
    if kind == "tasks":
        targets = random.random((n, classes)) < 0.4
        for row, task in np.argwhere(targets):
            captions[row].append(f"sign{task}")
    else:
        targets = np.arange(n) % classes
        for caption, target in zip(captions, targets, strict=True):
            if random.random() < 0.7:
                caption.insert(int(random.integers(len(caption) + 1)), f"sign{target}")
    captions[-1] = []
    captions[-2].append("unknown")
    examples = Examples(tokenize([" ".join(caption) for caption in captions]), targets, classes)
    rows = random.permutation(n - 2)
    return Trial(examples, np.sort(rows[40:]), np.append(np.sort(rows[:40]), [n - 2, n - 1]), 0)


@pytest.fixture
def fitted():
    """An attacker of an encoder, fitted on captions of this kind."""

    def fit(encoder, kind: str = "classes", classes: int = 2) -> Fitted:
        exact = None if encoder in ("bow", "linear") else "fp32"
        return find_attacker(encoder, exact).fit(_trial(kind, classes))

    return fit
