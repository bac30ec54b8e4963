"""Pickles of plain data. Reading any other pickle could run code that the file names."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from typing import IO, Any

import numpy as np

# What the pickles of arrays and of numpy's numbers name, to admit.
ARRAYS: dict[str, Callable[..., Any]] = {"numpy.ndarray": np.ndarray, "numpy.dtype": np.dtype}
for _made in (np.empty(0), np.float64()):
    _function: Any = _made.__reduce__()[0]
    ARRAYS |= {f"numpy.{core}.multiarray.{_function.__name__}": _function for core in ("core", "_core")}


# Python's reader, as C's makes a table as long as the highest number that a small file gives to a value.
class _PlainUnpickler(pickle._Unpickler):
    def __init__(self, file: IO[bytes], admitted: Mapping[str, Callable[..., Any]]) -> None:
        super().__init__(file, encoding="utf-8")
        self._admitted = admitted

    def find_class(self, module: str, name: str) -> Callable[..., Any]:
        if f"{module}.{name}" not in self._admitted:
            raise pickle.UnpicklingError(f"it names {module}.{name}")
        return self._admitted[f"{module}.{name}"]


def read_plain_pickle(file: IO[bytes], admitted: Mapping[str, Callable[..., Any]] | None = None) -> Any:
    """The plain data in a pickle: lists, tuples, dicts, sets, strings, bytes, numbers, booleans and None.

    `admitted`: what else it may name, as "module.name", and what is called in its place; ValueError for all other.
    """
    try:
        return _PlainUnpickler(file, admitted or {}).load()
    except Exception as error:  # a damaged pickle fails in many ways
        raise ValueError(
            f"it is not a whole pickle of plain data ({error}), and no other is read, as it could run code: fetch the "
            "file again, or, if you trust it, load it in Python and save what it holds as plain data"
        ) from error
