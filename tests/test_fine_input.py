"""Odd input that is fine: empty documents, unused terms, single ones, very large and very small."""

import numpy as np
import pytest
from conftest import fitted_attributes, make_corpus
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from vbnmf import VBNMF, SupervisedVBNMF

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore:the fit did not converge")]

MODELS = [VBNMF, SupervisedVBNMF]
# tests of many combinations leave one precision out of the ordinary run
SINGLE, DOUBLE = (pytest.param(t, marks=pytest.mark.slow) for t in (np.float32, np.float64))


def quick(model, **parameters):
    return model(**{"n_components": 3, "max_iter": 40, "random_state": 0, **parameters})


def assert_sound(fitted, *coefficients):
    """Everything is finite and nothing negative; rates are infinite just where it says so."""
    words = {"classes_", "classifier_", "hyperparameters_", "label_groups_"}
    words |= {"n_components_reason_", "classifier_reason_", "passages_"}
    words |= {"component_agreement_"}  # NaN for components that are not shared
    words |= {"fitted_", "head_"}
    optional = {"background_"} if fitted.background_ is None else set()
    for name in fitted_attributes(fitted).keys() - words - optional:
        value = getattr(fitted, name)
        if name == "label_rates_":
            assert np.isposinf(value[~fitted.scopes_]).all()
            value = value[fitted.scopes_]
        assert np.isfinite(value.data if sparse.issparse(value) else value).all(), name
    assert np.isfinite(list(fitted.hyperparameters_.values())).all()
    for V in coefficients:
        assert np.isfinite(V).all()
        assert (V >= 0).all()


def assert_rises(fitted):
    history = fitted.bound_history_
    rounding = 1e-4 if fitted.components_.dtype == np.float32 else 1e-9
    assert (np.diff(history) >= -rounding * np.abs(history[1:])).all(), history


def fit_and_check(fitted, X, y):
    V = fitted.fit_coefficients(X, y)
    assert_sound(fitted, V, fitted.transform(X))
    return V


# Nothing known about a document or a term


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("model", MODELS)
def test_an_empty_document_gets_the_prior(model, dtype):
    X, y = make_corpus(15, 11, 3)
    empty = 15 // 2
    assert X[[empty]].nnz == 0
    fitted = quick(model, coef_shape=0.7)
    V = fit_and_check(fitted, X.astype(dtype), y)
    rtol = 1e-6 if dtype == np.float32 else 1e-13
    # nothing is added to the shape; the scale is that of every document (of this label)
    rates = 1 / fitted.hyperparameters_["coef_scale"]
    expected = 0.7 / (rates + fitted.component_sums_)
    if model is SupervisedVBNMF:  # the shares are those of labels, by their frequencies
        sums = fitted.component_sums_
        shares = sums / fitted.label_rates_
        shares /= shares.sum(axis=1, keepdims=True)
        weight = fitted.label_frequencies_ @ fitted.label_activations_ @ sums
        expected = (fitted.label_frequencies_ @ shares) / sums / (1 + 1 / weight)
    for given in (X[[empty]], sparse.csr_array((2, 11)), np.zeros((1, 11))):
        projected = fitted.transform(given.astype(dtype))
        assert_allclose(projected, np.broadcast_to(expected, projected.shape), rtol=rtol)
    if model is SupervisedVBNMF:
        rates = fitted.label_rates_[y[empty]]
    assert_allclose(V[empty], 0.7 / (rates + fitted.component_sums_), rtol=rtol)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("model", MODELS)
def test_an_unused_term_gets_the_prior(model, dtype):
    X, y = make_corpus(15, 11, 3)
    unused = 11 // 2
    assert X[:, [unused]].nnz == 0
    fitted = quick(model, term_shape=0.3)
    fit_and_check(fitted, X.astype(dtype), y)
    rtol = 1e-6 if dtype == np.float32 else 1e-13
    assert_allclose(fitted.component_shapes_[:, unused], 0.3, rtol=rtol)
    assert_allclose(fitted.components_[:, unused], 0.3 * fitted.component_scales_, rtol=rtol)
    others = np.delete(fitted.component_shapes_, unused, axis=1)
    assert (others.max(axis=0) > 0.31).all()


