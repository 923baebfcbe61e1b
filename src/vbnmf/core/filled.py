"""Matrices of which most entries have one value, such as zero or the prior.

A component is the prior in all terms that its labels do not use. With many labels, these are most
of the shapes of q(T). Only the other entries are held, with their columns in one or two bytes.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_ROWS_AT_ONCE = 4096
_WIDTHS = ((1 << 8, np.uint8), (1 << 16, np.uint16), (1 << 31, np.int32))


@dataclass(frozen=True, eq=False)
class FilledRows:
    """A matrix as the entries that differ from one value, by row.

    Indexing by rows gives a dense array of these rows, and ``numpy.asarray`` one of all rows.

    Attributes
    ----------
    values : ndarray of shape (n,)
        The entries that differ, by row.
    columns : ndarray of uint8, uint16 or int32 of shape (n,)
        Their columns, ascending in each row.
    ends : ndarray of int64 of shape (n_rows + 1,)
        Beginning of the first row, which is zero, and end of each row.
    fill : numpy.generic
        The value of all other entries, of the type of ``values``.
    width : int
        Number of columns.
    """

    values: Array
    columns: Array
    ends: Array
    fill: Any
    width: int

    @classmethod
    def of(cls, matrix: Array, fill: Any) -> Self:
        """Return a matrix as entries that differ from a value."""
        differs = matrix != fill
        rows, columns = np.nonzero(differs)
        ends = np.searchsorted(rows, np.arange(len(matrix) + 1))
        width = matrix.shape[1]
        values = matrix[differs]
        return cls(values, columns.astype(column_type(width)), ends, matrix.dtype.type(fill), width)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return len(self.ends) - 1, self.width

    @property
    def dtype(self) -> Any:
        """Type of the entries."""
        return self.values.dtype

    @property
    def nbytes(self) -> int:
        """Memory of the entries that differ, in bytes."""
        return int(self.values.nbytes + self.columns.nbytes + self.ends.nbytes)

    @property
    def n_filled(self) -> Array:
        """Number of entries of each column that are not held, (n_columns,)."""
        return len(self) - np.bincount(self.columns, minlength=self.width)

    def __len__(self) -> int:
        return len(self.ends) - 1

    def __getitem__(self, rows: Any) -> Array:
        chosen = np.arange(len(self))[rows]
        begins, cells = self.ends[chosen], self.ends[chosen + 1] - self.ends[chosen]
        ends = np.cumsum(cells)
        places = np.repeat(begins - ends + cells, cells) + np.arange(cells.sum())
        out = np.full((len(chosen), self.width), self.fill)
        out[np.repeat(np.arange(len(chosen)), cells), self.columns[places]] = self.values[places]
        return out

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self[:], dtype)

    def transposed(self) -> Array:
        """Return the transposed matrix as a dense array, (n_columns, n_rows), held by rows."""
        out = np.empty((len(self), self.width), self.dtype)
        for begin in range(0, len(self), _ROWS_AT_ONCE):
            at = slice(begin, begin + _ROWS_AT_ONCE)
            out[at] = self[at]
        return out.T


def column_type(width: int) -> Any:
    """Return the smallest type that numbers so many columns."""
    return next(kind for most, kind in _WIDTHS if width <= most)


def column_limits(matrix: Array | FilledRows) -> tuple[Array, Array]:
    """Return the least and the largest entry of each column of a matrix with rows."""
    if not isinstance(matrix, FilledRows):
        return matrix.min(axis=0), matrix.max(axis=0)
    low, high = (np.full(matrix.width, end, matrix.dtype) for end in (np.inf, -np.inf))
    np.minimum.at(low, matrix.columns, matrix.values)
    np.maximum.at(high, matrix.columns, matrix.values)
    filled = matrix.n_filled > 0
    low[filled] = np.minimum(low[filled], matrix.fill)
    high[filled] = np.maximum(high[filled], matrix.fill)
    return low, high
