"""What documents say of components: the formula, training documents left out, odd documents."""

import numpy as np
import pytest
from conftest import make_corpus
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from properties import examples
from scipy import sparse

from vbnmf.prediction import evidence as module
from vbnmf.prediction.evidence import (
    evidence_left_out,
    mean_occurrence,
    mean_over_terms,
    term_evidence,
)

pytestmark = pytest.mark.kernel


def posterior(n_terms, K, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    return rng.gamma(0.7, 3.0, (n_terms, K)).astype(dtype) + dtype(0.5), rng.uniform(0.1, 2, K)


def dense_evidence(X, shapes, smoothing):
    """The module's docstring, one scalar at a time."""
    p = (shapes + smoothing) / (shapes + smoothing).sum(axis=0)
    out = np.zeros((len(X), shapes.shape[1]))
    for d, x in enumerate(X):
        for w in np.flatnonzero(x):
            out[d] += x[w] / x.sum() * (np.log(p[w]) - np.log(p[w]).mean())
    return out


def dense_left_out(X, V, shapes, scales, smoothing, weight=None):
    """The same with each document's own share taken out, and what is left of the same size."""
    totals = (shapes + smoothing).sum(axis=0)
    out = np.zeros((len(X), len(scales)))
    for d, x in enumerate(X):
        own = np.zeros(shapes.shape)
        for w in np.flatnonzero(x):
            uses = [shapes[w, k] * scales[k] * V[d, k] for k in range(len(scales))]
            counted = 1.0 if weight is None else min(weight[d], 1.0)
            own[w] = np.minimum(counted * x[w] * np.array(uses) / sum(uses), shapes[w])
        sums = shapes.sum(axis=0)
        size = sums / np.maximum(sums - own.sum(axis=0), 1e-3 * sums)
        for w in np.flatnonzero(x):
            logs = np.log((shapes[w] - own[w]) * size + smoothing) - np.log(totals)
            out[d] += x[w] / x.sum() * (logs - logs.mean())
    return out


def left_out(X, V, shapes, scales, smoothing, weight=None):
    weight = np.ones(X.shape[0]) if weight is None else weight
    return evidence_left_out(
        X=X, V=V, shapes=shapes, scales=scales, smoothing=smoothing, weight=weight
    )


def of_new(X, shapes, smoothing):
    totals = shapes.sum(axis=0, dtype=np.float64) + len(shapes) * smoothing
    return mean_over_terms(X, term_evidence(shapes, totals, smoothing))


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-11), (np.float32, 1e-5)])
def test_evidence_is_the_formula(case, dtype, rtol):
    X, _, K = case
    shapes, _ = posterior(X.shape[1], K, dtype=dtype)
    got = of_new(X.astype(dtype), shapes, 0.8)
    assert got.dtype == np.float64
    assert_allclose(got, dense_evidence(X.toarray(), shapes, 0.8), rtol=rtol, atol=rtol)
    assert_allclose(got.sum(axis=1), 0, atol=1e-9)


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-10), (np.float32, 1e-4)])
@pytest.mark.parametrize("at_once", [1, 7, 1 << 14])
def test_evidence_left_out_is_a_loop(case, dtype, rtol, at_once, monkeypatch):
    monkeypatch.setattr(module, "_AT_ONCE", (at_once, at_once))
    X, _, K = case
    shapes, scales = posterior(X.shape[1], K, dtype=dtype)
    V = np.random.default_rng(1).gamma(0.5, 2, (X.shape[0], K)).astype(dtype)
    got = left_out(X.astype(dtype), V, shapes, scales, 0.8)
    assert got.dtype == np.float64
    expected = dense_left_out(X.toarray(), V.astype(float), shapes.astype(float), scales, 0.8)
    assert_allclose(got, expected, rtol=rtol, atol=rtol)


def test_no_more_is_left_out_than_a_document_counted_for():
    """Of two copies one is left out, of half a document that half."""
    X, _ = make_corpus(12, 9, 2)
    shapes, scales = posterior(9, 4)
    V, weight = np.random.default_rng(1).gamma(1, 1, (12, 4)), np.linspace(0.1, 3, 12)
    got = left_out(X, V, shapes, scales, 0.8, weight)
    assert_allclose(got, dense_left_out(X.toarray(), V, shapes, scales, 0.8, weight), atol=1e-12)
    assert abs(got - left_out(X, V, shapes, scales, 0.8)).max() > 0.01


