"""The loop against the oracle, iteration by iteration, with everything learned."""

from dataclasses import replace

import numpy as np
import oracle
import pytest
from conftest import make_corpus
from numpy.testing import assert_allclose

from vbnmf.core import starts
from vbnmf.core.fit import Schedule, fit
from vbnmf.core.starts import Knobs
from vbnmf.engines.local import LocalEngine

pytestmark = pytest.mark.kernel

LEARN_ALL = {
    "supervised": Knobs(a_t=None, b_t=None, a_v=1.0, b_v=None, a_lam=3.0, b_lam=None),
    "unsupervised": Knobs(a_t=None, b_t=None, a_v=0.4, b_v=None),
}
FIXED = {
    "supervised": Knobs(a_t=0.7, b_t=0.2, a_v=1.0, b_v=None, a_lam=3.0, b_lam=0.5),
    "unsupervised": Knobs(a_t=0.7, b_t=0.2, a_v=0.4, b_v=1.5),
}
GIVEN_SCALE = {"supervised": Knobs(None, 0.3, 1.0, None, 3.0, None)}


def open_engine(kernel, X, y, K, knobs):
    labels = knobs.a_lam is not None
    group = y if labels else np.zeros(X.shape[0], np.int32)
    engine = LocalEngine(kernel, X, group, int(group.max()) + 1, K)
    engine.begin(starts.even_portions(K))
    rng = np.random.default_rng(1)
    shapes = kernel.zeros(X.shape[1], K, X.dtype)
    starts.random_shapes(rng, engine.totals, knobs.a_t or starts.FIRST_TERM_SHAPE, shapes[:, :K])
    return engine, starts.state(kernel, shapes, K, engine.totals, knobs)


def as_oracle(X, y, K, state, knobs):
    """The same starting state, in the oracle's hands."""
    prior, terms = state.prior, state.terms
    o = oracle.random_start(
        X.toarray(), y if knobs.a_lam is not None else None, K, 0,
        a_t=prior.a_t, b_t=prior.b_t, a_v=prior.a_v, b_v=prior.b_v,
    )  # fmt: skip
    if prior.a_lam is not None:
        o = oracle.replace(o, a_lam=_column(prior.a_lam), b_lam=_column(prior.b_lam))
    o = oracle.replace(
        o,
        alpha_t=terms.shape[:, :K].astype(float).copy(),
        beta_t=np.broadcast_to(terms.scale, o.alpha_t.shape),
    )
    if state.rates is not None:
        o = oracle.replace(
            o,
            alpha_lam=np.repeat(state.rates.shape[:, None], K, axis=1),
            beta_lam=state.rates.scale,
        )
    return o  # its P is uniform: every document's weight is spread evenly


def _column(by_label):
    return by_label[:, None] if np.ndim(by_label) else by_label


def oracle_iterations(o, knobs, n, burn_in):
    """The same order of updates by the oracle; bounds of each state, and the last state."""
    o = oracle.update_v(o)
    bounds = [oracle.bound(o)]
    for i in range(1, n + 1):
        o = oracle.update_t(oracle.update_s(o))
        if knobs.a_t is None and i > burn_in:
            o = oracle.update_a_t(o, scale_free=knobs.b_t is None)
        elif knobs.b_t is None:
            o = oracle.update_b_t(o)
        if i > burn_in:
            o = oracle.update_lam(o) if o.supervised else o
            o = oracle.update_b_v(o) if knobs.b_v is None else o
            o = oracle.update_b_lam(o) if o.supervised and knobs.b_lam is None else o
        o = oracle.update_v(o)
        bounds.append(oracle.bound(o))
    return np.array(bounds), o


@pytest.mark.parametrize("labels", ["supervised", "unsupervised"])
@pytest.mark.parametrize("learn", [LEARN_ALL, FIXED], ids=["learned", "fixed"])
def test_fit_equals_the_oracle(kernel, case, labels, learn):
    check_against_oracle(kernel, case, learn[labels])


def test_fit_with_a_given_scale_equals_the_oracle(kernel, case):
    check_against_oracle(kernel, case, GIVEN_SCALE["supervised"])


@pytest.mark.parametrize("b_lam", [None, 0.5])
def test_fit_with_a_shape_for_each_label_equals_the_oracle(kernel, case, b_lam):
    n_labels = int(case[1].max()) + 1
    a_lam = np.linspace(1.0, 40.0, n_labels)
    check_against_oracle(kernel, case, replace(LEARN_ALL["supervised"], a_lam=a_lam, b_lam=b_lam))


def check_against_oracle(kernel, case, knobs, n=8, burn_in=3):
    X, y, K = case
    knobs = replace(knobs, least_a_t=0.0)  # the oracle has no guard
    engine, state = open_engine(kernel, X, y, K, knobs)
    bounds, o = oracle_iterations(as_oracle(X, y, K, state, knobs), knobs, n, burn_in)
    result = fit(engine, state, knobs, Schedule(n, 0.0, burn_in, bound_every=1, extrapolate=False))
    assert result.n_iter == n
    assert_allclose(result.bound_history, bounds, rtol=1e-10, atol=1e-9)
    assert result.bound == result.bound_history[-1]
    assert_allclose(result.state.terms.shape[:, :K], o.alpha_t, rtol=1e-8, atol=1e-10)
    assert_allclose(engine.coefficients(result.state), o.E_v, rtol=1e-8)
    prior = result.state.prior
    assert_allclose([prior.a_t, prior.b_t], [o.a_t, o.b_t], rtol=1e-8)
    if o.supervised:
        assert_allclose(result.state.rates.E, o.E_lam, rtol=1e-8)
        assert_allclose(prior.b_lam, np.ravel(o.b_lam) if np.ndim(o.b_lam) else o.b_lam, rtol=1e-8)
    else:
        assert_allclose(prior.b_v, o.b_v, rtol=1e-8)


