"""The training loop, around a network that knows captions by heart: what is learned is known to the last digit."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from captionbias.attackers.base import Examples, Trial, TrialScores
from captionbias.attackers.batches import FIRST_WORD_ROW, UNKNOWN_ROW
from captionbias.attackers.neural import fitting
from captionbias.attackers.neural.dropout import Drop, Dropout, Keep
from captionbias.attackers.neural.fitting import fit_and_score, one_thread, outputs
from captionbias.attackers.recipes import Schedule
from captionbias.text import tokenize

CPU = torch.device("cpu")
SCHEDULE = Schedule(learning_rate=0.1, batch=16, epochs=3)
SIZES = (61, 50, 64)  # as many steps each, the last one filled up or not
BUCKETED = pytest.mark.parametrize("bucketed", [False, True])
KINDS = pytest.mark.parametrize(("classes", "tasks"), [(2, 0), (3, 0), (0, 4)], ids=["two", "three", "tasks"])


def trial_of(n: int, seed: int = 0, classes: int = 2, tasks: int = 0, test: int = 20) -> Trial:
    """Captions whose first word is their own; the first one is neither trained nor tested on."""
    random, total = np.random.default_rng([n, seed]), 1 + n + test
    captions = [" ".join([f"own{row}"] * random.integers(1, 6)) for row in range(total)]
    targets = random.random((total, tasks)) < 0.3 if tasks else random.integers(classes, size=total)
    rows = 1 + random.permutation(n + test)
    return Trial("", Examples(tokenize(captions), targets, tasks or classes), rows[:n], rows[n:], seed)


@dataclass
class Seen:
    """What the network was given in one call."""

    captions: np.ndarray
    dropped: Tensor
    drop: Drop
    training: bool
    with_gradient: bool


class ByHeart(nn.Module):
    """A logit of its own for each caption's each output: no caption tells of another."""

    def __init__(self, trials: Sequence[Trial]) -> None:
        super().__init__()
        rows = max(len(trial.examples.tokens) for trial in trials) + FIRST_WORD_ROW
        generators = [torch.Generator().manual_seed(trial.seed) for trial in trials]
        tables = [torch.randn(rows, outputs(trial), generator=g) for trial, g in zip(trials, generators, strict=True)]
        self.logits = nn.Parameter(torch.stack(tables))
        self.seen: list[Seen] = []
        self.gradients: list[Tensor] = []
        self.logits.register_hook(self.gradients.append)

    def forward(self, tokens: Tensor, lengths: np.ndarray, drop: Drop) -> Tensor:
        own = tokens[:, :, 0]
        dropped = drop(torch.ones(*own.shape, 50), torch.arange(own.shape[1])) == 0
        self.seen.append(Seen(own.numpy() - FIRST_WORD_ROW, dropped, drop, self.training, torch.is_grad_enabled()))
        return self.logits[torch.arange(len(own))[:, None], own]


def words(trial: Trial) -> np.ndarray:
    """Every caption's own word is known, whether trained on or not."""
    return np.arange(len(trial.examples.tokens.words), dtype=np.int32) + FIRST_WORD_ROW


def fit(
    trials: Sequence[Trial], schedule: Schedule = SCHEDULE, dropout: float = 0.0
) -> tuple[ByHeart, list[TrialScores]]:
    model = ByHeart(trials)
    return model, fit_and_score(trials, list(map(words, trials)), model, schedule, dropout, CPU)


def steps_of(model: ByHeart, trial: Trial, place: int) -> list[list[int]]:
    """The captions of each step of the trial at a place of the stack, without what fills it up."""
    own = set(trial.train.tolist())
    return [[row for row in seen.captions[place].tolist() if row in own] for seen in model.seen if seen.training]


@BUCKETED
def test_every_epoch_trains_on_every_training_caption_once(bucketed):
    trials = [trial_of(n, seed) for seed, n in enumerate(SIZES)]
    model, _ = fit(trials, replace(SCHEDULE, bucketed=bucketed))
    for place, trial in enumerate(trials):
        steps = steps_of(model, trial, place)
        epochs = [list(itertools.chain(*steps[start : start + 4])) for start in range(0, 12, 4)]
        assert len(steps) == 12
        assert all(sorted(epoch) == sorted(trial.train.tolist()) for epoch in epochs)
        assert epochs[0] != epochs[1] != epochs[2]


def by_torch(trial: Trial, table: Tensor, steps: list[list[int]], learning_rate: float) -> Tensor:
    """The logits of all captions after torch's Adam has taken these steps, each on the mean loss of its captions."""
    logits = table.clone().requires_grad_()
    optimizer = torch.optim.Adam([logits], lr=learning_rate)
    for step in steps:
        found, truth = logits[step], torch.as_tensor(trial.examples.targets[step])
        if trial.examples.multilabel:
            loss = functional.binary_cross_entropy_with_logits(found, truth.float(), reduction="sum") / len(step)
        elif found.shape[1] == 1:
            loss = functional.cross_entropy(torch.cat((torch.zeros_like(found), found), dim=1), truth)
        else:
            loss = functional.cross_entropy(found, truth)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return logits.detach().double()


