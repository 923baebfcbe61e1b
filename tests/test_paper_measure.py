"""The drawn start of the experiments, against the equation written out densely."""

import numpy as np
import pytest
from conftest import make_corpus
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from vbnmf.paper import measure


@pytest.mark.parametrize("at_once", [1, 7, 1 << 14])
def test_components_are_one_update_of_the_draws(monkeypatch, at_once):
    monkeypatch.setattr(measure, "_NONZEROS_AT_ONCE", at_once)
    dense = np.array(sparse.csr_matrix(make_corpus(20, 15, 2)[0]).toarray())
    dense[:, 3] = 0  # a term that occurs nowhere
    X = sparse.csr_matrix(dense)
    rng = np.random.default_rng(5)
    T = rng.standard_gamma(1.0, (15, 4))
    V = rng.standard_gamma(0.5, (20, 4))
    parts = T[None] * V[:, None]
    expected = (X.toarray()[:, :, None] * parts / parts.sum(axis=2, keepdims=True)).sum(axis=0)
    found = measure.drawn_components(X, 4, 0.5, seed=5)
    assert_allclose(found, expected.T, rtol=1e-8, atol=1e-9)
    assert_allclose(found.sum(axis=0), np.asarray(X.sum(axis=0)).ravel(), rtol=1e-10)


def test_seeds_differ_and_repeat():
    X = sparse.csr_matrix(make_corpus(20, 15, 2)[0])
    one, again, other = (measure.drawn_components(X, 3, 1.0, seed) for seed in (0, 0, 1))
    assert_array_equal(one, again)
    assert abs(one - other).max() > 0.01


@pytest.mark.parametrize("kind", [measure._Supervised, measure._Unsupervised])
def test_sweeps_are_those_of_the_paper(kind, monkeypatch):
    """No sweep of an experiment starts from an extrapolated state."""
    X, y = make_corpus(20, 15, 2)
    started = []
    monkeypatch.setattr("vbnmf.core.fit.extrapolated", lambda *args: started.append(args))
    kind(2, init="random", max_iter=30, tol=0, random_state=0).fit(X, y)
    assert not started
