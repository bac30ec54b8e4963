"""Recurrent encoders are torch's own LSTM and RNN with the same weights: features and every gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_sequence

from captionbias.attackers.batches import FIRST_WORD_ROW, PADDING_ROW
from captionbias.attackers.neural.dropout import Keep
from captionbias.attackers.neural.layers import Embedding
from captionbias.attackers.neural.recurrent import CELLS, RecurrentEncoder
from captionbias.attackers.recipes import Recurrent

WIDTH, HIDDEN = 4, 5
# The LSTM keeps its cells in 32 bits even where the rest has 64.
CLOSE = {"lstm": {"rtol": 1e-4, "atol": 1e-5}, "rnn": {"rtol": 1e-9, "atol": 1e-11}}
RECIPES = st.builds(Recurrent, st.sampled_from(list(CELLS)), st.just(HIDDEN), st.integers(1, 2), st.booleans())


@st.composite
def captions_of_stacks(draw) -> list[list[list[int]]]:
    """Some trials' captions as embedding rows, longest first."""
    trials, captions = draw(st.integers(1, 3)), draw(st.integers(1, 5))
    words = st.lists(st.integers(FIRST_WORD_ROW, 8), min_size=1, max_size=12)
    stack = [draw(st.lists(words, min_size=captions, max_size=captions)) for _ in range(trials)]
    return [sorted(captions, key=len, reverse=True) for captions in stack]


def padded(stack: list[list[list[int]]]) -> tuple[Tensor, np.ndarray]:
    lengths = np.array([[len(caption) for caption in captions] for captions in stack])
    longest = int(lengths.max())
    table = [[caption + [PADDING_ROW] * (longest - len(caption)) for caption in captions] for captions in stack]
    return torch.tensor(table), lengths


def made(recipe: Recurrent, trials: int, precision: torch.dtype = torch.float64) -> tuple[Embedding, RecurrentEncoder]:
    generators = [torch.Generator().manual_seed(seed) for seed in range(trials)]
    embedding = Embedding(generators, [9] * trials, WIDTH, precision)
    return embedding.to(precision), RecurrentEncoder(generators, recipe, WIDTH).to(precision)


def torch_s_own(recipe: Recurrent) -> Any:
    kind = nn.LSTM if recipe.cell == "lstm" else nn.RNN
    return kind(WIDTH, HIDDEN, recipe.layers, bidirectional=recipe.bidirectional)


def by_torch(
    recipe: Recurrent, embedding: Embedding, weights: list[dict[str, Tensor]], stack: list[list[list[int]]]
) -> Tensor:
    """The last layer's last state of each direction, one trial after the other."""
    found = []
    for trial, captions in enumerate(stack):
        layer = torch_s_own(recipe).to(embedding.weight.dtype)
        table = embedding.weight[9 * trial : 9 * (trial + 1)]
        packed = pack_sequence([table[caption] for caption in captions])
        _, last = torch.func.functional_call(layer, weights[trial], (packed,))
        states = last[0] if recipe.cell == "lstm" else last
        found.append(torch.cat(list(states[-2:] if recipe.bidirectional else states[-1:]), dim=1))
    return torch.stack(found)


@settings(deadline=None, max_examples=40)
@given(recipe=RECIPES, stack=captions_of_stacks(), seed=st.integers(0, 99))
def test_features_and_all_gradients_are_torch_s_own(torch_weights, recipe, stack, seed):
    embedding, encoder = made(recipe, len(stack))
    own = encoder(embedding, *padded(stack), Keep())
    weights = [torch_weights(encoder.layers, trial, recipe.cell) for trial in range(len(stack))]
    theirs = by_torch(recipe, embedding, weights, stack)
    assert own.shape == (len(stack), len(stack[0]), encoder.outputs)
    assert torch.allclose(own, theirs, **CLOSE[recipe.cell])
    wanted = torch.randn(own.shape, generator=torch.Generator().manual_seed(seed), dtype=own.dtype)
    parameters = [embedding.weight, *encoder.parameters()]
    for found, right in zip(
        torch.autograd.grad(own, parameters, wanted), torch.autograd.grad(theirs, parameters, wanted), strict=True
    ):
        assert torch.allclose(found, right, **CLOSE[recipe.cell])


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("cell", CELLS)
def test_in_32_bits_it_is_torch_s_own_too(torch_weights, cell, bidirectional):
    recipe = Recurrent(cell, HIDDEN, 2, bidirectional)
    stack = [[[2, 3, 4, 5, 6, 7, 8, 2], [5, 4, 3], [8]], [[3, 3, 3, 3], [4, 4, 5, 5], [6, 6, 7]]]
    embedding, encoder = made(recipe, 2, torch.float32)
    own = encoder(embedding, *padded(stack), Keep())
    theirs = by_torch(recipe, embedding, [torch_weights(encoder.layers, trial, cell) for trial in range(2)], stack)
    assert own.dtype == torch.float32
    assert torch.allclose(own, theirs, atol=1e-6)


def test_each_layer_starts_as_torch_s_own_in_size_and_bounds():
    recipe = Recurrent("lstm", 64, layers=2, bidirectional=True)
    encoder = RecurrentEncoder([torch.Generator().manual_seed(0)], recipe, 30)
    theirs = nn.LSTM(30, 64, 2, bidirectional=True)
    assert sum(value.numel() for value in encoder.parameters()) == sum(v.numel() for v in theirs.parameters())
    bounds = [value.abs().max().item() for value in encoder.parameters()]
    assert bounds == pytest.approx([1 / 8] * len(bounds), rel=0.02)
    assert max(bounds) <= 1 / 8


def test_both_biases_learn_as_torch_s_own_two_do():
    # Adam gives each its own step, so that one bias of their sum would learn half as fast.
    embedding, encoder = made(Recurrent("lstm", HIDDEN), 1)
    encoder(embedding, *padded([[[2, 3]]]), Keep()).sum().backward()
    (layer,) = encoder.layers
    assert layer.input_bias.grad.any()
    assert torch.equal(layer.input_bias.grad, layer.state_bias.grad)
