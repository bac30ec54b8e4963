"""Captions from files and from tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from captionbias.captions.check import Captions
from captionbias.captions.join import Source, joined
from captionbias.captions.tables import Table, listed, table_from_file, table_from_memory

ID_COLUMN, PREDICTION_COLUMN, REFERENCE_COLUMN = "image_id", "caption", "references"
ATTRIBUTE_COLUMN, TASK_COLUMN = "attribute", "tasks"


def read_captions(
    *,
    predictions: Path | str | None = None,
    references: Path | str | None = None,
    attributes: Path | str | None = None,
    tasks: Path | str | None = None,
    id_column: str = ID_COLUMN,
    prediction_column: str = PREDICTION_COLUMN,
    reference_column: str = REFERENCE_COLUMN,
    attribute_column: str = ATTRIBUTE_COLUMN,
    task_column: str = TASK_COLUMN,
    keep: Sequence[str] | None = None,
) -> Captions:
    """Read captions from files and join them by image id.

    A file is .csv, .tsv, .jsonl, .parquet, or .json: an array of records (COCO results) or COCO captions,
    `{"annotations": [records]}`. Ids are compared as text, and 42, 42.0 and "42" are one image. Without an id column
    everything must stand in one file; its rows are then the images, named "row 0", "row 1" and so on.

    Args:
        predictions: file with one model caption for each image.
        references: file with human captions: a list in each row (in CSV a JSON list, or text, which is one caption),
            or several rows for an image. A file without a column "references" is read at `prediction_column`.
        attributes: file with the label of each image; default: the one of `references`, `predictions` that has it.
        tasks: file with the tasks of each image, as lists or as several rows; default: as for `attributes`, or none.
            Images that only this file has are passed over without a warning: annotations cover more than captions.
        id_column, prediction_column, reference_column, attribute_column, task_column: names of columns.
        keep: use only the images with one of these labels.

    Returns:
        The images that are in every file and have a human caption (if `references` is given), in the order of
        `predictions`, else of `references`.

    Raises:
        ValueError: a file cannot be read, a column is missing, an image has two predictions or two labels, no image
            is in all files, an image has no label and `keep` is not given, or `check_captions` raises.

    Warns:
        CaptionBiasWarning: images are left out, once for each cause.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder, "all.csv")
        ...     _ = file.write_text("image_id,caption,attribute\\n7,a man,male\\n9,a girl,female\\n")
        ...     read_captions(predictions=file).image_ids
        ('7', '9')
    """
    opened: dict[Path, Table] = {}

    def table(path: Path | str | None) -> Table | None:
        if path is None:
            return None
        file = Path(path).expanduser()
        if file.resolve() not in opened:
            opened[file.resolve()] = table_from_file(file)
        return opened[file.resolve()]

    predicted, human = table(predictions), table(references)
    sides = [side for side in (human, predicted) if side is not None]
    if not sides:
        raise ValueError("predictions and references are both missing: give model captions, human captions or both")
    labelled = table(attributes) or _first_with(attribute_column, sides)
    if labelled is None:
        raise _no_column("attributes", attribute_column, sides)
    tasked = table(tasks) or _first_with(task_column, sides)
    if tasked is None and task_column != TASK_COLUMN:
        raise _no_column("tasks", task_column, sides)
    if human is not None and human is not predicted and reference_column == REFERENCE_COLUMN:
        reference_column = _first_in(human, reference_column, prediction_column)
    return joined(
        predictions=predicted and Source(predicted, prediction_column),
        references=human and Source(human, reference_column),
        attributes=Source(labelled, attribute_column),
        tasks=tasked and Source(tasked, task_column),
        id_column=id_column,
        keep=keep,
    )


def captions_from_table(
    table: Any,
    *,
    id_column: str = ID_COLUMN,
    prediction_column: str = PREDICTION_COLUMN,
    reference_column: str = REFERENCE_COLUMN,
    attribute_column: str = ATTRIBUTE_COLUMN,
    task_column: str = TASK_COLUMN,
    keep: Sequence[str] | None = None,
) -> Captions:
    """Take captions from one table that holds everything.

    Like `read_captions` with every argument at the same file: predictions, references and tasks are used if their
    columns exist, and a column that you name must exist.

    Args:
        table: a datasets.Dataset, pandas DataFrame, pyarrow Table or mapping of columns.

    Example:
        >>> captions_from_table(
        ...     {
        ...         "caption": ["a man", "a girl"],
        ...         "references": [["a guy"], ["a girl", "a child"]],
        ...         "gender": ["male", "female"],
        ...     },
        ...     attribute_column="gender",
        ... )
        <Captions of 2 images: attributes, predictions, references, image_ids>
    """
    whole = table_from_memory(table)

    def source(column: str, default: str) -> Source | None:
        return Source(whole, column) if column in whole.columns or column != default else None

    predictions = source(prediction_column, PREDICTION_COLUMN)
    references = source(reference_column, REFERENCE_COLUMN)
    if predictions is None and references is None:
        raise ValueError(
            f"table has neither predictions, '{prediction_column}', nor references, '{reference_column}': "
            f"it has {listed(whole.columns)}; name one of these with prediction_column or reference_column"
        )
    return joined(
        predictions=predictions,
        references=references,
        attributes=Source(whole, attribute_column),
        tasks=source(task_column, TASK_COLUMN),
        id_column=id_column,
        keep=keep,
    )


def _first_with(column: str, tables: list[Table]) -> Table | None:
    return next((table for table in tables if column in table.columns), None)


def _first_in(table: Table, column: str, other_column: str) -> str:
    return other_column if column not in table.columns and other_column in table.columns else column


def _no_column(argument: str, column: str, tables: list[Table]) -> ValueError:
    found = " and ".join(f"{table.name}, which has {listed(table.columns)}" for table in dict.fromkeys(tables))
    return ValueError(
        f"{argument} needs a column '{column}', and there is none in {found}: "
        f"name one of these columns, or give a file for {argument}"
    )
