"""Read shard folders, which hold corpora that do not fit into memory.

    FOLDER/manifest.json      numbers of documents, terms, labels, and a checksum for each file
    FOLDER/00000/*.npy        plain arrays of the first shard, which are memory-mapped
    FOLDER/vectorizer.vbnmf   the vectorizer, if the documents were texts

A shard holds its documents by rows and by columns, because a sweep needs both, and their labels and
sample weights. Documents are divided as in memory (``vbnmf.shards.shard.cut``).

The manifest is written last, so a folder with a manifest is complete. Files are not trusted: before
compiled code uses an array, its size and checksum are compared with the manifest, and its shape,
type and values are checked. Folders are written by ``vbnmf.shards.writing``.
"""

import copy
import json
import mmap
import os
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.shards import values
from vbnmf.shards.states import load_array

FORMAT, VERSION = "vbnmf shards", 1
MANIFEST, VECTORIZER = "manifest.json", "vectorizer.vbnmf"
MOST_MANIFEST = 1 << 30
"""Maximum number of bytes of a manifest; a million terms take about ten million bytes."""

_NAME = re.compile(r"[0-9]{5,10}")
_AT_ONCE = 1 << 16  # indices whose order is checked at a time
# Checks that copies from other processes have passed: a file has the right checksum, or, by "rows"
# or "columns", all values are valid.
_SOUND: dict[str, set[tuple[int, str]]] = {}
_TYPES = {
    "rows.indptr": np.int32,
    "rows.indices": np.int32,
    "rows.data": None,  # that of the manifest, or one that it can hold
    "columns.indptr": np.int32,
    "columns.indices": np.int32,
    "columns.data": None,
    "labels.indptr": np.int32,
    "labels.indices": np.int32,
    "weight": np.float64,
}
_ALWAYS = [name for name in _TYPES if name.startswith(("rows", "columns"))]


class ShardsError(ValueError):
    """Error about a folder that cannot be used as a shard folder.

    Examples
    --------
    >>> from vbnmf.shards import Shards, ShardsError
    >>> try:
    ...     Shards("nowhere")
    ... except ShardsError:
    ...     print("not a shard folder")
    not a shard folder
    """


def damaged(path: Path, why: str) -> ShardsError:
    """Return the error about a damaged file."""
    return ShardsError(f"{path} is damaged: {why}. Vectorize the documents again.")


@dataclass(frozen=True)
class Entry:
    """Entry of a shard in the manifest."""

    name: str
    n_docs: int
    nnz: int
    files: dict[str, tuple[int, int]]  # bytes and CRC-32 by the name of an array

    def as_dict(self) -> dict[str, Any]:
        """Return the same in types of JSON."""
        files = {name: list(numbers) for name, numbers in sorted(self.files.items())}
        return {"name": self.name, "n_docs": self.n_docs, "nnz": self.nnz, "files": files}


