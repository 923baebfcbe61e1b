"""Measures of a fitted model: those of `vbnmf evaluate`, the page and `tune` are the same."""

import re

import numpy as np
import pandas as pd
import pytest
from cliruns import make_corpus
from explorer_pages import quality, several, unpacked, usual
from oracle_uses import as_weights
from scipy import sparse
from sklearn.metrics import f1_score
from test_heads import drawn

from vbnmf import VBNMF, DocumentModel, Shards, SupervisedVBNMF, evaluate, metrics, tune
from vbnmf.cli.evaluate import score, score_table
from vbnmf.cli.tune import _table
from vbnmf.description.components import lasting, naming_terms
from vbnmf.description.labels import describe_labels
from vbnmf.evaluation import accuracy, evaluation, measures
from vbnmf.evaluation.parts import Subject
from vbnmf.evaluation.statements import Sharing, statements_of_labels
from vbnmf.evaluation.truth import read_truth
from vbnmf.report.explorer import explore
from vbnmf.report.tuning import draw
from vbnmf.shards import write_shards
from vbnmf.text import DocumentVectorizer
from vbnmf.text.vectorizer import token_sequences

pytestmark = pytest.mark.filterwarnings("ignore::vbnmf.text.EmptyDocumentWarning")
SHOWN = ("npmi_documents", "npmi_windows", "diversity", "exclusivity", "held_out_log_likelihood")


def text_model(n_components=4, **options):
    estimator = SupervisedVBNMF(n_components, max_iter=30, random_state=0)
    model = DocumentModel(estimator, DocumentVectorizer(**options), "none")
    return model.fit(*make_corpus(1, mixed=0.3))


def test_of_texts():
    """Documents without a label are measured too; stemmed tokens match stemmed terms."""
    model, texts, labels = usual()
    assert None in labels
    scores = score(model, texts, labels)
    estimator, X = model.estimator_, model.vectorize(texts)
    lasting = ~estimator.faded_
    tokens, names = token_sequences(model.vectorizer_, texts), list(model.vectorizer_.vocabulary_)
    by_documents, by_windows = [], []
    for row in naming_terms(model, 10):  # terms of the prior are not measured
        weights, top = as_weights(np.array([row]), X.shape[1]), max(len(row), 2)
        by_documents += metrics.document_npmi(weights, X, top).tolist() if len(row) > 1 else [0.0]
        by_windows += (
            metrics.window_npmi(weights, tokens, names, top).tolist() if len(row) > 1 else [0.0]
        )
    assert scores["npmi_documents"] == pytest.approx(np.mean(by_documents))
    assert scores["npmi_windows"] == pytest.approx(np.mean(by_windows))
    assert scores["npmi_windows"] != pytest.approx(scores["npmi_documents"], abs=0.01)
    listed = [w for row in naming_terms(model, 25) for w in row]
    assert min(map(len, naming_terms(model, 25))) < 25
    assert scores["diversity"] == len(set(listed)) / len(listed)
    expected = metrics.exclusivity(estimator.components_[lasting]).mean()
    assert scores["exclusivity"] == pytest.approx(expected)
    expected = metrics.completion_log_likelihood(estimator, X)
    assert scores["held_out_log_likelihood"] == pytest.approx(expected)
    assert expected < 0


def recounted(model, X, Y):
    """What evaluate says of labels, from the documents: agreement, and fidelity of both kinds."""
    estimator, described = model.estimator_, describe_labels(model)
    agreement = metrics.agreement(X, Y, estimator.components_, estimator.scopes_)
    shared = agreement[~np.isnan(agreement)]
    terms = [[term.column for term in one.terms] for one in described]
    inside, elsewhere = metrics.label_fidelity(X, Y, terms)
    holds = []
    for label, one in enumerate(described):
        for part in one.components:
            columns = [term.column for term in part.terms]
            have = (X[Y[:, label] > 0][:, columns] > 0).sum(axis=1) >= 2
            if part.share >= 0.1:
                holds.append(have.mean() >= part.share / 2)
    return {
        "shared_components": len(shared),
        "shared_that_agree": (shared >= 0.8).mean(),
        "shared_that_are_glued": (shared < 0.5).mean(),
        "label_fidelity": np.nanmean(inside),
        "label_fidelity_elsewhere": np.nanmean(elsewhere),
        "component_fidelity": np.mean(holds),
        "components_said": len(holds),
    }


