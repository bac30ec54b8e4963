"""Trainings in progress: written now and then; `test_finetuned` shows that they go on as if they had not stopped."""

from __future__ import annotations

import torch
from torch import nn

from captionbias.attackers.neural import checkpoints
from captionbias.attackers.neural.checkpoints import Checkpoint
from captionbias.io.store import GIGABYTE, Store


def adam(model: nn.Module, rate: float = 0.1) -> torch.optim.Optimizer:
    return torch.optim.AdamW(model.parameters(), rate)


def test_none_is_written_a_short_while_after_another_or_the_start(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "SECONDS_BETWEEN", 60.0)
    now = [1000.0]
    monkeypatch.setattr(checkpoints.time, "monotonic", lambda: now[0])
    checkpoint, model, written = Checkpoint(Store(tmp_path, GIGABYTE), "0" * 64), nn.Linear(3, 2), []
    checkpoint.restore(model, adam(model))
    for done, seconds in enumerate([59, 60, 100, 119, 121, 180, 181], 1):
        now[0] = 1000.0 + seconds
        checkpoint.keep_if_due(done, model, adam(model))
        if Checkpoint(checkpoint.store, checkpoint.key).restore(model, adam(model)) == done:
            written.append(seconds)
    assert written == [60, 121, 181]
    other = adam(model, 0.5)
    assert Checkpoint(checkpoint.store, checkpoint.key).restore(model, other) == 7
    assert other.param_groups[0]["lr"] == 0.5, "settings are those of the recipe and not kept"
