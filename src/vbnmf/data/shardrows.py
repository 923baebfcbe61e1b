"""Read the documents of a shard folder as those of any other matrix."""

import os
from collections.abc import Iterator
from itertools import pairwise, repeat
from typing import Any

import numpy as np
from scipy import sparse

from vbnmf.data.documents import Documents, ReaderError
from vbnmf.shards import Shards


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
    known = labels and shards.labels is not None
    parts = shards.label_parts() if known else repeat(None)
    for number, of_shard in zip(range(shards.n_shards), parts, strict=False):
        X, first = shards.rows(number), int(shards.starts[number])
        for begin in range(0, X.shape[0], chunk):
            rows = X[begin : begin + chunk]
            at = range(first + begin, first + begin + rows.shape[0])
            yield Documents(
                str(path),
                matrix=sparse.csr_matrix(rows),
                labels=None
                if of_shard is None
                else _labels(shards, of_shard[begin : begin + chunk]),
                terms=shards.terms,
                ids=[str(row + 1) for row in at],
            )


def sample_shards(path: str | os.PathLike[str], most: int) -> Documents:
    """Read at most so many labelled documents of a folder, spread evenly, into memory.

    The notes say how many there are if some are left out.
    """
    shards = Shards(path)
    if shards.labels is None:
        raise ReaderError(f"{path}: no labels in this shard folder. Vectorize with --label.")
    n_docs = shards.shape[0]
    rows = np.arange(n_docs)
    notes = []
    if n_docs > most:
        rows = np.floor(np.arange(most) * (n_docs / most)).astype(np.int64)
        notes = [
            f"Using {most:,} of the {n_docs:,} documents in {path}, spread evenly, to save memory "
            "and time."
        ]
    ends = np.searchsorted(rows, shards.starts)
    found = [
        _labels(shards, part[rows[a:b] - first])
        for part, first, (a, b) in zip(
            shards.label_parts(), shards.starts, pairwise(ends.tolist()), strict=False
        )
    ]
    return Documents(
        str(path),
        matrix=sparse.csr_matrix(shards.take(rows)),
        labels=np.concatenate(found),
        terms=shards.terms,
        ids=[str(row + 1) for row in rows.tolist()],
        notes=notes,
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
