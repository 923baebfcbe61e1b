"""Weights of documents and of labels: a document of weight two counts as two, of zero as none."""

import numpy as np
import oracle
import pytest
from conftest import make_corpus
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from properties import examples
from scipy.special import psi
from smallfits import drawn, model, value_of
from test_fit import LEARN_ALL, as_oracle, oracle_iterations
from test_kernels import start, terms_of

from vbnmf import VBNMF, SupervisedVBNMF
from vbnmf.core import starts
from vbnmf.core.fit import Schedule, fit
from vbnmf.engines.local import LocalEngine
from vbnmf.kernels.reference import ReferenceKernel

pytestmark = pytest.mark.kernel

RTOL = 1e-10


# Kernels


def some_weights(n, seed=0):
    """Fractions, whole numbers and zeros, but not for the first document."""
    weight = np.random.default_rng(seed).choice([0.0, 0.3, 1.0, 2.0, 7.5], n)
    weight[0] = 1.5
    return weight


def weighted_sweep(kernel, X, y, o, weight, dtype=np.float64):
    K, n_groups = o.alpha_t.shape[1], o.Delta.shape[1]
    terms = terms_of(kernel, o.alpha_t, o.beta_t[0], np.dtype(dtype))
    documents = kernel.documents(X.astype(dtype), y, n_groups, K, weight)
    documents.Sigma_v[:] = o.alpha_v - o.a_v
    scale = np.zeros((n_groups, K))
    scale[y] = o.beta_v
    sums = documents.sweep(terms.L, scale, o.a_v, update=True, bound=True, out=terms.shape)
    return terms, documents, sums


def test_weighted_sweep_equals_the_oracle(kernel, case):
    X, y, K = case
    weight = some_weights(X.shape[0])
    o = start(X, y, K)
    terms, documents, sums = weighted_sweep(kernel, X, y, o, weight)
    new = oracle.update_s(o)
    assert_allclose(documents.Sigma_v, new.Sigma_v, rtol=RTOL, atol=1e-12)
    Sigma_t = (weight[:, None, None] * new.S).sum(axis=0)
    R_t = terms.shape[:, :K]
    assert_allclose(terms.L[:, :K] * R_t, Sigma_t, rtol=RTOL, atol=1e-12)
    assert_allclose(sums.shape_sums, (weight[:, None] * o.Delta).T @ o.alpha_v, rtol=RTOL)
    log_sums = oracle.logsumexp(o.logL_t[None] + o.logL_v[:, None], axis=2)
    log_mean = sums.log_mean + terms.offset @ (X.T @ weight)
    assert_allclose(log_mean, weight @ (X.toarray() * log_sums).sum(axis=1), rtol=RTOL)
    assert_allclose(sums.psi, weight @ psi(o.alpha_v).sum(axis=1), rtol=RTOL)
    entropy = weight @ oracle.gamma_entropy(o.alpha_v, 1.0).sum(axis=1)
    assert_allclose(sums.entropy, entropy, rtol=RTOL, atol=1e-9)


def test_weights_in_single_precision(kernel, case):
    X, y, K = case
    weight = some_weights(X.shape[0])
    o = start(X, y, K)
    terms32, _, sums32 = weighted_sweep(kernel, X, y, o, weight, np.float32)
    terms64, _, sums64 = weighted_sweep(ReferenceKernel(), X, y, o, weight)
    got = (terms32.L * terms32.shape)[:, :K]
    exact = terms64.L * terms64.shape
    assert_allclose(got, exact, rtol=2e-5, atol=1e-6)
    assert_allclose(sums32.shape_sums, sums64.shape_sums, rtol=1e-5)
    assert_allclose([sums32.psi, sums32.entropy], [sums64.psi, sums64.entropy], rtol=2e-5)


