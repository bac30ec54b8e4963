"""The original files of a dataset: found in a folder, and read as rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa


class OriginalFiles(ABC):
    """The original files of one dataset. A subclass finds them in a folder and reads their rows.

    `BENCHMARK`: captioners are measured on it, so their results on the Hub may name it. `TERMS`: by configuration
    the dataset whose card has the terms of its labels, where they are not this card's. `left_out`: rows, by reason.
    """

    CONFIGURATIONS: ClassVar[tuple[str, ...]]
    SPLIT: ClassVar[str] = "validation"
    BENCHMARK: ClassVar[bool] = True
    TERMS: ClassVar[Mapping[str, str]] = {}

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.left_out: dict[str, Counter[str]] = {}

    @abstractmethod
    def schema(self, configuration: str) -> pa.Schema:
        """The columns of a configuration."""

    @abstractmethod
    def rows(self, configuration: str) -> Iterator[dict[str, Any]]:
        """The rows of a configuration, in an order that depends on nothing but the files."""


def find_file(folder: Path, *names: str) -> Path | None:
    """The first of these files that is there, in the folder itself or in a folder `annotations` in it."""
    places = (place / name for name in names for place in (folder, folder / "annotations"))
    return next((path for path in places if path.is_file()), None)


def need_file(folder: Path, name: str, origin: str) -> Path:
    path = find_file(folder, name)
    if path is None:
        raise ValueError(f"{folder} has no {name}: put it there; it comes from {origin}")
    return path
