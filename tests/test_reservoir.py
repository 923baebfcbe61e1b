"""The sample of documents that ``partial_fit`` keeps for the prediction head."""

import numpy as np
from scipy import sparse
from test_online import documents

from vbnmf.estimators.posterior import Reservoir


def sample(n_docs, seed=0, n_labels=3):
    X, y = documents(n_docs, n_labels, seed)
    codes = np.searchsorted(np.unique(y), y)
    where = (np.ones(n_docs), (np.arange(n_docs), codes))
    return Reservoir(X, sparse.csr_array(where, shape=(n_docs, n_labels)), np.ones(n_docs))


def test_reservoir_does_not_depend_on_order(monkeypatch):
    monkeypatch.setattr("vbnmf.estimators.posterior.LEAST_OF_A_LABEL", 3)
    parts = [sample(60, seed) for seed in range(3)]
    kept = parts[0].add(parts[1], 40).add(parts[2], 40)
    other = parts[2].add(parts[0], 40).add(parts[1], 40)
    assert kept.X.shape[0] == other.X.shape[0] == 40
    sort = [part.X.toarray()[np.lexsort(part.X.toarray().T)] for part in (kept, other)]
    np.testing.assert_array_equal(*sort)


def test_reservoir_keeps_rare_labels_and_its_bounds(monkeypatch):
    many, few = sample(300), sample(4, 1)
    rare = few.with_labels(np.array([3, 3, 3]), 4)
    kept = many.with_labels(np.arange(3), 4).add(rare, 50)
    assert kept.X.shape[0] == 50
    assert kept.indicators[:, [3]].sum() == 4
    monkeypatch.setattr("vbnmf.estimators.posterior.MOST_NONZEROS", 200)
    assert many.cut(1000).X.nnz <= 200
