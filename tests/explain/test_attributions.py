"""Attributions: the model explained is the engine's, values add up to its answer, and what gives it away is on top."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from captionbias.attackers import convex
from captionbias.attackers.base import Examples, Trial, score_classes, score_tasks
from captionbias.attackers.engine import run_trials
from captionbias.attackers.recipes import RECIPES, Bag, Recipe, Recurrent, Schedule, Transformer
from captionbias.attackers.registry import find_attacker
from captionbias.captions import CaptionBiasWarning
from captionbias.explain import contributions as parts
from captionbias.explain.attributions import Attributions, attribute_captions
from captionbias.explain.contributions import TOLERANCE, contributions, shares
from captionbias.explain.embedded import of_equal_length
from captionbias.explain.models import fit, log_probabilities
from captionbias.metrics.lic import lic
from captionbias.text import tokenize

QUICK = Schedule(1e-2, batch=32, epochs=6)
SMALL = {
    "lstm-lic": Recipe(Recurrent("lstm", 6, layers=2, bidirectional=True), 5, (), 0.2, False, QUICK),
    "lstm": Recipe(Recurrent("lstm", 6), 5, (8, 8), 0.1, True, QUICK),
    "birnn": Recipe(Recurrent("rnn", 6, bidirectional=True), 5, (8, 8), 0.1, True, QUICK),
    "transformer-1h": Recipe(Transformer(1, 8), 6, (8, 8), 0.1, True, QUICK),
    "dense": Recipe(Bag(), 6, (8,), 0.0, True, QUICK),
}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    for name, recipe in SMALL.items():
        monkeypatch.setitem(RECIPES, name, recipe)


def made(kind: str = "classes", classes: int = 2, n: int = 160, seed: int = 0) -> Trial:
    """Captions of random words, many twice in a caption, one of them empty, where a sign tells what to predict."""
    random = np.random.default_rng([classes, seed])
    captions = [[f"w{word}" for word in random.integers(8, size=random.integers(1, 8))] for _ in range(n)]
    if kind == "tasks":
        targets = random.random((n, classes)) < 0.4
        for row, task in np.argwhere(targets):
            captions[row].append(f"sign{task}")
    else:
        targets = np.arange(n) % classes
        for caption, target in zip(captions, targets, strict=True):
            if random.random() < 0.7:
                caption.insert(int(random.integers(len(caption) + 1)), f"sign{target}")
    captions[-1] = []
    captions[-2].append("unheard")
    examples = Examples(tokenize([" ".join(caption) for caption in captions]), targets, classes)
    rows = random.permutation(n - 2)
    return Trial(f"{kind} {seed}", examples, np.sort(rows[40:]), np.append(np.sort(rows[:40]), [n - 2, n - 1]), seed)


def sums(values: np.ndarray, trial: Trial, rows: np.ndarray) -> np.ndarray:
    tokens = trial.examples.tokens.select(rows)
    return np.array([values[a:b].sum(axis=0) for a, b in zip(tokens.offsets, tokens.offsets[1:], strict=False)])


def exactly(encoder: str) -> str | None:
    """The precision of a training that gives every processor nearly the same model."""
    return None if encoder in ("bow", "linear") else "fp32"


# --- the model is the one that the engine trains ---


@pytest.mark.parametrize("encoder", ["bow", "linear", *SMALL])
@pytest.mark.parametrize(("kind", "classes"), [("classes", 2), ("classes", 3), ("tasks", 3)])
def test_a_kept_model_gives_the_scores_of_the_engine(encoder, kind, classes):
    trial = made(kind, classes)
    logits = fit(trial, encoder, exactly(encoder)).logits(trial.test)
    truth = trial.examples.targets[trial.test]
    here = score_tasks(logits, truth) if kind == "tasks" else score_classes(log_probabilities(logits), truth)
    (engine,) = run_trials([trial], find_attacker(encoder, exactly(encoder)), cache=False, distributed=False)
    np.testing.assert_allclose(here.log_probability, engine.log_probability, atol=1e-5)
    np.testing.assert_array_equal(here.correct, engine.correct)


@pytest.mark.parametrize("encoder", ["bow", "lstm"])
def test_the_scores_are_those_that_lic_measures(encoder):
    captions, labels = planted()
    same = {"encoder": encoder, "precision": exactly(encoder), "seed": 3}
    found = attribute_captions(captions, labels, **same)
    measured = lic(predictions=captions, attributes=labels, **same, trials=1, bootstrap=0)
    right = found.scores.argmax(axis=1) == found.truth
    own = found.scores[np.arange(len(right)), found.truth]
    assert 100 * right.mean() == pytest.approx(measured["leakage_m"], abs=1e-9)
    assert 100 * (own * right).mean() == pytest.approx(measured["lic_m"], abs=1e-3)


# --- bow ---


def test_a_pair_is_shared_by_its_two_words_and_a_repeated_word_by_its_places():
    trial = made()
    attacker = fit(trial, "bow")
    rows = np.arange(len(trial.examples.tokens))
    tokens = trial.examples.tokens
    columns, _ = convex.ngrams_of_tokens(tokens)
    expected = np.zeros((len(tokens.ids), 1))
    for row in rows:
        places = range(tokens.offsets[row], tokens.offsets[row + 1])
        words = [columns[place, 0] for place in places]
        pairs = [columns[place, 1] for place in places][:-1]
        for number, place in enumerate(places):
            expected[place] += attacker.weights[words[number]] / words.count(words[number])
            if number < len(pairs):
                expected[place] += attacker.weights[pairs[number]] / pairs.count(pairs[number]) / 2
            if number:
                expected[place] += attacker.weights[pairs[number - 1]] / pairs.count(pairs[number - 1]) / 2
    np.testing.assert_allclose(shares(attacker, rows, np.arange(1)), expected, atol=1e-12)


@pytest.mark.parametrize("encoder", ["bow", "linear"])
@pytest.mark.parametrize(("kind", "classes"), [("classes", 2), ("classes", 3), ("tasks", 3)])
def test_the_shares_of_a_caption_add_up_to_its_logit_less_the_intercept(encoder, kind, classes):
    trial = made(kind, classes)
    attacker = fit(trial, encoder)
    found = contributions(attacker, trial.test)
    wanted = attacker.logits(trial.test) - attacker.bias
    np.testing.assert_allclose(sums(found.values, trial, trial.test), wanted, atol=1e-10)
    assert found.largest_delta < 1e-10
    assert np.abs(wanted).max() > 0.5


@pytest.mark.parametrize("encoder", ["bow", "lstm"])
def test_of_three_classes_what_speaks_for_one_speaks_as_much_against_the_others(encoder):
    trial = made(classes=3)
    found = contributions(fit(trial, encoder, exactly(encoder)), trial.test)
    np.testing.assert_allclose(found.values.sum(axis=1), 0, atol=1e-5)


# --- networks ---


@pytest.mark.parametrize("encoder", SMALL)
@pytest.mark.parametrize(("kind", "classes"), [("classes", 2), ("classes", 3), ("tasks", 2)])
def test_the_values_of_a_caption_add_up_to_its_logit_less_that_of_padding(encoder, kind, classes):
    trial = made(kind, classes)
    attacker, rows = fit(trial, encoder, "fp32"), trial.test[-12:]
    attacker.network.head.layers[-1].weight.mul_(4)  # answers further apart than so short a training makes them
    found = contributions(attacker, rows)
    lengths = np.maximum(trial.examples.tokens.lengths[rows], 1)
    padding = np.stack([attacker.read(attacker.padding().expand(1, length, -1))[0].numpy() for length in lengths])
    wanted = attacker.logits(rows) - padding
    gaps = np.abs(sums(found.values, trial, rows) - wanted)
    assert np.all(gaps <= TOLERANCE * np.maximum(1, np.abs(wanted)) + 1e-4)
    assert found.largest_delta == pytest.approx(gaps.max(), abs=1e-4)
    assert np.abs(wanted).max() > 0.08
    assert np.isfinite(found.values).all()


def test_values_are_the_integral_of_the_gradient_on_the_way_from_padding():
    torch = pytest.importorskip("torch")
    trial = made()
    attacker = fit(trial, "lstm-lic", "fp32")
    row = trial.test[:1]
    embedded = attacker.embedded(row)
    way = torch.linspace(0, 1, 2001)[:-1] + 1 / 4000
    points = (way[:, None, None] * embedded).requires_grad_()
    (slopes,) = torch.autograd.grad(attacker.read(points).sum(), points)
    expected = (slopes.mean(0) * embedded[0]).sum(1)
    np.testing.assert_allclose(contributions(attacker, row).values[:, 0], expected.numpy(), atol=2e-3)


@pytest.mark.parametrize("encoder", SMALL)
def test_the_network_reads_embeddings_as_it_reads_tokens(encoder):
    """Against the network's own forward on captions of several lengths, with padding."""
    torch = pytest.importorskip("torch")
    from captionbias.attackers import batches
    from captionbias.attackers.neural.dropout import Keep

    trial = made()
    attacker = fit(trial, encoder, "fp32")
    lengths = np.maximum(trial.examples.tokens.lengths[trial.test], 1)
    rows = trial.test[np.argsort(-lengths, kind="stable")]
    tokens, lengths = batches.pad([trial], [attacker.words], rows[None])
    with torch.no_grad():
        expected = attacker.network(torch.as_tensor(tokens), lengths, Keep())[0].numpy()
    np.testing.assert_allclose(attacker.logits(rows), expected, atol=1e-5)


