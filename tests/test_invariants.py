"""What holds for any data: the bound never falls, order does not matter, labels may be absent."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from properties import examples
from scipy import sparse

from vbnmf import VBNMF, SupervisedVBNMF

pytestmark = pytest.mark.kernel

corpora = st.builds(
    lambda n_docs, n_terms, seed, size, density: _draw(n_docs, n_terms, seed, size, density),
    st.integers(1, 25),
    st.integers(1, 25),
    st.integers(0, 10**6),
    st.sampled_from([1e-4, 0.03, 1.0, 40.0, 1e4]),
    st.floats(0.05, 1.0),
)


def _draw(n_docs, n_terms, seed, size, density):
    rng = np.random.default_rng(seed)
    X = rng.gamma(0.4, size, (n_docs, n_terms)) * (rng.random((n_docs, n_terms)) < density)
    X[0, 0] = size
    return X, rng.integers(0, 1 + rng.integers(0, 4), n_docs)


shape_or_auto = st.one_of(st.just("auto"), st.floats(0.1, 5))


@examples(60)
@given(corpora, st.integers(1, 8), shape_or_auto, shape_or_auto, st.floats(0.1, 1), shape_or_auto)
def test_the_bound_never_falls_without_labels(corpus, K, a_t, b_t, a_v, b_v):
    X, _ = corpus
    model = VBNMF(K, term_shape=a_t, term_scale=b_t, coef_shape=a_v, coef_scale=b_v, max_iter=40,
                  tol=0, bound_every=1, burn_in=3, random_state=0).fit(X)  # fmt: skip
    assert len(model.bound_history_) == 41
    assert_never_falls(model.bound_history_)


@examples(60)
@given(corpora, st.integers(1, 8), shape_or_auto, shape_or_auto, st.floats(0.01, 1e4),
       shape_or_auto, st.sampled_from([1.0, 0.5]))  # fmt: skip
def test_the_bound_never_falls_with_labels(corpus, K, a_t, b_t, a_lam, b_lam, a_v):
    X, y = corpus
    model = SupervisedVBNMF(K, term_shape=a_t, term_scale=b_t, label_shape=a_lam,
                            label_scale=b_lam, coef_shape=a_v, max_iter=40, tol=0, bound_every=1,
                            burn_in=3, random_state=0).fit(X, y)  # fmt: skip
    assert_never_falls(model.bound_history_)


@pytest.mark.filterwarnings("ignore:the fit did not converge")
@examples(60)
@given(corpora, st.integers(1, 8), shape_or_auto, shape_or_auto, st.booleans(),
       st.sampled_from(["label", "random"]), st.sampled_from(["auto", 0, 3]))  # fmt: skip
def test_the_bound_never_falls_with_a_shape_for_each_label(
    corpus, K, a_t, b_lam, weighted, init, burn_in
):
    """Labels of very unequal sizes, whose shapes are their numbers of documents."""
    X, y = corpus
    rng = np.random.default_rng(K)
    y = np.where(rng.random(len(y)) < 0.7, 0, y)
    weight = rng.choice([0.05, 1.0, 30.0], len(y)) if weighted else None
    model = SupervisedVBNMF(K, term_shape=a_t, label_scale=b_lam, init=init, burn_in=burn_in,
                            max_iter=40, tol=0, bound_every=1, random_state=0)  # fmt: skip
    model.fit(X, y, sample_weight=weight)
    sizes = np.bincount(np.unique(y, return_inverse=True)[1], weight)
    assert_allclose(model.fitted_.labels.shapes, np.maximum(sizes, 1))
    assert_never_falls(model.bound_history_)


@examples(30)
@given(corpora, st.integers(1, 6), st.sampled_from(["auto", "label", "random"]))
def test_the_bound_never_falls_with_missing_labels(corpus, K, init):
    """Once annealing is over; shapes of labels are numbers of documents, known or not.

    With scopes, which only the start "auto" looks for where most labels are known, they are one.
    """
    X, y = corpus
    rng = np.random.default_rng(K)
    labels = [None if d and rng.random() < 0.5 else int(label) for d, label in enumerate(y)]
    model = SupervisedVBNMF(K, init=init, burn_in=2, max_iter=60, tol=0, bound_every=1,
                            random_state=0).fit(X, labels)  # fmt: skip
    known = np.array([label for label in labels if label is not None])
    counts = np.unique(known, return_counts=True)[1]
    expected = counts + (len(y) - len(known)) * counts / len(known)
    assert_allclose(
        model.fitted_.labels.shapes, 1 if model.fitted_.labels.scoped else np.maximum(expected, 1)
    )
    assert model.fitted_.labels.scoped == (init == "auto" and len(known) >= len(y) / 2)
    assert_never_falls(model.bound_history_[34:])


def assert_never_falls(history, rtol=1e-9):
    """Up to rounding: terms like ln Γ(a_λ) are much larger than what is left of them."""
    assert np.isfinite(history).all()
    assert (np.diff(history) >= -rtol * np.abs(history[1:]).clip(1)).all()


def test_the_bound_hardly_falls_in_single_precision():
    X, y = corpus_with_structure(dtype=np.float32)
    model = SupervisedVBNMF(5, max_iter=150, tol=0, bound_every=1, random_state=0).fit(X, y)
    assert_never_falls(model.bound_history_, rtol=2e-7)


def corpus_with_structure(seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    T = rng.gamma(0.2, 1, (60, 4))
    V = rng.gamma(0.3, 3, (50, 4))
    X = rng.poisson(V @ T.T).astype(dtype)
    X[0, 0] += 1
    return X, np.argmax(V, axis=1)


@pytest.mark.parametrize(
    ("labels", "init"),
    [(True, "auto"), (True, "label"), (True, "random"), (False, "auto"), (False, "random")],
)
def test_order_of_documents_does_not_matter(labels, init):
    X, y = corpus_with_structure()
    order = np.random.default_rng(1).permutation(len(X))
    a, b = (
        make(labels, init=init).fit_coefficients(X[i], y[i]) for i in (np.arange(len(X)), order)
    )
    assert_allclose(a[order], b, rtol=1e-6)


@pytest.mark.parametrize(
    "K", [1, 3, *(pytest.param(K, marks=pytest.mark.slow) for K in (60, "auto"))]
)
def test_order_of_documents_of_some_unknown_and_several_labels_does_not_matter(K):
    X, y = corpus_with_structure()
    rng = np.random.default_rng(1)
    order = rng.permutation(len(X))
    unknown = [None if d % 4 == 3 else int(label) for d, label in enumerate(y)]
    several = [
        sorted({int(label), d % 4}) if d % 3 == 0 else [int(label)] for d, label in enumerate(y)
    ]
    for labels in (unknown, several):
        models = [make(True).set_params(n_components=K) for _ in range(2)]
        a = models[0].fit_coefficients(X, labels)
        b = models[1].fit_coefficients(X[order], [labels[d] for d in order])
        assert_array_equal(models[0].scopes_, models[1].scopes_)
        assert_allclose(a[order], b, rtol=1e-5)  # the search rounds to single precision


@pytest.mark.parametrize("labels", [True, False])
def test_order_of_components_does_not_matter(labels):
    X, y = corpus_with_structure()
    start = np.random.default_rng(1).gamma(1, 1, (4, X.shape[1]))
    order = np.array([2, 0, 3, 1])
    a, b = (make(labels, init=init) for init in (start, start[order]))
    V_a, V_b = a.fit_coefficients(X, y), b.fit_coefficients(X, y)
    assert_allclose(a.components_[order], b.components_, rtol=1e-6)
    assert_allclose(V_a[:, order], V_b, rtol=1e-6)
    assert_allclose(a.bound_, b.bound_, rtol=1e-10)


@pytest.mark.parametrize("labels", [True, False])
def test_order_of_terms_does_not_matter(labels):
    X, y = corpus_with_structure()
    start = np.random.default_rng(1).gamma(1, 1, (4, X.shape[1]))
    order = np.random.default_rng(2).permutation(X.shape[1])
    a = make(labels, init=start).fit(X, y)
    b = make(labels, init=start[:, order]).fit(X[:, order], y)
    assert_allclose(a.components_[:, order], b.components_, rtol=1e-6)


def test_names_of_labels_do_not_matter():
    X, y = corpus_with_structure()
    a = make(True, init="random").fit(X, y)
    b = make(True, init="random").fit(X, np.array(["zebra", "yak", "xerus", "wolf"])[y])
    assert b.classes_.tolist() == ["wolf", "xerus", "yak", "zebra"]
    assert_allclose(a.label_rates_[::-1], b.label_rates_, rtol=1e-8)


@pytest.mark.parametrize("seed", [4, 5, 6, 8, 9, 12])
def test_names_of_labels_do_not_matter_to_the_search_for_components(seed):
    """But for the order of components. Labels of as many documents would be ties."""
    X, y = corpus_with_structure(seed=seed)
    assert len(set(np.bincount(y))) == 4
    a, b = (make(True).set_params(n_components=7).fit(X, names) for names in (y, 3 - y))
    order = np.argsort(a.component_sums_ * a.component_mass_)
    other = np.argsort(b.component_sums_ * b.component_mass_)
    assert_allclose(a.bound_, b.bound_, rtol=1e-9)
    assert_allclose(a.components_[order], b.components_[other], rtol=1e-6)
    assert_array_equal(a.scopes_[::-1, order], b.scopes_[:, other])


def make(labels, **parameters):
    parameters = {"max_iter": 30, "tol": 0, "random_state": 0} | parameters
    return SupervisedVBNMF(4, **parameters) if labels else VBNMF(4, **parameters)


def test_one_label_with_a_firm_rate_is_the_unsupervised_model():
    """λ ~ Gamma(a, r/a) with a large a is the constant r: the models coincide."""
    X, _ = corpus_with_structure()
    rate, firm = 0.7, 1e9
    shared = {"coef_shape": 1.0, "term_shape": 0.5, "max_iter": 50, "tol": 0, "random_state": 0,
              "burn_in": 1}  # fmt: skip
    start = np.random.default_rng(1).gamma(1, 1, (3, X.shape[1]))
    supervised = SupervisedVBNMF(3, label_shape=firm, label_scale=rate / firm, init=start, **shared)
    unsupervised = VBNMF(3, coef_scale=1 / rate, init=start, **shared)
    V = supervised.fit_coefficients(X, np.zeros(len(X)))
    assert_allclose(V, unsupervised.fit_coefficients(X), rtol=1e-4)
    assert_allclose(supervised.components_, unsupervised.components_, rtol=1e-4)
    assert supervised.bound_ == pytest.approx(unsupervised.bound_, abs=1e-3)


def test_zeros_that_are_stored_change_nothing():
    X, y = corpus_with_structure()
    stored = sparse.csr_array(X + 1)
    stored.data -= 1
    a, b = make(True).fit(X, y), make(True).fit(stored, y)
    # the search, which computes in single precision, adds up zeros too
    assert_allclose(a.components_, b.components_, rtol=1e-6)


def test_zeros_that_are_stored_change_no_prediction():
    X, y = corpus_with_structure()
    stored = sparse.csr_array(X + 1)
    stored.data -= 1
    a, b = make(True).fit(X, y), make(True).fit(stored, y)
    assert_allclose(a.predict_proba(X), b.predict_proba(X), rtol=1e-6)
