"""The LSTM attackers: the networks that the papers describe, learning what is there, the same way every time."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from captionbias.attackers import lstm as module
from captionbias.attackers.lstm import DBAC, FIRST_WORD_ROW, LIC, PADDING_ROW, UNKNOWN_ROW, Recipe
from captionbias.attackers.trials import Examples, Trial, TrialScores
from captionbias.text import tokenize

# The same networks and batches, small enough and fast enough a learner for a test.
QUICK = {"embedding": 12, "dropout": 0.2, "learning_rate": 3e-2, "batch": 32, "epochs": 6}
SMALL_LIC, SMALL_DBAC = replace(LIC, **QUICK, hidden=12), replace(DBAC, **QUICK, hidden=16, head=(16, 16))
SMALL = pytest.mark.parametrize("recipe", [SMALL_LIC, SMALL_DBAC], ids=["lic", "dbac"])
BRIEF = replace(SMALL_LIC, epochs=1), replace(SMALL_DBAC, epochs=1)
EACH_BRIEFLY = pytest.mark.parametrize("recipe", BRIEF, ids=["lic", "dbac"])
KINDS = pytest.mark.parametrize("kind", ["class_trial", "task_trial"])
CPU = torch.device("cpu")


def attack(trial: Trial, recipe: Recipe) -> TrialScores:
    return module._attack(trial, recipe)


def same(left: TrialScores, right: TrialScores) -> bool:
    """Bit for bit."""
    return left.log_probability.tobytes() == right.log_probability.tobytes() and np.array_equal(
        left.correct, right.correct
    )


def by_words(train: list[str], targets: list[int], test: list[str], truth: list[int]) -> Trial:
    examples = Examples(tokenize([*train, *test]), np.array([*targets, *truth]), 2)
    return Trial("by words", examples, np.arange(len(train)), np.arange(len(train), len(train) + len(test)), 0)


def test_lic_has_the_published_network():
    # LIC: embedding 100, 2-layer bidirectional LSTM of 256, one linear output.
    model = module._network(LIC, rows=30, outputs=1)
    expected = {"embedding.weight": (30, 100), "output.weight": (1, 512), "output.bias": (1,)}
    for layer, inputs in ((0, 100), (1, 512)):
        for direction in ("", "_reverse"):
            place = f"_l{layer}{direction}"
            expected |= {f"lstm.weight_ih{place}": (4 * 256, inputs), f"lstm.weight_hh{place}": (4 * 256, 256)}
            expected |= {f"lstm.bias_{kind}{place}": (4 * 256,) for kind in ("ih", "hh")}
    assert {name: tuple(value.shape) for name, value in model.named_parameters()} == expected
    assert all(value.requires_grad for value in model.parameters())


def test_lic_is_trained_as_published():
    # LIC: dropout 0.5, Adam 5e-5, batch 64, 20 epochs; batches bucketed by length.
    assert (LIC.dropout, LIC.learning_rate, LIC.batch, LIC.epochs, LIC.bucketed) == (0.5, 5e-5, 64, 20, True)


def test_dbac_has_one_direction_and_three_linear_layers():
    model = module._network(DBAC, rows=30, outputs=7)
    assert model.embedding.weight.shape == (30, 50)
    assert not model.lstm.bidirectional
    layers = [*model.head, model.output]
    assert [type(layer) for layer in layers] == [nn.Linear, nn.ReLU, nn.Linear, nn.ReLU, nn.Linear]
    assert layers[0].in_features == model.lstm.hidden_size
    assert layers[-1].out_features == 7
    assert not DBAC.bucketed


def test_one_output_tells_two_classes_apart(class_trial, task_trial):
    assert module._logits(class_trial(classes=2)) == 1
    assert module._logits(class_trial(classes=3)) == 3
    assert module._logits(task_trial(tasks=2)) == 2
    # One output is the second class's: its log-odds.
    both = torch.log_softmax(module._both_classes(torch.tensor([[1.5]])), dim=1)
    assert both[0, 1] - both[0, 0] == pytest.approx(1.5)


@pytest.mark.parametrize("recipe", [LIC, DBAC], ids=["lic", "dbac"])
def test_padding_and_unknown_start_at_zero_and_nothing_else_does(recipe):
    weight = module._network(recipe, rows=30, outputs=1).embedding.weight
    assert {UNKNOWN_ROW, PADDING_ROW} == set(range(FIRST_WORD_ROW))
    assert not weight[:FIRST_WORD_ROW].any()
    assert (weight[FIRST_WORD_ROW:] != 0).any(dim=1).all()


@SMALL
def test_padding_stays_at_zero(class_trial, recipe):
    trial = class_trial(n=64, test=8)
    tokens, rows = module._renumber(trial)
    model = module._network(recipe, rows, 1)
    before = model.embedding.weight.detach().clone()
    module._train(model, tokens, trial, replace(recipe, epochs=1), CPU)
    assert not model.embedding.weight[PADDING_ROW].any()
    assert (model.embedding.weight[FIRST_WORD_ROW:] != before[FIRST_WORD_ROW:]).any(dim=1).all()


@SMALL
def test_a_caption_is_judged_by_the_last_state_of_each_direction_without_its_padding(recipe):
    tokens = tokenize(["a b c d e f", "b", "f e d", ""])
    numbers = replace(tokens, ids=tokens.ids + np.int32(FIRST_WORD_ROW))
    torch.manual_seed(0)
    model = module._network(recipe, rows=8, outputs=2).eval()
    table, lengths = module._pad(numbers, np.array([2, 0, 3, 1]), CPU)
    assert table[2].tolist() == [UNKNOWN_ROW] + [PADDING_ROW] * 5
    assert lengths.tolist() == [3, 6, 1, 1]
    with torch.no_grad():
        found = model(table, lengths)
        for row, caption in enumerate([[7, 6, 5], [2, 3, 4, 5, 6, 7], [UNKNOWN_ROW], [3]]):
            states = model.lstm(model.embedding(torch.tensor([caption])))[0][0]
            width = recipe.hidden
            last = torch.cat((states[-1, :width], states[0, width:])) if recipe.bidirectional else states[-1]
            assert torch.allclose(found[row], model.output(model.head(last)), atol=1e-6)


def test_dropout_falls_on_the_embedding_between_the_layers_and_on_the_last_states():
    torch.manual_seed(0)
    model = module._network(LIC, rows=200, outputs=1)
    seen = {}
    model.lstm.register_forward_pre_hook(lambda _, given: seen.update(embedding=given[0].data))
    model.head.register_forward_pre_hook(lambda _, given: seen.update(states=given[0]))
    words, lengths = torch.randint(FIRST_WORD_ROW, 200, (20, 9)), torch.full((20,), 9)
    assert model.lstm.dropout == 0.5
    for training, share in ((True, 0.5), (False, 0.0)):
        model.train(training)
        with torch.no_grad():
            model(words, lengths)
        for place, values in seen.items():
            assert (values == 0).float().mean().item() == pytest.approx(share, abs=0.03), (place, training)
    assert module._network(DBAC, rows=5, outputs=1).lstm.dropout == 0


@SMALL
@pytest.mark.parametrize("classes", [2, 3])
def test_a_planted_class_is_learned(class_trial, recipe, classes):
    scores = attack(class_trial(classes=classes), recipe)
    assert scores.log_probability.shape == scores.correct.shape == (100,)
    assert scores.log_probability.dtype == np.float64
    assert scores.correct.mean() > 0.9
    assert np.exp(scores.log_probability).mean() > 0.8
    # The truth is answered when nothing else is likelier: always above a half, never at a chance share or less.
    assert scores.correct[scores.log_probability > np.log(0.5)].all()
    assert not scores.correct[scores.log_probability < np.log(1 / classes)].any()


@SMALL
def test_planted_tasks_are_learned(task_trial, recipe):
    scores = attack(task_trial(n=400, tasks=3), recipe)
    assert scores.correct.mean() > 0.6  # by chance, all three tasks are right in a third
    assert scores.correct[scores.log_probability > np.log(0.5)].all()


@SMALL
def test_without_a_signal_it_is_chance(class_trial, recipe):
    scores = attack(class_trial(n=700, signal=0.0, test=400), replace(recipe, epochs=2))
    assert scores.correct.mean() == pytest.approx(0.5, abs=0.1)


def shares(bias: torch.Tensor, multilabel: bool) -> list[float]:
    """What the network answers when captions tell it nothing."""
    if multilabel:
        return torch.sigmoid(bias).tolist()
    return torch.softmax(module._both_classes(bias[None]), dim=1)[0].tolist()


@pytest.mark.parametrize("classes", [2, 3])
def test_dbac_starts_at_the_shares_of_the_classes(class_trial, classes):
    trial = class_trial(classes=classes)
    tokens, rows = module._renumber(trial)
    model = module._network(SMALL_DBAC, rows, module._logits(trial))
    module._train(model, tokens, trial, replace(SMALL_DBAC, learning_rate=0.0, epochs=1), CPU)
    counts = np.bincount(trial.examples.targets[trial.train])
    assert shares(model.output.bias, False) == pytest.approx(counts / counts.sum(), rel=1e-5)


def test_dbac_starts_at_the_shares_of_the_tasks_however_rare(task_trial):
    trial = task_trial(tasks=3)
    flags = np.hstack((trial.examples.targets, np.zeros((300, 1), bool), np.ones((300, 1), bool)))
    trial = replace(trial, examples=Examples(trial.examples.tokens, flags, 5))
    tokens, rows = module._renumber(trial)
    model = module._network(SMALL_DBAC, rows, 5)
    module._train(model, tokens, trial, replace(SMALL_DBAC, learning_rate=0.0, epochs=1), CPU)
    found = shares(model.output.bias, True)
    assert found[:3] == pytest.approx(flags[trial.train][:, :3].mean(axis=0), rel=1e-5)
    assert 0 < found[3] < 0.01
    assert 0.99 < found[4] < 1


def test_lic_starts_as_drawn(class_trial):
    trial = class_trial()
    tokens, rows = module._renumber(trial)
    model = module._network(SMALL_LIC, rows, 1)
    before = model.output.bias.detach().clone()
    module._train(model, tokens, trial, replace(SMALL_LIC, learning_rate=0.0, epochs=1), CPU)
    assert torch.equal(model.output.bias, before)


@pytest.fixture
def two_threads():
    """As a user may have set torch, whatever the tests were started with."""
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(threads)


@SMALL
def test_every_epoch_sees_every_training_caption_once_in_one_thread(class_trial, monkeypatch, two_threads, recipe):
    trial, batches, threads = class_trial(), [], []
    pad = module._pad

    def watched(tokens, rows, device):
        batches.append(rows)
        threads.append(torch.get_num_threads())
        return pad(tokens, rows, device)

    monkeypatch.setattr(module, "_pad", watched)
    attack(trial, replace(recipe, epochs=3))
    assert set(threads) == {1}
    *trained, tested = batches
    assert [len(rows) for rows in trained].count(32) == 3 * (len(trial.train) // 32)
    epochs = np.concatenate(trained).reshape(3, -1)
    assert all(np.array_equal(np.sort(rows), trial.train) for rows in epochs)
    assert not np.array_equal(epochs[0], epochs[1])
    assert np.array_equal(np.sort(tested), trial.test)


@SMALL
def test_the_first_step_is_adam_s(class_trial, recipe):
    trial = class_trial(n=42, test=10)
    tokens, rows = module._renumber(trial)
    model = module._network(recipe, rows, 1)
    # Those that base rates move beforehand are left out.
    before = {name: value.detach().clone() for name, value in model.named_parameters() if name != "output.bias"}
    module._train(model, tokens, trial, replace(recipe, learning_rate=1e-3, epochs=1), CPU)
    moved = torch.cat(
        [(value - before[name]).abs().flatten() for name, value in model.named_parameters() if name in before]
    )
    # Adam's first step goes as far as the learning rate, wherever the gradient is not all but zero.
    assert moved.max().item() == pytest.approx(1e-3, rel=1e-3)
    assert moved[moved > 0].median().item() == pytest.approx(1e-3, rel=1e-2)


@KINDS
@EACH_BRIEFLY
def test_a_trial_repeats_bit_for_bit_whatever_the_machine_was_set_to(kind, recipe, request):
    trial = request.getfixturevalue(kind)(n=120, test=40)
    first = attack(trial, recipe)
    request.getfixturevalue("two_threads")
    torch.manual_seed(123)
    np.random.seed(123)
    assert same(attack(trial, recipe), first)
    assert not same(attack(replace(trial, seed=trial.seed + 1), recipe), first)


@EACH_BRIEFLY
def test_the_user_s_generators_and_threads_are_left_as_they_were(class_trial, recipe, two_threads):
    trial = class_trial(n=60, test=20)
    states = torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate()
    attack(trial, recipe)
    broken = replace(trial.examples, targets=trial.examples.targets[:30])
    with pytest.raises(IndexError):  # in the middle of a training
        attack(replace(trial, examples=broken), recipe)
    assert torch.get_num_threads() == 2
    assert torch.equal(torch.get_rng_state(), states[0])
    assert np.random.get_state()[1].tolist() == states[1]
    assert random.getstate() == states[2]


def test_words_unseen_in_training_are_one_unknown_word():
    train, targets = ["a man rides", "a woman rides"] * 20, [0, 1] * 20
    one = by_words(train, targets, ["a zebu rides", "a man"], [0, 0])
    other = by_words(train, targets, ["a gnu rides", "a man"], [0, 0])
    tokens, rows = module._renumber(one)
    assert rows == 4 + FIRST_WORD_ROW
    assert tokens.ids[tokens.offsets[-3] :].tolist() == [
        *(FIRST_WORD_ROW, UNKNOWN_ROW, FIRST_WORD_ROW + 2),
        *(FIRST_WORD_ROW, FIRST_WORD_ROW + 1),
    ]
    assert PADDING_ROW not in tokens.ids
    assert tokens.ids.max() == rows - 1
    assert same(attack(one, BRIEF[0]), attack(other, BRIEF[0]))


@EACH_BRIEFLY
def test_captions_without_words_are_learned_from_and_scored(recipe):
    trial = by_words(["", "a man", "a woman", ""] * 20, [0, 0, 1, 1] * 20, ["", "a man", "", "zebu"], [0, 0, 0, 0])
    scores = attack(trial, recipe)
    assert np.isfinite(scores.log_probability).all()
    assert scores.log_probability[0] == scores.log_probability[2]
    assert scores.log_probability[3] == pytest.approx(scores.log_probability[0]), "a caption of unknown words alone"


@EACH_BRIEFLY
def test_scores_follow_the_order_of_the_test_rows(class_trial, recipe):
    # More than a thousand, so that they are judged in several parts.
    trial = class_trial(n=1300, test=1200)
    every = attack(trial, recipe)
    order = np.random.default_rng(0).permutation(1200)
    shuffled = attack(replace(trial, test=trial.test[order]), recipe)
    assert shuffled.log_probability == pytest.approx(every.log_probability[order], abs=1e-5)
    few = attack(replace(trial, test=trial.test[order[:5]]), recipe)
    assert few.log_probability == pytest.approx(every.log_probability[order[:5]], abs=1e-5)
    assert np.ptp(every.log_probability) > 1e-3


@settings(deadline=None, max_examples=25)
@given(n=st.integers(1, 700), batch=st.integers(2, 9), seed=st.integers(0, 99))
def test_bucketed_batches_hold_every_row_once_and_rows_of_like_length(n, batch, seed):
    generator = np.random.default_rng(seed)
    lengths, order = generator.integers(1, 30, size=n + 10), generator.permutation(n + 10)[:n]
    batches = list(module._batches(lengths, order, replace(LIC, batch=batch), generator))
    assert sorted(np.concatenate(batches).tolist()) == sorted(order.tolist())
    assert all(len(rows) <= batch for rows in batches)
    pool = 100 * batch
    assert len(batches) == sum(-(-min(pool, n - start) // batch) for start in range(0, n, pool))
    for start in range(0, n, pool):
        own = [rows for rows in batches if np.isin(rows, order[start : start + pool]).all()]
        spans = sorted((lengths[rows].min(), lengths[rows].max()) for rows in own)
        assert sum(map(len, own)) == min(pool, n - start), "a batch mixes pools"
        assert all(left[1] <= right[0] for left, right in itertools.pairwise(spans))


def test_bucketed_batches_come_in_no_order_of_length():
    lengths = np.arange(1, 401)
    firsts = []
    for seed in range(2):
        batches = module._batches(lengths, np.arange(400), replace(LIC, batch=4), np.random.default_rng(seed))
        firsts.append([lengths[rows].min() for rows in batches])
    assert abs(np.corrcoef(firsts[0], np.arange(100))[0, 1]) < 0.4
    assert firsts[0] != firsts[1]


def test_random_batches_take_the_rows_as_they_come():
    order = np.random.default_rng(0).permutation(50)
    batches = list(module._batches(np.arange(50), order, replace(DBAC, batch=8), np.random.default_rng(1)))
    assert [len(rows) for rows in batches] == [8] * 6 + [2]
    assert np.array_equal(np.concatenate(batches), order)
