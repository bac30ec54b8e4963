"""`captionbias measure`: a command for each metric, and one for all."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from captionbias.attackers.registry import CONVEX
from captionbias.bench.protocol import preset_settings
from captionbias.cli.options import (
    FILES,
    IMAGES,
    MARGINS,
    MASKED,
    METRIC,
    PREDICTIONS,
    RESULTS,
    as_option,
    check_masking,
    command,
    metric_options,
    scores_of,
    split_options,
    unlisted,
)
from captionbias.cli.terminal import complaints, named, results_to, say, show
from captionbias.errors import Argument, Message, message_of, naming, within
from captionbias.metrics import catalogue, find_metric
from captionbias.warnings import CaptionBiasWarning

if TYPE_CHECKING:
    from captionbias.metrics import Measurement


class ByEitherName(TyperGroup):
    """Commands named after metrics, as Python spells these or with hyphens."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return super().get_command(ctx, cmd_name.replace("-", "_"))


measure = typer.Typer(
    cls=ByEitherName,
    no_args_is_help=True,
    help="Measure one metric on caption files (text, JSON, Parquet, of COCO, Flickr and others).",
)
COMMON = (
    *("attribute_lexicon", "task_lexicon", "lean", "allow_unmasked", "preset", "alignment"),
    *("trials", "cache", "seed", "bootstrap"),
)
NEXT = "\n\n"  # before a captioner that is not the first
EXAMPLE = "Example: captionbias measure {} --predictions nic.parquet --references people.parquet"


def _measure(
    metric: str | None,
    unused: tuple[str, ...],
    margins: list[str] | None,
    output: Path | None,
    json: bool,
    **values: Any,
) -> None:
    """Measure this metric, or all. `unused`: options that are taken and, but for `cache`, noted as left out."""
    from captionbias.analysis.compare import margins_by_metric

    for name, value in [(name, values.pop(name)) for name in unused]:
        if value is not None and name != "cache":
            left_out = naming("{} has nothing to do for {}, and is left out", Argument(name, value), str(metric))
            warnings.warn(left_out, CaptionBiasWarning, stacklevel=2)
    if "masked" in values:
        check_masking(values)
    if not metric and values["preset"] not in ("fast", "papers"):
        raise ValueError(f"--preset {values['preset']!r} is unknown; choose fast or papers")
    with results_to(output, json) as write:
        files, chosen = split_options(values)
        margin_of = dict(scores_of("--margin", margins))
        chosen["margins"] = margins_by_metric(margin_of, [metric] if metric else list(catalogue.METRICS))
        if not metric:
            write(_each(files, lambda captions: _show_all(captions, chosen)))
            return
        crossed = len(files["attribute"]) > 1 and metric in catalogue.REPORTED
        show_it = partial(_show_crossed, files["attribute"]) if crossed else _show_one
        write({"metric": metric, **_each(files, lambda captions: show_it(metric, captions, chosen))})


