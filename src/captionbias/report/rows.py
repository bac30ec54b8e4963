"""What `captionbias measure`, `compare` and `report` write, as rows: one for each captioner, metric and score."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from captionbias.bench.catalogue import Score
from captionbias.bench.measurement import Result
from captionbias.bench.verdicts import NOTHING, verdict
from captionbias.errors import few
from captionbias.io.files import check_ending, replacing, write_text
from captionbias.io.formats import csv_text, read_json
from captionbias.metrics import catalogue
from captionbias.report.grid import Cell, Column, Grid, Scored, columns
from captionbias.report.views import TWO_SIDED
from captionbias.statistics.samples import Estimate
from captionbias.text.markdown import code

WRITTEN_BY = "captionbias measure --output, compare --output or report --json"
SHOWN_NAMES, TABLES = 3, (".parquet", ".csv")


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
        estimates = Result(flat).estimates
        for score in catalogue.scores_of(metric):
            if flat.get(score.key) is not None:
                said = verdict(estimates, score.key) if score.judged else NOTHING
                how = flat["signature"], image_set
                rows.append(Row(captioner, metric, score.key, *estimates[score.key][:3], said, *how))
    return rows


def read_rows(files: Iterable[Path]) -> list[Row]:
    """The rows of files that commands have written; a captioner that its file does not name is called like the file."""
    rows: dict[tuple[str, ...], tuple[Row, Path]] = {}
    for file in files:
        try:
            read = rows_of(read_json(file), file.stem)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"{file} holds no scores ({type(error).__name__}: {error}): give what {WRITTEN_BY} wrote"
            ) from error
        for row in read:
            key = row.captioner, row.score, row.signature, row.image_set
            _, other = rows.setdefault(key, (row, file))
            if other != file:
                raise ValueError(f"{row.score} of {row.captioner} is in {other} and in {file}: leave one out")
    return [row for row, _ in rows.values()]


def mixtures(rows: Iterable[Row]) -> list[str]:
    """What differs, and whose, in each metric that was measured in several ways or on several sets of images."""
    ways: dict[str, dict[str, list[str]]] = {}
    for row in rows:
        way = f"{row.signature}|image_set:{row.image_set}" if row.image_set else row.signature
        names = ways.setdefault(row.metric, {}).setdefault(way, [])
        if row.captioner not in names:
            names.append(row.captioner)
    differences = []
    for metric, signatures in ways.items():
        parts = {text: dict(part.partition(":")[::2] for part in text.split("|")) for text in signatures}
        for part in dict.fromkeys(chain.from_iterable(parts.values())):
            values: dict[str, list[str]] = {}
            for text, names in signatures.items():
                value = parts[text].get(part, "not given")
                value = value.partition(",")[0] if part == "rows" else value  # then a digest of what a captioner says
                values.setdefault(value, []).extend(names)
            if len(values) > 1:
                whose = ", ".join(f"{value} ({few(names, SHOWN_NAMES)})" for value, names in values.items())
                differences.append(f"{metric}: {part} is {whose}")
    return differences


def headlines(rows: Sequence[Row]) -> list[Score]:
    """The main scores of each metric that the rows are of."""
    return catalogue.main_scores_by_metric(dict.fromkeys(row.score for row in rows), catalogue.METRICS)


def leaderboard(rows: Sequence[Row]) -> Grid:
    """The main scores of many captioners, a row for each, the most biased by the first score on top: a gap's furthest
    from 0, on either side."""
    by_captioner: dict[str, dict[str, float]] = {}
    for row in rows:
        by_captioner.setdefault(row.captioner, {})[row.score] = row.value
    main = headlines(rows)
    keys = [score.key for score in main]
    lines: list[list[Cell]] = [[name, *map(values.get, keys)] for name, values in by_captioner.items()]
    meaning = "By the first score, the most biased on top. captionbias compare tests differences."
    return Grid(
        "Main scores",
        (Column("captioner"), *(Column(score.label, f".{score.digits}f") for score in main)),
        sorted(lines, key=lambda row: bias(row[1], main[0]), reverse=True),  # type: ignore[arg-type]
        f"{meaning} {TWO_SIDED}" if any(score.two_sided for score in main) else meaning,
    )


def bias(value: float | None, score: Score) -> float:
    """A score's value for an order by bias, the largest the worst; what is undefined comes last."""
    return -math.inf if value is None else abs(value) if score.two_sided else value


def write_table(rows: Iterable[Row], path: Path) -> None:
    """Write rows as Parquet or CSV, by the ending of the name, whole or not at all."""
    check_ending(path, *TABLES)
    if path.suffix.lower() == ".csv":
        write_text(rows_csv(rows), path)
        return
    import pandas as pd

    numbers = {"value": "float64", "low": "float64", "high": "float64"}
    table = pd.DataFrame(list(rows), columns=list(Row._fields)).astype(numbers)
    with replacing(path) as part:
        table.to_parquet(part, index=False)


def rows_csv(rows: Iterable[Row]) -> str:
    """Rows as CSV, with the fields of `Row` as columns."""
    return csv_text(Row._fields, rows)


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
