"""Small corpora, labels of every kind, and a small model, which several test files use."""

from operator import attrgetter

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from vbnmf import SupervisedVBNMF

# what fits of the same documents must agree on
ATTRIBUTES = ["components_", "label_rates_", "bound_history_", "head_.words", "head_.weights"]


def value_of(model, name):
    """The value of an attribute, or of a field behind one, such as "head_.weights"."""
    return attrgetter(name)(model)


def drawn(n_labels=3, n_docs=90, seed=0):
    """Documents of labels with words of their own, and some that all share."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_docs) % n_labels
    rates = np.full((n_labels, 6 * n_labels + 8), 0.05)
    for label in range(n_labels):
        rates[label, 6 * label : 6 * label + 6] = 1.5
    rates[:, -8:] = 1.0
    return sparse.csr_array(rng.poisson(rates[y]).astype(float)), y


def pairs_of_documents():
    """Documents made of two each, and the labels of both."""
    X, _ = drawn(4, 160)
    pairs = np.random.default_rng(1).integers(0, 160, (160, 2))
    Y = np.zeros((160, 4), dtype=int)
    np.put_along_axis(Y, pairs % 4, 1, axis=1)
    return sparse.csr_array(X[pairs[:, 0]] + X[pairs[:, 1]]), Y


def labels_of(y, kind):
    """Labels of these codes: one of each document, some "unknown", or "several"."""
    names = [f"label {code}" for code in y]
    if kind == "unknown":
        return [None if i % 5 == 0 else name for i, name in enumerate(names)]
    if kind == "several":
        return [[name, "even"] if i % 2 == 0 else [name] for i, name in enumerate(names)]
    return names


def draw(n_docs=600, n_terms=80, K=4, seed=0):
    """Documents of the supervised model: each label switches on one or two components."""
    rng = np.random.default_rng(seed)
    T = rng.gamma(0.3, 1.0, (n_terms, K))
    T /= T.sum(axis=0)
    means = np.full((3, K), 0.3)
    means[0, 0] = means[1, 1] = means[2, 2] = means[2, 3] = 60
    y = rng.integers(0, 3, n_docs)
    V = rng.exponential(means[y])
    return rng.poisson(V @ T.T).astype(float), y, T, V, means


def match(found, true):
    """Cosines of the best one-to-one match of rows, and the match."""
    unit = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (found, true)]
    cosines = unit[0] @ unit[1].T
    rows, columns = linear_sum_assignment(-cosines)
    return cosines[rows, columns], columns


def model(**parameters):
    """A small model of drawn documents."""
    return SupervisedVBNMF(**{"n_components": 6, "random_state": 0, "max_iter": 60} | parameters)
