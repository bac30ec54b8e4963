"""Trained attackers: torch's own layers trained the same way, the same alone and in a stack, learning what is there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_sequence

from captionbias.attackers import batches
from captionbias.attackers.base import Examples, Trial, TrialScores
from captionbias.attackers.batches import FIRST_WORD_ROW, NOTHING, PADDING_ROW, UNKNOWN_ROW
from captionbias.attackers.neural import fitting, network
from captionbias.attackers.neural.fitting import outputs
from captionbias.attackers.neural.network import Network
from captionbias.attackers.recipes import RECIPES, Recipe
from captionbias.text import tokenize

CPU = torch.device("cpu")
EACH = pytest.mark.parametrize("name", ["lstm-lic", "birnn", "transformer-5h", "dense"])


def quick(name: str, epochs: int = 3) -> Recipe:
    """The recipe, with batches for hundreds of captions instead of ten thousands; LIC's also narrower and faster."""
    recipe = RECIPES[name]
    schedule = replace(recipe.schedule, batch=32, epochs=epochs)
    if name != "lstm-lic":
        return replace(recipe, schedule=schedule)
    return replace(recipe, encoder=replace(recipe.encoder, hidden=32), schedule=replace(schedule, learning_rate=5e-3))


def train(trial: Trial, recipe: Recipe, precision: str = "fp32") -> TrialScores:
    (scores,) = train_all([trial], recipe, precision)
    return scores


def train_all(trials: list[Trial], recipe: Recipe, precision: str = "fp32") -> list[TrialScores]:
    return [fitted.test_scores for fitted in network.fit(trials, recipe, precision, CPU)]


def same(left: TrialScores, right: TrialScores) -> bool:
    """Bit for bit."""
    return left.log_probability.tobytes() == right.log_probability.tobytes() and np.array_equal(
        left.correct, right.correct
    )


def by_words(train: list[str], targets: list[int], test: list[str], truth: list[int]) -> Trial:
    examples = Examples(tokenize([*train, *test]), np.array([*targets, *truth]), 2)
    return Trial("by words", examples, np.arange(len(train)), np.arange(len(train), len(train) + len(test)), 0)


def rewritten(trial: Trial, change: Callable[[int, str], str]) -> Trial:
    texts = trial.examples.tokens.texts()
    tokens = tokenize([change(row, text) for row, text in enumerate(texts)])
    return replace(trial, examples=replace(trial.examples, tokens=tokens))


@dataclass
class Watched:
    """A training's network, its parameters before it began, and the training rows of each step."""

    model: Network
    start: dict[str, Tensor]
    steps: list[np.ndarray]


@pytest.fixture
def watch(monkeypatch):
    """Train, and see what happened."""

    def watched(trials: list[Trial], recipe: Recipe) -> tuple[Watched, list[TrialScores]]:
        seen: list[Watched] = []
        fit, epoch = network.fit_and_score, batches.epoch

        def watching_fit(trials: list[Trial], words: Any, model: Network, *rest: Any) -> list[TrialScores]:
            seen.append(Watched(model, {name: value.clone() for name, value in model.state_dict().items()}, []))
            return fit(trials, words, model, *rest)

        def watching_epoch(*given: Any) -> np.ndarray:
            steps = epoch(*given)
            seen[0].steps.extend(step[step != NOTHING] for step in steps)
            return steps

        with monkeypatch.context() as patch:
            patch.setattr(network, "fit_and_score", watching_fit)
            patch.setattr(batches, "epoch", watching_epoch)
            scores = train_all(trials, recipe)
        return seen[0], scores

    return watched


# --- torch's own layers, trained the same way ---


class Plain(nn.Module):
    """A recurrent attacker made of torch's own layers, that starts where the first trial of a network started."""

    def __init__(self, recipe: Recipe, start: Network, torch_weights: Callable[..., dict[str, Tensor]]) -> None:
        super().__init__()
        encoder = recipe.encoder
        self.embedding = nn.Embedding(len(start.embedding.weight), recipe.embedding, padding_idx=PADDING_ROW)
        kind: Any = nn.LSTM if encoder.cell == "lstm" else nn.RNN
        self.recurrent = kind(recipe.embedding, encoder.hidden, encoder.layers, bidirectional=encoder.bidirectional)
        self.head = nn.ModuleList(nn.Linear(*layer.weight.shape[1:]) for layer in start.head.layers)
        with torch.no_grad():
            self.embedding.weight.copy_(start.embedding.weight)
            self.recurrent.load_state_dict(torch_weights(start.encoder.layers, 0, encoder.cell))
            for own, theirs in zip(self.head, start.head.layers, strict=True):
                own.load_state_dict({"weight": theirs.weight[0].T, "bias": theirs.bias[0, 0]})

    def forward(self, captions: list[Tensor]) -> Tensor:
        _, last = self.recurrent(pack_sequence([self.embedding(caption) for caption in captions], enforce_sorted=False))
        states = last[0] if isinstance(self.recurrent, nn.LSTM) else last
        values = torch.cat(list(states[-2:] if self.recurrent.bidirectional else states[-1:]), dim=1)
        for layer in self.head[:-1]:
            values = functional.relu(layer(values))
        return self.head[-1](values)