def test_bound_may_be_evaluated_now_and_then(kernel):
    X, y = make_corpus(20, 15, 2)
    knobs = LEARN_ALL["supervised"]

    def run(every):
        engine, state = open_engine(kernel, X, y, 3, knobs)
        return fit(engine, state, knobs, Schedule(12, 0.0, 3, bound_every=every))

    often, seldom = run(1), run(5)
    assert len(often.bound_history) == 13
    picked = [*often.bound_history[:12:5], often.bound]
    assert_allclose(seldom.bound_history, picked, rtol=1e-13)


def test_burn_in_holds_the_label_rates(kernel):
    X, y = make_corpus(20, 15, 3)
    knobs = LEARN_ALL["supervised"]
    engine, state = open_engine(kernel, X, y, 4, knobs)
    held = fit(engine, state, knobs, Schedule(5, 0.0, 5, bound_every=1))
    assert_allclose(held.state.rates.E, state.rates.E)
    assert np.ptp(state.rates.E) < 1e-12 * state.rates.E.max()
    engine, state = open_engine(kernel, X, y, 4, knobs)
    let_go = fit(engine, state, knobs, Schedule(6, 0.0, 5, bound_every=1))
    assert np.ptp(let_go.state.rates.E) > 0.1 * let_go.state.rates.E.min()


def test_stops_when_the_bound_hardly_rises(kernel):
    X, y = make_corpus(20, 15, 3)
    knobs = LEARN_ALL["supervised"]
    engine, state = open_engine(kernel, X, y, 3, knobs)
    result = fit(engine, state, knobs, Schedule(10_000, 1e-6, 10, bound_every=5))
    assert result.converged
    assert 15 < result.n_iter < 10_000
    assert 0 <= result.rise < 1e-6
    before_last = np.diff(result.bound_history)[2:-2] / 5 / np.abs(result.bound_history[3:-2])
    assert (before_last >= 1e-6).all()


def test_watch_is_told_of_every_iteration(kernel):
    X, y = make_corpus(12, 9, 2)
    knobs = LEARN_ALL["supervised"]
    engine, state = open_engine(kernel, X, y, 2, knobs)
    seen = []
    result = fit(
        engine, state, knobs, Schedule(7, 0.0, 2, bound_every=3), lambda *told: seen.append(told)
    )
    assert [told[0] for told in seen] == list(range(1, 8))
    evaluated = [result.bound_history[i // 3] for i in range(7)]
    assert [told[1] for told in seen] == evaluated


@pytest.mark.parametrize("knobs", [*FIXED.values(), *GIVEN_SCALE.values()])
def test_start_agrees_with_fixed_scales(kernel, knobs):
    """Expected weights of the start add up to about the data, whatever is held fixed."""
    X, y = make_corpus(40, 30, 2)
    engine, state = open_engine(kernel, X, y, 3, knobs)
    scale = 1 / (1 / state.prior.b_v + state.terms.E_sums)
    expected = (engine.Sigma_v * scale * state.terms.E_sums).sum()
    assert 0.2 < expected / X.sum() <= 1
    if knobs.b_t is not None:
        assert state.prior.b_t == knobs.b_t
        assert_allclose(state.terms.E_sums.mean() / 30, state.prior.a_t * knobs.b_t)


def test_equal_shapes_by_label_are_one_shape(kernel):
    X, y = make_corpus(20, 15, 3)
    one = LEARN_ALL["supervised"]
    each = replace(one, a_lam=np.full(3, one.a_lam))

    def run(knobs):
        engine, state = open_engine(kernel, X, y, 4, knobs)
        return fit(engine, state, knobs, Schedule(12, 0.0, 2, bound_every=1))

    a, b = run(one), run(each)
    assert_allclose(a.bound_history, b.bound_history, rtol=1e-12)
    assert_allclose(a.state.rates.E, b.state.rates.E, rtol=1e-10)
    assert_allclose(b.state.prior.b_lam, np.full(3, a.state.prior.b_lam), rtol=1e-10)


@pytest.mark.parametrize("b_lam", [None, 0.5])
def test_each_label_has_its_own_shape(kernel, b_lam):
    X, y = make_corpus(20, 15, 3)
    a_lam = np.array([1.0, 40.0, 7.0])
    knobs = replace(LEARN_ALL["supervised"], a_lam=a_lam, b_lam=b_lam)
    engine, state = open_engine(kernel, X, y, 4, knobs)
    result = fit(engine, state, knobs, Schedule(30, 0.0, 2, bound_every=1))
    assert (np.diff(result.bound_history) >= -1e-9 * abs(result.bound)).all()
    assert_allclose(result.state.rates.shape, a_lam + np.bincount(y))
    prior = result.state.prior
    if b_lam is None:
        assert_allclose(prior.a_lam * prior.b_lam, np.full(3, prior.a_lam[0] * prior.b_lam[0]))
    else:
        assert prior.b_lam == b_lam
