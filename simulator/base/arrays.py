"""Arrays in documents: annotations by which the reader checks numbers and dimensions."""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from simulator.base.documents import Array

__all__ = ["Counts", "Matrix", "Number", "Vector"]

Vector = Annotated[NDArray[np.float64], Array("float64", 1)]
Matrix = Annotated[NDArray[np.float64], Array("float64", 2)]
Number = Annotated[NDArray[np.float64], Array("float64", 0)]
Counts = Annotated[NDArray[np.int64], Array("int64", 1)]
