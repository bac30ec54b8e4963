"""Trainings in progress in the store: one that is killed goes on where it stopped."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from captionbias.io.store import Store

# A kill costs this much at most; BERT's 1.3 GB take some seconds to write.
SECONDS_BETWEEN = 120.0


@dataclass
class Checkpoint:
    """The steps of one training that are done, and what they made of its model and optimizer; no `store` keeps none.

    Example:
        done = checkpoint.restore(model, optimizer)
        for number in range(done, steps):
            ...
            checkpoint.keep_if_due(number + 1, model, optimizer)
        checkpoint.remove()
    """

    store: Store | None
    key: str
    last: float = 0.0

    def restore(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> int:
        """How many steps are done; the model and the optimizer are then as they were after these."""
        self.last = time.monotonic()
        kept = self.store.load("checkpoint", self.key, dict) if self.store else None
        if kept is None:
            return 0
        weights: dict[str, torch.Tensor] = {}
        moments: dict[int, dict[str, torch.Tensor]] = {}
        for name, array in kept.items():
            part, _, rest = name.partition(" ")
            if part == "model":
                weights[rest] = torch.from_numpy(array)
            elif part == "optimizer":
                number, _, what = rest.partition(" ")
                moments.setdefault(int(number), {})[what] = torch.from_numpy(array)
        model.load_state_dict(weights)
        optimizer.load_state_dict({"state": moments, "param_groups": optimizer.state_dict()["param_groups"]})
        return int(kept["done"])

    def keep_if_due(self, done: int, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Keep the training after `done` steps, unless that was done a short while ago."""
        if self.store is None or time.monotonic() - self.last < SECONDS_BETWEEN:
            return
        arrays = {f"model {name}": value.cpu().numpy() for name, value in model.state_dict().items()}
        for number, state in optimizer.state_dict()["state"].items():
            arrays |= {f"optimizer {number} {what}": value.cpu().numpy() for what, value in state.items()}
        self.store.save("checkpoint", self.key, arrays | {"done": np.array(done)})
        self.last = time.monotonic()

    def remove(self) -> None:
        if self.store:
            self.store.remove("checkpoint", self.key)
