"""`captionbias masking`: the masking experiment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from captionbias.cli import report
from captionbias.cli.options import FILES, METRICS, Options, metric_options, split_options
from captionbias.cli.terminal import say, show, steps, write_result
from captionbias.images.commands.caption import (
    ANNOTATIONS,
    GENERATION,
    IMAGES,
    MODEL,
    as_generation,
    result,
    take_images,
)
from captionbias.images.commands.mask import masking_option

MASKED: Options = {
    "version": masking_option(
        list[str] | None,
        "half the person, person, person's box, objects, a tenth of the objects (drawn at random), person and objects; "
        "repeat it for several.",
        show_default="all",
        metavar="<version>",
    ),
    **metric_options("fill"),
}
WRITTEN: Options = {
    "output": result(Path | None, "Write everything to this JSON file, captions included."),
    "picture": result(Path | None, "Draw each main score of whole images against that of each version: an .svg file."),
}
MEASURED = report.REPORTED | metric_options("bootstrap")
PEOPLE: Options = {name: kind for name, kind in FILES.items() if name != "id_column"}
OPTIONS = MODEL | IMAGES | ANNOTATIONS | MASKED | GENERATION | PEOPLE | METRICS | MEASURED | WRITTEN


def masking(
    model: str,
    annotations: Path,
    version: list[str] | None,
    fill: str,
    metrics: list[str] | None,
    output: Path | None,
    picture: Path | None,
    **values: Any,
) -> None:
    """Does a captioner guess the person from the rest if people are masked, and does a score stand if what should not
    matter changes, such as a tenth of the objects? Compares each version with the original.

    Example: captionbias masking Salesforce/blip-image-captioning-base --images val2014
    --annotations instances_val2014.json --references people.parquet
    """
    from captionbias.images.masking_study import VERSIONS, masking_experiment, stability
    from captionbias.metrics import catalogue
    from captionbias.report.terminal import comparison_tables

    images = take_images(values)
    generation = as_generation({name: values.pop(name) for name in GENERATION})
    files, chosen = split_options(values)
    with steps() as watch:
        study = masking_experiment(
            model,
            images,
            annotations,
            files,
            versions=version or list(VERSIONS),
            metrics=metrics or catalogue.REPORTED,
            fill=fill,
            generation={**generation, "cache": values["cache"]},
            watch=watch,
            **chosen,
        )
    for comparison in study.comparisons.values():
        show(comparison_tables(comparison))
    for comparison in study.comparisons.values():
        say(f"signature {comparison.signature}")
    if picture:
        stability(next(iter(study.comparisons.values()))).save(picture)
    write_result(study.as_dict(), output)
