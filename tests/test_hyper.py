"""Learned hyperparameters are where the bound has its maximum."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import psi

from vbnmf.core import hyper


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
