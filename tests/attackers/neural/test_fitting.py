"""Trainings: which captions they see when, and that what is planted is learnt."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

from captionbias.attackers.base import Examples, Trial, TrialScores
from captionbias.attackers.neural import fitting, networks
from captionbias.attackers.neural.fitting import FIRST_WORD_ROW, PADDING_ROW, UNKNOWN_ROW, FittedNetwork, fit
from captionbias.attackers.recipes import RECIPES, Recipe, Recurrent, Schedule, Transformer
from captionbias.text import tokenize
from captionbias.text.tokens import Tokens
from tests.attackers.conftest import by_words

EACH = pytest.mark.parametrize("name", ["lstm-lic", "birnn", "transformer-5h", "dense"])


def quick(name: str, epochs: int = 3) -> Recipe:
    """The recipe, with batches for hundreds of captions instead of ten thousands; LIC's also narrower and faster."""
    recipe = RECIPES[name]
    schedule = replace(recipe.schedule, batch=32, epochs=epochs, least_steps=0)
    if name != "lstm-lic":
        return replace(recipe, schedule=schedule)
    return replace(recipe, encoder=replace(recipe.encoder, hidden=32), schedule=replace(schedule, learning_rate=5e-3))


def fitted(trial: Trial, recipe: Recipe, precision: str = "fp32") -> FittedNetwork:
    cpu = torch.device("cpu")
    return fit(trial, partial(networks.Network, recipe), recipe.schedule, precision, cpu, recipe.base_rates)


def train(trial: Trial, recipe: Recipe, precision: str = "fp32") -> TrialScores:
    return fitted(trial, recipe, precision).test_scores


@pytest.mark.parametrize("cell", ["lstm", "rnn"])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("both_ways", [False, True])
def test_padded_captions_have_the_last_states_of_packed_ones(cell, layers, both_ways):
    encoder = networks.RecurrentEncoder(Recurrent(cell, 5, layers, both_ways), 4, 0.0)
    packed = {"lstm": nn.LSTM, "rnn": nn.RNN}[cell](4, 5, layers, bidirectional=both_ways, batch_first=True)
    for number, of_layer in enumerate(encoder.layers):
        for direction, own in enumerate(of_layer):
            for name, weight in own.named_parameters():
                theirs = name.replace("l0", f"l{number}{'_reverse' * direction}")
                getattr(packed, theirs).data.copy_(weight)
    values, lengths = torch.randn(3, 7, 4), torch.tensor([7, 4, 1])
    states = packed(pack_padded_sequence(values, lengths, batch_first=True))[1]
    last = (states[0] if cell == "lstm" else states)[-2 if both_ways else -1 :]
    torch.testing.assert_close(encoder(values, lengths), torch.cat(list(last), 1))


def test_a_transformer_s_captions_do_not_depend_on_their_padding_and_words_have_places():
    encoder = networks.TransformerEncoder(Transformer(2, 12), 10, 0.1).eval()
    values = torch.randn(2, 6, 10)
    together = encoder(values, torch.tensor([6, 3]))
    torch.testing.assert_close(encoder(values[1:, :3], torch.tensor([3])), together[1:])
    assert not torch.allclose(encoder(values[:1].flip(1), torch.tensor([6])), together[:1])
    # Vaswani et al. 2017, section 3.5.
    angle = 3 * 10_000 ** (-4 / 10)
    assert networks.positions(torch.tensor([3]), 10)[0, 4:6].tolist() == pytest.approx([np.sin(angle), np.cos(angle)])


def test_lic_s_normalised_head_learns_from_a_step_of_one_caption():
    """The last step of an epoch may be one, where torch's own layer raises."""
    head = networks.normalized_mlp((4, 3, 1)).train()
    head(torch.randn(8, 4))
    assert head(torch.randn(1, 4)).isfinite().all()
    assert all(buffer.isfinite().all() for buffer in head.buffers())


@EACH
def test_planted_classes_and_tasks_are_learnt(class_trial, task_trial, name):
    for classes in (2, 3):
        scores = train(class_trial(n=500, classes=classes), quick(name, epochs=5))
        assert scores.correct.mean() > 0.85
        # The truth is answered when nothing else is likelier: always above a half, never at a chance share or less.
        assert scores.correct[scores.log_probability > np.log(0.5)].all()
        assert not scores.correct[scores.log_probability < np.log(1 / classes)].any()
    if name in ("lstm-lic", "transformer-5h"):
        scores = train(task_trial(n=600, tasks=3), quick(name, epochs=5))
        assert scores.correct.mean() > 0.75, "by chance, all three tasks are right in a third"


