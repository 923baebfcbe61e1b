"""Models of documents with several labels, from the file to the model and back, by commands."""

import csv
import json
import random

import numpy as np
import pandas as pd
import pytest
from cliruns import FIT, WORDS, make_corpus, ok, run, write_csv
from explorer_pages import analysed, unpacked
from sklearn.metrics import accuracy_score, f1_score
from sklearn.preprocessing import MultiLabelBinarizer

from vbnmf import DocumentModel, SupervisedVBNMF, load
from vbnmf.cli.terminal import rounded
from vbnmf.data import read_documents
from vbnmf.estimators.labelpredictor import PredictsLabels
from vbnmf.text import DocumentVectorizer

SEPARATED = ("--label", "tags", "--label-separator", ";")


def make(seed, n=60, gaps=6, mixed=0.0):
    """Texts of one or two labels, which every sixth has lost; `mixed` words are from anywhere."""
    rng = random.Random(seed)  # noqa: S311
    texts, labels = [], []
    for i in range(n):
        chosen = rng.sample(list(WORDS), rng.choice([1, 1, 2]))
        sources = [list(WORDS) if rng.random() < mixed else chosen for _ in range(12)]
        texts.append(" ".join(rng.choice(WORDS[rng.choice(source)]) for source in sources))
        labels.append(None if i % gaps == 0 else chosen)
    return texts, labels


TEXTS, LISTS = make(0)


def write_rows(path, head, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])


def joined(separator, lists=LISTS):
    return [separator.join(labels or []) for labels in lists]


