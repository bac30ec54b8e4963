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
