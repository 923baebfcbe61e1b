"""Labels of new documents by both classifiers: probabilities, calibration, files, explanations."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import expit, softmax
from smallfits import drawn, model, pairs_of_documents, value_of

from vbnmf import load
from vbnmf.core.rows import effective_terms
from vbnmf.estimators import heads
from vbnmf.prediction import explanation, generative, head
from vbnmf.prediction.evidence import mean_over_terms, term_evidence
from vbnmf.prediction.training import train

pytestmark = pytest.mark.kernel

CLASSIFIERS = ["components", "generative"]
both = pytest.mark.parametrize("classifier", CLASSIFIERS)


def mixed(n_docs=90, n_labels=3, seed=0, spread=0.5, dtype=float):
    """Short documents of labels that share most of their words: hard to tell."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_labels, n_docs)
    rates = np.full((n_labels, 30), 0.15)
    for label in range(n_labels):
        rates[label, 6 * label : 6 * label + 6] = 0.5
    lengths = np.exp(rng.normal(0, spread, (n_docs, 1)))
    return sparse.csr_array(rng.poisson(rates[y] * lengths).astype(dtype)), y


def calibrated(fitted, scores, X):
    """Probabilities from scores, as in ``prediction.calibration``."""
    growth = (effective_terms(X) ** fitted.head_.calibration.length_exponent)[:, None]
    bent = scores - fitted.head_.calibration.bend * np.minimum(scores, 0) ** 2
    P = softmax(fitted.head_.calibration.biases + growth * bent, axis=1)
    return (
        1 - fitted.head_.calibration.noise
    ) * P + fitted.head_.calibration.noise * fitted.label_frequencies_


# Probabilities


