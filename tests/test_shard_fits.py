"""Estimators on shards: as in memory."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from smallfits import ATTRIBUTES, drawn, labels_of, value_of

from vbnmf import VBNMF, DocumentModel, Shards, SupervisedVBNMF
from vbnmf.estimators import heads, starting
from vbnmf.shards import write_shards

pytestmark = pytest.mark.kernel


@pytest.mark.parametrize("kind", ["one", "unknown", "several"])
def test_one_shard_gives_the_same_bits_as_memory(tmp_path, kind):
    X, y = drawn()
    labels, weight = labels_of(y, kind), np.where(np.arange(len(y)) % 3, 1.0, 2.0)
    write_shards(tmp_path, X.astype(np.float64), labels, weight)
    make = SupervisedVBNMF(6, max_iter=12, tol=0, random_state=0)
    memory, shards = make.fit(X, labels, weight), Shards(tmp_path)
    expected = {name: value_of(memory, name).copy() for name in ATTRIBUTES}
    P, V = memory.predict_proba(X), memory.transform(X)
    streamed = SupervisedVBNMF(6, max_iter=12, tol=0, random_state=0).fit(shards)
    for name, value in expected.items():
        assert_array_equal(value_of(streamed, name), value)
    assert streamed.classes_.tolist() == memory.classes_.tolist()
    assert_array_equal(streamed.predict_proba(shards), P)
    assert_array_equal(streamed.transform(shards), V)
    assert_array_equal(streamed.head_documents_, np.arange(len(y)))


@pytest.mark.parametrize("labelled", [False, True])
def test_nearly_all_documents_are_empty(tmp_path, labelled):
    """The search samples documents: those with terms, if a sample would hardly have any."""
    n_docs = 100_000
    entries = [3.0] * 6, (np.repeat([5, 9], 3), np.arange(6))
    X = sparse.csr_array(sparse.coo_array(entries, (n_docs, 6)))
    y = np.where(np.arange(n_docs) % 10 == 5, "a", "b") if labelled else None
    write_shards(tmp_path, X, y, shard_nonzeros=3)
    kind = SupervisedVBNMF if labelled else VBNMF
    memory, streamed = (
        kind(2, max_iter=8, tol=0, random_state=0).fit(*documents)
        for documents in ((X, y) if labelled else (X,), (Shards(tmp_path),))
    )
    heavy = memory.components_ > memory.components_.mean(axis=1, keepdims=True)
    assert sorted(heavy.astype(int).tolist()) == [[0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0]]
    assert_allclose(streamed.components_, memory.components_, rtol=1e-6)


def test_many_shards_differ_by_rounding(tmp_path, monkeypatch):
    monkeypatch.setattr(starting, "MOST_DOCUMENTS", 60)
    X, y = drawn()
    write_shards(tmp_path, X.astype(np.float64), y, shard_nonzeros=X.shape[0])
    shards = Shards(tmp_path)
    assert shards.n_shards > 5
    parameters = {"max_iter": 12, "tol": 0, "random_state": 0, "classifier": "components"}
    memory = SupervisedVBNMF(6, **parameters).fit(X, y)
    streamed = SupervisedVBNMF(6, **parameters).fit(shards)
    assert_allclose(streamed.components_, memory.components_, rtol=1e-6, atol=1e-9)
    assert_allclose(streamed.bound_history_, memory.bound_history_, rtol=1e-9)
    assert_array_equal(streamed.predict(shards), memory.predict(X))
    unsupervised = [VBNMF(4, max_iter=8, tol=0, random_state=0).fit(x) for x in (X, shards)]
    assert_allclose(*(model.bound_history_ for model in unsupervised), rtol=1e-9)


def test_the_head_begins_with_a_sample_and_says_so(tmp_path, monkeypatch):
    X, y = drawn(n_docs=300)
    write_shards(tmp_path, X, labels_of(y, "unknown"), shard_nonzeros=X.shape[0])
    shards = Shards(tmp_path)
    monkeypatch.setattr(heads, "HEAD_NONZEROS", shards.nnz // 2)
    model = SupervisedVBNMF(6, max_iter=8, tol=0, random_state=0).fit(shards)
    rows = model.head_documents_
    assert 0.2 * len(y) < len(rows) < 0.6 * len(y)
    assert (rows % 5 > 0).all()  # the labels of the others are unknown
    assert f"a sample of {len(rows):,} documents, then trained on all 240" in (
        model.classifier_reason_
    )
    assert model.left_out_proba_.shape == (len(rows), len(model.classes_))
    assert model.score(shards, [f"label {code}" for code in y]) > 0.8


def test_labels_and_weights_may_be_given_beside_the_shards(tmp_path):
    X, y = drawn()
    X = sparse.csr_array(X.multiply((np.arange(len(y)) != 7)[:, None]))
    write_shards(tmp_path, X, [0] * len(y))
    model = SupervisedVBNMF(4, max_iter=5, tol=0, random_state=0)
    assert model.fit(Shards(tmp_path), y).classes_.tolist() == sorted(set(y.tolist()))
    with pytest.raises(ValueError, match="weight zero"):
        VBNMF(2).fit(Shards(tmp_path), sample_weight=1.0 * (np.arange(len(y)) == 7))


def test_refusals(tmp_path):
    X, y = drawn()
    write_shards(tmp_path / "none", X)
    write_shards(tmp_path / "unknown", X, [None] * len(y))
    write_shards(tmp_path / "empty", 0 * X[:, :3])
    with pytest.raises(ValueError, match="holds no labels"):
        SupervisedVBNMF(2).fit(Shards(tmp_path / "none"))
    with pytest.raises(ValueError, match="no label for any document"):
        SupervisedVBNMF(2).fit(Shards(tmp_path / "unknown"))
    with pytest.raises(ValueError, match="nothing to learn from"):
        VBNMF(2).fit(Shards(tmp_path / "empty"))
    with pytest.raises(ValueError, match="documents in memory"):
        VBNMF(2).fit_coefficients(Shards(tmp_path / "none"))
    model = VBNMF(2, max_iter=2).fit(Shards(tmp_path / "none"))
    with pytest.raises(ValueError, match="terms that VBNMF was fitted to"):
        model.transform(Shards(tmp_path / "empty"))


@pytest.mark.parametrize("kind", ["none", "one", "unknown", "several", "given"])
def test_partial_fit_learns_from_one_shard_after_the_other(tmp_path, kind):
    X, y = drawn()
    labels = labels_of(y, "one" if kind == "given" else kind) if kind != "none" else None
    weight = np.where(np.arange(len(y)) % 3, 1.0, 2.0)
    write_shards(tmp_path, X, None if kind == "given" else labels, weight, shard_nonzeros=400)
    shards = Shards(tmp_path)
    assert shards.n_shards >= 3
    parameters = {"max_iter": 5, "tol": 0, "random_state": 0}
    labelled = {"classifier": "components", **parameters}
    found, expected = (
        (VBNMF(4, **parameters) if kind == "none" else SupervisedVBNMF(6, **labelled))
        for _ in range(2)
    )
    found.partial_fit(shards, labels if kind == "given" else None)
    for number, (a, b) in enumerate(pairwise(shards.starts)):
        given = None if labels is None else labels[a:b]
        expected.partial_fit(shards.rows(number), given, weight[a:b])
    names = ("components_",) if kind == "none" else ATTRIBUTES
    for name in names:
        assert_array_equal(value_of(found, name), value_of(expected, name), err_msg=name)
    assert found.n_samples_seen_ == weight.sum()


def test_partial_fit_of_shards_is_undone_by_an_error(tmp_path):
    X, y = drawn()
    write_shards(tmp_path, X, shard_nonzeros=400)
    model = SupervisedVBNMF(6, max_iter=5, tol=0, classifier="generative").fit(X, y)
    before = model.components_
    with pytest.raises(ValueError, match="y has 3 labels"):
        model.partial_fit(Shards(tmp_path), y[:3])
    strange = list(y)
    strange[-1] = 7  # in the last shard
    with pytest.raises(ValueError, match="not in classes"):
        model.partial_fit(Shards(tmp_path), strange, classes=[0, 1, 2])
    assert model.components_ is before


def test_a_document_model_learns_from_shards(tmp_path):
    X, y = drawn()
    write_shards(tmp_path / "a", X, labels_of(y, "one"), shard_nonzeros=400)
    write_shards(tmp_path / "b", X, shard_nonzeros=400)
    make = SupervisedVBNMF(6, max_iter=5, tol=0, classifier="generative")
    model = DocumentModel(make).partial_fit(Shards(tmp_path / "a"))
    assert model.estimator_.label_counts_.sum() == len(y)
    model.partial_fit(Shards(tmp_path / "a")).partial_fit(Shards(tmp_path / "b"))
    assert model.estimator_.label_counts_.sum() == 2 * len(y)
    assert model.estimator_.n_samples_seen_ == 3 * len(y)
    assert model.n_empty_ == 0
