"""An LSTM layer over many independent chains at once, forward and backward written out.

Every product that does not wait for the step before is one product over all tokens: three of the four of a layer.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from captionbias.attackers.neural.time_steps import Steps


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
        by_step = zip(
            *(table.split_with_sizes(steps.counts, 1) for table in (gates, states, cells, squashed)), strict=True
        )
        state = cell = None
        for gate, next_state, next_cell, tanh in by_step:
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
        by_step = list(
            zip(*(table.split_with_sizes(counts, 1) for table in (outer[0], gates, cells, squashed)), strict=True)
        )
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
        slopes = gates
        of_values = torch.bmm(slopes, from_input.transpose(1, 2))
        if not any(ctx.needs_input_grad[1:]):  # a trained attacker is explained by its input alone
            return of_values, None, None, None, None
        return (
            of_values,
            torch.bmm(values.transpose(1, 2), slopes),
            torch.bmm(states.index_select(1, ctx.steps.previous).transpose(1, 2), slopes[:, counts[0] :]),
            slopes.sum(dim=1, keepdim=True),
            None,
        )
