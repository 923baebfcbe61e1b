"""Parts in which the search looks at documents and terms change no bit of the results."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from vbnmf import SupervisedVBNMF
from vbnmf.discovery import clusters, componentsearch, labelterms
from vbnmf.metrics import passages


@pytest.fixture
def documents():
    rng = np.random.default_rng(3)
    y = np.arange(120) % 4
    X = rng.poisson(rng.gamma(0.3, size=(4, 30))[y] + 0.1)
    return sparse.csr_array(X.astype(np.float32)), y


def test_what_labels_take_and_clusters_are_summed_in_parts(monkeypatch, documents):
    X, y = documents

    def fitted():
        model = SupervisedVBNMF(5, random_state=0, max_iter=5, tol=0).fit(X, y)
        return model.component_shapes_, model.bound_

    whole, bound = fitted()
    monkeypatch.setattr(labelterms, "_SHARES_AT_ONCE", 1)
    monkeypatch.setattr(clusters, "_NONZEROS_AT_ONCE", 1)
    monkeypatch.setattr(componentsearch, "_ROWS_AT_ONCE", 3)
    found, other = fitted()
    assert_array_equal(found, whole)
    assert other == bound


def test_padding_is_removed_in_place(monkeypatch):
    rows = np.arange(40.0).reshape(5, 8)
    expected = rows[:, :6].copy()
    monkeypatch.setattr(componentsearch, "_ROWS_AT_ONCE", 2)
    found = componentsearch._without_padding(rows, 6)
    assert_array_equal(found, expected)
    assert np.shares_memory(found, rows)


def test_least_number_of_the_documents_of_a_term(monkeypatch, documents):
    by_term = sparse.csc_array(documents[0])
    of_document = np.random.default_rng(0).permutation(120).astype(np.uint64)
    expected = [of_document[by_term.indices[a:b]].min() for a, b in
                zip(by_term.indptr[:-1], by_term.indptr[1:], strict=True)]  # fmt: skip
    for size in (1, 50, 1 << 17):
        monkeypatch.setattr(passages, "_NONZEROS_AT_ONCE", size)
        assert_array_equal(passages._least(by_term, of_document), expected)
