"""Which classifier predicts: the one that was asked for, or the one that is better."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from smallfits import drawn, model

from vbnmf import DocumentModel, SupervisedVBNMF
from vbnmf.metrics.shares import right_by_chance
from vbnmf.prediction import training
from vbnmf.prediction.trainingdata import TrainingDocuments


def few_documents(n_docs):
    """Twenty labels of words of their own, of which a few documents show a part."""
    rng = np.random.default_rng(0)
    words = 0.5 * rng.dirichlet(np.full(1000, 0.5)) + 0.5 * rng.dirichlet(np.full(1000, 0.05), 20)
    y = np.arange(20 * n_docs) % 20
    return np.array([rng.multinomial(40, words[label]) for label in y], dtype=float), y


@pytest.mark.parametrize(("n_docs", "expected"), [(4, "generative"), (60, "components")])
def test_with_few_documents_a_label_the_better_one_predicts(n_docs, expected):
    X, y = few_documents(n_docs + 4)
    train, new = slice(0, 20 * n_docs), slice(20 * n_docs, None)
    fits = {
        name: model(n_components=20, classifier=name).fit(X[train], y[train])
        for name in ("auto", "words and components", "components", "generative")
    }
    assert fits["auto"].classifier_ == expected
    assert_array_equal(fits["auto"].predict_proba(X), fits[expected].predict_proba(X))
    accuracy = {name: fitted.score(X[new], y[new]) for name, fitted in fits.items()}
    assert accuracy["auto"] >= max(accuracy.values()) - 0.02


def test_what_predicts_is_what_was_fitted():
    X, y = drawn()
    fitted = model(classifier="components").fit(X, y)
    before = fitted.predict_proba(X)
    fitted.set_params(classifier="generative")
    assert_array_equal(fitted.predict_proba(X), before)
    assert fitted.classifier_ == "components"


def test_score_takes_what_fit_takes():
    X, y = drawn()
    fitted = model().fit(X, y)
    right = fitted.predict(X) == y
    assert fitted.score(X, y) == right.mean()
    partly = [None if d % 3 == 0 else label for d, label in enumerate(y.tolist())]
    known = np.arange(len(y)) % 3 > 0
    assert fitted.score(X, partly) == right[known].mean()
    weight = np.arange(len(y), dtype=float)
    assert fitted.score(X, y, weight) == np.average(right, weights=weight)


def test_score_of_several_labels_is_of_whole_sets():
    X, y = drawn()
    sets = [["abc"[label]] + ["d"] * (d % 2) for d, label in enumerate(y.tolist())]
    fitted = model().fit(X, sets)
    Y = np.array([[c in labels for c in "abcd"] for labels in sets], dtype=int)
    exact = (fitted.predict(X) == Y).all(axis=1)
    assert fitted.score(X, sets) == exact.mean()
    assert fitted.score(X, Y) == exact.mean()
    stranger = [*sets[:-1], ["e"]]
    with pytest.raises(ValueError, match="does not know: 'e'"):
        fitted.score(X, stranger)


@pytest.mark.parametrize("several", [False, True])
def test_what_a_head_may_lose_is_paired_by_documents(several):
    labels = sp.csr_array(np.eye(2)[np.arange(100) % 2])
    documents = TrainingDocuments(
        sp.csr_array((100, 3)), np.zeros((100, 1)), labels, np.ones(100), multilabel=several
    )
    right, wrong = labels.toarray().astype(np.float32), 1 - labels.toarray().astype(np.float32)
    assert documents.largest_loss(right, right) == 0
    mistaken = np.arange(100) < 10  # wrong about the same documents as another one
    both = np.where(mistaken[:, None], wrong, right)
    assert documents.largest_loss(both, both) == 0
    others = np.where(mistaken[::-1, None], wrong, right)  # as many, but others
    assert documents.quality(both) == documents.quality(others)
    error = np.sqrt(100 / 99 * 20) / 100
    assert documents.largest_loss(both, others) == pytest.approx(error)
    assert documents.largest_loss(both, right) > 0.1


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        (0.00521, 0.00496, "loss is 0.0052 with a and 0.0050 with b"),
        (0.9, 0.8, "loss is 0.900 with a and 0.800 with b"),
        (0.00521, 0.00519, "loss is 0.00521 with a and 0.00519 with b"),
        (0.25, 0.25, "loss is 0.250 both with a and with b"),
    ],
)
def test_scores_are_told_apart(one, other, words):
    assert training.compared("loss", one, "a", other, "b") == words


def test_copies_of_few_documents_are_subtracted():
    """All documents may be in one fold, without which there would be no model."""
    texts = ["green tea leaves", "steep the tea leaves", "roast coffee beans", "grind coffee beans"]
    fitted = DocumentModel().fit(texts * 6, [0, 0, 1, 1] * 6).estimator_
    assert_array_equal(fitted.left_out_proba_.argmax(axis=1), [0, 0, 1, 1] * 6)


def test_several_labels_of_copies_are_not_turned_around():
    """Each fold has all copies of a text, and no other text says as much about its labels."""
    texts = ["green tea leaves", "steep the tea", "roast coffee beans", "grind the coffee"]
    labels = [["tea", "hot"], ["tea"], ["coffee"], ["coffee", "hot"]]
    fitted = DocumentModel(SupervisedVBNMF(4, random_state=0)).fit(texts * 6, labels * 6)
    assert [sorted(found) for found in fitted.predict(texts)] == [sorted(one) for one in labels]


def test_random_labels_are_not_found_by_components():
    """Components were found with these labels, so scores by components seem good.

    Labels alternate: a sample of every second document would have one label.
    """
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.poisson(rng.gamma(0.05, 2.0, (800, 1500))).astype(float))
    y = np.arange(800) % 2
    fitted = SupervisedVBNMF(random_state=0).fit(X, y)
    assert fitted.classifier_ == "words and components"
    assert (fitted.left_out_proba_.argmax(axis=1) == y).mean() < 0.55
    alone = SupervisedVBNMF(random_state=0, classifier="components").fit(X, y)
    assert (alone.left_out_proba_.argmax(axis=1) == y).mean() > 0.6


@pytest.mark.parametrize(("n_docs", "length", "seed"), [(1500, 15, 1), (2000, 80, 1)])
def test_random_labels_are_predicted_by_chance(n_docs, length, seed):
    """With components, predictions without a document seem better; components alone most."""
    rng = np.random.default_rng(seed)
    n_terms = 3000 if length == 15 else 4000
    p = 1 / np.arange(1, n_terms + 1) ** (1.0 if length == 15 else 0.9)
    X = rng.multinomial(length, p / p.sum(), n_docs).astype(float)
    X *= np.log(n_docs / np.maximum((X > 0).sum(axis=0), 1))
    X *= 10 / np.linalg.norm(X, axis=1, keepdims=True)
    y = rng.integers(2, size=n_docs)

    def by_chance(classifier):
        fitted = SupervisedVBNMF(20, random_state=0, classifier=classifier).fit(X, y)
        labels = fitted.left_out_proba_.argmax(axis=1)
        return right_by_chance(labels, labels == y, fitted.label_frequencies_), fitted

    assert not by_chance("words and components")[0]
    found, fitted = by_chance("auto")
    assert found
    assert "single words, which is chance" in fitted.classifier_reason_
    assert fitted.component_share(X).max() == 0
