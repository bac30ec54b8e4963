"""Encoders: torch's own LSTM and RNN with the same weights, and the transformer restated one caption at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_sequence

from captionbias.attackers.batches import FIRST_WORD_ROW, PADDING_ROW
from captionbias.attackers.neural.dropout import Keep
from captionbias.attackers.neural.encoders import CELLS, RecurrentEncoder, TransformerEncoder, positions
from captionbias.attackers.neural.layers import Embedding
from captionbias.attackers.recipes import Recurrent, Transformer

WIDTH, WORDS, HIDDEN = 10, 9, 5
# The LSTM keeps its cells in 32 bits even where the rest has 64.
CLOSE = {"lstm": {"rtol": 1e-4, "atol": 1e-5}, "rnn": {"rtol": 1e-9, "atol": 1e-11}}
RECIPES = st.builds(Recurrent, st.sampled_from(list(CELLS)), st.just(HIDDEN), st.integers(1, 2), st.booleans())


@st.composite
def captions_of_stacks(draw) -> list[list[list[int]]]:
    """Some trials' captions as embedding rows, longest first."""
    trials, captions = draw(st.integers(1, 3)), draw(st.integers(1, 5))
    words = st.lists(st.integers(FIRST_WORD_ROW, WORDS - 1), min_size=1, max_size=12)
    stack = [draw(st.lists(words, min_size=captions, max_size=captions)) for _ in range(trials)]
    return [sorted(captions, key=len, reverse=True) for captions in stack]


def padded(stack: list[list[list[int]]]) -> tuple[Tensor, np.ndarray]:
    lengths = np.array([[len(caption) for caption in captions] for captions in stack])
    longest = int(lengths.max())
    table = [[caption + [PADDING_ROW] * (longest - len(caption)) for caption in captions] for captions in stack]
    return torch.tensor(table), lengths


def made(kind: Any, recipe: Any, trials: int, precision: torch.dtype = torch.float64) -> tuple[Embedding, Any]:
    generators = [torch.Generator().manual_seed(seed) for seed in range(trials)]
    embedding = Embedding(generators, [WORDS] * trials, WIDTH, precision)
    return embedding.to(precision), kind(generators, recipe, WIDTH).to(precision)


def same_gradients(own: Tensor, theirs: Tensor, parameters: list[Tensor], seed: int, **within: float) -> bool:
    wanted = torch.randn(own.shape, generator=torch.Generator().manual_seed(seed), dtype=own.dtype)
    found = (torch.autograd.grad(one, parameters, wanted) for one in (own, theirs))
    return all(torch.allclose(left, right, **within) for left, right in zip(*found, strict=True))


# --- recurrent ---


def by_torch(
    recipe: Recurrent, embedding: Embedding, weights: list[dict[str, Tensor]], stack: list[list[list[int]]]
) -> Tensor:
    """The last layer's last state of each direction, one trial after the other."""
    found = []
    for trial, captions in enumerate(stack):
        kind: Any = nn.LSTM if recipe.cell == "lstm" else nn.RNN
        layer = kind(WIDTH, HIDDEN, recipe.layers, bidirectional=recipe.bidirectional).to(embedding.weight.dtype)
        table = embedding.weight[WORDS * trial : WORDS * (trial + 1)]
        packed = pack_sequence([table[caption] for caption in captions])
        _, last = torch.func.functional_call(layer, weights[trial], (packed,))
        states = last[0] if recipe.cell == "lstm" else last
        found.append(torch.cat(list(states[-2:] if recipe.bidirectional else states[-1:]), dim=1))
    return torch.stack(found)


@settings(deadline=None, max_examples=40)
@given(recipe=RECIPES, stack=captions_of_stacks(), seed=st.integers(0, 99))
def test_recurrent_features_and_all_gradients_are_torch_s_own(torch_weights, recipe, stack, seed):
    embedding, encoder = made(RecurrentEncoder, recipe, len(stack))
    own = encoder(embedding, *padded(stack), Keep())
    weights = [torch_weights(encoder.layers, trial, recipe.cell) for trial in range(len(stack))]
    theirs = by_torch(recipe, embedding, weights, stack)
    assert own.shape == (len(stack), len(stack[0]), encoder.outputs)
    assert torch.allclose(own, theirs, **CLOSE[recipe.cell])
    assert same_gradients(own, theirs, [embedding.weight, *encoder.parameters()], seed, **CLOSE[recipe.cell])


@pytest.mark.parametrize("cell", CELLS)
def test_in_32_bits_it_is_torch_s_own_too(torch_weights, cell):
    recipe = Recurrent(cell, HIDDEN, 2, bidirectional=True)
    stack = [[[2, 3, 4, 5, 6, 7, 8, 2], [5, 4, 3], [8]], [[3, 3, 3, 3], [4, 4, 5, 5], [6, 6, 7]]]
    embedding, encoder = made(RecurrentEncoder, recipe, 2, torch.float32)
    own = encoder(embedding, *padded(stack), Keep())
    theirs = by_torch(recipe, embedding, [torch_weights(encoder.layers, trial, cell) for trial in range(2)], stack)
    assert own.dtype == torch.float32
    assert torch.allclose(own, theirs, atol=1e-6)


