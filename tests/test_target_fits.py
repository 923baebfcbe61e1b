"""Models fitted to several labels per document, and to unknown labels."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from properties import examples
from scipy import sparse
from sklearn.base import clone
from test_invariants import assert_never_falls, corpus_with_structure
from test_targets import of_objects

import vbnmf
from vbnmf import SupervisedVBNMF
from vbnmf.estimators.base import ANNEALING

pytestmark = pytest.mark.kernel

pd = pytest.importorskip("pandas")


def quick(**parameters):
    usual = {"n_components": 4, "max_iter": 50, "tol": 0, "random_state": 0}
    return SupervisedVBNMF(**usual | parameters)


def some_missing(y, part=0.6, seed=3):
    gone = np.random.default_rng(seed).random(len(y)) < part
    return np.where(gone, np.nan, y), gone


FITTED = ("components_", "label_rates_", "label_activations_", "label_counts_", "bound_history_")


@pytest.mark.parametrize("init", ["label", pytest.param("random", marks=pytest.mark.slow)])
def test_one_label_each_is_the_same_in_any_form_to_the_last_bit(init):
    X, y = corpus_with_structure()
    forms = [[[label] for label in y], [{label} for label in y], np.eye(4)[y],
             sparse.csr_array(np.eye(4)[y]), pd.DataFrame(np.eye(4)[y])]  # fmt: skip
    plain = quick(init=init).fit(X, y)
    for form in forms:
        other = quick(init=init).fit(X, form)
        for name in FITTED:
            assert_array_equal(getattr(plain, name), getattr(other, name), err_msg=name)


def test_order_of_columns_is_the_order_of_classes():
    X, y = corpus_with_structure()
    order = [2, 0, 3, 1]
    plain = quick(init="random").fit(X, y)
    other = quick(init="random").fit(X, pd.DataFrame(np.eye(4)[y][:, order], columns=order))
    assert other.classes_.tolist() == order
    assert_allclose(other.components_, plain.components_, rtol=1e-6)
    assert_allclose(other.label_rates_, plain.label_rates_[order], rtol=1e-6)
    assert_array_equal(other.label_counts_, plain.label_counts_[order])


@pytest.mark.parametrize("several", [False, True])
def test_order_of_documents_does_not_matter(several):
    X, y = corpus_with_structure()
    y, gone = some_missing(y)
    if several:
        y = np.where(gone[:, None], 0, np.eye(4)[np.nan_to_num(y).astype(int)])
        y[np.flatnonzero(~gone)[::3], 0] = 1
    order = np.random.default_rng(1).permutation(len(X))
    a, b = quick(), quick()
    V_a, V_b = a.fit_coefficients(X, y), b.fit_coefficients(X[order], y[order])
    assert_allclose(a.components_, b.components_, rtol=1e-5)
    assert_allclose(a.label_rates_, b.label_rates_, rtol=1e-5)
    assert_allclose(V_a[order], V_b, rtol=1e-5)
    assert a.bound_ == pytest.approx(b.bound_, rel=1e-9)


@examples(25)
@given(st.integers(2, 20), st.integers(1, 15), st.integers(0, 10**6), st.floats(0.05, 0.95),
       st.integers(1, 6), st.floats(0.05, 500), st.sampled_from(["label", "random"]),
       st.sampled_from([0, 2]), st.booleans())  # fmt: skip
def test_the_bound_never_falls_once_annealing_is_over(
    n_docs, n_terms, seed, part, K, a_lam, init, burn_in, several
):
    rng = np.random.default_rng(seed)
    X = rng.gamma(0.4, 10 ** rng.uniform(-2, 3), (n_docs, n_terms)) * rng.integers(0, 2, n_terms)
    X[0, 0] = 1
    labels = rng.integers(0, 3, (n_docs, 2))
    missing = rng.random(n_docs) < part
    missing[0] = False
    if several:
        y = [[] if gone else list(map(str, row)) for row, gone in zip(labels, missing, strict=True)]
    else:
        y = np.where(missing, np.nan, labels[:, 0])
    parameters = {"n_components": K, "label_shape": a_lam, "init": init, "burn_in": burn_in}
    model = quick(**parameters, bound_every=1, max_iter=burn_in + ANNEALING + 25).fit(X, y)
    # the last inverse temperature below one is that of iteration burn_in + ANNEALING
    assert_never_falls(model.bound_history_[burn_in + ANNEALING :])
    assert len(model.bound_history_) == burn_in + ANNEALING + 26


def test_stopping_waits_until_annealing_is_over():
    X, y = corpus_with_structure()
    known, _ = some_missing(y)
    model = {"burn_in": 2, "bound_every": 1, "tol": 1.0, "max_iter": 100}
    assert quick(**model).fit(X, y).n_iter_ < ANNEALING
    assert ANNEALING + 2 < quick(**model).fit(X, known).n_iter_ < 100


WORDS = 20  # of each label
HIDDEN = 6  # of these, words that no document of known label has


def three_labels(seed):
    """60 documents of three labels, each with words of its own; two of each label are known."""
    rng = np.random.default_rng(seed)
    z = np.repeat([0, 1, 2], 20)
    X = np.zeros((60, 3 * WORDS))
    for d, label in enumerate(z):
        X[d, label * WORDS : (label + 1) * WORDS] = rng.poisson(rng.gamma(1, 2, WORDS))
    y = of_objects([None] * 60)
    for label, name in enumerate(["art", "law", "sea"]):
        for d in np.flatnonzero(z == label)[[4, 13]]:
            y[d] = name
            X[d, label * WORDS : label * WORDS + HIDDEN] = 0
    return X, y, z


@pytest.mark.parametrize("seed", range(3))
def test_documents_of_unknown_label_teach_words(seed):
    X, y, _ = three_labels(seed)
    # with so few documents, the usual label_shape of 100 would hold all rates together
    model = SupervisedVBNMF(6, label_shape=5, random_state=seed).fit(X, y)
    assert model.classes_.tolist() == ["art", "law", "sea"]
    assert model.label_counts_.tolist() == [2, 2, 2]
    words = (model.label_activations_ @ model.components_).reshape(3, 3, WORDS)
    own = words[np.arange(3), np.arange(3)]
    # nearly all of a label's weight is on its own words: the unknown labels were found
    assert (own.sum(axis=1) > 0.9 * words.sum(axis=(1, 2))).all()
    # also on those that only documents of unknown label have, and about as much as they do
    share = own[:, :HIDDEN].sum(axis=1) / own.sum(axis=1)
    blocks = X.reshape(3, 20, 3, WORDS)[np.arange(3), :, np.arange(3)].sum(axis=1)
    assert_allclose(share, blocks[:, :HIDDEN].sum(axis=1) / blocks.sum(axis=1), atol=0.05)
    # without them nothing is known about these words
    known = np.array([label is not None for label in y])
    alone = SupervisedVBNMF(6, label_shape=5, random_state=seed).fit(X[known], y[known])
    lone = (alone.label_activations_ @ alone.components_).reshape(3, 3, WORDS)
    assert (own[:, :HIDDEN].min() > 3 * lone[:, :, :HIDDEN]).all()


def test_empty_documents_show_the_rates_of_their_labels():
    """A document without terms has a coefficient by its prior alone, at the mean of its rates.

    These are of the labels that the component serves; it is not used where it serves none.
    """
    X, y, z = three_labels(0)
    cases = [["art"], ["art", "law"], ["art", "law", "sea"]]
    partly = [[] if label is None else [label] for label in y] + cases
    known = [[("art", "law", "sea")[label]] for label in z] + cases  # scopes need most labels
    for scopes, y in (("all", partly), ("auto", known)):
        model = quick(label_shape=2.0, coef_shape=1, scopes=scopes)
        V = model.fit_coefficients(np.vstack([X, np.zeros((3, X.shape[1]))]), y)
        assert model.scopes_.all() == (scopes == "all")
        for v, n in zip(V[-3:], (1, 2, 3), strict=True):
            served = np.ma.masked_invalid(model.label_rates_[:n])
            rate = served.mean(axis=0).filled(np.inf)
            assert_allclose(v, 1 / (rate + model.component_sums_), rtol=1e-9)
        expected = [5, 4, 3] if scopes == "all" else [23, 22, 21]
        assert model.label_counts_.tolist() == expected


def test_a_document_of_two_labels_uses_components_of_both():
    X, _, z = three_labels(1)
    rng = np.random.default_rng(0)
    both = X[rng.permutation(20)[:6]] + X[20 + rng.permutation(20)[:6]]
    y = [[label] for label in z] + [[0, 1]] * 6
    model = SupervisedVBNMF(6, label_shape=5, random_state=0)
    V = model.fit_coefficients(np.vstack([X, both]), y)
    used = model.label_activations_ / model.label_activations_.sum(axis=1, keepdims=True)
    owner = used.argmax(axis=0)
    assert sorted(set(owner)) == [0, 1, 2]
    weights = V * model.component_sums_
    weights /= weights.sum(axis=1, keepdims=True)
    by_owner = np.stack([weights[:, owner == label].sum(axis=1) for label in range(3)], axis=1)
    assert (by_owner[np.arange(60), z] > 0.8).all()
    assert (by_owner[60:, :2] > 0.2).all()
    assert (by_owner[60:, 2] < 0.1).all()


def test_activations_are_means_in_parts():
    X, y = corpus_with_structure()
    several = [[label, (label + 1) % 4] if d % 3 else [label] for d, label in enumerate(y)]
    parts = np.array([[(label in row) / len(row) for label in range(4)] for row in several])
    for scopes in ("all", "auto"):
        model = quick(scopes=scopes)
        V = model.fit_coefficients(X, several)
        assert model.scopes_.all() == (scopes == "all")
        served = parts[:, :, None] * model.scopes_  # (n_docs, n_labels, K)
        served /= np.maximum(served.sum(axis=1, keepdims=True), 1e-99)
        means = np.einsum("dlk,dk->lk", served, V) / np.maximum(served.sum(axis=0), 1e-99)
        assert_allclose(model.label_activations_, means, rtol=1e-9)
        assert_array_equal(model.label_counts_, (parts > 0).sum(axis=0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_number_of_threads_does_not_matter_to_the_last_bit(dtype):
    X, y = corpus_with_structure(dtype=dtype)
    X, y = np.tile(X, (6, 1)), some_missing(np.tile(y, 6))[0]
    a, b = (quick(n_jobs=n_jobs) for n_jobs in (1, 2))
    assert_array_equal(a.fit_coefficients(X, y), b.fit_coefficients(X, y))
    for name in FITTED:
        assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


@pytest.mark.parametrize("unlabelled", [-1, None])
def test_models_with_unknown_labels_are_estimators_like_any_other(tmp_path, unlabelled):
    X, y = corpus_with_structure()
    missing, gone = some_missing(y)
    y = np.where(gone, -1, y) if unlabelled == -1 else missing
    model = quick(unlabelled=unlabelled)
    V = model.fit_coefficients(X, y)
    assert np.isfinite(V).all()
    assert model.classes_.tolist() == [0, 1, 2, 3]
    assert_array_equal(model.label_counts_, np.bincount(y[~gone].astype(int)))
    assert model.get_params()["unlabelled"] is unlabelled
    assert_array_equal(clone(model).fit(X, y).components_, model.components_)
    model.save(tmp_path / "model")
    for copy in (vbnmf.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert copy.unlabelled == unlabelled
        assert_array_equal(copy.transform(X), model.transform(X))
        for name in (*FITTED, "classes_"):
            assert_array_equal(getattr(copy, name), getattr(model, name), err_msg=name)


def test_parameter_unlabelled_is_used():
    X, y = corpus_with_structure()
    missing, gone = some_missing(y)
    a = quick().fit(X, missing)
    b = quick(unlabelled="none").fit(X, np.where(gone, "none", y.astype(str)))
    c = quick().fit(X, np.where(gone, "none", y.astype(str)))
    assert_array_equal(a.components_, b.components_)
    assert b.classes_.tolist() == ["0", "1", "2", "3"]
    assert c.classes_.tolist() == ["0", "1", "2", "3", "none"]
