"""Read documents from files, data frames and other objects, at once or in chunks.

This module finds the format. :mod:`vbnmf.data.rows` opens and checks rows for all formats;
:mod:`vbnmf.data.tables`, :mod:`vbnmf.data.folders` and :mod:`vbnmf.data.matrices` read the formats.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from vbnmf.data.arrow import holds_parquet
from vbnmf.data.columns import ColumnNames, Wanted
from vbnmf.data.documents import BadRows, Documents, ReaderError
from vbnmf.data.labels import LabelsSource, check_separator
from vbnmf.data.matrices import TermsSource, read_anndata, read_matrix
from vbnmf.data.renaming import LabelCase, LabelMap, renaming
from vbnmf.data.rows import open_rows, read_parts
from vbnmf.data.shardrows import iter_shards, read_shards
from vbnmf.data.streams import STDIN, origin_of
from vbnmf.data.tables import is_frame
from vbnmf.shards import is_shards

FORMATS = {
    "csv": (".csv",),
    "tsv": (".tsv", ".tab"),
    "jsonl": (".jsonl", ".ndjson", ".json"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather", ".ipc"),
    "svmlight": (".svmlight", ".svm", ".libsvm"),
    "mtx": (".mtx",),
    "npz": (".npz",),
    "folder": (),
    "shards": (),
}
_MATRICES = ("svmlight", "mtx", "npz", "anndata", "shards")
# Maximum number of characters of a chunk; counting terms takes about twenty times as many bytes.
_CHARACTERS = 4_000_000


def read_documents(
    source: Any,
    *,
    text: ColumnNames | None = None,
    label: ColumnNames | None = None,
    labels: LabelsSource | None = None,
    label_separator: str | None = None,
    label_case: LabelCase | None = None,
    label_map: LabelMap | None = None,
    terms: TermsSource | None = None,
    encoding: str = "utf-8",
    format: str | None = None,  # noqa: A002 - the word users look for
    bad_rows: BadRows = "error",
    fitted_columns: Mapping[str, Any] | None = None,
    labels_required: bool = True,
    allow_empty: bool = False,
    id: str | None = None,  # noqa: A002 - as the column is called
    keep: Sequence[str] = (),
) -> Documents:
    """Read documents into memory.

    Parameters
    ----------
    source : str, path or object
        A file (CSV, TSV, JSON lines, Parquet, Arrow, svmlight, Matrix Market, SciPy ``.npz``;
        text formats also with gzip or Zstandard), a folder of texts or of Parquet files, a shard
        folder, ``"-"`` for standard input, or a data frame, Hugging Face dataset, AnnData object or
        object with ``__arrow_c_stream__``, such as a DuckDB relation.
    text : str or sequence of str, default=None
        The text column. None uses that of `fitted_columns`, or guesses it from usual names. The
        texts of several columns are joined with line breaks.
    label : str or sequence of str, default=None
        The label column. ``"auto"`` guesses it from usual names; for a folder it uses the names of
        sub-folders, and for an svmlight file the labels in it. None reads no labels. Several
        columns have several labels of a document. If they have only 0 and 1 (or false and true),
        the names of the columns are the labels.
    labels : path or iterable, default=None
        Separate labels: a file with one label per line, a CSV or TSV file with a label column (and,
        for a folder, a column of file names), or the labels themselves.
    label_separator : str, default=None
        Separator of several labels in one cell or line, such as ``";"``.
    label_case : {"keep", "fold"}, default=None
        "fold" writes labels in lower case, with single spaces, so that "Billing" and "billing " are
        one label. None is "keep".
    label_map : path or mapping, default=None
        What labels become, after their case is folded: a mapping, or a CSV or TSV file with the
        columns ``label`` and ``becomes``. Other labels stay. An empty cell removes a label.
    terms : path or iterable, default=None
        Names of the columns of a matrix, or a file with one name per line.
    encoding : str, default="utf-8"
        The encoding of text files.
    format : str, default=None
        One of ``FORMATS``. None uses the ending of the file's name.
    bad_rows : {"error", "skip", "keep"}, default="error"
        What to do with a row that has no text or cannot be read, such as a line that is not JSON.
        "skip" leaves such rows out, and a note counts them. "keep" keeps their places: the text is
        empty, and ``Documents.problems`` says why. A file without any row that can be read is
        always an error.
    fitted_columns : mapping, default=None
        The columns of the training file, ``DocumentModel.columns_``. They are read if the header
        has them, unless `text` or `label` is given.
    labels_required : bool, default=True
        Whether a source without labels is an error if ``label="auto"``. If False, it is read
        without labels.
    allow_empty : bool, default=False
        Whether a table without rows, or a folder without files, is accepted. A file without a
        header is always an error.
    id : str, default=None
        The column with the ids of documents, for ``Documents.ids``.
    keep : sequence of str, default=()
        Columns to return unchanged in ``Documents.kept``.

    Returns
    -------
    Documents
        Texts or a matrix, labels if requested, and notes about guesses.

    Raises
    ------
    ReaderError
        A ``ValueError`` that says where the problem is and what to do.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"body": ["a cat", "a dog"], "class": ["cat", "dog"]})
    >>> documents = read_documents(frame, label="auto")
    >>> documents.texts, list(documents.labels)
    (['a cat', 'a dog'], ['cat', 'dog'])
    >>> frame = pd.DataFrame({"body": ["cat and dog", "a dog"], "tags": ["cat; dog", ""]})
    >>> list(read_documents(frame, label="tags", label_separator=";").labels)
    [['cat', 'dog'], None]
    """
    kind = find_format(source, format)
    _check_columns(kind, text or id or keep, terms, origin_of(source))
    with_labels = label is not None or labels is not None
    check_separator(label_separator, with_labels, origin_of(source))
    rename = renaming(label_case, label_map, encoding)
    if kind == "anndata":
        return rename(read_anndata(source, label, labels, label_separator))
    if kind == "shards":
        _check_shards(source, labels, label_separator, terms)
        return rename(read_shards(source, labels=label is not None, required=labels_required))
    if kind in _MATRICES:
        return rename(
            read_matrix(
                source,
                kind,
                label=label,
                labels=labels,
                label_separator=label_separator,
                terms=terms,
                encoding=encoding,
                labels_required=labels_required,
            )
        )
    wanted = Wanted(text, label, fitted_columns or {}, labels_required, id, keep)
    opened = open_rows(source, kind, encoding, wanted, labels, allow_empty)
    parts = read_parts(opened, label_separator, bad_rows, sys.maxsize, sys.maxsize)
    return rename(next(parts))


def iter_documents(
    source: Any,
    *,
    text: ColumnNames | None = None,
    label: ColumnNames | None = None,
    labels: LabelsSource | None = None,
    label_separator: str | None = None,
    label_case: LabelCase | None = None,
    label_map: LabelMap | None = None,
    terms: TermsSource | None = None,
    encoding: str = "utf-8",
    format: str | None = None,  # noqa: A002 - the word users look for
    bad_rows: BadRows = "error",
    fitted_columns: Mapping[str, Any] | None = None,
    labels_required: bool = True,
    allow_empty: bool = False,
    id: str | None = None,  # noqa: A002 - as the column is called
    keep: Sequence[str] = (),
    chunk: int = 1000,
    live: bool = False,
) -> Iterator[Documents]:
    """Read documents in chunks, for files that are larger than memory.

    Parameters
    ----------
    source, text, label, labels, label_separator, label_case, label_map, terms, encoding, \
    format, bad_rows, fitted_columns, labels_required, allow_empty, id, keep
        As in :func:`read_documents`. A matrix is read at once and yielded in parts. The first chunk
        decides whether several label columns have labels, or zeros and ones.
    chunk : int, default=1000
        Maximum number of documents in a chunk. With long documents a chunk ends earlier, after
        about four million characters.
    live : bool, default=False
        Whether to yield what standard input has, instead of waiting for a whole chunk. The keys of
        the first JSON object are then the columns.

    Yields
    ------
    Documents
        The next documents. Notes about columns are in the first chunk, and counts in each chunk.
        With `allow_empty`, a source without documents gives one empty chunk.

    Examples
    --------
    >>> from pathlib import Path
    >>> from vbnmf.data import iter_documents
    >>> _ = Path("tea.csv").write_text('''text,label
    ... green tea,tea
    ... black coffee,coffee
    ... ''')
    >>> [part.texts for part in iter_documents("tea.csv", chunk=1)]
    [['green tea'], ['black coffee']]
    """
    if chunk < 1:
        raise ValueError(f"`chunk` must be at least 1; got {chunk}.")
    rename = renaming(label_case, label_map, encoding)
    kind = find_format(source, format)
    if kind == "shards":
        _check_columns(kind, text or id or keep, None, origin_of(source))
        _check_shards(source, labels, label_separator, terms)
        parts = iter_shards(source, chunk, labels=label is not None, required=labels_required)
        yield from map(rename, parts)
        return
    if kind in _MATRICES:
        whole = read_documents(
            source,
            text=text,
            label=label,
            labels=labels,
            label_separator=label_separator,
            terms=terms,
            encoding=encoding,
            format=format,
            labels_required=labels_required,
            id=id,
            keep=keep,
        )
        yield from map(rename, _rows_of_matrix(whole, chunk))
        return
    _check_columns(kind, text or id or keep, terms, origin_of(source))
    check_separator(label_separator, label is not None or labels is not None, origin_of(source))
    wanted = Wanted(text, label, fitted_columns or {}, labels_required, id, keep)
    live = live and source == STDIN
    opened = open_rows(source, kind, encoding, wanted, labels, allow_empty, live=live)
    yield from map(rename, read_parts(opened, label_separator, bad_rows, chunk, _CHARACTERS))


def _rows_of_matrix(documents: Documents, chunk: int) -> Iterator[Documents]:
    n_docs = len(documents)
    for begin in range(0, n_docs, chunk):
        part = documents.rows(range(begin, min(begin + chunk, n_docs)))
        yield replace(part, notes=[]) if begin else part


def find_format(source: Any, given: str | None = None) -> str:
    """Return the format of a source: as given, or by the type of object or the file's ending."""
    if not isinstance(source, str | os.PathLike):
        return _kind_of_object(source)
    if given is not None and given not in FORMATS:
        raise ReaderError(f"Unknown format {given!r}; expected one of {', '.join(FORMATS)}.")
    if source == STDIN:
        if given in ("parquet", "arrow", "folder"):
            raise ReaderError(f"standard input: {given} needs a path; save it first.")
        return given or "stdin"
    if not os.path.exists(source):
        raise ReaderError(f"{source}: no such file or folder.")
    if given is not None:
        return given
    path = Path(source)
    if path.is_dir():
        return "shards" if is_shards(path) else "parquet" if holds_parquet(path) else "folder"
    suffix = Path(path.name.removesuffix(".gz").removesuffix(".zst")).suffix.lower()
    for kind, suffixes in FORMATS.items():
        if suffix in suffixes:
            return kind
    raise ReaderError(
        f"{path}: unknown kind of file {suffix!r}. Set the format with format='...' (--format on "
        f"the command line): {', '.join(FORMATS)}."
    )


