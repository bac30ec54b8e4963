"""The options of the commands that measure, each described once, and commands made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any

import typer

from captionbias.cli.terminal import plain_errors

INPUT, COLUMNS, ATTACK, RESULT = "Input files", "Columns", "Attackers", "Result"
OF_PRESET = "the preset's"
PRETRAINED = (
    "all-MiniLM-L6-v2, all-mpnet-base-v2, all-distilroberta-v1, distilbert-base-uncased, any other owner/name on the "
    "Hub, or a folder (frozen, under an MLP)"
)


class DirectionName(str, Enum):
    a_to_t = "a_to_t"
    t_to_a = "t_to_a"


def _option(kind: Any, *names: str, panel: str = ATTACK, **about: Any) -> Any:
    return Annotated[kind, typer.Option(*names, rich_help_panel=panel, **about)]


Options = dict[str, tuple[Any, Any]]  # each option's annotation and default

PREDICTIONS: Options = {
    "predictions": (
        _option(
            Path | None,
            panel=INPUT,
            help="The captioner's captions. Leave out to measure human captions alone.",
        ),
        None,
    ),
    "prediction_column": (
        _option(str | None, panel=COLUMNS, help="The captioner's captions.", show_default="caption"),
        None,
    ),
}
CAPTIONERS: Options = {
    "predictions": (
        _option(
            list[str],
            panel=INPUT,
            metavar="<file|name=file>",
            help="A captioner's captions; repeat it for each captioner.",
        ),
        Parameter.empty,
    ),
    "prediction_column": (
        _option(
            list[str] | None,
            panel=COLUMNS,
            metavar="<column>",
            help="The captioner's captions; repeat it for each captioner of one file.",
            show_default="caption",
        ),
        None,
    ),
}
FILES: Options = {
    "references": (
        _option(Path | None, panel=INPUT, help="Human captions. Leave out to measure the captioner alone."),
        None,
    ),
    "attributes": (
        _option(Path | None, panel=INPUT, help="The attribute's label of each image, if it is in neither file."),
        None,
    ),
    "tasks": (
        _option(Path | None, panel=INPUT, help="The tasks of each image; else those that human captions name."),
        None,
    ),
    "id_column": (
        _option(
            str | None,
            panel=COLUMNS,
            help="Image ids in the first file; others are joined by their column that has them.",
            show_default="image_id",
        ),
        None,
    ),
    "reference_column": (_option(str | None, panel=COLUMNS, help="Human captions.", show_default="references"), None),
    "attribute_column": (
        _option(str | None, panel=COLUMNS, help="Labels.", show_default="the name of --attribute"),
        None,
    ),
    "task_column": (_option(str | None, panel=COLUMNS, help="Tasks.", show_default="tasks"), None),
    "keep": (
        _option(
            list[str] | None,
            panel=INPUT,
            metavar="<label>",
            help="Only images with this label; repeat it for each label.",
        ),
        None,
    ),
}
# Options of metrics, by the metrics' own keywords. A command has those that its metric takes.
METRIC: Options = {
    "attribute_lexicon": (
        _option(
            str,
            "--attribute",
            panel=INPUT,
            help="What is measured: gender, race, age, emotion, or a JSON file with your own words.",
        ),
        "gender",
    ),
    "task_lexicon": (
        _option(
            str | None,
            panel=INPUT,
            help="Task words: coco_objects, coco_names, or a JSON file of yours.",
            show_default=OF_PRESET,
        ),
        None,
    ),
    "preset": (
        _option(
            str | None,
            help="papers: the protocol of the metric's paper (lic-2022, dbac-2026), with LSTMs; needs torch, and hours "
            "without a GPU. dbac-2026-published: its tokenizer and task words too, to compare with its tables only. "
            "fast: a convex attacker, no torch, seconds to minutes.",
            show_default="papers",
        ),
        None,
    ),
    "directions": (
        _option(list[DirectionName] | None, "--direction", metavar="<a_to_t|t_to_a>", help="One direction of DBAC."),
        None,
    ),
    "encoder": (
        _option(
            str | None,
            help="The attacker: lstm-lic, lstm-dbac, bilstm, rnn, birnn, transformer-1h, transformer-5h, bow; "
            f"{PRETRAINED}; bert-frozen, bert-finetuned; on labels linear or dense; or your own torch module as "
            "module:Class.",
            show_default=OF_PRESET,
        ),
        None,
    ),
    "model": (
        _option(
            str | None,
            help="The model under bert-frozen and bert-finetuned: a name on the Hub, or a folder.",
            show_default="bert-base-uncased",
        ),
        None,
    ),
    "precision": (
        _option(str | None, help="fp32 or bf16, of neural attackers.", show_default="bf16 where it is native"),
        None,
    ),
    "trials": (
        _option(int | None, help="Attackers trained for each set of captions.", show_default=OF_PRESET),
        None,
    ),
    "quality": (
        _option(
            str | None,
            help="The attacker's quality: confidence, accuracy or inverse_cross_entropy.",
            show_default=OF_PRESET,
        ),
        None,
    ),
    "equalize": (
        _option(
            bool,
            "--equalize/--no-equalize",
            help="Make the images' labels wrong as often as the captioner's are: accuracy plays no part.",
        ),
        True,
    ),
    "vectors": (
        _option(
            str | None,
            help="Word vectors that align human captions with the captioner's words: 'captions' (trained on yours), a "
            "GloVe, word2vec or FastText file, or a gensim download such as glove-wiki-gigaword-50.",
            show_default=OF_PRESET,
        ),
        None,
    ),
    "words": (
        _option(bool, "--words", help="Take the frequent words of human captions for tasks, as LIC's paper does."),
        False,
    ),
    "at_least": (
        _option(
            int | None,
            min=1,
            help="How many images (with --words: human captions a value) a combination or word must be of.",
            show_default="1, with --words 100",
        ),
        None,
    ),
    "unseen_only": (_option(bool, "--unseen-only", help="Score only captions not seen in training."), False),
    "seed": (_option(int, help="Seed of the first trial."), 0),
    "bootstrap": (_option(int, help="Bootstrap replicates over images; 0 for none."), 1000),
    "cache": (
        _option(bool, "--cache/--no-cache", help="Keep finished trials, and train none twice; see captionbias cache."),
        True,
    ),
}
METRICS: Options = {
    "metrics": (_option(list[str] | None, "--metric", metavar="<metric>", help="Repeat it for each metric."), None)
}
OUTPUT: Options = {
    "output": (_option(Path | None, panel=RESULT, help="Write everything to this JSON file, trials included."), None)
}


def metric_options(*names: str, **defaults: Any) -> Options:
    """These options of metrics, some with another default."""
    return {name: (METRIC[name][0], defaults.get(name, METRIC[name][1])) for name in names}


def command(app: typer.Typer, name: str, options: Options, run: Callable[..., None], about: str = "") -> None:
    """Add a command that calls `run` with the options by their names; errors of the input are printed in one line."""

    def called(**given: Any) -> None:
        with plain_errors():
            run(**given)

    called.__doc__ = about or run.__doc__
    parameters = [
        Parameter(option, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for option, (annotation, default) in options.items()
    ]
    called.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {option: annotation for option, (annotation, _) in options.items()}
    app.command(name)(called)


def split_options(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options that name files and columns, and those of metrics that were given."""
    files = {option: given[option] for option in (*PREDICTIONS, *FILES) if option in given}
    files["attribute"] = Path(given["attribute_lexicon"]).stem
    chosen = {option: given[option] for option in METRIC if option in given and given[option] is not None}
    if "directions" in chosen:
        chosen["directions"] = [direction.value for direction in chosen["directions"]]
    return files, chosen