def test_a_document_that_nobody_used_is_not_left_out_of_anything():
    """Where shapes are so large that a document's share is nothing, both ways agree."""
    X, _ = make_corpus(12, 9, 2)
    shapes, scales = posterior(9, 4)
    V = np.random.default_rng(1).gamma(1, 1, (12, 4))
    assert_allclose(
        left_out(X, V, shapes * 1e9, scales, 1.0), of_new(X, shapes * 1e9, 1.0), atol=1e-7
    )


def test_a_term_of_one_document_says_nothing_of_it():
    """What only the document itself has put into a component is no proof of that component."""
    shapes = np.array([[4.0, 0.0], [50.0, 50.0]])
    V = np.array([[1.0, 1e-12]])
    X = sparse.csr_array([[4.0, 0.0]])
    assert of_new(X, shapes, 1.0)[0, 0] > 0.5
    got = left_out(X, V, shapes, np.ones(2), 1.0)
    totals = np.log(shapes.sum(axis=0) + 2)
    assert_allclose(got[0], totals.mean() - totals, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_empty_documents_say_nothing(dtype):
    X = sparse.csr_array(np.array([[0, 0, 0], [1, 2, 0], [0, 0, 0]], dtype=dtype))
    shapes, scales = posterior(3, 4, dtype=dtype)
    V = np.ones((3, 4), dtype)
    for got in (of_new(X, shapes, 0.5), left_out(X, V, shapes, scales, 0.5)):
        assert_array_equal(got[[0, 2]], 0)
        assert np.abs(got[1]).min() > 0
    nothing = sparse.csr_array((2, 3), dtype=dtype)
    assert_array_equal(of_new(nothing, shapes, 0.5), np.zeros((2, 4)))
    assert_array_equal(left_out(nothing, V[:2], shapes, scales, 0.5), np.zeros((2, 4)))


@examples(30)
@given(st.integers(1, 20), st.integers(0, 10**6), st.floats(0.01, 100))
def test_length_does_not_matter(n_docs, seed, factor):
    X, _ = make_corpus(n_docs, 12, 1, seed)
    shapes, _ = posterior(12, 3, seed)
    assert_allclose(of_new(X * factor, shapes, 0.7), of_new(X, shapes, 0.7), atol=1e-10)


def test_stored_zeros_are_no_terms():
    X, _ = make_corpus(8, 6, 2)
    stored = sparse.csr_array(X.toarray() + 1)
    stored.data -= 1
    shapes, scales = posterior(6, 3)
    V = np.random.default_rng(1).gamma(1, 1, (8, 3))
    assert_allclose(of_new(stored, shapes, 0.7), of_new(X, shapes, 0.7), atol=1e-12)
    assert_allclose(
        left_out(stored, V, shapes, scales, 0.7),
        left_out(X, V, shapes, scales, 0.7),
        atol=1e-12,
    )


def test_stored_zeros_are_no_occurrences():
    X = sparse.csr_array(([2.0, 0.0, 4.0], [0, 1, 0], [0, 2, 3]), shape=(2, 2))
    assert mean_occurrence(X, np.ones(2)) == 3.0


def test_mean_occurrence():
    X = sparse.csr_array(np.array([[2, 0, 4], [0, 0, 0], [0, 9, 0]], dtype=np.float32))
    assert mean_occurrence(X, np.ones(3)) == 5.0
    assert mean_occurrence(X, np.array([1, 1, 0])) == 3.0
    assert mean_occurrence(X, np.array([1, 7, 2])) == (2 + 4 + 18) / 4


def test_common_terms_do_not_speak_against_a_documents_own_component():
    """Leaving a document out makes its component smaller; smoothing must not tell."""
    rng = np.random.default_rng(0)
    X = np.tile(rng.integers(40, 60, 20).astype(float), (24, 1))  # all documents are the same
    V = np.repeat(np.eye(2), 12, axis=0) + 1e-9
    shapes = 0.1 + 12 * np.repeat(X[:1].T, 2, axis=1)
    shapes = np.vstack([shapes, np.full((60, 2), 0.1)])  # and many terms never occur
    X = sparse.csr_array(np.hstack([X, np.zeros((24, 60))]))
    got = left_out(X, V, shapes, np.ones(2), 40.0)
    assert abs(got).max() < 1e-4