@pytest.mark.parametrize("encoder", ["lstm-lic", "transformer-1h"])
def test_padding_and_unheard_words_get_nothing(encoder):
    trial = made()
    attacker = fit(trial, encoder, "fp32")
    assert not attacker.padding().any()
    row = trial.test[-2:-1]
    words = [trial.examples.tokens.words[word] for word in trial.examples.tokens.select(row).ids]
    values = contributions(attacker, row).values[:, 0]
    assert values[words.index("unheard")] == 0
    assert np.abs(values).max() > 0


def test_the_values_of_a_caption_do_not_depend_on_the_captions_beside_it():
    trial = made()
    attacker = fit(trial, "lstm-lic", "fp32")
    rows = np.concatenate((trial.test, trial.test[::-1]))
    together = contributions(attacker, rows).values
    alone = np.concatenate([contributions(attacker, rows[place : place + 1]).values for place in range(len(rows))])
    np.testing.assert_allclose(together, alone, atol=1e-6)


def test_steps_are_added_where_values_do_not_add_up(monkeypatch):
    trial = made()
    attacker = fit(trial, "dense", "fp32")
    many = contributions(attacker, trial.test)
    monkeypatch.setattr(parts, "STEPS", 1)
    raised = contributions(attacker, trial.test)
    monkeypatch.setattr(parts, "MOST_STEPS", 1)
    with pytest.warns(CaptionBiasWarning, match=r"captions: after 1 steps .* largest difference is"):
        one = contributions(attacker, trial.test)
    assert raised.largest_delta < one.largest_delta
    assert many.largest_delta < one.largest_delta


