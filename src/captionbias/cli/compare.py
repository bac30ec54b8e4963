"""`captionbias compare`: which differences between captioners are more than chance?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from captionbias.cli.options import (
    COUNTS,
    FILES,
    MARGINS,
    METRIC,
    PREDICTIONS,
    REPLICATES,
    RESULTS,
    Options,
    option,
    result_option,
    split_options,
)
from captionbias.cli.terminal import complaints, read_captioners, results_to, say, show, step_lines

COMPARED: Options = {
    "metric": option(str, "Any metric of captionbias measure.", default="sway"),
    "scores": result_option(
        list[str],
        "Compare this key of the metric's result, such as leakage; repeat it for each key. Without it, the main "
        "scores.",
        "--score",
        metavar="<key>",
        show_default=False,
    ),
    "against": result_option(
        str, "Compare each captioner with this one only.", metavar="<name>", show_default="all pairs"
    ),
}
OPTIONS = PREDICTIONS | FILES | COUNTS | COMPARED | METRIC | MARGINS | REPLICATES | RESULTS


def compare(
    metric: str,
    scores: list[str] | None,
    against: str | None,
    output: Path | None,
    json: bool,
    **values: Any,
) -> None:
    """Which captioner is more biased? Differences of scores on the same images, with intervals and p-values.

    Example: captionbias compare --predictions nic.parquet --predictions sat.parquet --references people.parquet
    """
    from captionbias.analysis.compare import compare as comparison_of
    from captionbias.metrics import find_metric
    from captionbias.report.terminal import comparison_tables

    files, chosen = split_options(values)
    options = find_metric(metric).accepted({**chosen, "progress": complaints.is_terminal or None, "details": True})
    if "directions" in chosen and "directions" not in options:
        raise ValueError("--direction is for DBAC: give --metric dbac, or leave it out")
    with results_to(output, json) as write:
        captioners = read_captioners(**files)
        comparison = comparison_of(
            captioners,
            metric=metric,
            scores=scores,
            against=against,
            margins=chosen["margins"],
            watch=step_lines(),
            **options,
        )
        show(comparison_tables(comparison))
        first = next(iter(captioners.values()))
        images = first.images if files["counts"] else len(first)
        say(f"\n{images:,} images")
        say(f"signature {comparison.signature}")
        content = comparison.as_dict()
        for result in content["results"].values():
            result.pop("details", None)
        write({"images": images, "image_set": first.image_set, **content})