def test_components_are_counted_by_the_agreement_of_their_labels():
    found = Sharing.of(np.array([np.nan, 0.9, 0.8, 0.79, 0.5, 0.49]))
    assert found == Sharing(shared=5, agreeing=2, glued=1)


def test_what_is_said_of_labels_is_recounted():
    rng = np.random.default_rng(0)
    topics = np.kron(np.eye(5), np.ones(6)) + 0.01
    uses = np.array([[4, 0, 2, 0, 0], [0, 4, 2, 0, 0], [0, 0, 0, 4, 0], [0, 0, 0, 0, 4]])
    y = np.arange(240) % 4
    X = rng.poisson(rng.gamma(0.5, 2.0, (240, 5)) * uses[y] @ topics).astype(float)
    glued = np.vstack([topics[:4], topics[0] + topics[4]])[1:]  # the first topic and the last
    scopes = np.array([[0, 1, 0, 1], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], dtype=bool)
    estimator = SupervisedVBNMF(4, init=glued, scopes=scopes, max_iter=200, tol=1e-3)
    model = DocumentModel(estimator).fit(X, y)
    later = np.flatnonzero(X.sum(axis=1) > 2)[:150]
    scores = score(model, X[later], y[later])
    expected = recounted(model, X[later], np.eye(4, dtype=int)[y[later]])
    assert {name: scores[name] for name in expected} == pytest.approx(expected)
    assert scores["agreement"][0] is scores["agreement"][2] is None
    assert scores["agreement"][1] > 0.8
    assert scores["agreement"][3] < 0.5
    assert scores["shared_that_agree"] == scores["shared_that_are_glued"] == 0.5
    assert scores["label_fidelity"] > scores["label_fidelity_elsewhere"]
    inside, elsewhere = metrics.label_fidelity(
        X[later], np.eye(4)[y[later]], statements_of_labels(model).terms
    )
    assert [row["fidelity"] for row in scores["labels"]] == inside.tolist()
    assert [row["fidelity_elsewhere"] for row in scores["labels"]] == elsewhere.tolist()
    out = score_table(scores)
    said = r"part of the components shared by some labels \(2\) whose"
    assert re.search(rf"^components that agree +0\.5000 +{said}", out, re.M)
    n_said = scores["components_said"]
    assert f"of 10 % of a label or more ({n_said} pairs of both) for which half" in out
    (of_terms,) = [one for one in measures.MEASURES if one.key == "fidelity"]
    assert of_terms.meaning.startswith("part of the components of 10 % of a label or more for")
    inside = f"{scores['label_fidelity']:.4f}"
    assert re.search(rf"^fidelity of labels +{inside} +part of a label's documents", out, re.M)


