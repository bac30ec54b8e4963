"""`captionbias weights`: how often to draw each training image, against the pairs that a DBAC comes from."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from captionbias.cli.options import COLUMNS, INPUT, RESULT, DirectionName, IdColumn, Keep, TaskColumn
from captionbias.cli.terminal import console, plain_errors

if TYPE_CHECKING:
    from rich.table import Table

    from captionbias.captions import Captions

Row = Mapping[str, Any]

WRITTEN_BY = "captionbias measure dbac --output or captionbias report --json"
LABELS = ("direction", "attribute", "task")
SHOWN_NAMES = 5


def weights(
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help=f"What {WRITTEN_BY} wrote.")],
    attributes: Annotated[
        Path, typer.Option(help="The attribute's label of each training image.", rich_help_panel=INPUT)
    ],
    tasks: Annotated[
        Path | None,
        typer.Option(
            help="The tasks of each training image, under the names that the results have.",
            show_default="the file of --attributes",
            rich_help_panel=INPUT,
        ),
    ] = None,
    captioner: Annotated[
        str | None, typer.Option(help="Whose results, if there are several captioners.", rich_help_panel=INPUT)
    ] = None,
    keep: Keep = None,
    id_column: IdColumn = None,
    attribute_column: Annotated[
        str | None, typer.Option(help="Labels.", show_default="gender", rich_help_panel=COLUMNS)
    ] = None,
    task_column: TaskColumn = None,
    direction: Annotated[
        DirectionName | None,
        typer.Option(metavar="<a_to_t|t_to_a>", help="Pairs of one direction only.", rich_help_panel=RESULT),
    ] = None,
    top: Annotated[
        int, typer.Option(help="Pairs to take: those that add most to matched DBAC.", min=1, rich_help_panel=RESULT)
    ] = 10,
    output: Annotated[Path, typer.Option(help="The weights, as .csv or .parquet.", rich_help_panel=RESULT)] = Path(
        "weights.csv"
    ),
) -> None:
    """Which training images to draw more often, so that the attribute says nothing about the tasks that are amplified.

    Pairs are taken by what they add to matched DBAC, since the published one also moves with how often a captioner
    names tasks at all; by the published one where no matched one is defined.

    Example: captionbias weights dbac.json --attributes train.parquet --tasks train.parquet
    """
    with plain_errors():
        from captionbias.captions import read_labels
        from captionbias.explain import in_words, predicted_effect, resampling_weights, write_weights

        taken = _taken(_read_rows(results, captioner, direction), top, results)
        images = read_labels(
            attributes,
            tasks,
            attribute="gender",
            id_column=id_column,
            attribute_column=attribute_column,
            task_column=task_column,
            keep=keep,
        )
        shown = _checked_tasks(images, taken, tasks or attributes, results)
        found = resampling_weights(images.attributes, shown, taken, top=len(taken))
        effect = predicted_effect(images.attributes, shown, found)
        write_weights(output, images.image_ids, found)

        console.print(
            f"Pairs that add most to the score ({_forms(taken)}):", highlight=False, markup=False, soft_wrap=True
        )
        for row in taken:
            console.print(in_words(row), highlight=False, markup=False, soft_wrap=True)
        console.print()
        console.print(_effect_table(effect, taken), markup=False)
        span = f"weights from {found.min():.2f} to {found.max():.2f}, 1 on average"
        console.print(
            f"\n{len(images):,} images, {span}, are in {output}", highlight=False, markup=False, soft_wrap=True
        )
        for line in _uses(output):
            console.print(line, highlight=False, markup=False, soft_wrap=True)


def _read_rows(file: Path, captioner: str | None, direction: DirectionName | None) -> list[Row]:
    """The rows of the captioner's sources, of one direction or of all that were measured."""
    sources = _sources(file, captioner)
    if direction and direction.value not in sources:
        raise ValueError(f"--direction {direction.value}: {file} has {', '.join(sources) or 'no direction'} only")
    rows = []
    for name in [direction.value] if direction else sources:
        where = f"{file}: details.sources.{name}"
        if not isinstance(sources[name], list):
            raise ValueError(f"{where} is no list: give a file as {WRITTEN_BY} wrote it")
        rows += [_checked_row(row, f"{where}[{number}]") for number, row in enumerate(sources[name])]
    if not rows:
        raise ValueError(
            f"{file} has no rows in details.sources: the quality inverse_cross_entropy has none; measure with another"
        )
    return rows


def _sources(file: Path, captioner: str | None) -> Mapping[str, Any]:
    content = _content(file)
    of_captioners = _at(content, "comparisons", "dbac", "results")
    if isinstance(of_captioners, Mapping) and of_captioners:
        found = _at(of_captioners[_chosen(list(of_captioners), captioner, file)], "details", "sources")
    else:
        measured = content if _at(content, "metric") == "dbac" else _at(content, "metrics", "dbac")
        if measured is None:
            raise ValueError(f"{file} holds no DBAC: give what {WRITTEN_BY} wrote")
        if captioner is not None:
            raise ValueError(f"--captioner {captioner}: {file} holds one captioner, without a name; leave it out")
        found = _at(measured, "details", "sources")
    if not isinstance(found, Mapping):
        raise ValueError(
            f"{file} does not say where its DBAC comes from (details.sources): give what {WRITTEN_BY} wrote"
        )
    return found


