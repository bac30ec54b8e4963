"""Rows of a table that may be larger than memory, collected by the image that they belong to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa

Integers = npt.NDArray[np.int64]


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

    def column(self, name: str) -> npt.NDArray[Any]:
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
        rows = self._table.take(self._order[np.repeat(starts, counts) + within])
        return pa.array(offsets, pa.int32()), rows.combine_chunks()


def as_lists(offsets: pa.Array, values: pa.ChunkedArray | pa.Array) -> pa.ListArray:
    """A list of values for each image."""
    import pyarrow as pa

    flat = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    return pa.ListArray.from_arrays(offsets, flat)
