"""The benchmarks of predictions run on small corpora; how accurate, no test asks."""

import csv
import gzip
import re
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks import (
    accuracy,
    classifiers,
    few,
    inputs,
    models,
    one,
    splits,
    standings,
    sweep,
)
from vbnmf.text import DocumentVectorizer

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    monkeypatch.setattr(inputs, "SHAPE", (120, 80))
    monkeypatch.setattr(inputs, "NNZ", 1500)


def test_accuracy(capsys, tmp_path):
    options = ["--corpora", "scipy-docs", "--every", "4", "--out", str(tmp_path)]
    accuracy.main(options)
    rows = accuracy.read_rows(tmp_path / "accuracy.csv")
    run = {method.key for method in classifiers.DEFAULTS if method.installed}
    assert {row["method"] for row in rows} == run
    trained = [row for row in rows if row["method"] != "fasttext"]  # in five epochs, not yet
    assert all(row["accuracy"] > 0.4 for row in trained)
    found = {row["method"]: row for row in rows}
    assert found["svm"]["calibration_error"] is None
    assert 0 < found["vbnmf"]["component_share"] <= 1
    assert 0 < found["vbnmf"]["calibration_by_chance"] < 0.1
    text = (tmp_path / "accuracy.md").read_text(encoding="utf-8")
    assert text.strip() == capsys.readouterr().out.strip()
    assert "mean of ours less the linear SVM" in text
    assert (tmp_path / "accuracy.png").exists()
    accuracy.main(options)  # nothing is run again
    assert accuracy.read_rows(tmp_path / "accuracy.csv") == rows


def test_calibration_by_chance():
    """As many documents again halve what chance does, about."""
    few, many = (accuracy.by_chance(np.full(n, 0.7)) for n in (40, 4000))
    assert few == pytest.approx(np.sqrt(2 / np.pi * 0.21 / 40), rel=0.2)
    assert few > 5 * many


class Certain:
    """Every document has the first label with probability 0.75. It must not have been seen."""

    def fit(self, X, y):
        assert X.getnnz(axis=0).all()  # only terms of these documents
        self.n_terms = X.shape[1]
        return self

    def predict_proba(self, X):
        assert X.shape[1] == self.n_terms
        assert X.getnnz(axis=1).max() == 1  # its own term is not known
        return np.tile([0.75, 0.25], (X.shape[0], 1))


def test_calibration_of_training_documents_is_cross_validated():
    """Each document has a term of its own, beside one that all have."""
    method = replace(classifiers.DEFAULTS[0], make=lambda *_: Certain(), of_texts=False)
    X = sp.csr_matrix(np.column_stack([np.eye(40), np.ones(40)]))
    assert accuracy.cross_validated(method, X, np.repeat([0, 1], 20), 1) == pytest.approx(0.25)
    assert accuracy.cross_validated(method, X, np.repeat([0, 1], [31, 9]), 1) is None


def test_only_few_test_documents_need_cross_validation(monkeypatch):
    monkeypatch.setattr(accuracy, "REPEATS", 1)
    ours = next(method for method in classifiers.DEFAULTS if method.key == accuracy.OURS)
    y = np.repeat([0, 1], 20)
    counts = sp.csr_matrix(np.random.default_rng(0).poisson(1.0, (40, 30)).astype(float))
    texts = [" ".join(f"w{i}" for i in row.indices) for row in counts]
    for fewest, crossed in ((9, True), (8, False)):
        monkeypatch.setattr(accuracy, "FEW", fewest)
        row = accuracy.run(ours, 0, (counts, y, counts[::5], y[::5], texts, texts[::5]), 1)
        assert (row["calibration_crossed"] is not None) == crossed


def test_accuracy_of_others_alone(capsys, tmp_path):
    options = ["--corpora", "scipy-docs", "--every", "8", "--methods", "svm"]
    accuracy.main([*options, "--out", str(tmp_path)])
    assert "### Accuracy" in capsys.readouterr().out


def test_one_document_at_a_time(capsys):
    options = ["--texts", "5", "--every", "8", "--rounds", "1", "--many", "20"]
    one.main(["--corpora", "scipy-docs", *options])
    out = capsys.readouterr().out
    number = r" [\d.]+ \|"
    assert re.search(rf"^\| scipy-docs \| [\w, ]+ \|{number * 9}$", out, re.MULTILINE)
    assert re.search(rf"^\| scipy-docs \|{number * 3}$", out, re.MULTILINE)


def test_models(capsys):
    models.main(
        [
            "--terms",
            "300",
            "--labels",
            "6",
            "--documents",
            "200",
            "--words",
            "20",
            "--iterations",
            "2",
        ]
    )
    found = re.findall(r"^\| \d+ × 12 × 6 \| (\w+) \|", capsys.readouterr().out, re.MULTILINE)
    assert found == ["load", "load_predictor"]


