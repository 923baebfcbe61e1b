"""The measures that `vbnmf evaluate` and the explorer tell of a fitted model."""

import re

import numpy as np
import pandas as pd
import pytest
from cliruns import make_corpus
from explorer_pages import several, usual
from oracle_uses import as_weights
from scipy import sparse
from test_heads import drawn

from vbnmf import VBNMF, DocumentModel, Shards, SupervisedVBNMF, metrics
from vbnmf.cli.evaluate import score, score_table
from vbnmf.data.sharding import write_shards
from vbnmf.report import evaluation, measures
from vbnmf.report.explorer.documents import look
from vbnmf.report.explorer.quality import quality_payload
from vbnmf.report.labels import describe_labels
from vbnmf.report.truth import read_truth
from vbnmf.text import DocumentVectorizer
from vbnmf.text.sequences import token_sequences

pytestmark = pytest.mark.filterwarnings("ignore::vbnmf.text.EmptyDocumentWarning")
TOLD = ("npmi_documents", "npmi_windows", "diversity", "exclusivity", "held_out_log_likelihood")


def text_model(n_components=4, **options):
    estimator = SupervisedVBNMF(n_components, max_iter=30, random_state=0)
    return DocumentModel(estimator, DocumentVectorizer(**options)).fit(*make_corpus(1, mixed=0.3))


def test_of_texts():
    """Unlabelled documents are not measured; stemmed tokens are matched with stemmed terms."""
    model, texts, labels = usual()
    scores = score(model, texts, labels)
    texts = [text for text, label in zip(texts, labels, strict=True) if label is not None]
    estimator, X = model.estimator_, model.vectorize(texts)
    lasting = ~estimator.faded_
    kept = as_weights(estimator.describing_terms_[lasting], X.shape[1])
    tokens = token_sequences(model.vectorizer_, texts)
    by_windows = metrics.window_npmi(kept, tokens, list(model.vectorizer_.vocabulary_))
    assert scores["npmi_documents"] == pytest.approx(metrics.document_npmi(kept, X).mean())
    assert scores["npmi_windows"] == pytest.approx(by_windows.mean())
    assert scores["npmi_windows"] != pytest.approx(scores["npmi_documents"], abs=0.01)
    assert scores["diversity"] == metrics.topic_diversity(kept)
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
        X[later], np.eye(4)[y[later]], measures.said_of_labels(model).terms
    )
    assert [row["fidelity"] for row in scores["labels"]] == inside.tolist()
    assert [row["fidelity_elsewhere"] for row in scores["labels"]] == elsewhere.tolist()
    out = score_table(scores)
    del model.estimator_.label_term_documents_  # as in an older file
    older = score(model, X[later], y[later])
    assert older["label_fidelity"] is older["component_fidelity"] is None
    assert older["agreement"] == scores["agreement"]
    assert "fidelity" not in score_table(older)
    assert re.search(r"^components that agree +0\.5000 +of 2 shared by some labels", out, re.M)
    inside = f"{scores['label_fidelity']:.4f}"
    assert re.search(rf"^fidelity of labels +{inside} +part of a label's documents", out, re.M)


def test_the_explorer_tells_the_same():
    model, texts, labels = usual()
    labels = [label or "tea" for label in labels]
    scores = score(model, texts, labels)
    looked = look(model, texts, labels, None, lambda part, doing: None)
    payload = quality_payload(model, looked)
    told = payload["measures"] | measures.distinctness(model)
    assert payload["truth"] == {name: scores[name] for name in payload["truth"]}
    assert 0 < payload["truth"]["label_fidelity"] <= 1
    for name in TOLD:
        assert told[name] == pytest.approx(scores[name], rel=1e-3), name
    by_component = np.array(payload["npmi_documents"])
    kept = by_component[~model.estimator_.faded_]
    assert kept.mean() == pytest.approx(scores["npmi_documents"], abs=1e-3)


