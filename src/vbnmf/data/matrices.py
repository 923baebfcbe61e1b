"""Document-term matrices: svmlight, Matrix Market, SciPy ``.npz`` and AnnData objects.

scikit-learn and SciPy parse the files. This module checks that a damaged or crafted file does no
harm, and reads the labels of rows and the terms of columns.
"""

import io
import os
import re
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from vbnmf.data.columns import ColumnNames, choose_labels
from vbnmf.data.documents import Documents, ReaderError, listed
from vbnmf.data.labels import (
    JoinedColumns,
    LabelsSource,
    check_length,
    check_single,
    label_array,
    read_labels,
)
from vbnmf.data.streams import BOMB_BYTES, BOMB_RATIO, STDIN, open_bytes, origin_of, read_lines

TermsSource = str | os.PathLike[str] | Iterable[str]
# Rows without an entry cost memory but no bytes in the file: at most this many more than bytes.
_FREE_ROWS = 1_000_000

# A comma before the first colon or comment: the line begins with several labels.
_SEVERAL_LABELS = re.compile(rb"^[ \t]*[^\s:#,]+,", re.MULTILINE)
_NUMBER = rb"[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|nan|inf(?:inity)?)"
# In Matrix Market, the first line that is neither empty nor a comment.
_SIZE_LINE = re.compile(rb"^[ \t]*[^%\s].*$", re.MULTILINE)


def read_matrix(
    source: str | Path,
    kind: str,
    *,
    label: ColumnNames | None = None,
    labels: LabelsSource | None = None,
    label_separator: str | None = None,
    terms: TermsSource | None = None,
    encoding: str = "utf-8",
    labels_required: bool = True,
) -> Documents:
    """Read a matrix file with one document per row.

    Parameters
    ----------
    source : path or "-"
        The file.
    kind : {"svmlight", "mtx", "npz"}
        Its format.
    label : str, sequence of str or None
        For svmlight, any name reads the labels in the file. With a labels file that is a table, it
        is the label column or columns.
    labels : path, iterable or None
        A labels file, or one label per row.
    label_separator : str or None
        Separator of several labels of a row.
    terms : path, iterable or None
        A file of terms, or one term per column.
    encoding : str
        The encoding of the labels and terms files.
    labels_required : bool
        Whether a matrix without labels is an error if labels are requested only by `label`.

    Returns
    -------
    Documents
        Documents with ``matrix`` of shape (n_docs, n_terms).
    """
    origin = origin_of(source)
    notes: list[str] = []
    names = _read_terms(terms, encoding)
    readers: dict[str, Callable[[str | Path], tuple[Any, Any]]] = {
        "svmlight": lambda s: _read_svmlight(s, None if names is None else len(names), notes),
        "mtx": _read_mtx,
        "npz": _read_npz,
    }
    try:
        matrix, inline = readers[kind](source)
    except MemoryError as error:
        raise ReaderError(f"{origin}: does not fit into memory.") from error
    tags: list[object] | None = None
    if labels is not None:
        tags = read_labels(labels, label, encoding, notes).cells
    elif label is not None:
        check_single(label, origin, "a matrix has no columns of labels")
        if inline is None and labels_required:
            raise ReaderError(
                f"{origin}: labels are requested, but a matrix has none. Pass a file with one "
                "label per line with labels='...' (--label-file on the command line)."
            )
        tags = inline
    where = labels if isinstance(labels, str | os.PathLike) else None
    return _documents(origin, matrix, tags, label_separator, names, notes, labels_from=where)


