"""Hirota, Nakashima and Garcia 2022: LIC."""

from __future__ import annotations

from captionbias.studies.tables import Experiment, table

PAPER = "lic-2022"
SEEDS = [0, 12, 100, 200, 300, 400, 456, 500, 789, 1234]  # section 3.3 of the reproduction, which has the same code
ENCODERS = ("lstm-lic", "bert-finetuned", "bert-frozen")
SIDES = {"LIC_M": "lic_m", "LIC_D": "lic_d", "LIC": "lic"}


def by_encoder(run: Experiment, *encoders: str) -> None:
    for encoder in run.attackers(*encoders):
        run.score("lic", {f"{title}, {encoder}": key for title, key in SIDES.items()}, encoder=encoder, seeds=SEEDS)


@table(PAPER, "table-1")
def race(run: Experiment) -> None:
    by_encoder(run, *ENCODERS)
