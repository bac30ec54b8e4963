"""Trainings in progress: whole or not at all, never misread, and not left lying about."""

from __future__ import annotations

import os
import time
import warnings
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from captionbias.attackers.base import TrialScores
from captionbias.attackers.cache import GIGABYTE, Cache
from captionbias.attackers.neural import checkpoints
from captionbias.attackers.neural.checkpoints import Checkpoint
from captionbias.captions import CaptionBiasWarning

KEY, OTHER = sha256(b"one").hexdigest(), sha256(b"other").hexdigest()
INPUT = torch.linspace(-1, 1, 12).view(4, 3)


@pytest.fixture(autouse=True)
def kept_at_every_step(monkeypatch):
    monkeypatch.setattr(checkpoints, "SECONDS_BETWEEN", 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", CaptionBiasWarning)
        yield


class Training:
    """A network with state of every kind: weights that learn, one that does not, and statistics."""

    def __init__(self, learning_rate: float = 0.1) -> None:
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5), nn.Linear(5, 2))
        self.model.register_parameter("unused", nn.Parameter(torch.ones(2)))
        decayed, others = list(self.model[0].parameters()), [*self.model[1:].parameters(), self.model.unused]
        groups = [{"params": decayed, "weight_decay": 0.5}, {"params": others, "weight_decay": 0.0}]
        self.optimizer = torch.optim.AdamW(groups, learning_rate, fused=True)

    def step(self, times: int) -> Training:
        for _ in range(times):
            self.optimizer.zero_grad()
            self.model(INPUT).square().sum().backward()
            self.optimizer.step()
        return self

    def bits(self) -> dict[str, bytes]:
        return {name: value.numpy().tobytes() for name, value in self.model.state_dict().items()}


@pytest.fixture
def kept(tmp_path) -> Path:
    """The file of a training of which 3 steps are done."""
    training = Training().step(3)
    Checkpoint(tmp_path, KEY).keep_if_due(3, training.model, training.optimizer)
    (path,) = tmp_path.iterdir()
    return path


def test_a_training_goes_on_as_if_it_had_not_stopped(kept, tmp_path):
    again = Training()
    assert Checkpoint(tmp_path, KEY).restore(again.model, again.optimizer) == 3
    assert again.bits() == Training().step(3).bits()
    assert again.step(4).bits() == Training().step(7).bits()


def test_settings_are_those_of_the_recipe_and_not_kept(kept, tmp_path):
    again = Training(learning_rate=0.5)
    Checkpoint(tmp_path, KEY).restore(again.model, again.optimizer)
    assert [group["lr"] for group in again.optimizer.param_groups] == [0.5, 0.5]
    assert [group["weight_decay"] for group in again.optimizer.param_groups] == [0.5, 0.0]


def test_a_later_one_takes_the_place_of_the_one_before(kept, tmp_path):
    training = Training().step(5)
    Checkpoint(tmp_path, KEY).keep_if_due(5, training.model, training.optimizer)
    assert list(tmp_path.iterdir()) == [kept]
    assert Checkpoint(tmp_path, KEY).restore(training.model, training.optimizer) == 5


def test_none_is_written_a_short_while_after_another_or_the_start(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "SECONDS_BETWEEN", 60.0)
    training, now = Training().step(1), [1000.0]
    monkeypatch.setattr(checkpoints.time, "monotonic", lambda: now[0])
    checkpoint, written = Checkpoint(tmp_path, KEY), []
    checkpoint.restore(training.model, training.optimizer)
    for done, seconds in enumerate([59, 60, 100, 119, 121, 180, 181], 1):
        now[0] = 1000.0 + seconds
        before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
        checkpoint.keep_if_due(done, training.model, training.optimizer)
        if before != {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}:
            written.append(seconds)
    assert written == [60, 121, 181]


def test_without_a_folder_there_is_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    training, checkpoint = Training().step(1), Checkpoint(None, KEY)
    assert checkpoint.restore(training.model, training.optimizer) == 0
    checkpoint.keep_if_due(1, training.model, training.optimizer)
    checkpoint.remove()
    assert not list(tmp_path.iterdir())


