"""Layers of several trials: each trial's part starts and computes as torch's own layer, whatever stands beside it."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from scipy.stats import kstest, norm
from torch import Tensor, nn

from captionbias.attackers.batches import FIRST_WORD_ROW, PADDING_ROW, UNKNOWN_ROW
from captionbias.attackers.neural.layers import MLP, BatchNorm, Embedding, NormalizedMLP, uniform


def generators(*seeds: int) -> list[torch.Generator]:
    return [torch.Generator().manual_seed(seed) for seed in seeds]


def drawn_alike(found: torch.Tensor, wanted: torch.Tensor) -> bool:
    """Whether both may come from one distribution."""
    return bool(kstest(found.detach().flatten(), wanted.detach().flatten()).pvalue > 1e-3)


def test_uniform_reaches_its_bound_and_never_passes_it():
    found = uniform(generators(0, 1), (100, 200), fan_in=25)
    assert found.shape == (2, 100, 200)
    assert found.requires_grad
    assert found.abs().max().item() == pytest.approx(1 / math.sqrt(25), rel=1e-3)
    assert found.abs().max() <= 1 / math.sqrt(25)


@pytest.mark.parametrize("widths", [(5, 2), (5, 6, 4, 2)])
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
    assert head(values.bfloat16()).dtype == torch.bfloat16


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


def test_a_trial_starts_in_a_stack_as_it_starts_alone():
    stack, rows = MLP(generators(7, 8, 9), (5, 6, 2)), [4, 7, 5]
    tables = Embedding(generators(7, 8, 9), rows, 3, torch.float32).weight.split(rows)
    for trial, (seed, count) in enumerate(zip((7, 8, 9), rows, strict=True)):
        alone = MLP(generators(seed), (5, 6, 2)).parameters()
        assert all(torch.equal(value[trial], own[0]) for value, own in zip(stack.parameters(), alone, strict=True))
        assert torch.equal(tables[trial], Embedding(generators(seed), [count], 3, torch.float32).weight)


# --- LIC's head on BERT ---


def filled(values: Tensor, rows: int) -> tuple[Tensor, Tensor]:
    """Batches of several trials, filled up with large rows to `rows`, and which rows are real."""
    trials, real, width = values.shape
    flags = torch.arange(rows) < real
    return torch.cat((values, torch.full((trials, rows - real, width), 1e3)), 1), flags.expand(trials, -1)


def test_normalisation_is_torch_s_in_training_and_after_with_filled_rows():
    ours, theirs = BatchNorm(3, 4), [nn.BatchNorm1d(4) for _ in range(3)]
    with torch.no_grad():
        ours.weight.normal_()
        ours.bias.normal_()
        for number, one in enumerate(theirs):
            one.weight.copy_(ours.weight[number, 0])
            one.bias.copy_(ours.bias[number, 0])
    for real in (8, 3, 2, 5):
        values = torch.randn(3, real, 4) * 3 + 1
        found = ours(*filled(values, 8))[:, :real]
        torch.testing.assert_close(
            found, torch.stack([one(own) for one, own in zip(theirs, values, strict=True)]), atol=1e-6, rtol=1e-5
        )
    torch.testing.assert_close(ours.mean[:, 0], torch.stack([one.running_mean for one in theirs]), atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(
        ours.variance[:, 0], torch.stack([one.running_var for one in theirs]), atol=1e-6, rtol=1e-6
    )
    ours.eval()
    values = torch.randn(3, 6, 4)
    wanted = torch.stack([one.eval()(own) for one, own in zip(theirs, values, strict=True)])
    torch.testing.assert_close(ours(*filled(values, 8))[:, :6], wanted, atol=1e-6, rtol=1e-5)


def test_a_step_of_one_caption_gives_numbers():
    """Where torch's own raises: the last step of an epoch may be one."""
    norm = BatchNorm(1, 4)
    assert norm(*filled(torch.randn(1, 1, 4), 1)).isfinite().all()
    assert norm.variance.isfinite().all()


def torch_head(ours: NormalizedMLP, trial: int) -> nn.Sequential:
    width, hidden, outputs = ours.hidden.weight.shape[1], ours.hidden.weight.shape[2], ours.output.weight.shape[2]
    layers = (
        nn.BatchNorm1d(width),
        nn.Linear(width, hidden),
        nn.BatchNorm1d(hidden),
        nn.LeakyReLU(),
        nn.Linear(hidden, outputs),
    )
    with torch.no_grad():
        for theirs, own in ((layers[1], ours.hidden), (layers[4], ours.output)):
            theirs.weight.copy_(own.weight[trial].T)
            theirs.bias.copy_(own.bias[trial, 0])
    return nn.Sequential(*layers)


def test_the_head_is_that_of_torch_s_layers_and_learns_as_they_do():
    ours = NormalizedMLP([torch.Generator().manual_seed(seed) for seed in (1, 2)], (6, 5, 3))
    theirs = [torch_head(ours, trial) for trial in range(2)]
    learner = torch.optim.SGD(ours.parameters(), 0.1)
    learners = [torch.optim.SGD(one.parameters(), 0.1) for one in theirs]
    for real in (7, 4, 7):
        values = torch.randn(2, real, 6)
        found = ours(*filled(values, 7))[:, :real]
        wanted = torch.stack([one(own) for one, own in zip(theirs, values, strict=True)])
        torch.testing.assert_close(found, wanted, atol=1e-6, rtol=1e-5)
        (found.square().sum() + wanted.square().sum()).backward()
        for optimizer in (learner, *learners):
            optimizer.step()
            optimizer.zero_grad()
    ours.eval()
    values = torch.randn(2, 5, 6)
    wanted = torch.stack([one.eval()(own) for one, own in zip(theirs, values, strict=True)])
    torch.testing.assert_close(ours(*filled(values, 7))[:, :5], wanted, atol=1e-6, rtol=1e-5)
