"""The one training of networks, made for one trial or pretrained, and what it fits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from captionbias.arrays import Array, Floats, Ids, Integers
from captionbias.attackers.base import Fitted, Trial, TrialScores, score_classes, score_tasks
from captionbias.attackers.recipes import Schedule
from captionbias.attackers.workers import threads
from captionbias.text.tokens import Tokens

UNKNOWN_ROW, PADDING_ROW, FIRST_WORD_ROW = 0, 1, 2
POOL = 100
TEST_BATCH = 256
READ_AT_ONCE = 512  # captions, with gradients
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}

_one_at_a_time = Lock()  # threads share torch's random numbers


def vocabulary(trial: Trial) -> tuple[Ids, int]:
    """The embedding row of each word, those that the training split lacks unknown; and the number of embedding rows."""
    present = trial.examples.tokens.select(trial.train).present()
    numbers = np.where(present, np.cumsum(present) - 1 + FIRST_WORD_ROW, UNKNOWN_ROW).astype(np.int32)
    return numbers, int(present.sum()) + FIRST_WORD_ROW


def epochs(trial: Trial, schedule: Schedule) -> Iterator[Integers]:
    """The training rows of each step of a whole training."""
    generator = np.random.default_rng([trial.seed, 2])
    for _ in range(schedule.epochs_of(len(trial.train))):
        yield from epoch(trial, schedule, generator)


def epoch(trial: Trial, schedule: Schedule, generator: np.random.Generator) -> list[Integers]:
    """The training rows of each step of an epoch, the longest caption of a step first.

    Bucketed steps hold captions of like length: pools of 100 batches are sorted, and their batches shuffled.
    """
    rows = generator.permutation(trial.train)
    if not schedule.bucketed:
        return [step[by_length(trial, step)] for step in steps(rows, schedule.batch)]
    order = []
    for pool in steps(rows, schedule.batch * POOL):
        pool_batches = steps(pool[by_length(trial, pool)], schedule.batch)
        order += [pool_batches[number] for number in generator.permutation(len(pool_batches))]
    return order


def by_length(trial: Trial, rows: Integers) -> Integers:
    """The places of these rows, the longest caption first."""
    return np.argsort(-trial.examples.tokens.lengths[rows], kind="stable")


def steps(rows: Integers, size: int) -> list[Integers]:
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def of_equal_length(lengths: Integers, most: int) -> list[Integers]:
    """The places of captions of one length each, at most `most` together."""
    order = np.argsort(lengths, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(lengths[order])) + 1)
    return [part for group in groups for part in steps(group, most)]


def pad(trial: Trial, numbers: Ids, rows: Integers) -> tuple[Integers, Integers]:
    """The captions `rows` as embedding rows `(captions, longest)`, and their lengths; one without words is an unknown
    word."""
    tokens = trial.examples.tokens.select(rows)
    lengths = np.maximum(tokens.lengths, 1)
    table = np.full((len(rows), int(lengths.max(initial=1))), PADDING_ROW, np.int64)
    table[:, 0] = UNKNOWN_ROW
    table[np.arange(table.shape[1]) < tokens.lengths[:, None]] = numbers[tokens.ids]
    return table, lengths


@contextmanager
def own_random_numbers(seed: int, device: torch.device) -> Iterator[None]:
    """Make torch's random numbers a trial's own; afterwards they go on as if nothing had been drawn."""
    with _one_at_a_time, torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield


def outputs(trial: Trial) -> int:
    """The number of outputs: one for two classes, as LIC has it, else one a class or task."""
    return 1 if trial.examples.outputs == 2 and not trial.examples.multilabel else trial.examples.outputs


@torch.no_grad()
def start_at_base_rates(head: nn.Module, trial: Trial) -> None:
    """Start the output at base rates: with 80 rare tasks most of the training would go into getting there."""
    known = trial.examples.targets[trial.train]
    if trial.examples.multilabel:
        share = known.mean(axis=0)
    else:
        share = np.bincount(known, minlength=trial.examples.outputs)[-outputs(trial) :] / len(known)
    share = np.clip(share, 0.5 / len(known), 1 - 0.5 / len(known))
    against_rest = trial.examples.multilabel or outputs(trial) == 1
    list(head.parameters())[-1].copy_(torch.from_numpy(np.log(share / (1 - share)) if against_rest else np.log(share)))


def fit(
    trial: Trial,
    make: Callable[[int, int], nn.Module],
    schedule: Schedule,
    precision: str,
    device: torch.device,
    base_rates: bool = False,
) -> FittedNetwork:
    """Train the network that `make` makes for so many embedding rows and outputs, and score the test captions.

    Its `forward(tokens, lengths)` turns token numbers `(captions, longest)`, filled up with `PADDING_ROW`, into logits
    `(captions, outputs)`. Every random number is the trial's own.
    """
    with threads(1), own_random_numbers(trial.seed, device):
        learner = begun(trial, make, precision, device, base_rates)
        learner.train(adam(learner.network.parameters(), schedule), epochs(trial, schedule))
        return FittedNetwork(trial, learner.scores(trial.test), learner)


def begun(
    trial: Trial, make: Callable[[int, int], nn.Module], precision: str, device: torch.device, base_rates: bool
) -> Learner:
    """A network as `fit` makes it, before its first step."""
    words, count = vocabulary(trial)
    network = make(count, outputs(trial))
    if base_rates:
        start_at_base_rates(network.get_submodule("head"), trial)
    return Learner(trial, words, network.to(device), precision)


def adam(parameters: Iterable[Tensor], schedule: Schedule) -> torch.optim.Optimizer:
    return torch.optim.Adam(parameters, lr=schedule.learning_rate, fused=True)


def descend(optimizer: torch.optim.Optimizer, losses: Iterable[Tensor], precision: str) -> None:
    """A step down each loss. In 16 bits small gradients are lost: fp16 has larger ones, and the same steps."""
    scale = 1024.0 if precision == "fp16" else 1.0
    for group in optimizer.param_groups:
        group["eps"] *= scale
    for loss in losses:
        (loss * scale).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        optimizer.zero_grad()


@dataclass(frozen=True, eq=False)
class Learner:
    """A network and the captions of a trial as it reads them; `words`: the row of each word in what it looks up."""

    trial: Trial
    words: Ids
    network: nn.Module
    precision: str

    def train(self, optimizer: torch.optim.Optimizer, steps: Iterable[Integers]) -> None:
        self.network.train()
        descend(optimizer, (loss_of(self.trial, self._answers(rows), rows) for rows in steps), self.precision)
        self.network.requires_grad_(False).eval()

    def scores(self, rows: Integers) -> TrialScores:
        logits, truth = self.logits(rows), self.trial.examples.targets[rows]
        if self.trial.examples.multilabel:
            return score_tasks(logits.numpy(), truth)
        # A single output is the second class's, against 0 for the first.
        both = functional.pad(logits, (1, 0)) if logits.shape[1] == 1 else logits
        return score_classes(torch.log_softmax(both, dim=1).numpy(), truth)

    @torch.no_grad()
    def logits(self, rows: Integers) -> Tensor:
        """The trained network's answers to these captions, `(captions, outputs)` in 64 bits."""
        logits = torch.empty(len(rows), outputs(self.trial), dtype=torch.float64)
        for places in steps(by_length(self.trial, rows), TEST_BATCH):
            logits[places] = self._answers(rows[places]).cpu().double()
        return logits

    def tokens(self, rows: Integers) -> tuple[Tensor, Tensor]:
        """These captions as rows of what it looks up, padded, and their lengths; where the network is."""
        device = next(self.network.parameters()).device
        tokens, lengths = (there(table, device) for table in pad(self.trial, self.words, rows))
        return tokens, lengths

    def _answers(self, rows: Integers) -> Tensor:
        return logits_of(self.network, *self.tokens(rows), self.precision)


