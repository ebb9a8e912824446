"""The arrays of a search. In all of them a row is a title, and rows keep the order of the candidates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]
Rows = NDArray[np.intp]
