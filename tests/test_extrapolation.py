"""Extrapolated states against the oracle, the step back, and bounds that never fall."""

from dataclasses import replace

import numpy as np
import oracle
import pytest
from conftest import make_corpus
from numpy.testing import assert_allclose, assert_array_equal
from test_fit import FIXED, LEARN_ALL, as_oracle, open_engine

from vbnmf.core.extrapolation import FASTER, FIRST, MORE, MOST, SLOWER, Momentum
from vbnmf.core.fit import Loop, Schedule, fit

pytestmark = pytest.mark.kernel

FAR = Momentum(beta=20.0, most=20.0, last=0.5)  # so far that the bound falls


def ahead(x, before, beta):
    """Extrapolate logarithms, by at most 5."""
    return x * np.exp(np.clip(beta * np.log(x / before), -5, 5))


def oracle_start(o, before, beta):
    """Return the state that a sweep starts from: that of the oracle, or an extrapolated one."""
    if before is None:
        return oracle.update_v(o)
    shapes_v = ahead(o.a_v + o.Sigma_v, o.a_v + before.Sigma_v, beta)
    y = oracle.replace(
        o,
        alpha_t=np.maximum(ahead(o.alpha_t, before.alpha_t, beta), o.a_t),
        beta_t=o.beta_t * (o.beta_t / before.beta_t) ** beta,
        alpha_v=np.maximum(shapes_v, o.a_v),
    )
    if o.supervised:
        y = oracle.replace(y, beta_lam=o.beta_lam * (o.beta_lam / before.beta_lam) ** beta)
    return oracle.replace(y, beta_v=1 / (y.rate_v + y.E_t.sum(axis=0)))


def oracle_loop(o, knobs, n, momentum):
    """Return the bounds of accepted states, the last state, and how many were rejected."""
    before, best, bounds, rejected = None, -np.inf, [], 0
    beta, most, last = momentum.beta, momentum.most, momentum.last
    for i in range(n):
        y = oracle_start(o, before, beta)
        bound = oracle.bound(y)
        if before is not None and bound < best:
            beta, most, before, rejected = beta * SLOWER, last, None, rejected + 1
            bounds.append(best)
            continue
        if before is not None:
            most = min(MOST, most * MORE)
            beta, last = min(most, beta * FASTER), beta
        best = bound
        bounds.append(best)
        x = oracle.update_t(oracle.update_s(y))
        if knobs.a_t is None and i >= 1:
            x = oracle.update_a_t(x, scale_free=knobs.b_t is None)
        elif knobs.b_t is None:
            x = oracle.update_b_t(x)
        x = oracle.update_lam(x) if x.supervised else x
        x = oracle.update_b_v(x) if knobs.b_v is None else x
        x = oracle.update_b_lam(x) if x.supervised and knobs.b_lam is None else x
        # the first sweep is not extrapolated, nor is the one after the last
        before, o = (o if 0 < i < n - 1 else None), x
    o = oracle.update_v(o)
    return np.array([*bounds, oracle.bound(o)]), o, rejected


@pytest.mark.parametrize("labels", ["supervised", "unsupervised"])
@pytest.mark.parametrize("momentum", [Momentum(), FAR], ids=["near", "far"])
def test_extrapolated_sweeps_equal_the_oracle(kernel, labels, momentum):
    X, y = make_corpus(20, 15, 3)
    knobs, K = FIXED[labels], 4
    engine, state = open_engine(kernel, X, y, K, knobs)
    bounds, o, n_rejected = oracle_loop(as_oracle(X, y, K, state, knobs), knobs, 9, momentum)
    result = fit(engine, state, knobs, Schedule(9, 0.0, 0, 1), loop=Loop(momentum=momentum))
    assert (n_rejected > 0) == (momentum is FAR)
    assert_allclose(result.bound_history, bounds, rtol=1e-9)
    assert_allclose(result.state.terms.shape[:, :K], o.alpha_t, rtol=1e-6)
    assert_allclose(engine.coefficients(result.state), o.E_v, rtol=1e-6)


@pytest.mark.parametrize("labels", ["supervised", "unsupervised"])
def test_a_rejected_state_leaves_no_trace(kernel, labels):
    X, y = make_corpus(20, 15, 3)
    knobs = LEARN_ALL[labels]

    def run(momentum, n, extrapolate):
        engine, state = open_engine(kernel, X, y, 4, knobs)
        schedule = Schedule(n, 0.0, 0, 1, extrapolate=extrapolate)
        result = fit(engine, state, knobs, schedule, loop=Loop(momentum=momentum))
        return result, engine.Sigma_v.copy()

    # sweeps 0 and 1 are plain, 2 is extrapolated too far, and 3 goes on from where 1 ended
    (stepped, stepped_V), (plain, V) = run(FAR, 4, True), run(FAR, 3, False)
    assert stepped.bound_history[2] == stepped.bound_history[1]
    assert_allclose(stepped.bound, plain.bound, rtol=1e-12)
    assert_array_equal(stepped.state.terms.shape[:, :4], plain.state.terms.shape[:, :4])
    assert_array_equal(stepped_V, V)


@pytest.mark.parametrize("labels", ["supervised", "unsupervised"])
@pytest.mark.parametrize("seed", range(4))
def test_accepted_bounds_never_fall(kernel, labels, seed):
    X, y = make_corpus(40, 30, 4, seed)
    knobs = LEARN_ALL[labels]
    engine, state = open_engine(kernel, X, y, 6, knobs)
    seen = []

    def keep(loop, state):
        seen.append(loop.momentum)

    schedule = Schedule(80, 0.0, 2, bound_every=1)
    loop = Loop(momentum=replace(FAR, beta=3.0))
    history = fit(engine, state, knobs, schedule, loop=loop, keep=keep).bound_history
    assert (np.diff(history) >= -1e-9 * np.abs(history[1:])).all()
    betas = np.array([momentum.beta for momentum in seen])
    assert (np.diff(betas) < 0).any()  # some were rejected
    assert (np.diff(betas) > 0).any()  # some were accepted


def test_fewer_sweeps_are_needed(kernel):
    X, y = make_corpus(60, 40, 4)
    knobs = LEARN_ALL["supervised"]

    def run(extrapolate):
        engine, state = open_engine(kernel, X, y, 6, knobs)
        schedule = Schedule(300, 0.0, 5, 1, extrapolate=extrapolate)
        return np.array(fit(engine, state, knobs, schedule).bound_history)

    plain, fewer = run(False), run(True)
    level = min(plain.max(), fewer.max()) - 1e-4 * abs(plain.max())
    assert np.argmax(fewer >= level) < 0.8 * np.argmax(plain >= level)


def test_beta_grows_with_accepted_states_and_falls_with_rejected_ones():
    momentum = Momentum()
    assert momentum.beta == FIRST
    assert momentum.accepted().beta == FIRST * FASTER
    assert momentum.rejected().beta == FIRST * SLOWER
    for _ in range(50):
        momentum = momentum.accepted()
    assert momentum.beta == MOST
    assert momentum.rejected().most == MOST
    assert momentum.accepted().rejected().accepted().beta <= MOST
