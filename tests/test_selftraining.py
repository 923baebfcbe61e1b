"""Machines that are trained on documents with unknown labels too."""

import numpy as np
import pytest
from scipy import sparse

from vbnmf import SupervisedVBNMF, load
from vbnmf.prediction import selftraining
from vbnmf.prediction.selftraining import Featured

N_LABELS, N_TERMS = 8, 600


def drawn(n_docs: int, seed: int, length: int = 12) -> tuple[sparse.csr_array, np.ndarray]:
    """Draw short documents of labels whose terms overlap."""
    words = np.random.default_rng(0).dirichlet(np.full(N_TERMS, 0.1), N_LABELS)
    words = 0.6 * words + 0.4 * words.mean(axis=0)
    rng = np.random.default_rng(seed)
    y = np.arange(n_docs) % N_LABELS
    return sparse.csr_array(rng.multinomial(length, words[y]).astype(float)), y


def few_labelled(n_docs: int, known: int) -> tuple[sparse.csr_array, np.ndarray]:
    """Draw documents of which the first are labelled."""
    X, y = drawn(n_docs, 1)
    labels = y.astype(object)
    labels[known:] = None
    return X, labels


def fitted(X: sparse.csr_array, y: np.ndarray, **options: object) -> SupervisedVBNMF:
    return SupervisedVBNMF(random_state=0, **options).fit(X, y)


def test_documents_of_unknown_label_improve_predictions() -> None:
    X, y = few_labelled(1600, 80)
    X_new, y_new = drawn(800, 2)
    with_others = fitted(X, y)
    assert "unlabelled documents" in with_others.classifier_reason_
    alone = fitted(X[:80], y[:80].astype(int))
    gain = with_others.score(X_new, y_new) - alone.score(X_new, y_new)
    assert gain > 0.03, gain


def test_held_out_accuracy_does_not_know_the_labels() -> None:
    """Random labels cannot be predicted: held-out documents must not seem to be right."""
    X, y = few_labelled(1600, 160)
    y[:160] = np.random.default_rng(3).integers(0, N_LABELS, 160)
    model = fitted(X, y)
    right = model.left_out_proba_[:160].argmax(axis=1) == y[:160].astype(int)
    assert right.mean() < 1 / N_LABELS + 0.1, right.mean()


def test_the_same_bits_with_threads_and_saved(tmp_path) -> None:
    X, y = few_labelled(800, 80)
    X_new = drawn(50, 2)[0]
    model = fitted(X, y, n_jobs=1)
    P = model.predict_proba(X_new)
    np.testing.assert_array_equal(P, fitted(X, y, n_jobs=2).predict_proba(X_new))
    model.save(tmp_path / "model.vbnmf")
    np.testing.assert_array_equal(P, load(tmp_path / "model.vbnmf").predict_proba(X_new))


def test_with_most_labels_known_the_others_do_not_train_machines() -> None:
    X, y = few_labelled(400, 240)
    assert "unlabelled documents" not in fitted(X, y).classifier_reason_


def test_near_duplicates_take_part_once() -> None:
    X, _ = drawn(60, 4, length=80)
    known = np.zeros(180, dtype=bool)
    known[:20] = True
    rows = selftraining.chosen(sparse.csr_array(sparse.vstack([X, X, X])), np.ones(180), known)
    # neither copies of the labelled documents, nor second copies of the others
    np.testing.assert_array_equal(rows, np.arange(20, 60))


def test_documents_without_terms_or_weight_take_no_part() -> None:
    X = sparse.csr_array(np.array([[1.0, 2.0], [0.0, 0.0], [2.0, 1.0], [1.0, 1.0]]))
    known = np.array([True, False, False, False])
    rows = selftraining.chosen(X, np.array([1.0, 1.0, 0.0, 1.0]), known)
    np.testing.assert_array_equal(rows, [3])


def test_of_very_many_documents_some_take_part(monkeypatch) -> None:
    monkeypatch.setattr(selftraining, "MOST_DOCUMENTS", 4)
    X = sparse.csr_array(np.kron(np.eye(9), np.ones(6)))
    rows = selftraining.chosen(X, np.ones(9), np.arange(9) < 1)
    np.testing.assert_array_equal(rows, [1, 3, 5, 7])
    rows = selftraining.chosen(X, np.ones(9), np.arange(9) < 0)
    np.testing.assert_array_equal(rows, [0, 3, 6])


@pytest.mark.parametrize("part", [0.25, 1.0])
def test_the_most_certain_of_each_label(part: float) -> None:
    scores = np.array([[3.0, 0.0], [1.0, 0.0], [2.0, 0.0], [2.5, 0.0], [0.0, 0.1]])
    rows, labels = selftraining._most_certain(scores, part)
    np.testing.assert_array_equal(rows, [0, 4] if part < 1 else range(5))
    np.testing.assert_array_equal(labels, [0, 1] if part < 1 else [0, 0, 0, 0, 1])


def test_left_out_scores_are_those_of_machines_without_the_fold() -> None:
    X, y = drawn(120, 5)
    X = sparse.csr_array(X / np.sqrt((X**2).sum(axis=1))[:, None]).astype(np.float32)
    none = np.zeros((120, 0), np.float32)
    labels = sparse.csr_array(np.eye(N_LABELS, dtype=np.int8)[y[:60]])
    documents = Featured(X[:60], none[:60], np.ones(60))
    others = Featured(X[60:], none[60:], np.ones(60))
    fold = (np.arange(60) // 12).astype(np.int32)
    found = selftraining.train(documents, labels, fold, others)
    kept = np.flatnonzero(fold != 2)
    whole = selftraining.train(
        documents.at(kept), labels[kept], np.zeros(len(kept), np.int32), others
    )
    scores = X[24:36] @ whole.words.T + whole.intercepts
    np.testing.assert_allclose(found.left_out[24:36], scores, rtol=1e-5, atol=1e-5)
