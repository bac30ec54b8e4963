"""Rows of a table that may be larger than memory, collected by the image that they belong to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from captionbias.arrays import Array, Integers

if TYPE_CHECKING:
    import pyarrow as pa


class ByImage:
    """Rows that come in any order and go out by image. They wait in a file; only their image ids stay in memory.

    Example:
        >>> import tempfile, pyarrow as pa
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     captions = ByImage(Path(folder, "captions.arrow"), pa.schema({"caption": pa.string()}))
        ...     captions.add(np.array([9, 7, 9]), {"caption": ["a dog", "a cat", "a puppy"]})
        ...     captions.finish()
        ...     offsets, rows = captions.of(np.array([7, 8, 9]))
        ...     as_lists(offsets, rows["caption"]).to_pylist()
        [['a cat'], [], ['a dog', 'a puppy']]
    """

    def __init__(self, file: Path, schema: pa.Schema) -> None:
        import pyarrow as pa

        self.images: Integers = np.empty(0, np.int64)  # of each row, in the order of the file
        self._schema, self._file, self._blocks = schema, file, [self.images]
        self._writer = pa.ipc.new_file(str(file), schema)

    def add(self, images: Integers, columns: Mapping[str, Sequence[Any]]) -> None:
        """Add rows: the image of each, and their values."""
        import pyarrow as pa

        self._blocks.append(images)
        self._writer.write_batch(pa.RecordBatch.from_pydict(dict(columns), schema=self._schema))

    def finish(self) -> None:
        """Close the file; from now on rows are read."""
        import pyarrow as pa

        self._writer.close()
        self.images = np.concatenate(self._blocks)
        self._blocks.clear()
        self._order = np.argsort(self.images, kind="stable")
        self._sorted = self.images[self._order]
        self._table = pa.ipc.open_file(pa.memory_map(str(self._file))).read_all()
        self._batches = self._table.to_batches()
        self._ends = np.cumsum([0, *map(len, self._batches)])

    def column(self, name: str) -> Array:
        """A column of numbers, in the order of the file."""
        return np.asarray(self._table[name])

    def of(self, images: Integers) -> tuple[pa.Array, pa.Table]:
        """The rows of these images, one image after another, each image's in the order in which they were added.

        Returns:
            Where the rows of each of `n` images start and end, `n + 1` offsets; the rows.
        """
        import pyarrow as pa

        starts = np.searchsorted(self._sorted, images, "left")
        counts = np.searchsorted(self._sorted, images, "right") - starts
        offsets = np.concatenate(([0], np.cumsum(counts)))
        within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], counts)
        return pa.array(offsets, pa.int32()), self._rows(self._order[np.repeat(starts, counts) + within])

    def _rows(self, numbers: Integers) -> pa.Table:
        """The rows of these numbers. Of a table, `take` would first copy all of its batches into one."""
        import pyarrow as pa

        ascending = np.argsort(numbers, kind="stable")
        cuts = np.searchsorted(numbers[ascending], self._ends)
        parts = [
            batch.take(pa.array(numbers[ascending[start:end]] - first))
            for batch, first, start, end in zip(self._batches, self._ends, cuts, cuts[1:], strict=False)
            if start < end
        ]
        place = np.empty(len(numbers), np.int64)
        place[ascending] = np.arange(len(numbers))
        return pa.Table.from_batches(parts, self._schema).combine_chunks().take(pa.array(place))


def as_lists(offsets: pa.Array, values: pa.ChunkedArray | pa.Array) -> pa.ListArray:
    """A list of values for each image."""
    import pyarrow as pa

    flat = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    return pa.ListArray.from_arrays(offsets, flat)
