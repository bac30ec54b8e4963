"""The command line. Metrics are imported when a command needs them, so that help is quick."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from captionbias import __version__

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
OF_PRESET = "the preset's"
DEMO_TRIALS = 5
FAST = "fast: a convex attacker, no torch, seconds to minutes."

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
    typer.Option(
        metavar="<label>", help="Only images with this label; say it once for each label.", rich_help_panel=INPUT
    ),
]
IdColumn = Annotated[str, typer.Option(help="Image ids; files are joined by them.", rich_help_panel=COLUMNS)]
PredictionColumn = Annotated[str, typer.Option(help="The captioner's captions.", rich_help_panel=COLUMNS)]
ReferenceColumn = Annotated[str, typer.Option(help="Human captions.", rich_help_panel=COLUMNS)]
AttributeColumn = Annotated[
    str | None, typer.Option(help="Labels; by default the column named like --attribute.", rich_help_panel=COLUMNS)
]
TaskColumn = Annotated[str, typer.Option(help="Tasks.", rich_help_panel=COLUMNS)]
Precision = Annotated[
    str | None,
    typer.Option(
        help="fp32 or bf16, of neural attackers.", show_default="bf16 where it is native", rich_help_panel=ATTACK
    ),
]
Trials = Annotated[
    int | None,
    typer.Option(help="Attackers trained for each set of captions.", show_default=OF_PRESET, rich_help_panel=ATTACK),
]
Seed = Annotated[int, typer.Option(help="Seed of the first trial.", rich_help_panel=ATTACK)]
Bootstrap = Annotated[int, typer.Option(help="Bootstrap replicates over images; 0 for none.", rich_help_panel=ATTACK)]
KeepTrials = Annotated[
    bool,
    typer.Option(
        "--cache/--no-cache",
        help="Keep finished trials, and train none twice; see captionbias cache.",
        rich_help_panel=ATTACK,
    ),
]
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
    preset: Annotated[
        str,
        typer.Option(
            help=f"lic-2022: the paper's protocol, with LSTMs; needs torch, and hours without a GPU. {FAST}",
            rich_help_panel=ATTACK,
        ),
    ] = "lic-2022",
    encoder: Annotated[
        str | None,
        typer.Option(
            help="The attacker: lstm (LIC's), bow, lstm-dbac, bilstm, rnn, birnn, transformer-1h, transformer-5h, or "
            "your own torch module as module:Class.",
            show_default=OF_PRESET,
            rich_help_panel=ATTACK,
        ),
    ] = None,
    precision: Precision = None,
    trials: Trials = None,
    seed: Seed = 0,
    unseen_only: Annotated[
        bool, typer.Option("--unseen-only", help="Score only captions not seen in training.", rich_help_panel=ATTACK)
    ] = False,
    bootstrap: Bootstrap = 1000,
    cache: KeepTrials = True,
    output: Output = None,
) -> None:
    """LIC, leakage and confidence: can the attribute be read from captions that do not name it?

    Example: captionbias measure lic --predictions nic.parquet --references people.parquet --preset fast
    """
    from captionbias.report import check_writable, lic_table

    with _plain_errors():
        from captionbias.metrics import lic

        if output:
            check_writable(output)  # not after hours of training
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
        chosen: dict[str, Any] = {"preset": preset, "encoder": encoder, "trials": trials, "seed": seed}
        chosen |= {"attribute_lexicon": attribute, "unseen_only": unseen_only, "bootstrap": bootstrap}
        chosen |= {"precision": precision, "cache": cache}
        result, details = _measured(lic, captions, chosen)
        console.print(lic_table(result, labels=len(details["attribute_counts"])))
        _tell_rest("lic", result, details, output)


@measure.command("dbac")
def measure_dbac(
    predictions: Predictions = None,
    references: References = None,
    attributes: Attributes = None,
    tasks: Tasks = None,
    attribute: Attribute = "gender",
    task_lexicon: Annotated[
        str | None,
        typer.Option(
            help="Task words: coco_objects, coco_names, or a JSON file of yours.",
            show_default=OF_PRESET,
            rich_help_panel=INPUT,
        ),
    ] = None,
    keep: Keep = None,
    id_column: IdColumn = "image_id",
    prediction_column: PredictionColumn = "caption",
    reference_column: ReferenceColumn = "references",
    attribute_column: AttributeColumn = None,
    task_column: TaskColumn = "tasks",
    preset: Annotated[
        str,
        typer.Option(
            help="dbac-2026: the paper's protocol, with LSTMs; needs torch, and hours without a GPU. "
            f"dbac-2026-published: its tokenizer and task words too, to compare with its tables only. {FAST}",
            rich_help_panel=ATTACK,
        ),
    ] = "dbac-2026",
    direction: Annotated[
        list[DirectionName] | None,
        typer.Option(metavar="<a_to_t|t_to_a>", help="One direction only.", rich_help_panel=ATTACK),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            help="The attacker: lstm, bilstm, rnn, birnn, transformer-1h, transformer-5h, bow, lstm-lic, or your own "
            "torch module as module:Class.",
            show_default=OF_PRESET,
            rich_help_panel=ATTACK,
        ),
    ] = None,
    precision: Precision = None,
    trials: Trials = None,
    seed: Seed = 0,
    quality: Annotated[
        str | None,
        typer.Option(
            help="The attacker's quality: confidence, accuracy or inverse_cross_entropy.",
            show_default=OF_PRESET,
            rich_help_panel=ATTACK,
        ),
    ] = None,
    vectors: Annotated[
        str | None,
        typer.Option(
            help="Word vectors that align human captions with the captioner's words: 'captions' (trained on yours), a "
            "GloVe, word2vec or FastText file, or a gensim download such as glove-wiki-gigaword-50.",
            show_default=OF_PRESET,
            rich_help_panel=ATTACK,
        ),
    ] = None,
    bootstrap: Bootstrap = 1000,
    cache: KeepTrials = True,
    output: Output = None,
) -> None:
    """DBAC: does the attribute shape the tasks named (A to T), do the tasks shape the attribute named (T to A)?

    Example: captionbias measure dbac --predictions nic.parquet --references people.parquet --preset fast
    """
    from captionbias.report import check_writable, dbac_table

    with _plain_errors():
        from captionbias.metrics import dbac

        if output:
            check_writable(output)  # not after hours of training
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
        chosen |= {"task_lexicon": task_lexicon, "tasks": captions.tasks, "precision": precision, "cache": cache}
        chosen |= {"directions": [name.value for name in direction]} if direction else {}
        result, details = _measured(dbac, captions, chosen)
        console.print(dbac_table(result))
        _tell_rest("dbac", result, details, output)


def _read(**files: Any) -> Any:
    from captionbias.captions import read_captions

    return read_captions(**files)


def _measured(
    metric: Callable[..., dict[str, Any]], captions: Any, chosen: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The metric's flat result, and its details."""
    result = metric(
        predictions=captions.predictions,
        references=captions.references,
        attributes=captions.attributes,
        details=True,
        progress=complaints.is_terminal,
        **chosen,
    )
    return result, result.pop("details")


