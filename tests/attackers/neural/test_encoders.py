"""Pretrained encoders, frozen and fine-tuned: what is planted is learnt, and captions are read in pieces."""

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModel

from captionbias.attackers import registry as attackers
from captionbias.attackers.base import Examples, Trial, TrialScores
from captionbias.attackers.engine import run_trials
from captionbias.attackers.neural.pieces import in_pieces, keep_rows, places_of_pieces
from captionbias.attackers.pretrained import encoding
from captionbias.attackers.pretrained.models import find_model
from captionbias.attackers.recipes import BERT_FINETUNED
from captionbias.attackers.registry import find_attacker
from captionbias.explain.contributions import TOLERANCE, contributions
from captionbias.text import tokenize
from tests.attackers.conftest import bits, by_words
from tests.explain.test_contributions import padding, sums


@pytest.fixture(autouse=True)
def quick(monkeypatch) -> None:
    # The tiny encoder knows nothing yet, so that it has to take larger steps.
    schedule = replace(BERT_FINETUNED.schedule, learning_rate=3e-3, batch=32, epochs=3)
    monkeypatch.setattr(attackers, "BERT_FINETUNED", replace(BERT_FINETUNED, schedule=schedule))
    # More would wait for each other on a busy machine, and add up in another order on another one.
    monkeypatch.setattr(encoding, "cores", lambda: 1)


def trained(
    trials: list[Trial], encoder: str, model: Path, precision: str = "fp32", cache: bool = True, keep: Any = ()
) -> list[TrialScores]:
    named = {"encoder": str(model)} if encoder == "sentences" else {"encoder": encoder, "model": str(model)}
    attacker = replace(find_attacker(**named, precision=precision, cache=cache), placement="plain")
    return run_trials(trials, attacker, cache=cache, keep=keep)


def test_a_fine_tuned_one_learns_classes_also_in_16_bits_and_tasks_beside_each_other(
    tiny_bert, class_trial, task_trial, capfd
):
    (two,) = trained([class_trial(n=200, test=60)], "bert-finetuned", tiny_bert, "bf16", cache=False)
    assert two.correct.mean() > 0.95
    assert np.exp(two.log_probability).mean() > 0.85
    trial = task_trial(n=300, test=60)
    three, tasks = trained([class_trial(n=300, classes=3, test=60), trial], "bert-finetuned", tiny_bert, cache=False)
    assert capfd.readouterr() == ("", "")
    assert three.correct.mean() > 0.9, "1/3 is chance"
    shares = np.clip(trial.examples.targets[trial.train].mean(axis=0), 0.01, 0.99)
    truth = trial.examples.targets[trial.test]
    without_captions = np.exp(np.log(np.where(truth, shares, 1 - shares)).sum(axis=1)).mean()
    assert np.exp(tasks.log_probability).mean() > 1.5 * without_captions


@pytest.mark.parametrize("encoder", ["sentences", "bert-frozen", "bert-finetuned"])
def test_a_trial_gives_the_same_alone_and_among_others_whatever_else_is_drawn(tiny_bert, class_trial, encoder):
    one, other = (class_trial(n=size, test=40, seed=size) for size in (169, 120))  # the last step has one caption
    alone = bits(*trained([one], encoder, tiny_bert, cache=False))
    torch.manual_seed(3)
    state = torch.get_rng_state()
    assert bits(*trained([other, one], encoder, tiny_bert, cache=False))[1:] == alone
    assert torch.equal(torch.get_rng_state(), state), "the script's own random numbers go on as if nothing had been"
    assert bits(*trained([replace(one, seed=7)], encoder, tiny_bert, cache=False)) != alone


def test_a_real_encoder_reads_a_planted_attribute_and_planted_tasks(minilm):
    random = np.random.default_rng(0)
    objects = [["skirt", "handbag", "umbrella"], ["tie", "surfboard", "truck"]]

    def written(things: list[str]) -> str:
        place = random.choice(["street", "room", "park", "kitchen", "field"])
        return f"a [masked] in a {place} with " + " and ".join(things or ["nothing"])

    def trial(captions: list[str], targets: np.ndarray, outputs: int) -> Trial:
        return by_words(captions[200:], targets[200:], captions[:200], targets[:200], outputs)

    classes, flags = random.integers(2, size=1400), random.random((1400, 3)) < 0.3
    attribute = trial([written([str(random.choice(objects[value]))]) for value in classes], classes, 2)
    shown = [[thing for thing, here in zip(objects[1], row, strict=True) if here] for row in flags]
    one, other = trained([attribute, trial(list(map(written, shown)), flags, 3)], "sentences", minilm)
    assert one.correct.mean() > 0.95
    assert np.exp(one.log_probability).mean() > 0.8
    chance = np.log(0.7) * 2.1 + np.log(0.3) * 0.9  # of three tasks with a share of 0.3 each
    assert other.log_probability.mean() > chance + 0.7
    assert other.correct.mean() > 0.34 + 0.3  # 0.7 ** 3 without reading


