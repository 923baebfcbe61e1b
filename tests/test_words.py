"""Labels by components and single words: exact parts, calibration, files, what it falls back to."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import logit, softmax
from sklearn.model_selection import cross_val_predict

from vbnmf import SupervisedVBNMF, load
from vbnmf.core.rows import effective_terms
from vbnmf.prediction import linear
from vbnmf.prediction.evidence import mean_over_terms
from vbnmf.prediction.scaling import standardise

pytestmark = pytest.mark.kernel


def corpus(n_docs=400, n_labels=4, seed=0):
    """Labels mix the same three topics; a few words of their own tell them apart."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(60, 0.1), 3)
    own = np.zeros((n_labels, 60))
    for label in range(n_labels):
        own[label, 60 - 3 * (label + 1) : 60 - 3 * label] = 1 / 3
    y = np.arange(n_docs) % n_labels
    mix = 0.85 * rng.dirichlet(np.ones(3), n_docs) @ topics + 0.15 * own[y]
    X = np.array([rng.multinomial(30, p / p.sum()) for p in mix])
    return sparse.csr_array(X.astype(float)), y


@pytest.fixture(scope="module")
def fitted():
    X, y = corpus()
    return SupervisedVBNMF(3).fit(X, y)


def test_words_find_what_components_cannot(fitted):
    X, y = corpus()
    assert fitted.classifier_ == "words and components"
    alone = SupervisedVBNMF(3, classifier="components").fit(X[:300], y[:300])
    both = SupervisedVBNMF(3).fit(X[:300], y[:300])
    assert both.score(X[300:], y[300:]) > alone.score(X[300:], y[300:]) + 0.05


def test_parts_add_up_to_the_score(fitted):
    """Over all terms, components and words: how much a label is above the mean of all labels."""
    X, _ = corpus()
    X = X[:20]
    linear = replace(fitted.head_.calibration, bend=0.0)
    logits = linear.logits(
        fitted.head_.scores(X, fitted.fitted_.for_prediction), effective_terms(X)
    )
    above = logits - logits.mean(axis=1, keepdims=True)
    growth = effective_terms(X) ** fitted.head_.calibration.length_exponent
    constants = fitted.head_.calibration.biases + growth[:, None] * fitted.head_.intercepts
    constants -= constants.mean(axis=1, keepdims=True)
    for d in range(20):
        used, x = X.indices[X.indptr[d] : X.indptr[d + 1]], X.data[X.indptr[d] : X.indptr[d + 1]]
        for label in range(4):
            parts, _ = fitted.head_.contributions(used, x, fitted.fitted_.for_prediction, label)
            assert parts.sum() + constants[d, label] == pytest.approx(above[d, label], abs=1e-10)


def test_parts_add_up_with_several_labels():
    X, y = corpus()
    Y = np.column_stack([y == 0, y == 1, y > 1]).astype(int)
    model = SupervisedVBNMF(3).fit(X, Y)
    assert model.classifier_ == "words and components"
    scores = logit(model.predict_proba(X[:10]))
    for d in range(10):
        used, x = X.indices[X.indptr[d] : X.indptr[d + 1]], X.data[X.indptr[d] : X.indptr[d + 1]]
        for label in range(3):
            parts, _ = model.head_.contributions(used, x, model.fitted_.for_prediction, label)
            growth = effective_terms(X[[d]])[0] ** model.head_.calibration.length_exponent
            total = (
                parts.sum()
                + growth * model.head_.intercepts[label]
                + model.head_.calibration.biases[label]
            )
            assert total == pytest.approx(scores[d, label], abs=1e-9)
    assert (model.predict(X) == Y).mean() > 0.9


def test_the_share_of_components(fitted):
    X, _ = corpus()
    for best, *_ in fitted.explain(X[:10]):
        assert 0 < best.component_share < 1
        assert best.words  # single words spoke as well
    components = SupervisedVBNMF(3, classifier="components").fit(*corpus())
    assert {why.component_share for both in components.explain(X[:10]) for why in both} == {1.0}
    assert all(not why.words for both in components.explain(X[:10]) for why in both)


def test_probabilities_are_calibrated():
    X, y = corpus(1600, seed=3)
    model = SupervisedVBNMF(3).fit(X[:800], y[:800])
    P = model.predict_proba(X[800:])
    sure, right = P.max(axis=1), P.argmax(axis=1) == y[800:]
    bins = np.minimum((sure * 5).astype(int), 4)
    error = sum(
        (bins == b).mean() * abs(sure[bins == b].mean() - right[bins == b].mean())
        for b in np.unique(bins)
    )
    assert error < 0.08


