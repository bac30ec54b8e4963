"""A tanh RNN layer over many independent chains at once, forward and backward written out."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from captionbias.attackers.neural.time_steps import Steps


class RNN(Function):
    """Hidden states `(C, N, H)` of `C` chains over the places of `steps`.

    `values` `(C, N, K)`, `from_input` `(C, K, H)`, `from_state` `(C, H, H)`, `bias` `(C, 1, H)`.
    """

    @staticmethod
    def forward(ctx: Any, values: Tensor, from_input: Tensor, from_state: Tensor, bias: Tensor, steps: Steps) -> Tensor:
        states = torch.bmm(values, from_input)
        before = None
        for state in states.split_with_sizes(steps.counts, 1):
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
        by_step = list(zip(*(table.split_with_sizes(counts, 1) for table in (outer[0], states, slopes)), strict=True))
        to_state = from_state.transpose(1, 2).contiguous()
        above = states.new_zeros((states.shape[0], counts[0], states.shape[2]))
        for number in range(len(counts) - 1, -1, -1):
            wanted, state, slope = by_step[number]
            total = above[:, : counts[number]].add_(wanted)
            torch.ops.aten.tanh_backward.grad_input(total, state, grad_input=slope)
            if number:
                torch.bmm(slope, to_state, out=total)
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