def test_accuracy_with_several_labels(tmp_path):
    for part in ("train", "test"):
        with gzip.open(
            tmp_path / f"tags-{part}.csv.gz", "wt", encoding="utf-8", newline=""
        ) as file:
            writer = csv.writer(file)
            writer.writerow(["text", "label"])
            for i in range(40):
                writer.writerow(["tea leaf", "tea"] if i % 2 else ["tea coffee", "coffee|tea"])
    options = ["--folder", str(tmp_path), "--corpora", "tags", "--methods", "vbnmf", "svm", "nbsvm"]
    accuracy.main([*options, "--out", str(tmp_path / "out")])
    rows = accuracy.read_rows(tmp_path / "out" / "accuracy.csv")
    assert len(rows) == 3
    assert all(row["accuracy"] > 0.8 for row in rows), rows


def test_sweep(capsys, tmp_path, monkeypatch):
    sweep.main(["--quick", "--out", str(tmp_path)])
    rows = sweep.read_rows(tmp_path / "results.csv")
    run = {method.key for method in classifiers.METHODS if method.installed}
    assert {row["method"] for row in rows} == run
    assert sorted(row["K"] for row in rows if row["method"] == "vbnmf") == [6, 12]
    for row in rows:
        assert row["accuracy"] > 0.8, row  # a sixth by chance
        assert row["macro_accuracy"] == pytest.approx(row["accuracy"])  # labels of equal size
    found = {(row["method"], row["K"]): row for row in rows}
    assert found["svm", 0]["components"] is None
    assert found["svm", 0]["calibration_error"] is None
    assert found["pca", 0]["components"] == 200
    assert found["pca", 0]["coherence"] is None
    assert found["vbnmf", 12]["components"] == 12
    assert 0 < found["vbnmf", 12]["inter_label_sparsity"] < 1
    assert 0 < found["nmf", 6]["coherence"] < 1
    text = (tmp_path / "table.md").read_text(encoding="utf-8")
    assert text.strip() == capsys.readouterr().out.strip()
    assert len(re.findall(r"^\| vbnmf \|", text, re.MULTILINE)) == 2
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    monkeypatch.setattr(sweep, "score", None)  # nothing is run again
    sweep.main(["--quick", "--out", str(tmp_path)])
    assert sweep.read_rows(tmp_path / "results.csv") == rows
    assert "[" not in capsys.readouterr().err


def test_accuracy_takes_parameters_from_another_seed(tmp_path, monkeypatch):
    options = ["--quick", "--methods", "nmf", "--out", str(tmp_path)]
    sweep.main([*options, "--seeds", "1"])
    monkeypatch.setattr(sweep, "choose", None)
    sweep.main([*options, "--seeds", "2"])
    first, second = sweep.read_rows(tmp_path / "results.csv")
    assert (first["seed"], second["seed"]) == (0, 1)
    assert first["parameters"] == second["parameters"]


def test_accuracy_says_what_holds():
    def row(corpus, method, K=0, **values):
        empty = dict.fromkeys(sweep.COLUMNS)
        return empty | {"corpus": corpus, "method": method, "K": K, "parameters": "{}"} | values

    news = "20newsgroups"
    summaries = standings.summarise(
        [
            row(news, "vbnmf", 20, seed=0, validation=0.7, accuracy=0.81, seconds_train=1.0),
            row(news, "vbnmf", 20, seed=1, validation=0.7, accuracy=0.85, seconds_train=3.0),
            row(news, "vbnmf", 50, seed=0, validation=0.9, accuracy=0.829, seconds_train=9.0),
            row(news, "llda", seed=0, validation=0.8, accuracy=0.801, seconds_train=5.0),
            row("thinned", "vbnmf", 20, seed=0, validation=0.7, accuracy=0.5, macro_accuracy=0.4),
            row("thinned", "svm", seed=0, validation=0.7, accuracy=0.53, macro_accuracy=0.5),
        ]
    )
    lines = {line["what"]: line for line in standings.musts(summaries)}
    assert {what: (line["measured"], line["holds"]) for what, line in lines.items()} == {
        "K = 20: accuracy": ("0.8300", "yes"),
        "K = 20: accuracy above labelled LDA": ("0.0290", "no"),
        "K = 20: seconds to train ÷ those of labelled LDA": ("0.4000", "yes"),
        "K ≤ 200 (K = 50): accuracy": ("0.8290", "no"),
        "thinned (K = 20): accuracy below the linear SVM's": ("0.0300", "yes"),
        "thinned (K = 20): macro accuracy below the linear SVM's": ("0.1000", "no"),
    }
    assert lines["K = 20: accuracy"]["reached"] == "no"


