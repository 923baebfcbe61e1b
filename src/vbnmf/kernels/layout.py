"""The cutting of rows into blocks."""

import numpy as np

from vbnmf.core.model import Array

ROW_WORK = 16
"""The work of a row beside its non-zeros, in non-zeros."""

BLOCK_WORK = 1 << 14
MOST_BLOCKS = 512


def cut_into_blocks(nonzeros: Array) -> Array:
    """Boundaries of blocks of rows of about equal work, from the non-zeros of each row.

    They depend on the data alone, never on the number of threads, so that sums over blocks are
    rounded the same way whoever adds them up.
    """
    work = np.concatenate([[0], np.cumsum(nonzeros + ROW_WORK)])
    n_blocks = int(np.clip(work[-1] // BLOCK_WORK, 1, MOST_BLOCKS))
    cuts = np.searchsorted(work, np.linspace(0, work[-1], n_blocks + 1)[1:-1])
    return np.unique(np.concatenate([[0], cuts, [len(nonzeros)]])).astype(np.int64)
