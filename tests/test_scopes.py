"""Scopes in the core: against the oracle, hard zeros, a bound that never falls."""

from dataclasses import replace

import numpy as np
import oracle_scopes
import pytest
from conftest import make_corpus
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from properties import examples
from scipy import sparse
from test_fit import as_oracle
from test_labels import several, unknown

from vbnmf.core import starts
from vbnmf.core.fit import Schedule, fit
from vbnmf.core.model import Labels, Scopes
from vbnmf.core.starts import Knobs
from vbnmf.discovery import drafts
from vbnmf.discovery.drafts import Draft
from vbnmf.engines.local import LocalEngine
from vbnmf.kernels.reference import ReferenceKernel

pytestmark = pytest.mark.kernel

KNOBS = Knobs(a_t=0.7, b_t=None, a_v=0.6, b_v=None, a_lam=3.0, b_lam=None)
MASK = np.array([[1, 1, 0, 1, 0], [1, 0, 1, 0, 0], [1, 1, 0, 0, 1]], dtype=bool)
N, K = 24, MASK.shape[1]


def single():
    group = (np.arange(N) % 3).astype(np.int32)
    labels = Labels.one_each(np.bincount(group).astype(float))
    return group, labels, np.eye(3)[group], None


def start(kernel, X, group, labels, mask=MASK, dtype=np.float64):
    """A draft of random components, evenly used within their scopes."""
    unknown = len(labels.latent) > 0
    engine = LocalEngine(kernel, X.astype(dtype), group, int(group.max()) + 1, unknown=unknown)
    counts = np.random.default_rng(1).gamma(1, 2, (X.shape[1], mask.shape[1]))
    draft = Draft(counts, mask / mask.sum(axis=1, keepdims=True), mask)
    return engine, drafts.begin(engine, draft, KNOBS, labels, np.dtype(dtype))


@pytest.mark.parametrize("case", [single, several, unknown])
def test_fit_equals_the_oracle(kernel, case):
    X, _ = make_corpus(N, 15, 3)
    group, labels, Delta, is_unknown = case()
    engine, state = start(kernel, X, group, labels)
    outside = state.labels.scopes.outside
    o = as_oracle(X, Delta, K, replace(state, rates=None), replace(KNOBS, a_lam=3.0))
    shape = np.broadcast_to(state.rates.shape, (3, K))
    o = replace(o, a_v=KNOBS.a_v, a_lam=3.0, b_lam=state.prior.b_lam)
    o = replace(o, alpha_lam=shape, beta_lam=state.rates.scale, unknown=is_unknown)
    o = replace(o, p_z=np.exp(labels.log_prior)) if is_unknown is not None else o
    # P that gives every document the Sigma_v it begins with
    weight = X.toarray().sum(axis=1, keepdims=True)
    share = np.divide(engine.Sigma_v, weight, out=np.zeros_like(engine.Sigma_v), where=weight > 0)
    o = replace(o, P=np.repeat(share[:, None], X.shape[1], axis=1))
    o = oracle_scopes.update_v(o, MASK, outside)
    bounds = [oracle_scopes.bound(o, MASK, outside)]
    for _ in range(6):
        o = oracle_scopes.update_t(oracle_scopes.update_s(o, MASK), MASK)
        o = replace(o, b_t=float(o.E_t.mean()) / o.a_t)
        o = oracle_scopes.update_lam(o, MASK)
        o = oracle_scopes.update_z(o, MASK, outside) if is_unknown is not None else o
        o = oracle_scopes.update_b_lam(o, MASK)
        o = oracle_scopes.update_v(o, MASK, outside)
        bounds.append(oracle_scopes.bound(o, MASK, outside))
    result = fit(engine, state, KNOBS, Schedule(6, 0.0, 0, bound_every=1, extrapolate=False))
    assert_allclose(result.bound_history, bounds, rtol=1e-10, atol=1e-8)
    assert_allclose(result.state.terms.shape[:, :K], o.alpha_t, rtol=1e-8)
    assert_allclose(result.state.rates.E[MASK], o.E_lam[MASK], rtol=1e-8)
    V = engine.coefficients(result.state)
    assert_allclose(V, oracle_scopes.E_v(o, MASK), rtol=1e-8)
    if is_unknown is not None:
        assert_allclose(engine.latent, o.Delta[is_unknown], atol=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_out_of_scope_is_exactly_zero(kernel, dtype):
    X, _ = make_corpus(N, 15, 3)
    group, labels, _, _ = single()
    engine, state = start(kernel, X, group, labels, dtype=dtype)
    result = fit(engine, state, KNOBS, Schedule(20, 0.0, 0, bound_every=5))
    V = engine.coefficients(result.state)
    assert_array_equal(V > 0, MASK[group])
    assert_array_equal(engine.Sigma_v[~MASK[group]], 0)


def test_every_label_in_every_scope_is_the_model_without_scopes(kernel):
    X, _ = make_corpus(N, 15, 3)
    group, labels, _, _ = single()
    everyone = np.ones((3, K), dtype=bool)
    histories = []
    for scoped in (False, True):
        engine, state = start(kernel, X, group, labels, everyone)
        if scoped:
            state = replace(state, labels=replace(labels, scopes=Scopes(everyone, 1e9)))
        histories.append(
            fit(engine, state, KNOBS, Schedule(9, 0.0, 0, 1, extrapolate=False)).bound_history
        )
    assert_allclose(*histories, rtol=1e-12)


@examples(40)
@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 40), st.sampled_from([0, 6]))
def test_the_bound_never_falls(seed, n_labels, K, n_unknown):
    rng = np.random.default_rng(seed)
    mask = rng.random((n_labels, K)) < 0.4
    mask[rng.integers(n_labels, size=K), np.arange(K)] = True
    mask[np.arange(n_labels), rng.integers(K, size=n_labels)] = True
    X, _ = make_corpus(N, 12, 1, seed)
    first = np.arange(N - n_unknown) % n_labels
    group = np.concatenate([first, np.full(n_unknown, n_labels)]).astype(np.int32)
    n_docs = np.bincount(group, minlength=n_labels).astype(float)
    known = sparse.eye_array(n_labels, format="csr")
    labels = Labels.of(known, n_docs, unknown=n_unknown > 0)
    engine, state = start(ReferenceKernel(), X, group, labels, mask)
    history = np.array(fit(engine, state, KNOBS, Schedule(25, 0.0, 0, 1)).bound_history)
    assert (np.diff(history) >= -1e-9 * np.abs(history[1:])).all()


