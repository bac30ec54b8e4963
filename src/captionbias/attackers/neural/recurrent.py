"""LSTM and RNN layers over many independent chains of captions at once, forward and backward written out.

Captions are laid out by time step, so that hardly any padding is computed. Every product that does not wait for the
step before is one product over all tokens: in an LSTM, three of the four of a layer.
"""

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

    def split(self, *tables: Tensor) -> list[tuple[Any, ...]]:
        """The parts `(chains, counts[t], ...)` of tables `(chains, N, ...)` of each step."""
        return list(zip(*(table.split_with_sizes(self.counts, 1) for table in tables), strict=True))


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


class LSTM(Function):
    """Hidden states `(C, N, H)` of `C` chains over the places of `steps`.

    `values` `(C, N, K)`, `from_input` `(C, K, 4H)`, `from_state` `(C, H, 4H)`, `bias` `(C, 1, 4H)`. The gates are
    input, forget, output and cell. The cell state is kept in 32 bits whatever the precision of the rest.
    """

    @staticmethod
    def forward(ctx: Any, values: Tensor, from_input: Tensor, from_state: Tensor, bias: Tensor, steps: Steps) -> Tensor:
        gates = torch.bmm(values, from_input)
        chains, places, hidden = gates.shape[0], gates.shape[1], gates.shape[2] // 4
        states = gates.new_empty((chains, places, hidden))
        cells = torch.empty_like(states, dtype=torch.float32)
        squashed = torch.empty_like(states)
        state = cell = None
        for gate, next_state, next_cell, tanh in steps.split(gates, states, cells, squashed):
            gate += bias
            count = gate.shape[1]
            if state is not None:
                torch.baddbmm(gate, state[:, :count], from_state, out=gate)
            gate[..., : 3 * hidden].sigmoid_()
            gate[..., 3 * hidden :].tanh_()
            entering, kept, shown, new = gate.split(hidden, -1)
            if cell is None:
                torch.mul(entering, new, out=next_cell)
            else:
                torch.mul(kept, cell[:, :count], out=next_cell).addcmul_(entering, new)
            torch.tanh(next_cell, out=tanh)
            torch.mul(shown, tanh, out=next_state)
            state, cell = next_state, next_cell
        ctx.steps = steps
        ctx.save_for_backward(values, from_input, from_state, gates, states, cells, squashed)
        return states

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> Any:
        values, from_input, from_state, gates, states, cells, squashed = ctx.saved_tensors
        counts, hidden = ctx.steps.counts, states.shape[2]
        by_step = ctx.steps.split(outer[0], gates, cells, squashed)
        to_state = from_state.transpose(1, 2).contiguous()
        state = states.new_zeros((states.shape[0], counts[0], hidden))
        cell = torch.zeros_like(state, dtype=torch.float32)
        room = gates.new_empty((states.shape[0], counts[0], 4 * hidden))
        for number in range(len(counts) - 1, -1, -1):
            wanted, gate, _, tanh = by_step[number]
            count = counts[number]
            above = state[:, :count].add_(wanted)
            entering, kept, shown, new = gate.split(hidden, -1)
            slope = room[:, :count]
            of_entering, of_kept, of_shown, of_new = slope.split(hidden, -1)
            of_cell = cell[:, :count]
            torch.mul(above, shown, out=of_new)
            of_cell += torch.ops.aten.tanh_backward.grad_input(of_new, tanh, grad_input=of_new)
            torch.mul(of_cell, new, out=of_entering)
            torch.mul(above, tanh, out=of_shown)
            torch.mul(of_cell, entering, out=of_new)
            if number:
                torch.mul(of_cell, by_step[number - 1][2][:, :count], out=of_kept)
                of_cell *= kept
            else:
                of_kept.zero_()
            sigmoids, tanhs = gate[..., : 3 * hidden], gate[..., 3 * hidden :]
            torch.ops.aten.sigmoid_backward.grad_input(slope[..., : 3 * hidden], sigmoids, grad_input=sigmoids)
            torch.ops.aten.tanh_backward.grad_input(of_new, new, grad_input=tanhs)
            if number:
                torch.bmm(gate, to_state, out=above)
        return _gradients(ctx, values, from_input, states, gates)  # the gates' room holds their slopes now


class RNN(Function):
    """Hidden states `(C, N, H)` of `C` chains over the places of `steps`, with a tanh.

    `values` `(C, N, K)`, `from_input` `(C, K, H)`, `from_state` `(C, H, H)`, `bias` `(C, 1, H)`.
    """

    @staticmethod
    def forward(ctx: Any, values: Tensor, from_input: Tensor, from_state: Tensor, bias: Tensor, steps: Steps) -> Tensor:
        states = torch.bmm(values, from_input)
        before = None
        for (state,) in steps.split(states):
            state += bias
            if before is not None:
                torch.baddbmm(state, before[:, : state.shape[1]], from_state, out=state)
            before = state.tanh_()
        ctx.steps = steps
        ctx.save_for_backward(values, from_input, from_state, states)
        return states

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> Any:
        values, from_input, from_state, states = ctx.saved_tensors
        counts = ctx.steps.counts
        slopes = torch.empty_like(states)
        by_step = ctx.steps.split(outer[0], states, slopes)
        to_state = from_state.transpose(1, 2).contiguous()
        above = states.new_zeros((states.shape[0], counts[0], states.shape[2]))
        for number in range(len(counts) - 1, -1, -1):
            wanted, state, slope = by_step[number]
            total = above[:, : counts[number]].add_(wanted)
            torch.ops.aten.tanh_backward.grad_input(total, state, grad_input=slope)
            if number:
                torch.bmm(slope, to_state, out=total)
        return _gradients(ctx, values, from_input, states, slopes)


def _gradients(ctx: Any, values: Tensor, from_input: Tensor, states: Tensor, slopes: Tensor) -> tuple[Any, ...]:
    """Of values, both matrices, bias and steps, from the slopes before the activations."""
    of_values = torch.bmm(slopes, from_input.transpose(1, 2))
    if not any(ctx.needs_input_grad[1:]):  # a trained attacker is explained by its input alone
        return of_values, None, None, None, None
    before = states.index_select(1, ctx.steps.previous)
    return (
        of_values,
        torch.bmm(values.transpose(1, 2), slopes),
        torch.bmm(before.transpose(1, 2), slopes[:, ctx.steps.counts[0] :]),
        slopes.sum(dim=1, keepdim=True),
        None,
    )