@both
@pytest.mark.parametrize("n_labels", [1, 2, 4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_probabilities_sum_to_one(classifier, n_labels, dtype):
    X, y = mixed(80, n_labels, dtype=dtype)
    fitted = model(classifier=classifier).fit(X, y)
    P = fitted.predict_proba(X)
    assert P.shape == (80, n_labels)
    assert_allclose(P.sum(axis=1), 1, rtol=1e-12)
    assert (P >= 0).all()
    assert_allclose(np.exp(fitted.predict_log_proba(X)), P)
    assert_array_equal(fitted.predict(X), fitted.classes_[P.argmax(axis=1)])


def test_the_regression_sees_evidence():
    X, y = mixed()
    fitted = model(classifier="components").fit(X, y)
    totals = fitted.component_shapes_.sum(axis=1) + 30 * fitted.fitted_.head.smoothing
    of_terms = term_evidence(fitted.component_shapes_.T, totals, fitted.fitted_.head.smoothing)
    scores = mean_over_terms(X, of_terms) @ fitted.head_.weights.T + fitted.head_.intercepts
    full = np.asarray(X.sum(axis=1)) > 0
    assert_allclose(fitted.predict_proba(X)[full], calibrated(fitted, scores[full], X[full]))


def test_the_generative_classifier_is_its_formula():
    X, y = mixed()
    fitted = model(classifier="generative").fit(X, y)
    p = np.einsum("kw,lk->lw", fitted.components_, 1 / fitted.label_rates_)
    logs = np.log(p / p.sum(axis=1, keepdims=True))
    x = X.toarray()
    full = x.sum(axis=1) > 0
    g = np.array([(row * logs).sum(axis=1) / row.sum() for row in x[full]])
    assert_allclose(
        fitted.predict_proba(X)[full],
        calibrated(fitted, fitted.head_.calibration.slopes[0] * g, X[full]),
    )
    assert_array_equal(fitted.component_share(X), 1)


def test_the_chunks_of_log_odds_do_not_show(monkeypatch):
    rng = np.random.default_rng(0)
    components, rates = rng.gamma(1, 1, (3, 25)), rng.gamma(1, 1, (4, 3))
    rates[1, 2] = rates[3, 0] = np.inf  # out of scope
    whole = generative.term_log_probabilities(components, rates, components.sum(axis=1))
    assert_allclose(np.exp(whole).sum(axis=0), 1)
    expected = components.T @ (1 / rates.T)
    assert_allclose(np.exp(whole), expected / expected.sum(axis=0))
    monkeypatch.setattr(generative, "_LOGS_AT_ONCE", 16)
    in_parts = generative.term_log_probabilities(components, rates, components.sum(axis=1))
    assert_array_equal(whole, in_parts)


@both
def test_one_document_is_predicted_as_among_many(classifier):
    X, y = mixed()
    fitted = model(classifier=classifier).fit(X, y)
    alone = np.vstack([fitted.predict_proba(X[[d]]) for d in range(X.shape[0])])
    assert_allclose(alone, fitted.predict_proba(X), rtol=1e-12)


@both
def test_a_document_of_no_known_term_gets_the_frequencies(classifier):
    X, y = drawn()
    y[y == 2] = 0
    fitted = model(classifier=classifier).fit(X, y)
    nothing = sparse.csr_array((2, X.shape[1]))
    assert_array_equal(fitted.predict_proba(nothing), [fitted.label_frequencies_] * 2)
    assert_allclose(fitted.label_frequencies_, [2 / 3, 1 / 3])
    assert fitted.predict(nothing).tolist() == [0, 0]
    stored = sparse.csr_array(([0.0], ([0], [3])), shape=nothing.shape)
    assert_array_equal(fitted.predict_proba(stored), fitted.predict_proba(nothing))


@both
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_saved_model_predicts_the_same_bits(tmp_path, classifier, dtype):
    X, y = mixed(dtype=dtype)
    fitted = model(classifier=classifier).fit(X, np.array(["a", "b", "c"])[y])
    fitted.save(tmp_path / "m.vbnmf")
    loaded = load(tmp_path / "m.vbnmf")
    assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    assert_array_equal(loaded.predict(X), fitted.predict(X))
    assert loaded.explain(X[:5]) == fitted.explain(X[:5])
    assert loaded.classifier == classifier
    weights = () if classifier == "generative" else ("head_.weights", "head_.intercepts")
    for name in ("fitted_.head.smoothing", "head_.threshold", "fitted_.labels.shapes",
                 "label_frequencies_", *weights):  # fmt: skip
        assert_array_equal(value_of(loaded, name), value_of(fitted, name), err_msg=name)


def test_a_saved_model_of_several_labels_predicts_the_same_bits(tmp_path):
    X, Y = pairs_of_documents()
    fitted = model().fit(X, Y)
    fitted.save(tmp_path / "m.vbnmf")
    loaded = load(tmp_path / "m.vbnmf")
    assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    assert_array_equal(loaded.predict(X), fitted.predict(X))
    assert loaded.multilabel_ is True


@both
def test_the_same_bits_at_any_number_of_threads(classifier):
    X, y = mixed(400, dtype=np.float32)
    one, *others = (
        model(classifier=classifier, n_jobs=n).fit(X, y).predict_proba(X) for n in (1, 2, 5)
    )
    for other in others:
        assert_array_equal(one, other)


@both
def test_labels_that_differ_are_found(classifier):
    X, y = drawn()
    new, y_new = drawn(seed=1)
    assert model(classifier=classifier).fit(X, y).score(new, y_new) > 0.95


# Calibration


def test_calibration_is_on_documents_left_out(monkeypatch):
    """Without folds, the likelihoods are of components without the document's own share."""
    monkeypatch.setattr(
        heads, "train", lambda *args, **how: train(*args, **how | {"without": None})
    )
    X, y = mixed(50)
    told = []
    plain = generative.calibrate
    monkeypatch.setattr(
        generative, "calibrate", lambda *a, **k: told.append((a, k)) or plain(*a, **k)
    )
    partly = [label if d % 10 else None for d, label in enumerate(y.tolist())]
    fitted = model(classifier="generative").fit(X, partly)
    (g, Y, n_terms, weight), keywords = told[-1]
    known = [d for d, label in enumerate(partly) if label is not None]
    assert_array_equal(Y.argmax(axis=1), y[known])
    assert_array_equal(weight, 1)
    counts = np.bincount(y[known])
    assert_allclose(np.exp(keywords["log_prior"]), counts / counts.sum())
    assert fitted.head_.calibration.slopes[0] == plain(g, Y, n_terms, weight, **keywords).slopes[0]
    V = model(classifier="generative").fit_coefficients(X, partly)
    shapes, scales = fitted.component_shapes_.T, fitted.component_scales_
    totals = fitted.component_sums_ @ (1 / fitted.label_rates_).T
    for place, d in enumerate(known[:20]):
        x = X[[d]].toarray().ravel() if sparse.issparse(X) else X[d]
        if not x.any():
            continue
        uses = shapes * scales * V[d]
        own = np.minimum(x[:, None] * uses / uses.sum(axis=1, keepdims=True), shapes)
        size = shapes.sum(axis=0) / (shapes - own).sum(axis=0)
        left = (shapes - own) * size * scales
        logs = np.log((left[:, None] / fitted.label_rates_).sum(axis=2))
        assert_allclose(g[place], x @ logs / x.sum() - np.log(totals), rtol=1e-5)


def test_few_documents_do_not_make_it_sure():
    X, y = drawn(2, 4)
    fitted = model(n_components=2, classifier="generative").fit(X, y)
    assert 1 < fitted.head_.calibration.slopes[0] < 100


def test_the_only_document_of_the_last_label_is_left_out():
    X, _ = drawn(2, 8)
    fitted = model(classifier="generative").fit(X, [0] * 7 + [1])
    assert fitted.predict_proba(X).shape == (8, 2)


def test_a_label_whose_only_document_is_left_out_is_possible():
    X, _ = drawn(3, 9)
    fitted = model(classifier="generative").fit(X, [0] * 7 + [1, 2])
    assert fitted.head_.calibration.biases[1] > -20


def test_the_generative_classifier_takes_one_label_a_document():
    X, Y = pairs_of_documents()
    with pytest.raises(ValueError, match="needs one label per document"):
        model(classifier="generative").fit(X, Y)


def test_other_classifiers_are_refused():
    X, y = drawn()
    with pytest.raises(
        ValueError, match='must be "auto", "words and components", "components" or "gen'
    ):
        model(classifier="svm").fit(X, y)


def calibration_error(P, y, n_bins=10):
    """Mean distance of confidence and accuracy over bins of equal confidence."""
    confidence, right = P.max(axis=1), P.argmax(axis=1) == y
    bins = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    gaps = [abs((confidence - right)[bins == b].sum()) for b in range(n_bins)]
    return sum(gaps) / len(y)


@both
def test_probabilities_are_calibrated(classifier):
    """Of documents of about one length, which is not part of the evidence."""
    X, y = mixed(4000, spread=0.0)
    fitted = model(classifier=classifier).fit(X[:2000], y[:2000])
    P = fitted.predict_proba(X[2000:])
    assert 0.5 < fitted.score(X[2000:], y[2000:]) < 0.95
    assert np.ptp(P.max(axis=1)) > 0.4
    assert calibration_error(P, y[2000:]) < 0.05


# Explanations


def summed(fitted, used, x, label):
    """The sum of the contributions of a document's terms to a label."""
    return fitted.head_.contributions(used, x, fitted.fitted_.for_prediction, label)[0].sum()


@both
@pytest.mark.parametrize(("dtype", "atol"), [(np.float64, 1e-9), (np.float32, 1e-5)])
@pytest.mark.parametrize("n_labels", [2, 3])
def test_parts_add_up_to_differences_of_scores(classifier, n_labels, dtype, atol):
    """And, over the labels, to nothing: they are above the mean."""
    X, y = mixed(n_labels=n_labels, seed=3, dtype=dtype)
    fitted = model(classifier=classifier).fit(X, y)
    n_terms = effective_terms(X)
    logits = replace(fitted.head_.calibration, bend=0.0).logits(
        fitted.head_.scores(X, fitted.fitted_.for_prediction), n_terms
    )
    constants = fitted.head_.calibration.biases + np.outer(
        n_terms**fitted.head_.calibration.length_exponent,
        getattr(fitted.head_, "intercepts", np.zeros(n_labels)),  # a generative head has none
    )
    for d in range(20):
        used, x = X.indices[X.indptr[d] : X.indptr[d + 1]], X[[d]].data
        if not len(used):
            continue
        parts = np.array(
            [
                fitted.head_.contributions(used, x, fitted.fitted_.for_prediction, label)[0].sum()
                for label in range(n_labels)
            ]
        )
        got = parts[:, None] - parts[None] + constants[d][:, None] - constants[d][None]
        assert_allclose(got, logits[d][:, None] - logits[d][None], atol=atol)
        assert parts.sum() == pytest.approx(0, abs=atol)


def test_parts_of_several_labels_add_up_to_log_odds():
    X, Y = pairs_of_documents()
    fitted = model().fit(X, Y)
    logits = fitted.head_.calibration.logits(
        fitted.head_.scores(X, fitted.fitted_.for_prediction), effective_terms(X)
    )
    assert_allclose(expit(logits), fitted.predict_proba(X))
    for d in range(10):
        used, x = X.indices[X.indptr[d] : X.indptr[d + 1]], X[[d]].data
        parts = [
            fitted.head_.contributions(used, x, fitted.fitted_.for_prediction, label)[0].sum()
            for label in range(4)
        ]
        constant = (
            effective_terms(X[[d]])[0] ** fitted.head_.calibration.length_exponent
            * fitted.head_.intercepts
        )
        assert_allclose(parts + constant + fitted.head_.calibration.biases, logits[d], rtol=1e-7)


@both
def test_explanations_hold_the_largest_parts(classifier):
    X, y = mixed(seed=3)
    fitted = model(classifier=classifier).fit(X, y)
    P = fitted.predict_proba(X)
    also = P[:10].argmin(axis=1)[:, None]
    all_of_it = fitted.explain(X[:10], n_terms=1000, n_components=1000, also=also)
    short = fitted.explain(X[:10], n_terms=2, n_components=1, also=also)
    assert len(all_of_it) == len(short) == 10
    for d in range(10):
        used, x = X.indices[X.indptr[d] : X.indptr[d + 1]], X[[d]].data
        order = np.append(np.argsort(-P[d], kind="stable")[:2], also[d])
        assert [e.label for e in all_of_it[d]] == order.tolist()
        assert [e.probability for e in all_of_it[d]] == P[d][order].tolist()
        for whole, brief, label in zip(all_of_it[d], short[d], order, strict=True):
            parts, uses = fitted.head_.contributions(used, x, fitted.fitted_.for_prediction, label)
            by_term = dict(zip(used.tolist(), parts.sum(axis=1), strict=True))
            assert {t.term for t in whole.terms} == {w for w, part in by_term.items() if part > 0}
            assert all(t.part == pytest.approx(by_term[t.term]) for t in whole.terms)
            assert sorted((t.part for t in whole.terms), reverse=True) == [
                t.part for t in whole.terms
            ]
            assert brief.terms == whole.terms[:2]
            alone = {w: p for w, p in zip(used.tolist(), parts[:, -1], strict=True) if p > 0}
            assert {t.term: t.part for t in whole.words} == pytest.approx(alone)
            speak = np.flatnonzero((parts.sum(axis=0)[:-1] > 0) & uses)
            assert sorted(c.component for c in whole.components) == speak.tolist()
            for c in whole.components:
                assert c.part == pytest.approx(parts[:, c.component].sum())
                of_terms = parts[parts[:, c.component] > 0, c.component]
                assert sum(t.part for t in c.terms) == pytest.approx(of_terms.sum())
            assert [c.component for c in brief.components] == [
                c.component for c in whole.components[:1]
            ]
            assert all(
                c.terms == w.terms[:2]
                for c, w in zip(brief.components, whole.components, strict=False)
            )


@pytest.mark.filterwarnings("ignore:the fit did not converge")
@both
def test_the_words_of_a_label_speak_for_it(classifier):
    """Where labels share components, words that all share speak for none; with scopes they may."""
    X, y = drawn()
    shared = {"init": "label", "scopes": "all", "coef_shape": 1, "term_shape": 0.5}
    for parameters, others in ({}, {3, 4}), (shared, set()):
        fitted = model(classifier=classifier, **parameters).fit(X, y)
        strays = 0
        for (best, second), label in zip(fitted.explain(X[:12], n_terms=3), y[:12], strict=True):
            assert best.label == label
            assert second.label != label
            strays += {t.term // 6 for t in best.terms} - others != {label}
        assert strays <= 2


@both
def test_terms_have_names(classifier):
    X, y = drawn()
    names = [f"word {w}" for w in range(X.shape[1])]
    numbered = model(classifier=classifier).fit(X, y)
    frame = pd.DataFrame(X.toarray(), columns=names)
    named = model(classifier=classifier).fit(frame, y)
    numbers = [t.term for t in numbered.explain(X[:1])[0][0].terms]
    assert all(type(number) is int for number in numbers)
    expected = [names[number] for number in numbers]
    assert [t.term for t in numbered.explain(X[:1], names=names)[0][0].terms] == expected
    assert [t.term for t in named.explain(frame[:1])[0][0].terms] == expected
    others = [name.upper() for name in names]
    got = [t.term for t in named.explain(frame[:1], names=others)[0][0].terms]
    assert got == [name.upper() for name in expected]


def test_names_for_other_terms_are_refused():
    X, y = drawn()
    with pytest.raises(ValueError, match="names"):
        model().fit(X, y).explain(X[:1], names=["one"])


@pytest.mark.parametrize("parameters", [{"n_terms": -1}, {"n_components": -1}, {"n_terms": 1.5}])
def test_odd_numbers_of_parts_are_refused(parameters):
    X, y = drawn()
    fitted = model().fit(X, y)
    with pytest.raises(ValueError, match="must be an integer"):
        fitted.explain(X[:1], **parameters)


@both
def test_of_nothing_nothing_can_be_said(classifier):
    X, y = drawn()
    fitted = model(classifier=classifier).fit(X, y)
    X = sparse.vstack([X[:1], sparse.csr_array((1, X.shape[1])), X[1:2]]).tocsr()
    first, empty, last = fitted.explain(X)
    assert empty == []
    assert len(first) == len(last) == 2


@both
def test_the_only_label_is_explained_alone(classifier):
    X, _ = drawn()
    fitted = model(classifier=classifier).fit(X, ["tea"] * 90)
    ((only,),) = fitted.explain(X[:1])
    assert only.label == "tea"
    assert only.probability == pytest.approx(1)
    assert only.terms == []
    assert only.components == []


def test_several_labels_are_explained():
    X, Y = pairs_of_documents()
    fitted = model().fit(X, Y)
    (best, second), *_ = fitted.explain(X[:1])
    assert best.probability >= second.probability == np.sort(fitted.predict_proba(X[:1])[0])[-2]


@both
def test_the_evidence_of_explanations_is_computed_once(classifier, monkeypatch):
    X, y = mixed(seed=3)
    fitted = model(classifier=classifier).fit(X, y)
    expected = fitted.explain(X)
    P, calls = fitted.predict_proba(X), []

    def counted(*arguments):
        calls.append(len(arguments[0]))
        return term_evidence(*arguments)

    monkeypatch.setattr(head, "term_evidence", counted)
    assert fitted.explain(X, probabilities=P) == expected
    assert calls == [len(np.unique(X.indices))]
    monkeypatch.setattr(explanation, "_NUMBERS_AT_ONCE", 1)  # a block for each document
    assert fitted.explain(X, probabilities=P) == expected
    assert len(calls) > 10
