"""Whole attackers: the networks that the papers describe, and captions that are judged by themselves alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from captionbias.attackers.batches import PADDING_ROW, UNKNOWN_ROW
from captionbias.attackers.neural.dropout import Keep
from captionbias.attackers.neural.fitting import MOST_DROPOUTS
from captionbias.attackers.neural.layers import parts
from captionbias.attackers.neural.network import Network
from captionbias.attackers.recipes import RECIPES, Bag, Recipe, Recurrent

EACH = pytest.mark.parametrize("name", ["lstm-lic", "birnn", "transformer-5h", "dense"])
LIC = RECIPES["lstm-lic"]
DBAC = [name for name in RECIPES if name not in ("lstm-lic", "dense")]
# The published layers, narrower: what is tested is how they hang together.
SMALL = {
    name: replace(
        recipe,
        embedding=10,
        encoder=recipe.encoder if isinstance(recipe.encoder, Bag) else replace(recipe.encoder, hidden=6),
        head=tuple(20 for _ in recipe.head),
    )
    for name, recipe in RECIPES.items()
}


def made(recipe: Recipe, rows: list[int], outputs: int = 1, precision: torch.dtype = torch.float32) -> Network:
    """The trials' seeds are the numbers of their rows."""
    return Network([torch.Generator().manual_seed(count) for count in rows], recipe, rows, outputs, precision)


def padded(*stack: list[list[int]]) -> tuple[Tensor, np.ndarray]:
    lengths = np.array([[len(caption) for caption in captions] for captions in stack])
    longest = int(lengths.max())
    table = [[caption + [PADDING_ROW] * (longest - len(caption)) for caption in captions] for captions in stack]
    return torch.tensor(table), lengths


FIRST = [[2, 3, 4, 5, 6, 7, 2], [4, 4, 5], [UNKNOWN_ROW]]
SECOND = [[3, 2, 3, 2], [7, 6, 5, 4], [5, 6]]


def size(module: nn.Module) -> int:
    return sum(value.numel() for value in module.parameters())


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("outputs", [1, 7])
def test_the_head_is_one_linear_output_for_lic_one_hidden_layer_for_sets_and_a_3_layer_mlp_for_dbac(name, outputs):
    recipe = RECIPES[name]
    features = recipe.embedding
    if isinstance(recipe.encoder, Recurrent):
        features = recipe.encoder.hidden * (2 if recipe.encoder.bidirectional else 1)
    widths = [tuple(layer.weight.shape[1:]) for layer in made(recipe, [30], outputs).head.layers]
    others = {"lstm-lic": [(512, outputs)], "dense": [(64, 64), (64, outputs)]}
    assert widths == others.get(name, [(features, 64), (64, 64), (64, outputs)])


@pytest.mark.parametrize("name", ["lstm-lic", *DBAC])
def test_the_encoders_of_captions_have_as_many_parameters_as_torch_s_own(name):
    encoder = RECIPES[name].encoder
    if name == "lstm-lic":
        theirs: nn.Module = nn.LSTM(100, 256, 2, bidirectional=True)
    elif isinstance(encoder, Recurrent):
        kind = nn.LSTM if "lstm" in name else nn.RNN
        theirs = kind(50, 64, bidirectional=name.startswith("bi"))
    else:
        theirs = nn.TransformerEncoderLayer(50, encoder.heads, 200)
        theirs.norm1, theirs.norm2 = nn.Identity(), nn.Identity()  # the engine's norms have nothing to learn
    model = made(RECIPES[name], [30])
    assert size(model.encoder) == size(theirs)
    assert all(value.requires_grad and value.dtype == torch.float32 for value in model.parameters())


