"""Nair, Tokas and Kerner 2026: DBAC."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from captionbias.alignment.align import AlignmentReport, align
from captionbias.alignment.vectors import load_vectors
from captionbias.analysis.caption_quality import meteor, meteor_name
from captionbias.attackers.pretrained.models import KNOWN
from captionbias.captions import Captions, check_captions
from captionbias.errors import InputError
from captionbias.scores.omega import normalized_difference, number_sets
from captionbias.statistics.intervals import coefficient_of_variation
from captionbias.studies.tables import Experiment, table
from captionbias.synthetic import plant_verbs
from captionbias.text import Tokens, load_lexicon

PAPER = "dbac-2026"
VERBS = {"30:20": 0.6, "35:15": 0.7, "40:10": 0.8, "45:5": 0.9}  # which share of the verbs goes with the gender
SCRATCH = ("lstm-dbac", "bilstm", "rnn", "birnn", "transformer-1h", "transformer-5h")
SENTENCES = tuple(name for name in KNOWN if name != "bert-base-uncased")
DELTA = 0.4
CONTEXTUAL: dict[str, Any] = {"alignment": "contextual", "delta": DELTA}
# Section 5.3 and appendix B: the quality is 1 / cross-entropy.
QUALITY: dict[str, Any] = {"pairing": "every-caption", "controls": False, "quality": "inverse_cross_entropy"}
T_TO_A = QUALITY | {"directions": ["t_to_a"]}
METEOR_CAPTIONS = 2000


def usual(run: Experiment) -> dict[str, Any]:
    """The paper's attacker, of LIC too (appendix B), or the one in its place."""
    return {"encoder": run.attackers(SCRATCH[0])[0]}


@table(PAPER, "table-3")
def verbs(run: Experiment) -> None:
    for name, share in VERBS.items():
        run.watch(f"verbs {name}")
        planted = vars(plant_verbs(human=share, images=run.table.images, seed=run.options.get("seed", 0)))
        shown = {key: planted[key] for key in ("attributes", "tasks")}
        labels = {**shown, "predicted_tasks": shown["tasks"]}
        people = check_captions(**shown, references=planted["references"])
        pairs = (run.measured("ba_mals", **labels, details=True).details or {})["pairs"]
        named = run.measured("dbac", people, directions=["a_to_t"], quality="accuracy", bayes=False)
        run.put(name, {"BA": float(np.mean([pair["probability"] for pair in pairs]))})
        run.put(name, {"DPA": run.measured("dpa", **labels).estimates["predictability_d_a_to_t"]})
        run.put(name, {"omega": named.estimates["omega_h_a_to_t"]})
        run.put(name, {"LIC": run.measured("lic", people, **usual(run)).estimates["leakage_d"]}, 0.01)


@table(PAPER, "table-4", "table-4-race")
def masking(run: Experiment) -> None:
    for name, share in run.shares.items():
        run.put(name, {"attribution": share})
    run.score("lic", {"LIC": "lic"}, **usual(run), **CONTEXTUAL)
    run.score("dpa", {"DPA T to A": "dpa_t_to_a"}, 100)
    run.score("directional_ba", {"BA T to A": "directional_ba_t_to_a"}, 100)
    run.score("dbac", {"DBAC T to A": "dbac_t_to_a"}, 100, **T_TO_A)


def by_encoder(run: Experiment, metric: str, encoders: Sequence[str]) -> None:
    for encoder in run.attackers(*encoders):
        if metric == "lic":
            run.score("lic", {encoder: "lic"}, 0.01, encoder=encoder, **CONTEXTUAL)
        else:
            run.score("dbac", {encoder: "dbac_t_to_a"}, encoder=encoder, **T_TO_A)


def beside_weights(run: Experiment, measure: Callable[..., None]) -> None:
    """A table of pretrained encoders, beside DBAC T to A of what captions name of the attribute alone: without an
    attacker and without tasks the mean weight of a caption is the sum of `P(g)^2` (Eq. 6)."""
    measure(run, encoders=SENTENCES)
    for row, captions in run.captioners.items():
        named = captions.named(load_lexicon(run.table.attribute), "words")
        sides = np.split(number_sets(named)[0], [captions.words("words").model_rows])
        weights = [float(((np.bincount(side) / len(side)) ** 2).sum()) for side in sides]
        run.put(row, {"weights alone": float(normalized_difference(*weights))})