def bits(lists=LISTS):
    return [[int(name in (labels or [])) for name in WORDS] for labels in lists]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """The corpus in every form, and a model of the one with a separator."""
    home = tmp_path_factory.mktemp("labels")
    write_csv(home / "tags.csv", TEXTS, joined(" ; "), ("text", "tags"))
    columns = [[text, *((labels or []) + ["", ""])[:2]] for text, labels in zip(TEXTS, LISTS)]  # noqa: B905
    write_rows(home / "columns.csv", ["text", "one", "two"], columns)
    rows = [[text, *row] for text, row in zip(TEXTS, bits(), strict=True)]
    write_rows(home / "bits.csv", ["text", *WORDS], rows)
    lines = [json.dumps({"text": t, "tags": tags}) for t, tags in zip(TEXTS, LISTS, strict=True)]
    (home / "tags.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (home / "labels.txt").write_text("\n".join(joined("|")) + "\n", encoding="utf-8")
    (home / "two.toml").write_text('label = ["one", "two"]', encoding="utf-8")
    ok("fit", home / "tags.csv", *SEPARATED, *FIT, "--out", home / "m.vbnmf")
    test_texts, test_lists = make(1, gaps=7, mixed=0.4)
    write_csv(home / "later.csv", test_texts, joined(";", test_lists), ("text", "tags"))
    return home


@pytest.fixture
def model(home):
    return home / "m.vbnmf"


@pytest.fixture(autouse=True)
def here(home, monkeypatch):
    monkeypatch.chdir(home)


@pytest.mark.parametrize(
    ("file", "options", "columns"),
    [
        ("tags.csv", SEPARATED, {"label": "tags", "label_separator": ";"}),
        ("columns.csv", ("--label", "one", "--label", "two"), {"label": ["one", "two"]}),
        ("columns.csv", ("--config", "two.toml"), {"label": ["one", "two"]}),
        (
            "bits.csv",
            ("--label", "bike", "--label", "coffee", "--label", "tea"),
            {"label": ["bike", "coffee", "tea"]},
        ),
        ("tags.jsonl", ("--label", "auto"), {"label": "tags"}),
        ("tags.jsonl", ("--label", "tags"), {"label": "tags"}),
        (
            "tags.csv",
            ("--label-file", "labels.txt", "--label-separator", "|", "--text", "text"),
            {"label_separator": "|"},
        ),
    ],
)
def test_all_forms_give_the_same_model(file, options, columns, tmp_path):
    """It is that of Python, and remembers where the labels were."""
    out = tmp_path / "m.vbnmf"
    ok("fit", file, *options, *FIT, "--out", out)
    vectorizer = DocumentVectorizer()
    expected = DocumentModel(SupervisedVBNMF(6, max_iter=15, random_state=0), vectorizer)
    expected.fit(TEXTS, LISTS)
    found = load(out)
    np.testing.assert_array_equal(found.estimator_.components_, expected.estimator_.components_)
    np.testing.assert_array_equal(found.estimator_.head_.weights, expected.estimator_.head_.weights)
    assert found.estimator_.classes_.tolist() == sorted(WORDS)
    assert found.has_several_labels
    assert found.columns_ == {"text": "text", **columns}
    scores = ok(
        "evaluate", out, file, *(options if "--label-file" in options else ()), "--json"
    ).json
    assert scores["labelled_documents"] == 50


def test_messages(tmp_path):
    err = ok("fit", "tags.csv", *SEPARATED, "-k", "6", "--max-iter", "15", "--out",
             tmp_path / "m.vbnmf").err  # fmt: skip
    assert "10 of 60 documents have no label." in err
    assert "10 documents without a label are used too; their labels are inferred." in err
    assert "Fitting 6 components to 60 documents with 3 labels." in err
    assert "separator" not in err


def test_only_labelled(tmp_path):
    out = tmp_path / "m.vbnmf"
    err = ok("fit", "bits.csv", "--label", "bike", "--label", "coffee", "--label", "tea", "-k", "6",
             "--max-iter", "15", "--only-labelled", "--out", out).err  # fmt: skip
    assert "Ignored 10 documents without a label." in err
    assert "Fitting 6 components to 50 documents with 3 labels." in err
    kept = [i for i, labels in enumerate(LISTS) if labels]
    vectorizer = DocumentVectorizer()
    expected = DocumentModel(SupervisedVBNMF(6, max_iter=15, random_state=0), vectorizer)
    expected.fit([TEXTS[i] for i in kept], [LISTS[i] for i in kept])
    np.testing.assert_array_equal(load(out).estimator_.components_, expected.estimator_.components_)


def test_one_document_without_a_label(tmp_path):
    write_csv(
        tmp_path / "a.csv", TEXTS, ["", *(labels[0] if labels else "tea" for labels in LISTS[1:])]
    )
    options = ("--label", "label", "-k", "3", "--max-iter", "3", "--out", tmp_path / "m.vbnmf")
    err = ok("fit", tmp_path / "a.csv", *options).err
    assert "1 document without a label is used too; its label is inferred." in err
    err = ok("fit", tmp_path / "a.csv", *options, "--force", "--only-labelled").err
    assert "Ignored 1 document without a label." in err


def test_predict(model):
    labels, scores = load(model).predict_with_proba(TEXTS)
    assert {len(given) for given in labels} >= {1, 2}
    rows = ok("predict", model, "tags.csv", "--quiet").rows
    assert [row["label"] for row in rows] == joined(";", labels)
    for row, wanted in zip(rows, scores, strict=True):
        found = [float(score) for score in row["score"].split(";")]
        np.testing.assert_allclose(found, wanted, atol=5.1e-5)
        assert found == sorted(found, reverse=True)
    lines = ok("predict", model, "tags.csv", "--json").out.splitlines()
    parsed = [json.loads(line) for line in lines]
    assert [row["label"] for row in parsed] == labels
    assert [row["score"] for row in parsed] == [[rounded(p) for p in some] for some in scores]


def test_predictions_are_labels_again(model, tmp_path):
    """What predict wrote can be read, and the model agrees with itself."""
    out = tmp_path / "p.csv"
    ok("predict", model, "tags.csv", "--out", out)
    with open(out, encoding="utf-8") as file:
        labels = [row["label"] for row in csv.DictReader(file)]
    write_csv(tmp_path / "again.csv", TEXTS, labels, ("text", "tags"))
    scores = ok("evaluate", model, tmp_path / "again.csv", "--json").json
    assert scores["subset_accuracy"] == scores["micro_f1"] == scores["macro_f1"] == 1.0


def test_separator_of_predictions(model, home, tmp_path):
    labels = load(model).predict(TEXTS)
    rows = ok("predict", model, "tags.csv", "--label-separator", " + ").rows
    assert [row["label"] for row in rows] == joined(" + ", labels)
    ok("fit", "tags.csv", "--label-file", "labels.txt", "--label-separator", "|", "--text", "text",
       *FIT, "--out", tmp_path / "bar.vbnmf")  # fmt: skip
    rows = ok("predict", tmp_path / "bar.vbnmf", "tags.csv").rows
    assert [row["label"] for row in rows] == joined("|", labels)
    unclear = ok("predict", model, "tags.csv", "--label-separator", "e").err
    assert "The label 'bike' contains the separator 'e'." in unclear
    assert "contains the separator" not in ok("predict", model, "tags.csv").err


def test_documents_without_a_label_to_give(model, tmp_path, monkeypatch):
    write_csv(tmp_path / "new.csv", ["zzz", "wheel chain"], ["", ""], ("text", "tags"))
    nothing, something = ok("predict", model, tmp_path / "new.csv", "--quiet").rows
    fitted = load(model)
    given = [name for name, part in zip(fitted.estimator_.classes_,
             fitted.estimator_.label_frequencies_, strict=True)
             if part >= fitted.estimator_.head_.threshold]  # fmt: skip
    assert nothing["note"] == "no known term"
    assert sorted(nothing["label"].split(";")) == (given or [""])
    assert (something["label"], something["note"]) == ("bike", "")
    nobody = {"id": "3", "note": "no probable label"}
    monkeypatch.setattr(PredictsLabels, "labels_from", lambda _, P: np.zeros(P.shape, int))
    shy = ok("predict", model, tmp_path / "new.csv", "--quiet").rows[1]
    assert shy == {**nobody, "label": "", "score": ""}
    line = ok("predict", model, tmp_path / "new.csv", "--json").out.splitlines()[1]
    assert json.loads(line) == {**nobody, "label": [], "score": []}


class TestEvaluate:
    def test_numbers_are_those_of_scikit_learn(self, model):
        texts, lists = make(1, gaps=7, mixed=0.4)
        kept = [i for i, labels in enumerate(lists) if labels]
        names = MultiLabelBinarizer(classes=sorted(WORDS))
        truth = names.fit_transform([lists[i] for i in kept])
        given = names.transform(load(model).predict([texts[i] for i in kept]))
        scores = ok("evaluate", model, "later.csv", "--json").json
        assert scores["labelled_documents"] == len(kept) == 51
        assert scores["micro_f1"] == pytest.approx(f1_score(truth, given, average="micro"))
        assert scores["macro_f1"] == pytest.approx(f1_score(truth, given, average="macro"))
        assert scores["subset_accuracy"] == pytest.approx(accuracy_score(truth, given))
        assert 0.7 < scores["micro_f1"] < 0.9
        assert scores["subset_accuracy"] < scores["micro_f1"]
        assert scores["most_frequent_label_f1"] < 0.6
        assert 0 < scores["inter_label_sparsity"] < 1
        found = (truth & given).sum(axis=0)
        for i, row in enumerate(scores["labels"]):
            assert row == {
                "label": sorted(WORDS)[i],
                "documents": int(truth[:, i].sum()),
                "recall": pytest.approx(found[i] / truth[:, i].sum()),
                "precision": pytest.approx(found[i] / given[:, i].sum()),
                "component_share": row["component_share"],
                "fidelity": row["fidelity"],
                "fidelity_elsewhere": row["fidelity_elsewhere"],
                "known": True,
            }
            assert 0 <= row["component_share"] <= 1

    def test_table(self, model):
        out = ok("evaluate", model, "later.csv", "--quiet").out
        scores = ok("evaluate", model, "later.csv", "--json").json
        for name, key in {
            "micro F1": "micro_f1", "macro F1": "macro_f1", "subset accuracy": "subset_accuracy",
        }.items():  # fmt: skip
            line = next(line for line in out.splitlines() if line.startswith(name))
            assert f" {scores[key]:.4f} " in line
        assert "accuracy" not in out.replace("subset accuracy", "")

    def test_labels_that_are_strange(self, model, tmp_path):
        """Those the model does not know are not found; those it gives to nobody's are wrong."""
        texts = ["wheel chain gear", "leaf steep kettle"]
        write_csv(tmp_path / "x.csv", texts, ["cocoa", "tea;cocoa"], ("text", "tags"))
        scores = ok("evaluate", model, tmp_path / "x.csv", "--json").json
        assert [(row["label"], row["known"], row["recall"]) for row in scores["labels"]] == [
            ("tea", True, 1.0),
            ("cocoa", False, 0.0),
        ]
        # given: bike, tea; right: tea of 3 labels
        assert scores["micro_f1"] == pytest.approx(2 * 1 / (2 + 3))
        assert scores["macro_f1"] == 0.5
        assert scores["subset_accuracy"] == 0
        assert "cocoa (not in the model)" in ok("evaluate", model, tmp_path / "x.csv").out

    def test_a_file_of_single_labels(self, model, tmp_path):
        write_csv(tmp_path / "one.csv", ["wheel chain gear", "leaf steep kettle"], ["bike", "tea"])
        scores = ok("evaluate", model, tmp_path / "one.csv", "--label", "label", "--json").json
        assert scores["subset_accuracy"] == 1.0

    def test_a_model_of_single_labels(self, tmp_path):
        texts, labels = TEXTS, [labels[0] if labels else "tea" for labels in LISTS]
        write_csv(tmp_path / "one.csv", texts, labels)
        ok("fit", tmp_path / "one.csv", "--label", "label", *FIT, "--out", tmp_path / "one.vbnmf")
        result = run("evaluate", tmp_path / "one.vbnmf", "tags.csv", *SEPARATED)
        assert result.code == 2
        assert "have several labels, but the model was fitted to documents with one" in result.err


def test_other_commands(model, tmp_path):
    shown = ok("topics", model).out
    assert all(label in shown for label in WORDS)
    assert "wheel" in ok("topics", model, "--label", "bike").out
    ok("report", model, "--out", tmp_path / "m.html")
    page = unpacked((tmp_path / "m.html").read_text(encoding="utf-8"))
    assert page["several"] is True
    assert page["fit"]["threshold"] == pytest.approx(
        load(model).estimator_.head_.threshold, rel=1e-3
    )
    documents = {label["name"]: label["documents"] for label in page["labels"]}
    assert documents == {
        name: sum(labels) for labels, name in zip(zip(*bits(), strict=True), WORDS, strict=True)
    }
    ok("transform", model, "tags.csv", "--out", tmp_path / "c.npz")
    with np.load(tmp_path / "c.npz") as stored:
        np.testing.assert_array_equal(stored["coefficients"], load(model).transform(TEXTS))


def test_svmlight(tmp_path):
    lines = []
    for text, labels in zip(TEXTS, LISTS, strict=True):
        words = sorted({sorted(sum(WORDS.values(), [])).index(word) + 1 for word in text.split()})  # noqa: RUF017
        codes = ",".join(str(sorted(WORDS).index(label)) for label in labels or [])
        lines.append(" ".join([codes, *(f"{word}:1" for word in words)]))
    (tmp_path / "a.svm").write_text("\n".join(lines), encoding="utf-8")
    model = tmp_path / "m.vbnmf"
    ok("fit", tmp_path / "a.svm", "--label", "auto", *FIT, "--out", model)
    assert load(model).estimator_.classes_.tolist() == [0, 1, 2]
    row = json.loads(ok("predict", model, tmp_path / "a.svm", "--json").out.splitlines()[1])
    assert row["label"] == [sorted(WORDS).index(label) for label in LISTS[1]]
    assert ok("evaluate", model, tmp_path / "a.svm", "--json").json["micro_f1"] > 0.9


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--label", "one", "--label", "three"),
         "no label column 'three'; the columns are 'text', 'one', 'two'"),
        (("--label", "one", "--label", "text", "--text", "text"), "cannot be both text and label"),
        (("--label-separator", ";"), "a label separator, ';', but no label column"),
        (("--label", "one", "--label-separator", ""), "label_separator is ''"),
        (("--only-labelled",), "--only-labelled needs --label"),
    ],
)  # fmt: skip
def test_what_is_refused(args, message, tmp_path):
    result = run("fit", "columns.csv", *args, "--out", tmp_path / "m.vbnmf")
    assert result.code == 2
    assert message in result.err
    assert "Traceback" not in result.err
    assert not (tmp_path / "m.vbnmf").exists()