def test_values_add_up_whatever_the_precision_of_the_training():
    trial = made()
    found = contributions(fit(trial, "lstm", "bf16"), trial.test)
    assert found.largest_delta < 0.05


@pytest.mark.parametrize("encoder", ["lstm-lic", "birnn"])
def test_the_slope_of_the_input_is_the_same_with_and_without_that_of_the_weights(encoder):
    torch = pytest.importorskip("torch")
    attacker = fit(made(), encoder, "fp32")
    embedded = attacker.embedded(attacker.trial.test[:1]).requires_grad_()
    (without,) = torch.autograd.grad(attacker.read(embedded).sum(), embedded)
    attacker.network.requires_grad_(True)
    attacker.read(embedded).sum().backward()
    torch.testing.assert_close(embedded.grad, without, rtol=0, atol=0)
    assert all(p.grad is not None for p in attacker.network.encoder.parameters())


# --- the protocol and its tables ---


def planted(n: int = 400) -> tuple[list[str], list[str]]:
    """ "indoors" stands only with women, "surfs" only with men, and neither always."""
    random = np.random.default_rng(5)
    captions, labels = [], []
    for row in range(n):
        label = ("female", "male")[row % 2]
        person = ("a woman", "a man")[row % 2]
        sign = ("indoors", "surfs")[row % 2] if random.random() < 0.6 else "waits"
        filler = " ".join(random.choice(["by", "the", "road", "with", "dog", "red"], size=random.integers(1, 5)))
        captions.append(f"{person} {sign} {filler}")
        labels.append(label)
    return captions, labels


