"""Bakr et al. 2023: ImageCaptioner2."""

from __future__ import annotations

from captionbias.studies.tables import Experiment, table

PAPER = "imagecaptioner2-2023"


@table(PAPER, "table-2")
def scoring(run: Experiment) -> None:
    ends = {"leakage": "_leakage", "LIC": "_lic", "confidence": ""}
    run.score("imagecaptioner2", {title: f"imagecaptioner2{end}" for title, end in ends.items()})


@table(PAPER, "table-3")
def beside_others(run: Experiment) -> None:
    run.score("gender_error", {"ratio": "ratio", "error": "error"})
    if all(captions.references for captions in run.captioners.values()):
        run.score("ba_mals", {"BA": "ba_mals"}, 100, words=True)
        run.score("directional_ba", {"DBA_G": "directional_ba_t_to_a", "DBA_O": "directional_ba_a_to_t"}, 100)
        run.score("lic", {"LIC": "lic"})
    if "images" in run.options:
        run.score("imagecaptioner2", {"ImageCaptioner2": "imagecaptioner2"})


@table(PAPER, "table-4", "table-8")
def by_attacker(run: Experiment) -> None:
    for encoder in run.attackers("lstm-lic", "bert-finetuned"):
        run.score("lic", {f"LIC, {encoder}": "lic"}, encoder=encoder)
    run.score("imagecaptioner2", {"ImageCaptioner2, sat": "imagecaptioner2"})
