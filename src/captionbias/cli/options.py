"""The options of the commands that measure, each described once, and commands made of them."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Mapping
from functools import partial
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any

import typer

from captionbias.bench.arguments import ARGUMENTS, ATTACKERS, Entry
from captionbias.bench.arguments import INPUT as INPUT
from captionbias.captions.names import MEASURED
from captionbias.cli.terminal import check_outputs, plain_errors
from captionbias.errors import UNSAID, Argument
from captionbias.text.languages import languages

COLUMNS, RESULT = "Columns", "Result"  # panels, beside those of metrics' arguments

Options = dict[str, tuple[Any, Any]]  # each option's annotation and default


def option(
    kind: Any, about: str, *names: str, default: Any = None, panel: str | None = ATTACKERS, **display: Any
) -> tuple[Any, Any]:
    """An entry of `Options`: its type, to which None is added where it is the default, its help, its flags if they are
    not its name, and how help displays it."""
    kind = kind | None if default is None else kind
    return Annotated[kind, typer.Option(*names, help=about, rich_help_panel=panel, **display)], default


file_option, column_option, result_option = (partial(option, panel=panel) for panel in (INPUT, COLUMNS, RESULT))


def switch(name: str, about: str, panel: str | None = ATTACKERS) -> tuple[Any, Any]:
    """An option that turns something on."""
    return option(bool, about, name, default=False, panel=panel)


def argument(kind: Any, about: str, *, default: Any = Parameter.empty, metavar: str | None = None) -> tuple[Any, Any]:
    """An entry of `Options` that is written without a flag."""
    return Annotated[kind, typer.Argument(metavar=metavar, help=about)], default


def as_option(name: str, entry: Entry, usual: Any = None, *, listed: bool = True) -> tuple[Any, Any]:
    """An argument of metrics as an entry of `Options`. `usual`: its default in the metric whose option it is; one that
    is not `listed` is not in help, and None where it is not given."""
    assert entry.option
    kind, default, flag, panel, metavar, least = entry.option
    flag = (flag or name).replace("_", "-")
    flags = f"--{flag}" if kind is not bool or default is False else f"--{flag}/--no-{flag}"
    default = default if listed else None
    default_text = entry.none.replace("`", "")
    if usual is not None:
        default_text = ", ".join(usual) if isinstance(usual, tuple) else "yes" if usual is True else str(usual)
    display = {"metavar": metavar, "min": least, "show_default": (default is None and default_text) or True}
    return option(kind, entry.help, flags, default=default, panel=panel, hidden=not listed, **display)


FROM = (
    "a file, here or at a URL, a folder of datasets, or owner/dataset:configuration:split, as all captions and labels."
)
CAPTIONERS: Options = {
    "predictions": file_option(
        list[str],
        f"A captioner's captions; repeat it for each captioner: {FROM}",
        metavar="<file|name=file>",
    ),
    "prediction_column": column_option(
        list[str],
        "The captioner's captions; repeat it for each captioner of one file.",
        metavar="<column>",
        show_default="caption",
    ),
}
PREDICTIONS: Options = CAPTIONERS | {
    "predictions": file_option(
        list[str],
        "A captioner's captions; repeat it for each captioner, or leave it out to measure human captions alone: "
        f"{FROM}",
        metavar="<file|name=file>",
    )
}
FILES: Options = {
    "references": file_option(str, "Human captions. Leave them out to measure the captioner alone."),
    "attributes": file_option(str, "The attribute label of each image, if it is in neither file."),
    "tasks": file_option(
        str,
        "The tasks of each image, such as COCO's instances_*.json; without them, the tasks that human captions name.",
    ),
    "id_column": column_option(
        str,
        "Image ids in the first file; the other files are joined by the column that has the same ids.",
        show_default="image_id",
    ),
    "reference_column": column_option(
        list[str],
        "Human captions; repeat it if each column has one caption of an image.",
        metavar="<column>",
        show_default="references, or caption1 ... caption5",
    ),
    "attribute_column": column_option(
        list[str],
        "Labels; repeat it with --attribute.",
        metavar="<column>",
        show_default="the name of --attribute",
    ),
    "task_column": column_option(str, "Tasks.", show_default="tasks"),
    "weight_column": column_option(
        str, "How much each image counts, a number above 0.", show_default="guessed; all alike"
    ),
    "scene_column": column_option(
        str, "The scene of each image; images of one scene differ in the person alone.", show_default="none"
    ),
    "keep": file_option(
        list[str],
        "Only images with this label; repeat it for each label. For crossed attributes, it may be a label of one of "
        "them.",
        metavar="<label>",
    ),
    "labels": file_option(
        list[str],
        "The value that a label stands for, as in 0=female; repeat it for each label.",
        "--label",
        metavar="<label=value>",
    ),
    "trust_rows": switch(
        "--trust-rows", "Measure captions, labels or tasks even if they do not seem to belong together.", panel=INPUT
    ),
    "language": file_option(
        str, f"What captions are written in: {', '.join(languages())}.", show_default="en", metavar="<language>"
    ),
}


COUNTS: Options = {
    "counts": file_option(
        list[str], "What captionbias count wrote, in place of captions; repeat it for other images.", metavar="<file>"
    )
}
# By the metrics' own keywords; a command has those that its metric takes.
METRIC: Options = {name: as_option(name, entry) for name, entry in ARGUMENTS.items() if entry.option}
# In place of the metrics' own where captioners are compared.
REPLICATES: Options = {
    "bootstrap": option(
        int, "Number of bootstrap replicates over images; 0 for none.", show_default="1,000, more for many captioners"
    )
}
MASKED: Options = {
    "masked": switch(
        "--masked", "The persons are masked in the images already, or nobody is to be masked.", panel=INPUT
    )
}
IMAGES: Options = MASKED | {name: METRIC[name] for name in ("images", "masks", "form", "fill")}
METRICS: Options = {"metrics": option(list[str], "Repeat it for each metric.", "--metric", metavar="<metric>")}
MARGINS: Options = {
    "margins": option(
        list[str],
        "How near to 0 a score counts as 0, such as sway_t_to_a=2; repeat it for each score.",
        "--margin",
        metavar="<score=number>",
        show_default="as measured, else one of 100",
    )
}
RESULTS: Options = {
    "output": result_option(
        Path,
        "Write everything, including trials, to this .json file, or the scores to a .csv or .md file.",
    ),
    "json": switch("--json", "Print everything as JSON, and nothing else on standard output."),
}


def metric_options(*names: str, **defaults: Any) -> Options:
    """These options of metrics, some with another default."""
    return {name: (METRIC[name][0], defaults.get(name, METRIC[name][1])) for name in names}


def check_masking(values: Mapping[str, Any]) -> None:
    """Refuse images that nobody has said how to mask, of the options `IMAGES`."""
    if values["images"] and bool(values["masks"]) == values["masked"]:
        raise ValueError("--images: give either --annotations, to mask the persons, or --masked if they are")


def command(app: typer.Typer, name: str, options: Options, run: Callable[..., None], about: str = "") -> None:
    """Add a command that calls `run` with the options by their names; errors of the input are printed in one line, with
    options in place of arguments. Files of the panel `Result` are refused before the work if they cannot be written.
    """
    displayed = {name: annotation.__metadata__[0] for name, (annotation, _) in options.items()}
    written = [name for name, part in displayed.items() if part.rich_help_panel == RESULT and part.file_okay]

    def called(context: typer.Context, **values: Any) -> None:
        flags = flags_of(context)
        with plain_errors(partial(in_options, flags)):
            outputs = {flags[name][0]: values[name] for name in written if isinstance(values[name], Path)}
            check_outputs(outputs, [value for name, value in values.items() if name not in written])
            run(**values)

    called.__doc__ = about or run.__doc__
    parameters = [
        Parameter(option, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for option, (annotation, default) in {"context": (typer.Context, Parameter.empty), **options}.items()
    ]
    called.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    app.command(name)(called)


def flags_of(context: typer.Context) -> dict[str, tuple[str, str]]:
    """The flag of each option, and the flag that turns it off, or "" without one."""
    options = (option for option in context.command.params if option.opts[0].startswith("-"))
    return {str(option.name): (option.opts[0], (option.secondary_opts or [""])[0]) for option in options}


def in_options(flags: Mapping[str, tuple[str, str]], argument: Argument) -> str | None:
    """An argument as the option of a command; None where the command has none of it."""
    name, value = argument.name, argument.value
    if argument.row is not None or (name in MEASURED and not argument.missing):
        return str(argument)  # what is in a column of the files, whichever option named them
    if name not in flags:
        return None
    on, off = flags[name]
    if value is UNSAID or isinstance(value, bool):
        return off or on if value is False else on
    several = [f"{label}={new}" for label, new in value.items()] if isinstance(value, Mapping) else value
    each = several if isinstance(several, list) else [several]
    return " ".join(f"{on} {shlex.quote(str(given))}" for given in each)


def split_options(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options that name files and columns, and those of metrics that have a value.

    Each attribute is a column by its own name, and words by a lexicon's: `skin` has the words of `race`.
    """
    from captionbias.captions.columns import SYNONYMS
    from captionbias.text.lexicon import builtin_lexicons

    labels = values.get("attributes")
    if labels is not None and labels in builtin_lexicons() and not Path(labels).exists():
        raise ValueError(f"--attributes names a file of labels; to name the attribute, use --attribute {labels}")
    files = {option: values[option] for option in (*PREDICTIONS, *FILES, *COUNTS) if option in values}
    if files.get("labels"):
        files["labels"] = dict(_pair("label", "0=female", pair) for pair in files["labels"])
    files["attribute"] = [Path(attribute).stem for attribute in values["attribute_lexicon"]]
    chosen = {option: values[option] for option in METRIC if option in values and values[option] is not None}
    chosen["distributed"] = True  # every process runs the command
    words = {column: name for name, columns in SYNONYMS.items() for column in columns}
    lexicons = [words.get(attribute, attribute) for attribute in values["attribute_lexicon"]]
    chosen["attribute_lexicon"] = lexicons if len(lexicons) > 1 else lexicons[0]
    if "seeds" in chosen:
        chosen["seeds"] = [int(seed) if seed.isdecimal() else seed for seed in chosen["seeds"].split(",")]
    if "margins" in values:
        chosen["margins"] = dict(scores_of("--margin", values["margins"]))
    if "answers" in chosen:
        chosen["answers"] = dict(_pair("answer", "female=woman", pair) for pair in chosen["answers"])
    return files, chosen


def scores_of(flag: str, texts: list[str] | None) -> list[tuple[str, float]]:
    """The numbers that were given for scores, as in sway_t_to_a=1."""
    pairs = []
    for text in texts or ():
        score, _, number = text.partition("=")
        try:
            pairs.append((score, float(number)))
        except ValueError:
            pairs.append((score, math.nan))
        if not math.isfinite(pairs[-1][1]):
            raise ValueError(f"{flag} {text}: give a score and a number, as in sway_t_to_a=1")
    return pairs


def _pair(flag: str, example: str, pair: str) -> tuple[str, str]:
    label, equals, value = pair.partition("=")
    if not equals:
        raise ValueError(f"--{flag} {pair}: write it as in {example}")
    return label, value
