"""Components without a fold: the sums of the others, labels that say nothing, unknown words."""

import weakref
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import psi
from smallfits import drawn, labels_of, pairs_of_documents

from vbnmf import SupervisedVBNMF
from vbnmf.core.rows import of_columns
from vbnmf.estimators import heads
from vbnmf.estimators.posterior import for_prediction
from vbnmf.prediction import crossfit, machines
from vbnmf.prediction.dividing import FOLDS, in_several_folds
from vbnmf.prediction.evidence import mean_documents, mean_over_terms
from vbnmf.prediction.training import train
from vbnmf.prediction.trainingdata import Training, TrainingDocuments

pytestmark = pytest.mark.kernel


def fitted(monkeypatch, X, y, **parameters):
    """A model, and the cross-fit of its head with the arguments that it was asked with."""
    made, asked = [], []

    class Watched(crossfit.CrossFit):
        def posteriors(self, full, fold):
            made.append(self)
            asked.append((full, fold))
            return super().posteriors(full, fold)

    monkeypatch.setattr(heads, "CrossFit", Watched)
    model = SupervisedVBNMF(random_state=0, **parameters).fit(X, y)
    return model, made[0], *asked[0]


@pytest.mark.parametrize("scopes", ["all", "auto"])
def test_one_sweep_subtracts_the_fold(monkeypatch, scopes):
    """The shapes are those of the documents that are left, scaled to all documents."""
    monkeypatch.setattr(crossfit, "SWEEPS", 1)
    X, y = drawn(n_docs=120)
    _, cross, full, fold = fitted(monkeypatch, X, y, scopes=scopes, n_components=4)
    X, prior, Sigma = X.toarray(), cross.state.prior, cross._Sigma_v(np.arange(len(cross.V)))
    L_t = np.exp(psi(cross.shapes)) * cross.state.terms.scale
    rates = np.where(np.isfinite(full.rates), cross.state.rates.E, np.inf)[y]
    L_v = np.exp(psi(prior.a_v + Sigma)) / (rates + cross.state.terms.E_sums)
    for held, found in cross.posteriors(full, fold):
        left = np.setdiff1d(np.arange(len(y)), held)
        parts = L_t[None] * L_v[left][:, None]
        sums = (X[left][:, :, None] * parts / parts.sum(axis=2, keepdims=True)).sum(axis=0)
        assert_allclose(found.shapes, prior.a_t + sums * len(y) / len(left), rtol=2e-4, atol=1e-4)
        assert_allclose(found.sums, found.shapes.sum(axis=0) * found.scales, rtol=1e-6)


@pytest.mark.parametrize("kind", ["one", "unknown", "several"])
def test_coefficients_say_what_components_explain(monkeypatch, kind):
    """Sigma_v, which sweeps begin with, is what the documents of the fit had."""
    X, y = drawn(n_docs=120)
    _, cross, *_ = fitted(monkeypatch, X, labels_of(y, kind))
    found = cross._Sigma_v(np.arange(len(cross.V))).sum(axis=1)
    assert_allclose(found, X.sum(axis=1), rtol=1e-3, atol=1e-3)


def test_labels_of_left_out_documents_help_less():
    """Random labels are found again less often than if single documents are subtracted."""
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.poisson(rng.gamma(0.3, 1.0, (200, 400))).astype(float))
    y = np.arange(200) % 2

    def right():
        model = SupervisedVBNMF(random_state=0, classifier="components").fit(X, y)
        return (model.left_out_proba_.argmax(axis=1) == y).mean()

    crossed = right()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(heads, "train", lambda *args, **how: train(*args, **how | {"without": None}))
        assert crossed < right() - 0.01


def test_other_documents_have_the_same_mean_in_all_folds():
    """Values of a fold are shifted until the mean of the others is that of the whole model."""
    X, y = drawn(n_docs=60)
    model = SupervisedVBNMF(random_state=0).fit(X, y)
    X = X.tolil()
    X[0] = 0
    X = sparse.csr_array(X)
    rng, labels = np.random.default_rng(0), sparse.csr_array(np.eye(3, dtype=np.int8)[y])
    full = for_prediction(model.fitted_.components, model.fitted_.labels, 1.0)
    V = np.ones((60, len(full.scales)))
    documents = TrainingDocuments(X, V, labels, np.ones(60), multilabel=False)
    fold = np.arange(60) % 3
    models = [replace(full, shapes=full.shapes * rng.gamma(2, 1, full.shapes.shape)) for _ in "123"]

    def without(full, fold):
        return ((np.flatnonzero(fold == i), one) for i, one in enumerate(models))

    training = Training(documents, full, without=without)
    training.fold, training.familiar = fold, np.ones(X.shape[1], bool)
    found = training.evidence
    for i, one in enumerate(models):
        of_one, of_full = (mean_over_terms(X, m.term_evidence(slice(None))) for m in (one, full))
        shift = (found - of_one)[(fold == i) & (np.arange(60) > 0)]
        assert_allclose(shift, np.broadcast_to(shift[0], shift.shape), atol=1e-9)
        others = (fold != i) & (np.arange(60) > 0)
        assert_allclose(of_one[others].mean(axis=0) + shift[0], of_full[others].mean(axis=0))
        assert abs(shift).max() > 0.01
    assert not found[0].any()  # no word, no evidence


