"""Tests of networks draw the same values every time, in one thread, as trainings do."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
import torch
from torch import Tensor, nn

from captionbias.attackers.neural.fitting import one_thread


@pytest.fixture(autouse=True)
def _seeded_in_one_thread():
    torch.manual_seed(0)
    with one_thread():
        yield


def _torch_order(gates: Tensor, cell: str) -> Tensor:
    """An LSTM's gates from input, forget, output, cell to torch's input, forget, cell, output, along the last axis."""
    if cell == "rnn":
        return gates
    entering, kept, shown, new = gates.chunk(4, -1)
    return torch.cat((entering, kept, new, shown), -1)


def _torch_weights(layers: Iterable[nn.Module], trial: int, cell: str) -> dict[str, Tensor]:
    """One trial's weights of recurrent layers under the names of `nn.LSTM` and `nn.RNN`."""
    named = {}
    for number, layer in enumerate(layers):
        for direction in range(layer.from_input.shape[1]):
            place = f"l{number}{'_reverse' * direction}"
            for name in ("input", "state"):
                short = {"input": "ih", "state": "hh"}[name]
                named[f"weight_{short}_{place}"] = _torch_order(
                    getattr(layer, f"from_{name}")[trial, direction], cell
                ).T
                named[f"bias_{short}_{place}"] = _torch_order(getattr(layer, f"{name}_bias")[trial, direction, 0], cell)
    return named


@pytest.fixture(scope="session")
def torch_weights():
    return _torch_weights