def test_a_separator_that_never_occurs_is_said(tmp_path):
    options = ("--label", "tags", "--label-separator", "/", "-k", "2", "--max-iter", "2")
    err = ok("fit", "tags.csv", *options, "--out", tmp_path / "m.vbnmf").err
    assert "The label separator '/' is in no label. Check whether" in err


def test_config_of_one_column(tmp_path):
    (tmp_path / "one.toml").write_text('label = "tags"\nlabel-separator = ";"', encoding="utf-8")
    out = tmp_path / "m.vbnmf"
    ok("fit", "tags.csv", "--config", tmp_path / "one.toml", *FIT, "--out", out)
    assert load(out).columns_ == {"text": "text", "label": "tags", "label_separator": ";"}
    (tmp_path / "bad.toml").write_text("label = [[1]]", encoding="utf-8")
    result = run("fit", "tags.csv", "--config", tmp_path / "bad.toml")
    assert result.code == 2
    assert "label = [[1]]; expected a string, a number" in result.err


@pytest.mark.parametrize("trained", ["float.parquet", "float.csv", "int.csv"])
@pytest.mark.parametrize("scored", ["float.parquet", "float.csv", "int.csv"])
def test_whole_numbers_are_the_same_labels_in_all_files(tmp_path, monkeypatch, trained, scored):
    """A column with gaps is one of floats, and pandas writes 1.0 to CSV."""
    monkeypatch.chdir(tmp_path)
    texts, labels = make_corpus(0)
    codes = pd.factorize(pd.Series(labels))[0]
    frame = pd.DataFrame({"text": texts, "label": pd.Series(codes, dtype="Int64")})
    frame.loc[3, "label"] = None
    frame.to_csv("int.csv")
    frame["label"] = frame["label"].astype(float)
    frame.to_csv("float.csv")
    frame.to_parquet("float.parquet")
    ok("fit", trained, "--label", "label", *FIT, "--out", "m.vbnmf")
    scores = ok("evaluate", "m.vbnmf", scored, "--json").json
    assert scores["micro_accuracy"] == 1.0
    assert [row["label"] for row in scores["labels"]] == ["0", "1", "2"]
    documents = read_documents(scored, label="label")
    found = analysed(load("m.vbnmf"), documents.texts, documents.labels)
    assert found.names == ["0", "1", "2"]
    assert not any(found.wrong)


@pytest.mark.parametrize("several", [False, True])
def test_ratings_with_fractions_are_names(tmp_path, monkeypatch, several):
    """Half stars are labels in JSON as in CSV, where they are texts."""
    monkeypatch.chdir(tmp_path)
    words = {0.5: "cold weak", 3.0: "fine plain", 4.5: "great fresh"}
    rows = [(f"tea {text} w{i % 3}", star) for i in range(8) for star, text in words.items()]
    stars = [None if i == 5 else [star, 3.5] if several else star
             for i, (_, star) in enumerate(rows)]  # fmt: skip
    lines = [{"text": text, "stars": star} for (text, _), star in zip(rows, stars, strict=True)]
    (tmp_path / "stars.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    err = ok("fit", "stars.jsonl", "--label", "stars", "-k", "4", "--max-iter", "9").err
    assert "numbers with fractions are used as names" in err
    known = load("stars.vbnmf").classes_.tolist()
    assert known == (["0.5", "3", "3.5", "4.5"] if several else ["0.5", "3", "4.5"])
    assert ok("evaluate", "stars.vbnmf", "stars.jsonl", "--json").json["labelled_documents"] == 23
