"""The benchmark of components: draws with the properties it promises, measures by hand, parts."""

import csv
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks import components, drawn, topicmodels, truth
from benchmarks.labelled import LabelledCorpus
from vbnmf.metrics import completion_log_likelihood

pytestmark = pytest.mark.slow
SMALL = ["--corpora", "scipy-docs", "--documents", "250", "--seeds", "2"]
ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("level", [0, 1, 2])
def test_hard_draws(level):
    kind = drawn.HARD[level]
    corpus = drawn.draw(kind, 0)
    again = drawn.draw(kind, 0)
    assert (corpus.X != again.X).nnz == 0
    sizes = np.bincount(corpus.y)
    assert sizes.min() in range(20, 30)
    assert sizes.max() in range(1000, 1100)
    in_scope = corpus.scopes.sum(axis=0)
    assert ((in_scope == 12).sum() == 1) == (level >= 1)  # the background
    assert (in_scope == 1).sum() in range(12, 25)
    shared = in_scope[(in_scope > 1) & (in_scope < 12)]
    assert len(shared) == 8
    assert shared.max() <= 6
    assert 4500 < corpus.X.shape[1] <= 5000
    np.testing.assert_allclose(corpus.components.sum(axis=1), 1, atol=0.05)
    lengths = np.asarray(corpus.X.sum(axis=1)).ravel()
    repeated = (corpus.X.data > 1).mean()
    if level < 2:
        assert (lengths == 80).all()
        assert repeated < 0.2
        assert corpus.X.shape[0] == 3295
    else:
        assert 4 <= lengths.min() <= 6
        assert lengths.max() == 500
        assert 40 < np.median(lengths) < 70
        assert repeated > 0.25
        assert corpus.X.shape[0] == 3295 + 164  # near-copies
        copy = corpus.X[[3300]].toarray().ravel()
        others = corpus.X[np.flatnonzero(corpus.y[:3295] == corpus.y[3300])]
        missing = np.maximum(others.toarray() - copy, 0).sum(axis=1)
        extra = np.maximum(copy - others.toarray(), 0).sum(axis=1)
        assert ((extra == 0) & (missing <= 0.3 * copy.sum())).any()


def test_documents_of_a_label_use_its_components_only():
    corpus = drawn.draw("unequal labels", 1, 600)
    for label in range(12):
        words = np.asarray(corpus.X[corpus.y == label].sum(axis=0)).ravel() > 0
        reached = corpus.components[corpus.scopes[label]].max(axis=0)
        assert (reached[words] > 1e-9).all()


def test_recovery_by_hand():
    T = np.eye(4)
    scopes = np.array([[1, 1, 0, 1], [0, 1, 0, 1], [0, 1, 1, 1], [0, 0, 1, 1]], dtype=bool)
    corpus = drawn.Drawn(sp.csr_array((1, 4)), np.zeros(1, int), T, scopes)
    found = T[[1, 2, 3]] + 0.01  # the first is missing
    ours = np.array([[1, 0, 0], [1, 0, 1], [0, 1, 1], [1, 1, 1]], dtype=bool)
    seen = drawn.recovery(found, ours, corpus)
    assert seen.found == 3 / 4
    assert seen.precision == 4 / 5  # of the components of labels 0, 1, 2 and of 2, 3
    assert seen.recall == 4 / 5
    blurred = found + 0.9  # cosines below 0.8
    assert np.isnan(drawn.recovery(blurred, ours, corpus).recall)


def test_false_terms_by_hand():
    X = sp.csr_array([[1, 0, 0, 2], [1, 1, 0, 0], [0, 1, 0, 1], [0, 1, 0, 1]])
    Y = sp.csr_array([[1, 0], [1, 0], [0, 1], [0, 1]])
    absent, rarer, said = truth.false_terms([np.array([0, 1, 2, 3]), np.array([0, 1])], X, Y)
    assert said == 6
    assert absent == 2  # 2 in the first label, 0 in the second
    assert rarer == 2  # 1 and 3 in the first


def test_indicators_are_in_the_order_of_the_model():
    model = SimpleNamespace(classes_=np.array(["a", "b", "c"]))
    found = truth.indicators(model, [["c", "a"], ["b"], ["new"], []])
    assert found.toarray().tolist() == [[1, 0, 1], [0, 1, 0], [0, 0, 0], [0, 0, 0]]


def test_completion_of_topics_that_are_known():
    """Words of a document come from one topic of four words, so ln p is near -ln 4."""
    rng = np.random.default_rng(0)
    topics = np.kron(np.eye(3), np.full(4, 0.25))
    X = sp.csr_array(rng.multinomial(40, topics[np.arange(60) % 3]).astype(float))
    model = topicmodels.TopicModel.of_counts(100 * topics)
    assert topicmodels.completion(model, X, X) == pytest.approx(-np.log(4), abs=0.02)
    mixed = topicmodels.TopicModel.of_counts(np.ones((3, 12)))
    assert topicmodels.completion(mixed, X, X) == pytest.approx(-np.log(12), abs=0.01)
    first = completion_log_likelihood(model, X)
    assert first == pytest.approx(-np.log(4), abs=0.1)


