"""Layers of several trials: each trial's part starts and computes as torch's own layer, whatever stands beside it."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from scipy.stats import kstest, norm
from torch import nn

from captionbias.attackers.batches import FIRST_WORD_ROW, PADDING_ROW, UNKNOWN_ROW
from captionbias.attackers.neural.layers import MLP, Embedding, Linear, uniform


def generators(*seeds: int) -> list[torch.Generator]:
    return [torch.Generator().manual_seed(seed) for seed in seeds]


def parts(module: nn.Module, trial: int) -> list[torch.Tensor]:
    return [value[trial] for value in module.parameters()]


def drawn_alike(found: torch.Tensor, wanted: torch.Tensor) -> bool:
    """Whether both may come from one distribution."""
    return bool(kstest(found.detach().flatten(), wanted.detach().flatten()).pvalue > 1e-3)


def test_uniform_reaches_its_bound_and_never_passes_it():
    found = uniform(generators(0, 1), (100, 200), fan_in=25)
    assert found.shape == (2, 100, 200)
    assert found.requires_grad
    assert found.abs().max().item() == pytest.approx(1 / math.sqrt(25), rel=1e-3)
    assert found.abs().max() <= 1 / math.sqrt(25)


def test_linear_starts_as_torch_s_own():
    own, theirs = Linear(generators(3, 4), 30, 2000), nn.Linear(30, 2000)
    for trial in range(2):
        assert drawn_alike(own.weight[trial], theirs.weight)
        assert drawn_alike(own.bias[trial], theirs.bias)
    assert own.weight.abs().max().item() == pytest.approx(theirs.weight.abs().max().item(), rel=1e-3)
    assert not torch.equal(own.weight[0], own.weight[1])


def test_linear_is_torch_s_own_in_each_trial():
    layer, values = Linear(generators(0, 1, 2), 5, 4), torch.randn(3, 7, 5)
    found = layer(values)
    for trial in range(3):
        wanted = nn.functional.linear(values[trial], layer.weight[trial].T, layer.bias[trial, 0])
        assert torch.allclose(found[trial], wanted, atol=1e-6)
    assert layer(values.bfloat16()).dtype == torch.bfloat16


@pytest.mark.parametrize("widths", [(5, 2), (5, 6, 2), (5, 6, 4, 2)])
def test_an_mlp_is_linear_layers_with_rectifiers_between_them(widths):
    head, values = MLP(generators(0, 1), widths), torch.randn(2, 7, 5)
    found = head(values)
    assert [layer.weight.shape for layer in head.layers] == [(2, *pair) for pair in itertools.pairwise(widths)]
    for trial in range(2):
        linear = [nn.Linear(*layer.weight.shape[1:]) for layer in head.layers]
        for theirs, own in zip(linear, head.layers, strict=True):
            theirs.load_state_dict({"weight": own.weight[trial].T, "bias": own.bias[trial, 0]})
        steps = [step for layer in linear for step in (nn.ReLU(), layer)][1:]
        assert torch.allclose(found[trial], nn.Sequential(*steps)(values[trial]), atol=1e-6)


def test_words_start_as_torch_s_own_and_padding_and_unknown_at_zero():
    table = Embedding(generators(0, 1), [300, 200], 50, torch.float32).weight
    assert {UNKNOWN_ROW, PADDING_ROW} == set(range(FIRST_WORD_ROW))
    for own in table.split([300, 200]):
        assert not own[:FIRST_WORD_ROW].any()
        assert (own[FIRST_WORD_ROW:] != 0).any(dim=1).all()
        assert kstest(own[FIRST_WORD_ROW:].detach().flatten(), norm.cdf).pvalue > 1e-3
    assert table.requires_grad


def test_a_trial_looks_up_its_own_table_and_changes_no_other():
    rows = [4, 7, 5]
    embedding = Embedding(generators(0, 1, 2), rows, 3, torch.float32)
    tables = embedding.weight.split(rows)
    numbers = torch.stack([torch.randint(count, (2, 6)) for count in rows])
    found = embedding(numbers)
    assert found.shape == (3, 2, 6, 3)
    for trial in range(3):
        assert torch.equal(found[trial], tables[trial][numbers[trial]])
    assert torch.equal(embedding(numbers.flatten(1)), found.flatten(1, 2))
    found[1].sum().backward()
    used = torch.bincount(numbers[1].flatten(), minlength=7).float()
    assert torch.equal(embedding.weight.grad, torch.cat((torch.zeros(4), used, torch.zeros(5)))[:, None].expand(-1, 3))


def test_a_table_stays_in_32_bits_and_gives_what_the_training_computes_in():
    embedding = Embedding(generators(0), [9], 3, torch.bfloat16)
    numbers = torch.arange(9)[None]
    assert embedding.weight.dtype == torch.float32
    assert torch.equal(embedding(numbers)[0], embedding.weight.bfloat16())


@pytest.mark.parametrize("layer", [lambda g: Linear(g, 5, 4), lambda g: MLP(g, (5, 6, 2))], ids=["linear", "MLP"])
def test_a_trial_starts_in_a_stack_as_it_starts_alone(layer):
    stack = layer(generators(7, 8, 9))
    for trial, seed in enumerate((7, 8, 9)):
        for found, wanted in zip(parts(stack, trial), parts(layer(generators(seed)), 0), strict=True):
            assert torch.equal(found, wanted)


def test_a_trial_s_words_start_in_a_stack_as_they_start_alone():
    rows = [4, 7, 5]
    tables = Embedding(generators(7, 8, 9), rows, 3, torch.float32).weight.split(rows)
    for table, count, seed in zip(tables, rows, (7, 8, 9), strict=True):
        assert torch.equal(table, Embedding(generators(seed), [count], 3, torch.float32).weight)