@pytest.mark.parametrize("made", [usual, several])
@pytest.mark.parametrize("n_blank", [0, 3, 4])
def test_page_and_evaluate_measure_the_same_documents(made, n_blank):
    """Also if three quarters of the labels are blank, or no document has a label."""
    model, texts, labels = made()
    tea = ["tea"] if made is several else "tea"
    labels = [label or tea for label in labels]
    labels = [None if i % 4 < n_blank else label for i, label in enumerate(labels)]
    scores = evaluate(model, texts, labels)
    payload, found = quality(model, texts, labels)
    n_labelled = len(texts) * (4 - n_blank) // 4
    assert scores["documents"] == payload["documents"] == len(texts)
    assert scores["labelled_documents"] == payload["labelled"] == n_labelled
    only_page = {"component_sparsity", "fitted_inter_label_sparsity"}
    assert set(found) - only_page == {
        key for key in scores["measured_on"] if scores[key] is not None
    }
    for key in set(found) - only_page:
        assert found[key] == pytest.approx(scores[key], rel=1e-3), key
    assert set(SHOWN) <= set(found)
    assert ("label_fidelity" in found) == ("calibration_error" in found) == (n_labelled > 0)
    by_component = np.array(payload["npmi_documents"])
    kept = by_component[~model.estimator_.faded_]
    assert kept.mean() == pytest.approx(scores["npmi_documents"], abs=1e-3)
    of = scores["measured_on"]
    assert of["calibration_error"] == f"{n_labelled} labelled documents"
    assert of["npmi_documents"] == of["component_share"] == f"all {len(texts)} documents"
    assert of["diversity"] == "the model"
    whole = evaluate(model, texts, [tea] * len(texts))  # measures that need no label
    keys = [key for key, documents in of.items() if "labelled" not in documents]
    assert {key: scores[key] for key in keys} == {key: whole[key] for key in keys}


@pytest.mark.parametrize("made", [usual, several])
def test_the_explorer_scores_predictions_alike(made):
    """The last document has a label that the model does not know; no document has one it knows."""
    model, texts, labels = made()
    new = ["cocoa"] if made is several else "cocoa"
    is_rare = [label in ("tea", ["tea"]) for label in labels]
    labels = [None if rare else label for label, rare in zip(labels, is_rare, strict=True)]
    scores = score(model, [*texts, "kettle"], [*labels, new])
    payload, found = quality(model, [*texts, "kettle"], [*labels, new])
    names = read_truth(model, [*labels, new], len(labels) + 1).names
    prefix = "micro_f1" if made is several else "micro_accuracy"
    simplest = "most_frequent_label_f1" if made is several else "most_frequent_label_accuracy"
    assert scores["labelled_documents"] == payload["labelled"]
    for key in (prefix, simplest, "calibration_error"):
        assert found[key] == pytest.approx(scores[key], rel=1e-3)
    by_label = dict(zip(names, payload["by_label"], strict=True))
    assert "cocoa" not in model.classes_
    assert by_label["cocoa"] == [1, 0, None]
    for row in scores["labels"]:
        shown = [np.nan if number is None else number for number in by_label[row["label"]]]
        right = np.nan if row["precision"] is None else row["precision"]
        expected = [row["documents"], row["recall"], right]
        assert shown == pytest.approx(expected, rel=1e-3, nan_ok=True)
    assert scores["log_loss"] is None


@pytest.mark.parametrize("write", [int, float, str, lambda code: f"{code}.0", np.int64])
def test_labels_are_matched_however_they_are_written(write):
    X = np.kron(np.eye(2), np.ones((6, 4)))
    model = DocumentModel(SupervisedVBNMF(2, max_iter=5, random_state=0)).fit(X, [3] * 6 + [20] * 6)
    truth = read_truth(model, [write(20), None, write(3), [write(3)], "x"], 5)
    assert truth.names == ["3", "20", "x"]
    assert truth.lists() == [[1], None, [0], [0], [2]]
    assert truth.known.tolist() == [True, False, True, True, True]


def test_what_stands_for_no_label_is_none():
    X = np.kron(np.eye(2), np.ones((6, 4)))
    estimator = SupervisedVBNMF(2, max_iter=5, random_state=0, unlabelled=-1)
    model = DocumentModel(estimator).fit(X, [3] * 5 + [-1] + [20] * 6)
    assert read_truth(model, [-1, 3, np.nan, 20], 4).lists() == [None, [0], None, [1]]


