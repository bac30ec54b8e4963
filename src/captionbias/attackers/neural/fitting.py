"""The training loop of every neural attacker: `S` trials of one shape in one model, `S` = 1 on a CPU; what it fits.

A model is a module with `forward(tokens, lengths, drop)`, which gives logits `(S, B, outputs)` of token numbers
`(S, B, longest)`, the longest caption of each trial first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Lock

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from captionbias.arrays import Ids, Integers
from captionbias.attackers import batches
from captionbias.attackers.base import Trial, TrialScores, score_classes, score_tasks
from captionbias.attackers.neural.layers import NO_DROPOUT, Dropout
from captionbias.attackers.reader import Reader
from captionbias.attackers.recipes import Schedule

MOST_DROPOUTS = 8
TEST_BATCH = 512
CHECKED = 64
PRECISIONS = {"fp32": torch.float32, "bf16": torch.bfloat16}

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
    """Torch's random numbers are a trial's own in here, and go on afterwards as if nothing had been drawn."""
    with _one_at_a_time, torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield


def outputs(trial: Trial) -> int:
    """One output for two classes, as LIC has it; else one a class or task."""
    return 1 if trial.examples.outputs == 2 and not trial.examples.multilabel else trial.examples.outputs


def base_rates(trial: Trial) -> Tensor:
    """The output as if captions said nothing: with 80 rare tasks most of the training would go into getting there."""
    known = trial.examples.targets[trial.train]
    if trial.examples.multilabel:
        share = known.mean(axis=0)
    else:
        share = np.bincount(known, minlength=trial.examples.outputs)[-outputs(trial) :] / len(known)
    share = np.clip(share, 0.5 / len(known), 1 - 0.5 / len(known))
    against_rest = trial.examples.multilabel or outputs(trial) == 1
    return torch.as_tensor(np.log(share / (1 - share)) if against_rest else np.log(share))[None]


def fit_and_score(
    trials: Sequence[Trial],
    words: Sequence[Ids],
    model: nn.Module,
    schedule: Schedule,
    dropout: float,
    device: torch.device,
) -> list[TrialScores]:
    """Train a model and score each trial's test captions; `words`: one table a trial with each word's embedding row."""
    model.to(device).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=schedule.learning_rate, fused=True)
    generators = [np.random.default_rng([trial.seed, 2]) for trial in trials]
    for number in range(schedule.epochs):
        plans = [batches.epoch(trial, schedule, number, g) for trial, g in zip(trials, generators, strict=True)]
        for rows in map(_without_filling, np.stack(plans, 1)):
            drawn = [generator.integers(-(2**31), 2**31, MOST_DROPOUTS, np.int32) for generator in generators]
            drop = Dropout(dropout, torch.as_tensor(np.stack(drawn), device=device))
            loss = loss_of(trials, _logits(trials, words, model, rows, drop), rows)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    model.zero_grad()  # gradients would travel and be kept with the model
    model.requires_grad_(False)
    return score_tests(trials, words, model)


@torch.no_grad()
def score_tests(trials: Sequence[Trial], words: Sequence[Ids], model: nn.Module) -> list[TrialScores]:
    """The scores that a trained model gives each trial's test captions, in the order of its `test`."""
    model.eval()
    plans = [batches.by_length(trial, TEST_BATCH) for trial in trials]
    most = max(map(len, plans))
    filled = [np.pad(plan, ((0, most - len(plan)), (0, 0)), constant_values=batches.NOTHING) for plan in plans]
    found = [torch.empty(len(trial.test), outputs(trial), dtype=torch.float64) for trial in trials]
    for places in map(_without_filling, np.stack(filled, 1)):
        real = places != batches.NOTHING
        rows = np.stack([trial.test[of_trial] for trial, of_trial in zip(trials, places, strict=True)])
        logits = _logits(trials, words, model, np.where(real, rows, batches.NOTHING), NO_DROPOUT).cpu().double()
        for number, table in enumerate(found):
            table[places[number, real[number]]] = logits[number, real[number]]
    return [scores_from(trial, logits) for trial, logits in zip(trials, found, strict=True)]


def _logits(trials: Sequence[Trial], words: Sequence[Ids], model: nn.Module, rows: Integers, drop: Dropout) -> Tensor:
    tokens, lengths = batches.pad(trials, words, rows)
    logits: Tensor = model(torch.as_tensor(tokens, device=next(model.parameters()).device), lengths, drop)
    return logits


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


class WordNetwork(nn.Module):
    """A model that can be given embeddings in the place of words."""

    def embed(self, tokens: Tensor) -> Tensor:
        """The embeddings `(captions, length, width)` of token numbers `(captions, length)`, in 32 bits."""
        raise NotImplementedError

    def read(self, embedded: Tensor) -> Tensor:
        """Logits `(captions, outputs)` of captions of equal length that are given as embeddings, in 32 bits."""
        raise NotImplementedError

    def check(self, tokens: Tensor) -> None:
        """Raise ValueError if it answers otherwise to the embeddings of these tokens than to the tokens."""


@dataclass(frozen=True, eq=False)
class FittedNetwork(Reader):
    """A network of one trial; `words`: the embedding row of each word. No training moves padding's embedding from 0."""

    words: Ids
    network: WordNetwork

    def scores(self, rows: Integers) -> TrialScores:
        with one_thread():
            return score_tests([replace(self.trial, test=rows)], [self.words], self.network)[0]

    def embedded(self, rows: Integers) -> Tensor:
        return self.network.embed(self._tokens(rows))

    def baselines(self, rows: Integers) -> Tensor:
        """Captions of padding alone."""
        return self.network.embed(torch.full_like(self._tokens(rows), batches.PADDING_ROW))

    def read(self, embedded: Tensor) -> Tensor:
        return self.centred(self.network.read(embedded))

    def check(self) -> None:
        lengths = self.pieces(self.trial.test)
        self.network.check(self._tokens(self.trial.test[lengths == np.bincount(lengths).argmax()][:CHECKED]))

    def _tokens(self, rows: Integers) -> Tensor:
        tokens, _ = batches.pad([self.trial], [self.words], rows[None])
        return torch.as_tensor(tokens[0], device=next(self.network.parameters()).device)