def _each(files: dict[str, Any], measure: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    """The results of the only captioner, or those of each by its name, on the images that it has."""
    captioners = read_files(**files)
    first = next(iter(captioners.values()))
    if len(captioners) == 1:
        return {"image_set": first.image_set, **measure(first)}
    results = {}
    for number, (name, captions) in enumerate(captioners.items()):
        say(f"{NEXT if number else ''}{name}\n")
        try:
            results[name] = measure(captions)
        except ValueError as error:
            raise within(name, error) from error
    return {"image_set": first.image_set, "results": results}


def read_files(predictions: list[str] | None, prediction_column: list[str] | None, **files: Any) -> dict[str, Any]:
    """Each captioner's captions by its name; a single one has none."""
    from captionbias.captions import read_captioners, read_captions

    columns = prediction_column or []
    sources = named(predictions or [], "predictions")
    if len(sources) < 2 and len(columns) < 2:
        source = next(iter(sources.values()), None)
        return {"": read_captions(predictions=source, prediction_column=next(iter(columns), None), **files)}
    return read_captioners(sources, prediction_column=columns or None, **files)


def _show_one(metric: str, captions: Any, chosen: dict[str, Any]) -> dict[str, Any]:
    from captionbias.report.terminal import measurement_tables

    measured = measured_by(metric, captions, chosen)
    show(measurement_tables(measured))
    details = measured.details or {}
    counts = ", ".join(f"{count:,} {value}" for value, count in details["attribute_counts"].items())
    say(f"\n{details['images']:,} images: {counts}")
    say(f"signature {measured.signature}")
    return _content(measured)


def _show_crossed(attributes: list[str], metric: str, captions: Any, chosen: dict[str, Any]) -> dict[str, Any]:
    from captionbias.analysis.intersections import intersections
    from captionbias.captions import count_cells
    from captionbias.report.terminal import intersection_tables

    if len(set(attributes)) < len(attributes):
        raise ValueError(f"--attribute: {', '.join(attributes)} are not all different; name each attribute once")
    words = dict(zip(attributes, chosen["attribute_lexicon"], strict=True))
    options = _accepted(metric, chosen)
    del options["attribute_lexicon"]
    margins = chosen["margins"].get(metric, {})
    measured = intersections(captions, words, metric, **options)
    results = {name: measurement.with_margins(margins) for name, measurement in measured.items()}
    cells = count_cells(captions.attributes, len(attributes))
    show(intersection_tables(results, cells))
    _, crossed = results.popitem()
    say(f"\n{len(captions):,} images")
    say(f"signature {crossed.signature}")
    rows = [{"labels": dict(zip(results, labels, strict=True)), "images": count} for labels, count in cells.items()]
    alone = {name: _content(measurement) for name, measurement in results.items()}
    return {**_content(crossed), "cells": rows, "alone": alone}


def _show_all(captions: Any, chosen: dict[str, Any]) -> dict[str, Any]:
    from captionbias.report.terminal import score_table

    measurements, refused = {}, {}
    for metric, entry in catalogue.METRICS.items():
        if entry.of_images and "images" not in chosen:
            continue
        options = {name: value for name, value in chosen.items() if entry.of_images or name != "images"}
        try:
            measurements[metric] = measured_by(metric, captions, options)
        except ValueError as error:
            refused[metric] = error
            if metric == "dbac":
                with suppress(ValueError):
                    measurements[metric] = measured_by(metric, captions, {**options, "directions": ["a_to_t"]})
                    refused["dbac T to A"] = refused.pop(metric)
    if not measurements:
        raise refused["lic"]  # which needs least
    show([score_table(measurements.values())])
    for metric, reason in refused.items():
        warnings.warn(Message(f"no {metric}: ", message_of(reason)), CaptionBiasWarning, stacklevel=2)
    for measured in measurements.values():
        say(f"signature {measured.signature}")
    return {"metrics": {metric: _content(measured) for metric, measured in measurements.items()}}


def measured_by(metric: str, captions: Any, chosen: dict[str, Any]) -> Measurement:
    """The captions measured with those of the chosen options that the metric takes."""
    options = _accepted(metric, chosen)
    if metric in ("lic", "dbac"):
        _tell_cost(metric, captions, options)
    measured = find_metric(metric).measure(captions, **options)
    return measured.with_margins(chosen.get("margins", {}).get(metric, {}))


def _tell_cost(metric: str, captions: Any, options: dict[str, Any]) -> None:
    """Warn of how many networks `lic` or `dbac` will train, before they do."""
    chosen = {name: options.get(name) for name in ("encoder", "trials", "seeds", "controls")}
    _, settings = preset_settings(catalogue.METRICS[metric].presets, options["preset"], **chosen)
    people = min(map(len, captions.references)) if captions.references else 0
    sides = bool(captions.predictions) + (people if metric == "lic" else bool(people))
    questions = 1
    if metric == "dbac":
        questions = len(options.get("directions") or catalogue.DIRECTIONS) * (1 + (settings.controls and sides > 1))
    if settings.encoder not in CONVEX:
        trainings = settings.trials * sides * questions
        message = f"{trainings} {settings.encoder} trainings; --preset fast takes seconds"
        warnings.warn(message, CaptionBiasWarning, stacklevel=2)


def _accepted(metric: str, chosen: dict[str, Any]) -> dict[str, Any]:
    options = {**chosen, "progress": complaints.is_terminal or None, "details": True}
    return find_metric(metric).accepted(options)


def _content(measured: Measurement) -> dict[str, Any]:
    scores = measured.flat()
    return {"details": scores.pop("details"), "scores": scores}


ALL = IMAGES | metric_options(*COMMON, preset="fast")
for _entry in catalogue.METRICS.values():
    _metric = find_metric(_entry.name)
    _taken = {
        name: as_option(name, _metric.arguments[name], parameter.default)
        for name, parameter in signature(_metric).parameters.items()
        if name in METRIC
    }
    _own = _taken | (MASKED if _entry.of_images else {})
    # Who turns from `all` to one metric keeps the other options; with images of its own a metric is asked about those.
    _unused = {name: unlisted(given) for name, given in ALL.items() if name not in _own}
    if "images" in _own:
        _unused = {name: given for name, given in _unused.items() if name not in IMAGES}
    _images = " --images val2014 --annotations instances_val2014.json" if _entry.of_images else ""
    command(
        measure,
        _entry.name,
        PREDICTIONS | FILES | _own | _unused | MARGINS | RESULTS,
        partial(_measure, _entry.name, tuple(_unused)),
        f"{_entry.title}: {_entry.question}\n\n{EXAMPLE.format(_entry.name)}{_images}",
    )
command(
    measure,
    "all",
    PREDICTIONS | FILES | ALL | MARGINS | RESULTS,
    partial(_measure, None, ()),
    f"Every metric that these captions allow, in one table.\n\n{EXAMPLE.format('all')}",
)