@pytest.mark.parametrize("model", MODELS)
def test_a_document_of_only_unused_terms_is_projected(model):
    X, y = make_corpus(15, 11, 3)
    fitted = quick(model).fit(X, y)
    new = np.zeros((1, 11))
    new[0, 11 // 2] = 5.0
    V = fitted.transform(new)
    assert np.isfinite(V).all()
    # all its weight is dealt out, on top of the prior
    sums = fitted.component_sums_
    if model is SupervisedVBNMF:  # the prior of its weight is another such term
        weight = fitted.label_frequencies_ @ fitted.label_activations_ @ sums
        assert_allclose((V * sums).sum(), (5 + 5) / (1 + 5 / weight), rtol=1e-9)
    else:
        scale = 1 / (1 / fitted.hyperparameters_["coef_scale"] + sums)
        prior = 3 * fitted.hyperparameters_["coef_shape"]
        assert_allclose((V / scale).sum(), 5 + prior, rtol=1e-9)


# One of something


@pytest.mark.parametrize("dtype", [np.float32, DOUBLE])
@pytest.mark.parametrize(
    "shape",
    [(1, 1), (1, 7), (7, 1), (2, 2), (9, 4)],
    ids=["one of each", "one document", "one term", "two", "small"],
)
@pytest.mark.parametrize("n_components", [1, 2, 37])
@pytest.mark.parametrize("n_labels", [1, 2])
@pytest.mark.parametrize("model", MODELS)
def test_few_documents_terms_labels_and_components(model, shape, n_components, n_labels, dtype):
    X = np.random.default_rng(0).poisson(3.0, shape).astype(dtype) + 1
    y = np.arange(shape[0]) % n_labels
    fitted = quick(model, n_components=n_components, bound_every=1)
    V = fit_and_check(fitted, X, y)
    assert fitted.components_.shape == (n_components, shape[1])
    assert V.shape == (shape[0], n_components)
    assert_rises(fitted)
    # the mean of X is what is explained, but for what the priors take away
    assert_allclose((V @ fitted.components_).mean(), X.mean(), rtol=0.7)
    if model is SupervisedVBNMF:
        assert len(fitted.classes_) == min(n_labels, shape[0])


def test_a_label_for_each_document():
    X, _ = make_corpus(15, 11, 1)
    y = [f"doc {i:02}" for i in range(15)]
    fitted = quick(SupervisedVBNMF)
    V = fit_and_check(fitted, X, y)
    assert_array_equal(fitted.label_counts_, np.ones(15))
    assert_allclose(fitted.label_activations_, V, rtol=1e-12)


# Large and small


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("factor", [1e-6, 1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("model", MODELS)
def test_the_bound_rises_in_any_unit(model, factor, dtype):
    X, y = make_corpus(15, 11, 3)
    fitted = quick(model, bound_every=1)
    fit_and_check(fitted, (X * factor).astype(dtype), y)
    if factor > 1e-6 or dtype is np.float64:  # else the bound, 0.002, is a difference of hundreds
        assert_rises(fitted)


@pytest.mark.parametrize("factor", [1e-30, 1e-15, 1e15, 1e20, 1e27])
@pytest.mark.parametrize("model", MODELS)
def test_single_precision_holds_any_unit(model, factor):
    """Here the bound is a small difference of large numbers, so only the factors are compared."""
    X, y = make_corpus(15, 11, 3)
    single, double = quick(model, tol=0), quick(model, tol=0)
    V32 = fit_and_check(single, (X * factor).astype(np.float32), y)
    V64 = fit_and_check(double, X * factor, y)
    for got, expected in ((single.components_, double.components_), (V32, V64)):
        assert_allclose(got, expected, rtol=1e-3, atol=1e-6 * expected.max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("model", MODELS)
def test_very_large_and_very_small_values_together(model, dtype):
    X, y = make_corpus(15, 11, 3)
    X = X.toarray().astype(dtype)
    X[1, :4] = 1e-30
    X[3, 2:6] = 1e20
    X[5] = np.finfo(np.float32).tiny
    X[:, 8] = 1e-30
    for rows in (slice(None), [1], [3], [5]):
        fit_and_check(quick(model), X[rows], y[rows])


@pytest.mark.parametrize("model", MODELS)
def test_projection_of_other_units_than_those_of_training(model):
    X, y = make_corpus(15, 11, 3)
    for dtype in (np.float32, np.float64):
        fitted = quick(model).fit(X.astype(dtype), y)
        for factor in (1e-30, 1e-6, 1e6, 1e20):
            V = fitted.transform((X * factor).astype(dtype))
            assert np.isfinite(V).all()
            assert (V >= 0).all()


@pytest.mark.parametrize("dtype", [SINGLE, np.float64])
@pytest.mark.parametrize("name", ["coef_shape", "term_shape", "term_scale", "label_shape"])
@pytest.mark.parametrize("value", [1e-6, 1e-2, 1e3, 1e6])
@pytest.mark.parametrize("model", MODELS)
def test_strong_and_weak_priors(model, name, value, dtype):
    X, y = make_corpus(15, 11, 3)
    if name in model().get_params():
        fitted = quick(model, bound_every=1, **{name: value})
        fit_and_check(fitted, X.astype(dtype), y)
        if dtype == np.float64:  # with shapes of a million, single precision rounds the bound
            assert_rises(fitted)


@pytest.mark.parametrize("init", ["auto", "random"])
@pytest.mark.parametrize("model", MODELS)
def test_one_huge_count_in_single_precision(model, init):
    X, y = make_corpus(40, 30, 3)
    X = np.ceil(X.toarray()).astype(np.float32)
    X[3, 5] = 1e8
    fitted = quick(model, init=init, bound_every=1)
    fit_and_check(fitted, X, y)
    assert_rises(fitted)
