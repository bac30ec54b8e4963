"""`captionbias measure`: a command for each metric, and one for all."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from contextlib import suppress
from functools import partial
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from captionbias.attackers.registry import CONVEX
from captionbias.bench import catalogue
from captionbias.bench.arguments import ARGUMENTS
from captionbias.cli.options import (
    COUNTS,
    FILES,
    IMAGES,
    MARGINS,
    MASKED,
    METRIC,
    PREDICTIONS,
    RESULTS,
    Options,
    as_option,
    check_masking,
    command,
    metric_options,
    split_options,
)
from captionbias.cli.terminal import complaints, named, results_to, say, show
from captionbias.errors import Argument, Message, message_of, phrase, within
from captionbias.warnings import warn
from captionbias.wings import wing

if TYPE_CHECKING:
    from captionbias.metrics import Measurement, Metric

COMMON = (
    *("attribute_lexicon", "task_lexicon", "lean", "allow_unmasked", "preset", "alignment"),
    *("trials", "cache", "seed", "bootstrap"),
)
EXAMPLE = "Example: captionbias measure {} --predictions nic.parquet --references people.parquet"
OF_IMAGES = " --images val2014 --annotations instances_val2014.json"


class Metrics(TyperGroup):
    """Commands named after metrics, as Python spells these or with hyphens; they are made when one is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*self._made()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return self._made().get(cmd_name.replace("-", "_"))

    def _made(self) -> MutableMapping[str, Any]:
        if not self.commands:
            self.commands = typer.main.get_group(_commands()).commands
        return self.commands


measure = typer.Typer(
    cls=Metrics,
    no_args_is_help=True,
    help="Measure one metric on caption files (text, JSON, Parquet, of COCO, Flickr and others).",
)


def _commands() -> typer.Typer:
    from captionbias.metrics import DEFINED

    made = typer.Typer()
    for name, metric in DEFINED.items():
        example = EXAMPLE.format(name) + (OF_IMAGES if metric.entry.of_images else "")
        about = f"{metric.entry.title}: {metric.entry.question}\n\n{example}"
        command(made, name, _options(metric), partial(_measure, metric), about)
    about = f"Every metric that these captions allow, in one table.\n\n{EXAMPLE.format('all')}"
    options = PREDICTIONS | FILES | IMAGES | metric_options(*COMMON, preset="fast") | MARGINS | RESULTS
    command(made, "all", options, _measure_all, about)
    return made


def _options(metric: Metric[Any]) -> Options:
    """Those of a metric's command. Who turns from `all` to one metric keeps the other options, which help does not
    list."""
    usual = {name: parameter.default for name, parameter in signature(metric).parameters.items() if name in METRIC}
    own = {name: as_option(name, metric.arguments[name], default) for name, default in usual.items()}
    masked = MASKED if metric.entry.of_images else {}
    unused = {name: as_option(name, ARGUMENTS[name], listed=False) for name in COMMON if name not in own}
    return PREDICTIONS | FILES | COUNTS | own | masked | unused | MARGINS | RESULTS


def _measure(metric: Metric[Any], output: Path | None, json: bool, **values: Any) -> None:
    if "masked" in values:
        check_masking(values)
    with results_to(output, json) as write:
        files, chosen = _chosen(values, [metric.name])
        _note_unused(metric, chosen)
        crossed = len(files["attribute"]) > 1 and metric.name in catalogue.REPORTED
        measured = partial(_crossed, files["attribute"]) if crossed else _one
        write({"metric": metric.name, **_each(files, partial(measured, metric, chosen))})


def _measure_all(output: Path | None, json: bool, **values: Any) -> None:
    check_masking(values)
    if values["preset"] not in ("fast", "papers"):
        raise ValueError(f"--preset {values['preset']!r} is unknown; choose fast or papers")
    with results_to(output, json) as write:
        files, chosen = _chosen(values, [*catalogue.METRICS])
        write(_each(files, partial(_all, chosen)))