@pytest.mark.parametrize("name", ["lstm-lic", "transformer-5h"])
def test_bfloat16_learns_what_32_bits_learn(class_trial, name):
    trial, recipe = class_trial(n=500, signal=0.6), quick(name)
    exact, rough, other = (
        np.exp(train(one, recipe, precision).log_probability)
        for one, precision in ((trial, "fp32"), (trial, "bf16"), (replace(trial, seed=9), "fp32"))
    )
    assert rough.mean() > 0.7, "chance is a half"
    assert 0 < np.abs(rough - exact).mean() < np.abs(other - exact).mean()


def test_dbac_starts_at_the_shares_of_the_training_split_however_rare(class_trial, task_trial):
    """So that what captions do not tell is answered by the shares; nothing is certain."""
    trial = task_trial(tasks=3)
    flags = np.hstack((trial.examples.targets, np.zeros((300, 1), bool), np.ones((300, 1), bool)))

    def started(one: Trial) -> torch.Tensor:
        return fitted(one, quick("lstm-dbac", epochs=0)).network.head[-1].bias

    *some, never, always = torch.sigmoid(started(replace(trial, examples=Examples(trial.examples.tokens, flags, 5))))
    assert some == pytest.approx(flags[trial.train].mean(axis=0)[:3].tolist(), rel=1e-5)
    assert 0 < never < 0.01 < 0.99 < always < 1
    for one in (class_trial(200, 3), class_trial(200, 2)):
        bias, known = started(one), one.examples.targets[one.train]
        answers = torch.softmax(bias, 0) if len(bias) > 1 else torch.sigmoid(torch.cat((-bias, bias)))
        assert answers.tolist() == pytest.approx((np.bincount(known) / len(known)).tolist(), rel=1e-5)


@EACH
def test_captions_without_words_are_learned_from_and_scored(name):
    trial = by_words(["", "a man", "a woman", ""] * 20, [0, 0, 1, 1] * 20, ["", "a man", "", "zebu"], [0, 0, 0, 0])
    scores = train(trial, quick(name, epochs=1))
    assert np.isfinite(scores.log_probability).all()
    alike = pytest.approx(scores.log_probability[0], abs=1e-5)
    assert scores.log_probability[2] == alike
    assert scores.log_probability[3] == alike, "a caption of unknown words alone"


def test_dense_does_not_know_the_order_of_an_image_s_labels(task_trial):
    trial = task_trial(300, 3)
    tokens = trial.examples.tokens  # words keep their numbers
    ids = tokens.ids[np.lexsort((np.random.default_rng(0).random(len(tokens.ids)), tokens.rows))]
    other = replace(trial, examples=replace(trial.examples, tokens=replace(tokens, ids=ids)))
    first, again = train(trial, quick("dense")), train(other, quick("dense"))
    assert again.log_probability == pytest.approx(first.log_probability, abs=1e-4)  # sums in another order
    assert not np.allclose(train(other, quick("rnn")).log_probability, train(trial, quick("rnn")).log_probability)


def test_a_training_that_runs_away_is_refused(class_trial):
    """Its scores would be NaN, or as sure as can be."""
    recipe = quick("rnn")
    with pytest.raises(ValueError, match="logits are not all finite"):
        train(class_trial(n=60, test=20), replace(recipe, schedule=replace(recipe.schedule, learning_rate=1e38)))


def trial_of(lengths: list[int]) -> Trial:
    """Captions of these lengths, of which the first three quarters are trained on."""
    tokens = Tokens(np.zeros(sum(lengths), np.int32), np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))), ("a",))
    rows = np.arange(len(lengths))
    train, test = np.split(rows, [max(1, len(rows) * 3 // 4)])
    return Trial(Examples(tokens, np.zeros(len(rows), np.int64), 2), train, test, 0)


def epoch(trial: Trial, batch: int, bucketed: bool, seed: int = 0) -> list[np.ndarray]:
    return fitting.epoch(trial, Schedule(1e-3, batch, 1, bucketed), np.random.default_rng(seed))


def test_words_of_the_training_split_are_numbered_all_others_are_unknown_and_captions_are_padded():
    tokens = tokenize(["a zebu rides", "a man rides", "a gnu", ""])
    trial = Trial(Examples(tokens, np.zeros(4, int), 2), np.array([1]), np.array([0, 2, 3]), 0)
    numbers, rows = fitting.vocabulary(trial)
    known = {"a": FIRST_WORD_ROW, "rides": FIRST_WORD_ROW + 1, "man": FIRST_WORD_ROW + 2}
    assert dict(zip(tokens.words, numbers.tolist(), strict=True)) == {"zebu": UNKNOWN_ROW, "gnu": UNKNOWN_ROW, **known}
    assert rows == 3 + FIRST_WORD_ROW
    table, lengths = fitting.pad(trial, numbers, np.array([1, 3]))
    assert lengths.tolist() == [3, 1], "one without words is an unknown word"
    man, a, rides = known["man"], known["a"], known["rides"]
    assert table.tolist() == [[a, man, rides], [UNKNOWN_ROW, PADDING_ROW, PADDING_ROW]]


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