def test_each_distinct_caption_is_encoded_once_and_for_good(tiny_bert, class_trial, read):
    trial, other = class_trial(n=200, signal=0.0), class_trial(n=300, signal=0.0)
    distinct = set(trial.examples.tokens.texts()) | set(other.examples.tokens.texts())
    first = trained([trial, replace(trial, seed=1), other], "sentences", tiny_bert)
    assert sum(map(len, read)) == len(distinct) < 500
    again, *_ = trained([trial, replace(trial, seed=2)], "sentences", tiny_bert, keep=[trial])
    assert sum(map(len, read)) == len(distinct), "nor for other seeds, or attackers that are kept"
    assert again.log_probability.tolist() == first[0].log_probability.tolist()


def test_poolings_precisions_and_weights_are_kept_apart(tiny_bert, own_bert, class_trial, own_cache, read):
    weights = load_file(own_bert / "model.safetensors")
    weights["embeddings.word_embeddings.weight"] *= -1
    save_file(weights, own_bert / "model.safetensors", {"format": "pt"})
    others = [("sentences", tiny_bert, "bf16"), ("bert-frozen", tiny_bert, "fp32"), ("sentences", own_bert, "fp32")]
    scores = set()
    for number, way in enumerate([("sentences", tiny_bert, "fp32"), *others], start=1):
        read.clear()
        [found] = trained([class_trial(n=60, test=20)], *way)
        assert read
        assert len(list(own_cache.glob("embeddings-*.npz"))) == number
        scores.add(found.log_probability.tobytes())
    assert len(scores) == 4


def examples(captions: list[str], masks: tuple[str, ...] = ()) -> Examples:
    return Examples(tokenize(captions), np.zeros(len(captions), np.int64), 2, masks)


def test_each_piece_is_of_the_word_that_it_stands_in_and_what_is_too_long_is_cut_off(tiny_bert):
    captions = ["w1 a dog , w2", "", "person w3 dog", "w1 a dog , w2", "w1 " * 100]
    given, model = examples(captions, masks=("person",)), find_model(str(tiny_bert))
    places, pieces = places_of_pieces(given, model), in_pieces(given, model)
    assert places.offsets.tolist() == pieces.offsets.tolist()
    found = [places.ids[start:end].tolist() for start, end in zip(places.offsets, places.offsets[1:], strict=False)]
    one = [-1, 0, 1, 2, 2, 2, 3, 4, -1]  # "dog" falls into letters
    assert found == [one, [-1, -1], [-1, 0, 1, 2, 2, 2, -1], one, [-1, *range(62), -1]]


def test_the_rows_that_stay_are_those_of_the_pieces(tiny_bert):
    model, encoder = find_model(str(tiny_bert)), AutoModel.from_pretrained(tiny_bert)
    pieces = in_pieces(examples(["w1 w2 dog", "w7"]), model)
    before = encoder.get_input_embeddings().weight.detach().clone()
    rows = keep_rows(encoder, pieces, model)
    kept = encoder.get_input_embeddings().weight
    assert len(kept) == 2 + len(np.unique(pieces.ids))
    assert torch.equal(kept[rows[pieces.ids]], before[pieces.ids])


@pytest.mark.parametrize("kind", ["classes", "tasks"])
def test_the_values_of_a_caption_add_up_and_the_word_that_tells_has_more(
    tiny_bert, class_trial, task_trial, monkeypatch, kind
):
    longer = replace(attackers.BERT_FINETUNED.schedule, epochs=6)
    monkeypatch.setattr(attackers, "BERT_FINETUNED", replace(BERT_FINETUNED, schedule=longer))
    trial = class_trial(n=240, test=80) if kind == "classes" else task_trial(n=240, tasks=2, test=80)
    fitted = find_attacker("bert-finetuned", "fp32", str(tiny_bert), cache=False).fit(trial)
    read = pickle.loads(pickle.dumps(fitted))  # as it comes out of a worker process
    rows = trial.test[:12]
    values = contributions(read, rows)
    wanted = read.logits(rows) - padding(read, rows)
    assert (np.abs(sums(values, read, rows) - wanted) <= TOLERANCE * np.maximum(1, np.abs(wanted)) + 1e-4).all()
    assert np.abs(wanted).max() > 0.1
    np.testing.assert_array_equal(read.logits(rows), fitted.logits(rows))
    if kind == "classes":
        tokens = trial.examples.tokens.select(rows)
        sizes, tells = np.abs(values[:, 0]), np.array([tokens.words[word].startswith("sign") for word in tokens.ids])
        assert sizes[tells].mean() > 2 * sizes[~tells].mean()
