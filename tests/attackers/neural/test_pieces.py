"""Encoders read captions in pieces: each piece has its word, unused rows go, and words get what their pieces add."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from captionbias.attackers import registry as attackers
from captionbias.attackers.base import Examples
from captionbias.attackers.neural.pieces import in_pieces, keep_rows, places_of_pieces
from captionbias.attackers.pretrained.models import find_model
from captionbias.attackers.recipes import BERT_FINETUNED, Schedule
from captionbias.attackers.registry import find_attacker
from captionbias.explain import explain
from captionbias.explain.contributions import TOLERANCE, contributions
from captionbias.metrics import lic
from captionbias.text import tokenize
from tests.explain.test_contributions import padding, sums


def examples(captions: list[str], masks: tuple[str, ...] = ()) -> Examples:
    return Examples(tokenize(captions), np.zeros(len(captions), np.int64), 2, masks)


def test_each_piece_is_of_the_word_that_it_stands_in(tiny_bert):
    captions = ["w1 a dog , w2", "", "person w3 dog", "w1 a dog , w2"]
    given, model = examples(captions, masks=("person",)), find_model(str(tiny_bert))
    places, pieces = places_of_pieces(given, model), in_pieces(given, model)
    assert places.offsets.tolist() == pieces.offsets.tolist()
    found = [places.ids[start:end].tolist() for start, end in zip(places.offsets, places.offsets[1:], strict=False)]
    one = [-1, 0, 1, 2, 2, 2, 3, 4, -1]  # "dog" falls into letters
    assert found == [one, [-1, -1], [-1, 0, 1, 2, 2, 2, -1], one]


def test_the_rows_that_stay_are_those_of_the_pieces(tiny_bert):
    from transformers import AutoModel

    model = find_model(str(tiny_bert))
    pieces = in_pieces(examples(["w1 w2 dog", "w7"]), model)
    encoder = AutoModel.from_pretrained(tiny_bert)
    before = encoder.get_input_embeddings().weight.detach().clone()
    rows = keep_rows(encoder, pieces, model)
    kept = encoder.get_input_embeddings().weight
    assert len(kept) == 2 + len(np.unique(pieces.ids))
    assert torch.equal(kept[rows[pieces.ids]], before[pieces.ids])


@pytest.mark.parametrize("kind", ["classes", "tasks"])
def test_the_values_of_a_caption_add_up_and_the_word_that_tells_has_more(
    tiny_bert, class_trial, task_trial, monkeypatch, kind
):
    quick = Schedule(3e-3, batch=32, epochs=8)
    monkeypatch.setattr(attackers, "BERT_FINETUNED", replace(BERT_FINETUNED, schedule=quick))
    trial = class_trial(n=240, test=80) if kind == "classes" else task_trial(n=240, tasks=2, test=80)
    read = find_attacker("bert-finetuned", "fp32", str(tiny_bert), cache=False).fit(trial)
    rows = trial.test[:12]
    values = contributions(read, rows)
    tokens = trial.examples.tokens.select(rows)
    wanted = read.logits(rows) - padding(read, rows)
    assert (np.abs(sums(values, read, rows) - wanted) <= TOLERANCE * np.maximum(1, np.abs(wanted)) + 1e-4).all()
    assert np.abs(wanted).max() > 0.1
    if kind == "classes":
        sizes, tells = np.abs(values[:, 0]), np.array([tokens.words[word].startswith("sign") for word in tokens.ids])
        assert sizes[tells].mean() > 2 * sizes[~tells].mean()
        answers = read.logits(rows)[:, 0] > 0
        assert (answers == trial.examples.targets[rows]).mean() > 0.9


@pytest.mark.usefixtures("two_workers")
def test_what_worker_processes_fine_tuned_explains_the_score_that_it_gave(tiny_bert):
    labels = ["female", "male"] * 30
    captions = [f"a {('woman', 'man')[row % 2]} w{row % 7} sign{row % 2}" for row in range(60)]
    chosen = {"encoder": "bert-finetuned", "model": str(tiny_bert), "precision": "fp32", "trials": 2, "bootstrap": 0}
    measured = lic.measure(
        predictions=captions, attributes=labels, **chosen, keep_attackers=2, cache=False, details=True
    )
    found = explain(measured)
    assert "integrated_gradients" in found.signature
    for trial, row in enumerate(measured.details["trials"]["m"]):
        of_trial = found.trials == trial
        truth = found.scores[of_trial, found.truth[of_trial]]
        assert 100 * truth.mean() == pytest.approx(row["confidence"], abs=1e-3)
    of_captions = np.bincount(found.tokens.rows, found.values[:, 1], minlength=len(found.tokens))
    assert np.isfinite(of_captions).all()
    assert np.abs(of_captions).max() > 0
