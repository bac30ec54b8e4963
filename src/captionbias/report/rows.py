"""What `captionbias measure`, `compare` and `report` write, as rows: one for each captioner, metric and score."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from captionbias.bench.verdicts import NOTHING
from captionbias.compat import result_of
from captionbias.metrics import catalogue
from captionbias.report.grid import Grid, Scored, columns
from captionbias.statistics.samples import Estimate
from captionbias.text.markdown import code


class Row(NamedTuple):
    """A score with its 95% interval, which may be missing, its verdict ("-" without one), how it was measured, and the
    digest of the images (see `Captions`) if the result has one."""

    captioner: str
    metric: str
    score: str
    value: float
    low: float | None
    high: float | None
    verdict: str
    signature: str
    image_set: str = ""


def rows_of(content: Mapping[str, Any], name: str = "") -> list[Row]:
    """The rows of a result; `name`: of the captioner, where the result is of one and does not say."""
    rows = []
    image_set = content.get("image_set", "")
    for captioner, metric, flat in results_in(content, name):
        estimates, how = result_of(flat).estimates, (flat["signature"], image_set)
        for score in catalogue.scores_of(metric):
            if estimate := estimates.get(score.key):
                rows.append(Row(captioner, metric, score.key, *estimate[:3], estimate.verdict or NOTHING, *how))
    return rows


def rows_markdown(rows: Sequence[Row]) -> str:
    """Rows as a Markdown table, with the signatures below it."""
    named = any(row.captioner for row in rows)
    heads = columns(*["captioner"] * named, "score") + columns("value [95% interval]", form="s") + columns("verdict")
    grid = Grid("", heads, [])
    for row in rows:
        score = catalogue.SCORES[row.score]
        value = Scored(Estimate(row.value, row.low, row.high), score.digits)
        grid.rows.append([*[row.captioner] * named, score.label, value, row.verdict])
    return "\n".join(
        [*grid.markdown(), *(f"- {code(text)}" for text in dict.fromkeys(row.signature for row in rows)), ""]
    )


def results_in(content: Mapping[str, Any], name: str = "") -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Each captioner, metric and flat result with its details."""
    if "comparisons" in content:
        for comparison in content["comparisons"].values():
            yield from results_in(comparison, name)
    elif "results" in content:
        for captioner, result in content["results"].items():
            measured = result if {"scores", "metrics"} & result.keys() else {"scores": result}
            yield from results_in({"metric": content.get("metric")} | measured, captioner)
    elif "metrics" in content:
        for metric, result in content["metrics"].items():
            yield from results_in({"metric": metric, **result}, name)
    else:
        yield name, content["metric"], {"details": content.get("details"), **content["scores"]}