def test_weights_of_one_change_no_bit(kernel, case):
    X, y, K = case
    o = start(X, y, K)
    (terms_a, a, sums_a), (terms_b, b, sums_b) = (
        weighted_sweep(kernel, X, y, o, weight) for weight in (None, np.ones(X.shape[0]))
    )
    assert_array_equal(a.Sigma_v, b.Sigma_v)
    gathered = terms_a.shape, terms_b.shape
    assert_array_equal(*gathered)
    assert_array_equal(sums_a.shape_sums, sums_b.shape_sums)
    assert sums_a.entropy == sums_b.entropy


def test_threads_do_not_change_a_bit(native):
    X, y = make_corpus(3000, 200, 5)
    o = start(X[:50], y[:50], 8)
    o = oracle.replace(o, alpha_v=np.full((3000, 8), 1.5), Delta=np.eye(5)[y])
    o = oracle.replace(o, beta_v=np.random.default_rng(0).random((5, 8))[y])

    def run(n_threads):
        with type(native)(n_threads) as kernel:
            weight = some_weights(3000)
            terms, documents, sums = weighted_sweep(kernel, X, y, o, weight, np.float32)
            R_t = terms.shape
            return documents.Sigma_v, R_t, sums.shape_sums, sums.log_mean, sums.psi, sums.entropy

    for a, b in zip(run(1), run(3), strict=True):
        assert_array_equal(a, b)


def test_totals_are_those_of_repeated_documents():
    X, y = make_corpus(20, 9, 3)
    weight = np.random.default_rng(0).integers(0, 4, 20)
    rows = np.repeat(np.arange(20), weight)
    weighted = LocalEngine(ReferenceKernel(), X, y, 3, 2, weight.astype(float))
    repeated = LocalEngine(ReferenceKernel(), X[rows], y[rows], 3, 2)
    a, b = weighted.totals, repeated.totals
    assert_allclose(a.n_docs, b.n_docs)
    assert_allclose(a.term_sums, b.term_sums)
    assert a.log_factorials == pytest.approx(b.log_factorials)
    assert a.mass == pytest.approx(b.mass)
    sums = (engine.group_term_sums().toarray() for engine in (weighted, repeated))
    assert_allclose(*sums, rtol=1e-12)


@pytest.mark.parametrize("labels", ["supervised", "unsupervised"])
def test_weighted_fit_equals_the_oracle_of_repeated_documents(kernel, labels):
    """Iteration by iteration, with everything learned."""
    X, y = make_corpus(14, 11, 3)
    weight = np.random.default_rng(0).integers(0, 4, 14)
    weight[:3] = 1
    rows = np.repeat(np.arange(14), weight)
    knobs = starts.Knobs(**vars(LEARN_ALL[labels]) | {"least_a_t": 0.0})
    group = y if labels == "supervised" else np.zeros(14, np.int32)
    engine = LocalEngine(kernel, X, group, int(group.max()) + 1, 3, weight.astype(float))
    engine.begin(starts.even_portions(3))
    shapes = kernel.zeros(11, 3, X.dtype)
    starts.random_shapes(np.random.default_rng(1), engine.totals, 0.5, shapes[:, :3])
    state = starts.state(kernel, shapes, 3, engine.totals, knobs)
    dense = as_oracle(X[rows], y[rows], 3, state, knobs)
    bounds, o = oracle_iterations(dense, knobs, 8, burn_in=3)
    result = fit(engine, state, knobs, Schedule(8, 0.0, 3, bound_every=1, extrapolate=False))
    assert_allclose(result.bound_history, bounds, rtol=1e-10)
    assert_allclose(result.state.terms.shape[:, :3], o.alpha_t, rtol=1e-8, atol=1e-10)
    E_v = engine.coefficients(result.state)
    assert_allclose(E_v[rows], o.E_v, rtol=1e-8)


# Estimators