def _tell_rest(name: str, result: dict[str, Any], details: dict[str, Any], output: Path | None) -> None:
    """What every metric has below its table: the images, the signature, the file with everything."""
    from captionbias.report import write_json

    counts = ", ".join(f"{count:,} {value}" for value, count in details["attribute_counts"].items())
    console.print(f"\n{details['images']:,} images: {counts}", highlight=False, markup=False)
    console.print(f"signature {result['signature']}", highlight=False, markup=False, soft_wrap=True)
    if output and not console.quiet:
        write_json({"metric": name, "version": __version__, "scores": result, "details": details}, output)
        console.print(f"everything is in {output}", highlight=False, markup=False, soft_wrap=True)


@app.command("install-metrics")
def install_metrics(
    names: Annotated[list[str] | None, typer.Argument(help="Which metrics; all when none is named.")] = None,
) -> None:
    """Make evaluate.load("lic") and evaluate.load("dbac") work anywhere on this machine, offline too.

    Example: captionbias install-metrics
    """
    with _plain_errors():
        try:
            from captionbias.hub.modules import install_metrics as install
        except ModuleNotFoundError as error:
            raise ValueError(f"{error}: pip install 'captionbias[evaluate]' first") from error

        for path in install(names or None):
            console.print(f"evaluate.load({path.stem!r}) loads {path}", highlight=False, markup=False, soft_wrap=True)