def test_a_saved_model_predicts_the_same_bits(fitted, tmp_path):
    X, _ = corpus()
    fitted.save(tmp_path / "m.vbnmf")
    same = load(tmp_path / "m.vbnmf")
    assert_array_equal(same.head_.words, fitted.head_.words)
    assert_array_equal(same.predict_proba(X), fitted.predict_proba(X))
    one_by_one = np.vstack([same.predict_proba(X[[d]]) for d in range(5)])
    assert_allclose(one_by_one, fitted.predict_proba(X[:5]), rtol=1e-12)


def test_threads_do_not_change_a_bit():
    X, y = corpus()
    a, b = (SupervisedVBNMF(3, n_jobs=n).fit(X, y) for n in (1, 2))
    assert_array_equal(a.head_.words, b.head_.words)
    assert_array_equal(a.predict_proba(X), b.predict_proba(X))


@pytest.mark.parametrize("bend", [0.0, 0.4])
def test_probabilities_are_the_formula(fitted, bend):
    X, _ = corpus()
    fitted = copy(fitted)
    calibration = replace(fitted.head_.calibration, bend=bend)
    fitted.head_ = replace(fitted.head_, calibration=calibration)
    e = mean_over_terms(X, fitted.fitted_.for_prediction.term_evidence(slice(None)))
    length = np.sqrt(X.multiply(X).sum(axis=1))
    s = e @ fitted.head_.weights.T + fitted.head_.intercepts
    s = s + (X.toarray() / length[:, None]) @ fitted.head_.words.T.astype(float)
    n_terms = (X.sum(axis=1) / length) ** 2
    s -= bend * np.minimum(s, 0) ** 2
    s = calibration.biases + (n_terms**calibration.length_exponent)[:, None] * s
    noise = calibration.noise
    expected = (1 - noise) * softmax(s, axis=1) + noise * fitted.label_frequencies_
    assert_allclose(fitted.predict_proba(X), expected, rtol=1e-9, atol=1e-10)


def test_few_documents_leave_words_out():
    X, y = corpus(40)
    assert SupervisedVBNMF(3, classifier="words and components").fit(X, y).classifier_ == (
        "components"
    )


def test_a_label_of_one_document_does_not_spoil_the_others():
    """It is missing from the fold that holds it, which must not look like evidence."""
    X, y = corpus()
    y = np.where(np.arange(400) == 7, 9, y)
    model = SupervisedVBNMF(4).fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.7


def test_it_is_never_worse_than_the_commonest_label():
    rng = np.random.default_rng(0)
    X = rng.poisson(0.5, (400, 30)).astype(float)  # nothing to tell labels by
    y = np.where(rng.random(400) < 0.8, 0, rng.integers(1, 6, 400))
    model = SupervisedVBNMF(6).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) >= (y[200:] == 0).mean() - 0.02
    assert (model.left_out_proba_.argmax(axis=1) == y[:200]).mean() >= 0.78