def corpus(n_docs=45, dtype=float, seed=0):
    """Labels of unequal size with words of their own."""
    rng = np.random.default_rng(seed)
    y = np.minimum(rng.integers(0, 6, n_docs), 2)
    y[:3] = 0, 1, 2
    rates = 0.4 + 2.0 * (np.arange(15) // 5 == y[:, None])
    return rng.poisson(rates).astype(dtype), y


def make(labels, **parameters):
    parameters = {"max_iter": 25, "tol": 0, "random_state": 0} | parameters
    if labels:  # support vector machines stop near the same place, not at it
        return SupervisedVBNMF(5, **{"classifier": "components"} | parameters)
    return VBNMF(5, **parameters)


def assert_same_model(a, b, X, rtol=1e-7):
    assert_allclose(a.components_, b.components_, rtol=rtol)
    assert_allclose(a.bound_history_, b.bound_history_, rtol=rtol)
    assert_allclose(a.transform(X), b.transform(X), rtol=rtol)
    for name in a.hyperparameters_:
        assert a.hyperparameters_[name] == pytest.approx(b.hyperparameters_[name], rel=rtol)
    if isinstance(a, SupervisedVBNMF):
        names = ("label_rates_", "label_activations_", "label_frequencies_")
        for name in (*names, "fitted_.labels.shapes"):
            assert_allclose(value_of(a, name), value_of(b, name), rtol=rtol, err_msg=name)
        assert a.fitted_.head.smoothing == pytest.approx(b.fitted_.head.smoothing)
        # the regression stops where it is near enough
        assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=0.02)  # as machines converge


START = {False: ["auto", "random"], True: ["auto", "label", "random"]}
MODELS = [(labels, init) for labels in START for init in START[labels]]


