"""Machines of many labels, each trained on a part of the documents."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

import vbnmf
from benchmarks.many import draw
from vbnmf import SupervisedVBNMF
from vbnmf.prediction import linear, machines, manylabels, training
from vbnmf.prediction.dividing import folds
from vbnmf.prediction.trainingdata import TrainingDocuments

N_LABELS = 60
in_parts = partial(manylabels.train, most_weights=10**9)


@pytest.fixture(scope="module")
def corpus():
    return draw(N_LABELS, n_docs=1200, n_test=600, n_terms=800)


@pytest.fixture
def parts_only(monkeypatch):
    """Train each machine on a part of the documents."""
    monkeypatch.setattr(linear, "MOST_WORK", 1)
    monkeypatch.setattr(manylabels, "SAMPLE", 100)
    monkeypatch.setattr(manylabels, "NEAREST", 10)


def model(**settings):
    return SupervisedVBNMF(n_components=20, max_iter=5, random_state=0, **settings)


def features(corpus):
    X = sp.csr_array(corpus.X, dtype=np.float32)
    n_docs = X.shape[0]
    labels = sp.csr_array((np.ones(n_docs), corpus.y, np.arange(n_docs + 1)), (n_docs, N_LABELS))
    dense = np.zeros((n_docs, 0), np.float32)
    return X, dense, labels, np.ones(n_docs), folds(X)


@pytest.mark.kernel
def test_machines_on_parts_predict_as_those_on_all_documents(corpus, parts_only):
    parts, everything = in_parts(*features(corpus)), machines.train(*features(corpus))
    right = [
        ((corpus.X_test @ of.words.T + of.intercepts).argmax(axis=1) == corpus.y_test).mean()
        for of in (parts, everything)
    ]
    assert right[1] > 0.9
    assert right[0] > right[1] - 0.02


def test_held_out_documents_are_a_sample_if_they_are_very_many(monkeypatch):
    monkeypatch.setattr(manylabels, "HELD_OUT_SCORES", 12)
    fold = np.arange(20) % 2
    assert manylabels.held_out_documents(fold, 1).tolist() == list(range(0, 20, 2))
    assert manylabels.held_out_documents(fold, 3).tolist() == [0, 6, 12, 18]
    assert manylabels.held_out_documents(fold, 100).tolist() == [0]
    assert len(manylabels.held_out_documents(np.ones(5, int), 3)) == 0


def test_log_odds_are_those_of_a_mixture_with_all_documents():
    rng = np.random.default_rng(0)
    X = rng.poisson(1.0, (30, 6)) * 1.0
    Y, weight = rng.random((30, 4)) < 0.3, rng.random(30)
    Y[:, 3] = False  # a label without documents
    found = manylabels.log_odds(sp.csr_array(X), sp.csr_array(Y * 1.0), weight).toarray()
    p = weight @ X / (weight @ X).sum()
    for label in range(3):
        q = (weight * Y[:, label]) @ X
        np.testing.assert_allclose(found[label], np.log(1 + q / q.sum() / p), rtol=1e-5)
    assert not found[3].any()


@pytest.mark.parametrize(("n_better", "found"), [(0, 0.0), (1, 0.0), (2, 0.3)])
def test_log_odds_are_used_if_they_help_by_more_than_chance(monkeypatch, n_better, found):
    """One more document that is right is one standard error, which is not enough."""
    monkeypatch.setattr(manylabels, "_ROWS_AT_ONCE", 4)
    truth, scores = np.arange(10) % 3, np.zeros((10, 3), np.float32)
    scores[np.arange(10), truth] = 1
    scores[:n_better] = 1 - scores[:n_better]  # wrong by one, which 0.3 · 4 outweighs
    odds = 4 * np.eye(3, dtype=np.float32)[truth]
    labels = sp.csr_array(np.eye(3)[truth])
    chosen = manylabels._best_multiple(scores, sp.csr_array(odds), labels, np.ones(10))
    assert chosen == found
    manylabels._add(scores, sp.csr_array(odds), 0.5)
    assert (scores.argmax(axis=1) == truth).all()


def test_labels_of_very_few_documents_use_log_odds(parts_only):
    """Machines of four documents each know less than naive Bayes, and folds show it."""
    few = draw(N_LABELS * 5, n_docs=N_LABELS * 20, n_test=600, n_terms=N_LABELS * 5)
    X, y = sp.csr_array(few.X, dtype=np.float32), few.y
    n_docs = len(y)
    labels = sp.csr_array((np.ones(n_docs), y, np.arange(n_docs + 1)), (n_docs, N_LABELS * 5))
    dense, weight, fold = np.zeros((n_docs, 0), np.float32), np.ones(n_docs), folds(X)
    alone, _ = machines.solve(X, dense, labels, weight, 1)
    found = in_parts(X, dense, labels, weight, fold)
    right = [
        ((few.X_test @ words.T + intercepts).argmax(axis=1) == few.y_test).mean()
        for words, intercepts in ((alone[:, :-1], alone[:, -1]), (found.words, found.intercepts))
    ]
    assert right[1] > right[0] + 0.03
    held = (found.left_out.argmax(axis=1) == y[found.held]).mean()
    assert 0.6 < held < right[1] + 0.02  # of machines and log-odds of three documents a label


@pytest.mark.kernel
def test_threads_do_not_change_the_bits(corpus, parts_only):
    one, two = (in_parts(*features(corpus), n_threads=n) for n in (1, 2))
    for a, b in zip(one[:4], two[:4], strict=True):
        np.testing.assert_array_equal(a, b)


def test_held_out_scores_of_random_labels_are_no_better_than_chance(corpus, parts_only):
    X, dense, labels, weight, fold = features(corpus)
    labels.indices = np.random.default_rng(0).permutation(labels.indices)
    found = in_parts(X, dense, labels, weight, fold)
    assert (fold[found.held] == 0).all()
    right = found.left_out.argmax(axis=1) == labels.indices[found.held]
    assert right.mean() < 0.06
    by_all = (X @ found.words.T + found.intercepts).argmax(axis=1) == labels.indices
    assert by_all.mean() > 0.5


def test_a_fit_of_many_labels_has_held_out_probabilities_of_a_fold(corpus, parts_only, tmp_path):
    fitted = model().fit(corpus.X, corpus.y)
    assert "60 labels" in fitted.classifier_reason_
    rows = fitted.head_documents_
    assert 0 < len(rows) < len(corpus.y)
    assert fitted.left_out_proba_.shape == (len(rows), N_LABELS)
    held = (fitted.left_out_proba_.argmax(axis=1) == corpus.y[rows]).mean()
    assert abs(held - fitted.score(corpus.X_test, corpus.y_test)) < 0.1
    assert fitted.score(corpus.X_test, corpus.y_test) > 0.9
    fitted.save(tmp_path / "many.vbnmf")
    again = vbnmf.load(tmp_path / "many.vbnmf")
    np.testing.assert_array_equal(
        again.predict_proba(corpus.X_test), fitted.predict_proba(corpus.X_test)
    )
    np.testing.assert_array_equal(again.head_documents_, rows)


def test_several_labels(corpus, parts_only):
    Y = np.zeros((len(corpus.y), N_LABELS), int)
    Y[np.arange(len(Y)), corpus.y] = 1
    Y[:, 0] |= corpus.y % 2
    fitted = model().fit(corpus.X, Y)
    predicted = fitted.predict(corpus.X_test)
    assert predicted[np.arange(600), corpus.y_test].mean() > 0.8


def test_a_sample_has_documents_of_each_label(corpus):
    X, dense, labels, weight, _ = features(corpus)
    documents = TrainingDocuments(X, dense, labels, weight, multilabel=False)
    assert training.even_sample(documents, 1) is None
    rows = training.even_sample(documents, 7)
    assert len(rows) == sum(-(-n // 7) for n in np.bincount(corpus.y))
    assert set(corpus.y[rows]) == set(range(N_LABELS))


def test_too_much_evidence_is_that_of_a_sample(corpus, monkeypatch):
    monkeypatch.setattr(training, "MOST_EVIDENCE", len(corpus.y) * 20 // 2)
    fitted = model().fit(corpus.X, corpus.y)
    assert fitted.classifier_ == "words and components"
    assert len(fitted.head_documents_) == len(corpus.y) // 2
    assert fitted.score(corpus.X_test, corpus.y_test) > 0.9


def test_weights_that_do_not_fit_into_memory_are_sparse(corpus, monkeypatch, tmp_path):
    """Each label keeps its largest weights, and all else works as with a dense array."""
    dense = model(classifier="words and components").fit(corpus.X, corpus.y)
    monkeypatch.setattr(linear, "MOST_WEIGHTS", N_LABELS * 400)  # half of the terms
    fitted = model(classifier="words and components").fit(corpus.X, corpus.y)
    words = fitted.head_.words
    assert sp.issparse(words)
    assert words.nnz <= N_LABELS * 400
    assert (
        fitted.score(corpus.X_test, corpus.y_test)
        > dense.score(corpus.X_test, corpus.y_test) - 0.02
    )
    fitted.save(tmp_path / "sparse.vbnmf")
    again = vbnmf.load(tmp_path / "sparse.vbnmf")
    P = fitted.predict_proba(corpus.X_test[:50])
    np.testing.assert_array_equal(again.predict_proba(corpus.X_test[:50]), P)
    explained = fitted.explain(corpus.X_test[:3], n_terms=1000)
    assert [best.label for best, _ in explained] == fitted.predict(corpus.X_test[:3]).tolist()
    assert all(0 < best.component_share < 1 for best, _ in explained)
    order = np.append(np.arange(N_LABELS), N_LABELS)[::-1]
    wider = fitted.head_.with_labels(order, 20).words
    assert wider.shape == (N_LABELS + 1, words.shape[1])
    assert wider.toarray()[0].sum() == 0
    np.testing.assert_array_equal(wider.toarray()[1:][::-1], words.toarray())