def test_topic_models_of_counts():
    pytest.importorskip("tomotopy")
    rng = np.random.default_rng(0)
    topics = np.kron(np.eye(3), np.full(5, 0.2))
    y = np.arange(90) % 3
    X = sp.csr_array(rng.multinomial(20, topics[y]).astype(np.float32))
    labels = [[str(label)] for label in y]
    names = np.array([f"w{i}" for i in range(15)])
    corpus = LabelledCorpus("x", X, y.astype(str), X, y.astype(str), X, X, labels, labels, names)
    for fit in topicmodels.MODELS.values():
        model = fit(corpus, 3)
        np.testing.assert_allclose(model.components_.sum(axis=1), 1)
        assert drawn.match(model.components_, drawn.Drawn(X, y, topics, None))[0].min() > 0.9
        assert topicmodels.completion(model, X, X) > -2.0


def test_drawn_part(capsys, tmp_path):
    components.main(
        ["--only", "drawn", "--kinds", "mixed", "and background", "--seeds", "1",
         "--documents", "240", "--out", str(tmp_path)]
    )  # fmt: skip
    out = capsys.readouterr().out
    assert re.search(r"^\| mixed \| 1 \| 16\.000 \| 16\.000 \| [01]\.\d+ \|", out, re.MULTILINE)
    assert "and background: found, less from the truth" in out
    with (tmp_path / "components.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["drawn"] for row in rows] == ["mixed", "and background"]
    for row in rows:
        found, best = float(row["found (cosine > 0.9)"]), float(row["from the truth"])
        assert float(row["difference"]) == pytest.approx(found - best)


def test_parts_on_corpora(capsys, tmp_path):
    pytest.importorskip("tomotopy")
    components.main(
        ["--only", "corpora", "stability", "likelihood", *SMALL, "--out", str(tmp_path)]
    )
    out = capsys.readouterr().out
    with (tmp_path / "components.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    corpora, *stability, likelihood = rows
    assert float(corpora["accuracy"]) > 0.7
    assert 0 < float(corpora["fidelity of components"]) <= 1
    assert float(corpora["fidelity of labels"]) > float(corpora["elsewhere"])
    assert [row["method"] for row in stability] == ["vbnmf", "NMF", "LDA"]
    assert 0.3 < float(stability[0]["by weight"]) <= 1
    assert all(0.3 < float(row["matched cosine"]) <= 1 for row in stability)
    values = [float(likelihood[name]) for name in ("vbnmf", "vbnmf, unsupervised", "NMF (KL)",
                                                   "LDA", "PLDA")]  # fmt: skip
    assert all(-7 < value < -4 for value in values)
    assert float(likelihood["vbnmf − best"]) == pytest.approx(values[0] - max(values))
    assert "glued among shared components, mean over corpora" in out


def test_stability_by_weight():
    one, other = np.eye(3), np.eye(3)[[2, 1]]  # the first has a component that the other lacks
    found = components._matched([one, other], [np.array([2.0, 1, 1]), np.ones(2)])
    assert found == {"matched cosine": 1.0, "above 0.9": 1.0, "by weight": (2 / 4 + 1) / 2}


def test_seconds_part(capsys):
    small = ["--corpora", "scipy-docs", "--documents", "150", "--seeds", "1"]
    components.main(["--only", "seconds", *small, "--against", str(ROOT)])
    out = capsys.readouterr().out
    assert re.search(r"^\| scipy-docs \|( \d+\.\d+ \|){6}", out, re.MULTILINE)
    with pytest.raises(RuntimeError, match=r"no package vbnmf|No module"):
        components.main(["--only", "seconds", *small, "--against", str(ROOT / "docs")])


def test_goals():
    rows = [
        {"part": "corpora", "glued": 0.2, "agree": 0.5, "in none of its documents": 0.1,
         "rarer than elsewhere": 0.02, "components said": 30, "fidelity of components": 0.9},
        {"part": "corpora", "glued": None, "agree": None, "in none of its documents": 0.0,
         "rarer than elsewhere": 0.01, "components said": 10, "fidelity of components": 0.5},
        {"part": "likelihood", "best or near": 1},
    ]  # fmt: skip
    found = {row["what"]: row["measured"] for row in components.goals(rows)}
    assert found["glued among shared components, mean over corpora"] == 0.2
    assert found["false terms of labels, worst corpus"] == pytest.approx(0.12)
    assert found["components whose share of a label holds"] == pytest.approx(0.8)
    assert found["likelihood best or near, part of corpora"] == 1
    assert "accuracy" not in found
