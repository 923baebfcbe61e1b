"""Learned hyperparameters are where the bound has its maximum."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import brentq, minimize_scalar
from scipy.special import psi

from vbnmf.core import hyper
from vbnmf.core.bound import rates_term
from vbnmf.core.model import Prior, Rates

pytestmark = pytest.mark.kernel


@given(st.floats(1e-3, 1e6), st.floats(1e-6, 1e6))
def test_shape_solves_its_equation(a, mean):
    gap = np.log(a) - psi(a)
    got = hyper.shape(mean, np.log(mean) - gap)
    exact = brentq(lambda x: np.log(x) - psi(x) - gap, 0.4 / gap, 1.1 / gap, rtol=1e-14)
    assert got == pytest.approx(exact, rel=1e-6)


@given(st.floats(1e-3, 1e6), st.floats(1e-6, 1e6))
def test_shape_at_scale_solves_its_equation(a, scale):
    assert hyper.shape_at_scale(psi(a) + np.log(scale), scale) == pytest.approx(a, rel=1e-6)


def test_guard():
    mean_log = psi(0.01) - np.log(0.01)  # of variables with a mean of one
    assert hyper.shape(1.0, mean_log) == pytest.approx(0.01)
    assert hyper.shape(1.0, mean_log, least=0.2) == 0.2
    assert hyper.shape_at_scale(psi(0.01), 1.0, least=0.2) == 0.2


def test_equal_and_certain_variables():
    assert hyper.shape(2.0, np.log(2.0)) == 1e8
    assert np.isfinite(hyper.shape(2.0, np.log(2.0) + 1e-17))


def test_scale():
    assert hyper.scale(6.0, 2.0) == 3.0


def rates(n_labels, K, seed):
    rng = np.random.default_rng(seed)
    return Rates(rng.uniform(1, 500, n_labels), rng.gamma(1, 1, (n_labels, K)) + 1e-3)


@given(st.integers(1, 6), st.integers(1, 5), st.integers(0, 10**6), st.booleans())
def test_scale_of_rates_maximises_the_bound(n_labels, K, seed, each):
    """Over the mean m of the prior, b = m / a, which labels share; one shape or one each."""
    q = rates(n_labels, K, seed)
    a = np.random.default_rng(seed).uniform(0.5, 300, n_labels) if each else 3.0

    def bound(log_mean):
        return rates_term(Prior(1, 1, 1, 1, a, np.exp(log_mean) / a), q)

    b = hyper.scale_of_rates(q.E, a)
    assert np.shape(b) == np.shape(a)
    means = np.asarray(a * b)
    assert_allclose(means, means.flat[0])
    best = minimize_scalar(lambda m: -bound(m), bounds=(-12, 12), options={"xatol": 1e-10})
    assert np.log(means.flat[0]) == pytest.approx(best.x, abs=1e-4)
    assert bound(np.log(means.flat[0])) >= -best.fun - 1e-7 * abs(best.fun)


def test_scale_of_rates_of_one_shape_is_the_mean():
    q = rates(4, 3, 0)
    assert hyper.scale_of_rates(q.E, 2.0) == pytest.approx(hyper.scale(q.E.mean(), 2.0))
    assert_allclose(hyper.scale_of_rates(q.E, np.full(4, 2.0)), hyper.scale(q.E.mean(), 2.0))


def test_the_bound_of_rates_is_a_sum_over_labels():
    q, rng = rates(4, 3, 0), np.random.default_rng(1)
    a, b = rng.uniform(1, 50, 4), rng.uniform(0.1, 2, 4)
    alone = [
        rates_term(Prior(1, 1, 1, 1, a[i], b[i]), Rates(q.shape[[i]], q.scale[[i]]))
        for i in range(4)
    ]
    assert rates_term(Prior(1, 1, 1, 1, a, b), q) == pytest.approx(sum(alone))
    assert rates_term(Prior(1, 1, 1, 1, a, 0.5), q) == pytest.approx(
        rates_term(Prior(1, 1, 1, 1, a, np.full(4, 0.5)), q)
    )