def _content(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{file} cannot be read ({error.strerror or error}): give what {WRITTEN_BY} wrote") from error
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file} is no JSON ({error}): give what {WRITTEN_BY} wrote") from error


def _at(content: Any, *keys: str) -> Any:
    """The entry of an entry, None where there is none."""
    for key in keys:
        content = content.get(key) if isinstance(content, Mapping) else None
    return content


def _chosen(names: list[str], captioner: str | None, file: Path) -> str:
    if captioner is None and len(names) > 1:
        raise ValueError(f"{file} has several captioners: name one of {', '.join(names)} with --captioner")
    if captioner is not None and captioner not in names:
        raise ValueError(f"--captioner {captioner} is not in {file}: it has {', '.join(names)}")
    return captioner or names[0]


def _checked_row(row: Any, where: str) -> Row:
    """The row without what is undefined."""
    labels = [_at(row, label) for label in LABELS]
    known = labels[0] in ("a_to_t", "t_to_a") and all(label is None or isinstance(label, str) for label in labels[1:])
    if not known:
        raise ValueError(f"{where} is no pair of an attribute value and a task: give what {WRITTEN_BY} wrote")
    numbers = {key: value for key, value in row.items() if key not in LABELS and value is not None}
    for key, value in numbers.items():
        if not isinstance(value, (int, float)) or not math.isfinite(value):
            raise ValueError(f"{where}.{key} is {value!r}, which is no finite number: measure again")
    if "named_m" not in numbers and "named_h" not in numbers:
        raise ValueError(f"{where} has neither named_m nor named_h: measure again")
    return dict(zip(LABELS, labels, strict=True)) | numbers


def _taken(rows: Sequence[Row], top: int, file: Path) -> list[Row]:
    """The pairs that add most, first the one that adds most of all."""
    from captionbias.analysis.resampling import added

    if all(added(row) is None for row in rows):
        raise ValueError(
            f"{file} is of one side alone, so no pair is amplified: measure with --predictions and --references"
        )
    pairs = [row for row in rows if row["attribute"] is not None and row["task"] is not None]
    adding = [row for row in pairs if (added(row) or 0.0) > 0]
    if not adding:
        raise ValueError(
            f"{file}: no pair of an attribute value and a task adds to the score ({_forms(rows)}), so no image needs a "
            "weight"
        )
    return sorted(adding, key=lambda row: -(added(row) or 0.0))[:top]


def _forms(rows: Sequence[Row]) -> str:
    """Of which score the parts are that `added` reads."""
    forms = ["matched" if "amplification_matched" in row else "as published" for row in rows]
    return " or ".join(dict.fromkeys(forms))


def _checked_tasks(images: Captions, taken: Sequence[Row], file: Path, results: Path) -> list[list[str]]:
    """The images' tasks, every task of the rows among them."""
    tasks = [list(of_image) for of_image in images.tasks or ()]
    shown = {task for of_image in tasks for task in of_image}
    if missing := list(dict.fromkeys(row["task"] for row in taken if row["task"] not in shown)):
        raise ValueError(
            f"{file}: no image shows {_some(missing)}, of the pairs in {results}; images show {_some(sorted(shown))}. "
            "Give tasks under the names of the results, or take fewer pairs with --top or --direction"
        )
    return tasks


def _some(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:SHOWN_NAMES])) + (", ..." if len(names) > SHOWN_NAMES else "")


def _effect_table(effect: Sequence[Row], taken: Sequence[Row]) -> Table:
    """The tasks of the pairs with every attribute value, since a pair can name its own otherwise than the images do."""
    from captionbias.report.terminal import plain_table

    table = plain_table(
        "Predicted effect on the training images",
        *("task", "attribute", "images", "before", "after"),
        meaning="Before, after: the attribute's share of the images with the task, over its share of all images. 1 is "
        "independent, above 1 they go together. What a captioner trained on them will name, these numbers do not say.",
    )
    for task in dict.fromkeys(row["task"] for row in taken):
        for number, row in enumerate(row for row in effect if row["task"] == task):
            ratios = (f"{row[when]:.2f}" for when in ("before", "after"))
            table.add_row("" if number else task, row["attribute"], f"{row['images']:,}", *ratios)
    return table


def _uses(file: Path) -> list[str]:
    """How to draw by the weights, whatever the order of the images."""
    read = "read_parquet" if file.suffix == ".parquet" else "read_csv"
    kinds = "" if file.suffix == ".parquet" else ", dtype={'image_id': str}"
    by_id = ".set_index('image_id')['weight'].reindex(list(map(str, ids)), fill_value=0).to_numpy(copy=True)"
    drawn = "numpy.random.default_rng(0).choice(len(weights), len(weights), p=weights / weights.sum())"
    return [
        "read, with the ids of your images in their order (an image without a weight is never drawn):",
        f"  weights = pandas.{read}({str(file)!r}{kinds}){by_id}",
        "torch, as the sampler of a DataLoader:",
        "  sampler = torch.utils.data.WeightedRandomSampler(weights, len(weights))",
        "datasets, drawn once:",
        f"  drawn = data.select({drawn})",
    ]