def test_each_layer_starts_as_torch_s_own_in_size_and_bounds():
    encoder = RecurrentEncoder([torch.Generator().manual_seed(0)], Recurrent("lstm", 64, 2, True), 30)
    theirs = nn.LSTM(30, 64, 2, bidirectional=True)
    assert sum(value.numel() for value in encoder.parameters()) == sum(v.numel() for v in theirs.parameters())
    bounds = [value.abs().max().item() for value in encoder.parameters()]
    assert bounds == pytest.approx([1 / 8] * len(bounds), rel=0.02)
    assert max(bounds) <= 1 / 8


def test_both_biases_learn_as_torch_s_own_two_do():
    # Adam gives each its own step, so that one bias of their sum would learn half as fast.
    embedding, encoder = made(RecurrentEncoder, Recurrent("lstm", HIDDEN), 1)
    encoder(embedding, *padded([[[2, 3]]]), Keep()).sum().backward()
    (layer,) = encoder.layers
    assert layer.input_bias.grad.any()
    assert torch.equal(layer.input_bias.grad, layer.state_bias.grad)


@pytest.mark.parametrize("cell", CELLS)
def test_the_slope_of_the_input_is_the_same_without_that_of_the_weights(cell):
    """As a trained attacker is explained: by its input alone."""
    slopes = []
    for trained in (True, False):
        embedding, encoder = made(RecurrentEncoder, Recurrent(cell, HIDDEN, 2, True), 1)
        encoder.requires_grad_(trained)
        encoder(embedding, *padded([[[2, 3, 4], [5]]]), Keep()).sum().backward()
        slopes.append(embedding.weight.grad)
        assert all((value.grad is not None) == trained for value in encoder.parameters())
    assert torch.equal(*slopes)


# --- transformer ---


def sinusoids(place: int, width: int) -> Tensor:
    """Vaswani et al. 2017, section 3.5."""
    values = []
    for feature in range(width):
        angle = place / 10_000 ** (2 * (feature // 2) / width)
        values.append(math.cos(angle) if feature % 2 else math.sin(angle))
    return torch.tensor(values, dtype=torch.float64)


def plain(caption: list[int], heads: int, embedding: Embedding, encoder: TransformerEncoder, trial: int) -> Tensor:
    """One caption's features."""

    def linear(layer: nn.Module, values: Tensor) -> Tensor:
        return values @ layer.weight[trial] + layer.bias[trial]

    table = embedding.weight[WORDS * trial : WORDS * (trial + 1)]
    values = torch.stack([table[word] + sinusoids(place, WIDTH) for place, word in enumerate(caption)])
    query, key, value = linear(encoder.attention_in, values).chunk(3, dim=1)
    of_heads = [
        functional.scaled_dot_product_attention(*(part[None] for part in parts))[0]
        for parts in zip(*(part.chunk(heads, dim=1) for part in (query, key, value)), strict=True)
    ]
    attended = linear(encoder.attention_out, torch.cat(of_heads, dim=1))
    values = functional.layer_norm(values + attended, (WIDTH,))
    entering, leaving = encoder.hidden.layers
    hidden = linear(leaving, torch.relu(linear(entering, values)))
    return functional.layer_norm(values + hidden, (WIDTH,)).mean(dim=0)


@settings(deadline=None, max_examples=20)
@given(heads=st.sampled_from([1, 2, 5]), stack=captions_of_stacks(), seed=st.integers(0, 99))
def test_transformer_features_and_all_gradients_are_those_of_a_plain_restatement(heads, stack, seed):
    """So no caption depends on those beside it, and padding has no gradient."""
    embedding, encoder = made(TransformerEncoder, Transformer(heads, 12), len(stack))
    own = encoder(embedding, *padded(stack), Keep())
    theirs = torch.stack(
        [
            torch.stack([plain(caption, heads, embedding, encoder, trial) for caption in captions])
            for trial, captions in enumerate(stack)
        ]
    )
    assert torch.allclose(own, theirs, atol=1e-5)  # positions are in 32 bits
    assert same_gradients(own, theirs, [embedding.weight, *encoder.parameters()], seed, rtol=1e-4, atol=1e-4)


def test_heads_and_the_order_of_words_matter():
    one, five = (made(TransformerEncoder, Transformer(heads, 12), 1) for heads in (1, 5))
    assert all(map(torch.equal, one[1].parameters(), five[1].parameters()))
    found = [encoder(embedding, *padded([[[2, 3, 4], [4, 3, 2]]]), Keep())[0] for embedding, encoder in (one, five)]
    assert not torch.allclose(*found, atol=1e-3)
    assert not torch.allclose(found[0][0], found[0][1], atol=1e-3)


@pytest.mark.parametrize("width", [6, 7, 50])
def test_positions_are_the_paper_s(width):
    found = positions(torch.arange(60), width)
    wanted = torch.stack([sinusoids(place, width) for place in range(60)])
    assert found.shape == (60, width)
    assert torch.allclose(found.double(), wanted, atol=1e-5)
