"""A user's own network: found, known by its source, trained as it asks to be, and told what is wrong with it."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from captionbias.attackers.base import Trial, TrialScores
from captionbias.attackers.neural import fitting, user_module
from captionbias.attackers.neural.fitting import PADDING_ROW, FittedNetwork, fit

CPU = torch.device("cpu")


class Mean(nn.Module):
    """What a user would write: the mean of a caption's words, with dropout and a start from torch's own generator."""

    learning_rate = 0.03
    batch = 32
    epochs = 4

    def __init__(self, words, outputs):
        super().__init__()
        self.words = nn.Embedding(words, 16, padding_idx=PADDING_ROW)
        self.dropout = nn.Dropout(0.2)
        self.output = nn.Linear(16, outputs)

    def forward(self, tokens, lengths):
        total = self.dropout(self.words(tokens)).sum(dim=1)
        return self.output(total / lengths[:, None])


def fitted(trial: Trial, module: type[nn.Module], precision: str = "fp32") -> FittedNetwork:
    return fit(trial, module, user_module.schedule(module), precision, CPU)


def train(trial: Trial, module: type[nn.Module], precision: str = "fp32") -> TrialScores:
    return fitted(trial, module, precision).test_scores


# --- known by its source: `find_attacker` is tested with the rest ---


def test_networks_that_one_function_makes_are_told_apart():
    """Under one name, a cache would give the scores of one for the other."""

    def wide(width: int) -> type[nn.Module]:
        class Wide(nn.Module):
            def __init__(self, words, outputs):
                super().__init__()
                self.words = nn.Embedding(words, width)

        return Wide

    assert len({user_module.name(wide(width)) for width in (4, 4, 64)}) == 2


# --- trained as it asks ---


def noting(**attributes: object) -> tuple[type[nn.Module], list[tuple[nn.Module, Tensor, Tensor, bool, int]]]:
    """`Mean`, which notes what it is given."""
    calls = []

    def forward(self: nn.Module, tokens: Tensor, lengths: Tensor) -> Tensor:
        calls.append((self, tokens, lengths, self.training, torch.get_num_threads()))
        return Mean.forward(self, tokens, lengths)

    return type("Noting", (Mean,), {"forward": forward, **attributes}), calls


@pytest.mark.parametrize(("attributes", "steps"), [({"epochs": 2}, 2 * 7), ({"batch": 50}, 4 * 4), ({"epochs": 0}, 0)])
def test_the_schedule_is_followed(class_trial, attributes, steps):
    module, calls = noting(**attributes)
    train(class_trial(n=300), module)
    assert [training for *_, training, _ in calls] == [True] * steps + [False]
    largest = max((len(tokens) for _, tokens, _, training, _ in calls if training), default=0)
    assert largest == (attributes.get("batch", 32) if steps else 0)


@pytest.mark.parametrize(
    ("kind", "count", "outputs"), [("class_trial", 2, 1), ("class_trial", 3, 3), ("task_trial", 2, 2)]
)
def test_the_network_is_made_for_the_trial_s_words_and_outputs_and_given_its_captions(request, kind, count, outputs):
    trial = request.getfixturevalue(kind)(300, count)
    module, calls = noting()
    train(trial, module)
    assert len({id(network) for network, *_ in calls}) == 1
    (network, *_), rows = calls[0], fitting.vocabulary(trial)[1]
    assert network.words.weight.shape[0] == rows
    assert network.output.weight.shape[0] == outputs
    seen = []
    for _, tokens, lengths, _, threads in calls:
        assert tokens.dtype == lengths.dtype == torch.int64
        assert tokens.shape == (len(lengths), lengths.max())
        assert 0 <= tokens.min() <= tokens.max() < rows
        assert torch.equal((tokens != PADDING_ROW).sum(dim=1), lengths)
        assert threads == 1
        seen.append(sorted(lengths.tolist()))
    own_lengths = trial.examples.tokens.lengths
    assert sorted(itertools.chain(*seen[:7])) == sorted(own_lengths[trial.train].tolist())
    assert seen[-1] == sorted(own_lengths[trial.test].tolist())


# --- what is wrong is said ---


@pytest.mark.parametrize(
    ("wrong", "given"),
    [
        (lambda logits: logits[:, 0], r"\(32,\)"),
        (lambda logits: torch.cat((logits, logits), dim=1), r"\(32, 2\)"),
        (lambda logits: (logits, None), "tuple"),
        (lambda logits: None, "NoneType"),
    ],
    ids=["flat", "too wide", "tuple", "nothing"],
)
def test_logits_of_another_shape_are_refused_with_the_shape_they_must_have(class_trial, wrong, given):
    module = type(
        "Wrong", (Mean,), {"forward": lambda self, tokens, lengths: wrong(Mean.forward(self, tokens, lengths))}
    )
    with pytest.raises(
        ValueError,
        match=rf"encoder Wrong: forward\(tokens, lengths\) gives {given}; it must give logits of shape "
        r"\(captions, outputs\), here \(32, 1\)",
    ):
        train(class_trial(), module)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_logits_that_are_no_numbers_are_refused(class_trial, value):
    # A training that has run away: its scores would be NaN, or as sure as can be.
    module = type(
        "Runaway", (Mean,), {"forward": lambda self, tokens, lengths: Mean.forward(self, tokens, lengths) + value}
    )
    with pytest.raises(ValueError, match=r"encoder Runaway: .*finite"):
        train(class_trial(), module)


# --- the same again ---


def test_torch_s_own_recurrent_layers_work_in_it(class_trial):
    # Packing needs lengths on the CPU and falling lengths or `enforce_sorted=False`: both are given.
    class Recurrent(nn.Module):
        learning_rate, batch, epochs = 1e-2, 32, 3

        def __init__(self, words, outputs):
            super().__init__()
            self.words = nn.Embedding(words, 16)
            self.gru = nn.GRU(16, 16, batch_first=True)
            self.output = nn.Linear(16, outputs)

        def forward(self, tokens, lengths):
            packed = pack_padded_sequence(self.words(tokens), lengths.cpu(), batch_first=True)
            return self.output(self.gru(packed)[1][0])

    for precision in ("fp32", "bf16"):
        assert train(class_trial(n=500), Recurrent, precision).correct.mean() > 0.8
