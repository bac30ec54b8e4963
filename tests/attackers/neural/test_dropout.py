"""Dropout: as often as asked for, without a pattern, and a caption's own whatever is computed beside it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from torch import Tensor

from captionbias.attackers.neural.layers import NO_DROPOUT, Dropout

RATES = pytest.mark.parametrize("rate", [0.1, 0.5])
ROWS, TIMES, FEATURES = 128, 40, 100


def keys(trials: int = 1, calls: int = 1) -> Tensor:
    """As a training draws them."""
    return torch.as_tensor(np.random.default_rng(0).integers(-(2**31), 2**31, (trials, calls), np.int32))


def places(rows: int = ROWS, times: int = TIMES) -> tuple[Tensor, Tensor]:
    """Caption and token of each place, one caption after the other."""
    return torch.arange(rows).repeat_interleave(times), torch.arange(times).repeat(rows)


def kept(drop: Dropout, row: Tensor, time: Tensor | None, features: int = FEATURES, trials: int = 1) -> Tensor:
    """Which values the next call keeps, `(S, N, F)`."""
    return drop(torch.ones(trials, len(row), features), row, time) != 0


def whole_grid(rate: float, key: Tensor, features: int = FEATURES) -> np.ndarray:
    """What is kept under one key, `(captions, tokens, features)`."""
    return kept(Dropout(rate, key.view(1, 1)), *places(), features).view(ROWS, TIMES, features).numpy()


def unrelated(left: np.ndarray, right: np.ndarray, rate: float) -> bool:
    """Whether two sets of flags agree as often as chance has it, within 5 standard errors."""
    chance = rate**2 + (1 - rate) ** 2
    return abs((left == right).mean() - chance) < 5 * math.sqrt(chance * (1 - chance) / left.size)


@RATES
def test_features_are_dropped_at_the_rate(rate):
    for key in keys(5).flatten():
        flags = whole_grid(rate, key)
        error = math.sqrt(rate * (1 - rate) / flags.size)
        assert abs((~flags).mean() - rate) < 5 * error
        # Nor do some features, tokens or captions have it more often than others.
        for axes, count in (((0, 1), FEATURES), ((0, 2), TIMES), ((1, 2), ROWS)):
            spread = (~flags).mean(axis=axes).std()
            assert spread == pytest.approx(error * math.sqrt(count), rel=0.5)


@RATES
def test_what_is_kept_is_scaled_so_that_the_mean_stays(rate):
    values = torch.rand(1, ROWS * TIMES, FEATURES) + 1
    found = Dropout(rate, keys())(values, *places())
    assert torch.allclose(found[found != 0], values[found != 0] / (1 - rate))
    spread = values.square().mean().sqrt() * math.sqrt(rate / (1 - rate) / values.numel())
    assert abs(found.mean() - values.mean()) < 5 * spread


@RATES
def test_neighbours_have_nothing_to_do_with_each_other(rate):
    flags = whole_grid(rate, keys()[0])
    # Two neighbouring features are the two halves of one number.
    assert unrelated(flags[..., 0::2], flags[..., 1::2], rate)
    for axis, distance in itertools.product(range(3), (1, 2, 3, 4, 8, 16)):
        near, far = np.arange(flags.shape[axis] - distance), np.arange(distance, flags.shape[axis])
        assert unrelated(flags.take(near, axis), flags.take(far, axis), rate), (axis, distance)
    # Nor two steps along two axes at once.
    assert unrelated(flags[1:, :-1], flags[:-1, 1:], rate)
    assert unrelated(flags[1:, :, :-2], flags[:-1, :, 2:], rate)
    assert unrelated(flags[:, 1:, :-2], flags[:, :-1, 2:], rate)


@RATES
def test_trials_and_calls_and_steps_have_draws_of_their_own_however_near_their_keys_are(rate):
    drop, row, time = Dropout(rate, keys(trials=2, calls=3)), *places()
    flags = torch.stack([kept(drop, row, time, trials=2) for _ in range(3)]).flatten(0, 1).numpy()
    for left, right in itertools.combinations(flags, 2):
        assert unrelated(left, right, rate)
    for near in (1, 2, 2**16, -(2**31)):
        left, right = (whole_grid(rate, torch.tensor(key, dtype=torch.int32)) for key in (12345, 12345 ^ near))
        assert unrelated(left, right, rate)


def test_a_caption_s_draw_depends_on_neither_the_batch_nor_the_longest_caption_nor_the_stack_nor_the_width():
    key = keys(trials=3)
    row, time = places()
    alone = kept(Dropout(0.5, key[1:2]), row, time)[0]
    stacked = kept(Dropout(0.5, key), row, time, trials=3)
    assert torch.equal(stacked[1], alone)
    assert not torch.equal(stacked[0], alone)
    some = torch.randperm(len(row), generator=torch.Generator().manual_seed(0))[:50]
    assert torch.equal(kept(Dropout(0.5, key[1:2]), row[some], time[some])[0], alone[some])
    for width in (1, 2, 7, 99):
        assert torch.equal(kept(Dropout(0.5, key[1:2]), row, time, width)[0], alone[:, :width])


def test_without_dropout_values_are_left_as_they_are():
    values = torch.randn(1, ROWS * TIMES, FEATURES)
    before = values.clone()
    for _ in range(3):
        assert torch.equal(NO_DROPOUT(values, *places()), values)
    Dropout(0.5, keys())(values, *places())
    assert torch.equal(values, before), "values are not changed in place"