class Shards:
    """Documents in a shard folder, for ``fit`` instead of a matrix.

    Parameters
    ----------
    path : str or path
        A folder written by ``vectorize_to_shards``, ``ShardWriter`` or ``write_shards``.

    Attributes
    ----------
    shape : tuple of int
        Number of documents and of terms.
    nnz : int
        Number of non-zeros.
    dtype : dtype
        float32 or float64; see ``cast``.
    terms : list of str or None
        Names of the columns.
    labels : list or None
        All labels of the documents; None if the folder has no labels.
    multilabel : bool
        Whether documents may have several labels.

    Raises
    ------
    ShardsError
        The folder does not exist, is not complete, or is damaged. The message names the file.

    Examples
    --------
    >>> import tempfile
    >>> from scipy import sparse
    >>> from vbnmf import Shards
    >>> from vbnmf.shards import write_shards
    >>> folder = tempfile.mkdtemp()
    >>> X = sparse.csr_array([[5.0, 4, 0, 0], [3, 4, 0, 0], [0, 0, 6, 5], [0, 0, 3, 3]])
    >>> write_shards(folder, X)
    >>> shards = Shards(folder)
    >>> shards.shape, shards.nnz, len(shards)
    ((4, 4), 8, 4)
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        manifest = _read_manifest(self.path)
        self.entries = _entries(self.path, manifest)
        self.shape = (sum(e.n_docs for e in self.entries), manifest["n_terms"])
        self.nnz = sum(e.nnz for e in self.entries)
        self.dtype = np.dtype(manifest["dtype"])
        self.terms: list[str] | None = manifest["terms"]
        self.labels: list[Any] | None = manifest["labels"]
        self.multilabel: bool = manifest["multilabel"]
        self.has_weights: bool = manifest["weights"]
        self.source_columns: dict[str, Any] = manifest["columns"]
        self.starts = np.cumsum([0, *(e.n_docs for e in self.entries)])
        self._token, self._sound = uuid4().hex, set[tuple[int, str]]()
        _check_files(self)

    @property
    def n_shards(self) -> int:
        """Number of shards."""
        return len(self.entries)

    @property
    def vectorizer_file(self) -> Path | None:
        """The file of the vectorizer, if the documents were texts."""
        path = self.path / VECTORIZER
        return path if path.is_file() else None

    def cast(self, dtype: Any) -> Self:
        """Return the same documents with values of another type, cast when they are read.

        Examples
        --------
        >>> import numpy as np
        >>> from vbnmf.shards import Shards, write_shards
        >>> write_shards("cast.shards", np.float32([[5, 4, 0], [0, 0, 6]]))
        >>> Shards("cast.shards").cast("float64").rows(0).dtype
        dtype('float64')
        """
        if dtype == self.dtype:
            return self
        other = copy.copy(self)
        other.dtype = np.dtype(dtype)
        return other

    def rows(self, number: int) -> sparse.csr_array:
        """Return the documents of a shard, (n_docs, n_terms), memory-mapped.

        Examples
        --------
        >>> from vbnmf.shards import Shards, write_shards
        >>> write_shards("rows.shards", [[5.0, 4, 0], [0, 0, 6]], ["tea", None])
        >>> Shards("rows.shards").rows(0).toarray().tolist()
        [[5.0, 4.0, 0.0], [0.0, 0.0, 6.0]]
        """
        return self._compressed(number, "rows", sparse.csr_array)

    def by_term(self, number: int) -> sparse.csc_array:
        """Return the documents of a shard in CSC format, memory-mapped.

        Examples
        --------
        >>> from vbnmf.shards import Shards, write_shards
        >>> write_shards("by-term.shards", [[5.0, 4, 0], [0, 0, 6]], ["tea", None])
        >>> Shards("by-term.shards").by_term(0).toarray().tolist()
        [[5.0, 4.0, 0.0], [0.0, 0.0, 6.0]]
        """
        return self._compressed(number, "columns", sparse.csc_array)

    def take(self, rows: Array) -> sparse.csr_array:
        """Read some documents into memory; ``rows`` must be ascending.

        Examples
        --------
        >>> import numpy as np
        >>> from vbnmf.shards import Shards, write_shards
        >>> write_shards("take.shards", [[5.0, 4, 0], [0, 0, 6]], ["tea", None])
        >>> Shards("take.shards").take(np.array([1])).toarray().tolist()
        [[0.0, 0.0, 6.0]]
        """
        ends = np.searchsorted(rows, self.starts)
        parts = [
            self.rows(i)[rows[ends[i] : ends[i + 1]] - self.starts[i]]
            for i in range(self.n_shards)
            if ends[i + 1] > ends[i]
        ]
        if not parts:
            return sparse.csr_array((0, self.shape[1]), dtype=self.dtype)
        return sparse.csr_array(sparse.vstack(parts, format="csr"))

    def indicators(self) -> sparse.csr_array:
        """Return an indicator matrix, (n_docs, n_labels), in the order of ``labels``.

        Examples
        --------
        >>> from vbnmf.shards import Shards, write_shards
        >>> write_shards("indicators.shards", [[5.0, 4, 0], [0, 0, 6]], ["tea", None])
        >>> Shards("indicators.shards").indicators().toarray().tolist()
        [[1], [0]]
        """
        return sparse.csr_array(sparse.vstack(list(self.label_parts()), format="csr"))

    def label_parts(self) -> Iterator[sparse.csr_array]:
        """Yield ``indicators`` of the documents of each shard, (n_docs, n_labels).

        Examples
        --------
        >>> from vbnmf.shards import Shards, write_shards
        >>> write_shards("parts.shards", [[5.0, 4, 0], [0, 0, 6]], ["tea", None])
        >>> [part.shape for part in Shards("parts.shards").label_parts()]
        [(2, 1)]
        """
        if self.labels is None:
            raise ShardsError(f"{self.path} holds no labels. Vectorize the documents with --label.")
        for number, entry in enumerate(self.entries):
            indptr = self._array(number, "labels.indptr", entry.n_docs + 1)
            _check_pointers(_of(self, number, "labels.indptr"), indptr)
            indices = self._array(number, "labels.indices", int(indptr[-1]))
            _check_range(_of(self, number, "labels.indices"), indices, len(self.labels))
            ones = np.ones(len(indices), np.int8)
            shape = (entry.n_docs, len(self.labels))
            yield sparse.csr_array((ones, np.array(indices), np.array(indptr)), shape=shape)

    def weights(self) -> Array | None:
        """Return the sample weights, (n_docs,), or None if all are one.

        Examples
        --------
        >>> from vbnmf.shards import Shards, write_shards
        >>> write_shards("weights.shards", [[5.0, 4, 0], [0, 0, 6]], ["tea", None])
        >>> Shards("weights.shards").weights() is None
        True
        """
        if not self.has_weights:
            return None
        parts = [self._array(i, "weight", e.n_docs) for i, e in enumerate(self.entries)]
        weight = np.concatenate(parts)
        if not (np.isfinite(weight).all() and (weight >= 0).all()):
            raise ShardsError(f"{self.path}: weights of documents are negative or not finite.")
        return weight

    def __len__(self) -> int:
        """Number of documents."""
        return self.shape[0]

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for another process, which checks the files again, but only once."""
        return self.__dict__ | {"path": self.path.absolute(), "_sound": set()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = state | {"_sound": _SOUND.setdefault(state["_token"], set())}

    def __repr__(self) -> str:
        labels = "" if self.labels is None else f", {len(self.labels):,} labels"
        unit = "shard" if self.n_shards == 1 else "shards"
        about = f"{self.shape[0]:,} documents × {self.shape[1]:,} terms{labels}, {self.nnz:,}"
        return f"Shards({str(self.path)!r}): {about} non-zeros in {self.n_shards} {unit}"

    def _compressed(self, number: int, kind: str, form: Callable[..., Any]) -> Any:
        """Return the rows or the columns of a shard; check them on first use."""
        entry = self.entries[number]
        shape = (entry.n_docs, self.shape[1])
        n_major, n_minor = shape if kind == "rows" else shape[::-1]
        indptr = self._array(number, f"{kind}.indptr", n_major + 1)
        indices = self._array(number, f"{kind}.indices", entry.nnz)
        data = self._array(number, f"{kind}.data", entry.nnz)
        new = (number, kind) not in self._sound
        if new:  # a checksum does not show whether values are valid
            of_indices = _of(self, number, f"{kind}.indices")
            _check_pointers(_of(self, number, f"{kind}.indptr"), indptr, entry.nnz)
            _check_range(of_indices, indices, n_minor)
            _check_order(of_indices, indptr, indices)
        matrix = form((data.astype(self.dtype, copy=False), indices, indptr), shape=shape)
        matrix.has_canonical_format = True
        if new:
            try:
                before = values.ValueSummary(int(self.starts[number]), 0.0, 0.0)
                values.check(before + values.summarize(matrix))
            except ValueError as error:
                raise ShardsError(f"{_of(self, number, f'{kind}.data')}: {error}") from None
            self._sound.add((number, kind))
        return matrix

    def _array(self, number: int, name: str, length: int) -> Array:
        """Return a memory-mapped array; check its checksum on first use."""
        entry = self.entries[number]
        path = _path(self.path, entry.name, name)
        try:
            array = load_array(path, mapped=True)
        except (OSError, ValueError, MemoryError) as error:
            raise damaged(path, f"it is not a plain array ({error})") from None
        dtype = np.dtype(_TYPES[name] or self.dtype)
        fits = array.dtype == dtype or (_TYPES[name] is None and array.dtype == np.float32)
        if not fits or array.shape != (length,):
            found = f"{array.dtype} of shape {array.shape}"
            raise damaged(path, f"expected {dtype} of shape {(length,)}, found {found}")
        if (number, name) not in self._sound:
            if checksum(path) != entry.files[name][1]:
                raise damaged(path, "its checksum differs from the manifest")
            self._sound.add((number, name))
        memory: object = array.base
        if isinstance(memory, mmap.mmap) and hasattr(mmap, "MADV_WILLNEED"):
            memory.madvise(mmap.MADV_WILLNEED)  # let the system start to read it
        return np.asarray(array)


def is_shards(path: Any) -> bool:
    """Return whether a path is a shard folder.

    Examples
    --------
    >>> from vbnmf.shards import is_shards, write_shards
    >>> write_shards("tea.shards", [[1.0, 2.0], [0.0, 3.0]])
    >>> is_shards("tea.shards"), is_shards(".")
    (True, False)
    """
    return isinstance(path, str | os.PathLike) and (Path(path) / MANIFEST).is_file()


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    if not folder.is_dir():
        raise ShardsError(f"there is no folder {folder}.")
    if not path.is_file():
        raise ShardsError(
            f"{folder} has no {MANIFEST}: it is not a shard folder, or `vbnmf vectorize` was "
            "interrupted. Run it again to finish the folder."
        )
    if path.stat().st_size > MOST_MANIFEST:
        raise damaged(path, f"it has more than {MOST_MANIFEST:,} bytes")
    try:
        manifest = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise damaged(path, f"it is not JSON ({error})") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ShardsError(f"{path} is not the manifest of a shard folder.")
    if manifest.get("version") != VERSION:
        raise ShardsError(
            f"{path} has version {manifest.get('version')!r:.40}; this vbnmf reads version "
            f"{VERSION}. Update vbnmf, or vectorize the documents again."
        )
    _check_manifest(path, manifest)
    return manifest


def _check_manifest(path: Path, manifest: dict[str, Any]) -> None:
    terms, labels = manifest.get("terms"), manifest.get("labels")
    n_terms = manifest.get("n_terms")
    kinds = {type(label) for label in labels} if isinstance(labels, list) else set()
    flags = [manifest.get(name) for name in ("multilabel", "weights")]
    missing = [name for name in ("labels", "terms") if name not in manifest]
    problem = (
        f"{missing[0]!r} is missing"
        if missing
        else "'n_terms' is not a number of terms"
        if type(n_terms) is not int or not 0 < n_terms < 2**31
        else "'dtype' must be float32 or float64"
        if manifest.get("dtype") not in ("float32", "float64")
        else "'terms' must be a name for each term"
        if terms is not None
        and not (isinstance(terms, list) and len(terms) == n_terms and {*map(type, terms)} == {str})
        else "'labels' must be different names, or different numbers"
        if labels is not None
        and not (
            isinstance(labels, list)
            and kinds in ({str}, {int}, set())
            and len(set(labels)) == len(labels)
        )
        else "'multilabel' and 'weights' must be true or false"
        if not all(isinstance(flag, bool) for flag in flags)
        else "'columns' must be an object"
        if not isinstance(manifest.get("columns"), dict)
        else ""
    )
    if problem:
        raise damaged(path, problem)


def _entries(folder: Path, manifest: dict[str, Any]) -> list[Entry]:
    path = folder / MANIFEST
    listed = manifest.get("shards")
    if not isinstance(listed, list) or not listed:
        raise damaged(path, "it lists no shards")
    wanted = {*_ALWAYS}
    wanted |= {"labels.indptr", "labels.indices"} if manifest["labels"] is not None else set()
    wanted |= {"weight"} if manifest["weights"] else set()
    entries = []
    for item in listed:
        try:
            listed_files = item["files"].items()
            files = {str(name): (int(size), int(crc)) for name, (size, crc) in listed_files}
            entry = Entry(item["name"], item["n_docs"], item["nnz"], files)
        except (TypeError, LookupError, ValueError, AttributeError, OverflowError):
            raise damaged(path, "the entry of a shard is not as expected") from None
        if not isinstance(entry.name, str) or not _NAME.fullmatch(entry.name):
            raise damaged(path, f"{entry.name!r:.40} is not the name of a shard (digits only)")
        if type(entry.n_docs) is not int or type(entry.nnz) is not int:
            raise damaged(path, f"the counts of shard {entry.name} are not numbers")
        if not (0 < entry.n_docs < 2**31 and 0 <= entry.nnz < 2**31):
            raise damaged(path, f"the counts of shard {entry.name} are out of range")
        if set(files) != wanted:
            raise damaged(path, f"the files of shard {entry.name} must be {sorted(wanted)}")
        entries.append(entry)
    name, times = Counter(entry.name for entry in entries).most_common(1)[0]
    if times > 1:
        raise damaged(path, f"shard {name} is listed {times} times")
    return entries


def _check_files(shards: Shards) -> None:
    """Check that every file exists, is inside the folder, and has the size in the manifest."""
    home = os.path.realpath(shards.path)
    for entry in shards.entries:
        for name, (size, _crc) in entry.files.items():
            path = _path(shards.path, entry.name, name)
            if not path.is_file():
                raise ShardsError(f"{path} is missing. Vectorize the documents again.")
            if not os.path.realpath(path).startswith(home + os.sep):
                raise damaged(path, "it is a link to a file outside the folder")
            if path.stat().st_size != size:
                found = f"{path.stat().st_size:,} bytes instead of {size:,}"
                raise damaged(path, f"it has {found}")


def _check_pointers(path: Path, indptr: Array, nnz: int | None = None) -> None:
    """Check that the file has the first entry of each row, and the number of entries."""
    wrong = indptr[0] != 0 or (np.diff(indptr) < 0).any()
    if wrong or (nnz is not None and indptr[-1] != nnz):
        raise damaged(path, "its entries are not counts")


def _check_range(path: Path, indices: Array, n: int) -> None:
    """Check that all indices are below ``n``."""
    if indices.size and not 0 <= indices.min() <= indices.max() < n:
        raise damaged(path, f"it has entries outside 0 to {n - 1:,}")


def _check_order(path: Path, indptr: Array, indices: Array) -> None:
    """Check that the indices of each row increase, so that no entry is repeated."""
    for begin in range(0, len(indices), _AT_ONCE):
        first = max(begin, 1)
        rises = np.diff(indices[first - 1 : begin + _AT_ONCE]) > 0
        # the first index of a row need not be above the last index of the row before
        a, b = np.searchsorted(indptr, (first, first + len(rises)))
        rises[indptr[a:b] - first] = True
        if not rises.all():
            raise damaged(path, "its entries are not in order")


def _of(shards: Shards, number: int, name: str) -> Path:
    return _path(shards.path, shards.entries[number].name, name)


def _path(folder: Path, shard: str, name: str) -> Path:
    return folder / shard / f"{name}.npy"


def checksum(path: Path) -> int:
    """Compute the CRC-32 of a file."""
    crc, part = 0, memoryview(bytearray(1 << 16))
    with open(path, "rb", buffering=0) as file:
        while n_read := file.readinto(part):
            crc = zlib.crc32(part[:n_read], crc)
    return crc