def loss_of(logits: Tensor, targets: Tensor, multilabel: bool) -> Tensor:
    if multilabel:
        return functional.binary_cross_entropy_with_logits(logits, targets.float(), reduction="none").sum(1).mean()
    if logits.shape[1] == 1:
        return functional.binary_cross_entropy_with_logits(logits[:, 0], targets.float())
    return functional.cross_entropy(logits, targets)


def by_torch(model: Plain, trial: Trial, steps: list[np.ndarray], learning_rate: float) -> np.ndarray:
    """The log-probability of the truth of each test caption, after torch's Adam has taken the steps."""
    present = sorted(set(trial.examples.tokens.select(trial.train).ids.tolist()))
    numbers = {word: FIRST_WORD_ROW + place for place, word in enumerate(present)}

    def logits_of(rows: np.ndarray) -> Tensor:
        captions = [trial.examples.tokens.select(np.array([row])).ids.tolist() for row in rows]
        numbered = [[numbers.get(word, UNKNOWN_ROW) for word in caption] or [UNKNOWN_ROW] for caption in captions]
        return model([torch.tensor(caption) for caption in numbered])

    targets, multilabel = torch.as_tensor(trial.examples.targets), trial.examples.multilabel
    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
    for rows in steps:
        optimizer.zero_grad()
        loss_of(logits_of(rows), targets[rows], multilabel).backward()
        optimizer.step()
    with torch.no_grad():
        logits = logits_of(trial.test)
        each = [loss_of(logits[[row]], targets[[own]], multilabel) for row, own in enumerate(trial.test)]
    return -torch.stack(each).numpy()


@pytest.mark.parametrize(
    ("name", "kind", "count"),
    [
        ("lstm-lic", "class_trial", 2),
        ("lstm-dbac", "class_trial", 3),
        ("bilstm", "task_trial", 3),
        ("rnn", "class_trial", 2),
        ("birnn", "task_trial", 3),
    ],
)
def test_without_dropout_a_whole_training_is_that_of_torch_s_own_layers(
    watch, torch_weights, request, name, kind, count
):
    # LIC's network and batches as published, but for dropout, which torch draws in its own way, and fewer epochs of
    # faster steps: 6 in all.
    recipe = replace(RECIPES[name], dropout=0.0)
    recipe = replace(recipe, schedule=replace(recipe.schedule, learning_rate=1e-3, batch=64, epochs=3))
    trial = request.getfixturevalue(kind)(180, count, test=80)
    trial = rewritten(trial, lambda row, text: "" if row % 20 == 0 else text)
    seen, (scores,) = watch([trial], recipe)
    assert len(seen.steps) == 6

    start = Network([torch.Generator()], recipe, [len(seen.start["embedding.weight"])], outputs(trial), torch.float32)
    start.load_state_dict(seen.start)
    plain = Plain(recipe, start, torch_weights)
    untrained = by_torch(plain, trial, [], 0.0)
    wanted = by_torch(plain, trial, seen.steps, recipe.schedule.learning_rate)
    assert scores.log_probability == pytest.approx(wanted, abs=1e-5)
    assert np.abs(wanted - untrained).mean() > 0.01, "nothing was trained"


# --- alone and in a stack ---


@pytest.fixture
def stack(request, kind, count) -> list[Trial]:
    """Trials of one shape and nothing else in common; each one's last step is filled up otherwise."""
    made = request.getfixturevalue(kind)
    first, second, third = (
        made(n + test, count, seed=seed, test=test) for seed, (n, test) in enumerate([(65, 1), (80, 35), (96, 11)])
    )
    second = rewritten(second, lambda row, text: f"{text.replace('w', 'other')} and {text}")
    third = rewritten(third, lambda row, text: "" if row % 7 == 0 else text)
    return [first, second, third]


