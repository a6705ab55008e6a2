"""Rounding: floats that decide an order are rounded first, so that machines whose last bits differ agree on it."""

import numpy as np
from numpy.typing import NDArray


def rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values that decide an order, rounded to multiples of 2^-40, of any shape."""
    return np.rint(values * 2.0**40) * 2.0**-40