def variation(run: Experiment, encoders: Sequence[str]) -> None:
    if len(run.attackers(*encoders)) < 2:
        raise InputError("encoder", "must be given twice or more: the table compares attackers")
    varying = {}
    for metric in ("lic", "dbac"):
        by_encoder(run, metric, encoders)
        scores = np.array([[column[row].value for column in run.columns.values()] for row in run.captioners])
        varying[f"CV of {metric.upper()}"] = coefficient_of_variation(scores)
        run.columns.clear()
    for title, values in varying.items():
        for row, value in zip(run.captioners, values, strict=True):
            run.put(row, {title: value})


def substitutions(run: Experiment) -> dict[str, Any]:
    """The word vectors of each kind of substitution; none of the constant one."""
    return {"constant": None} | dict(zip(("GloVe", "FastText"), run.vectors, strict=False))


@table(PAPER, "table-7", "table-16")
def meaning_kept(run: Experiment) -> None:
    for row, captions in run.captioners.items():
        people = captions.words("words").human
        drawn = np.random.default_rng(run.options.get("seed", 0)).permutation(len(people))[:METEOR_CAPTIONS]
        before = [text.split() for text in people.select(np.sort(drawn)).texts()]
        for title, vectors in substitutions(run).items():
            after = aligned(captions, vectors, DELTA)[0].select(np.sort(drawn)).texts()
            scores = meteor([text.split() for text in after], [[words] for words in before])
            run.put(row, {title: float(scores.mean())})
    run.signatures.append(meteor_name())


@table(PAPER, "figure-1")
def share_by_delta(run: Experiment) -> None:
    for row, captions in run.captioners.items():
        for delta in np.arange(1, 10) / 10:
            _, report = aligned(captions, run.vectors[0], delta)
            run.put(row, {f"{delta:g}": 100 * (report.share_contextual or 0.0)})


def aligned(captions: Captions, vectors: Any, delta: float) -> tuple[Tokens, AlignmentReport]:
    words = captions.words("words")
    found = None if vectors is None else load_vectors(vectors, words.human)
    return align(words.human, words.model.present(), frozenset(), found, delta)


def human_bias(run: Experiment, metric: str) -> None:
    for title, vectors in substitutions(run).items():
        chosen = {"alignment": "constant"} if vectors is None else CONTEXTUAL | {"vectors": vectors}
        if metric == "lic":
            run.score("lic", {title: "leakage_d"}, 0.01, **usual(run), **chosen)
        else:
            run.score("dbac", {title: "omega_h_a_to_t"}, directions=["a_to_t"], **QUALITY, **chosen)


@table(PAPER, "table-9")
def both_directions(run: Experiment) -> None:
    run.score("dbac", {"A to T": "dbac_a_to_t"}, 100, preset="dbac-2026-published", directions=["a_to_t"])
    run.score("dbac", {"T to A": "dbac_t_to_a"}, 100, **usual(run), **T_TO_A)


# Of gender and of race.
table(PAPER, "table-5a", "table-6a")(partial(variation, encoders=SCRATCH))
table(PAPER, "table-5b", "table-6b")(partial(beside_weights, measure=variation))
table(PAPER, "table-8a", "table-17a")(partial(human_bias, metric="dbac"))
table(PAPER, "table-8b", "table-17b")(partial(human_bias, metric="lic"))
table(PAPER, "table-10", "table-13")(partial(by_encoder, metric="dbac", encoders=SCRATCH))
table(PAPER, "table-11", "table-14")(partial(by_encoder, metric="lic", encoders=SCRATCH))
table(PAPER, "table-12a", "table-15a")(partial(beside_weights, measure=partial(by_encoder, metric="dbac")))
table(PAPER, "table-12b", "table-15b")(partial(by_encoder, metric="lic", encoders=SENTENCES))
