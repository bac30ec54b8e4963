"""What a dataset is made of: original files in, Arrow tables out."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK = 4096  # images a table
COMPARED = {"gender": ("female", "male"), "race": ("light", "dark"), "age": ("young", "old")}
CAPTIONER = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,62}")


class Source(Protocol):
    """The original files of one dataset, opened.

    Attributes:
        CONFIGURATIONS: names of the tables that the files can be read as.
        SPLIT: the name of the one split.
        files: every file that is read.
        BENCHMARK: whether captioners are measured on it, so that their results on the Hub may name it.
        captioners: names of the columns with captioners' captions.
        left_out: for each configuration that was read, why rows were left out, and how many for each reason.
    """

    CONFIGURATIONS: ClassVar[tuple[str, ...]]
    SPLIT: ClassVar[str]
    BENCHMARK: ClassVar[bool]
    files: tuple[Path, ...]
    captioners: tuple[str, ...]
    left_out: dict[str, dict[str, int]]

    def __init__(self, folder: Path) -> None: ...

    def schema(self, configuration: str) -> pa.Schema:
        """The columns of a configuration."""
        ...

    def tables(self, configuration: str) -> Iterator[pa.Table]:
        """The rows of a configuration, block after block, in an order that depends on nothing but the files."""
        ...


def attribute_rows(table: pa.Table, attribute: str, left_out: Counter[str]) -> pa.Table:
    """The images with a human caption and one of the two labels that are compared, in lower case.

    Why the others are left out is added up in `left_out`.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    labels = pc.utf8_lower(table["attribute"])
    captioned = pc.greater(pc.list_value_length(table["references"]), 0)
    compared = pc.fill_null(pc.is_in(labels, pa.array(COMPARED[attribute])), False)
    for label in labels.filter(pc.invert(compared)).to_pylist():
        left_out[f"labelled {label}" if label else f"without a label of {attribute}"] += 1
    left_out["without a human caption"] += int(np.sum(pc.and_(compared, pc.invert(captioned)).to_numpy()))
    place = table.column_names.index("attribute")
    return table.set_column(place, "attribute", labels).filter(pc.and_(compared, captioned))


def find_file(folder: Path, *names: str, within: Collection[str] = ("", "annotations")) -> Path | None:
    """The first of these files that is there, in the folder itself or in a folder `annotations` in it."""
    for name in names:
        for place in within:
            if (path := folder / place / name).is_file():
                return path
    return None


def need_file(folder: Path, name: str, origin: str) -> Path:
    """As `find_file`; raises ValueError, with where the file comes from, when it is not there."""
    path = find_file(folder, name)
    if path is None:
        raise ValueError(f"{folder} has no {name}: put it there; it comes from {origin}")
    return path


def results_files(folder: Path, taken: Collection[str]) -> dict[str, Path]:
    """COCO results files in a folder `results`, by the column that each captioner gets: its file's name.

    Raises:
        ValueError: a name that is no name of a column, or one that another column has.
    """
    found: dict[str, Path] = {}
    for path in sorted((folder / "results").glob("*.json")):
        if not CAPTIONER.fullmatch(path.stem):
            raise ValueError(
                f"results/{path.name} names a column: letters, digits and _ only, and a letter first; rename the file"
            )
        if path.stem.lower() in {name.lower() for name in (*taken, *found)}:
            raise ValueError(f"results/{path.name}: there is another column {path.stem!r}; rename the file")
        found[path.stem] = path
    return found


def fingerprint(files: Collection[Path], code: Collection[Path]) -> str:
    """One name for the content of these files and this code; other content has another name."""
    total = hashlib.sha256()
    for path in (*files, *sorted(code)):
        content = hashlib.sha256()
        try:
            with path.open("rb") as file:
                while part := file.read(1 << 20):
                    content.update(part)
        except OSError as error:
            raise ValueError(f"{path} cannot be read ({error.strerror or error}): put the file there") from error
        total.update(os.fsencode(path.name) + b"\0" + content.digest())
    return total.hexdigest()[:32]


def mark(name: str) -> str:
    """The line of a dataset card by which a folder is known as a build of the dataset."""
    return f"<!-- built by captionbias: {name} -->"


def reasons(left_out: Mapping[str, int]) -> str:
    """Why rows were left out, the most frequent reason first.

    >>> reasons({"labelled unsure": 3410, "empty human captions": 0, "labelled both": 813})
    '3,410 labelled unsure, 813 labelled both'
    """
    counts = sorted(((count, reason) for reason, count in left_out.items() if count), reverse=True)
    return ", ".join(f"{count:,} {reason}" for count, reason in counts) or "none"
