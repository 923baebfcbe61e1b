"""A new kind of prediction head is a class and a line in the list of heads."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from test_heads import drawn, model, pairs_of_documents

from vbnmf import load
from vbnmf.core.rows import effective_terms
from vbnmf.prediction import training
from vbnmf.prediction.calibration import calibrate
from vbnmf.prediction.evidence import mean_over_terms
from vbnmf.prediction.head import Head, Trained
from vbnmf.store import check_doubles


@dataclass(frozen=True, eq=False, kw_only=True)
class NearestHead(Head):
    """The evidence of a document for the mean evidence of each label's documents."""

    centres: np.ndarray  # (n_labels, K)
    name = "nearest"
    predicts_several = False

    @classmethod
    def train(cls, training, reason):
        of = training.documents
        Y = of.labels.toarray() > 0
        centres = Y.T @ training.evidence / Y.sum(axis=0)[:, None]
        scores = training.evidence @ centres.T
        fitted = calibrate(scores, Y, effective_terms(of.X), of.weight, usual_slope=1.0)
        left_out = fitted.probabilities(scores, effective_terms(of.X)).astype(np.float32)
        return Trained(cls(calibration=fitted, centres=centres), reason, left_out)

    def scores(self, X, posterior):
        return mean_over_terms(X, posterior.term_evidence(slice(None))) @ self.centres.T

    def term_parts(self, terms, posterior, label):
        centre = self.calibration.slopes[label] * self.above_mean(self.centres, label)
        return posterior.term_evidence(terms) * centre, centre > 0

    def to_state(self):
        return {}, {"centres": self.centres}

    @classmethod
    def from_state(cls, header, arrays, sizes, calibration, threshold):
        centres = check_doubles(arrays, "centres", (sizes.n_labels, sizes.n_components))
        return cls(calibration=calibration, threshold=threshold, centres=centres)


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    monkeypatch.setitem(training.HEADS, NearestHead.name, NearestHead)


def test_a_new_head_is_trained_predicts_and_explains():
    X, y = drawn(3, 90)
    fitted = model(classifier="nearest").fit(X[:60], y[:60])
    assert fitted.classifier_ == "nearest"
    assert fitted.classifier_reason_ == "as requested"
    assert isinstance(fitted.head_, NearestHead)
    assert fitted.score(X[60:], y[60:]) > 0.9
    P = fitted.predict_proba(X)
    assert_allclose(P.sum(axis=1), 1)
    assert_array_equal(fitted.component_share(X), 1)
    explained = fitted.explain(X[:5], n_terms=X.shape[1], n_components=99)
    for (best, _), label in zip(explained, fitted.predict(X[:5]), strict=True):
        assert best.label == label
        assert best.components


def test_a_new_head_is_saved_and_loaded(tmp_path):
    X, y = drawn(3, 90)
    fitted = model(classifier="nearest").fit(X, y)
    fitted.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert isinstance(again.head_, NearestHead)
    assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))


def test_a_new_head_follows_a_stream():
    X, y = drawn(3, 90)
    fitted = model(classifier="nearest").partial_fit(X[:60], y[:60])
    fitted.partial_fit(X[60:], y[60:])
    assert isinstance(fitted.head_, NearestHead)
    assert fitted.score(X, y) > 0.9


def test_a_head_of_one_label_per_document_refuses_several():
    X, Y = pairs_of_documents()
    with pytest.raises(ValueError, match='classifier="nearest" needs one label per document'):
        model(classifier="nearest").fit(X, Y)


def test_an_unknown_head_is_refused_with_the_names_of_all():
    with pytest.raises(ValueError, match=r'classifier must be "auto", .*"generative" or "nearest"'):
        model(classifier="none").fit(*drawn(2, 10))
