"""Trainings in progress: they go on as if they had not stopped, and are not left lying about."""

from __future__ import annotations

from hashlib import sha256

import pytest
import torch
from torch import nn

from captionbias.attackers.neural import checkpoints
from captionbias.attackers.neural.checkpoints import Checkpoint
from captionbias.captions import CaptionBiasWarning
from captionbias.io.store import GIGABYTE, Store

KEY, OTHER = sha256(b"one").hexdigest(), sha256(b"other").hexdigest()
INPUT = torch.linspace(-1, 1, 12).view(4, 3)


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

    def restored(self, store: Store | None, key: str = KEY) -> int:
        return Checkpoint(store, key).restore(self.model, self.optimizer)

    def keep(self, store: Store | None, done: int) -> None:
        Checkpoint(store, KEY).keep_if_due(done, self.model, self.optimizer)

    def bits(self) -> dict[str, bytes]:
        return {name: value.numpy().tobytes() for name, value in self.model.state_dict().items()}


@pytest.fixture
def kept(tmp_path, monkeypatch) -> Store:
    """A store with a training of which 3 steps are done."""
    monkeypatch.setattr(checkpoints, "SECONDS_BETWEEN", 0.0)
    store = Store(tmp_path, GIGABYTE)
    Training().step(3).keep(store, 3)
    return store


def test_a_training_goes_on_as_if_it_had_not_stopped(kept):
    again = Training()
    assert again.restored(kept) == 3
    assert again.bits() == Training().step(3).bits()
    assert again.step(4).bits() == Training().step(7).bits()
    again.keep(kept, 7)
    assert Training().restored(kept) == 7
    assert kept.keys("checkpoint") == [KEY]


def test_settings_are_those_of_the_recipe_and_not_kept(kept):
    again = Training(learning_rate=0.5)
    again.restored(kept)
    assert [group["lr"] for group in again.optimizer.param_groups] == [0.5, 0.5]
    assert [group["weight_decay"] for group in again.optimizer.param_groups] == [0.5, 0.0]


def test_none_is_written_a_short_while_after_another_or_the_start(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "SECONDS_BETWEEN", 60.0)
    training, now = Training().step(1), [1000.0]
    monkeypatch.setattr(checkpoints.time, "monotonic", lambda: now[0])
    checkpoint, written = Checkpoint(Store(tmp_path, GIGABYTE), KEY), []
    checkpoint.restore(training.model, training.optimizer)
    for done, seconds in enumerate([59, 60, 100, 119, 121, 180, 181], 1):
        now[0] = 1000.0 + seconds
        checkpoint.keep_if_due(done, training.model, training.optimizer)
        if Training().restored(checkpoint.store) == done:
            written.append(seconds)
    assert written == [60, 121, 181]


def test_without_a_store_there_is_none(kept, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    training = Training()
    training.keep(None, 1)
    Checkpoint(None, KEY).remove()
    assert training.restored(None) == training.restored(kept, OTHER) == 0
    assert training.bits() == Training().bits()
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("part", ["model 0.weight.npy", "optimizer 1 exp_avg.npy"])
def test_a_damaged_one_is_warned_of_once_and_changes_nothing(kept, part):
    [entry] = kept.contents()
    content = bytearray(entry.path.read_bytes())
    content[content.index(part.encode()) + len(part) + 90] ^= 1
    entry.path.write_bytes(content)
    training = Training()
    with pytest.warns(CaptionBiasWarning, match="is damaged, or another's.*computed anew"):
        assert training.restored(kept) == 0
    assert training.bits() == Training().bits()
    assert training.restored(kept) == 0


def test_it_goes_with_the_end_of_its_training(kept):
    Checkpoint(kept, OTHER).remove()
    assert kept.keys("checkpoint") == [KEY]
    Checkpoint(kept, KEY).remove()
    assert kept.contents() == []
