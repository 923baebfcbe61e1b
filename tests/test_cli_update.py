"""vbnmf update, and DocumentModel.partial_fit, on small files."""

import re

import numpy as np
import pytest
from cliruns import run

from vbnmf import VBNMF, DocumentModel, SupervisedVBNMF, load
from vbnmf.cli.update import in_batches
from vbnmf.text.vectorizer import unknown_terms

TEA = ["green tea leaves", "steep tea leaves", "pot of green tea", "a cup of tea"]
COFFEE = ["roast coffee beans", "grind coffee beans", "a cup of coffee", "coffee beans"]
JUICE = ["press orange juice", "orange and apple juice", "cold apple juice of beans"]
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def write(path, rows, head="text,kind"):
    path.write_text("\n".join([head, *(",".join(row) for row in rows)]) + "\n", encoding="utf-8")
    return str(path)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [(text, "tea") for text in TEA] + [(text, "coffee") for text in COFFEE]
    write(tmp_path / "first.csv", rows * 2)
    write(tmp_path / "more.csv", [*rows[:5], *((text, "juice") for text in JUICE)])
    return tmp_path


def fitted(*options, label="kind"):
    labels = ("--label", label) if label else ("--text", "text")
    assert run("fit", "first.csv", *labels, "-k", "4", "--quiet", *options).code == 0
    return "first.vbnmf"


@pytest.mark.parametrize("options", [(), ("--updatable",)])
def test_update_replaces_the_model_and_tells_what_changed(folder, options):
    model = fitted(*options)
    result = run("update", model, "more.csv", "--json")
    assert result.code == 0, result.err
    told = result.json
    assert told["model"] == model
    assert (told["documents"], told["documents_seen"]) == (8, 24)
    assert told["new_labels"] == ["juice"]
    assert told["new_components"] == 1
    assert told["labels"][0] == {
        "label": "juice", "documents": 3, "documents_seen": 3, "change": None, "new": True,
    }  # fmt: skip
    assert told["accuracy_before"] == 5 / 8
    assert told["unknown_words"][:3] == ["juice", "orange", "apple"]
    assert 0.2 < told["unknown_word_share"] < 0.5
    assert len(told["components"]) == 4
    assert told["head_trained"] == bool(options)
    after = load(model)
    assert after.classes_.tolist() == ["coffee", "juice", "tea"]
    assert after.columns_ == {"text": "text", "label": "kind"}
    assert after.estimator_.n_samples_seen_ == 24
    again = run("update", model, "more.csv")
    assert again.code == 0
    assert "8 new documents, 32 seen in all." in again.out
    assert re.search(r"^Predicted correctly before the update: \d+ % of 8 labelled documents\.$",
                     again.out, re.M)  # fmt: skip
    assert "No new labels." in again.out


def test_out_and_force(folder):
    model = fitted()
    before = (folder / model).read_bytes()
    assert run("update", model, "more.csv", "--out", "new.vbnmf").code == 0
    refused = run("update", model, "more.csv", "--out", "new.vbnmf")
    assert refused.code == 2
    assert "new.vbnmf exists. Add --force" in refused.err
    assert run("update", model, "more.csv", "--out", "new.vbnmf", "--force").code == 0
    assert "is the input" in run("update", model, "more.csv", "--out", model).err
    assert (folder / model).read_bytes() == before


def test_without_labels(folder):
    model = fitted(label=None)
    told = run("update", model, "more.csv", "--json").json
    assert told["documents_seen"] == 24
    assert "labels" not in told
    assert "component" in run("update", model, "more.csv").out


def test_numbers_as_labels(folder):
    write(folder / "first.csv", [(text, str(n % 2)) for n, text in enumerate(TEA + COFFEE)] * 2)
    write(folder / "more.csv", [("tea", "1.0"), ("coffee", "7"), ("beans", "")])
    model = fitted()
    assert run("update", model, "more.csv", "--json").json["new_labels"] == ["7"]
    assert load(model).classes_.tolist() == ["0", "1", "7"]


@pytest.mark.parametrize(
    ("rows", "head", "message"),
    [
        ([], "text,kind", "there are no documents"),
        ([("guten Tag", "tea")], "text,kind", "no document of this batch has a term"),
        ([("tea",)], "text", "--label"),
    ],
)
def test_files_that_cannot_be_learned_from(folder, rows, head, message):
    model = fitted()
    before = (folder / model).read_bytes()
    result = run("update", model, write(folder / "odd.csv", rows, head))
    assert result.code == 2
    assert message in result.err
    assert "Traceback" not in result.err
    assert (folder / model).read_bytes() == before
    assert sorted(path.name for path in folder.iterdir()) == [
        *("first.csv", "first.vbnmf", "more.csv", "odd.csv")
    ]


@pytest.mark.parametrize(("n_docs", "seen"), [(1, 1), (10, 100), (100, 10), (50, 0.5)])
def test_batches_are_no_larger_than_what_was_seen(n_docs, seen):
    batches = in_batches(n_docs, seen)
    assert sorted(np.concatenate(batches).tolist()) == list(range(n_docs))
    for rows in batches:
        assert len(rows) <= 1.5 * max(seen, 1)
        seen += len(rows)
    assert len(batches) < 9


@pytest.mark.filterwarnings("ignore::vbnmf.text.EmptyDocumentWarning")
def test_document_model(folder):
    model = DocumentModel(SupervisedVBNMF(4, random_state=0, n_jobs=1))
    assert model.partial_fit(iter(TEA + COFFEE), ["tea"] * 4 + ["coffee"] * 4) is model
    assert model.unknown_share_ == 0
    terms = model.terms_
    model.partial_fit(iter(JUICE + TEA), ["juice"] * 3 + ["tea"] * 4)
    assert model.terms_ is terms
    assert model.unknown_share_ == 10 / 25
    assert model.classes_.tolist() == ["coffee", "juice", "tea"]
    model.partial_fit(TEA)  # of unknown labels
    assert model.estimator_.n_samples_seen_ == 19
    assert model.estimator_.label_counts_.sum() == 15
    assert model.predict(["grind coffee beans", "green tea"]).tolist() == ["coffee", "tea"]
    model.save(folder / "model")
    again = load(folder / "model").partial_fit(TEA, ["tea"] * 4)
    assert (
        again.predict_proba(TEA) == model.partial_fit(TEA, ["tea"] * 4).predict_proba(TEA)
    ).all()
    with pytest.raises(ValueError, match="fitted without labels"):
        DocumentModel(VBNMF(2)).fit(TEA).partial_fit(TEA, ["tea"] * 4)


def test_unknown_terms():
    vectorizer = DocumentModel().fit(TEA + COFFEE, ["a", "b"] * 4).vectorizer_
    found = unknown_terms(vectorizer, ["tea juice juice", "coffee juice milk"])
    assert found.share == pytest.approx(4 / 6)
    assert found.commonest == [("juice", 2), ("milk", 1)]
