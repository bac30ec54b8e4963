"""Trainings together, for a GPU; that they give what each gives alone: `test_engine`."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from captionbias.attackers.neural import stacked
from tests.attackers.neural.test_fitting import fitted, quick
from tests.refusals import refuses

CPU = torch.device("cpu")


class Calls(TorchDispatchMode):
    """How often each of torch's operations is called."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.counts[str(function)] += 1
        return function(*args, **(kwargs or {}))


def test_no_step_waits_for_the_device_or_copies_from_the_host(class_trial, monkeypatch):
    """More epochs are more products, and as many tensors that numpy made and values that Python asks for."""
    copied, from_numpy = [], torch.from_numpy
    monkeypatch.setattr(torch, "from_numpy", lambda array: copied.append(array) or from_numpy(array))
    trials = [class_trial(n=100, test=20, seed=seed) for seed in range(2)]

    def calls(epochs: int) -> tuple[int, dict[str, int]]:
        copied.clear()
        with Calls() as calls:
            stacked.fit(trials, quick("lstm-dbac", epochs), "fp32", CPU)
        return len(copied), calls.counts

    few, few_counts = calls(1)
    many, many_counts = calls(3)
    assert few == many
    assert few_counts["aten.baddbmm.default"] < many_counts["aten.baddbmm.default"]
    waits = [
        "aten._local_scalar_dense.default",
        "aten.nonzero.default",
        "aten.is_nonzero.default",
        "aten.equal.default",
    ]
    assert sum(few_counts[name] for name in waits) > 0, "scores ask whether they are finite"
    assert [few_counts[name] for name in waits] == [many_counts[name] for name in waits]


@pytest.mark.parametrize(("name", "precision"), [("lstm-lic", "bf16"), ("rnn", "fp16"), ("dense", "fp16")])
def test_16_bits_learn_what_32_learn(class_trial, name, precision):
    trials, recipe = [class_trial(n=300, signal=0.7, seed=seed) for seed in range(3)], quick(name)
    exact, rough, other = (
        np.exp([one.test_scores.log_probability for one in stacked.fit(some, recipe, kind, CPU)])
        for some, kind in (
            (trials, "fp32"),
            (trials, precision),
            ([replace(trial, seed=9) for trial in trials], "fp32"),
        )
    )
    assert rough.mean() > 0.6, "chance is a half"
    assert 0 < np.abs(rough - exact).mean() < np.abs(other - exact).mean() / 2
    alone = np.exp(fitted(trials[0], recipe, precision).test_scores.log_probability)
    assert np.abs(alone - rough[0]).mean() < np.abs(other - exact).mean() / 2


@pytest.mark.parametrize("room", [0, 1, 3])
def test_too_little_memory_for_all_is_enough_for_fewer(class_trial, monkeypatch, room):
    trials, together, sizes = [class_trial(n=60, test=20, seed=seed) for seed in range(5)], stacked._together, []

    def small(some, *rest):
        sizes.append(len(some))
        if len(some) > room:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return together(some, *rest)

    expected = stacked.fit(trials, quick("dense"), "fp32", CPU)
    monkeypatch.setattr(stacked, "_together", small)
    if not room:
        refuses(
            "encoder: one training needs more memory than cpu has", stacked.fit, trials, quick("dense"), "fp32", CPU
        )
        return
    scores = stacked.fit(trials, quick("dense"), "fp32", CPU)
    assert sizes == {1: [5, 2, 1, 1, 3, 1, 2, 1, 1], 3: [5, 2, 3]}[room]
    for one, other, trial in zip(scores, expected, trials, strict=True):
        assert one.trial is trial
        np.testing.assert_allclose(one.test_scores.log_probability, other.test_scores.log_probability, atol=1e-5)
