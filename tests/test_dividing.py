"""Folds: by content, and near-duplicates share one."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from vbnmf import SupervisedVBNMF
from vbnmf.prediction.dividing import FOLDS, folds, held_out, near_duplicates


def texts(n_docs=400, n_terms=3000, length=40, seed=0):
    """Documents of a Zipf law, which have common terms and rare ones."""
    rng = np.random.default_rng(seed)
    p = 1 / np.arange(1, n_terms + 1)
    X = np.array([rng.multinomial(length, p / p.sum()) for _ in range(n_docs)])
    return sparse.csr_array(X.astype(float))


def edited(X, seed=1):
    """The same documents with two of their terms replaced by others."""
    rng = np.random.default_rng(seed)
    X = X.toarray()
    for row in X:
        row[rng.choice(np.flatnonzero(row), 2, replace=False)] = 0
        row[rng.integers(0, len(row), 2)] += 1
    return sparse.csr_array(X)


def stacked(*parts):
    return sparse.csr_array(sparse.vstack(parts))


def test_folds_follow_the_content():
    X = texts(3000)
    fold = folds(X)
    assert set(np.unique(fold)) == set(range(FOLDS))
    assert np.bincount(fold).min() > 400
    assert_array_equal(folds(stacked(X, X))[3000:], fold)


def test_near_duplicates_share_a_fold():
    X = texts()
    fold = folds(stacked(X, edited(X)))
    assert (fold[:400] == fold[400:]).mean() > 0.9
    group = near_duplicates(stacked(X, edited(X)), np.ones(800))
    assert (group[:400] == group[400:]).mean() > 0.9
    assert np.bincount(group).max() <= 4


def test_a_rare_term_in_common_is_not_enough():
    """Weights of TF-IDF do not count IDF twice: pairs that share one rare term are apart."""
    X = texts(300, length=25)
    pair = sparse.csr_array(np.kron(np.eye(150), np.ones((2, 1))))
    X = sparse.csr_array(sparse.hstack([X, pair]))
    frequency = np.bincount(X.indices, minlength=X.shape[1])
    weights = X.copy()
    weights.data *= np.log(300 / np.maximum(frequency, 1))[X.indices]
    counted, weighted = (near_duplicates(one, np.ones(300)) for one in (X, weights))
    assert len(np.unique(counted)) == 300
    assert_array_equal(weighted, counted)


def test_other_documents_do_not():
    assert len(np.unique(near_duplicates(texts(), np.ones(400)))) == 400


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_documents_makes_no_difference(seed):
    X = stacked(texts(), edited(texts()), edited(texts(), seed=2))
    order = np.random.default_rng(seed).permutation(X.shape[0])
    assert_array_equal(folds(X[order]), folds(X)[order])


def test_a_weight_of_two_is_two_copies():
    X = stacked(texts(), edited(texts()))
    weight = np.random.default_rng(0).integers(1, 4, X.shape[0])
    rows = np.repeat(np.arange(X.shape[0]), weight)
    assert_array_equal(folds(X[rows]), folds(X, weight.astype(float))[rows])


def test_short_documents_are_alike_by_chance():
    X = texts(length=5)
    assert len(np.unique(near_duplicates(stacked(X, X), np.ones(800)))) == 800
    assert_array_equal(folds(stacked(X, X))[:400], folds(X))


def test_a_large_group_is_divided():
    one = texts(1, length=400, seed=9)
    X = stacked(texts(), *(edited(one, seed) for seed in range(100)))
    group = near_duplicates(X, np.ones(500))
    assert len(np.unique(group[400:])) < 10
    assert np.bincount(folds(X)[400:], minlength=FOLDS).min() > 5


@pytest.mark.parametrize("shape", [(0, 5), (3, 0), (3, 5)])
def test_documents_without_terms(shape):
    X = sparse.csr_array(shape)
    assert_array_equal(folds(X), np.zeros(shape[0]))
    assert not held_out(X, 0.5).any()


def test_left_out_probabilities_do_not_know_copies():
    """Labels are random, so nobody can predict them except from a copy."""
    rng = np.random.default_rng(0)
    X = texts(300)
    y = rng.integers(0, 2, 300)
    both, labels = stacked(X, edited(X)), np.concatenate([y, y])
    model = SupervisedVBNMF(2, classifier="words and components", random_state=0)
    model.fit(both, labels)
    right = model.left_out_proba_.argmax(axis=1) == labels
    assert right.mean() < 0.65
    assert model.left_out_proba_.max(axis=1).mean() < 0.7


def test_precision_changes_no_fold():
    X = sparse.random_array((20_000, 50), density=0.2, rng=np.random.default_rng(0), format="csr")
    single = X.astype(np.float32)
    assert_array_equal(folds(single), folds(X))
    assert_array_equal(held_out(single, 0.1), held_out(X, 0.1))
