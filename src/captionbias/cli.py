"""The command line. Metrics are imported when a command needs them, so that help is quick."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from captionbias import __version__

PRESETS_DEFAULT = "the preset's"

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Measure whether an image captioner makes its data's bias worse, in which direction, and how sure that is.",
)
measure = typer.Typer(
    no_args_is_help=True,
    help="Measure one metric on caption files (CSV, TSV, JSON, JSONL, Parquet, COCO results or COCO captions).",
)
app.add_typer(measure, name="measure")
console = Console()
complaints = Console(stderr=True)

INPUT, COLUMNS, ATTACK, RESULT = "Input files", "Columns", "Attackers", "Result"

Predictions = Annotated[
    Path | None,
    typer.Option(help="The captioner's captions. Leave out to measure human captions alone.", rich_help_panel=INPUT),
]
References = Annotated[
    Path | None,
    typer.Option(help="Human captions. Leave out to measure the captioner alone.", rich_help_panel=INPUT),
]
Attributes = Annotated[
    Path | None,
    typer.Option(
        help="The attribute's label of each image, if it is in neither of these files.", rich_help_panel=INPUT
    ),
]
Tasks = Annotated[
    Path | None,
    typer.Option(help="The tasks of each image; else those that human captions name.", rich_help_panel=INPUT),
]
Attribute = Annotated[
    str,
    typer.Option(
        help="What is measured: gender, race, age, or a JSON file with your own words.", rich_help_panel=INPUT
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(help="Only images with this label; say it once for each label.", rich_help_panel=INPUT),
]
IdColumn = Annotated[str, typer.Option(help="Image ids; files are joined by them.", rich_help_panel=COLUMNS)]
PredictionColumn = Annotated[str, typer.Option(help="The captioner's captions.", rich_help_panel=COLUMNS)]
ReferenceColumn = Annotated[str, typer.Option(help="Human captions.", rich_help_panel=COLUMNS)]
AttributeColumn = Annotated[
    str | None, typer.Option(help="Labels; by default the column named like --attribute.", rich_help_panel=COLUMNS)
]
TaskColumn = Annotated[str, typer.Option(help="Tasks.", rich_help_panel=COLUMNS)]
Preset = Annotated[
    str | None,
    typer.Option(help="A paper's protocol, or 'fast': a convex attacker, no torch, seconds.", rich_help_panel=ATTACK),
]
Encoder = Annotated[str | None, typer.Option(help="The attacker: lstm or bow.", rich_help_panel=ATTACK)]
Trials = Annotated[int | None, typer.Option(help="Attackers trained a side.", rich_help_panel=ATTACK)]
Seed = Annotated[int, typer.Option(help="Seed of the first trial.", rich_help_panel=ATTACK)]
Vectors = Annotated[
    str | None,
    typer.Option(
        help="Word vectors of contextual alignment: 'captions' (trained on yours), a GloVe, word2vec or FastText file, "
        "or a gensim download such as glove-wiki-gigaword-50.",
        rich_help_panel=ATTACK,
    ),
]
Bootstrap = Annotated[int, typer.Option(help="Bootstrap replicates over images; 0 for none.", rich_help_panel=ATTACK)]
Output = Annotated[
    Path | None, typer.Option(help="Write everything to this JSON file, trials included.", rich_help_panel=RESULT)
]


class DirectionName(str, Enum):
    a_to_t = "a_to_t"
    t_to_a = "t_to_a"


@measure.command("lic")
def measure_lic(
    predictions: Predictions = None,
    references: References = None,
    attributes: Attributes = None,
    attribute: Attribute = "gender",
    keep: Keep = None,
    id_column: IdColumn = "image_id",
    prediction_column: PredictionColumn = "caption",
    reference_column: ReferenceColumn = "references",
    attribute_column: AttributeColumn = None,
    preset: Preset = "lic-2022",
    encoder: Encoder = None,
    trials: Trials = None,
    seed: Seed = 0,
    vectors: Vectors = None,
    unseen_only: Annotated[
        bool, typer.Option("--unseen-only", help="Score only captions not seen in training.", rich_help_panel=ATTACK)
    ] = False,
    bootstrap: Bootstrap = 1000,
    output: Output = None,
) -> None:
    """LIC, leakage and confidence: can the attribute be read from captions that do not name it?

    Example: captionbias measure lic --predictions nic.parquet --references people.parquet --preset fast
    """
    from captionbias.report import lic_table

    with _plain_errors():
        from captionbias.metrics import lic

        captions = _read(
            predictions=predictions,
            references=references,
            attributes=attributes,
            id_column=id_column,
            prediction_column=prediction_column,
            reference_column=reference_column,
            attribute_column=attribute_column or Path(attribute).stem,
            keep=keep,
        )
        chosen = {"preset": preset, "encoder": encoder, "trials": trials, "seed": seed, "vectors": vectors}
        chosen |= {"attribute_lexicon": attribute, "unseen_only": unseen_only, "bootstrap": bootstrap}
        _measure("lic", lic, captions, chosen, lic_table, output)


@measure.command("dbac")
def measure_dbac(
    predictions: Predictions = None,
    references: References = None,
    attributes: Attributes = None,
    tasks: Tasks = None,
    attribute: Attribute = "gender",
    task_lexicon: Annotated[
        str | None,
        typer.Option(help="Task words: coco_objects, coco_names, or a JSON file of yours.", rich_help_panel=INPUT),
    ] = None,
    keep: Keep = None,
    id_column: IdColumn = "image_id",
    prediction_column: PredictionColumn = "caption",
    reference_column: ReferenceColumn = "references",
    attribute_column: AttributeColumn = None,
    task_column: TaskColumn = "tasks",
    preset: Preset = "dbac-2026",
    direction: Annotated[
        list[DirectionName] | None, typer.Option(help="One direction only.", rich_help_panel=ATTACK)
    ] = None,
    encoder: Encoder = None,
    trials: Trials = None,
    seed: Seed = 0,
    quality: Annotated[
        str | None,
        typer.Option(help="confidence, accuracy or inverse_cross_entropy.", rich_help_panel=ATTACK),
    ] = None,
    vectors: Vectors = None,
    bootstrap: Bootstrap = 1000,
    output: Output = None,
) -> None:
    """DBAC: does the attribute shape the tasks named (A to T), do the tasks shape the attribute named (T to A)?

    Example: captionbias measure dbac --predictions nic.parquet --references people.parquet --preset fast
    """
    from captionbias.report import dbac_table

    with _plain_errors():
        from captionbias.metrics import dbac

        captions = _read(
            predictions=predictions,
            references=references,
            attributes=attributes,
            tasks=tasks,
            id_column=id_column,
            prediction_column=prediction_column,
            reference_column=reference_column,
            attribute_column=attribute_column or Path(attribute).stem,
            task_column=task_column,
            keep=keep,
        )
        chosen: dict[str, Any] = {"preset": preset, "encoder": encoder, "trials": trials, "seed": seed}
        chosen |= {"vectors": vectors, "quality": quality, "attribute_lexicon": attribute, "bootstrap": bootstrap}
        chosen |= {"task_lexicon": task_lexicon, "tasks": captions.tasks}
        chosen |= {"directions": [name.value for name in direction]} if direction else {}
        _measure("dbac", dbac, captions, chosen, dbac_table, output)


def _read(**files: Any) -> Any:
    from captionbias.captions import read_captions

    return read_captions(**files)


def _measure(
    name: str,
    metric: Callable[..., dict[str, Any]],
    captions: Any,
    chosen: dict[str, Any],
    table: Callable[[dict[str, Any]], Table],
    output: Path | None,
) -> None:
    from captionbias.report import write_json

    started = time.perf_counter()
    result = metric(
        predictions=captions.predictions,
        references=captions.references,
        attributes=captions.attributes,
        details=True,
        progress=True,
        **chosen,
    )
    seconds = time.perf_counter() - started
    details = result.pop("details")
    counts = ", ".join(f"{count:,} {value}" for value, count in details["attribute_counts"].items())
    console.print(table(result))
    console.print(f"{details['images']:,} images ({counts}); {seconds:.0f} s", highlight=False)
    console.print(f"signature {result['signature']}", highlight=False, soft_wrap=True)
    if output:
        write_json({"metric": name, "version": __version__, "scores": result, "details": details}, output)
        console.print(f"everything is in {output}", highlight=False)


@app.command("install-metrics")
def install_metrics(
    names: Annotated[list[str] | None, typer.Argument(help="Which metrics; all when none is named.")] = None,
) -> None:
    """Make evaluate.load("lic") and evaluate.load("dbac") work anywhere on this machine, offline too."""
    with _plain_errors():
        from captionbias.hub.modules import install_metrics as install

        for path in install(names or None):
            console.print(f"evaluate.load({path.stem!r}) loads {path}", highlight=False, soft_wrap=True)


@app.command()
def demo(
    images: Annotated[int, typer.Option(help="Images to plant.", min=200)] = 3000,
    seed: Annotated[int, typer.Option(help="Seed of everything.")] = 0,
) -> None:
    """Measure captioners whose bias is known, because it was planted. Needs no data and no torch; under a minute."""
    from rich.progress import track

    from captionbias.planted import plant
    from captionbias.report import interval

    captioners: dict[str, dict[str, Any]] = {
        "faithful to its data": {},
        "faithful, names half as many tasks": {"naming": 0.5},
        "attribute shapes tasks (A to T)": {"a_to_t": 0.5},
        "tasks shape attribute (T to A)": {"t_to_a": 0.5},
        "mitigates both": {"a_to_t": -0.5, "t_to_a": -0.5},
    }
    table = Table(title=f"{images:,} planted images, preset fast, 5 trials, 95% intervals", show_lines=True)
    columns = ["captioner", "A to T\nmatched DBAC", "A to T\nas published", "T to A\nmatched DBAC"]
    for column in [*columns, "T to A\nas published", "LIC x 100"]:
        table.add_column(column)
    with _plain_errors():
        from captionbias.captions import CaptionBiasWarning
        from captionbias.metrics import dbac, lic

        warnings.simplefilter("ignore", CaptionBiasWarning)
        for name, dials in track(captioners.items(), "measuring", console=complaints, transient=True):
            given = vars(plant(images, seed=seed, **dials))
            result = dbac(**given, preset="fast", trials=5, seed=seed) | lic(
                **given, preset="fast", trials=5, seed=seed
            )
            keys = ("dbac_a_to_t_matched", "dbac_a_to_t", "dbac_t_to_a_matched", "dbac_t_to_a")
            table.add_row(name, *(interval(result, key, 3) for key in keys), interval(result, "lic", 1))
    console.print(table)
    console.print(
        "Above 0 the captioner makes its data's bias worse, below 0 it softens it; an interval that holds 0 shows no "
        "clear change.\nThe second captioner has no bias of its own: DBAC as published moves all the same, because it "
        "depends on how often tasks are named.\nMatched DBAC does not. On your own files: captionbias measure --help"
    )


@app.callback(invoke_without_command=True)
def main(version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False) -> None:
    """Measure whether an image captioner makes its data's bias worse."""
    if version:
        console.print(f"captionbias {__version__}", highlight=False)
        raise typer.Exit


@contextmanager
def _plain_errors() -> Iterator[None]:
    """Errors of the input as one line and exit status 2; warnings as notes, once the work is done."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        try:
            yield
        except ValueError as error:
            complaints.print(f"error: {error}", style="red", highlight=False, markup=False, soft_wrap=True)
            raise typer.Exit(2) from error
        finally:
            for message in dict.fromkeys(str(warning.message) for warning in caught):
                complaints.print(f"note: {message}", style="yellow", highlight=False, markup=False, soft_wrap=True)