def test_of_another_training_there_is_none(kept, tmp_path):
    training = Training()
    assert Checkpoint(tmp_path, OTHER).restore(training.model, training.optimizer) == 0
    assert Checkpoint(tmp_path / "no folder", KEY).restore(training.model, training.optimizer) == 0
    assert training.bits() == Training().bits()


def flipped(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


def renamed(kept: Path) -> bytes:
    """A whole checkpoint, but another training's."""
    training = Training()
    Checkpoint(kept.parent, OTHER).keep_if_due(1, training.model, training.optimizer)
    path = kept.with_name(f"checkpoint-{OTHER}.npz")
    content = path.read_bytes()
    path.unlink()
    return content


DAMAGES = {
    "empty": lambda kept: b"",
    "cut off": lambda kept: kept.read_bytes()[:-500],
    "no archive": lambda kept: b"text" * 100,
    "another's": renamed,
    **{
        f"one bit of {part}": lambda kept, part=part: flipped(
            kept.read_bytes(), kept.read_bytes().index(part.encode()) + len(part) + 90
        )
        for part in ("model 0.weight.npy", "optimizer 1 exp_avg.npy")
    },
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_one_is_warned_of_once_and_changes_nothing(kept, tmp_path, damage):
    kept.write_bytes(DAMAGES[damage](kept))
    training = Training()
    with pytest.warns(CaptionBiasWarning, match="is damaged, or not this training's: the training starts anew"):
        assert Checkpoint(tmp_path, KEY).restore(training.model, training.optimizer) == 0
    assert training.bits() == Training().bits()
    assert Checkpoint(tmp_path, KEY).restore(training.model, training.optimizer) == 0


def test_nothing_in_it_is_unpickled(kept, tmp_path):
    class Harm:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "harm"),)

    np.savez(kept, key=np.array(KEY), done=np.array([Harm()], object))
    training = Training()
    with pytest.warns(CaptionBiasWarning, match="is damaged"):
        Checkpoint(tmp_path, KEY).restore(training.model, training.optimizer)
    assert not (tmp_path / "harm").exists()


def test_a_disk_that_cannot_be_written_is_warned_of_and_the_training_goes_on(tmp_path):
    (tmp_path / "file").touch()
    training = Training().step(1)
    with pytest.warns(CaptionBiasWarning, match=r"trainings in progress cannot be kept in .*the scores are right"):
        Checkpoint(tmp_path / "file", KEY).keep_if_due(1, training.model, training.optimizer)
    assert training.step(1).bits() == Training().step(2).bits()


def test_it_goes_with_the_end_of_its_training(kept, tmp_path):
    Checkpoint(tmp_path, OTHER).remove()
    assert kept.exists()
    Checkpoint(tmp_path, KEY).remove()
    assert not kept.exists()


# --- in the cache ---


def test_trimming_leaves_one_that_may_go_on_and_counts_it_towards_no_limit(kept, tmp_path):
    cache = Cache(tmp_path, limit=10_000)
    cache.save(OTHER, TrialScores(np.zeros(3), np.ones(3, bool)))
    with kept.open("ab") as file:
        file.truncate(100_000)
    cache.trim()
    assert kept.exists()
    assert cache.load(OTHER, 3) is not None


def test_trimming_removes_one_that_was_abandoned_and_one_whose_trial_is_finished(kept, tmp_path):
    cache = Cache(tmp_path, GIGABYTE)
    os.utime(kept, (time.time() - 8 * 24 * 3600,) * 2)
    finished, part = tmp_path / f"checkpoint-{OTHER}.npz", tmp_path / f"checkpoint-{OTHER}-{'0' * 16}.part"
    finished.touch()
    part.touch()
    os.utime(part, (time.time() - 3700,) * 2)
    cache.save(OTHER, TrialScores(np.zeros(3), np.ones(3, bool)))
    cache.trim()
    assert [path.name for path in tmp_path.iterdir()] == [f"trial-{OTHER}.npz"]


def test_the_contents_have_its_size_and_clearing_removes_it(kept, tmp_path):
    cache = Cache(tmp_path, GIGABYTE)
    (tmp_path / f"my-checkpoint-{KEY}.npz").touch()
    found = cache.contents()
    assert (found.trials, found.size) == (0, kept.stat().st_size)
    assert cache.clear() == found
    assert [path.name for path in tmp_path.iterdir()] == [f"my-checkpoint-{KEY}.npz"]
