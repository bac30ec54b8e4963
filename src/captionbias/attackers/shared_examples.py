"""Examples as a memory-mapped Arrow file: processes that train on one table read the same pages of memory."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from captionbias.arrays import Array, Arrays
from captionbias.attackers.base import Examples
from captionbias.io.files import written_whole
from captionbias.text.tokens import Tokens


def write_table(examples: Examples, folder: Path) -> Path:
    """Write examples as one Arrow file that `open_table` and `datasets.Dataset.from_file` read.

    The file is named after what it holds: equal examples are written once, and a path never changes its content. It is
    written whole or not at all, straight from the arrays, which are not copied.

    Args:
        folder: made if it is not there.

    Returns:
        The path of the file.

    Example:
        >>> import tempfile
        >>> from captionbias.text import tokenize
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = write_table(Examples(tokenize(["a man", "a dog"]), np.array([0, 1]), 2), Path(folder))
        ...     open_table(path).tokens.texts()
        ['a man', 'a dog']
    """
    arrays: Arrays = {
        "ids": np.ascontiguousarray(examples.tokens.ids, np.int32),
        "offsets": np.ascontiguousarray(examples.tokens.offsets, np.int64),
        "targets": _flat(examples.targets),
    }
    words = [word.encode("utf-8", "surrogatepass") for word in examples.tokens.words]  # captions may be broken text
    path = folder / f"examples-{_fingerprint(arrays, words, examples)}.arrow"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with written_whole(path) as part:
            _write(part, arrays, words, examples)
    return path


@lru_cache(maxsize=8)  # the human columns and the model of a run
def open_table(path: Path) -> Examples:
    """Open a file of `write_table`; the arrays are read-only views of it, and pages are read when they are used.

    A process that opens a path again gets the same object, so what attackers remember of it serves every trial.
    """
    from datasets import Dataset

    table = Dataset.from_file(str(path)).data
    ids, offsets, targets = (_view(table.column(name)) for name in ("ids", "offsets", "targets"))
    words = tuple(word.decode("utf-8", "surrogatepass") for word in table.column("words")[0].as_py())
    outputs = table.column("outputs")[0].as_py()
    if targets.dtype == np.uint8:
        targets = targets.view(np.bool_).reshape(len(offsets) - 1, outputs)
    return Examples(Tokens(ids, offsets, words), targets, outputs, table.column("mask")[0].as_py())


def _view(column: Any) -> Array:
    array: Array = column.chunk(0).values.to_numpy(zero_copy_only=True)
    return array


def _flat(targets: Array) -> Array:
    """Classes as they are; flags row after row as bytes, because Arrow packs its own booleans eight to a byte."""
    if targets.ndim == 1:
        return np.ascontiguousarray(targets, np.int64)
    return np.ascontiguousarray(targets, np.bool_).reshape(-1).view(np.uint8)


def _fingerprint(arrays: Arrays, words: list[bytes], examples: Examples) -> str:
    header = [
        int(examples.outputs),
        examples.mask,
        *(f"{array.dtype}{array.shape}" for array in arrays.values()),
        *map(len, words),
    ]
    content = hashlib.blake2b(repr(header).encode(), digest_size=16)
    for array in arrays.values():
        content.update(array.data)
    content.update(b"".join(words))
    return content.hexdigest()


def _write(path: Path, arrays: Arrays, words: list[bytes], examples: Examples) -> None:
    """One row holds everything, so that each array is one stretch of the file however long it is."""
    import pyarrow
    from datasets.arrow_writer import ArrowWriter

    columns = {name: _one_list(pyarrow.array(array)) for name, array in arrays.items()}
    columns["words"] = _one_list(pyarrow.array(words, pyarrow.binary()))
    table = pyarrow.table({**columns, "outputs": [examples.outputs], "mask": [examples.mask]})
    with ArrowWriter(path=str(path), schema=table.schema) as writer:
        writer.write_table(table)
        writer.finalize()


def _one_list(values: Any) -> Any:
    """A column of one row, which is a list of all these values."""
    import pyarrow

    return pyarrow.LargeListArray.from_arrays(np.array([0, len(values)]), values)
