"""Round numbers to a few significant digits, for the page."""

from collections.abc import Iterable

import numpy as np


def rounded(values: Iterable[float], digits: int = 4) -> list[float | None]:
    """Round numbers to significant digits; replace values that are not finite by None."""
    return [sig(value, digits) for value in values]


def sig(value: float, digits: int = 4) -> float | None:
    """Round a number to significant digits; return None if it is not finite.

    A number below one stays below one, so that a part never becomes the whole by rounding.
    """
    if not np.isfinite(value):
        return None
    number = float(f"{value:.{digits}g}")
    if value < 1 <= number:
        number = 1 - 10.0 ** -(digits + 1)
    return int(number) if number.is_integer() and abs(number) < 1e15 else number


def thousandths(part: float) -> float:
    """Return a part as per mille, rounded; a part below one stays below 1000."""
    return 999.9 if 1000 * part >= 999.5 and part < 1 else round(1000 * float(part))


def hundredths(part: float) -> float:
    """Return a part as per cent, rounded; with a decimal from 99.5 on, and below 100 if below one.

    The decimal costs no room on the page, because few parts are so large.
    """
    whole = round(100 * float(part))
    return whole if whole < 100 or part >= 1 else 100 * float(sig(part, 3) or 0)
