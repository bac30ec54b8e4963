"""Which captions a training sees when: each once an epoch, in steps of its own order, as padded numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from captionbias.attackers.base import Examples, Trial
from captionbias.attackers.neural import fitting
from captionbias.attackers.neural.fitting import FIRST_WORD_ROW, PADDING_ROW, UNKNOWN_ROW
from captionbias.attackers.recipes import Schedule
from captionbias.text import tokenize
from captionbias.text.tokens import Tokens


def trial_of(lengths: list[int]) -> Trial:
    """Captions of these lengths, of which the first three quarters are trained on."""
    tokens = Tokens(np.zeros(sum(lengths), np.int32), np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))), ("a",))
    rows = np.arange(len(lengths))
    train, test = np.split(rows, [max(1, len(rows) * 3 // 4)])
    return Trial(Examples(tokens, np.zeros(len(rows), np.int64), 2), train, test, 0)


def epoch(trial: Trial, batch: int, bucketed: bool, seed: int = 0) -> list[np.ndarray]:
    return fitting.epoch(trial, Schedule(1e-3, batch, 1, bucketed), np.random.default_rng(seed))


def test_words_of_the_training_split_are_numbered_and_all_others_are_unknown():
    tokens = tokenize(["a zebu rides", "a man rides", "a gnu"])
    trial = Trial(Examples(tokens, np.zeros(3, int), 2), np.array([1]), np.array([0, 2]), 0)
    numbers, rows = fitting.vocabulary(trial)
    known = {"a": FIRST_WORD_ROW, "rides": FIRST_WORD_ROW + 1, "man": FIRST_WORD_ROW + 2}
    assert dict(zip(tokens.words, numbers.tolist(), strict=True)) == {"zebu": UNKNOWN_ROW, "gnu": UNKNOWN_ROW, **known}
    assert rows == 3 + FIRST_WORD_ROW


@settings(deadline=None)
@given(st.lists(st.integers(0, 12), min_size=1, max_size=40), st.integers(1, 9), st.booleans(), st.integers(0, 99))
def test_an_epoch_has_every_training_caption_once_and_a_step_its_longest_first(lengths, batch, bucketed, seed):
    trial = trial_of(lengths)
    steps = epoch(trial, batch, bucketed, seed)
    assert sorted(np.concatenate(steps).tolist()) == trial.train.tolist()
    assert sorted(map(len, steps), reverse=True)[:-1] == [batch] * (len(steps) - 1)
    assert all((np.diff(trial.examples.tokens.lengths[step]) <= 0).all() for step in steps)


def test_bucketed_steps_hold_captions_of_like_length_in_no_order_of_length():
    trial = trial_of(np.random.default_rng(0).integers(1, 30, 800).tolist())
    lengths = trial.examples.tokens.lengths
    spans = {bucketed: [np.ptp(lengths[step]) for step in epoch(trial, 8, bucketed)] for bucketed in (False, True)}
    assert max(spans[True]) <= 3 < np.median(spans[False])
    assert abs(np.corrcoef([lengths[step[0]] for step in epoch(trial, 8, True)], np.arange(75))[0, 1]) < 0.4


def test_each_epoch_and_each_seed_has_an_order_of_its_own():
    trial, generator = trial_of(list(range(64))), np.random.default_rng(0)
    first, second = (fitting.epoch(trial, Schedule(1e-3, 8, 1), generator)[0].tolist() for _ in range(2))
    assert first == epoch(trial, 8, False)[0].tolist()
    assert len({tuple(first), tuple(second), tuple(epoch(trial, 8, False, seed=1)[0].tolist())}) == 3


def test_captions_are_padded_and_one_without_words_is_an_unknown_word():
    tokens = tokenize(["a b c", "", "d e"])
    trial = Trial(Examples(tokens, np.zeros(3, int), 2), np.arange(3), np.arange(3), 0)
    table, lengths = fitting.pad(trial, fitting.vocabulary(trial)[0], np.array([2, 1]))
    assert lengths.tolist() == [2, 1]
    assert table.tolist() == [[FIRST_WORD_ROW + 3, FIRST_WORD_ROW + 4], [UNKNOWN_ROW, PADDING_ROW]]
