"""Read the documents of a shard folder as those of any other matrix."""

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from vbnmf.data.documents import Documents, ReaderError
from vbnmf.data.shards import Shards


def read_shards(path: str | os.PathLike[str], *, labels: bool, required: bool) -> Documents:
    """Read all documents of a folder into memory; see :func:`iter_shards`."""
    parts = list(iter_shards(path, 1 << 62, labels=labels, required=required))
    matrix = sparse.vstack([part.matrix for part in parts], format="csr")
    tags = [part.labels for part in parts if part.labels is not None]
    return Documents(
        str(path),
        matrix=sparse.csr_matrix(matrix),
        labels=np.concatenate(tags) if tags else None,
        terms=parts[0].terms,
        ids=[name for part in parts for name in part.ids or []],
    )


def iter_shards(
    path: str | os.PathLike[str], chunk: int, *, labels: bool, required: bool
) -> Iterator[Documents]:
    """Read the documents of a folder in parts of at most ``chunk`` documents.

    Parameters
    ----------
    path : path
        The folder.
    chunk : int
        Maximum number of documents in a part. All documents of a part are from the same shard.
    labels : bool
        Whether labels are requested.
    required : bool
        Whether a folder without labels is an error if labels are requested.
    """
    shards = Shards(path)
    if labels and shards.labels is None and required:
        raise ReaderError(f"{path}: no labels in this shard folder. Vectorize with --label.")
    known = shards.indicators() if labels and shards.labels is not None else None
    for number in range(shards.n_shards):
        X, first = shards.rows(number), int(shards.starts[number])
        for begin in range(0, X.shape[0], chunk):
            rows = X[begin : begin + chunk]
            at = range(first + begin, first + begin + rows.shape[0])
            yield Documents(
                str(path),
                matrix=sparse.csr_matrix(rows),
                labels=None if known is None else _labels(shards, known[at.start : at.stop]),
                terms=shards.terms,
                ids=[str(row + 1) for row in at],
            )


def _labels(shards: Shards, indicators: sparse.csr_array) -> Any:
    """Return labels as readers do: labels or lists of labels, and None for unknown labels."""
    names = shards.labels or []
    parts = np.split(indicators.indices, indicators.indptr[1:-1])
    found = np.empty(indicators.shape[0], dtype=object)
    for row, codes in enumerate(parts):
        listed = [names[code] for code in codes]
        found[row] = (listed if shards.multilabel else listed[0]) if listed else None
    return found
