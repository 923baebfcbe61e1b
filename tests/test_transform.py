"""Projection, starting points, and the same bits from the same seed on any number of threads."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from conftest import INSTRUCTION_SETS, fitted_attributes, make_corpus
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from oracle_uses import expected_shares, project_to_mode
from scipy import sparse
from scipy.special import psi

from vbnmf import VBNMF, SupervisedVBNMF
from vbnmf.core import starts
from vbnmf.estimators import base
from vbnmf.estimators.validation import count_threads
from vbnmf.kernels import open_kernel
from vbnmf.kernels.layout import cut_into_blocks
from vbnmf.metrics.likelihood import half_log_likelihood, split_documents
from vbnmf.prediction.projection import EvenPrior

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:the fit did not converge")]
MODELS = [VBNMF, SupervisedVBNMF]
X, Y = make_corpus(23, 31, 3)


def quick(model, **parameters):
    return model(**{"n_components": 4, "max_iter": 25, "random_state": 0, **parameters})


def attributes(fitted):
    records = ("fitted_", "head_")
    return {key: value for key, value in fitted_attributes(fitted).items() if key not in records}


def assert_same_bits(one, other):
    assert one.keys() == other.keys()
    for name, value in one.items():
        if sparse.issparse(value):
            value, other = value.toarray(), other | {name: other[name].toarray()}
        assert_array_equal(value, other[name], err_msg=name)


# Projection


@pytest.mark.parametrize("iterations", [1, 2, 20])
@pytest.mark.parametrize("model", MODELS)
def test_projection_follows_from_the_fitted_attributes(model, iterations):
    fitted = quick(model)
    if model is SupervisedVBNMF:
        fitted.set_params(scopes="all")
    fitted.fit(X, Y)
    a_v, b_v = (fitted.hyperparameters_[f"coef_{name}"] for name in ("shape", "scale"))
    L_t = np.exp(psi(fitted.component_shapes_)) * fitted.component_scales_[:, None]
    scale = 1 / (1 / b_v + fitted.components_.sum(axis=1))
    dense = X.toarray()
    shape = a_v + np.repeat(dense.sum(axis=1, keepdims=True) / len(L_t), len(L_t), axis=1)
    for _ in range(iterations):
        L_v = np.exp(psi(shape)) * scale
        shape = a_v + L_v * ((dense / (L_v @ L_t)) @ L_t.T)
    assert_allclose(fitted._project(X, iterations, tol=0), shape * scale, rtol=1e-9)


@pytest.mark.parametrize("iterations", [1, 2, 20])
def test_with_scopes_the_prior_of_a_document_follows_from_labels(iterations):
    fitted = quick(SupervisedVBNMF).fit(X, Y)
    dense, sums = X.toarray(), fitted.component_sums_
    weight = dense.sum(axis=1)
    squares = (dense**2).sum(axis=1)
    unit = np.where(weight > 0, squares / np.maximum(weight, 1e-9), 1.0)
    shares = expected_shares(
        dense, fitted.components_, 1 / fitted.label_rates_, fitted.label_frequencies_, 0.1
    )
    found, _ = project_to_mode(
        dense, fitted.component_shapes_.T, np.broadcast_to(fitted.component_scales_, (31, 4)),
        8 * unit[:, None] * shares, iterations,
    )  # fmt: skip
    mean = fitted.label_frequencies_ @ (fitted.label_activations_ @ sums)
    total = (unit + weight) / (1 + unit / mean)
    expected = total[:, None] * found / found.sum(axis=1, keepdims=True) / sums
    assert_allclose(fitted._project(X, iterations, tol=0), expected, rtol=1e-9)


def test_with_scopes_shares_of_components_do_not_depend_on_units():
    fitted = quick(SupervisedVBNMF).fit(X, Y)
    full = X[np.diff(X.indptr) > 0]
    one, other = (
        fitted._project(full * unit, 2000, tol=1e-10) * fitted.component_sums_
        for unit in (1.0, 20.0)
    )
    one, other = (V / V.sum(axis=1, keepdims=True) for V in (one, other))
    assert_allclose(one, other, rtol=1e-6, atol=1e-12)


def test_the_prior_by_label_completes_short_documents_better():
    """Documents of six words, drawn from components of labels and a common one."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(60, 0.1), size=7)
    y = np.arange(900) % 6
    words = [rng.multinomial(6, 0.3 * topics[6] + 0.7 * topics[label]) for label in y]
    drawn = sparse.csr_array(np.array(words, dtype=float))
    fitted = SupervisedVBNMF(7, classifier="generative").fit(drawn[:600], y[:600])
    first, second = split_documents(drawn[600:])
    of = fitted.fitted_.components
    even = EvenPrior(of.hyperparameters["coef_shape"], of.hyperparameters["coef_scale"], of.sums)
    with open_kernel(1) as kernel:
        shapes = kernel.zeros(60, 7, drawn.dtype)
        shapes[:, :7] = of.shapes
        L_t = starts.terms_of(kernel, shapes, of.scales, tally=False).L
        before = even.coefficients(kernel, first, L_t, max_iter=100, tol=1e-3)
    by_label = half_log_likelihood(fitted, second, fitted.transform(first))
    assert by_label > half_log_likelihood(fitted, second, before) + 0.05


