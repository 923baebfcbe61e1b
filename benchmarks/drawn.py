"""Draw documents from the model itself, with known components and scopes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

KINDS = ("mixed", "mixed and common", "own, group and all")
N_LABELS, N_DOCS, N_TERMS, WEIGHT = 12, 2400, 600, 80.0


@dataclass(frozen=True, eq=False)
class Drawn:
    """A corpus with its true components and scopes.

    Attributes
    ----------
    X : csr_array of shape (n_docs, n_terms)
        Counts.
    y : ndarray of shape (n_docs,)
        Codes of the labels.
    components : ndarray of shape (K, n_terms)
        Rows sum to one.
    scopes : ndarray of bool of shape (n_labels, K)
        Which labels use which component.
    """

    X: sp.csr_array
    y: NDArray[np.int64]
    components: NDArray[np.float64]
    scopes: NDArray[np.bool_]


def draw(
    kind: str, seed: int, n_docs: int = N_DOCS, n_labels: int = N_LABELS, n_terms: int = N_TERMS
) -> Drawn:
    """Draw a corpus.

    Parameters
    ----------
    kind : str
        "mixed": each label mixes three components, which other labels may use too. "mixed and
        common": in addition, there is a component that all labels use. "own, group and all": each
        label has a component of its own, each group of three labels has one or two, and there is
        one for all labels.
    seed : int
    n_docs, n_labels, n_terms : int
    """
    rng = np.random.default_rng(seed)
    scopes = _own_group_all(n_labels) if kind == KINDS[2] else _mixed(rng, n_labels)
    if kind == KINDS[1]:
        scopes = np.column_stack([scopes, np.ones(n_labels, dtype=bool)])
    K = scopes.shape[1]
    T = rng.gamma(0.1, 1.0, (K, n_terms)) + 1e-12
    T /= T.sum(axis=1, keepdims=True)
    y = np.arange(n_docs) % n_labels
    means = rng.gamma(5.0, 0.2, (n_labels, K)) * scopes
    means /= means.sum(axis=1, keepdims=True)
    V = WEIGHT * rng.exponential(1.0, (n_docs, K)) * means[y]
    return Drawn(sp.csr_array(rng.poisson(V @ T).astype(np.float32)), y, T, scopes)


def match(found: NDArray[np.float64], corpus: Drawn) -> tuple[NDArray[np.float64], ...]:
    """Match components with the true ones; return their cosines and the matching."""
    a, b = (
        rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
        for rows in (np.asarray(found, dtype=np.float64), corpus.components)
    )
    cosines = a @ b.T
    ours, true = linear_sum_assignment(-cosines)
    return cosines[ours, true], ours, true


def _mixed(rng: np.random.Generator, n_labels: int) -> NDArray[np.bool_]:
    """Three of four thirds as many components as labels for each label, all of them used."""
    K = 4 * n_labels // 3
    while True:
        scopes = np.zeros((n_labels, K), dtype=bool)
        for row in scopes:
            row[rng.choice(K, 3, replace=False)] = True
        if scopes.any(axis=0).all():
            return scopes


def _own_group_all(n_labels: int) -> NDArray[np.bool_]:
    groups = np.arange(n_labels) // 3
    columns = [np.eye(n_labels, dtype=bool)]
    for group in range(groups[-1] + 1):
        columns += [(groups == group)[:, None]] * (1 + group % 2)
    return np.hstack([*columns, np.ones((n_labels, 1), dtype=bool)])
