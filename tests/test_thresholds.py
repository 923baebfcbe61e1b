"""Which labels are predicted, if documents may have several."""

import numpy as np
import pytest
from sklearn.metrics import f1_score
from smallfits import model

import vbnmf
from vbnmf import DocumentModel, SupervisedVBNMF
from vbnmf.prediction.thresholds import AIMS, SHRINKAGE, Thresholds


def drawn(n_docs, rates, seed=0):
    """Calibrated probabilities of labels with these rates, and labels drawn from them."""
    rng = np.random.default_rng(seed)
    rates = np.asarray(rates)
    P = rng.beta(rates * 2, (1 - rates) * 2, (n_docs, len(rates)))
    return P, rng.random(P.shape) < P


@pytest.fixture(scope="module")
def several():
    """Documents of words of their labels; the last label has three documents."""
    rng = np.random.default_rng(0)
    words = rng.dirichlet(np.full(200, 0.05), 5)
    Y = np.zeros((240, 5), int)
    Y[np.arange(240), np.arange(240) % 4] = 1
    Y[rng.random(240) < 0.3, 0] = 1
    Y[:3, 4] = 1
    X = np.array([rng.multinomial(20, words[row > 0].mean(axis=0)) for row in Y], dtype=float)
    return X, Y, model().fit(X, Y)


def test_each_aim_is_best_at_its_own_measure():
    rates = [0.4, 0.2, 0.05, 0.02]
    chosen = Thresholds.of(*drawn(20_000, rates), np.ones(20_000))
    P, Y = drawn(20_000, rates, seed=1)
    scores = {
        aim: [f1_score(Y, chosen.predicted(P, of), average=aim, zero_division=0) for of in AIMS]
        for aim in AIMS
    }
    for place, aim in enumerate(AIMS):
        assert scores[aim][place] == max(scores[aim])
    assert scores["macro"][1] > scores["macro"][0]
    assert scores["samples"][2] > scores["samples"][0]


def test_thresholds_of_calibrated_probabilities_are_half_of_the_f1():
    """Theory: Lipton, Elkan and Narayanaswamy (2014), Thresholding classifiers."""
    P, Y = drawn(50_000, [0.3, 0.1])
    chosen = Thresholds.of(P, Y, np.ones(50_000))
    F1 = f1_score(Y, chosen.predicted(P, "macro"), average=None)
    np.testing.assert_allclose(chosen.labels, F1 / 2, atol=0.04)


def test_a_threshold_is_in_the_middle_of_two_probabilities():
    Y = np.array([[1], [1], [0], [0]] * 20)
    P = np.array([[0.9], [0.8], [0.1], [0.1]] * 20)
    chosen = Thresholds.of(P, Y, np.ones(80))
    np.testing.assert_allclose(chosen.labels, [0.45])
    # the last probability is followed by 0
    chosen = Thresholds.of(P, np.ones_like(Y), np.ones(80))
    np.testing.assert_allclose(chosen.labels, [0.05])


def test_rare_labels_follow_their_probabilities_and_not_chance():
    rng = np.random.default_rng(0)
    P = np.column_stack([rng.beta(0.2, 20, 3000), rng.beta(1, 3, 3000)])
    found = []
    for seed in range(10):  # three documents have the label, whichever they are
        Y = np.zeros(P.shape, bool)
        Y[np.random.default_rng(seed).choice(3000, 3, replace=False), 0] = True
        Y[:, 1] = rng.random(3000) < P[:, 1]
        found.append(Thresholds.of(P, Y, np.ones(3000)).labels[0])
    assert SHRINKAGE > 3
    assert np.ptp(found) < 0.02


def test_a_label_of_three_documents_has_a_threshold(several):
    X, Y, fitted = several
    found = fitted.head_.thresholds
    assert 1e-6 <= found.labels[4] <= 1
    assert (fitted.head_.predicted(fitted.predict_proba(X), "macro")[:, 4].sum()) < 30
    # the choice does not hang on one of the three
    P, Y = drawn(600, [0.3, 0.005])
    Y[:, 1] = False
    Y[:3, 1], P[:3, 1] = True, (0.2, 0.21, 0.9)
    whole = Thresholds.of(P, Y, np.ones(600)).labels[1]
    fewer = Thresholds.of(P[1:], Y[1:], np.ones(599)).labels[1]
    assert abs(np.log(whole / fewer)) < 1