def there(array: Array, device: torch.device) -> Tensor:
    """An array on a device; a step on a GPU does not wait for it."""
    tensor = torch.from_numpy(array)
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


def logits_of(network: nn.Module, tokens: Tensor, lengths: Tensor, precision: str) -> Tensor:
    """A network's answers, in 32 bits; ValueError if they are not finite once it is trained."""
    with torch.autocast(tokens.device.type, DTYPES[precision], enabled=precision != "fp32"):
        logits: Tensor = network(tokens, lengths)
    if not (network.training or torch.isfinite(logits).all()):
        raise ValueError(f"encoder {type(network).__qualname__}: once trained, its logits are not all finite")
    return logits.float()


def loss_of(trial: Trial, logits: Tensor, rows: Integers) -> Tensor:
    """The loss, a mean over a step's captions, of multi-label ones the sum over their tasks."""
    wanted = there(trial.examples.targets[rows], logits.device)
    if logits.shape[1] > 1 and not trial.examples.multilabel:
        return functional.cross_entropy(logits, wanted)
    each = functional.binary_cross_entropy_with_logits(logits, wanted.float().view_as(logits), reduction="sum")
    return each / len(rows)


@dataclass(frozen=True, eq=False)
class FittedNetwork(Fitted):
    """A network that was made for one trial; also as a function of the embeddings of captions with equally many words,
    for integrated gradients. A caption without words is one unknown word.

    `places`: where a network reads pieces of words, gives each one's word's place in its caption, -1 for marks of its
    own, which baselines have too.
    """

    learner: Learner
    places: Callable[[], Tokens] | None = None
    at_once: int = READ_AT_ONCE

    @property
    def network(self) -> nn.Module:
        return self.learner.network

    def logits(self, rows: Integers) -> Floats:
        """Log-odds `(captions, outputs)`: of two classes the second's, of more they add up to 0, of tasks one each."""
        groups = of_equal_length(self.lengths(rows), self.at_once)
        with torch.no_grad():
            parts = [self.read(self.embedded(rows[places])).cpu().double().numpy() for places in groups]
        return np.concatenate(parts)[np.argsort(np.concatenate(groups))]

    def lengths(self, rows: Integers) -> Integers:
        """How many words, or pieces of words, are read of these captions."""
        return np.maximum(self.learner.trial.examples.tokens.lengths[rows], 1)

    def words(self, rows: Integers) -> Integers:
        """For each word or piece of these captions, one caption after the other, the place of its word among the words
        of all of them, -1 for marks of the network's own."""
        words = self.trial.examples.tokens.select(rows)
        if self._places is None:
            return np.arange(len(words.ids))
        pieces = self._places.select(rows)
        return np.where(pieces.ids < 0, -1, words.offsets[pieces.rows] + pieces.ids)

    @cached_property
    def _places(self) -> Tokens | None:
        return self.places() if self.places else None

    def embedded(self, rows: Integers) -> Tensor:
        """The captions' embeddings, `(captions, words, width)`."""
        return self._embed(self.learner.tokens(rows)[0])

    def baselines(self, rows: Integers) -> Tensor:
        """Captions of padding alone, in the shape of `embedded`."""
        tokens, _ = self.learner.tokens(rows)
        if self._places is None:
            return self._embed(torch.full_like(tokens, PADDING_ROW))
        own = torch.from_numpy(self._places.select(rows).ids < 0).to(tokens.device).view_as(tokens)
        return self._embed(tokens.where(own, PADDING_ROW))

    def read(self, embedded: Tensor) -> Tensor:
        """Logits, as of `logits`: the network gets unknown words, and its embedding gives these embeddings instead."""
        unknown = torch.full(embedded.shape[:2], UNKNOWN_ROW, device=embedded.device)
        hook = self._embedding().register_forward_hook(lambda *_: embedded)
        try:
            with torch.backends.cudnn.flags(enabled=False):  # its recurrent layers have no gradient outside of training
                return self._answer(unknown)
        finally:
            hook.remove()

    def _answer(self, tokens: Tensor) -> Tensor:
        """Logits of captions without padding."""
        lengths = torch.full(tokens.shape[:1], tokens.shape[1], device=tokens.device)
        logits = logits_of(self.network, tokens, lengths, "fp32")
        one_of_many = not self.trial.examples.multilabel and logits.shape[1] > 1
        return logits - logits.mean(1, keepdim=True) if one_of_many else logits  # which changes no probability

    def _embed(self, tokens: Tensor) -> Tensor:
        embedded: Tensor = self._embedding()(tokens)
        return embedded

    def _embedding(self) -> nn.Embedding:
        network: Any = self.network
        return cast(nn.Embedding, network.get_input_embeddings())  # as encoders of transformers call it
