"""Every command over every format that is read, with and without labels."""

import json

import numpy as np
import pytest
from cliruns import FIT, LABELS, TEXTS, counts, fitted, ok, write_all

from vbnmf import load

FORMATS = [
    *("csv", "tsv", "jsonl", "csv.gz", "jsonl.gz", "stdin csv", "stdin jsonl.gz"),
    *("parquet", "feather", "folder", "folder + labels", "svmlight", "mtx", "npz"),
]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("formats")


@pytest.fixture(scope="module")
def sources(home):
    return write_all(home)


@pytest.fixture(scope="module")
def expected():
    """What the model of the texts, and of the matrix, must be."""
    X, terms = counts()
    return {False: fitted(), True: fitted(X, LABELS, terms)}


@pytest.fixture(scope="module", params=FORMATS)
def source(request, sources):
    assert set(sources) == set(FORMATS)
    return sources[request.param]


@pytest.fixture(scope="module")
def model(source, tmp_path_factory):
    """A model of one format, fitted by the command line."""
    path = tmp_path_factory.mktemp("model") / "m.vbnmf"
    run = ok("fit", source.path, *source.labelled, *FIT, "--out", path, stdin=source.stdin)
    assert run.out == run.err == ""
    return path


def labels_of(source):
    """Labels as the format tells them: svmlight has numbers only."""
    if str(source.path).endswith(".svm"):
        return np.unique(LABELS, return_inverse=True)[1].tolist()
    return LABELS


def contents_of(source):
    return counts()[0] if source.is_matrix else TEXTS


@pytest.mark.filterwarnings("ignore:the fit did not converge")
def test_all_formats_give_the_same_model(source, model, expected):
    """The model does not depend on the format, and is that of Python."""
    found, wanted = load(model), expected[source.is_matrix]
    np.testing.assert_array_equal(found.estimator_.components_, wanted.estimator_.components_)
    assert found.estimator_.classes_.tolist() == sorted(set(labels_of(source)))
    assert found.estimator_.label_counts_.tolist() == [14, 14, 14]
    if "--terms" in source.labelled or not source.is_matrix:
        assert found.terms_.tolist() == wanted.terms_.tolist()
    else:
        assert found.terms_[3] == "term 3"


def test_fit_without_labels(source, tmp_path):
    path = tmp_path / "u.vbnmf"
    run = ok("fit", source.path, *source.plain, *FIT, "--json", "--out", path, stdin=source.stdin)
    assert run.json["labels"] == 0
    assert run.json["documents"] == len(TEXTS)
    assert not load(path).has_labels


def test_topics(source, model):
    by_number = {row["component"]: row for row in ok("topics", model, "--json").json}
    loaded = load(model)
    parts = loaded.estimator_.components_ / loaded.estimator_.component_sums_[:, None]
    assert sorted(by_number) == list(range(6))
    for k, row in by_number.items():
        if row["faded"]:
            assert row["terms"] == {}
            continue
        # the terms that describe the component, with their part of it
        named = dict(zip(loaded.terms_.tolist(), parts[k].tolist(), strict=True))
        chosen = loaded.terms_[loaded.estimator_.describing_terms_[k]].tolist()
        assert list(row["terms"]) == chosen[: len(row["terms"])]
        assert row["terms"] == pytest.approx({term: named[term] for term in row["terms"]})
    for label in set(labels_of(source)):
        assert str(label) in ok("topics", model).out
        assert ok("topics", model, "--label", str(label)).out


def test_predict(source, model):
    labels, scores = load(model).predict_with_proba(contents_of(source))
    rows = ok("predict", model, source.path, *source.plain, "--quiet", stdin=source.stdin).rows
    assert [row["label"] for row in rows] == [str(label) for label in labels]
    np.testing.assert_allclose([float(row["score"]) for row in rows], scores, atol=5.1e-5)
    assert {row["note"] for row in rows} == {""}
    assert len({row["id"] for row in rows}) == len(TEXTS)

    lines = ok("predict", model, source.path, *source.plain, "--json", stdin=source.stdin).out
    parsed = [json.loads(line) for line in lines.splitlines()]
    assert [row["label"] for row in parsed] == labels.tolist()
    assert [row["id"] for row in parsed] == [row["id"] for row in rows]


def test_evaluate(source, model):
    predicted = load(model).predict(contents_of(source))
    right = np.mean(predicted == np.array(labels_of(source)))
    run = ok("evaluate", model, source.path, *source.labelled, "--json", stdin=source.stdin)
    assert run.json["documents"] == len(TEXTS)
    assert run.json["micro_accuracy"] == pytest.approx(right)
    assert right > 0.9
    assert all(row["known"] for row in run.json["labels"])


def test_transform(source, model, tmp_path):
    out = tmp_path / "coefs.npz"
    ok("transform", model, source.path, *source.plain, "--out", out, stdin=source.stdin)
    with np.load(out) as stored:
        expected = load(model).transform(contents_of(source))
        np.testing.assert_array_equal(stored["coefficients"], expected)
        assert len(set(stored["ids"])) == len(TEXTS)


def test_names_of_documents(sources, tmp_path):
    """Lines of a file, rows of a table, names of files; places from 0 in a matrix."""
    first = {
        "csv": "2", "jsonl": "1", "parquet": "1", "folder": "bike/000.txt",
        "folder + labels": "000.txt", "npz": "1",
    }  # fmt: skip
    for name, wanted in first.items():
        source = sources[name]
        model = tmp_path / f"{name}.vbnmf"
        ok("fit", source.path, *source.labelled, *FIT, "--out", model)
        assert ok("predict", model, source.path, *source.plain).rows[0]["id"] == wanted
