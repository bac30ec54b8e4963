"""`captionbias measure`: the metrics on labels that captions name, and all metrics at once.

Their commands share most options: each is made of the table of those and its own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any

import typer

from captionbias import __version__
from captionbias.cli.options import (
    ATTACK,
    Attribute,
    AttributeColumn,
    Attributes,
    Bootstrap,
    IdColumn,
    Keep,
    KeepTrials,
    Output,
    PredictionColumn,
    Predictions,
    ReferenceColumn,
    References,
    Seed,
    TaskColumn,
    TaskLexicon,
    Tasks,
)
from captionbias.cli.terminal import complaints, console, plain_errors, read_files, scored, tell_rest

Options = dict[str, tuple[Any, Any]]  # the annotation of each and its default

FILES: Options = {
    "predictions": (Predictions, None),
    "references": (References, None),
    "attributes": (Attributes, None),
    "tasks": (Tasks, None),
    "id_column": (IdColumn, None),
    "prediction_column": (PredictionColumn, None),
    "reference_column": (ReferenceColumn, None),
    "attribute_column": (AttributeColumn, None),
    "task_column": (TaskColumn, None),
    "keep": (Keep, None),
}
WORDS: Options = {"attribute": (Attribute, "gender"), "task_lexicon": (TaskLexicon, None)}
DRAWS: Options = {"seed": (Seed, 0), "bootstrap": (Bootstrap, 1000)}
ATTACKERS: Options = {
    "encoder": (
        Annotated[
            str,
            typer.Option(
                help="The attacker: linear, dense (needs torch), or your own torch module as module:Class.",
                rich_help_panel=ATTACK,
            ),
        ],
        "linear",
    ),
    "equalize": (
        Annotated[
            bool,
            typer.Option(
                "--equalize/--no-equalize",
                help="Make the images' labels wrong as often as the captioner's are: accuracy plays no part.",
                rich_help_panel=ATTACK,
            ),
        ],
        True,
    ),
    "trials": (Annotated[int, typer.Option(help="Attackers trained a side.", rich_help_panel=ATTACK)], 10),
    "cache": (KeepTrials, True),
}
QUALITY: Options = {
    "quality": (
        Annotated[
            str,
            typer.Option(help="What counts: inverse_cross_entropy, accuracy or confidence.", rich_help_panel=ATTACK),
        ],
        "inverse_cross_entropy",
    )
}
COMBINATIONS: Options = {
    "at_least": (
        Annotated[
            int,
            typer.Option(help="Images that show just this combination of tasks.", min=1, rich_help_panel=ATTACK),
        ],
        1,
    )
}
FREQUENT: Options = {
    "words": (
        Annotated[
            bool,
            typer.Option("--words", help="Take the frequent words of human captions for tasks, as LIC's paper does."),
        ],
        False,
    )
}
PRESET: Options = {
    "preset": (
        Annotated[
            str,
            typer.Option(
                help="fast: convex attackers, no torch, a minute. published: lic-2022 and dbac-2026, with LSTMs, hours "
                "without a GPU.",
                rich_help_panel=ATTACK,
            ),
        ],
        "fast",
    )
}
RESULT: Options = {"output": (Output, None)}

METRICS: dict[str, tuple[str, Options]] = {
    "directional_ba": (
        "Directional BA: do captions name together what goes together, more often than people do?",
        WORDS | DRAWS,
    ),
    "multi_directional_ba": (
        "Multi-attribute BA: directional BA over combinations of tasks, whatever its sense.",
        WORDS | COMBINATIONS | DRAWS,
    ),
    "ba_mals": (
        "BA (MALS): do captions strengthen each task's lean to its likelier attribute value?",
        WORDS | FREQUENT | DRAWS,
    ),
    "dpa": (
        "DPA: do captions let tasks be guessed from attributes (A to T), or attributes from tasks (T to A)?",
        WORDS | ATTACKERS | QUALITY | DRAWS,
    ),
    "label_leakage": (
        "Leakage of labels: is the attribute guessed better from the tasks that captions name?",
        WORDS | ATTACKERS | DRAWS,
    ),
    "gender_error": (
        "Gender ratio and error: how often do captions name either gender, and the wrong one?",
        {"attribute": WORDS["attribute"]} | DRAWS,
    ),
}
TRAINED = {"lic", "dbac", "dpa", "label_leakage"}
PUBLISHED = {"lic": "lic-2022", "dbac": "dbac-2026"}


def add_label_metrics(measure: typer.Typer) -> None:
    """Add a command for each of these metrics, and `all`."""
    for name, (about, options) in METRICS.items():
        _add(measure, name, about, options, partial(_measure_one, name))
    options = WORDS | PRESET | {option: ATTACKERS[option] for option in ("trials", "cache")} | DRAWS
    _add(measure, "all", "Every metric that these captions allow, in one table.", options, _measure_all)


def _add(measure: typer.Typer, name: str, about: str, options: Options, run: Callable[..., None]) -> None:
    """Make a command of `run`, which takes the options by their names."""
    options = FILES | options | RESULT

    def command(**given: Any) -> None:
        with plain_errors():
            run(**given)

    example = f"captionbias measure {name} --predictions nic.parquet --references people.parquet"
    command.__doc__ = f"{about}\n\nExample: {example}"
    command.__signature__ = Signature(  # type: ignore[attr-defined]
        [
            Parameter(option, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for option, (annotation, default) in options.items()
        ]
    )
    command.__annotations__ = {option: annotation for option, (annotation, _) in options.items()}
    measure.command(name)(command)


def _measure_one(metric: str, output: Path | None, **given: Any) -> None:
    from captionbias import metrics
    from captionbias.io.files import check_writable
    from captionbias.report import score_table

    if output:
        check_writable(output)
    captions, chosen = _read(given)
    result, details = scored(getattr(metrics, metric), captions, chosen | _progress(metric))
    console.print(score_table({metric: result}))
    tell_rest(metric, result, details, output)


def _measure_all(output: Path | None, preset: str, trials: int, cache: bool, **given: Any) -> None:
    from captionbias import metrics
    from captionbias.io.files import check_writable
    from captionbias.report import score_table, write_json

    if preset not in ("fast", "published"):
        raise ValueError(f"preset {preset!r} is unknown; choose fast or published")
    if output:
        check_writable(output)  # not after hours of training
    captions, chosen = _read(given)
    results, everything, refused = {}, {}, {}
    for name in ("dbac", "lic", *METRICS):
        own = {option: value for option, value in chosen.items() if option in _arguments(name)} | _progress(name)
        own |= {"trials": trials, "cache": cache} if name in TRAINED else {}
        own |= {"preset": PUBLISHED[name] if preset == "published" else preset} if name in PUBLISHED else {}
        try:
            result, details = scored(getattr(metrics, name), captions, own)
        except ValueError as error:
            refused[name] = str(error)
            continue
        results[name], everything[name] = result, {"scores": result, "details": details}
    if not results:
        raise ValueError(next(iter(refused.values())))
    console.print(score_table(results))
    for name, reason in refused.items():
        complaints.print(f"note: no {name}: {reason}", highlight=False, markup=False, soft_wrap=True)
    for result in results.values():
        console.print(f"signature {result['signature']}", highlight=False, markup=False, soft_wrap=True)
    if output and not console.quiet:
        write_json({"version": __version__, "metrics": everything}, output)
        console.print(f"everything is in {output}", highlight=False, markup=False, soft_wrap=True)


def _read(given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The captions of the files, and the arguments of the metric."""
    chosen = {option: value for option, value in given.items() if option not in FILES and value is not None}
    files = {option: value for option, value in given.items() if option in FILES}
    chosen["attribute_lexicon"] = attribute = chosen.pop("attribute")
    captions = read_files(attribute=Path(attribute).stem, **files)
    return captions, chosen | {"tasks": captions.tasks}


def _arguments(metric: str) -> set[str]:
    from captionbias import metrics

    return set(signature(getattr(metrics, metric)).parameters)


def _progress(metric: str) -> dict[str, bool]:
    return {"progress": complaints.is_terminal} if metric in TRAINED else {}
