"""Captions laid out by time step: a plain restatement in loops says where everything is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from captionbias.attackers.neural.time_steps import Mirror, Steps, mirrored

CPU = torch.device("cpu")


@st.composite
def lengths_of_stacks(draw, longest: int = 12):
    """Lengths `(S, B)` of some trials' captions, longest first."""
    trials, captions = draw(st.integers(1, 3)), draw(st.integers(1, 7))
    rows = [
        draw(st.lists(st.integers(1, longest), min_size=captions, max_size=captions).map(sorted)) for _ in range(trials)
    ]
    return np.array(rows)[:, ::-1]


def steps_of(lengths: np.ndarray) -> Steps:
    return Steps.of(lengths, CPU)


@dataclass
class Plain:
    """The same places, one after the other."""

    lengths: np.ndarray

    def __post_init__(self) -> None:
        trials, captions = self.lengths.shape
        self.pairs = [
            (row, time)
            for time in range(self.lengths.max())
            for row in range(captions)
            if any(self.lengths[trial, row] > time for trial in range(trials))
        ]
        self.place = {pair: number for number, pair in enumerate(self.pairs)}

    def is_token(self, trial: int, number: int) -> bool:
        row, time = self.pairs[number]
        return bool(time < self.lengths[trial, row])

    def mirror(self, trial: int, number: int) -> int:
        row, time = self.pairs[number]
        return self.place[row, self.lengths[trial, row] - 1 - time] if self.is_token(trial, number) else number


@settings(deadline=None)
@given(lengths=lengths_of_stacks())
def test_places_are_those_of_a_plain_restatement(lengths):
    steps, plain = steps_of(lengths), Plain(lengths)
    times = [time for _, time in plain.pairs]
    assert steps.counts == [times.count(time) for time in range(lengths.max())]
    assert steps.row.tolist() == [row for row, _ in plain.pairs]
    # What a recurrence relies on when it cuts the state down to the captions that go on.
    assert all(rows.tolist() == list(range(len(rows))) for rows in steps.row.split(steps.counts))
    assert steps.time.tolist() == times
    assert steps.previous.tolist() == [plain.place[row, time - 1] for row, time in plain.pairs if time]
    assert steps.last.tolist() == [
        [plain.place[row, own[row] - 1] for row in range(lengths.shape[1])] for own in lengths.tolist()
    ]
    assert steps.mirror.tolist() == [
        [plain.mirror(trial, number) for number in range(len(plain.pairs))] for trial in range(len(lengths))
    ]


@settings(deadline=None)
@given(lengths=lengths_of_stacks())
def test_mirrored_turns_each_caption_round_and_leaves_padding_where_it_is(lengths):
    steps, plain = steps_of(lengths), Plain(lengths)
    values = torch.arange(steps.mirror.numel() * 2.0).view(*steps.mirror.shape, 2)
    turned = mirrored(values, steps)
    for trial, own in enumerate(lengths.tolist()):
        for row, length in enumerate(own):
            places = [plain.place[row, time] for time in range(length)]
            assert torch.equal(turned[trial, places], values[trial, places[::-1]])
        padding = [number for number in range(len(plain.pairs)) if not plain.is_token(trial, number)]
        assert torch.equal(turned[trial, padding], values[trial, padding])
    assert torch.equal(mirrored(turned, steps), values), "the mirror of a mirror is the first"


@settings(deadline=None, max_examples=25)
@given(lengths=lengths_of_stacks(longest=4))
def test_the_gradient_goes_back_the_way_the_values_came(lengths):
    steps = steps_of(lengths)
    values = torch.randn(*steps.mirror.shape, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda given: Mirror.apply(given, steps.mirror), values)