@EACH
def test_a_caption_is_judged_the_same_alone_among_others_and_beside_other_trials(name):
    stack = made(SMALL[name], [8, 12], outputs=2)
    together = stack(*padded(FIRST, SECOND), Keep())
    assert together.shape == (2, 3, 2)
    for trial, (rows, captions) in enumerate(((8, FIRST), (12, SECOND))):
        alone = made(SMALL[name], [rows], outputs=2)
        for place, caption in enumerate(captions):
            assert torch.allclose(together[trial, place], alone(*padded([caption]), Keep())[0, 0], atol=1e-6)
    assert not torch.allclose(together[0, 0], together[0, 1], atol=1e-4)


class Noting:
    """Drops nothing, and notes what it is given."""

    def __init__(self) -> None:
        self.calls: list[tuple[Tensor, Tensor, Tensor | None]] = []

    def __call__(self, values: Tensor, row: Tensor, time: Tensor | None = None) -> Tensor:
        self.calls.append((values, row, time))
        return values


def test_lic_s_dropout_falls_on_the_embedding_between_the_layers_and_on_the_last_states():
    model, drop = made(LIC, [8, 12]), Noting()
    tokens, lengths = padded(FIRST, SECOND)
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
    model(*padded(swapped, SECOND), other)
    first_token = (row == 0) & (time == 0)
    same = (other.calls[1][0] == states)[0, first_token][0]
    assert same[:256].all()
    assert not same[256:].any()


@pytest.mark.parametrize("name", DBAC)
def test_dbac_s_dropout_falls_on_the_words_and_on_the_features(name):
    model, drop = made(SMALL[name], [8, 12]), Noting()
    logits = model(*padded(FIRST, SECOND), drop)
    assert len(drop.calls) <= MOST_DROPOUTS, "each has a key"
    transformer = name.startswith("transformer")
    assert len(drop.calls) == (4 if transformer else 2)  # a transformer's own two as in its paper
    for values, row, time in drop.calls[:-1]:
        assert values.shape[:2] == (2, len(row))
        assert row.shape == time.shape
        assert len(set(zip(row.tolist(), time.tolist(), strict=True))) == len(row)
        real = [(row, time) for row, own in enumerate(FIRST) for time in range(len(own))]
        assert set(real) <= set(zip(row.tolist(), time.tolist(), strict=True))
    features, captions, time = drop.calls[-1]
    assert captions.tolist() == [0, 1, 2]
    assert time is None
    assert torch.equal(logits, model.head(features))


@EACH
def test_bfloat16_gives_logits_in_32_bits_near_those_of_32_bits(name):
    exact, rough = (made(SMALL[name], [8], 2, precision) for precision in (torch.float32, torch.bfloat16))
    logits = [model(*padded(FIRST), Keep()) for model in (exact, rough)]
    assert logits[1].dtype == torch.float32
    assert not torch.equal(*logits)
    # Logits of about 1 and 8 bits: a rounding is 0.004 at most, and each logit has gone through a few dozen.
    assert torch.allclose(*logits, atol=0.03)
    assert all(value.dtype == torch.float32 for value in rough.parameters())


@EACH
@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_a_trained_network_reads_embeddings_as_it_reads_words(name, precision):
    """In 32 bits, whatever the precision of its training."""
    model, exact = made(SMALL[name], [8], 3, precision), made(SMALL[name], [8], 3)
    for caption in FIRST:
        tokens, lengths = padded([caption, caption])
        read = model.read(model.embed(tokens[0]))
        assert torch.allclose(read, exact(tokens, lengths, Keep())[0], atol=1e-6)


@EACH
def test_a_trial_s_part_of_a_stack_is_what_it_is_in_the_stack(name):
    stack = made(SMALL[name], [8, 12], 2)
    with torch.no_grad():
        for value in stack.parameters():
            value.normal_()
    together = stack(*padded(FIRST, SECOND), Keep())
    for trial, alone in enumerate(parts(stack, 2, lambda trial: made(SMALL[name], [[8, 12][trial]], 2))):
        assert torch.allclose(alone(*padded((FIRST, SECOND)[trial]), Keep())[0], together[trial], atol=1e-5)
        assert not any(value.requires_grad for value in alone.parameters())
    assert parts(stack, 1, made) == [stack]