@pytest.mark.filterwarnings("ignore:the fit did not converge")
@pytest.mark.parametrize("classifier", ["auto", "components", "words and components"])
@pytest.mark.parametrize("n_docs", [60, 600])
def test_common_terms_do_not_turn_predictions_around(n_docs, classifier):
    """Evidence of documents left out pointed the wrong way here."""
    rng = np.random.default_rng(0)
    y = np.arange(n_docs) % 5
    X = np.zeros((n_docs, 80))
    X[:, :20] = rng.poisson(50, (n_docs, 20))
    for label in range(5):
        X[y == label, 20 + 8 * label : 28 + 8 * label] = rng.poisson(2, (n_docs // 5, 8))
    if n_docs == 600:
        X[:, 79] = 10_000
    model = SupervisedVBNMF(5, classifier=classifier).fit(X, y)
    assert model.score(X, y) > 0.7
    assert (model.left_out_proba_.argmax(axis=1) == y).mean() > 0.7


def test_why_a_classifier_was_chosen_is_told(fitted, tmp_path):
    assert "on held-out documents" in fitted.classifier_reason_
    fitted.save(tmp_path / "m.vbnmf")
    assert load(tmp_path / "m.vbnmf").classifier_reason_ == fitted.classifier_reason_


def test_components_alone_are_preferred_where_they_are_as_good():
    """Labels that are topics, and words that say nothing beyond them."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(60, 0.1), 3)
    y = np.arange(300) % 3
    X = sparse.csr_array([rng.multinomial(40, topics[label]) for label in y]).astype(float)
    model = SupervisedVBNMF(3).fit(X, y)
    assert model.classifier_ == "components"
    assert model.head_.words.shape == (3, 0)


@pytest.mark.slow
def test_left_out_probabilities_are_close_to_cross_validated_ones():
    X, y = corpus(600, seed=2)
    model = SupervisedVBNMF(3, classifier="words and components").fit(X, y)
    P = cross_val_predict(
        SupervisedVBNMF(3, classifier="words and components"), X, y, cv=5, method="predict_proba"
    )
    assert model.left_out_proba_.shape == P.shape
    assert_allclose(model.left_out_proba_.sum(axis=1), 1, rtol=1e-5)
    own, crossed = (A[np.arange(600), y] for A in (model.left_out_proba_, P))
    assert abs(own.mean() - crossed.mean()) < 0.02
    assert np.corrcoef(own, crossed)[0, 1] > 0.9
    seen = model.predict_proba(X)[np.arange(600), y]
    assert seen.mean() > own.mean() + 0.02  # which those of training documents are not


def test_long_documents_make_it_surer():
    """Twice the words of the same kinds: twice the evidence, where that is so in training."""
    rng = np.random.default_rng(0)
    topics = 0.75 * rng.dirichlet(np.full(60, 1.0), 1) + 0.25 * rng.dirichlet(np.full(60, 0.5), 2)
    y, n = np.arange(1200) % 2, rng.choice([4, 40], 1200)
    X = sparse.csr_array([rng.multinomial(m, topics[label]) for m, label in zip(n, y, strict=True)])
    model = SupervisedVBNMF(4).fit(X.astype(float), y)
    assert model.head_.calibration.length_exponent > 0.1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the fit did not converge")
def test_a_label_of_5_documents_beside_25_000_is_found():
    rng = np.random.default_rng(0)

    def drawn(n_docs, first, last):
        """Twelve common words and three of the label's own."""
        words = np.hstack(
            [rng.zipf(1.3, (n_docs, 12)) % 1500, rng.integers(first, last, (n_docs, 3))]
        )
        rows = np.repeat(np.arange(n_docs), 15)
        ones = np.ones(words.size)
        return sparse.csr_array((ones, (rows, words.ravel())), shape=(n_docs, 1910))

    def corpus_of(*sizes):
        own = [(1500, 1700), (1700, 1900), (1900, 1910)]
        parts = [drawn(n, *words) for n, words in zip(sizes, own, strict=True)]
        return sparse.csr_array(sparse.vstack(parts)), np.repeat(["a", "b", "rare"], sizes)

    model = SupervisedVBNMF(max_iter=30).fit(*corpus_of(25_000, 3_000, 5))
    X, y = corpus_of(500, 100, 60)
    predicted = model.predict(X)
    assert (predicted == y)[y == "rare"].mean() > 0.5  # a linear SVM finds one in forty
    assert (predicted == y)[y != "rare"].mean() > 0.98


def test_a_part_of_the_growth_of_weights_is_taken_back():
    """Machines of all documents have longer weights than those that calibrate the head."""
    rng = np.random.default_rng(0)
    codes = np.arange(60) % 3
    Y = np.eye(3, dtype=bool)[codes]
    scores = 2 * Y + rng.normal(size=(60, 3))
    held = linear.HeldOut(scores, Y, np.ones(60), np.ones(60), np.ones(60))
    scaling = standardise(rng.normal(size=(60, 4)), np.ones(60), 1.0)
    words = rng.normal(size=(3, 5)).astype(np.float32)
    machine = linear.Linear(words, rng.normal(size=(3, 4)), np.arange(3.0), scaling)

    def head(growth):
        occurs = np.ones(3, dtype=bool)
        return linear.assemble(
            linear.WordsHead, machine, held, growth, occurs, multilabel=False
        ).head

    as_long, longer = head(1.0), head(16.0)
    assert linear.TOO_CERTAIN == 0.25
    assert_allclose(longer.weights, as_long.weights / 2)
    assert_allclose(longer.words, as_long.words / 2, rtol=1e-6)
    assert_array_equal(longer.calibration.biases, as_long.calibration.biases)
