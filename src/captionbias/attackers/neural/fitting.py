"""The training loop of every neural attacker: `S` trials of one shape in one model, `S` = 1 on a CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from captionbias.arrays import Ids, Integers
from captionbias.attackers import batches
from captionbias.attackers.base import Trial, TrialScores, score_classes, score_tasks
from captionbias.attackers.neural.dropout import Drop, Dropout, Keep
from captionbias.attackers.recipes import Schedule

MOST_DROPOUTS = 8
TEST_BATCH = 512
PRECISIONS = {"fp32": torch.float32, "bf16": torch.bfloat16}

Forward = Callable[[Integers, Drop], Tensor]
_one_at_a_time = Lock()  # threads share torch's random numbers


@contextmanager
def one_thread() -> Iterator[None]:
    """Sums are then made in one order whatever the machine is busy with; for nets this small threads gain nothing."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@contextmanager
def own_random_numbers(seed: int, device: torch.device) -> Iterator[None]:
    """Torch's random numbers are a trial's own meanwhile, and go on afterwards as if nothing had been drawn."""
    with _one_at_a_time, torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield


def outputs(trial: Trial) -> int:
    """One output for two classes, as LIC has it; else one a class or task."""
    return 1 if trial.examples.outputs == 2 and not trial.examples.multilabel else trial.examples.outputs


def fit_and_score(
    trials: Sequence[Trial],
    words: Sequence[Ids],
    model: nn.Module,
    schedule: Schedule,
    dropout: float,
    device: torch.device,
) -> list[TrialScores]:
    """Train `model(tokens, lengths, drop)`, which gives logits `(S, B, outputs)`, and score each trial's test captions.

    `words`: the embedding row of each word, one table a trial.
    """
    model.to(device)

    def forward(rows: Integers, drop: Drop) -> Tensor:
        tokens, lengths = batches.pad(trials, words, rows)
        logits: Tensor = model(torch.as_tensor(tokens, device=device), lengths, drop)
        return logits

    model.train()
    _fit(trials, forward, list(model.parameters()), schedule, dropout, device)
    model.eval()
    with torch.no_grad():
        found = _predict(trials, forward)
    return [scores_from(trial, logits) for trial, logits in zip(trials, found, strict=True)]


def _fit(
    trials: Sequence[Trial],
    forward: Forward,
    parameters: list[nn.Parameter],
    schedule: Schedule,
    dropout: float,
    device: torch.device,
) -> None:
    optimizer = torch.optim.Adam(parameters, lr=schedule.learning_rate, fused=True)
    generators = [np.random.default_rng([trial.seed, 2]) for trial in trials]
    for number in range(schedule.epochs):
        plans = [batches.epoch(trial, schedule, number, g) for trial, g in zip(trials, generators, strict=True)]
        for rows in map(_without_filling, np.stack(plans, 1)):
            drawn = [generator.integers(-(2**31), 2**31, MOST_DROPOUTS, np.int32) for generator in generators]
            drop = Dropout(dropout, torch.as_tensor(np.stack(drawn), device=device))
            loss = loss_of(trials, forward(rows, drop), rows)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()


def loss_of(trials: Sequence[Trial], logits: Tensor, rows: Integers) -> Tensor:
    """The sum over trials of the mean over a step's captions: no trial's gradient knows of the others."""
    real = rows != batches.NOTHING
    weight = torch.as_tensor(real / real.sum(1, keepdims=True), dtype=torch.float32, device=logits.device)
    targets = [trial.examples.targets[of_trial] for trial, of_trial in zip(trials, rows, strict=True)]
    wanted = torch.as_tensor(np.stack(targets), device=logits.device)
    if trials[0].examples.multilabel:
        each = functional.binary_cross_entropy_with_logits(logits, wanted.float(), reduction="none").sum(2)
    elif logits.shape[2] == 1:
        each = functional.binary_cross_entropy_with_logits(logits[..., 0], wanted.float(), reduction="none")
    else:
        each = functional.cross_entropy(logits.flatten(0, 1), wanted.flatten(), reduction="none").view_as(weight)
    return (each * weight).sum()


def _predict(trials: Sequence[Trial], forward: Forward) -> list[Tensor]:
    """The logits of each trial's test captions, in the order of its `test`: `(captions, outputs)`, in 64 bits."""
    plans = [batches.by_length(trial, TEST_BATCH) for trial in trials]
    most = max(map(len, plans))
    filled = [np.pad(plan, ((0, most - len(plan)), (0, 0)), constant_values=batches.NOTHING) for plan in plans]
    found = [torch.empty(len(trial.test), outputs(trial), dtype=torch.float64) for trial in trials]
    for places in map(_without_filling, np.stack(filled, 1)):
        real = places != batches.NOTHING
        rows = np.stack([trial.test[of_trial] for trial, of_trial in zip(trials, places, strict=True)])
        logits = forward(np.where(real, rows, batches.NOTHING), Keep()).cpu().double()
        for number, table in enumerate(found):
            table[places[number, real[number]]] = logits[number, real[number]]
    return found


def _without_filling(rows: Integers) -> Integers:
    """Without the columns that are `NOTHING` in every trial."""
    return rows[:, (rows != batches.NOTHING).any(axis=0)]


def scores_from(trial: Trial, logits: Tensor) -> TrialScores:
    """From logits of the test captions `(captions, outputs)`."""
    truth = trial.examples.targets[trial.test]
    if trial.examples.multilabel:
        return score_tasks(logits.numpy(), truth)
    # A single output is the second class's, against 0 for the first.
    both = functional.pad(logits, (1, 0)) if logits.shape[1] == 1 else logits
    return score_classes(torch.log_softmax(both, dim=1).numpy(), truth)