def read_anndata(
    data: Any, label: ColumnNames | None, labels: LabelsSource | None, label_separator: str | None
) -> Documents:
    """Read an AnnData object: ``X``, the label in ``obs``, the terms in ``var_names``."""
    origin = origin_of(data)
    notes: list[str] = []
    tags: list[object] | None = None
    label_column: str | list[str] | None = None
    if labels is not None:
        tags = read_labels(labels, label, "utf-8", notes).cells
    elif label is not None:
        columns = [str(name) for name in data.obs.columns]
        chosen = choose_labels(columns, label, origin, notes)
        label_column = [columns[at] for at in chosen]
        cells = list(zip(*(_cells(data.obs[data.obs.columns[at]]) for at in chosen), strict=True))
        if isinstance(label, str):
            label_column, tags = label_column[0], [row[0] for row in cells]
        else:
            places = [f"{origin}, row {number}" for number in range(1, len(cells) + 1)]
            tags = JoinedColumns(label_column).join(cells, places, notes)
    if data.X is None:
        raise ReaderError(f"{origin}: X is None, expected a matrix of cells by genes.")
    names = [str(name) for name in data.var_names]
    ids = [str(name) for name in data.obs_names]
    documents = _documents(origin, data.X, tags, label_separator, names, notes)
    return replace(documents, ids=ids, label_column=label_column)


def _cells(column: Any) -> list[object]:
    return [None if gap else tag for tag, gap in zip(column, column.isna(), strict=True)]


def _read_terms(terms: TermsSource | None, encoding: str) -> list[str] | None:
    if terms is None:
        return None
    if isinstance(terms, str | os.PathLike):
        path = terms if terms == STDIN else Path(terms)
        return [line.rstrip("\r\n") for line in read_lines(path, encoding)]
    return list(terms)


def _read_svmlight(
    source: str | Path, n_terms: int | None, notes: list[str]
) -> tuple[Any, list[object]]:
    from sklearn.datasets import load_svmlight_file  # a second to import, needed by no other

    origin = origin_of(source)
    with open_bytes(source) as stream:
        data = stream.read()
    several = bool(_SEVERAL_LABELS.search(data))
    load = partial(load_svmlight_file, multilabel=several)
    try:
        matrix, values = load(io.BytesIO(data), n_features=n_terms)
    except (ValueError, OverflowError, IndexError) as error:
        place, reason = _svmlight_fault(load, data, error)
        raise ReaderError(
            f"{origin}{place}: {reason}. Expected 'label index:value index:value', the indices "
            f"rising{'' if n_terms is None else f' and at most {n_terms}, the number of terms'}."
        ) from error
    # The rule of scikit-learn; it may differ between two files that belong together.
    notes.append("svmlight: indices start at 1, or at 0 if a 0 occurs in the file.")
    numbers = np.array([label for labels in values for label in labels] if several else values)
    whole = bool((np.abs(numbers) < 2**53).all() and (numbers == np.round(numbers)).all())
    if several:
        return matrix, [[int(label) if whole else label for label in labels] for labels in values]
    return matrix, (numbers.astype(np.int64) if whole else numbers).tolist()


def _svmlight_fault(
    load: Callable[[io.BytesIO], object], data: bytes, error: Exception
) -> tuple[str, str]:
    """Find the first line that scikit-learn refuses, and the reason; else that of the file."""
    lines = iter(io.BytesIO(data))
    number = 0
    while block := list(islice(lines, 1000)):
        try:
            load(io.BytesIO(b"".join(block)))
        except Exception:
            for line in block:
                number += 1
                try:
                    load(io.BytesIO(line))
                except Exception as reason:  # any: the file is known to be broken
                    return f", line {number}", str(reason)
        else:
            number += len(block)
    return "", str(error)


def _read_mtx(source: str | Path) -> tuple[Any, None]:
    from scipy.io import mminfo, mmread  # slow to import, needed by no other

    origin = origin_of(source)
    with open_bytes(source) as stream:
        data = stream.read()
    try:
        rows, _, entries, layout, kind, _ = mminfo(io.BytesIO(data))
        if kind == "complex":
            raise ReaderError(f"{origin}: complex numbers, expected counts or weights.")
        _check_rows(rows, len(data), origin)
        # "1 1" and an end of line, or a digit and one, is the least an entry takes.
        if entries * (4 if layout == "coordinate" else 2) > len(data) + 1:
            raise ReaderError(
                f"{origin}: the header says {entries:,} entries, more than its {len(data):,} "
                "bytes can hold. The file was truncated, or the header is wrong."
            )
        fields = {"pattern": 0}.get(kind, 1) + (2 if layout == "coordinate" else 0)
        _check_lines(data, fields, origin)
        matrix = mmread(io.BytesIO(data + b"\n"))
    except ReaderError:
        raise
    except (ValueError, OverflowError, TypeError, IndexError) as error:
        raise ReaderError(f"{origin}: not a complete Matrix Market file: {error}") from error
    return matrix, None


