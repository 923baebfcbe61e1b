"""Divide rows into blocks."""

from functools import lru_cache

import numpy as np

from vbnmf.core.model import Array

ROW_WORK = 16
"""Fixed work of a row, in units of the work of one non-zero."""

BLOCK_WORK = 1 << 14
MOST_BLOCKS = 512


def cut_into_blocks(nonzeros: Array) -> Array:
    """Divide rows into blocks of about equal work; return the boundaries of the blocks.

    Blocks depend only on the number of non-zeros of each row, and not on the number of threads.
    Sums over blocks are therefore rounded in the same way with any number of threads.
    """
    work = np.concatenate([[0], np.cumsum(nonzeros + ROW_WORK)])
    n_blocks = int(np.clip(work[-1] // BLOCK_WORK, 1, MOST_BLOCKS))
    cuts = np.searchsorted(work, np.linspace(0, work[-1], n_blocks + 1)[1:-1])
    return np.unique(np.concatenate([[0], cuts, [len(nonzeros)]])).astype(np.int64)


@lru_cache(maxsize=16)
def cut_evenly(n: int, nonzeros: int) -> Array:
    """Divide ``n`` rows with the same number of non-zeros; the result must not be changed."""
    return cut_into_blocks(np.full(n, nonzeros))