def probabilities(trial: Trial, logits: Tensor) -> Tensor:
    """Of the truth of each test caption."""
    own, truth = logits[trial.test], torch.as_tensor(trial.examples.targets[trial.test])
    if trial.examples.multilabel:
        one = torch.sigmoid(own)
        return torch.where(truth, one, 1 - one).prod(dim=1)
    if own.shape[1] == 1:
        second = torch.sigmoid(own[:, 0])
        return torch.where(truth == 1, second, 1 - second)
    return torch.softmax(own, dim=1).gather(1, truth[:, None])[:, 0]


@KINDS
@BUCKETED
def test_each_trial_of_a_stack_takes_adam_s_steps_on_the_mean_loss_of_its_own_captions(classes, tasks, bucketed):
    trials = [trial_of(n, seed, classes, tasks, test=10 + seed) for seed, n in enumerate(SIZES)]
    # Tested on what was trained on as well: all of what was learned shows.
    trials = [replace(trial, test=np.concatenate((trial.test, trial.train))) for trial in trials]
    model, scores = fit(trials, replace(SCHEDULE, bucketed=bucketed))
    for place, trial in enumerate(trials):
        steps = steps_of(model, trial, place)
        start = ByHeart(trials).logits[place, FIRST_WORD_ROW:].detach()
        wanted = probabilities(trial, by_torch(trial, start, steps, SCHEDULE.learning_rate)).numpy()
        assert np.exp(scores[place].log_probability) == pytest.approx(wanted, abs=1e-5)
        clear = np.abs(wanted - 0.5) > 1e-3
        if classes == 2:
            assert np.array_equal(scores[place].correct[clear], (wanted > 0.5)[clear])


@pytest.mark.parametrize("at_once", [1, 7, 512])
def test_scores_follow_the_order_of_each_trial_s_test_captions_in_however_many_parts(monkeypatch, at_once):
    trials = [trial_of(n, seed, test=test) for seed, (n, test) in enumerate(zip(SIZES, (5, 30, 1), strict=True))]
    _, whole = fit(trials)
    monkeypatch.setattr(fitting, "TEST_BATCH", at_once)
    shuffled = [replace(trial, test=trial.test[::-1]) for trial in trials]
    _, parts = fit(shuffled)
    for one, other in zip(whole, parts, strict=True):
        assert one.log_probability.tolist() == other.log_probability[::-1].tolist()
        assert one.correct.tolist() == other.correct[::-1].tolist()
    assert len(np.unique(whole[1].log_probability)) == 30


def test_test_captions_are_scored_as_they_are_and_change_nothing():
    model, _ = fit([trial_of(50)], dropout=0.5)
    for seen in model.seen:
        assert seen.training == seen.with_gradient == isinstance(seen.drop, Dropout)
        assert seen.training != isinstance(seen.drop, Keep)
        assert bool(seen.dropped.any()) == seen.training
    assert [seen.training for seen in model.seen] == [True] * 12 + [False]


def masks(trials: Sequence[Trial], rate: float = 0.5, place: int = 0) -> list[Tensor]:
    """What each step drops of a trial's captions."""
    return [seen.dropped[place] for seen in fit(trials, dropout=rate)[0].seen if seen.training]


def test_each_step_of_each_trial_draws_its_dropout_by_the_trial_s_own_seed():
    one, other = trial_of(64, seed=1), trial_of(64, seed=2)
    alone = masks([one])
    assert len({mask.numpy().tobytes() for mask in alone}) == len(alone) == 12
    assert all(map(torch.equal, alone, masks([one])))
    assert all(map(torch.equal, alone, masks([other, one], place=1)))
    assert not any(map(torch.equal, alone, masks([other])))
    assert not any(map(torch.equal, alone, masks([replace(one, seed=7)])))


def test_nothing_that_fills_up_a_step_has_a_weight():
    # Two trials, of which one has 16 captions more; its own last step is full where the other's has one caption.
    trials = [trial_of(49, 0), trial_of(64, 1)]
    model, _ = fit(trials, replace(SCHEDULE, learning_rate=1.0))
    start = ByHeart(trials).logits.detach()
    moved = (model.logits.detach() != start).any(dim=2)
    for place, trial in enumerate(trials):
        assert sorted(np.flatnonzero(moved[place]) - FIRST_WORD_ROW) == sorted(trial.train.tolist())
        assert not moved[place, UNKNOWN_ROW]


def test_one_thread_is_left_again_even_by_an_error():
    torch.set_num_threads(2)
    with one_thread():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2

    def fail() -> None:
        with one_thread():
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert torch.get_num_threads() == 2
