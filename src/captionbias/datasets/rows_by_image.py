"""Rows sorted by image, more of them than fit in memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, TypeAlias

Row: TypeAlias = tuple[Any, ...]


class RowsByImage:
    """Rows that come in any order and are read by image, as often as needed.

    They wait in a temporary database of SQLite's: in memory while they are few, then in a file that is deleted with the
    object.

    Args:
        columns: names of the columns.
        rows: their strings, numbers and None.
        keys: how many columns, from the first one on, name the image.

    Example:
        >>> captions = RowsByImage(["image", "caption"], [(9, "a dog"), (7, "a cat"), (9, "a puppy")])
        >>> list(captions)
        [((7,), [(7, 'a cat')]), ((9,), [(9, 'a dog'), (9, 'a puppy')])]
        >>> list(captions.of([7, 8, 9]))
        [[(7, 'a cat')], [], [(9, 'a dog'), (9, 'a puppy')]]
    """

    def __init__(self, columns: Sequence[str], rows: Iterable[Row], keys: int = 1) -> None:
        self._keys = keys
        self._sorted = f"SELECT * FROM rows ORDER BY {', '.join(columns[:keys])}, rowid"
        self._database = sqlite3.connect("", check_same_thread=False)
        self._database.execute(f"CREATE TABLE rows ({', '.join(columns)})")
        self._database.executemany(f"INSERT INTO rows VALUES ({', '.join('?' * len(columns))})", rows)

    def __iter__(self) -> Iterator[tuple[Row, list[Row]]]:
        """Each image that has rows, in ascending order, with its rows in the order in which they came."""
        for image, rows in groupby(self._database.execute(self._sorted), lambda row: row[: self._keys]):
            yield image, list(rows)

    def of(self, images: Iterable[int]) -> Iterator[list[Row]]:
        """The rows of each of these images, which must be in ascending order."""
        groups = iter(self)
        found, rows = next(groups, (None, []))
        for image in images:
            while found and found[0] < image:
                found, rows = next(groups, (None, []))
            yield rows if found == (image,) else []