@pytest.mark.parametrize(
    ("name", "kind", "count"),
    [
        ("lstm-lic", "class_trial", 2),
        ("lstm-dbac", "task_trial", 3),
        ("birnn", "class_trial", 3),
        ("transformer-5h", "task_trial", 3),
        ("dense", "class_trial", 2),
    ],
)
def test_a_trial_gives_the_same_alone_and_beside_trials_of_other_captions_words_seeds_and_sizes(name, stack):
    """And so does each one's own part of the network, which is what is kept of it."""
    recipe = quick(name, epochs=2)
    assert len({batches.shape(trial, recipe.schedule.batch) for trial in stack}) == 1
    fitted = network.fit(stack, recipe, "fp32", CPU)
    assert [len(one.test_scores.correct) for one in fitted] == [1, 35, 11]
    for trial, found in zip(stack, fitted, strict=True):
        alone = train(trial, recipe)
        clear = np.abs(alone.log_probability - np.log(0.5)) > 1e-3
        for scores in (found.test_scores, found.scores(trial.test)):
            assert scores.log_probability == pytest.approx(alone.log_probability, abs=1e-5)
            if outputs(trial) == 1:
                assert np.array_equal(scores.correct[clear], alone.correct[clear])
    again = train_all([stack[1], stack[0], stack[1]], recipe)
    for scores, place in zip(again, (1, 0, 1), strict=True):
        assert scores.log_probability == pytest.approx(fitted[place].test_scores.log_probability, abs=1e-5)


def test_test_captions_are_scored_in_parts_and_in_any_order(class_trial, monkeypatch):
    (fitted,) = network.fit([class_trial(n=100, test=60)], quick("lstm-dbac", epochs=1), "fp32", CPU)
    monkeypatch.setattr(fitting, "TEST_BATCH", 7)
    backwards = fitted.scores(fitted.trial.test[::-1]).log_probability[::-1]
    assert backwards == pytest.approx(fitted.test_scores.log_probability, abs=1e-6)
    assert len(np.unique(backwards)) == 60


# --- learning ---


@pytest.mark.parametrize(("name", "classes"), [(name, 2 + place % 2) for place, name in enumerate(RECIPES)])
def test_a_planted_class_is_learned(class_trial, name, classes):
    scores = train(class_trial(n=500, classes=classes), quick(name))
    assert scores.log_probability.shape == scores.correct.shape == (100,)
    assert scores.log_probability.dtype == np.float64
    assert scores.correct.mean() > 0.9
    assert np.exp(scores.log_probability).mean() > 0.8
    # The truth is answered when nothing else is likelier: always above a half, never at a chance share or less.
    assert scores.correct[scores.log_probability > np.log(0.5)].all()
    assert not scores.correct[scores.log_probability < np.log(1 / classes)].any()


@pytest.mark.parametrize("name", ["lstm-lic", "transformer-5h"])
def test_planted_tasks_are_learned(task_trial, name):
    scores = train(task_trial(n=600, tasks=3), quick(name))
    assert scores.correct.mean() > 0.75  # by chance, all three tasks are right in a third
    assert np.exp(scores.log_probability).mean() > 0.6
    assert scores.correct[scores.log_probability > np.log(0.5)].all()


@EACH
def test_the_recipe_s_dropout_is_in_the_training(class_trial, name):
    trial, recipe = class_trial(n=80, test=30), quick(name, epochs=1)
    assert not same(train(trial, recipe), train(trial, replace(recipe, dropout=0.2)))
    assert same(train(trial, recipe), train(trial, replace(recipe, dropout=0.0))) == (name == "dense")


@pytest.mark.parametrize("name", ["lstm-lic", "transformer-5h"])
def test_without_a_signal_it_is_chance(class_trial, name):
    scores = train(class_trial(n=700, signal=0.0, test=400), quick(name, epochs=2))
    assert scores.correct.mean() == pytest.approx(0.5, abs=0.1)  # 4 standard errors
    assert np.exp(scores.log_probability).mean() == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("name", ["lstm-lic", "transformer-5h"])
def test_bfloat16_learns_what_32_bits_learn(class_trial, name):
    # What 8 bits round away (0.008, on average) is far below what another seed changes (0.05 to 0.14).
    trial, recipe = class_trial(n=500, signal=0.6), quick(name)
    exact, rough, other = (
        np.exp(train(one, recipe, precision).log_probability)
        for one, precision in ((trial, "fp32"), (trial, "bf16"), (replace(trial, seed=9), "fp32"))
    )
    assert rough.mean() > 0.7  # chance is a half
    assert not np.array_equal(rough, exact)
    gap = np.abs(rough - exact).mean()
    assert gap < 0.03
    assert gap < np.abs(other - exact).mean() / 2


# --- where a training starts, and what it moves ---


def shares(bias: Tensor, multilabel: bool) -> np.ndarray:
    """What the network answers when captions tell it nothing."""
    bias = bias.detach()
    if multilabel:
        return torch.sigmoid(bias).numpy()
    return torch.softmax(functional.pad(bias, (1, 0)) if len(bias) == 1 else bias, dim=0).numpy()


