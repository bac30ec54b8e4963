"""Bakr et al. 2023: ImageCaptioner2."""

from __future__ import annotations

import numpy as np

from captionbias.statistics.intervals import conflict_score, ranking_consistency
from captionbias.studies.papers.lic_2022 import RACE
from captionbias.studies.tables import Experiment, table

PAPER = "imagecaptioner2-2023"
WITH_IMAGES = ("predictions", "references", "images")


@table(PAPER, "table-2", "scoring functions", needs=WITH_IMAGES)
def scoring(run: Experiment) -> None:
    ends = {"leakage": "_leakage", "LIC": "_lic", "confidence": ""}
    run.score("imagecaptioner2", {title: f"imagecaptioner2{end}" for title, end in ends.items()})


@table(
    PAPER,
    "table-3",
    "ratio and error; with people's captions BA, directional BA and LIC; with images ImageCaptioner2",
    needs=("predictions",),
    differs="BA and directional BA here are of the tasks given, or named; LIC and BA of images with human captions",
)
def beside_others(run: Experiment) -> None:
    run.score("gender_error", {"ratio": "ratio", "error": "error"})
    if all(captions.references for captions in run.captioners.values()):
        run.score("ba_mals", {"BA": "ba_mals"}, 100, words=True)
        run.score("directional_ba", {"DBA_G": "directional_ba_t_to_a", "DBA_O": "directional_ba_a_to_t"}, 100)
        run.score("lic", {"LIC": "lic"})
    if "images" in run.options:
        run.score("imagecaptioner2", {"ImageCaptioner2": "imagecaptioner2"})


def by_judge(run: Experiment) -> None:
    for encoder in run.attackers("lstm-lic", "bert-finetuned"):
        run.score("lic", {f"LIC, {encoder}": "lic"}, encoder=encoder)
    for judge in run.judges or ("sat",):
        run.score("imagecaptioner2", {f"ImageCaptioner2, {judge}": "imagecaptioner2"}, judge=judge)


@table(PAPER, "figure-4", "conflicts (percent) and correlation of attackers, and of two judges", needs=WITH_IMAGES)
def agreement(run: Experiment) -> None:
    by_judge(run)
    measured = {
        name: np.array(
            [[of[row].value for title, of in run.columns.items() if name in title] for row in run.captioners]
        )
        for name in ("LIC", "ImageCaptioner2")
    }
    run.columns.clear()
    for name, scores in measured.items():
        if scores.shape[1] > 1:
            run.put(name, {"conflicts": 100 * conflict_score(scores), "correlation": ranking_consistency(scores)})


table(PAPER, "table-4", "LIC and ImageCaptioner2 by attacker and judge, of gender", needs=WITH_IMAGES)(by_judge)
table(PAPER, "table-8", "LIC and ImageCaptioner2 by attacker and judge, of race", needs=WITH_IMAGES, **RACE)(by_judge)
