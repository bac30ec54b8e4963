"""Türk et al. 2023: a reproduction of LIC, with captions not seen in training and with integrated gradients."""

from __future__ import annotations

from functools import partial
from statistics import mean

import numpy as np

from captionbias.analysis.caption_quality import caption_quality, meteor_name
from captionbias.explain import Attributions, explain
from captionbias.studies.papers.lic_2022 import SEEDS, SIDES, by_encoder
from captionbias.studies.tables import Experiment, table

PAPER = "lic-2023"
QUALITIES = {"BLEU-4": "bleu_4", "CIDEr": "cider", "ROUGE-L": "rouge_l"}


@table(PAPER, "table-3")
def reproduced(run: Experiment) -> None:
    run.score("lic", SIDES, seeds=SEEDS)


@table(PAPER, "table-1")
def berts(run: Experiment) -> None:
    by_encoder(run, "bert-frozen", "bert-finetuned")


@table(PAPER, "table-2")
def quality_beside_bias(run: Experiment) -> None:
    reproduced(run)
    for row, captions in run.captioners.items():
        measured_quality = caption_quality(predictions=captions.predictions, references=captions.references)
        run.put(
            row,
            {title: measured_quality[key] for title, key in QUALITIES.items()}
            | {"METEOR": measured_quality[meteor_name()]},
            100,
        )
        run.signatures.append(measured_quality["signature"])


@table(PAPER, "table-5")
def unseen(run: Experiment) -> None:
    for row, captions in run.captioners.items():
        every, new = (run.measured("lic", captions, seeds=SEEDS, unseen_only=only) for only in (False, True))
        score = new.estimates["lic_m"]
        run.put(row, {"LIC_M": score, "unseen": new.facts["test_captions_m"]})
        run.put(row, {"difference": score.value - every.estimates["lic_m"].value})


def attributed(run: Experiment, encoder: str) -> None:
    [encoder] = run.attackers(encoder)
    for row, captions in run.captioners.items():
        measured = run.measured("lic", captions, encoder=encoder, seeds=SEEDS, keep_attackers=len(SEEDS))
        measured_quality = explain(measured)
        sums = {name: length_one(measured_quality, number) for number, name in enumerate(measured_quality.classes)}
        run.put(row, sums | {"sum": sum(sums.values())})


def length_one(measured_quality: Attributions, number: int) -> float:
    """The mean over trials of the summed values toward a class of captions that the attacker gets right, the values of
    each scaled to length 1."""
    captions, toward = len(measured_quality.tokens), measured_quality.values[:, number]
    sums = np.bincount(measured_quality.tokens.rows, toward, minlength=captions)
    length = np.sqrt(np.bincount(measured_quality.tokens.rows, toward**2, minlength=captions))
    right = (measured_quality.truth == number) & (measured_quality.scores.argmax(axis=1) == number) & (length > 0)
    of_trials = (right & (measured_quality.trials == trial) for trial in np.unique(measured_quality.trials))
    return mean(float((sums[chosen] / length[chosen]).mean()) for chosen in of_trials if chosen.any())


table(PAPER, "table-4")(partial(attributed, encoder="lstm-lic"))
table(PAPER, "table-8")(partial(attributed, encoder="bert-finetuned"))