def _check_lines(data: bytes, fields: int, origin: str) -> None:
    """Raise an error unless every line after the header has this many numbers.

    SciPy's fast reader ignores text after the numbers, and reads past the end of a file that ends
    in a broken line.
    """
    header = _SIZE_LINE.search(data)
    line = rb"[ \t]+".join([_NUMBER] * fields)
    ragged = re.compile(rb"^(?![ \t]*(?:%s)?[ \t]*\r?$).*" % line, re.MULTILINE | re.IGNORECASE)
    if header and (bad := ragged.search(data, header.end() + 1)):
        number = data.count(b"\n", 0, bad.start()) + 1
        shown = bad.group()[:40].decode("latin-1")
        raise ReaderError(f"{origin}, line {number}: {shown!r}, expected {fields} numbers a line.")


def _read_npz(source: str | Path) -> tuple[Any, None]:
    origin = origin_of(source)
    with open_bytes(source) as stream:
        data = stream.read()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            inflated = sum(entry.file_size for entry in archive.infolist())
        if inflated > max(BOMB_BYTES, BOMB_RATIO * len(data)):
            raise ReaderError(
                f"{origin}: {len(data):,} bytes that unpack to {inflated:,}. If that is right, "
                "save it with compressed=False."
            )
        matrix = sparse.load_npz(io.BytesIO(data))  # does not unpickle
        if len(matrix.shape) != 2:
            raise ReaderError(f"{origin}: an array of shape {matrix.shape}, expected a matrix.")
        if matrix.format not in ("csr", "csc", "coo"):
            matrix = matrix.tocoo()
        _check_rows(matrix.shape[0], len(data), origin)
        if matrix.format != "coo":
            # load_npz trusts the indices; a wrong one would be read outside of the arrays.
            matrix.check_format(full_check=True)
    except ReaderError:
        raise
    except Exception as error:  # numpy, zipfile and scipy raise a dozen kinds for a damaged file
        raise ReaderError(
            f"{origin}: not a sparse matrix saved by scipy.sparse.save_npz: {error}"
        ) from error
    return matrix, None


def _check_rows(rows: int, size: int, origin: str) -> None:
    if rows > size + _FREE_ROWS:
        raise ReaderError(
            f"{origin}: {rows:,} rows in a file of {size:,} bytes; the header is wrong."
        )


def _documents(
    origin: str,
    matrix: Any,
    tags: list[object] | None,
    separator: str | None,
    terms: list[str] | None,
    notes: list[str],
    *,
    labels_from: object = None,
) -> Documents:
    """Check a matrix with its labels and terms, and convert it to CSR with sorted indices."""
    try:
        matrix = sparse.csr_matrix(matrix)
        if not matrix.has_canonical_format:
            matrix = matrix.copy()  # it may share its arrays with the user's object
            matrix.sum_duplicates()
    except (TypeError, ValueError) as error:
        raise ReaderError(f"{origin}: not a matrix of numbers: {error}") from error
    rows, columns = matrix.shape
    if matrix.dtype.kind not in "biuf":
        raise ReaderError(f"{origin}: values of type {matrix.dtype}, expected real numbers.")
    if rows == 0 or columns == 0:
        raise ReaderError(f"{origin}: empty: a matrix of {rows} documents by {columns} terms.")
    turned = " The matrix may be transposed: rows must be documents, and columns must be terms."
    if tags is not None:
        check_length(tags, rows, labels_from, turned if len(tags) == columns else "")
    if terms is not None and len(terms) != columns:
        raise ReaderError(
            f"{origin}: {len(terms):,} terms ({listed(terms, 3)}) for {columns:,} columns; "
            f"expected one per column.{turned if len(terms) == rows else ''}"
        )
    labels = None
    if tags is not None:
        places = [f"{origin}, row {number}" for number in range(1, rows + 1)]
        labels = label_array(tags, places, separator, notes)
    ids = [str(number) for number in range(1, rows + 1)]
    return Documents(origin, matrix=matrix, labels=labels, terms=terms, ids=ids, notes=notes)
