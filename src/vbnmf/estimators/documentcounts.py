"""Numbers of training documents that have each term: of each label, and of all documents.

Descriptions of labels are counted from them (``vbnmf.description.labels``). They are sums over
documents, so batches of ``partial_fit`` add to them. Model files hold them as a sparse matrix.
"""

from typing import Any

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.estimators.targets import Targets
from vbnmf.shards.shard import Shard
from vbnmf.shards.work import label_term_documents
from vbnmf.store import ModelFileError, read_rows


def set_counts(model: Any, counts: sparse.csr_array, n_docs: int) -> None:
    """Set the counts of a fit.

    Parameters
    ----------
    model : SupervisedVBNMF
        Model; its attributes are set.
    counts : csr_array of int32 of shape (n_labels + 1, n_terms)
        Documents that have each term: of each label, and in the last row of all documents.
    n_docs : int
        Number of documents.
    """
    model.label_term_documents_ = counts[:-1]
    model.term_documents_ = counts[[-1]].toarray().ravel()
    model.n_documents_ = n_docs


def add_counts(model: Any, X: sparse.csr_array, targets: Targets) -> None:
    """Add the documents of a batch to the counts; to none, if the model has none.

    Parameters
    ----------
    model : SupervisedVBNMF
        Model whose labels are those of the batch.
    X : csr_array of shape (n_docs, n_terms)
        Documents of the batch.
    targets : Targets
        Their labels.
    """
    if model.label_term_documents_ is None:  # from an older file
        return
    shard = Shard(X, targets.group, targets.labels.known.shape[0] + 1)
    counts = label_term_documents(shard, targets.labels.known)
    model.label_term_documents_ = sparse.csr_array(model.label_term_documents_ + counts[:-1])
    model.term_documents_ = model.term_documents_ + counts[[-1]].toarray().ravel()
    model.n_documents_ = model.n_documents_ + X.shape[0]


def add_empty_rows(model: Any, n_new: int) -> None:
    """Add rows for new labels, without documents so far."""
    if model.label_term_documents_ is not None:
        counts = model.label_term_documents_
        empty = sparse.csr_array((n_new, counts.shape[1]), dtype=counts.dtype)
        model.label_term_documents_ = sparse.csr_array(sparse.vstack([counts, empty]))


def counts_to_state(model: Any) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return entries of the header, and arrays; none if the model has no counts."""
    counts = model.label_term_documents_
    if counts is None:
        return {}, {}
    return {"documents": int(model.n_documents_)}, {
        "label_terms.counts": counts.data.astype(np.int32, copy=False),
        "label_terms.terms": counts.indices.astype(np.int32, copy=False),
        "label_terms.ends": counts.indptr[1:].astype(np.int64),
        "term_documents": model.term_documents_.astype(np.int32, copy=False),
    }


def read_counts(model: Any, header: dict[str, Any], arrays: dict[str, Array]) -> None:
    """Set the counts of a model from a file; None if the file is older and has none.

    Raises
    ------
    ModelFileError
        The counts contradict one another or the other attributes of the model.
    """
    model.label_term_documents_ = model.term_documents_ = model.n_documents_ = None
    if "documents" not in header:
        return
    n_docs, of_terms = header["documents"], arrays["term_documents"]
    data, n_terms = arrays["label_terms.counts"], model.n_features_in_
    sound = (
        type(n_docs) is int
        and 0 < n_docs <= np.iinfo(np.int32).max
        and of_terms.dtype == data.dtype == np.int32
        and of_terms.shape == (n_terms,)
        and data.ndim == 1
        and of_terms.min() >= 0
        and of_terms.max() <= n_docs
        and (data.size == 0 or data.min() >= 1)
        and model.label_counts_.max() <= n_docs
        and (model.multilabel_ or model.label_counts_.sum() <= n_docs)
    )
    if not sound:
        raise ModelFileError("the numbers of documents that have each term are damaged.")
    shape = (len(model.classes_), n_terms)
    counts = read_rows(arrays, "label_terms.terms", "label_terms.ends", data, shape)
    of_label = np.repeat(model.label_counts_, np.diff(counts.indptr))
    # at least: documents of the label and of the term overlap, if together they exceed all
    least = of_label + of_terms[counts.indices].astype(np.int64) - n_docs
    most = np.minimum(of_label, of_terms[counts.indices])
    listed = counts.sum(axis=0, dtype=np.int64)
    if (
        (data > most).any()
        or (data < least).any()
        or (not model.multilabel_ and (listed > of_terms).any())
    ):
        raise ModelFileError(
            "the numbers of documents that have each term do not add up: the file is damaged."
        )
    model.label_term_documents_, model.term_documents_ = counts, of_terms
    model.n_documents_ = n_docs