@pytest.mark.parametrize("encoder", ["bow", "linear", "lstm"])
def test_the_word_that_gives_the_attribute_away_is_on_top(encoder):
    found = attribute_captions(*planted(), encoder=encoder, precision=exactly(encoder))
    by_word = found.by_word(least=3)
    assert by_word["female"][0]["word"] == "indoors"
    assert by_word["male"][0]["word"] == "surfs"
    assert by_word["female"][-1]["word"] == "surfs"
    assert by_word["female"][0]["mean"] > 1.5 * by_word["female"][1]["mean"]
    by_class = found.by_class()
    assert by_class["female"]["sum"] > 0
    assert by_class["male"]["normalized"] > 0
    assert np.isfinite(found.values).all()
    assert np.isfinite(found.scores).all()
    np.testing.assert_allclose(found.scores.sum(axis=1), 1)


def test_words_that_name_the_attribute_are_masked_and_only_captions_held_back_are_explained():
    captions, labels = planted()
    found = attribute_captions(captions, labels, preset="fast", trials=3)
    assert not {"woman", "man"} & {found.tokens.words[word] for word in found.tokens.ids}
    assert len(found.tokens) == len(found.rows) == len(found.truth) == len(found.trials) == 3 * 40
    assert found.values.shape == (len(found.tokens.ids), 2)
    assert [found.classes[number] for number in found.truth] == [labels[row] for row in found.rows]
    for text, row in zip(found.tokens.texts(), found.rows, strict=True):
        assert text.split()[2:] == captions[row].split()[2:]
    for trial in range(3):
        assert len(set(found.rows[found.trials == trial])) == 40


def test_the_signature_names_what_changes_the_values():
    captions, labels = planted()
    convex = attribute_captions(captions, labels, preset="fast", seed=4)
    neural = attribute_captions(captions, labels, precision="fp32")
    assert convex.signature.startswith("metric:attributions|preset:fast|attacker:bow|method:coefficients|trials:1|")
    assert "|seed:4|tok:words|attribute:gender|" in convex.signature
    assert "|attacker:lstm-lic|precision:fp32|method:integrated_gradients,padding,0.01|" in neural.signature


def hand_made() -> Attributions:
    """Two trials, values by hand. Captions 0 and 3 are right for "a", 2 is wrong, 1 is right for "b"."""
    tokens = tokenize(["x y", "x", "y z", "x y"])
    toward_a = np.array([3.0, 4.0, -2.0, -1.0, 0.5, 1.0, 2.0])
    return Attributions(
        tokens=tokens,
        values=np.stack((toward_a, -toward_a), axis=1),
        scores=np.array([[0.9, 0.1], [0.2, 0.8], [0.4, 0.6], [0.7, 0.3]]),
        rows=np.array([10, 11, 12, 10]),
        truth=np.array([0, 1, 0, 0]),
        trials=np.array([0, 0, 0, 1]),
        classes=("a", "b"),
        largest_delta=0.0,
        signature="",
    )


