"""What both kernels share: the sums that a sweep returns, and the cutting of rows into blocks."""

from dataclasses import dataclass

import numpy as np

from vbnmf.core.model import Array


@dataclass(frozen=True)
class DocumentSums:
    """What a sweep over documents adds up; the numbers are nan where no bound was asked for."""

    shape_sums: Array  # (n_groups, K) float64: Σ_d shape of q(v)
    log_mean: float  # Σ x ln Σ_k L_t L_v, but for the offsets of L_t
    psi: float  # Σ_dk ψ(shape)
    entropy: float  # Σ_dk H(Gamma(shape, 1))


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
