"""Numbers of a few significant digits, as a page is to hold them."""

from collections.abc import Iterable

import numpy as np


def rounded(values: Iterable[float], digits: int = 4) -> list[float | None]:
    """Significant digits; what is not finite becomes None."""
    return [sig(value, digits) for value in values]


def sig(value: float, digits: int = 4) -> float | None:
    """A number of so many significant digits; None if it is not finite."""
    if not np.isfinite(value):
        return None
    number = float(f"{value:.{digits}g}")
    return int(number) if number.is_integer() and abs(number) < 1e15 else number
