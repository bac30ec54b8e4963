"""Layers of several trials: each trial's part starts and computes as torch's own layer, whatever stands beside it."""

from __future__ import annotations

import pytest
import torch
from scipy.stats import kstest
from torch import Tensor, nn

from captionbias.attackers.batches import FIRST_WORD_ROW, PADDING_ROW, UNKNOWN_ROW
from captionbias.attackers.neural.layers import BatchNorm, Embedding, NormalizedMLP, uniform


def generators(*seeds: int) -> list[torch.Generator]:
    return [torch.Generator().manual_seed(seed) for seed in seeds]


def test_weights_start_as_torch_s_own_and_unknown_words_and_padding_at_zero():
    linear = uniform(generators(0, 1), (100, 200), fan_in=25)
    assert linear.abs().max().item() == pytest.approx(1 / 5, rel=1e-3)
    assert kstest(linear.detach().flatten(), "uniform", (-1 / 5, 2 / 5)).pvalue > 1e-3
    for own in Embedding(generators(0, 1), [300, 200], 50, torch.float32).weight.detach().split([300, 200]):
        assert not own[[UNKNOWN_ROW, PADDING_ROW]].any()
        assert kstest(own[FIRST_WORD_ROW:].flatten(), "norm").pvalue > 1e-3


# --- LIC's head on BERT ---


def filled(values: Tensor, rows: int) -> tuple[Tensor, Tensor]:
    """Batches of several trials, filled up with large rows to `rows`, and which rows are real."""
    trials, real, width = values.shape
    flags = torch.arange(rows) < real
    return torch.cat((values, torch.full((trials, rows - real, width), 1e3)), 1), flags.expand(trials, -1)


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