@pytest.mark.parametrize(("name", "classes"), [("birnn", 2), ("transformer-5h", 3)])
def test_dbac_starts_at_the_shares_of_the_classes_in_each_training_split(watch, class_trial, name, classes):
    trials = [class_trial(200, classes, seed=seed) for seed in range(2)]
    start = watch(trials, quick(name, epochs=0))[0].start["head.layers.2.bias"]
    for bias, trial in zip(start[:, 0], trials, strict=True):
        counts = np.bincount(trial.examples.targets[trial.train])
        assert shares(bias, False) == pytest.approx(counts / counts.sum(), rel=1e-5)


def test_dbac_starts_at_the_shares_of_the_tasks_however_rare(watch, task_trial):
    trial = task_trial(tasks=3)
    flags = np.hstack((trial.examples.targets, np.zeros((300, 1), bool), np.ones((300, 1), bool)))
    trial = replace(trial, examples=Examples(trial.examples.tokens, flags, 5))
    seen, (scores,) = watch([trial], quick("lstm-dbac", epochs=0))
    found = shares(seen.start["head.layers.2.bias"][0, 0], True)
    assert found[:3] == pytest.approx(flags[trial.train][:, :3].mean(axis=0), rel=1e-5)
    assert 0 < found[3] < 0.01
    assert 0.99 < found[4] < 1
    assert np.isfinite(scores.log_probability).all()


def test_a_class_that_the_training_split_lacks_is_all_but_impossible(class_trial):
    trial = class_trial(classes=3)
    without = trial.train[trial.examples.targets[trial.train] != 2]
    scores = train(replace(trial, train=without), quick("lstm-dbac", epochs=1))
    lacking = trial.examples.targets[trial.test] == 2
    assert np.exp(scores.log_probability[lacking]).max() < 0.05
    assert np.isfinite(scores.log_probability).all()
    assert not scores.correct[lacking].any()


@pytest.mark.parametrize("name", ["lstm-lic", "transformer-5h"])
def test_every_word_learns_and_padding_stays_at_zero(watch, class_trial, name):
    trials = [class_trial(n=100, test=36, seed=1), class_trial(n=90, test=26, seed=2)]
    # Twice the length, so that the other trial's captions are padded in every step.
    trials[1] = rewritten(trials[1], lambda row, text: f"{text} {text}")
    seen, _ = watch(trials, replace(quick(name), dropout=0.0))
    rows = [batches.vocabulary(trial)[1] for trial in trials]
    before, after = (table.split(rows) for table in (seen.start["embedding.weight"], seen.model.embedding.weight))
    for start, end in zip(before, after, strict=True):
        assert not end[PADDING_ROW].any()
        assert (end[FIRST_WORD_ROW:] != start[FIRST_WORD_ROW:]).any(dim=1).all()


# --- the same again ---


@pytest.mark.parametrize("name", ["lstm-lic", "birnn", "transformer-5h"])
@pytest.mark.parametrize(("kind", "count"), [("class_trial", 2)])
def test_a_training_repeats_bit_for_bit_whatever_torch_was_set_to(name, stack):
    recipe = quick(name, epochs=1)
    for precision in ("fp32", "bf16"):
        first = train_all(stack, recipe, precision)
        torch.set_num_threads(2)
        torch.manual_seed(123)
        np.random.seed(123)
        assert all(map(same, train_all(stack, recipe, precision), first))
    assert not same(train(replace(stack[1], seed=9), recipe), train(stack[1], recipe))


# --- captions of every kind ---


@EACH
def test_captions_without_words_are_learned_from_and_scored(name):
    trial = by_words(["", "a man", "a woman", ""] * 20, [0, 0, 1, 1] * 20, ["", "a man", "", "zebu"], [0, 0, 0, 0])
    scores = train(trial, quick(name, epochs=1))
    assert np.isfinite(scores.log_probability).all()
    alike = pytest.approx(scores.log_probability[0], abs=1e-5)  # in another row, sums may be rounded otherwise
    assert scores.log_probability[2] == alike
    assert scores.log_probability[3] == alike, "a caption of unknown words alone"


# --- sets of labels, which have no order ---


def test_dense_does_not_know_the_order_of_an_image_s_labels(task_trial):
    trial = task_trial(300, 3)
    tokens = trial.examples.tokens  # words keep their numbers
    ids = tokens.ids[np.lexsort((np.random.default_rng(0).random(len(tokens.ids)), tokens.rows))]
    other = replace(trial, examples=replace(trial.examples, tokens=replace(tokens, ids=ids)))
    first, again = train(trial, quick("dense")), train(other, quick("dense"))
    assert again.log_probability == pytest.approx(first.log_probability, abs=1e-4)  # sums in another order
    assert not np.allclose(train(other, quick("rnn")).log_probability, train(trial, quick("rnn")).log_probability)