@pytest.mark.parametrize(("labels", "init"), MODELS)
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-6), (np.float32, 2e-2)])
def test_whole_weights_repeat_documents(labels, init, dtype, rtol):
    X, y = corpus(dtype=dtype)
    weight = np.random.default_rng(1).integers(1, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    weighted, repeated = make(labels, init=init), make(labels, init=init)
    V = weighted.fit_coefficients(X, y, sample_weight=weight)
    assert_allclose(V[rows], repeated.fit_coefficients(X[rows], y[rows]), rtol=rtol)
    assert_same_model(weighted, repeated, X, rtol)


@pytest.mark.parametrize(("labels", "init"), MODELS)
def test_documents_of_no_weight_are_left_out(labels, init):
    X, y = corpus()
    weight = np.random.default_rng(1).integers(0, 2, len(y)).astype(float)
    weight[:3] = 1
    kept = weight > 0
    weighted = make(labels, init=init).fit(X, y, sample_weight=weight)
    left_out = make(labels, init=init).fit(X[kept], y[kept])
    assert_same_model(weighted, left_out, X)


def test_whole_weights_repeat_documents_of_several_labels():
    X, y = corpus()
    Y = np.column_stack([y == 0, y != 1, y == 2]).astype(int)
    Y[:, 1] |= Y.sum(axis=1) == 0
    weight = np.random.default_rng(1).integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    weighted = make(True).fit(X, Y, sample_weight=weight)
    assert_same_model(weighted, make(True).fit(X[rows], Y[rows]), X)


def partly(y, every=3):
    return [None if d % every == 1 and d > 3 else label for d, label in enumerate(y.tolist())]


def test_whole_weights_repeat_documents_of_unknown_label():
    X, y = corpus()
    labels = partly(y)
    weight = np.random.default_rng(1).integers(0, 4, len(y))
    weight[:3] = 1
    rows = np.repeat(np.arange(len(y)), weight)
    weighted = make(True, max_iter=60).fit(X, labels, sample_weight=weight)
    repeated = make(True, max_iter=60).fit(X[rows], [labels[d] for d in rows])
    assert_same_model(weighted, repeated, X, rtol=1e-6)


@pytest.mark.parametrize("labels", [True, False])
def test_weights_of_one_are_no_weights(labels):
    X, y = corpus()
    plain = make(labels).fit(X, y)
    for weight in (np.ones(len(y)), 1, np.ones(len(y), int), [1.0] * len(y)):
        fitted = make(labels).fit(X, y, sample_weight=weight)
        assert_array_equal(fitted.components_, plain.components_)


def test_weights_of_tenths_train_a_classifier_that_works():
    X, y = corpus(300)
    fitted = make(True).fit(X, y, sample_weight=np.full(300, 0.1))
    assert fitted.score(X, y) > 0.9


def test_little_weight_does_not_turn_the_evidence_round():
    X, y = drawn()
    fitted = model(max_iter=40, tol=0).fit(X, y, sample_weight=np.full(90, 0.03))
    assert fitted.score(X, y) > 0.5


@pytest.mark.parametrize("labels", [True, False])
def test_a_heavy_document_has_its_way(labels):
    X, y = corpus()
    weight = np.ones(len(y))
    weight[0] = 1e4
    fitted = make(labels).fit(X, y, sample_weight=weight)
    plain = make(labels).fit(X, y)
    errors = [abs(m.transform(X[:1]) @ m.components_ - X[0]).sum() for m in (fitted, plain)]
    assert errors[0] < errors[1] / 2


@examples(40)
@given(
    st.booleans(),
    st.integers(0, 10**6),
    st.integers(1, 6),
    st.sampled_from(["auto", "label", "random"]),
)
def test_the_bound_never_falls_with_weights(labels, seed, K, init):
    rng = np.random.default_rng(seed)
    n_docs = int(rng.integers(3, 25))
    X, y = make_corpus(n_docs, 12, int(rng.integers(1, 4)), seed)
    weight = rng.choice([0.0, 0.01, 0.5, 1.0, 3.0, 100.0], n_docs)
    weight[X.sum(axis=1).argmax()] = 1.0
    weight[[int(np.flatnonzero(y == label)[0]) for label in np.unique(y)]] = 1.0
    fitted = make(
        labels, init=init if labels or init == "auto" else "random", max_iter=40, bound_every=1
    )
    history = fitted.set_params(n_components=K).fit(X, y, sample_weight=weight).bound_history_
    assert_never_falls(history)


def assert_never_falls(history, rtol=1e-9):
    assert np.isfinite(history).all()
    assert (np.diff(history) >= -rtol * np.abs(history[1:]).clip(1)).all()


def test_the_bound_never_falls_with_weights_and_unknown_labels():
    for seed in range(10):
        X, y = make_corpus(20, 12, 3, seed)
        weight = np.random.default_rng(seed).choice([0.1, 1.0, 5.0, 20.0], 20)
        fitted = make(True, max_iter=100, bound_every=1)
        fitted.fit(X, partly(y, 2), sample_weight=weight)
        assert_never_falls(fitted.bound_history_[35:])  # after annealing


def test_the_generative_classifier_counts_by_weight():
    X, y = corpus(80)
    weight = np.where(y == 0, 4.0, 1.0)
    sizes = np.bincount(y, weight)
    for scopes, shapes in {"auto": np.ones(3), "all": sizes}.items():
        fitted = make(True, classifier="generative", scopes=scopes)
        fitted.fit(X, y, sample_weight=weight)
        assert_allclose(fitted.label_frequencies_, sizes / sizes.sum())
        assert_allclose(fitted.fitted_.labels.shapes, shapes)
        assert_array_equal(fitted.label_counts_, np.bincount(y))


def test_the_generative_classifier_leaves_out_documents_of_no_weight():
    X, y = corpus(80)
    X[60:], y[60:] = X[60:, ::-1], 0
    weight = (np.arange(80) < 60).astype(float)
    weighted = make(True, classifier="generative").fit(X, y, sample_weight=weight)
    left_out = make(True, classifier="generative").fit(X[:60], y[:60])
    assert weighted.head_.calibration.slopes == pytest.approx(
        left_out.head_.calibration.slopes, rel=1e-3
    )
