"""What somebody gave the app: tables, which column is what, and the captions that follow from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from captionbias.app.uploads import MAX_BYTES, open_upload, shown_name
from captionbias.attackers.splits import SMALLEST_CLASS
from captionbias.captions import Captioners, Captions, on_the_same_images
from captionbias.captions.columns import Columns, guess_columns, join_uploads
from captionbias.captions.tables import Table
from captionbias.captions.values import is_missing

MAX_CAPTIONERS = 10
MAX_TOTAL = 3 * MAX_BYTES  # of all files together, as long as somebody uses the page
MAX_LABELS = 50  # that can be chosen from


@dataclass(frozen=True, eq=False)
class Given:
    """Tables of captions and labels; `again`: how a program makes the same ones, if they are no files."""

    predictions: dict[str, Table]
    references: Table | None = None
    attributes: Table | None = None
    tasks: Table | None = None
    again: str = ""

    def __bool__(self) -> bool:
        return bool(self.predictions) or self.references is not None

    def first(self) -> Table | None:
        return next(iter(self.predictions.values()), None)

    def columns(self) -> Columns:
        """A guess of which column is what."""
        return guess_columns(
            predictions=self.first(), references=self.references, attributes=self.attributes, tasks=self.tasks
        )


@dataclass(frozen=True)
class Chosen:
    """Which columns to use, by name: several `predictions` are several captioners; and which labels to keep."""

    image_id: str | None
    predictions: tuple[str, ...]
    references: str | None
    attributes: str | None
    tasks: str | None
    keep: tuple[str, ...] = ()


def read_given(predictions: Sequence[str], references: str | None, attributes: str | None, tasks: str | None) -> Given:
    """Read uploaded files, one for each captioner.

    Raises:
        ValueError: too many files, two captioners of one name, or what `open_upload` refuses.
    """
    _check_count(len(predictions))
    total = sum(Path(path).stat().st_size for path in (*predictions, references, attributes, tasks) if path)
    if total > MAX_TOTAL:
        raise ValueError(
            f"the files have {total / 1e6:,.0f} MB together, and this page takes {MAX_TOTAL / 1e6:,.0f} MB at most: "
            "give fewer captioners or images"
        )
    captioners: dict[str, Table] = {}
    for path in predictions:
        name = shown_name(Path(path).stem)
        if name in captioners:
            raise ValueError(f"two files of captioners are called {name}: rename one, as its name is the captioner's")
        captioners[name] = _opened(path)
    return Given(
        captioners,
        references=_opened(references) if references else None,
        attributes=_opened(attributes) if attributes else None,
        tasks=_opened(tasks) if tasks else None,
    )


def _opened(path: str) -> Table:
    return open_upload(Path(path), Path(path).name)


def labels(given: Given, column: str | None) -> dict[str, int]:
    """How many rows each value of an attribute column has, the most frequent first."""
    if column is None:
        return {}
    tables = [given.attributes] if given.attributes else [given.references, given.first()]
    table = next((table for table in tables if table is not None and column in table.columns), None)
    if table is None:
        return {}
    values = [str(value).strip() for value in table.column(column) if not is_missing(value) and str(value).strip()]
    return dict(Counter(values).most_common())


def kept_at_first(counts: Mapping[str, int]) -> list[str]:
    """The labels that attackers can learn; none where there are more than anybody would choose from."""
    kept = [label for label, count in counts.items() if count >= SMALLEST_CLASS]
    return kept if len(counts) <= MAX_LABELS else []


def left_out(counts: Mapping[str, int], keep: Sequence[str]) -> str:
    """Which labels are not kept, with their rows; empty if all are.

    >>> left_out({"female": 50, "male": 50, "other": 3}, ["female", "male"])
    "left out by their label: 'other' (3 rows)"
    """
    gone = [f"{label!r} ({count:,} rows)" for label, count in counts.items() if keep and label not in keep]
    return f"left out by their label: {', '.join(gone)}" if gone else ""


def captions_of(given: Given, chosen: Chosen, only: str | None = None) -> dict[str, Captions]:
    """Each captioner's captions, joined with what is known of their images; of one captioner only, if it is named.

    Raises:
        ValueError: as `join_uploads`; no files, or no column of model captions.
    """
    if not given:
        raise ValueError("there are no captions yet: upload a file, or take the example data")
    if not given.predictions or not chosen.predictions:
        raise ValueError("choose the file and the column of the captioner's captions")
    return {
        name: join_uploads(
            predictions=table,
            references=given.references,
            attributes=given.attributes,
            tasks=given.tasks,
            id_column=chosen.image_id,
            prediction_column=column,
            reference_column=chosen.references,
            attribute_column=chosen.attributes,
            task_column=chosen.tasks,
            keep=chosen.keep or None,
        )
        for name, table, column in _captioners(given, chosen)
        if only is None or name == only
    }


def captioners_of(given: Given, chosen: Chosen) -> Captioners:
    """All captioners on the images that all of them have."""
    return on_the_same_images(captions_of(given, chosen))


def names_of(given: Given, chosen: Chosen) -> list[str]:
    """What the captioners are called."""
    return [name for name, _, _ in _captioners(given, chosen)]


def _captioners(given: Given, chosen: Chosen) -> list[tuple[str, Table, str]]:
    """Files by columns: named after the file, after the column where one file has several, or after both."""

    def name(file: str, column: str) -> str:
        if len(chosen.predictions) == 1:
            return file
        return column if len(given.predictions) == 1 else f"{file} {column}"

    columns = chosen.predictions
    found = [(name(file, column), table, column) for file, table in given.predictions.items() for column in columns]
    _check_count(len(found))
    names = [each for each, _, _ in found]
    for each in names:
        if names.count(each) > 1:
            raise ValueError(f"two captioners would be called {each!r}: rename a file or a column")
    return found


def _check_count(captioners: int) -> None:
    if captioners > MAX_CAPTIONERS:
        raise ValueError(f"there are {captioners} captioners, and this page takes {MAX_CAPTIONERS} at most: give fewer")
