"""Numbers of documents that have each term, recounted: fits, shards, batches, model files."""

from functools import partial

import numpy as np
import pytest
from modelfiles import assert_refused, model_file
from numpy.testing import assert_array_equal
from safetensors.numpy import load as load_tensors
from smallfits import drawn, labels_of

from vbnmf import Shards, SupervisedVBNMF, load
from vbnmf.engines.local import LocalEngine
from vbnmf.estimators import heads, starting
from vbnmf.shards import write_shards
from vbnmf.shards.shard import Shard
from vbnmf.shards.work import label_term_documents

pytestmark = pytest.mark.filterwarnings("ignore:the fit did not converge")


def recounted(X, labels):
    """By hand: names of labels, counts by label, counts of all."""
    lists = [([] if one is None else one if isinstance(one, list) else [one]) for one in labels]
    names = sorted({name for one in lists for name in one})
    X = np.asarray(X)
    of_labels = np.zeros((len(names), X.shape[1]), int)
    of_all = np.zeros(X.shape[1], int)
    for row, one in zip(X, lists, strict=True):
        for w in range(len(row)):
            if row[w] > 0:
                of_all[w] += 1
                for name in one:
                    of_labels[names.index(name), w] += 1
    return names, of_labels, of_all


def assert_counted(model, X, labels):
    names, of_labels, of_all = recounted(X, labels)
    assert model.classes_.tolist() == names
    assert model.label_term_documents_.dtype == np.int32
    assert_array_equal(model.label_term_documents_.toarray(), of_labels)
    assert_array_equal(model.term_documents_, of_all)
    assert model.n_documents_ == len(labels)


def quick(**parameters):
    return SupervisedVBNMF(**{"n_components": 4, "max_iter": 4, "random_state": 0} | parameters)


@pytest.mark.parametrize("kind", ["one", "unknown", "several"])
def test_counts_of_a_fit(tmp_path, kind):
    X, y = drawn()
    labels, weight = labels_of(y, kind), np.where(np.arange(len(y)) % 3, 0.0, 2.5)
    X = X.toarray()
    model = quick().fit(X, labels, weight)
    assert_counted(model, X, labels)
    assert_array_equal(model.label_counts_.sum() > len(y), kind == "several")
    write_shards(tmp_path, X.astype(np.float64), labels, weight, shard_nonzeros=200)
    shards = Shards(tmp_path)
    assert shards.n_shards > 2
    assert_counted(quick(n_init=2).fit(shards), X, labels)


def test_explicit_zeros_and_several_shards_in_memory(monkeypatch):
    X, y = drawn()
    X = X.tocsr().astype(np.float32)
    X.data[::3] = 0
    monkeypatch.setattr(starting, "LocalEngine", partial(LocalEngine, shard_nonzeros=200))
    monkeypatch.setattr(heads, "SHARD_NONZEROS", 200)
    labels = labels_of(y, "unknown")
    assert_counted(quick().fit(X, labels), X.toarray(), labels)


def test_a_shard_without_documents_of_some_labels():
    from scipy import sparse

    X = sparse.csr_array(np.array([[1.0, 0, 2], [0, 0, 3], [0.5, 0, 0]]))
    known = sparse.csr_array(np.array([[1.0, 0, 0, 0], [0.5, 0, 0.5, 0]]))
    counts = label_term_documents(Shard(X, np.array([1, 0, 2]), 3, unknown=True), known)
    assert_array_equal(counts.toarray(), [[1, 0, 2], [0, 0, 0], [1, 0, 1], [0, 0, 0], [2, 0, 2]])


@pytest.mark.parametrize("kind", ["one", "unknown", "several"])
@pytest.mark.filterwarnings("ignore:all")
def test_batches_add(kind):
    X, y = drawn()
    X = X.toarray()
    labels = labels_of(y, kind)
    order = np.argsort(y != y[0], kind="stable")  # new labels come later
    X, labels = X[order], [labels[i] for i in order]
    model = quick(max_iter=3)
    begin = 0
    for end in (30, 60, len(y)):
        model.partial_fit(X[begin:end], labels[begin:end])
        assert_counted(model, X[:end], labels[:end])
        begin = end
    nothing = [None] * 5 if kind != "several" else [[]] * 5
    model.partial_fit(X[:5], nothing)
    assert_counted(model, np.vstack([X, X[:5]]), [*labels, *[None] * 5])


@pytest.mark.parametrize("kind", ["one", "several"])
def test_saved_and_loaded(tmp_path, kind):
    X, y = drawn()
    labels = labels_of(y, kind)
    quick().fit(X, labels).save(tmp_path / "m")
    model = load(tmp_path / "m")
    assert_counted(model, X.toarray(), labels)
    model.partial_fit(X[:20], labels[:20])
    assert model.n_documents_ == len(y) + 20
    again = SupervisedVBNMF(4, max_iter=4).fit(X, y)
    assert again.n_documents_ == len(y)


def damaged(name, change):
    """Apply a change to one array of counts, or to the header."""
    file = model_file(SupervisedVBNMF)
    if name == "documents":
        return file.with_header(documents=change)
    array = load_tensors(file.raw)[name].copy()
    change(array)
    return file.with_arrays(**{name: array})


def set_to(at, value):
    def change(array):
        array[at] = value

    return change


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("documents", 0),
        ("documents", 3),  # two labels of two documents each
        ("documents", 4.0),
        ("documents", 2**40),
        ("term_documents", set_to(0, 5)),
        ("term_documents", set_to(0, -1)),
        ("term_documents", set_to(0, 1)),  # label "a" alone has two
        ("label_terms.counts", set_to(0, 0)),
        ("label_terms.counts", set_to(0, 3)),
        ("label_terms.counts", set_to(0, -2)),
        ("label_terms.terms", set_to(0, 3)),
        ("label_terms.terms", set_to(0, 1)),  # twice the same
        ("label_terms.ends", set_to(-1, 9)),
    ],
)
def test_counts_that_contradict_one_another_are_refused(tmp_path, name, change):
    """Of the documents [3, 1, 0], [2, 0, 0] of label a, and [0, 1, 4], [0, 0, 2] of label b."""
    assert_refused(tmp_path / "m", damaged(name, change))


def test_the_counts_in_the_file(tmp_path):
    file = model_file(SupervisedVBNMF)
    arrays = load_tensors(file.raw)
    assert file.header["documents"] == 4
    assert arrays["term_documents"].tolist() == [2, 2, 2]
    assert arrays["label_terms.counts"].tolist() == [2, 1, 1, 2]
    assert arrays["label_terms.terms"].tolist() == [0, 1, 1, 2]
    assert arrays["label_terms.ends"].tolist() == [2, 4]