def test_one_model_of_a_fold_is_held_at_a_time(monkeypatch):
    """The model of a fold is free when the next one is fitted, and so are the means."""
    alive, found = [], []

    class Watched(crossfit.CrossFit):
        def _without(self, kernel, left, full):
            alive.append(sum(one() is not None for one in found))
            model = super()._without(kernel, left, full)
            found.append(weakref.ref(model.shapes))
            return model

    monkeypatch.setattr(heads, "CrossFit", Watched)
    X, y = drawn(n_docs=120)
    model = SupervisedVBNMF(random_state=0).fit(X, y)
    assert alive == [0] * FOLDS
    assert "means" not in vars(model.fitted_.components)  # computed again by components_


def test_several_labels_are_left_out(monkeypatch):
    X, Y = pairs_of_documents()
    model, cross, full, fold = fitted(monkeypatch, X, Y)
    assert len(fold) == X.shape[0]
    assert sum(len(held) for held, _ in cross.posteriors(full, fold)) == X.shape[0]
    assert np.isfinite(model.left_out_proba_).all()


def test_words_of_one_fold_are_unknown_there():
    X = sparse.csr_array(np.array([[1, 1, 0, 0], [1, 0, 2, 0], [0, 0, 1, 0]]))
    fold = np.array([0, 1, 1])
    assert_array_equal(in_several_folds(X, fold), [True, False, False, False])
    kept = of_columns(X, np.array([True, False, True, True]))
    assert_array_equal(kept.toarray(), [[1, 0, 0, 0], [1, 0, 2, 0], [0, 0, 1, 0]])
    assert FOLDS > 1


def test_unknown_words_do_not_change_the_scores_of_left_out_documents(monkeypatch):
    """A word that one document alone has does not make its left-out probabilities less certain."""
    X, y = drawn(n_docs=200)
    own = sparse.csr_array(3.0 * np.eye(200))
    fold = np.arange(200) % FOLDS
    monkeypatch.setattr("vbnmf.prediction.trainingdata.folds", lambda X, weight: fold)
    kept, train = [], machines.train

    def watched(*args, known, **options):
        kept.append(known)
        return train(*args, known=known, **options)

    monkeypatch.setattr(machines, "train", watched)
    SupervisedVBNMF(random_state=0, head_features=200).fit(
        sparse.csr_array(sparse.hstack([X, own])), y
    )
    length = np.sqrt((X.power(2)).sum(axis=1))
    assert_allclose(kept[0], length / np.sqrt(length**2 + 9), rtol=1e-6)


def test_left_out_scores_of_machines_are_of_the_known_part():
    """Dividing the sparse features of a left-out document is the same as longer features of it."""
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.random((80, 6)).astype(np.float32))
    y = (np.asarray(X.sum(axis=1)) > 3).astype(int)
    dense, fold = rng.random((80, 2)), np.arange(80) % FOLDS
    labels = sparse.csr_array(np.eye(2, dtype=np.int8)[y])
    known = np.where(fold == 0, 0.5, 1.0)
    plain = machines.train(X, dense, labels, np.ones(80), fold)
    found = machines.train(X, dense, labels, np.ones(80), fold, known=known)
    assert_array_equal(found.words, plain.words)
    assert_array_equal(found.left_out[fold > 0], plain.left_out[fold > 0])
    # the part of terms is twice as large: with it once more, the difference is the same again
    thrice = machines.train(
        X, dense, labels, np.ones(80), fold, known=np.where(fold == 0, 1 / 3, 1.0)
    )
    once = found.left_out - plain.left_out
    assert_allclose(thrice.left_out - found.left_out, once, rtol=1e-3, atol=1e-4)
    assert np.abs(once[fold == 0]).max() > 0.1


def test_means_of_other_documents():
    """A weight is a number of copies, and documents without any term do not count."""
    X = sparse.csr_array(np.array([[1, 1, 0], [4, 0, 0], [0, 0, 3], [0, 0, 0]]) * 1.0)
    found = mean_documents(X, np.array([0, 0, 1, 1]), np.array([2.0, 1.0, 1.0, 5.0]))
    assert_allclose(found, [[0, 0, 1], [2 / 3, 1 / 3, 0]])
