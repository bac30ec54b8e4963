"""Captions with a signal that the test sets: what an attacker can learn is known beforehand."""

from __future__ import annotations

import numpy as np
import pytest

from captionbias.attackers.trials import Examples, Trial
from captionbias.text import tokenize


def _captions(random: np.random.Generator, n: int, longest: int = 9) -> list[list[str]]:
    return [[f"w{word}" for word in random.integers(25, size=random.integers(1, longest))] for _ in range(n)]


def _insert(random: np.random.Generator, caption: list[str], word: str) -> None:
    caption.insert(int(random.integers(len(caption) + 1)), word)


def _trial(n: int = 300, classes: int = 2, signal: float = 1.0, seed: int = 0, test: int = 100) -> Trial:
    """Captions of one of some classes; with probability `signal` a caption holds its class's own word."""
    random = np.random.default_rng([classes, seed])
    captions, targets = _captions(random, n), random.integers(classes, size=n)
    for caption, target in zip(captions, targets, strict=True):
        if random.random() < signal:
            _insert(random, caption, f"sign{target}")
    examples = Examples(tokenize(list(map(" ".join, captions))), targets, classes)
    rows = random.permutation(n)
    return Trial(f"classes {seed}", examples, np.sort(rows[test:]), np.sort(rows[:test]), seed)


def _task_trial(n: int = 300, tasks: int = 4, signal: float = 1.0, seed: int = 0, test: int = 100) -> Trial:
    """Captions of images that show some tasks; with probability `signal` a caption holds a task's own word."""
    random = np.random.default_rng([tasks, seed, 7])
    captions, flags = _captions(random, n), random.random((n, tasks)) < np.linspace(0.1, 0.5, tasks)
    for row, task in np.argwhere(flags & (random.random((n, tasks)) < signal)):
        _insert(random, captions[row], f"task{task}")
    rows = random.permutation(n)
    examples = Examples(tokenize(list(map(" ".join, captions))), flags, tasks)
    return Trial(f"tasks {seed}", examples, np.sort(rows[test:]), np.sort(rows[:test]), seed)


@pytest.fixture(scope="session")
def class_trial():
    return _trial


@pytest.fixture(scope="session")
def task_trial():
    return _task_trial