def _chosen(values: dict[str, Any], metrics: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """As `split_options`, with each metric's margins."""
    from captionbias.analysis.compare import margins_by_metric

    files, chosen = split_options(values)
    return files, chosen | {"margins": margins_by_metric(chosen["margins"], metrics)}


def _note_unused(metric: Metric[Any], chosen: dict[str, Any]) -> None:
    """Note the options that have nothing to do; a cache changes no score."""
    for name in COMMON:
        if name in chosen and name != "cache" and name not in metric.options():
            unused = phrase("{} does not apply to {}, and is ignored", Argument(name, chosen[name]), metric.name)
            warn(unused)


def _each(files: dict[str, Any], measured: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    """The results of the only captioner, or those of each by its name, on the images that it has."""
    captioners = read_files(**files)
    first = next(iter(captioners.values()))
    if len(captioners) == 1:
        return {"image_set": first.image_set, **measured(first)}
    results: dict[str, Any] = {}
    for name, captions in captioners.items():
        say(f"\n\n{name}\n" if results else f"{name}\n")
        try:
            results[name] = measured(captions)
        except ValueError as error:
            raise within(name, error) from error
    return {"image_set": first.image_set, "results": results}


def read_files(
    predictions: list[str] | None, prediction_column: list[str] | None, counts: list[str] | None = None, **files: Any
) -> dict[str, Any]:
    """Each captioner's captions by its name; a single one has none."""
    from captionbias.captions import read_captioners, read_captions

    if counts:
        return {"": wing("counting").read_counts(*counts)}
    columns = prediction_column or []
    sources = named(predictions or [], "predictions")
    if len(sources) < 2 and len(columns) < 2:
        source = next(iter(sources.values()), None)
        return {"": read_captions(predictions=source, prediction_column=next(iter(columns), None), **files)}
    return read_captioners(sources, prediction_column=columns or None, **files)


def _one(metric: Metric[Any], chosen: dict[str, Any], captions: Any) -> dict[str, Any]:
    from captionbias.report.terminal import measurement_tables

    measured = measured_by(metric.name, captions, chosen)
    show(measurement_tables(measured))
    details = measured.details or {}
    counts = ", ".join(f"{count:,} {value}" for value, count in details["attribute_counts"].items())
    say(f"\n{details['images']:,} images: {counts}\nsignature {measured.signature}")
    return _content(measured)


def _crossed(attributes: list[str], metric: Metric[Any], chosen: dict[str, Any], captions: Any) -> dict[str, Any]:
    from captionbias.analysis.intersections import intersections
    from captionbias.captions import count_cells
    from captionbias.report.terminal import intersection_tables

    options = _accepted(metric, chosen)
    lexicons = dict(zip(attributes, options.pop("attribute_lexicon"), strict=True))
    margins = chosen["margins"].get(metric.name, {})
    measured = intersections(captions, lexicons, metric.name, **options)
    results = {name: measurement.with_margins(margins) for name, measurement in measured.items()}
    cells = count_cells(captions.attributes, len(attributes))
    show(intersection_tables(results, cells))
    _, crossed = results.popitem()
    say(f"\n{len(captions):,} images\nsignature {crossed.signature}")
    rows = [{"labels": dict(zip(results, labels, strict=True)), "images": count} for labels, count in cells.items()]
    alone = {name: _content(measurement) for name, measurement in results.items()}
    return {**_content(crossed), "cells": rows, "alone": alone}


def _all(chosen: dict[str, Any], captions: Any) -> dict[str, Any]:
    from captionbias.metrics import DEFINED
    from captionbias.report.terminal import score_table

    measurements, refused = {}, {}
    for name, metric in DEFINED.items():
        if metric.entry.of_images and "images" not in chosen:
            continue
        options = {option: value for option, value in chosen.items() if metric.entry.of_images or option != "images"}
        try:
            measurements[name] = measured_by(name, captions, options)
        except ValueError as error:
            refused[name] = error
            if "directions" in metric.options():  # from A to T takes less
                with suppress(ValueError):
                    measurements[name] = measured_by(name, captions, {**options, "directions": ["a_to_t"]})
                    refused[f"{name} T to A"] = refused.pop(name)
    if not measurements:
        raise refused["lic"]  # which needs least
    show([score_table(measurements.values())])
    for name, reason in refused.items():
        warn(Message(f"no {name}: ", message_of(reason)))
    for measured in measurements.values():
        say(f"signature {measured.signature}")
    return {"metrics": {name: _content(measured) for name, measured in measurements.items()}}


def measured_by(metric: str, captions: Any, chosen: dict[str, Any]) -> Measurement:
    """The captions measured with those of the chosen options that the metric takes."""
    from captionbias.metrics import find_metric

    metric_function = find_metric(metric)
    options = _accepted(metric_function, chosen)
    _tell_cost(metric_function, options)
    return metric_function.measure(captions, **options).with_margins(chosen.get("margins", {}).get(metric, {}))


def _tell_cost(metric: Metric[Any], options: dict[str, Any]) -> None:
    """Warn of how many networks a metric will train, before it does."""
    from captionbias.bench.protocol import Alignment, preset_settings

    if not metric.entry.presets:
        return
    chosen = {name: options.get(name) for name in ("encoder", "trials", "seeds")}
    _, settings = preset_settings(metric.entry.presets, options["preset"], **chosen)
    if isinstance(settings, Alignment) and settings.encoder not in CONVEX:
        trainings = f"{settings.trials} {settings.encoder} trainings for each set of captions"
        warn(f"{trainings}; --preset fast takes seconds")


def _accepted(metric: Metric[Any], chosen: dict[str, Any]) -> dict[str, Any]:
    return metric.accepted({**chosen, "progress": complaints.is_terminal or None, "details": True})


def _content(measured: Measurement) -> dict[str, Any]:
    scores = measured.flat()
    return {"details": scores.pop("details"), "scores": scores}
