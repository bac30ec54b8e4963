"""What each word adds: exact shares of convex attackers, integrals that add up of networks."""

import numpy as np
import pytest
import torch

from captionbias.attackers import convex
from captionbias.attackers.base import Fitted
from captionbias.captions import CaptionBiasWarning
from captionbias.explain import contributions as module
from captionbias.explain.contributions import TOLERANCE, contributions


def sums(values: np.ndarray, attacker: Fitted, rows: np.ndarray) -> np.ndarray:
    """Of the values of words, those of each caption of some rows."""
    offsets = attacker.trial.examples.tokens.select(rows).offsets
    return np.stack([part.sum(axis=0) for part in np.split(values, offsets[1:-1])])


def test_a_pair_is_shared_by_its_two_words_and_a_repeated_word_by_its_places(fitted):
    attacker = fitted("bow")
    tokens = attacker.trial.examples.tokens
    columns, _ = convex.ngrams_of_tokens(tokens)
    expected = np.zeros((len(tokens.ids), 1))
    for start, end in zip(tokens.offsets, tokens.offsets[1:], strict=False):
        words, pairs = columns[start:end, 0].tolist(), columns[start : end - 1, 1].tolist()
        for number, word in enumerate(words):
            expected[start + number] += attacker.weights[word] / words.count(word)
        for number, pair in enumerate(pairs):
            expected[start + number : start + number + 2] += attacker.weights[pair] / pairs.count(pair) / 2
    found = contributions(attacker, np.arange(len(tokens)))
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize(
    ("encoder", "kind", "classes"), [("bow", "classes", 2), ("linear", "classes", 3), ("bow", "tasks", 3)]
)
def test_the_shares_of_a_caption_add_up_to_its_logit_less_the_intercept(fitted, encoder, kind, classes):
    attacker = fitted(encoder, kind, classes)
    rows = attacker.trial.test
    found, wanted = contributions(attacker, rows), attacker.logits(rows) - attacker.bias
    np.testing.assert_allclose(sums(found, attacker, rows), wanted, atol=1e-10)
    assert np.abs(wanted).max() > 0.5


def padding(attacker: Fitted, rows: np.ndarray) -> np.ndarray:
    """The logits of padding of the lengths of these captions."""
    with torch.no_grad():
        return np.concatenate(
            [attacker.read(attacker.baselines(rows[place : place + 1])) for place in range(len(rows))]
        )


@pytest.mark.parametrize(
    ("encoder", "kind", "classes"),
    [
        ("lstm-lic", "classes", 2),
        ("lstm-dbac", "classes", 3),
        ("birnn", "tasks", 2),
        ("transformer-1h", "classes", 2),
        ("dense", "tasks", 2),
    ],
)
def test_the_values_of_a_caption_add_up_to_its_logit_less_that_of_padding(fitted, encoder, kind, classes):
    attacker = fitted(encoder, kind, classes)
    rows = attacker.trial.test[-8:]
    attacker.network.head[-1].weight.mul_(4)  # answers further apart than so short a training makes them
    found = contributions(attacker, rows)
    wanted = attacker.logits(rows) - padding(attacker, rows)
    gaps = np.abs(sums(found, attacker, rows) - wanted)[:-1]  # an empty caption has no values
    assert np.all(gaps <= TOLERANCE * np.maximum(1, np.abs(wanted[:-1])) + 1e-4)
    assert np.abs(wanted).max() > 0.08
    assert np.isfinite(found).all()
    if kind == "classes" and classes == 3:  # what speaks for one speaks as much against the others
        np.testing.assert_allclose(found.sum(axis=1), 0, atol=1e-5)


def test_values_are_the_integral_of_the_gradient_on_the_way_from_padding(fitted):
    attacker = fitted("lstm-lic")
    row = attacker.trial.test[:1]
    embedded = attacker.embedded(row)
    way = torch.linspace(0, 1, 2001)[:-1] + 1 / 4000
    points = (way[:, None, None] * embedded).requires_grad_()
    (slopes,) = torch.autograd.grad(attacker.read(points).sum(), points)
    expected = (slopes.mean(0) * embedded[0]).sum(1)
    np.testing.assert_allclose(contributions(attacker, row)[:, 0], expected.numpy(), atol=2e-3)


@pytest.mark.parametrize("encoder", ["lstm-lic", "transformer-1h"])
def test_padding_and_unknown_words_get_nothing_and_captions_do_not_depend_on_each_other(fitted, encoder):
    attacker = fitted(encoder)
    assert not attacker.baselines(attacker.trial.test[:1]).any()
    rows = np.concatenate((attacker.trial.test[-9:], attacker.trial.test[:-6:-1]))  # some of them twice
    tokens = attacker.trial.examples.tokens
    together = contributions(attacker, rows)
    unknown = tokens.select(rows).ids == tokens.words.index("unknown")
    assert not together[unknown].any()
    assert (np.abs(together[~unknown]) > 0).mean() > 0.9
    spans = tokens.select(rows).offsets
    for place in (0, 3, 13):
        alone = contributions(attacker, rows[place : place + 1])
        np.testing.assert_allclose(together[spans[place] : spans[place + 1]], alone, atol=1e-6)


def test_steps_are_added_where_values_do_not_add_up(fitted, monkeypatch):
    attacker = fitted("dense")
    rows = attacker.trial.test
    many = contributions(attacker, rows)
    monkeypatch.setattr(module, "FIRST_STEPS", 1)
    raised = contributions(attacker, rows)
    monkeypatch.setattr(module, "MOST_STEPS", 1)
    with pytest.warns(CaptionBiasWarning, match=r"captions: after 1 steps .* largest difference is"):
        one = contributions(attacker, rows)
    gaps = [np.abs(sums(values, attacker, rows) - attacker.logits(rows))[:-1].max() for values in (many, raised, one)]
    assert max(gaps[:2]) < gaps[2]
