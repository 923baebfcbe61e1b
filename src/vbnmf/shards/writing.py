"""Write documents to shard folders in parts, and resume interrupted runs.

The format is described in :mod:`vbnmf.shards.folder`. A shard is written to a hidden folder, which
is then renamed. Values that no fit accepts are refused before they are written.
"""

import json
import os
import shutil
from collections.abc import Iterable, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.files import replacing
from vbnmf.shards import values
from vbnmf.shards.folder import FORMAT, MANIFEST, VERSION, Entry, ShardsError, checksum
from vbnmf.shards.shard import SHARD_NONZEROS, cut

PARTIAL = "partial.json"
"""Name of the file that lists the shards written so far."""


class ShardWriter:
    """Write documents to a shard folder, part by part.

    Parameters
    ----------
    path : str or path
        The folder. It is created if it does not exist.
    n_terms : int
        Number of columns of every part.
    dtype : dtype or None, default=None
        Type of the weights of terms, float32 or float64. None is float32 if all parts have this
        type, and float64 otherwise, as in memory.
    terms : sequence of str or None
        Names of the columns.
    labelled : bool
        Whether labels are passed with every part. A label may be None.
    multilabel : bool
        Whether labels are lists.
    weighted : bool
        Whether sample weights are passed with every part.
    columns : dict or None
        Text and label columns of the source, for ``DocumentModel.columns_``.
    recipe : str
        Description of the source and the options. An interrupted run with the same recipe is
        resumed. Shards of another recipe are replaced.
    shard_nonzeros : int
        Maximum number of non-zeros in a shard.

    Attributes
    ----------
    n_done : int
        Number of documents in complete shards on disk. To resume a run, add the documents after
        them.

    Examples
    --------
    >>> from scipy import sparse
    >>> from vbnmf.shards import Shards, ShardWriter
    >>> writer = ShardWriter("tea.shards", n_terms=2, labelled=True)
    >>> writer.add(sparse.csr_array([[1.0, 2.0], [0.0, 3.0]]), ["tea", None])
    >>> writer.add(sparse.csr_array([[4.0, 0.0]]), ["coffee"])
    >>> writer.finish()
    >>> Shards("tea.shards").shape
    (3, 2)
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        n_terms: int,
        *,
        dtype: Any = None,
        terms: Sequence[str] | None = None,
        labelled: bool = False,
        multilabel: bool = False,
        weighted: bool = False,
        columns: dict[str, Any] | None = None,
        recipe: str = "",
        shard_nonzeros: int = SHARD_NONZEROS,
    ) -> None:
        self.path = Path(path)
        self._n_terms, self._given = n_terms, None if dtype is None else np.dtype(dtype)
        self._terms = None if terms is None else [str(term) for term in terms]
        self._labelled, self._multilabel, self._weighted = labelled, multilabel, weighted
        self._columns, self._recipe = columns or {}, recipe
        self._size = shard_nonzeros
        self._parts: list[tuple[sparse.csr_array, Array, Array, Array]] = []
        self.path.mkdir(parents=True, exist_ok=True)
        self._entries, self._codes, self._dtype = _continued(self.path, recipe)
        self._found = values.ValueSummary(self.n_done, 0.0, 0.0)

    @property
    def n_done(self) -> int:
        """Number of documents in complete shards on disk."""
        return sum(entry.n_docs for entry in self._entries)

    def add(self, X: Any, labels: Iterable[Any] | None = None, weight: Any = None) -> None:
        """Add documents, (n_docs, n_terms), with their labels and weights.

        Examples
        --------
        >>> from vbnmf.shards import ShardWriter
        >>> writer = ShardWriter("add.shards", n_terms=2, labelled=True)
        >>> writer.add([[1.0, 2.0], [0.0, 3.0]], ["tea", None])
        """
        X = values.as_rows(sparse.csr_array(X))
        self._found += values.summarize(X)
        values.check(self._found)
        X = X.astype(self._given or X.dtype, copy=False)
        self._dtype = np.promote_types(self._dtype, X.dtype)
        listed = [None] * X.shape[0] if labels is None else list(labels)
        sizes, codes = self._coded(listed)
        counts_as = np.ones(X.shape[0]) if weight is None else np.asarray(weight, np.float64)
        if not X.shape[0] == len(listed) == len(counts_as):
            raise ValueError(
                f"a part has {X.shape[0]} documents, {len(listed)} labels and {len(counts_as)} "
                "weights; the numbers must be equal."
            )
        self._parts.append((X, sizes, codes, counts_as))
        if sum(part[0].nnz for part in self._parts) > 2 * self._size:
            self._flush(whole=False)

    def finish(self) -> None:
        """Write the last shard and the manifest. The folder can be used after that.

        Examples
        --------
        >>> from vbnmf.shards import Shards, ShardWriter
        >>> writer = ShardWriter("finish.shards", n_terms=2)
        >>> writer.add([[1.0, 2.0]])
        >>> writer.finish()
        >>> Shards("finish.shards").shape
        (1, 2)
        """
        self._flush(whole=True)
        write_manifest(
            self.path,
            self._entries,
            self._n_terms,
            self._dtype,
            labels=list(self._codes) if self._labelled else None,
            multilabel=self._multilabel,
            weights=self._weighted,
            columns=self._columns,
            terms=self._terms,
        )
        (self.path / PARTIAL).unlink(missing_ok=True)

    def _coded(self, labels: list[Any]) -> tuple[Array, Array]:
        """Return the number of labels of each document, and the codes of the labels.

        Codes are numbered in the order in which labels first occur.
        """
        sets = [
            [] if label is None else list(label) if isinstance(label, list | set) else [label]
            for label in labels
        ]
        kept = [[label for label in labels if label is not None] for labels in sets]
        plain = [[_plain(label) for label in labels] for labels in kept]
        self._check_types({type(label) for labels in plain for label in labels})
        codes = [
            sorted({self._codes.setdefault(label, len(self._codes)) for label in labels})
            for labels in plain
        ]
        flat = [code for each in codes for code in each]
        return np.array([len(each) for each in codes], np.int32), np.array(flat, np.int32)

    def _check_types(self, kinds: set[type]) -> None:
        """Raise ValueError for labels that a manifest cannot hold."""
        kinds = kinds | {type(label) for label in islice(self._codes, 1)}
        if kinds not in ({str}, {int}, set()):
            names = " and ".join(sorted(kind.__name__ for kind in kinds))
            raise ValueError(
                f"labels of a shard folder must all be strings, or all be whole numbers; got "
                f"{names}. Write all of them as strings."
            )

    def _flush(self, *, whole: bool) -> None:
        """Write all full shards; with ``whole``, also write the last one."""
        if not self._parts:
            return
        matrices, sizes, codes, weights = (list(each) for each in zip(*self._parts, strict=True))
        X = sparse.csr_array(sparse.vstack(matrices, format="csr"))
        n_labels, weight = np.concatenate(sizes), np.concatenate(weights)
        label_ends, flat = np.concatenate([[0], np.cumsum(n_labels)]), np.concatenate(codes)
        cuts = cut(np.diff(X.indptr), self._size).tolist()
        done = cuts[-1] if whole else cuts[-2]  # the last one may get more documents
        for a, b in pairwise(cuts):
            if b > done:
                break
            of = slice(label_ends[a], label_ends[b])
            self._write(X[a:b], n_labels[a:b], flat[of], weight[a:b])
        left = slice(label_ends[done], None)
        rest = (X[done:], n_labels[done:], flat[left], weight[done:])
        self._parts = [rest] if done < X.shape[0] else []

    def _write(self, X: sparse.csr_array, n_labels: Array, codes: Array, weight: Array) -> None:
        arrays: dict[str, Array] = {}
        if self._labelled:
            arrays["labels.indptr"] = np.concatenate([[0], np.cumsum(n_labels)]).astype(np.int32)
            arrays["labels.indices"] = codes
        if self._weighted:
            arrays["weight"] = weight
        name = f"{len(self._entries):05d}"
        for old in (self.path / name, *self.path.glob(f".{name}.*")):  # of interrupted runs
            shutil.rmtree(old, ignore_errors=True)
        self._entries.append(write_shard(self.path, name, X, arrays))
        partial = {
            "recipe": self._recipe,
            "dtype": self._dtype.name,
            "labels": list(self._codes),
            "shards": [entry.as_dict() for entry in self._entries],
        }
        _write_json(self.path / PARTIAL, partial)


def write_shards(
    path: str | os.PathLike[str],
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    terms: Sequence[str] | None = None,
    shard_nonzeros: int = SHARD_NONZEROS,
) -> None:
    """Write a matrix in memory to a shard folder.

    Parameters
    ----------
    path : str or path
        The folder.
    X : {array-like, sparse matrix} of shape (n_docs, n_terms)
        Non-negative weights of terms. float32 is kept; other types are converted to float64, as
        in a fit to X.
    y : iterable of labels, of lists of labels, or None
        Labels of the documents; None for an unknown label.
    sample_weight : array-like of shape (n_docs,) or None
        Sample weights.
    terms : sequence of str or None
        Names of the columns.
    shard_nonzeros : int
        Maximum number of non-zeros in a shard.

    Examples
    --------
    >>> from vbnmf.shards import Shards, write_shards
    >>> write_shards("tea.shards", [[1.0, 2.0], [0.0, 3.0]], ["tea", "coffee"])
    >>> Shards("tea.shards").labels
    ['tea', 'coffee']
    """
    X = sparse.csr_array(X)
    labels = None if y is None else list(y)
    writer = ShardWriter(
        path,
        X.shape[1],
        terms=terms,
        labelled=y is not None,
        multilabel=any(isinstance(label, list | set) for label in labels or []),
        weighted=sample_weight is not None,
        shard_nonzeros=shard_nonzeros,
    )
    writer.add(X, labels, sample_weight)
    writer.finish()


def write_shard(
    folder: Path, name: str, X: sparse.csr_array, arrays: dict[str, Array] | None = None
) -> Entry:
    """Write documents to a folder as the shard of this name, and return its entry.

    Several processes may write the same shard at the same time. The first one is kept.

    Parameters
    ----------
    folder : path
        The shard folder.
    name : str
        Digits.
    X : csr_array of shape (n_docs, n_terms)
        Documents, as :func:`~vbnmf.shards.values.as_rows` returns them.
    arrays : dict or None
        Labels and weights of the documents, by the names of their files.
    """
    by_term = X.tocsc()
    arrays = {
        "rows.indptr": X.indptr.astype(np.int32),
        "rows.indices": X.indices.astype(np.int32),
        "rows.data": X.data,
        "columns.indptr": by_term.indptr.astype(np.int32),
        "columns.indices": by_term.indices.astype(np.int32),
        "columns.data": by_term.data,
        **(arrays or {}),
    }
    return Entry(name, X.shape[0], X.nnz, _write_arrays(folder / name, arrays))


def write_manifest(
    folder: Path,
    entries: Sequence[Entry],
    n_terms: int,
    dtype: np.dtype[Any],
    *,
    labels: list[Any] | None = None,
    multilabel: bool = False,
    weights: bool = False,
    columns: dict[str, Any] | None = None,
    terms: list[str] | None = None,
) -> None:
    """Write the manifest of a folder, which makes it complete.

    Parameters
    ----------
    folder : path
        The shard folder.
    entries : sequence of Entry
        The shards, in the order of their documents.
    n_terms : int
        Number of columns.
    dtype : dtype
        Type of the values. Shards in float32 are cast to it when they are read.
    labels : list or None
        All labels, in the order of their codes; None if documents have none.
    multilabel, weights : bool
        Whether documents may have several labels; whether they have sample weights.
    columns : dict or None
        Text and label columns of the source.
    terms : list of str or None
        Names of the columns.
    """
    if not entries:
        raise ShardsError(f"there are no documents for {folder}.")
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "n_docs": sum(entry.n_docs for entry in entries),
        "n_terms": n_terms,
        "nnz": sum(entry.nnz for entry in entries),
        "dtype": dtype.name,
        "labels": labels,
        "multilabel": multilabel,
        "weights": weights,
        "columns": columns or {},
        "shards": [entry.as_dict() for entry in entries],
        "terms": terms,
    }
    _write_json(folder / MANIFEST, manifest)


def _plain(label: Any) -> Any:
    """Convert a label to a type that JSON has."""
    return label.item() if isinstance(label, np.generic) else label


def _continued(folder: Path, recipe: str) -> tuple[list[Entry], dict[Any, int], np.dtype[Any]]:
    """Return the shards, labels and type of an interrupted run; none if its recipe was another."""
    (folder / MANIFEST).unlink(missing_ok=True)
    try:
        partial = json.loads((folder / PARTIAL).read_bytes())
        entries = [
            Entry(e["name"], e["n_docs"], e["nnz"], {n: (s, c) for n, (s, c) in e["files"].items()})
            for e in partial["shards"]
        ]
        if recipe and partial["recipe"] == recipe and all(_is_whole(folder, e) for e in entries):
            codes = {label: code for code, label in enumerate(partial["labels"])}
            return entries, codes, np.dtype(partial["dtype"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass
    (folder / PARTIAL).unlink(missing_ok=True)
    return [], {}, np.dtype(np.float32)


def _is_whole(folder: Path, entry: Entry) -> bool:
    return all(
        checksum(folder / entry.name / f"{name}.npy") == crc
        for name, (_size, crc) in entry.files.items()
    )


def _write_arrays(folder: Path, arrays: dict[str, Array]) -> dict[str, tuple[int, int]]:
    """Write the arrays of a shard to a hidden folder, then rename the folder."""
    hidden = folder.with_name(f".{folder.name}.{uuid4().hex}")
    hidden.mkdir()
    files = {}
    try:
        for name, array in arrays.items():
            path = hidden / f"{name}.npy"
            with open(path, "wb") as file:
                np.save(file, np.ascontiguousarray(array), allow_pickle=False)
                file.flush()
                os.fsync(file.fileno())
            files[name] = (path.stat().st_size, checksum(path))
        hidden.rename(folder)
    except BaseException as error:
        shutil.rmtree(hidden, ignore_errors=True)
        if isinstance(error, OSError):
            if len(files) == len(arrays) and folder.is_dir():  # another process was faster
                return files
            reason = error.strerror or str(error)
            raise type(error)(f"cannot write {folder}: {reason}.") from error
        raise
    return files


def _write_json(path: Path, value: Any) -> None:
    with replacing(path) as temporary:
        text = json.dumps(value, ensure_ascii=True, allow_nan=False)
        temporary.write_text(text, encoding="ascii")