def test_labels_of_a_frame_are_matched_by_the_names_of_its_columns():
    model, _, _ = several()
    names = model.classes_.tolist()
    frame = pd.DataFrame(np.eye(len(names), dtype=int), columns=names).iloc[:, ::-1]
    assert read_truth(model, frame, len(names)).lists() == [[i] for i in range(len(names))]


def test_table():
    model, texts, labels = usual()
    scores = score(model, texts, labels)
    lines = score_table(scores).splitlines()
    for name, key in {
        "micro accuracy": "micro_accuracy",
        "NPMI by documents": "npmi_documents",
        "NPMI by windows of 10 tokens": "npmi_windows",
        "diversity": "diversity",
        "exclusivity": "exclusivity",
        "held-out log-likelihood": "held_out_log_likelihood",
    }.items():
        (line,) = [line for line in lines if line.startswith(f"{name} ")]
        assert line[len(name) :].split()[0] == f"{scores[key]:.4f}"


def test_of_a_matrix():
    """Components that have faded are left out; there are no windows without texts."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = sparse.csr_array(rng.poisson(np.kron([[4, 0.1], [0.1, 4]], np.ones(30))[y]).astype(float))
    many = {"init": "label", "scopes": "all", "coef_shape": 1, "term_shape": 0.5, "label_shape": 1}
    model = DocumentModel(SupervisedVBNMF(9, random_state=0, max_iter=500, **many))
    estimator = model.fit(X, y).estimator_
    scores = score(model, X, y.tolist())
    faded = estimator.faded_
    kept = as_weights(estimator.describing_terms_[~faded], X.shape[1])
    assert 0 < scores["faded_components"] == faded.sum() < 8
    assert scores["npmi_documents"] == metrics.document_npmi(kept, X).mean()
    assert scores["npmi_windows"] is None
    assert scores["diversity"] == metrics.topic_diversity(kept)
    assert scores["exclusivity"] == metrics.exclusivity(estimator.components_[~faded]).mean()
    assert scores["held_out_log_likelihood"] == metrics.completion_log_likelihood(estimator, X)
    table = score_table(scores)
    assert "windows" not in table
    ignored = "NPMI, diversity and exclusivity ignore {}."
    assert ignored.format(f"{faded.sum()} faded components") in table.splitlines()
    table = score_table(scores | {"faded_components": 1})
    assert ignored.format("1 faded component") in table.splitlines()


@pytest.mark.filterwarnings("ignore:the fit did not converge")
def test_all_components_count_if_all_have_faded():
    estimator = VBNMF(2, max_iter=1, random_state=0).fit(np.ones((3, 4)))
    assert lasting(estimator).dtype == bool
    estimator.component_shapes_[:] = 1e-9
    assert estimator.faded_.all()
    assert lasting(estimator).tolist() == [True, True]


@pytest.mark.filterwarnings("ignore:the fit did not converge")
def test_no_windows():
    texts = make_corpus(2)[0]

    def by_windows(model, documents):
        return evaluate(model, documents)["npmi_windows"]

    model = text_model()
    assert by_windows(model, texts) is not None
    assert by_windows(model, model.vectorize(texts)) is None
    assert by_windows(model, ["", "?"]) is None
    assert by_windows(text_model(ngram_range=(1, 2)), texts) is None
    assert by_windows(text_model(analyzer="char_wb"), texts) is None


def test_sums_give_the_functions_of_metrics():
    """One label has a single document, one has none, and some documents have no label."""
    model, texts, labels = usual()
    labels = ["tea" if i == 7 else None if label in ("tea", None) else label
              for i, label in enumerate(labels)]  # fmt: skip
    scores, of = evaluate(model, texts, labels), model.estimator_
    known = [i for i, label in enumerate(labels) if label is not None]
    y = [labels[i] for i in known]
    assert y.count("tea") == 1
    X = model.vectorize(texts)
    V, shares, P = of.transform(X), of.component_share(X), of.predict_proba(X)
    assert scores["coefficient_sparsity"] == pytest.approx(metrics.hoyer_sparsity(V))
    expected = metrics.inter_label_sparsity(V[known], y)
    assert scores["inter_label_sparsity"] == pytest.approx(expected)
    assert scores["component_share"] == pytest.approx(shares.mean())
    predicted = of.classes_[P.argmax(axis=1)]
    by_label = {row["label"]: row for row in scores["labels"]}
    assert set(by_label) == set(y)
    for label in set(y) & set(predicted[known]):
        expected = shares[known][predicted[known] == label].mean()
        assert by_label[label]["component_share"] == pytest.approx(expected)
    right = predicted[known] == y
    assert scores["micro_accuracy"] == pytest.approx(right.mean())
    assert accuracy(model, X, labels) == (pytest.approx(right.mean()), len(known))
    assert accuracy(model, X, [None] * len(texts)) == (None, 0)
    unknown = evaluate(model, texts)
    assert (unknown["labelled_documents"], unknown["labels"], unknown["agreement"]) == (0, [], [])
    assert unknown["shared_components"] == unknown["components_said"] == 0
    commonest = of.classes_[of.label_counts_.argmax()]
    baseline = np.mean(np.array(y) == commonest)
    assert scores["most_frequent_label_accuracy"] == pytest.approx(baseline)
    _, found = quality(model, texts, labels)
    sparsity = np.mean([metrics.hoyer_sparsity(row) for row in of.components_[~of.faded_]])
    assert found["component_sparsity"] == pytest.approx(sparsity, rel=1e-3)
    expected = metrics.hoyer_sparsity(of.label_activations_ * of.label_counts_[:, None])
    assert found["fitted_inter_label_sparsity"] == pytest.approx(expected, rel=1e-3)


def test_several_labels_and_the_commonest():
    model, texts, labels = several()
    scores, commonest = evaluate(model, texts, labels), model.estimator_.label_counts_.argmax()
    known = read_truth(model, labels, len(labels)).indicators.toarray()
    known = known[known.any(axis=1)]
    always = np.zeros_like(known)
    always[:, commonest] = 1
    expected = f1_score(known, always, average="micro")
    assert scores["most_frequent_label_f1"] == pytest.approx(expected)


@pytest.mark.filterwarnings("ignore:the fit did not converge")
def test_a_model_without_labels():
    """It has no predictions, but labels of documents give the inter-label sparsity."""
    X, y = drawn()
    model = DocumentModel(VBNMF(3, max_iter=5, random_state=0)).fit(X)
    scores = evaluate(model, X, y)
    assert "micro_accuracy" not in scores
    assert scores["labels"] == []
    expected = metrics.inter_label_sparsity(model.transform(X), y)
    assert scores["inter_label_sparsity"] == pytest.approx(expected)
    assert evaluate(model, X)["inter_label_sparsity"] is None
    assert Subject(model, ()).n_labels == 0


@pytest.mark.parametrize(
    ("of", "n", "words"),
    [
        (measures.LABELLED, 1, "1 labelled document"),
        (measures.LABELLED, 2000, "2,000 labelled documents"),
        (measures.ALL, 1, "the only document"),
        (measures.ALL, 2, "all 2 documents"),
        (measures.MODEL, 2, "the model"),
    ],
)
def test_documents_of_a_measure_in_words(of, n, words):
    assert measures.documents_of(of, {"documents": n, "labelled_documents": n}) == words


@pytest.mark.parametrize("made", [usual, several])
def test_parts_add_up(made):
    """All but the held-out halves, which are drawn in each part."""
    model, texts, labels = made()
    whole = evaluate(model, texts, labels)
    X, truth = model.vectorize(texts), read_truth(model, labels, len(labels))
    parts = evaluation.Evaluation(Subject(model, truth.names))
    for begin in range(0, len(texts), 7):
        some = slice(begin, begin + 7)
        parts.add(X[some], truth.indicators[some], texts[some])
    found = parts.scores()
    assert found.pop("held_out_log_likelihood") < 0 > whole.pop("held_out_log_likelihood")
    assert found.pop("agreement") == pytest.approx(whole.pop("agreement"))
    assert found.pop("labels") == [pytest.approx(row) for row in whole.pop("labels")]
    assert found.pop("measured_on") == whole.pop("measured_on")
    assert found == pytest.approx(whole)


def test_documents_without_a_known_term_are_counted():
    model = text_model()
    texts = ["kettle cup", "unheard of", "wheel brake", "?", "of unheard"]
    scores = evaluate(model, texts, ["tea", "bike", "bike", None, None])
    assert scores["documents_without_known_term"] == 3
    assert (scores["documents"], scores["labelled_documents"]) == (5, 3)
    assert quality(model, texts)[0]["empty"] == 3
    assert evaluate(model, texts[:1])["documents_without_known_term"] == 0


def test_documents_of_one_term_hold_nothing_out():
    model = text_model()
    texts = ["kettle", "wheel wheel", "unheard of"]
    scores = score(model, texts, ["tea", "bike", "tea"])
    assert scores["held_out_log_likelihood"] is None
    assert "log-likelihood" not in score_table(scores)
    assert "held_out_log_likelihood" not in quality(model, texts)[1]
    assert evaluate(model, ["cup kettle"])["held_out_log_likelihood"] < 0


@pytest.mark.parametrize("kind", ["one", "several"])
def test_shards_are_scored_as_in_memory(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(evaluation, "PART_NONZEROS", 40)
    X, y = drawn()
    labels = np.array(["a", "b", "c"])[y].tolist()
    if kind == "several":
        labels = [[label, "even"] if i % 2 else [label] for i, label in enumerate(labels)]
    model = DocumentModel(SupervisedVBNMF(4, max_iter=8, tol=0, random_state=0)).fit(X, labels)
    new = "new" if kind == "one" else ["new", "a"]
    labels[3], labels[10], labels[50] = new, None, None
    write_shards(tmp_path, X, labels, shard_nonzeros=300)
    expected = score(model, X, labels)
    found = evaluate(model, Shards(tmp_path))
    assert found.pop("labels") == [pytest.approx(row) for row in expected.pop("labels")]
    halves = (scores.pop("held_out_log_likelihood") for scores in (found, expected))
    assert next(halves) == pytest.approx(next(halves), rel=0.1)  # each part has its own
    assert found.pop("agreement") == pytest.approx(expected.pop("agreement"))
    assert found.pop("measured_on") == expected.pop("measured_on")
    assert found == pytest.approx(expected)
    assert found["documents"] == len(y)
    assert found["labelled_documents"] == len(y) - 2
    if kind == "several":
        one = DocumentModel(SupervisedVBNMF(3, max_iter=3, tol=0, random_state=0)).fit(X, y)
        with pytest.raises(ValueError, match="several labels"):
            evaluate(one, Shards(tmp_path))


def test_nearly_all_is_not_all():
    model, texts, labels = usual()
    scores = score(model, texts, labels) | {
        "micro_accuracy": 0.99996,
        "most_frequent_label_accuracy": 0.99997,
        "macro_accuracy": 1.0,
    }
    lines = score_table(scores).splitlines()
    for name, value in {
        "micro accuracy": ">0.9999",
        "baseline: commonest label": ">0.9999",
        "macro accuracy": "1.0000",
    }.items():
        (line,) = [line for line in lines if line.startswith(f"{name} ")]
        assert line[len(name) :].split()[0] == value


# a new measure is one entry


@pytest.fixture
def long_documents():
    """A measure that ``vbnmf`` does not have: the part of the documents with three terms."""
    toy = measures.Measure(
        "long_documents", "long documents", "part of {documents} with three terms",
        lambda subject, sums: sums[0] / sums[1],
        count=lambda part: np.array([(np.diff(part.X.indptr) >= 3).sum(), part.n_docs]),
    )  # fmt: skip
    measures.MEASURES.append(toy)
    yield toy
    measures.MEASURES.remove(toy)


def test_a_new_measure_is_printed_everywhere(long_documents, tmp_path):
    model, texts, labels = usual()
    X = model.vectorize(texts)
    expected = (np.diff(X.indptr) >= 3).mean()
    assert 0 < expected < 1
    scores = score(model, texts, labels)
    assert scores["long_documents"] == expected
    lines = score_table(scores).splitlines()
    at = lines.index("Of all 60 documents:")
    (line,) = [line for line in lines[at:] if line.startswith("long documents ")]
    assert " ".join(line.split()) == f"long documents {expected:.4f} part of 60 with three terms"
    row = unpacked(explore(model, texts, labels).html)["measures"][-1]
    assert row["name"] == "Long documents"
    assert row["of"] == "all 60 documents"
    assert row["value"] == pytest.approx(expected, rel=1e-3)
    y = [label or "tea" for label in labels]
    path = tmp_path / "tune.csv"
    found = tune(X, y, n_components=3, estimator=SupervisedVBNMF(max_iter=3), checkpoint=path)
    assert 0 < found.rows[0].measures["long_documents"] < 1
    assert "long documents" in _table(found).splitlines()[0]
    assert pd.read_csv(path)["long_documents"].item() == found.rows[0].measures["long_documents"]
    again = tune(X, y, n_components=3, estimator=SupervisedVBNMF(max_iter=3), checkpoint=path)
    assert again.rows == found.rows
    assert "long documents" in draw(found).legends[0].get_texts()[-1].get_text()


def test_what_several_measures_need_is_computed_once(monkeypatch):
    """Probabilities and coefficients of documents, also for the page with its explanations.

    Coefficients are computed twice: those of documents, and those of their first halves.
    """
    model, texts, labels = usual()
    estimator, calls = model.estimator_, []
    for name in ("_proba", "transform", "component_share"):
        method = getattr(estimator, name)

        def counted(X, *others, name=name, method=method):
            calls.append((name, X.shape[0]))
            return method(X, *others)

        monkeypatch.setattr(estimator, name, counted)
    once = [("_proba", 60), ("component_share", 60), ("transform", 60), ("transform", 60)]
    evaluate(model, texts, labels)
    assert sorted(calls) == once
    calls.clear()
    explore(model, texts, labels)
    assert sorted(calls) == once


def test_parts_of_a_shard(monkeypatch):
    """Of at most six non-zeros, unless a document has more, and of at most three documents."""
    monkeypatch.setattr(evaluation, "PART_NONZEROS", 6)
    monkeypatch.setattr(evaluation, "PART_NUMBERS", 13)
    sizes = [3, 3, 5, 1, 9, 0, 1, 1, 1, 1]
    X = sparse.csr_array([[1] * size + [0] * (9 - size) for size in sizes])
    found = list(evaluation._parts(X, 4))
    assert found == [(0, 2), (2, 4), (4, 5), (5, 8), (8, 10)]
    assert list(evaluation._parts(X, 100)) == [(i, i + 1) for i in range(len(sizes))]


def test_how_measures_are_printed():
    """Parts of documents and of components are in per cent on the page; measures are not."""
    percent = {one.key for one in measures.MEASURES if one.percent}
    parts = ("accuracy", "f1", "calibration_error", "fidelity", "elsewhere", "agree", "glued")
    assert percent == {one.key for one in measures.MEASURES if one.key.endswith(parts)}
    keys = [one.key for one in measures.MEASURES]
    assert len(set(keys)) == len(keys)
    meaning = {one.key: one.meaning for one in measures.MEASURES}
    assert "the first 25 terms" in meaning["diversity"]
    for one in measures.MEASURES:
        assert one.meaning
        assert (one.count is None) == (one.of == measures.MODEL)