@pytest.mark.parametrize("K", [5, 16, 40, 250, pytest.param(500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(60, 700), (700, 60)])
@pytest.mark.parametrize("cached", [1 << 30, 9_000])
def test_lines_of_cache_change_nothing(native, monkeypatch, K, dtype, shape, cached):
    """The compiled kernel skips lines that hold nothing in scope; long rows and terms too."""
    from vbnmf.kernels import compiled

    monkeypatch.setattr(compiled, "CACHED", cached)  # many or few documents at a time
    X, _ = make_corpus(*shape, 1)
    y = (np.arange(shape[0]) % 6).astype(np.int32)
    mask = np.zeros((6, K), dtype=bool)
    mask[:, 0] = True
    mask[np.arange(K) % 6, np.arange(K)] = True
    mask[5] = True  # a label that uses all
    labels = Labels.one_each(np.bincount(y).astype(float))
    found = []
    for kernel in (native, ReferenceKernel()):
        precision = dtype if kernel is native else np.float64
        engine, state = start(kernel, X, y, labels, mask, dtype=precision)
        result = fit(engine, state, KNOBS, Schedule(4, 0.0, 0, 1))
        found.append((result.bound_history, result.state.terms.shape[:, :K], engine.Sigma_v))
    rtol = 2e-4 if dtype == np.float32 else 1e-9
    for a, b in zip(*found, strict=True):
        assert_allclose(a, b, rtol=rtol, atol=rtol)


def test_threads_do_not_change_a_bit_with_scopes(native):
    X, _ = make_corpus(3000, 200, 1)
    y = (np.arange(3000) % 9).astype(np.int32)
    mask = np.zeros((9, 40), dtype=bool)
    mask[np.arange(40) % 9, np.arange(40)] = True
    mask[:, :2] = True
    labels = Labels.one_each(np.bincount(y).astype(float))

    def run(n_threads):
        with type(native)(n_threads) as kernel:
            engine, state = start(kernel, X, y, labels, mask, dtype=np.float32)
            result = fit(engine, state, KNOBS, Schedule(3, 0.0, 0, 1))
            return [np.array(engine.Sigma_v), result.state.terms.shape.copy(), result.bound_history]

    one = run(1)
    for n_threads in (2, 5):
        for a, b in zip(one, run(n_threads), strict=True):
            assert_array_equal(a, b)


def test_begin_changes_the_number_of_components(kernel):
    X, y = make_corpus(12, 9, 3)
    engine = LocalEngine(kernel, X, y, 3, 2)
    engine.begin(starts.even_portions(4))
    assert engine.Sigma_v.shape == (12, 4)
    assert_allclose(engine.Sigma_v.sum(axis=1), X.sum(axis=1))
