"""The LSTM attackers: LIC's (bidirectional, two layers, one linear output) and DBAC's (unidirectional, 3-layer MLP).

Torch is imported when the first of them is trained: everything else works without it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from captionbias.attackers.trials import Trial, TrialScores, score_classes, score_tasks
from captionbias.text.tokens import Integers, Tokens

if TYPE_CHECKING:
    import torch

UNKNOWN_ROW, PADDING_ROW, FIRST_WORD_ROW = 0, 1, 2


@dataclass(frozen=True)
class Recipe:
    """What defines an LSTM attacker, beside its data: the network and its training."""

    embedding: int
    hidden: int
    layers: int
    bidirectional: bool
    head: tuple[int, ...]
    dropout: float
    learning_rate: float
    batch: int
    epochs: int
    bucketed: bool
    base_rates: bool


# As published by Hirota et al. 2022 and its reproduction; batches bucketed by length.
LIC = Recipe(100, 256, 2, True, (), 0.5, 5e-5, 64, 20, True, False)
# DBAC gives the encoder (unidirectional LSTM), the head (3-layer MLP) and 50 dimensions; the rest is ours.
DBAC = Recipe(50, 64, 1, False, (64, 64), 0.1, 5e-3, 128, 3, False, True)


def lstm_lic(trial: Trial) -> TrialScores:
    """LIC's attacker."""
    return _attack(trial, LIC)


def lstm(trial: Trial) -> TrialScores:
    """DBAC's attacker."""
    return _attack(trial, DBAC)


def _attack(trial: Trial, recipe: Recipe) -> TrialScores:
    torch = _torch()
    from accelerate import Accelerator

    device = Accelerator().device
    tokens, rows = _renumber(trial)
    with _one_thread(), torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(trial.seed)
        model = _network(recipe, rows, _logits(trial)).to(device)
        _train(model, tokens, trial, recipe, device)
        logits = _predict(model, tokens, trial, recipe, device).double()
    truth = trial.examples.targets[trial.test]
    if trial.examples.multilabel:
        return score_tasks(logits.numpy(), truth)
    return score_classes(torch.log_softmax(_both_classes(logits), dim=1).numpy(), truth)


def _logits(trial: Trial) -> int:
    """One output for two classes, as LIC has it; else one a class or task."""
    return 1 if trial.examples.outputs == 2 and not trial.examples.multilabel else trial.examples.outputs


def _both_classes(logits: torch.Tensor) -> torch.Tensor:
    """A single output is the second class's, against 0 for the first."""
    from torch.nn import functional

    return functional.pad(logits, (1, 0)) if logits.shape[1] == 1 else logits


def _torch() -> Any:
    try:
        import accelerate  # noqa: F401
        import torch
    except ImportError as error:
        raise ValueError(
            "encoder 'lstm' needs torch and accelerate: pip install 'captionbias[torch]', or use preset='fast'"
        ) from error
    return torch


@contextmanager
def _one_thread() -> Iterator[None]:
    """Sums are then made in one order whatever the machine is busy with; for nets this small threads gain nothing."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _renumber(trial: Trial) -> tuple[Tokens, int]:
    """All captions with the vocabulary of the training split, other words unknown; and the number of embedding rows."""
    tokens = trial.examples.tokens
    present = tokens.select(trial.train).present()
    numbers = np.where(present, np.cumsum(present) - 1 + FIRST_WORD_ROW, UNKNOWN_ROW).astype(np.int32)
    return Tokens(numbers[tokens.ids], tokens.offsets, tokens.words), int(present.sum()) + FIRST_WORD_ROW


def _network(recipe: Recipe, rows: int, outputs: int) -> torch.nn.Module:
    from captionbias.attackers.networks import LSTMClassifier

    return LSTMClassifier(
        rows,
        outputs,
        embedding=recipe.embedding,
        hidden=recipe.hidden,
        layers=recipe.layers,
        bidirectional=recipe.bidirectional,
        head=recipe.head,
        dropout=recipe.dropout,
    )


def _train(model: torch.nn.Module, tokens: Tokens, trial: Trial, recipe: Recipe, device: torch.device) -> None:
    import torch
    from torch.nn import functional

    generator = np.random.default_rng([trial.seed, 2])
    targets = torch.as_tensor(trial.examples.targets, dtype=torch.float32 if trial.examples.multilabel else torch.int64)
    if recipe.base_rates:
        _start_at_base_rates(model, trial)
    optimizer = torch.optim.Adam(model.parameters(), lr=recipe.learning_rate)
    model.train()
    epochs = (generator.permutation(trial.train) for _ in range(recipe.epochs))
    batches = (_batches(tokens.lengths, order, recipe, generator) for order in epochs)
    for rows in itertools.chain.from_iterable(batches):
        wanted = targets[rows].to(device)
        logits = model(*_pad(tokens, rows, device))
        if trial.examples.multilabel:
            loss = functional.binary_cross_entropy_with_logits(logits, wanted, reduction="none").sum(dim=1).mean()
        else:
            loss = functional.cross_entropy(_both_classes(logits), wanted)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()


def _start_at_base_rates(model: torch.nn.Module, trial: Trial) -> None:
    """The output as if captions told nothing: with 80 rare tasks most of the training would go into getting there."""
    import torch

    known, outputs = trial.examples.targets[trial.train], _logits(trial)
    if trial.examples.multilabel:
        share = known.mean(axis=0)
    else:
        share = np.bincount(known, minlength=trial.examples.outputs)[-outputs:] / len(known)
    share = np.clip(share, 0.5 / len(known), 1 - 0.5 / len(known))
    rates = np.log(share / (1 - share)) if trial.examples.multilabel or outputs == 1 else np.log(share)
    with torch.no_grad():
        model.get_parameter("output.bias").copy_(torch.as_tensor(rates))


def _batches(lengths: Integers, order: Integers, recipe: Recipe, generator: np.random.Generator) -> Iterator[Integers]:
    """Random batches; bucketed ones sort pools of 100 batches by length and shuffle the batches of each pool."""
    pool = recipe.batch * 100 if recipe.bucketed else len(order)
    for start in range(0, len(order), pool):
        rows = order[start : start + pool]
        if recipe.bucketed:
            rows = rows[np.argsort(lengths[rows], kind="stable")]
        starts = np.arange(0, len(rows), recipe.batch)
        for first in generator.permutation(starts) if recipe.bucketed else starts:
            yield rows[first : first + recipe.batch]


def _pad(tokens: Tokens, rows: Integers, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """A batch as padded numbers, `(captions, longest)`, and its lengths; a caption without words is one unknown."""
    import torch

    chosen = tokens.select(rows)
    lengths = np.maximum(chosen.lengths, 1)
    table = np.full((len(rows), int(lengths.max())), PADDING_ROW, np.int64)
    table[chosen.lengths == 0, 0] = UNKNOWN_ROW
    table[np.arange(table.shape[1]) < chosen.lengths[:, None]] = chosen.ids
    return torch.as_tensor(table, device=device), torch.as_tensor(lengths)


def _predict(
    model: torch.nn.Module, tokens: Tokens, trial: Trial, recipe: Recipe, device: torch.device
) -> torch.Tensor:
    import torch

    by_length = np.argsort(tokens.lengths[trial.test], kind="stable")
    model.eval()
    with torch.no_grad():
        chunks = [
            model(*_pad(tokens, trial.test[rows], device)).cpu()
            for rows in np.array_split(by_length, max(1, len(by_length) // 512))
        ]
    logits = torch.empty((len(by_length), chunks[0].shape[1]))
    logits[torch.as_tensor(by_length)] = torch.cat(chunks)
    return logits
