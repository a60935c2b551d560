"""Arrays by what they hold, and annotations by which the reader of documents checks numbers and dimensions."""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from simulator.base.documents import Array

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

Vector = Annotated[Floats, Array("float64", 1)]
Matrix = Annotated[Floats, Array("float64", 2)]
Number = Annotated[Floats, Array("float64", 0)]
Known = Annotated[Floats, Array("float64", 2, holes=True)]
Counts = Annotated[Ints, Array("int64", 1)]
