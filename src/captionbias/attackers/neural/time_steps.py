"""Captions of several trials laid out by time step, so that a recurrence computes hardly any padding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function

from captionbias.arrays import Integers


@dataclass(frozen=True, eq=False)
class Steps:
    """`S` trials x `B` captions, longest first, as `N` places: those of the first tokens, then of the second ones, ...

    Step `t` has `counts[t]` places in every trial: the captions that have more than `t` tokens, in the trial that has
    most of them. Places past a caption's end hold padding, whose results nothing reads.

    `row`, `time`: the caption and the step of each place, shape `(N,)`. `previous`: the place one step earlier, of each
    place after the first step. `last`: the place of each caption's last token, `(S, B)`. `mirror`: the place of the
    same caption's token as far from its end, `(S, N)`.
    """

    counts: list[int]
    row: Tensor
    time: Tensor
    previous: Tensor
    last: Tensor
    mirror: Tensor

    @classmethod
    def of(cls, lengths: Integers, device: torch.device) -> Steps:
        """From lengths of shape `(S, B)`, each row in falling order, at least 1."""
        counts = (lengths[:, :, None] > np.arange(lengths.max())).sum(axis=1).max(axis=0)
        starts = np.concatenate(([0], np.cumsum(counts)))
        time = np.repeat(np.arange(len(counts)), counts)
        row = np.arange(starts[-1]) - starts[time]
        previous = starts[time[counts[0] :] - 1] + row[counts[0] :]
        last = starts[lengths - 1] + np.arange(lengths.shape[1])
        own = lengths[:, row]
        mirror = np.where(time < own, starts[np.maximum(own - 1 - time, 0)] + row, np.arange(starts[-1]))
        arrays = (torch.as_tensor(array, device=device) for array in (row, time, previous, last, mirror))
        return cls(counts.tolist(), *arrays)


def pick(values: Tensor, places: Tensor) -> Tensor:
    """`values[s, places[s]]` for every trial: `(S, N, F)` and `(S, M)` give `(S, M, F)`."""
    trials, width = values.shape[0], values.shape[1]
    shift = torch.arange(trials, device=places.device)[:, None] * width
    return values.flatten(0, 1).index_select(0, (places + shift).flatten()).view(trials, -1, values.shape[2])


class Mirror(Function):
    """`pick(values, steps.mirror)`; the mirror of a mirror is the first, so the gradient takes the same way back."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, mirror: Tensor) -> Tensor:
        ctx.save_for_backward(mirror)
        return pick(values, mirror)

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> Any:
        return pick(outer[0], *ctx.saved_tensors), None


def mirrored(values: Tensor, steps: Steps) -> Tensor:
    """Each caption's values from its end to its start, `(S, N, F)`."""
    result: Tensor = Mirror.apply(values, steps.mirror)  # type: ignore[no-untyped-call]
    return result
