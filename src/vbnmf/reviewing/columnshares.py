"""Divide documents by a column of their file, and compute what is in the documents of each value.

A column is one of dates if at least 95 % of its cells are dates that can be read in one way. Dates
are grouped by day, month or year: the finest of which there are few. All other columns are grouped
by value. Of many values, the commonest are kept and the others are one group. Cells without a value
are a group of their own, and so are cells of a date column that are no dates.

    share of a label      = documents of the group that have it / documents of the group
    share of a component  = its part of the weight of the group's documents

Shares have intervals of 95 %: those of Wilson for labels, and of a ratio of sums for components.
They say how far other documents of the same kind might differ; the documents themselves are
counted. Whether a share differs between the groups at all is tested by χ²: for labels with the
counts, where groups of an expected number below three are pooled; for components with the squared
deviations in standard errors, over groups of at least 20 documents. P-values are adjusted for the
number of labels or components (``metrics.shares``).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import MINYEAR, date
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import chdtrc

from vbnmf.core.model import Array
from vbnmf.data.documents import is_missing
from vbnmf.evaluation.parts import Part
from vbnmf.metrics.shares import REACH, adjusted, share_interval
from vbnmf.reviewing.contrast import component_shares

VALUE, OTHER, ODD, EMPTY = "value", "other", "odd", "empty"
"""Kinds of groups: a value or period, all rarer values, cells that are no dates, empty cells."""
MOST_VALUES = 30
"""Number of values of a column that are groups of their own."""
MOST_PERIODS = 60
"""Number of months or years up to which dates are grouped by them."""

_MOST_DAYS = 31
_DATES = 0.95  # share of the cells that must be dates
_LEAST_EXPECTED = 3.0  # documents
_FEWEST = 20  # documents of a group by which components are compared
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_YEAR_FIRST = re.compile(r"(\d{4})([-/.])(\d{1,2})(?:\2(\d{1,2}))?(?:[T ]\d.*)?")
_YEAR_LAST = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4})(?:[T, ].*)?")
_NAMED = re.compile(r"(?:[a-z]{3,9},? )?(\d{1,2})[. ] ?([a-z]{3})[a-z]*\.?,? (\d{4})\b.*", re.I)
_NAME_FIRST = re.compile(r"(?:[a-z]{3,9},? )?([a-z]{3})[a-z]*\.? (\d{1,2}),? (\d{4})\b.*", re.I)


@dataclass(frozen=True)
class Group:
    """Documents of one value or period of a column.

    Attributes
    ----------
    name : str
        The value; a day, month or year as in ISO 8601; empty for other kinds.
    kind : {"value", "other", "odd", "empty"}
    documents : int
        Number of documents.
    """

    name: str
    kind: str
    documents: int


@dataclass(frozen=True, eq=False)
class Column:
    """A column of the file of documents, divided into groups.

    Attributes
    ----------
    name : str
        Its name.
    unit : {"day", "month", "year"} or None
        What dates are grouped by; None for other columns.
    groups : list of Group
        Periods in their order; numbers in their order; other values, the commonest first. The last
        groups are rarer values, cells that are no dates, and empty cells.
    of_document : ndarray of int of shape (n_docs,)
        The group of each document.
    n_values : int
        Number of different values.
    cells : list of str
        The cells as text; empty for missing ones.
    """

    name: str
    unit: str | None
    groups: list[Group]
    of_document: Array
    n_values: int
    cells: list[str]


@dataclass(frozen=True, eq=False)
class Shares:
    """Shares of labels or of components in the documents of each group.

    Attributes
    ----------
    documents : ndarray of int of shape (n_groups,)
        Documents that the shares are of.
    counts : ndarray of int of shape (n_rows, n_groups), or None
        Documents that have each label; None for components.
    shares, low, high : ndarrays of shape (n_rows, n_groups)
        Shares and the ends of their intervals; NaN where there are no documents.
    p_values : ndarray of shape (n_rows,)
        Adjusted p-values of no difference between the groups.
    """

    documents: Array
    counts: Array | None
    shares: Array
    low: Array
    high: Array
    p_values: Array


def read_column(name: str, cells: Iterable[Any]) -> Column:
    """Recognise dates, and divide documents by the values of a column.

    Parameters
    ----------
    name : str
        Name of the column.
    cells : iterable
        The cell of each document: text, a number, a date or None.
    """
    texts = ["" if is_missing(cell) else str(cell).strip() for cell in cells]
    filled = [text for text in texts if text]
    dates = read_dates(filled)
    if dates is not None:
        found = _by_period(name, texts, dates)
        if found is not None:
            return found
    numbers = Counter(filled)
    common = [value for value, _ in numbers.most_common(MOST_VALUES)]
    if len(numbers) <= MOST_VALUES and all(map(_is_number, common)):
        common.sort(key=float)
    else:
        common.sort(key=lambda value: (-numbers[value], value))
    return _divided(name, None, texts, {value: value for value in numbers}, common, len(numbers))


def read_dates(texts: Sequence[str]) -> dict[str, date] | None:
    """Read dates; None if fewer than 95 % are dates, or if days and months cannot be told apart.

    Parameters
    ----------
    texts : sequence of str
        Cells that are not empty.

    Returns
    -------
    dict of str to date, or None
        The date of each text that is one.

    Examples
    --------
    >>> read_dates(["2024-05-01", "2024-06-30T12:00"])["2024-05-01"]
    datetime.date(2024, 5, 1)
    >>> read_dates(["5/6/2024"]) is None  # 5 June, or 6 May?
    True
    """
    different = dict.fromkeys(texts)
    found = {text: day for text in different if (day := _date(text)) is not None}
    last = {text: match for text in different if (match := _YEAR_LAST.fullmatch(text))}
    first, second = ([int(match[i]) for match in last.values()] for i in (1, 3))
    if last and max(first) > 12 and max(second) <= 12:
        found |= _made((text, (m[4], m[3], m[1])) for text, m in last.items())
    elif last and max(second) > 12 and max(first) <= 12:
        found |= _made((text, (m[4], m[1], m[3])) for text, m in last.items())
    n_dates = sum(text in found for text in texts)
    return found if texts and n_dates >= _DATES * len(texts) else None


def _date(text: str) -> date | None:
    """Read a date whose day and month cannot be confused; None if it is none."""
    parts: tuple[Any, ...] | None = None
    if match := _YEAR_FIRST.fullmatch(text):
        parts = match[1], match[3], match[4] or 1
    elif (match := _NAMED.fullmatch(text)) and match[2].lower() in _MONTHS:
        parts = match[3], _MONTHS.index(match[2].lower()) + 1, match[1]
    elif (match := _NAME_FIRST.fullmatch(text)) and match[1].lower() in _MONTHS:
        parts = match[3], _MONTHS.index(match[1].lower()) + 1, match[2]
    return None if parts is None else _made([(text, parts)]).get(text)


def _made(parts: Iterable[tuple[str, tuple[Any, ...]]]) -> dict[str, date]:
    """Return the dates of texts whose year, month and day are a date of the calendar."""
    found = {}
    for text, (year, month, day) in parts:
        try:
            found[text] = date(int(year), int(month), int(day))
        except ValueError:
            continue
    return found


_PERIODS: dict[str, tuple[Callable[[date], str], Callable[[date], int]]] = {
    "day": (lambda day: day.isoformat(), lambda day: day.toordinal()),
    "month": (lambda day: day.isoformat()[:7], lambda day: 12 * day.year + day.month - 1),
    "year": (lambda day: day.isoformat()[:4], lambda day: day.year),
}
"""Name and number of the period of a date, by unit."""


def _by_period(name: str, texts: list[str], dates: dict[str, date]) -> Column | None:
    """Group dates by the finest unit of which there are few; None if there are too many years."""
    for unit, (named, numbered) in _PERIODS.items():
        periods = {numbered(day): named(day) for day in dates.values()}
        first, last = min(periods), max(periods)
        most = _MOST_DAYS if unit == "day" else MOST_PERIODS
        if len(periods) > most or (unit == "day" and last - first >= _MOST_DAYS):
            continue
        if last - first < most:  # periods without documents are shown too
            periods = {at: periods.get(at) or _period(unit, at) for at in range(first, last + 1)}
        order = [periods[at] for at in sorted(periods)]
        groups = {text: named(day) for text, day in dates.items()}
        return _divided(name, unit, texts, groups, order, len(dates))
    return None


def _period(unit: str, at: int) -> str:
    """Return the name of a period by its number."""
    if unit == "day":
        return date.fromordinal(at).isoformat()
    return f"{at // 12:04}-{at % 12 + 1:02}" if unit == "month" else f"{max(at, MINYEAR):04}"


def _divided(
    name: str,
    unit: str | None,
    texts: list[str],
    groups: dict[str, str],
    order: list[str],
    n_values: int,
) -> Column:
    """Divide documents into groups: those in ``order``, and the other kinds that occur."""
    place = {value: i for i, value in enumerate(order)}
    others = [ODD if unit else OTHER, EMPTY]
    last = {kind: len(order) + i for i, kind in enumerate(others)}
    at = np.array(
        [
            last[EMPTY] if not text else place.get(groups.get(text, ""), last[others[0]])
            for text in texts
        ],
        dtype=np.intp,
    )
    sizes = np.bincount(at, minlength=len(order) + len(others))
    kept = [i for i in range(len(sizes)) if i < len(order) or sizes[i]]
    number = np.full(len(sizes), -1)
    number[kept] = np.arange(len(kept))
    names = [(value, VALUE) for value in order] + [("", kind) for kind in others]
    found = [Group(*names[i], int(sizes[i])) for i in kept]
    return Column(name, unit, found, number[at], n_values, texts)


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def label_shares(part: Part, column: Column, *, predicted: bool = False) -> Shares:
    """Count the labels of the documents of each group.

    Parameters
    ----------
    part : Part
        The documents, of a model with labels.
    column : Column
        A column of the same documents.
    predicted : bool, default=False
        Whether to count predicted labels of all documents, in place of the given labels of those
        that have some.
    """
    Y = part.Y
    known = np.diff(Y.indptr) > 0
    if predicted:
        Y = sparse.csr_array(part.subject.estimator.indicators_from(part.probabilities))
        known = np.ones(part.n_docs, bool)
    n_groups = len(column.groups)
    sizes = np.bincount(column.of_document[known], minlength=n_groups)
    counts = np.zeros((Y.shape[1], n_groups), np.int64)
    for group in range(n_groups):
        rows = np.flatnonzero(known & (column.of_document == group))
        counts[:, group] = np.asarray(Y[rows].sum(axis=0)).ravel()
    low, high = share_interval(counts, sizes[None])
    nothing = np.where(sizes > 0, 0.0, np.nan)
    shares = counts / np.maximum(sizes, 1) + nothing
    named = np.array([one.kind in (VALUE, OTHER) for one in column.groups])
    p_values = [_chi_square(row[named], sizes[named]) for row in counts]
    return Shares(sizes, counts, shares, low + nothing, high + nothing, adjusted(p_values))


def shares_of_components(part: Part, column: Column) -> Shares:
    """Compute the share of each component in the weight of the documents of each group.

    Parameters
    ----------
    part : Part
        The documents, of any model.
    column : Column
        A column of the same documents.
    """
    K, n_groups = len(part.subject.estimator.component_sums_), len(column.groups)
    values, errors = np.full((2, K, n_groups), np.nan)
    sizes = np.zeros(n_groups, np.int64)
    for group in range(n_groups):
        chosen = column.of_document == group
        sizes[group] = chosen.sum()
        found = component_shares(part, chosen) if sizes[group] else None
        if found is not None:
            values[:, group], errors[:, group] = np.array(found).T
    low = np.maximum(values - REACH * errors, 0)
    high = np.minimum(values + REACH * errors, 1)
    named = np.array([one.kind in (VALUE, OTHER) for one in column.groups])
    enough = named & (sizes >= _FEWEST)
    p_values = [
        _deviations(*rows) for rows in zip(values[:, enough], errors[:, enough], strict=True)
    ]
    return Shares(sizes, None, values, low, high, adjusted(p_values))


def _chi_square(counts: Array, sizes: Array) -> float:
    """Return the p-value of equal shares; groups of small expected numbers are pooled."""
    counts, sizes = counts[sizes > 0].astype(float), sizes[sizes > 0].astype(float)
    p = counts.sum() / max(sizes.sum(), 1.0)
    small = sizes * min(p, 1 - p) < _LEAST_EXPECTED
    if small.any():
        counts = np.append(counts[~small], counts[small].sum())
        sizes = np.append(sizes[~small], sizes[small].sum())
    if len(counts) < 2 or not (sizes * p * (1 - p) > 0).all():
        return 1.0
    squares = (counts - sizes * p) ** 2 / (sizes * p * (1 - p))
    return float(chdtrc(len(counts) - 1, squares.sum()))


def _deviations(values: Array, errors: Array) -> float:
    """Return the p-value of equal values, by their deviations in standard errors."""
    sure = (errors > 0) & np.isfinite(errors)
    values, weights = values[sure], errors[sure] ** -2.0
    if len(values) < 2:
        return 1.0
    mean = (weights * values).sum() / weights.sum()
    return float(chdtrc(len(values) - 1, (weights * (values - mean) ** 2).sum()))