def test_a_document_of_weight_two_is_two_documents():
    P, Y = drawn(200, [0.3, 0.1])
    weight = np.where(np.arange(200) < 50, 2.0, 1.0)
    twice = np.r_[np.arange(200), np.arange(50)]
    weighted = Thresholds.of(P, Y, weight)
    repeated = Thresholds.of(P[twice], Y[twice], np.ones(250))
    assert (weighted.micro, weighted.samples) == (repeated.micro, repeated.samples)
    np.testing.assert_allclose(weighted.labels, repeated.labels)


def test_few_documents_have_the_usual_threshold():
    found = Thresholds.of(*drawn(20, [0.3, 0.1]), np.ones(20))
    assert (found.micro, found.samples, *found.labels) == (0.5,) * 4


def test_the_aim_can_be_changed_after_the_fit(several, tmp_path):
    X, _, fitted = several
    P = fitted.predict_proba(X)
    fitted.save(tmp_path / "several.vbnmf")
    again = vbnmf.load(tmp_path / "several.vbnmf")
    try:
        for aim in (*AIMS, 0.3, 1):
            fitted.set_params(threshold=aim)
            again.set_params(threshold=aim)
            given = fitted.predict(X)
            np.testing.assert_array_equal(again.predict(X), given)
            np.testing.assert_array_equal(given, fitted.head_.thresholds.predicted(P, aim))
        assert not np.array_equal(
            fitted.set_params(threshold=0.05).predict(X),
            fitted.set_params(threshold=0.6).predict(X),
        )
    finally:
        fitted.set_params(threshold="micro")


@pytest.mark.parametrize("threshold", ["best", 0, 1.5, -1, True, None, np.nan])
def test_bad_thresholds_are_refused(several, threshold):
    X, Y, fitted = several
    with pytest.raises(ValueError, match='threshold must be one of "micro", "macro", "samples"'):
        model(threshold=threshold).fit(X, Y)
    other = SupervisedVBNMF(threshold=threshold)
    other.fitted_, other.n_features_in_ = fitted.fitted_, fitted.n_features_in_
    with pytest.raises(ValueError, match="threshold must be one of"):
        other.predict(X)


def test_ranked_labels_and_at_most(several):
    X, Y, fitted = several
    P = fitted.predict_proba(X)
    labels, scores = fitted.ranked(X, 2)
    assert labels.shape == scores.shape == (240, 2)
    np.testing.assert_array_equal(scores[:, 0], P.max(axis=1))
    assert (scores[:, 0] >= scores[:, 1]).all()
    np.testing.assert_array_equal(labels[:, 0], P.argmax(axis=1))
    assert fitted.ranked(X, 50)[0].shape == (240, 5)
    with pytest.raises(ValueError, match="n must be"):
        fitted.ranked(X, 0)
    lists = [[f"label {i}" for i in np.flatnonzero(row)] for row in Y]
    texts = [" ".join(f"w{j} " * int(n) for j, n in enumerate(row) if n) for row in X]
    documents = DocumentModel(model(threshold=0.01)).fit(texts, lists)
    every, one = (documents.predict_with_proba(texts, at_most=n)[0] for n in (None, 1))
    assert max(map(len, every)) > 1
    assert one == [given[:1] for given in every]
    with pytest.raises(ValueError, match="at_most must be"):
        documents.predict_with_proba(texts, at_most=0)


def test_new_labels_keep_the_thresholds_of_others(several):
    found = several[2].head_.thresholds.with_labels(1, np.array([5, 0, 1, 2, 3, 4]))
    assert found.labels[0] == found.micro
    np.testing.assert_array_equal(found.labels[1:], several[2].head_.thresholds.labels)
