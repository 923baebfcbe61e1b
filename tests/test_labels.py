"""Labels as they come: unknown ones and several a document, against the oracle."""

from dataclasses import replace

import numpy as np
import oracle
import pytest
from conftest import make_corpus
from numpy.testing import assert_allclose
from scipy import sparse
from test_fit import as_oracle

from vbnmf.core import starts
from vbnmf.core.fit import Schedule, fit
from vbnmf.core.model import Labels
from vbnmf.core.starts import Knobs
from vbnmf.engines.local import LocalEngine

pytestmark = pytest.mark.kernel

KNOBS = Knobs(a_t=0.7, b_t=None, a_v=1.0, b_v=None, a_lam=3.0, b_lam=None)
N, K = 24, 4


def several():
    """Groups of documents by their sets of labels: {0}, {1}, {0, 2}, {0, 1, 2}."""
    weights = np.array([[1, 0, 0], [0, 1, 0], [0.5, 0, 0.5], [1 / 3, 1 / 3, 1 / 3]])
    group = np.arange(N, dtype=np.int32) % 4
    labels = Labels.of(sparse.csr_array(weights), np.bincount(group), unknown=False)
    return group, labels, weights[group], None


def unknown():
    """Twelve documents have labels, six, four and two of them; the others none that is known."""
    first = np.repeat([0, 1, 2], [6, 4, 2])
    group = np.concatenate([first, np.full(N - 12, 3)]).astype(np.int32)
    labels = Labels.of(sparse.eye_array(3, format="csr"), np.bincount(group), unknown=True)
    Delta = np.vstack([np.eye(3)[group[:12]], np.repeat(labels.latent, 12, axis=0)])
    return group, labels, Delta, np.arange(N) >= 12


def start(kernel, X, group, labels):
    unknown = len(labels.latent) > 0
    engine = LocalEngine(kernel, X, group, int(group.max()) + 1, K, unknown=unknown)
    engine.begin(starts.even_portions(K))
    shapes = kernel.zeros(X.shape[1], K, X.dtype)
    starts.random_shapes(np.random.default_rng(1), engine.totals, 0.7, shapes[:, :K])
    return engine, starts.state(kernel, shapes, K, engine.totals, KNOBS, labels)


@pytest.mark.parametrize("case", [several, unknown])
@pytest.mark.parametrize("annealing", [0, 3])
def test_fit_equals_the_oracle(kernel, case, annealing):
    X, _ = make_corpus(N, 15, 3)
    group, labels, Delta, is_unknown = case()
    engine, state = start(kernel, X, group, labels)
    o = as_oracle(X, Delta, K, state, KNOBS)
    p_z = np.exp(labels.log_prior)
    o = replace(o, unknown=is_unknown, p_z=p_z) if is_unknown is not None else o
    schedule = Schedule(9, 0.0, 2, bound_every=1, annealing=annealing, extrapolate=False)
    o = oracle.update_v(o)
    bounds = [oracle.bound(o)]
    for i in range(1, 10):
        o = oracle.update_b_t(oracle.update_t(oracle.update_s(o)))
        if i > 2:
            o = oracle.update_lam(o)
            inverse_temperature = min(1.0, (i - 2) / (annealing + 1))
            o = oracle.update_z(o, inverse_temperature) if is_unknown is not None else o
            o = oracle.update_b_lam(o)
        o = oracle.update_v(o)
        bounds.append(oracle.bound(o))
    result = fit(engine, state, KNOBS, schedule)
    assert_allclose(result.bound_history, bounds, rtol=1e-10, atol=1e-9)
    assert_allclose(result.state.rates.E, o.E_lam, rtol=1e-8)
    if is_unknown is not None:
        assert_allclose(engine.latent, o.Delta[is_unknown], atol=1e-8)
        assert_allclose(p_z, [1 / 2, 1 / 3, 1 / 6])


def test_the_bound_never_falls_once_labels_are_as_definite_as_it_says(kernel):
    X, _ = make_corpus(N, 15, 3)
    group, labels, _, _ = unknown()
    engine, state = start(kernel, X, group, labels)
    result = fit(engine, state, KNOBS, Schedule(60, 0.0, 3, bound_every=1, annealing=10))
    rises = np.diff(result.bound_history)
    assert (rises[14:] >= -1e-9 * abs(result.bound)).all()
    assert_allclose(engine.latent.sum(axis=1), 1)
    assert np.ptp(engine.latent, axis=0).min() > 0.1


def test_known_labels_alone_are_as_before(kernel):
    X, y = make_corpus(N, 15, 3)
    plain = LocalEngine(kernel, X, y, 3, K)
    labels = Labels.one_each(plain.totals.n_docs)
    rates = np.random.default_rng(0).random((3, K))
    assert np.array_equal(labels.by_group(rates), rates)
    assert np.array_equal(labels.by_label(rates), rates)
    assert_allclose(np.exp(labels.log_prior), np.bincount(y) / N)
