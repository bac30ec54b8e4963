"""The transformer encoder, restated one caption at a time, without a batch and without padding."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional

from captionbias.attackers.batches import PADDING_ROW
from captionbias.attackers.neural.dropout import Keep
from captionbias.attackers.neural.layers import Embedding
from captionbias.attackers.neural.transformer import TransformerEncoder, positions
from captionbias.attackers.recipes import Transformer

WIDTH, WORDS = 10, 9


def made(heads: int, trials: int, precision: torch.dtype = torch.float64) -> tuple[Embedding, TransformerEncoder]:
    generators = [torch.Generator().manual_seed(seed) for seed in range(trials)]
    embedding = Embedding(generators, [WORDS] * trials, WIDTH, precision).double()
    return embedding, TransformerEncoder(generators, Transformer(heads, 12), WIDTH).double()


def padded(stack: list[list[list[int]]], longest: int | None = None) -> tuple[Tensor, np.ndarray]:
    lengths = np.array([[len(caption) for caption in captions] for captions in stack])
    longest = longest or int(lengths.max())
    table = [[caption + [PADDING_ROW] * (longest - len(caption)) for caption in captions] for captions in stack]
    return torch.tensor(table), lengths


@st.composite
def captions_of_stacks(draw) -> list[list[list[int]]]:
    trials, captions = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    words = st.lists(st.integers(0, WORDS - 1), min_size=1, max_size=8)
    return [draw(st.lists(words, min_size=captions, max_size=captions)) for _ in range(trials)]


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
def test_features_and_all_gradients_are_those_of_a_plain_restatement(heads, stack, seed):
    embedding, encoder = made(heads, len(stack))
    own = encoder(embedding, *padded(stack), Keep())
    theirs = torch.stack(
        [
            torch.stack([plain(caption, heads, embedding, encoder, trial) for caption in captions])
            for trial, captions in enumerate(stack)
        ]
    )
    assert torch.allclose(own, theirs, atol=1e-5)  # positions are in 32 bits
    wanted = torch.randn(own.shape, generator=torch.Generator().manual_seed(seed), dtype=own.dtype)
    parameters = [embedding.weight, *encoder.parameters()]
    for found, right in zip(
        torch.autograd.grad(own, parameters, wanted), torch.autograd.grad(theirs, parameters, wanted), strict=True
    ):
        assert torch.allclose(found, right, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("heads", [1, 5])
def test_longer_neighbours_change_nothing(heads):
    embedding, encoder = made(heads, 1)
    caption = [2, 3, 4]
    alone = encoder(embedding, *padded([[caption]]), Keep())[0, 0]
    for neighbours in ([[5]], [[5, 6, 7, 8, 2, 2, 2, 2, 3]], [[5] * 40, [6] * 20]):
        beside = encoder(embedding, *padded([[*neighbours, caption]]), Keep())[0, -1]
        assert torch.allclose(beside, alone, atol=1e-12)


def test_padding_has_no_gradient():
    embedding, encoder = made(5, 1)
    encoder(embedding, *padded([[[2, 3, 4, 5, 6], [7]]]), Keep()).square().sum().backward()
    assert not embedding.weight.grad[PADDING_ROW].any()
    assert embedding.weight.grad[2:8].any(dim=1).all()


def test_one_head_is_not_five():
    one, five = (made(heads, 1) for heads in (1, 5))
    assert all(map(torch.equal, one[1].parameters(), five[1].parameters()))
    given = padded([[[2, 3, 4, 5], [6, 7]]])
    assert not torch.allclose(one[1](one[0], *given, Keep()), five[1](five[0], *given, Keep()), atol=1e-3)


def test_the_order_of_words_matters():
    embedding, encoder = made(1, 1)
    found = encoder(embedding, *padded([[[2, 3, 4], [4, 3, 2]]]), Keep())[0]
    assert not torch.allclose(found[0], found[1], atol=1e-3)


@pytest.mark.parametrize("width", [6, 7, 50])
def test_positions_are_the_paper_s(width):
    found = positions(torch.arange(60), width)
    wanted = torch.stack([sinusoids(place, width) for place in range(60)])
    assert found.shape == (60, width)
    assert torch.allclose(found.double(), wanted, atol=1e-5)
