"""`captionbias consistency`: do attackers agree on captioners?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from captionbias.attackers.recipes import RECIPES
from captionbias.cli.options import (
    CAPTIONERS,
    FILES,
    METRICS,
    OUTPUT,
    Options,
    metric_options,
    option,
    split_options,
)
from captionbias.cli.terminal import named, read_captioners, show, step_lines, write_result

SCRATCH = [name for name in RECIPES if name not in ("dense", "lstm-lic")]  # those of the DBAC paper
ENCODERS: Options = {
    "encoder": option(
        list[str] | None,
        "An attacker; repeat it for each attacker. All that are trained from scratch when none is named.",
        metavar="<encoder|name=encoder>",
        show_default=False,
    ),
}
STUDIED = metric_options(
    "attribute_lexicon", "directions", "vectors", "trials", "seed", "bootstrap", "cache", bootstrap=0
)
OPTIONS = CAPTIONERS | FILES | ENCODERS | METRICS | STUDIED | OUTPUT


def consistency(encoder: list[str] | None, metrics: list[str] | None, output: Path | None, **values: Any) -> None:
    """Do attackers agree? Coefficient of variation, conflicts and correlation of captioners' scores over encoders.

    Example: captionbias consistency --predictions nic.parquet --predictions sat.parquet --references people.parquet
    """
    from captionbias.studies.consistency import consistency as study_of
    from captionbias.studies.consistency import consistency_tables

    files, chosen = split_options(values)
    study = study_of(
        read_captioners(**files),
        named(encoder or SCRATCH, "encoder"),
        metrics=metrics or ["lic", "dbac"],
        watch=step_lines(),
        **chosen,
    )
    show(consistency_tables(study))
    write_result(study.as_dict(), output)