@app.command()
def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Remove them all: the next run trains anew.")] = False,
) -> None:
    """Show where finished trials are kept and how many there are, or remove them.

    CAPTIONBIAS_CACHE names another folder than the usual one, CAPTIONBIAS_CACHE_GB another limit than 1 GB.

    Example: captionbias cache --clear
    """
    from rich.filesize import decimal

    def tell(text: str) -> None:
        console.print(text, highlight=False, markup=False, soft_wrap=True)

    with _plain_errors():
        from captionbias.attackers.cache import open_cache

        kept = open_cache(True)
        if kept is None:  # a note has said why
            return
        if clear:
            removed = kept.clear()
            tell(f"removed {removed.trials:,} trials, {decimal(removed.size)}, from {kept.folder}")
            if left := kept.contents().trials:
                raise ValueError(f"{left:,} trials in {kept.folder} could not be removed: make that folder writable")
            return
        found = kept.contents()
        tell(f"folder  {kept.folder}")
        tell(f"trials  {found.trials:,}")
        tell(f"size    {decimal(found.size)} of at most {decimal(kept.limit)}")
        if found.oldest and found.newest:
            tell(f"used    {found.oldest:%Y-%m-%d %H:%M} to {found.newest:%Y-%m-%d %H:%M}")


@app.command()
def demo(
    images: Annotated[int, typer.Option(help="Images to plant.", min=200)] = 6000,
    seed: Annotated[int, typer.Option(help="Seed of everything.")] = 0,
) -> None:
    """Measure captioners whose bias is known, because it was planted. Needs no data and no torch; under a minute.

    Example: captionbias demo --images 1000
    """
    from rich.progress import track

    from captionbias.planted import plant
    from captionbias.report import interval, plain_table, verdict

    captioners: dict[str, dict[str, Any]] = {
        "faithful to\nits data": {},
        "faithful,\nnames half\nthe tasks": {"naming": 0.5},
        "attribute\nshapes tasks\n(A to T)": {"a_to_t": 0.5},
        "tasks shape\nattribute\n(T to A)": {"t_to_a": 0.5},
        "mitigates\nboth": {"a_to_t": -0.5, "t_to_a": -0.5},
    }
    columns = {
        "DBAC A to T\nmatched": ("dbac_a_to_t_matched", 2),
        "DBAC A to T\nas published": ("dbac_a_to_t", 2),
        "DBAC T to A\nmatched": ("dbac_t_to_a_matched", 2),
        "LIC x 100": ("lic", 1),
    }
    table = plain_table(
        f"{images:,} planted images, preset fast, {DEMO_TRIALS} trials [95% interval]",
        "captioner",
        *columns,
        meaning="Above 0 the captioner makes its data's bias worse (amplifies), below 0 it softens it (mitigates). The "
        "second captioner has no bias of its own; it names fewer tasks. That alone moves DBAC as published a long way, "
        "and lowers LIC. Matched DBAC stays.",
    )
    with _plain_errors():
        from captionbias.captions import CaptionBiasWarning
        from captionbias.metrics import dbac, lic

        warnings.simplefilter("ignore", CaptionBiasWarning)
        shown: dict[str, Any] = {"console": complaints, "transient": True, "disable": not complaints.is_terminal}
        for name, dials in track(captioners.items(), "measuring", **shown):
            given = vars(plant(images, captions=1, seed=seed, **dials))
            chosen: dict[str, Any] = {"preset": "fast", "trials": DEMO_TRIALS, "seed": seed}
            result = dbac(**given, **chosen) | lic(**given, **chosen)
            cells = (f"{interval(result, key, digits)}\n{verdict(result, key)}" for key, digits in columns.values())
            table.add_section()
            table.add_row(name, *(cell.replace(" [", "\n[") for cell in cells))
    console.print(table)
    console.print("\nOn your own files: captionbias measure --help")


@app.callback(invoke_without_command=True)
def main(version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False) -> None:
    """Measure whether an image captioner makes its data's bias worse."""
    from captionbias.attackers.processes import crew

    others = crew()
    console.quiet = others is not None and others.rank > 0  # every process measures, one tells
    if version:
        console.print(f"captionbias {__version__}", highlight=False)
        raise typer.Exit


@contextmanager
def _plain_errors() -> Iterator[None]:
    """Errors of the input as one line and exit status 2; warnings as notes, each once and as soon as it is known."""
    from captionbias.attackers.processes import RankError
    from captionbias.attackers.workers import WorkerKilledError
    from captionbias.captions import CaptionBiasWarning

    noted: set[str] = set()

    def tell(message: Warning | str, *_: Any, **__: Any) -> None:
        if str(message) not in noted and not console.quiet:
            noted.add(str(message))
            complaints.print(f"note: {message}", highlight=False, markup=False, soft_wrap=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", CaptionBiasWarning)
        warnings.showwarning = tell
        try:
            yield
        except (ValueError, RankError, WorkerKilledError) as error:
            complaints.print(f"error: {error}", style="red", highlight=False, markup=False, soft_wrap=True)
            raise typer.Exit(2) from error
