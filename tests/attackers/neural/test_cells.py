"""The LSTM and the RNN, forward and backward: torch's own layers on packed sequences are the measure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_sequence, unpack_sequence

from captionbias.attackers.neural.encoders import CELLS
from captionbias.attackers.neural.lstm import LSTM
from captionbias.attackers.neural.rnn import RNN
from captionbias.attackers.neural.time_steps import Steps

WIDTH, HIDDEN = 3, 4
EACH = pytest.mark.parametrize("cell", CELLS)
# The LSTM keeps its cells in 32 bits even where the rest has 64.
CLOSE = {"lstm": {"rtol": 1e-4, "atol": 1e-5}, "rnn": {"rtol": 1e-9, "atol": 1e-11}}


@st.composite
def falling(draw, longest: int = 12):
    """Lengths of some trials' captions, `(S, B)`, longest first."""
    trials, captions = draw(st.integers(1, 3)), draw(st.integers(1, 6))
    rows = [draw(st.lists(st.integers(1, longest), min_size=captions, max_size=captions)) for _ in range(trials)]
    return np.sort(rows)[:, ::-1]


def made(cell: str, steps: Steps, chains: int, seed: int, dtype: torch.dtype = torch.float64) -> list[Tensor]:
    """Values, two matrices and a bias, large enough for gates to be far from linear."""
    generator, outputs = torch.Generator().manual_seed(seed), CELLS[cell][1] * HIDDEN
    shapes = (chains, len(steps.row), WIDTH), (chains, WIDTH, outputs), (chains, HIDDEN, outputs), (chains, 1, outputs)
    return [torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype).requires_grad_() for shape in shapes]


def states_of(cell: str, given: list[Tensor], steps: Steps) -> Tensor:
    return CELLS[cell][0].apply(*given, steps)


def is_token(steps: Steps, lengths: np.ndarray) -> Tensor:
    """Of each place of each trial, whether a caption has a token there, `(S, N)`."""
    return steps.time < torch.as_tensor(lengths.copy())[:, steps.row]


def by_torch(
    cell: str, given: list[Tensor], steps: Steps, lengths: np.ndarray, order: Callable[[Tensor, str], Tensor]
) -> Tensor:
    """The states by torch's own layer, a packed sequence a trial, zero at the places of padding."""
    values, *weights = given
    found = values.new_zeros((*values.shape[:2], HIDDEN))
    for trial, own in enumerate(lengths.tolist()):
        layer: Any = (nn.LSTM if cell == "lstm" else nn.RNN)(WIDTH, HIDDEN).to(values.dtype)
        from_input, from_state, bias = (order(weight[trial], cell) for weight in weights)
        copied = {"weight_ih_l0": from_input.T, "weight_hh_l0": from_state.T, "bias_ih_l0": bias[0]}
        copied["bias_hh_l0"] = torch.zeros_like(bias[0])
        rows = [torch.nonzero((steps.row == row) & (steps.time < length))[:, 0] for row, length in enumerate(own)]
        packed = pack_sequence([values[trial, places] for places in rows])
        states, _ = torch.func.functional_call(layer, copied, (packed,))
        found = found.index_put((torch.tensor(trial), torch.cat(rows)), torch.cat(unpack_sequence(states)))
    return found


@EACH
@settings(deadline=None, max_examples=40)
@given(lengths=falling(), seed=st.integers(0, 99))
def test_values_and_all_gradients_are_torch_s_own(torch_order, cell, lengths, seed):
    steps = Steps.of(lengths, torch.device("cpu"))
    given = made(cell, steps, len(lengths), seed)
    real = is_token(steps, lengths)[..., None]
    # Every state is wanted, not only the last ones: as a layer above would.
    wanted = torch.randn(*real.shape[:2], HIDDEN, dtype=torch.float64) * real
    own, theirs = states_of(cell, given, steps), by_torch(cell, given, steps, lengths, torch_order)
    assert torch.allclose(own * real, theirs, **CLOSE[cell])
    for found, right in zip(
        torch.autograd.grad(own, given, wanted), torch.autograd.grad(theirs, given, wanted), strict=True
    ):
        assert torch.allclose(found, right, **CLOSE[cell])


@settings(deadline=None, max_examples=10)
@given(lengths=falling(longest=4), seed=st.integers(0, 99))
def test_the_rnn_s_gradient_is_its_slope_places_of_padding_and_all(lengths, seed):
    steps = Steps.of(lengths, torch.device("cpu"))
    given = made("rnn", steps, len(lengths), seed)
    assert torch.autograd.gradcheck(lambda *given: RNN.apply(*given, steps), given)


@EACH
@settings(deadline=None, max_examples=25)
@given(lengths=falling(), seed=st.integers(0, 99))
def test_what_padding_holds_reaches_no_caption_and_no_gradient(cell, lengths, seed):
    steps = Steps.of(lengths, torch.device("cpu"))
    real = is_token(steps, lengths)[..., None]
    found = []
    for filling in (0.0, 5.0):
        values, *weights = made(cell, steps, len(lengths), seed)
        values = torch.where(real, values.detach(), filling).requires_grad_()
        states = states_of(cell, [values, *weights], steps)
        outer = torch.where(real, torch.ones_like(states), 0.0)
        gradients = torch.autograd.grad(states, [values, *weights], outer)
        assert not gradients[0].masked_select(~real).any()
        found.append([torch.where(real, states, 0.0), *gradients])
    for one, other in zip(*found, strict=True):
        assert torch.allclose(one, other, rtol=1e-12, atol=1e-12)


@EACH
def test_bfloat16_stays_within_its_own_rounding(cell):
    # 8 bits of mantissa: 2**-9 a rounding, of sums of 7 products and over 12 steps of which the last few matter.
    lengths = np.array([[12, 9, 5, 1], [11, 11, 2, 2]])
    steps = Steps.of(lengths, torch.device("cpu"))
    exact, rough = (made(cell, steps, 2, 0, dtype) for dtype in (torch.float64, torch.bfloat16))
    states = states_of(cell, rough, steps)
    assert states.dtype == torch.bfloat16
    difference = (states.double() - states_of(cell, exact, steps)).abs()
    assert difference.max() < 0.1
    assert difference.mean() < 0.01
    gradients = torch.autograd.grad(states.sum(), rough)
    for found, right in zip(gradients, torch.autograd.grad(states_of(cell, exact, steps).sum(), exact), strict=True):
        assert found.dtype == torch.bfloat16
        assert (found.double() - right).norm() < 0.05 * right.norm()


def test_what_an_lstm_adds_up_in_bfloat16_is_not_lost():
    # All gates open, 0.002 a step: in 8 bits a cell would stop growing at a half, where 0.002 is less than a rounding.
    steps = Steps.of(np.array([[600]]), torch.device("cpu"))
    nothing = [torch.zeros(shape, dtype=torch.bfloat16) for shape in ((1, 600, 1), (1, 1, 4), (1, 1, 4))]
    bias = torch.tensor([[[20.0, 20.0, 20.0, 0.002]]], dtype=torch.bfloat16)
    states = LSTM.apply(*nothing, bias, steps)
    assert states[0, -1].item() == pytest.approx(np.tanh(600 * 0.002), abs=0.01)


def test_a_second_way_back_through_the_lstm_is_refused():
    # Its backward pass works in the room of the gates that it was left: what it finds there later is wrong.
    steps = Steps.of(np.array([[4, 2]]), torch.device("cpu"))
    given = made("lstm", steps, 1, 0)
    states = LSTM.apply(*given, steps).sum()
    torch.autograd.grad(states, given, retain_graph=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.grad(states, given)
