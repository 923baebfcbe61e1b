"""Check the arrays of a shard folder before compiled code follows their indices."""

from pathlib import Path

import numpy as np

from vbnmf.core.model import Array

_LARGEST_SUM = 1e30  # as for a matrix in memory
_AT_ONCE = 1 << 16  # indices whose order is checked at a time


class ShardsError(ValueError):
    """Error about a folder that cannot be used as a shard folder."""


def damaged(path: Path, why: str) -> ShardsError:
    """Return the error about a damaged file."""
    return ShardsError(f"{path} is damaged: {why}. Vectorize the documents again.")


def check_pointers(path: Path, indptr: Array, nnz: int | None = None) -> None:
    """Check that the file has the first entry of each row, and the number of entries."""
    wrong = indptr[0] != 0 or (np.diff(indptr) < 0).any()
    if wrong or (nnz is not None and indptr[-1] != nnz):
        raise damaged(path, "its entries are not counts")


def check_range(path: Path, indices: Array, n: int) -> None:
    """Check that all indices are below ``n``."""
    if indices.size and not 0 <= indices.min() <= indices.max() < n:
        raise damaged(path, f"it has entries outside 0 to {n - 1:,}")


def check_order(path: Path, indptr: Array, indices: Array) -> None:
    """Check that the indices of each row increase, so that no entry is repeated."""
    for begin in range(0, len(indices), _AT_ONCE):
        first = max(begin, 1)
        rises = np.diff(indices[first - 1 : begin + _AT_ONCE]) > 0
        # the first index of a row need not be above the last index of the row before
        a, b = np.searchsorted(indptr, (first, first + len(rises)))
        rises[indptr[a:b] - first] = True
        if not rises.all():
            raise damaged(path, "its entries are not in order")


def check_values(path: Path, data: Array) -> None:
    """Check that weights of terms are finite, not negative, and have a sum within range."""
    if data.size and not (data.min() >= 0 and np.isfinite(data.max())):  # NaN is refused too
        raise damaged(path, "it has weights of terms that are negative or not finite")
    if data.sum(dtype=np.float64) > _LARGEST_SUM:
        raise damaged(path, f"its weights add up to more than {_LARGEST_SUM:.0e}")
