"""Hand-made rows of the table of results, a small specification, and a tiny drawn corpus."""

from dataclasses import replace

import numpy as np
from scipy import sparse

from vbnmf.paper.experiments import Source
from vbnmf.paper.folds import Matrices, write_matrices
from vbnmf.paper.results import COLUMNS
from vbnmf.paper.specification import FOLDS, Cell, read_specification

PAPER = read_specification()

SHAPES = {"unsupervised": 1.0, "supervised": 0.5}


def row(method, dimension, parameter=None, seed=None, *, fold="test", **others):
    """A finished run with all columns; those not given are empty, as in a table that was read."""
    factorised = method in SHAPES
    known = {
        "source": "counts",
        "data": "0123456789ab",
        "method": method,
        "fold": fold,
        "dimension": dimension,
        "parameter": parameter,
        "term_shape": SHAPES.get(method),
        "iterations": 200 if factorised else None,
        "burn_in": 10 if factorised else None,
        "seed": (seed or 0) if factorised else None,
        "heads": False,
        "status": "done",
        "reason": "",
    } | others
    assert set(known) <= set(COLUMNS)
    return dict.fromkeys(COLUMNS) | known


def pca(dimension, micro, **others):
    return row("pca", dimension, micro=micro, **others)


def free(dimension, parameter, micro, seed=0, **others):
    """A run without labels."""
    return row("unsupervised", dimension, parameter, seed, micro=micro, **others)


def led(dimension, parameter, micro, seed=0, **others):
    """A run with labels."""
    return row("supervised", dimension, parameter, seed, micro=micro, **others)


def sparse_runs(dimension, pairs, method="supervised"):
    """Runs at (parameter, inter-label sparsity) pairs, the accuracy following the sparsity."""
    return [
        row(method, dimension, a, micro=s / 2, inter_label_sparsity=s, sparsity=s) for a, s in pairs
    ]


def paper(**figures):
    """The paper's specification with other choices for the figures."""
    return replace(PAPER, figures=replace(PAPER.figures, **figures))


def drawn(seed=0, n_docs=60, n_terms=40, n_labels=3):
    """Matrices of a fold: labels have terms of their own, and a fifth of them is anybody's."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_docs) % n_labels
    own = np.arange(n_terms)[None, :] % (n_labels + 1) == y[:, None]
    weights = rng.gamma(1.0, 1.0, (n_docs, n_terms)) * (own + 0.05)
    weights *= rng.random((n_docs, n_terms)) < 0.6
    weights[:, 0] = 1.0  # nobody is empty
    full = sparse.csr_matrix(weights.astype(np.float32))
    kept = full[:, : n_terms - 4]
    train = np.arange(n_docs) < n_docs * 2 // 3
    return Matrices(
        X=kept[train],
        y=y[train],
        X_new=kept[~train],
        y_new=y[~train],
        X_full=full[train],
        X_new_full=full[~train],
        terms=np.array([f"term{i}" for i in range(n_terms - 4)]),
        labels=np.array(["bike", "coffee", "tea"][:n_labels]),
    )


def tiny_cells():
    """Every method on a drawn corpus: with and without heads, both folds, T's shape learned."""
    cells = [
        Cell("pca", "test", 5, heads=True),
        Cell("pca", "validation", 5),
        Cell("svm", "test", 36),
        Cell("svm", "test", 0),
        Cell("unsupervised", "validation", 4, 0.5, 1.0, 15, 5, "drawn", 0),
        Cell("supervised", "validation", 4, 10.0, 0.5, 15, 5, "drawn", 0),
        Cell("supervised", "test", 4, 10.0, "free", 15, 5, "drawn", 0),
    ]
    for seed in (0, 1):
        cells.append(
            Cell("unsupervised", "test", 4, 0.5, 1.0, 15, 5, "drawn", seed, heads=seed == 0)
        )
        for a in (1.0, 100.0):
            cells.append(
                Cell("supervised", "test", 4, a, 0.5, 15, 5, "drawn", seed, heads=seed == 0)
            )
    return cells


def tiny_source(folder, seed=0):
    """Files of matrices of both folds."""
    files = {}
    for number, fold in enumerate(FOLDS):
        files[fold] = folder / f"{fold}.npz"
        write_matrices(drawn(10 * seed + number), files[fold])
    return Source("counts", files)