@pytest.mark.parametrize("made", [usual, several])
def test_the_explorer_scores_predictions_alike(made):
    """The last document has a label that the model does not know; no document has one it knows."""
    model, texts, labels = made()
    new = ["cocoa"] if made is several else "cocoa"
    is_rare = [label in ("tea", ["tea"]) for label in labels]
    labels = [None if rare else label for label, rare in zip(labels, is_rare, strict=True)]
    scores = score(model, [*texts, "kettle"], [*labels, new])
    looked = look(model, [*texts, "kettle"], [*labels, new], None, lambda part, doing: None)
    payload = quality_payload(model, looked)
    prefix = "micro_f1" if made is several else "micro_accuracy"
    simplest = "most_frequent_label_f1" if made is several else "most_frequent_label_accuracy"
    said = payload["accuracy"]
    assert scores["documents"] == payload["labelled"]
    assert next(iter(said.values())) == pytest.approx(scores[prefix], rel=1e-3)
    assert list(said.values())[-1] == pytest.approx(scores[simplest], rel=1e-3)
    assert payload["calibration_error"] == pytest.approx(scores["calibration_error"], rel=1e-3)
    by_label = dict(zip(looked.names, payload["by_label"], strict=True))
    assert "cocoa" not in model.classes_
    assert by_label["cocoa"] == [1, 0, None]
    for row in scores["labels"]:
        told = [np.nan if number is None else number for number in by_label[row["label"]]]
        right = np.nan if row["precision"] is None else row["precision"]
        expected = [row["documents"], row["recall"], right]
        assert told == pytest.approx(expected, rel=1e-3, nan_ok=True)
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
    said = f"NPMI, diversity and exclusivity ignore {faded.sum()} faded components."
    assert said in table.splitlines()


@pytest.mark.filterwarnings("ignore:the fit did not converge")
def test_all_components_count_if_all_have_faded():
    estimator = VBNMF(2, max_iter=1, random_state=0).fit(np.ones((3, 4)))
    assert measures.lasting(estimator).dtype == bool
    estimator.component_shapes_ = np.full_like(estimator.component_shapes_, 1e-9)
    assert estimator.faded_.all()
    assert measures.lasting(estimator).tolist() == [True, True]


@pytest.mark.filterwarnings("ignore:the fit did not converge")
def test_no_windows():
    texts = make_corpus(2)[0]
    model = text_model()
    assert measures.npmi_by_windows(model, texts) is not None
    assert measures.npmi_by_windows(model, None) is None
    assert measures.npmi_by_windows(model, ["", "?"]) is None
    assert measures.npmi_by_windows(text_model(ngram_range=(1, 2)), texts) is None
    assert measures.npmi_by_windows(text_model(analyzer="char_wb"), texts) is None


def test_documents_of_one_term_hold_nothing_out():
    model = text_model()
    texts = ["kettle", "wheel wheel", "unheard of"]
    scores = score(model, texts, ["tea", "bike", "tea"])
    assert scores["held_out_log_likelihood"] is None
    assert "log-likelihood" not in score_table(scores)
    looked = look(model, texts, None, None, lambda part, doing: None)
    assert quality_payload(model, looked)["measures"]["held_out_log_likelihood"] is None
    assert measures.held_out_log_likelihood(model.estimator_, model.vectorize(["cup kettle"])) < 0


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
    found = evaluation.evaluate_shards(model, Shards(tmp_path)).scores()
    assert found.pop("labels") == [pytest.approx(row) for row in expected.pop("labels")]
    halves = (scores.pop("held_out_log_likelihood") for scores in (found, expected))
    assert next(halves) == pytest.approx(next(halves), rel=0.1)  # each part has its own
    assert found.pop("agreement") == pytest.approx(expected.pop("agreement"))
    assert found == pytest.approx(expected)
    assert found["documents"] == len(y) - 2
    if kind == "several":
        one = DocumentModel(SupervisedVBNMF(3, max_iter=3, tol=0, random_state=0)).fit(X, y)
        with pytest.raises(ValueError, match="several labels"):
            evaluation.evaluate_shards(one, Shards(tmp_path))


def test_nearly_all_is_not_all():
    model, texts, labels = usual()
    scores = score(model, texts, labels) | {
        "micro_accuracy": 0.99996,
        "most_frequent_label_accuracy": 0.99997,
        "macro_accuracy": 1.0,
    }
    lines = score_table(scores).splitlines()
    (micro,) = [line for line in lines if line.startswith("micro accuracy")]
    (macro,) = [line for line in lines if line.startswith("macro accuracy")]
    assert micro.split()[2] == ">0.9999"
    assert "commonest label >0.9999" in micro
    assert macro.split()[2] == "1.0000"