def test_without_labels_projection_finds_the_coefficients_of_training():
    fitted = quick(VBNMF, max_iter=5000, tol=1e-14)
    V = fitted.fit_coefficients(X)
    assert_allclose(fitted._project(X, 5000, 1e-10), V, rtol=1e-4, atol=1e-6)


def test_projection_does_not_see_labels():
    fitted = quick(SupervisedVBNMF, label_shape=20.0)
    y = np.arange(X.shape[0]) % 2
    twins = sparse.vstack([X[[1]], X[[1]], X[2:]], format="csr")
    V = fitted.fit_coefficients(twins, y)
    assert np.abs(V[0] - V[1]).max() > 0.01  # same document, other label
    P = fitted.transform(twins)
    assert_array_equal(P[0], P[1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("model", MODELS)
def test_a_document_is_projected_the_same_in_any_company(model, dtype):
    given = X.astype(dtype)
    fitted = quick(model).fit(given, Y)
    together = fitted.transform(given)
    order = np.random.default_rng(0).permutation(given.shape[0])
    subsets = [[d] for d in range(given.shape[0])] + [[3, 3, 5], order, order[:4]]
    for rows in subsets:
        assert_array_equal(fitted.transform(given[rows]), together[rows], err_msg=str(rows))
    assert_array_equal(fitted.transform(given[[2]].toarray()), together[[2]])


@pytest.mark.parametrize("model", MODELS)
def test_projection_converges(model):
    fitted = quick(model).fit(X, Y)
    exact = fitted._project(X, 10_000, 1e-13)

    def error(**limits):
        return np.abs(fitted._project(X, **limits) - exact).sum()

    by_tol = [error(tol=tol) for tol in (1e-1, 1e-3, 1e-5)]
    assert by_tol[0] > 2 * by_tol[1] > 4 * by_tol[2] > 0
    assert by_tol[1] > np.abs(fitted.transform(X) - exact).sum() > by_tol[2]
    by_iterations = [error(tol=0, max_iter=n) for n in (1, 5, 50)]
    assert by_iterations[0] > 2 * by_iterations[1] > 4 * by_iterations[2] > 0


# The same bits


def large():
    """Enough documents and terms for several blocks, and so for several threads."""
    rng = np.random.default_rng(1)
    X = sparse.csr_array(rng.poisson(0.3, (700, 300)).astype(float))
    assert len(cut_into_blocks(np.diff(X.indptr))) > 3
    # labels that follow from the terms: machines for labels at random need many epochs
    return X, (X @ rng.normal(size=(300, 4))).argmax(axis=1)


def fit_everything(model, X, y, **parameters):
    """All that fitting and projecting gives."""
    fitted = model(n_components=9, max_iter=14, random_state=3, **parameters)
    V = fitted.fit_coefficients(X, y)
    return attributes(fitted) | {"V": V, "projected": fitted.transform(X)}


@pytest.mark.skipif(not INSTRUCTION_SETS, reason="the SciPy kernel has one thread")
@pytest.mark.parametrize("dtype", [np.float32, pytest.param(np.float64, marks=pytest.mark.slow)])
@pytest.mark.parametrize("model", MODELS)
def test_threads_do_not_change_a_bit(model, dtype, monkeypatch):
    X, y = large()
    X = X.astype(dtype)
    alone = fit_everything(model, X, y, n_jobs=1)
    for n_jobs in (2, 5, -1):
        assert_same_bits(fit_everything(model, X, y, n_jobs=n_jobs), alone)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert_same_bits(fit_everything(model, X, y), alone)


def test_number_of_threads(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)), raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    threads = {n_jobs: count_threads(n_jobs) for n_jobs in (None, 1, 2, -1, -2, -8, -9, -100)}
    assert threads == {None: 1, 1: 1, 2: 2, -1: 8, -2: 7, -8: 1, -9: 1, -100: 1}
    with parallel_config("threading", n_jobs=3):
        assert count_threads(None) == 3
    for limit, expected in {"3": 3, "1": 1, "99": 8, "": 8, "0": 8, "many": 8, "²": 8}.items():
        monkeypatch.setenv("OMP_NUM_THREADS", limit)
        assert count_threads(-1) == expected
        assert count_threads(-2) == max(1, expected - 1)
        assert (count_threads(None), count_threads(5)) == (1, 5)


@pytest.mark.skipif(not INSTRUCTION_SETS, reason="the SciPy kernel has one thread")
def test_a_million_threads_are_not_started(monkeypatch):
    class Pool(ThreadPoolExecutor):
        def __init__(self, max_workers, **options):
            assert max_workers < 1000
            super().__init__(max_workers, **options)

    monkeypatch.setattr("vbnmf.kernels.compiled.ThreadPoolExecutor", Pool)
    many = quick(VBNMF, n_jobs=10**6, init="random", max_iter=5).fit(X)
    alone = quick(VBNMF, n_jobs=1, init="random", max_iter=5).fit(X)
    assert_same_bits(attributes(many), attributes(alone))
    assert_array_equal(many.transform(X), many.set_params(n_jobs=1).transform(X))


@pytest.mark.parametrize("model", MODELS)
def test_a_seed_gives_the_same_bits_twice_and_another_others(model):
    def quick_at_random(model, **parameters):
        return quick(model, init="random", **parameters)

    first, again = (quick_at_random(model, random_state=1).fit(X, Y) for _ in range(2))
    assert_same_bits(attributes(first), attributes(again))
    assert_same_bits(attributes(first), attributes(first.fit(X, Y)))
    other = quick_at_random(model, random_state=2).fit(X, Y)
    assert np.abs(other.components_ - first.components_).max() > 0.01
    source = np.random.RandomState(1)
    same = quick_at_random(model, random_state=source).fit(X, Y)
    assert_same_bits(attributes(first), attributes(same))
    moved_on = quick_at_random(model, random_state=source).fit(X, Y)
    assert np.abs(moved_on.components_ - first.components_).max() > 0.01


@pytest.mark.parametrize("model", MODELS)
def test_no_seed_gives_other_starts(model):
    one, other = (
        quick(model, init="random", random_state=None, max_iter=1).fit(X, Y) for _ in range(2)
    )
    assert (one.components_ != other.components_).any()


@pytest.mark.parametrize("model", MODELS)
def test_the_start_that_looks_for_components_needs_no_seed(model):
    """But for further starts, which are random."""
    fits = [quick(model, random_state=seed).fit(X, Y) for seed in (1, 2, None)]
    for other in fits[1:]:
        assert_same_bits(attributes(fits[0]), attributes(other))
    first, again = (quick(model, n_init=3, random_state=1).fit(X, Y) for _ in range(2))
    assert_same_bits(attributes(first), attributes(again))
    assert first.bound_ >= fits[0].bound_


# Starting points


@pytest.mark.parametrize("model", MODELS)
def test_components_begin_where_init_says(model):
    blocks = np.kron(np.eye(4), np.ones((4, 8)))
    y = np.repeat(range(4), 4)
    order = [2, 0, 3, 1]
    init = np.kron(np.eye(4)[order], np.ones((1, 8))) + 0.1
    read_only = init.copy()
    read_only.setflags(write=False)
    fitted = quick(model, init=read_only, max_iter=30).fit(blocks, y)
    strongest = fitted.components_.reshape(4, 4, 8).sum(axis=2).argmax(axis=1)
    assert_array_equal(strongest, order)
    assert_array_equal(fitted.init, init)
    # neither the seed nor the unit matters, nor whether they are lists
    for other in (init * 1024, init.tolist(), init.astype(object)):
        same = quick(model, init=other, max_iter=30, random_state=9).fit(blocks, y)
        assert_same_bits(attributes(same), attributes(fitted))


def test_components_begin_with_the_labels():
    """In turn, the commonest label first."""
    blocks = np.kron(np.eye(3), np.ones((6, 8)))[[*range(2), *range(6, 12), *range(12, 16)]]
    y = np.array(["few"] * 2 + ["most"] * 6 + ["some"] * 4)
    fitted = quick(SupervisedVBNMF, n_components=3, init="label", max_iter=30).fit(blocks, y)
    own = dict(zip(fitted.classes_.tolist(), fitted.label_activations_.argmax(axis=1), strict=True))
    assert own == {"most": 0, "some": 1, "few": 2}
    with pytest.raises(ValueError, match=r"init must be .*got 'label'"):
        quick(VBNMF, init="label").fit(blocks)


@pytest.mark.parametrize("model", MODELS)
def test_going_on_from_fitted_components_starts_near_the_end(model):
    same = {"coef_shape": 1, "term_shape": 0.5, "burn_in": 0}
    done = quick(model, init="random", max_iter=500, tol=1e-9, **same).fit(X, Y)
    further = quick(model, init=done.components_, max_iter=30, **same).fit(X, Y)
    fresh = quick(model, init="random", max_iter=30, random_state=8, **same).fit(X, Y)
    assert abs(further.bound_ - done.bound_) < 0.1 * abs(fresh.bound_ - done.bound_)


def test_going_on_with_scopes_that_were_found():
    done = quick(SupervisedVBNMF, max_iter=500, tol=1e-9).fit(X, Y)
    parameters = {"init": done.components_, "scopes": done.scopes_, "max_iter": 30}
    further = quick(SupervisedVBNMF, **parameters).fit(X, Y)
    fresh = quick(SupervisedVBNMF, **parameters | {"init": "random"}).fit(X, Y)
    assert abs(further.bound_ - done.bound_) < 0.1 * abs(fresh.bound_ - done.bound_)


@pytest.mark.parametrize("model", MODELS)
def test_documents_are_projected_in_parts_to_the_same_bits(model, monkeypatch):
    fitted = quick(model).fit(X, Y)
    at_once = fitted.transform(X)
    calls = []
    with open_kernel() as opened:
        whole = type(opened).project
    monkeypatch.setattr(type(opened), "project", lambda *a, **k: calls.append(1) or whole(*a, **k))
    for steps, parts in ((1, X.shape[0]), (base._MOST_STEPS, 1)):
        calls.clear()
        monkeypatch.setattr(base, "_MOST_STEPS", steps)
        assert_array_equal(fitted.transform(X), at_once)
        assert len(calls) == parts


def test_an_interruption_ends_a_projection_before_the_next_part(monkeypatch):
    fitted = quick(VBNMF).fit(X)
    calls = []

    def project(self, part, *_, **__):
        calls.append(part.shape[0])
        raise KeyboardInterrupt

    with open_kernel() as opened:
        monkeypatch.setattr(type(opened), "project", project)
    monkeypatch.setattr(base, "_MOST_STEPS", 1)
    with pytest.raises(KeyboardInterrupt):
        fitted.transform(X)
    assert calls == [1]