def test_another_table_is_not_overwritten(tmp_path):
    (tmp_path / "results.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(ValueError, match="--out"):
        sweep.main(["--quick", "--out", str(tmp_path)])


def test_thinned_labels_fall_geometrically():
    split = splits.drawn()  # 60 and 20 documents of each label
    thin = splits.thinned(split, 0, largest=48, smallest=3)
    sizes, sizes_new = np.bincount(thin.y), np.bincount(thin.y_new)
    order = np.argsort(-sizes)
    assert sizes[order].tolist() == np.geomspace(48, 3, 6).round().tolist()
    assert sizes_new[order].tolist() == [max(3, round(size / 3)) for size in sizes[order]]
    other = splits.thinned(split, 1, largest=48, smallest=3)
    assert np.bincount(other.y).tolist() != sizes.tolist()
    assert np.bincount(thin.X.indices, minlength=thin.X.shape[1]).min() >= 2
    unequal = replace(split, X=split.X[split.y < 1], y=split.y[split.y < 1])
    with pytest.raises(ValueError, match="Use less than 61"):
        splits.thinned(unequal, 0, largest=61)


def test_validation_holds_out_training_documents_only():
    split = splits.drawn()
    inner = split.validation()
    assert len(inner.y) + len(inner.y_new) == len(split.y)
    total = inner.X.sum() + inner.X_new.sum()
    assert 0.95 * split.X.sum() < total <= split.X.sum()  # rare terms are out


@pytest.mark.parametrize("options", [{}, {"weighting": "paper", "max_terms": 3}])
def test_weights_are_those_of_the_vectorizer(options):
    texts = ["red tea red leaves", "tea leaves", "coffee beans beans", "red coffee", "beans tea"]
    new = ["tea tea beans", "coffee leaves red"]
    counter = DocumentVectorizer(weighting="counts", dtype=np.float64)
    vectorizer, weights = DocumentVectorizer(**options), classifiers.Weights(**options)
    X = weights.fit_transform(counter.fit_transform(texts))
    np.testing.assert_array_equal(X.toarray(), vectorizer.fit_transform(texts).toarray())
    X_new = weights.transform(counter.transform(new))
    np.testing.assert_array_equal(X_new.toarray(), vectorizer.transform(new).toarray())


def test_tokens():
    X = sp.csr_matrix([[2.0, 0, 1], [0, 0, 0], [0, 3, 0]])
    assert classifiers.tokens(X) == [["0", "0", "2"], [], ["1", "1", "1"]]


def test_labelled_topics_of_an_empty_document():
    pytest.importorskip("tomotopy")
    topics = classifiers.LabelledTopics("LLDAModel", {}, iterations=5)
    y = np.array([3, 3, 3, 1])
    topics.fit([["0", "1"] * 200, ["0"] * 200, ["1"] * 200, ["2"] * 400], y)
    np.testing.assert_allclose(topics.predict_proba([[]]), [[0.25, 0.75]])
    words = [["2"] * 9, ["0"] * 9]
    assert topics.classes_[topics.predict_proba(words).argmax(axis=1)].tolist() == [1, 3]
    assert topics.components_[:, 2].argmax() != topics.components_[:, 0].argmax()


def test_few(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(few, "LEAST", 100)
    rng = np.random.default_rng(0)
    topics = {"tea": "leaf pot steep cup green", "coffee": "bean roast dark grind mocha",
              "bread": "flour yeast oven dough crust"}  # fmt: skip
    for part in ("train", "test"):
        with gzip.open(tmp_path / f"tiny-{part}.csv.gz", "wt", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["text", "label"])
            for label, words in topics.items():
                for _ in range(50):
                    writer.writerow([" ".join(rng.choice(words.split(), 8)), label])
    options = ["--folder", str(tmp_path), "--corpora", "tiny", "--labelled", "5", "20"]
    few.main([*options, "--out", str(tmp_path / "out")])
    printed = capsys.readouterr()
    assert "### 5 documents of each label" in printed.out
    assert re.search(r"\| mean \| 1.000 .* \| 1.000 \| \+0.000 \|", printed.out)
    assert (tmp_path / "out" / "few.png").exists()
    few.main([*options, "--out", str(tmp_path / "out")])
    again = capsys.readouterr()
    assert again.out == printed.out
    assert not again.err  # nothing is run again


def test_few_labelled_documents_are_neither_unlabelled_nor_scored(tmp_path, monkeypatch):
    monkeypatch.setattr(few, "LEAST", 100)
    monkeypatch.setattr(few, "SCORED", 30)
    with gzip.open(tmp_path / "tiny-train.csv.gz", "wt", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *((f"{i}", f"{i % 4}") for i in range(200))])
    options = few._options(["--folder", str(tmp_path), "--validation", "--documents", "100"])
    texts, y, rest, new, _ = few.draw("tiny", 6, 0, options)
    assert sorted(y.tolist()) == sorted("0123" * 6)
    assert len(rest) == 76
    assert len(set(texts) | set(rest) | set(new)) == 24 + 76 + 30
