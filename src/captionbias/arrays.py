"""The NumPy arrays that functions take and return, by what they hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Arrays = dict[str, Array]

Flags = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]
# Many numbers at a time, such as one a word of all captions.
Ids = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Floats32 = npt.NDArray[np.float32]


def sparse(values: Array, places: tuple[Integers, Integers], shape: tuple[int, int]) -> Any:
    """A sparse table with these values at these rows and columns; what is at the same place adds up."""
    from scipy.sparse import csr_array, get_index_dtype

    number = get_index_dtype(maxval=max(*shape, len(values)))  # the smaller, the faster are products
    return csr_array((values, tuple(place.astype(number) for place in places)), shape=shape)