def test_by_class_averages_over_the_captions_of_a_trial_and_then_over_trials():
    table = hand_made().by_class()
    # Trial 0: captions 0 and 2 with sums 7 and -0.5; trial 1: caption 3 with sum 3.
    assert table["a"]["captions"] == 1.5
    assert table["a"]["sum"] == pytest.approx((3.25 + 3) / 2)
    assert table["a"]["sum_std"] == pytest.approx(np.std([3.25, 3], ddof=1))
    assert table["a"]["score"] == pytest.approx((0.65 + 0.7) / 2)
    assert table["a"]["normalized"] == pytest.approx((7 / 5 + 3 / np.sqrt(5)) / 2)
    assert table["b"] == {
        "captions": 0.5,
        **{"score": 0.8, "score_std": 0.0, "sum": 2.0, "sum_std": 0.0, "normalized": 1.0, "normalized_std": 0.0},
    }


def test_a_class_that_the_attacker_never_gets_right_has_no_normalized_mean():
    wrong = replace(hand_made(), scores=np.full((4, 2), [0.9, 0.1]))
    assert "normalized" not in wrong.by_class()["b"]
    assert wrong.by_class()["b"]["sum"] == 2.0


def test_by_word_averages_wherever_the_word_stands():
    table = hand_made().by_word(least=1)
    assert [row["word"] for row in table["a"]] == ["y", "x", "z"]
    assert table["a"][0] == {"word": "y", "mean": pytest.approx((4 - 1 + 2) / 3), "count": 3}
    assert [row["word"] for row in table["b"]] == ["z", "x", "y"]
    assert [row["word"] for row in hand_made().by_word(least=2)["a"]] == ["y", "x"]
    with pytest.raises(ValueError, match="least must be a whole number of 1 or more, not 0"):
        hand_made().by_word(least=0)


def test_one_caption_is_shown_with_the_means_over_its_trials():
    assert hand_made().of(10) == {
        "words": ["x", "y"],
        "values": {"a": [2.0, 3.0], "b": [-2.0, -3.0]},
        "scores": {"a": pytest.approx(0.8), "b": pytest.approx(0.2)},
        "trials": 2,
        "attribute": "a",
    }
    with pytest.raises(ValueError, match=r"captions\[9\] is in no trial's test split"):
        hand_made().of(9)


# --- what cannot be explained ---


@pytest.mark.parametrize(
    ("encoder", "message"),
    [
        ("bert-finetuned", r"encoder 'bert-finetuned' cannot be explained; choose one of bow, linear, lstm"),
        ("gru", r"encoder 'gru' is unknown; choose one of bow, linear, lstm"),
        ("no_module:Class", r"encoder 'no_module:Class' cannot be imported"),
        (3, r"encoder 3 is no class of torch.nn.Module"),
    ],
)
def test_an_encoder_that_cannot_be_explained_is_named(encoder, message):
    with pytest.raises(ValueError, match=message):
        attribute_captions(*planted(), encoder=encoder)


def test_without_captum_networks_say_how_to_get_it(monkeypatch):
    monkeypatch.setattr(parts, "find_spec", lambda name: None)
    captions, labels = planted()
    with pytest.raises(ValueError, match=r"pip install 'captionbias\[explain\]'"):
        attribute_captions(captions, labels)
    assert attribute_captions(captions, labels, preset="fast").largest_delta < 1e-9


def test_bad_captions_are_named():
    captions, labels = planted()
    with pytest.raises(ValueError, match=r"predictions\[7\] is empty"):
        attribute_captions([*captions[:7], "", *captions[8:]], labels)


def test_captions_of_one_length_are_put_together():
    groups = of_equal_length(np.array([3, 1, 3, 3, 2]), most=2)
    assert [group.tolist() for group in groups] == [[1], [4], [0, 2], [3]]
    assert of_equal_length(np.zeros(0, np.int64), most=2) == [] or not len(of_equal_length(np.zeros(0, int), 2)[0])
