"""Round numbers to a few significant digits, for the page."""

from collections.abc import Iterable

import numpy as np


def rounded(values: Iterable[float], digits: int = 4) -> list[float | None]:
    """Round numbers to significant digits; replace values that are not finite by None."""
    return [sig(value, digits) for value in values]


def sig(value: float, digits: int = 4) -> float | None:
    """Round a number to significant digits; return None if it is not finite."""
    if not np.isfinite(value):
        return None
    number = float(f"{value:.{digits}g}")
    return int(number) if number.is_integer() and abs(number) < 1e15 else number
