"""Encoders and networks: torch's own LSTM and RNN with the same weights, the transformer one caption at a time."""

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

from captionbias.attackers import recipes
from captionbias.attackers.batches import FIRST_WORD_ROW, PADDING_ROW, UNKNOWN_ROW
from captionbias.attackers.neural.encoders import CELLS, RecurrentEncoder, TransformerEncoder
from captionbias.attackers.neural.layers import NO_DROPOUT, Embedding
from captionbias.attackers.neural.network import Network
from captionbias.attackers.neural.recurrent import LSTM, Steps
from captionbias.attackers.recipes import Recipe, Recurrent, Transformer

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
    own = encoder(embedding, *padded(stack), NO_DROPOUT)
    weights = [torch_weights(encoder.layers, trial, recipe.cell) for trial in range(len(stack))]
    theirs = by_torch(recipe, embedding, weights, stack)
    assert own.shape == (len(stack), len(stack[0]), encoder.outputs)
    assert torch.allclose(own, theirs, **CLOSE[recipe.cell])
    assert same_gradients(own, theirs, [embedding.weight, *encoder.parameters()], seed, **CLOSE[recipe.cell])


def test_both_biases_learn_as_torch_s_own_two_do():
    # Adam gives each its own step, so that one bias of their sum would learn half as fast.
    embedding, encoder = made(RecurrentEncoder, Recurrent("lstm", HIDDEN), 1)
    encoder(embedding, *padded([[[2, 3]]]), NO_DROPOUT).sum().backward()
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
        encoder(embedding, *padded([[[2, 3, 4], [5]]]), NO_DROPOUT).sum().backward()
        slopes.append(embedding.weight.grad)
        assert all((value.grad is not None) == trained for value in encoder.parameters())
    assert torch.equal(*slopes)


def test_what_an_lstm_adds_up_in_bfloat16_is_not_lost():
    # All gates open, 0.002 a step: in 8 bits a cell would stop growing at a half, where 0.002 is less than a rounding.
    steps = Steps.of(np.array([[600]]), torch.device("cpu"))
    nothing = [torch.zeros(shape, dtype=torch.bfloat16) for shape in ((1, 600, 1), (1, 1, 4), (1, 1, 4))]
    bias = torch.tensor([[[20.0, 20.0, 20.0, 0.002]]], dtype=torch.bfloat16)
    states = LSTM.apply(*nothing, bias, steps)
    assert states[0, -1].item() == pytest.approx(np.tanh(600 * 0.002), abs=0.01)


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
    own = encoder(embedding, *padded(stack), NO_DROPOUT)
    theirs = torch.stack(
        [
            torch.stack([plain(caption, heads, embedding, encoder, trial) for caption in captions])
            for trial, captions in enumerate(stack)
        ]
    )
    assert torch.allclose(own, theirs, atol=1e-5)  # positions are in 32 bits
    assert same_gradients(own, theirs, [embedding.weight, *encoder.parameters()], seed, rtol=1e-4, atol=1e-4)


# --- whole networks ---

FIRST = [[2, 3, 4, 5, 6, 7, 2], [4, 4, 5], [UNKNOWN_ROW]]
SECOND = [[3, 2, 3, 2], [7, 6, 5, 4], [5, 6]]


def network(recipe: Recipe, rows: list[int], outputs: int = 1, precision: torch.dtype = torch.float32) -> Network:
    """The trials' seeds are the numbers of their rows."""
    return Network([torch.Generator().manual_seed(count) for count in rows], recipe, rows, outputs, precision)


@pytest.mark.parametrize("name", recipes.RECIPES)
@pytest.mark.parametrize("outputs", [1, 7])
def test_the_head_is_one_linear_output_for_lic_one_hidden_layer_for_sets_and_a_3_layer_mlp_for_dbac(name, outputs):
    recipe = recipes.RECIPES[name]
    features = recipe.embedding
    if isinstance(recipe.encoder, Recurrent):
        features = recipe.encoder.hidden * (2 if recipe.encoder.bidirectional else 1)
    widths = [tuple(layer.weight.shape[1:]) for layer in network(recipe, [30], outputs).head.layers]
    others = {"lstm-lic": [(512, outputs)], "dense": [(64, 64), (64, outputs)]}
    assert widths == others.get(name, [(features, 64), (64, 64), (64, outputs)])


class Noting:
    """Drops nothing, and notes what it is given."""

    def __init__(self) -> None:
        self.calls: list[tuple[Tensor, Tensor, Tensor | None]] = []

    def __call__(self, values: Tensor, row: Tensor, time: Tensor | None = None) -> Tensor:
        self.calls.append((values, row, time))
        return values


def test_lic_s_dropout_falls_on_the_embedding_between_the_layers_and_on_the_last_states():
    model, drop = network(recipes.RECIPES["lstm-lic"], [8, 12]), Noting()
    tokens, lengths = padded([FIRST, SECOND])
    logits = model(tokens, lengths, drop)
    (words, row, time), (states, row_again, time_again), (features, captions, none) = drop.calls
    assert torch.equal(words, model.embedding(tokens[:, row, time]))
    assert states.shape == (2, len(row), 512)
    assert torch.equal(row, row_again)
    assert torch.equal(time, time_again)
    assert none is None
    assert captions.tolist() == [0, 1, 2]
    assert torch.equal(logits, model.head(features))
    # Both directions of the first layer stand side by side, each at its own caption's token: after one token the
    # first direction knows one word, the other the whole caption.
    swapped = [[2, *range(3, 8), 3], *FIRST[1:]]
    other = Noting()
    model(*padded([swapped, SECOND]), other)
    first_token = (row == 0) & (time == 0)
    same = (other.calls[1][0] == states)[0, first_token][0]
    assert same[:256].all()
    assert not same[256:].any()


@pytest.mark.parametrize("name", ["lstm-lic", "birnn", "transformer-5h", "dense"])
def test_a_trained_network_reads_embeddings_as_it_reads_words(name):
    """In 32 bits, whatever the precision of its training."""
    recipe = recipes.RECIPES[name]
    model, exact = network(recipe, [8], 3, torch.bfloat16), network(recipe, [8], 3)
    for caption in FIRST:
        tokens, lengths = padded([[caption, caption]])
        read = model.read(model.embed(tokens[0]))
        assert torch.allclose(read, exact(tokens, lengths, NO_DROPOUT)[0], atol=1e-6)