def _check_columns(
    kind: str, column: ColumnNames | None, terms: TermsSource | None, origin: str
) -> None:
    """Raise an error for columns of a source without columns, or for terms of texts."""
    if column and kind in (*_MATRICES, "folder"):
        name = column if isinstance(column, str) else column[0]
        raise ReaderError(f"{origin}: no column {name!r}: it is not a table of texts.")
    if terms is not None and kind not in _MATRICES:
        raise ReaderError(f"{origin}: terms are only for a matrix, but this is text.")


def _check_shards(
    source: Any, labels: LabelsSource | None, separator: str | None, terms: TermsSource | None
) -> None:
    """Raise an error for options that were fixed when the shards were written."""
    asked = {"labels": labels, "label_separator": separator, "terms": terms}
    for name, value in asked.items():
        if value is not None:
            raise ReaderError(
                f"{origin_of(source)}: {name} of a shard folder cannot be changed. "
                "Pass them to `vbnmf vectorize`."
            )


def _kind_of_object(source: object) -> str:
    if hasattr(source, "__arrow_c_stream__") and not is_frame(source, lazy=False):
        return "stream"  # of DuckDB, for instance: it would be collected as a lazy frame
    if is_frame(source):
        return "frame"
    if all(hasattr(source, name) for name in ("X", "obs", "var_names")):
        return "anndata"
    if hasattr(source, "column_names"):
        return "dataset"
    raise ReaderError(
        f"Cannot read documents from a {type(source).__name__}; expected a path, '-', a data "
        "frame, a Hugging Face dataset, an AnnData object or an Arrow stream."
    )
