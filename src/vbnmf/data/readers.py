"""Read documents from users' files, data frames and other objects, whole or in chunks.

Here the format is found, the columns are chosen and every row is checked, once for all formats;
the formats themselves are in :mod:`vbnmf.data.tables`, :mod:`vbnmf.data.folders` and
:mod:`vbnmf.data.matrices`, well-known corpora in :mod:`vbnmf.data.corpora`.
"""

import os
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from vbnmf.data.documents import (
    Documents,
    LabelColumns,
    ReaderError,
    choose_columns,
    is_missing,
    mended,
)
from vbnmf.data.folders import open_folder
from vbnmf.data.labels import (
    JoinedColumns,
    Labels,
    check_length,
    check_separator,
    label_array,
    read_labels,
)
from vbnmf.data.matrices import Terms, read_anndata, read_matrix
from vbnmf.data.streams import STDIN, origin_of
from vbnmf.data.tables import (
    Row,
    Table,
    is_frame,
    open_arrow,
    open_dataset,
    open_frame,
    open_text,
)

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
}
_MATRICES = ("svmlight", "mtx", "npz", "anndata")


def read_documents(
    source: Any,
    *,
    text: str | None = None,
    label: LabelColumns | None = None,
    labels: Labels | None = None,
    label_separator: str | None = None,
    terms: Terms | None = None,
    encoding: str = "utf-8",
    format: str | None = None,  # noqa: A002 - the word users look for
    skip_empty: bool = False,
) -> Documents:
    """Read documents into memory.

    Parameters
    ----------
    source : str, path or object
        A file (CSV, TSV, JSON lines, Parquet, Arrow, svmlight, Matrix Market, SciPy ``.npz``;
        text formats also gzipped), a folder, ``"-"`` for standard input, or a data frame, Hugging
        Face dataset or AnnData object.
    text : str, default=None
        The column of texts; None guesses it from usual names.
    label : str or sequence of str, default=None
        The column of labels. ``"auto"`` guesses it, and takes sub-folder names and the labels in
        an svmlight file. None reads no labels. Several columns hold several labels of a document,
        or, where they hold only 0 and 1 (false and true), their names are the labels.
    labels : path or iterable, default=None
        Labels kept apart: a file of one label a line, a CSV or TSV file with a label column (and,
        for a folder, a column of file names), or the labels themselves.
    label_separator : str, default=None
        What stands between the labels of a document in one cell or line, such as ``";"``.
    terms : path or iterable, default=None
        For matrices, one term a column.
    encoding : str, default="utf-8"
        The encoding of text files.
    format : str, default=None
        One of ``FORMATS``; None goes by the file's name.
    skip_empty : bool, default=False
        Leave out rows without text instead of raising.

    Returns
    -------
    Documents
        Texts or a matrix, labels if asked for, and notes on what was guessed.

    Raises
    ------
    ReaderError
        A ``ValueError`` that names the file, the line, the problem and the way out.

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
    if text is not None and kind in (*_MATRICES, "folder"):
        raise ReaderError(f"{origin_of(source)}: no column {text!r}: it is no table of texts.")
    check_separator(label_separator, label is not None or labels is not None, origin_of(source))
    if kind == "anndata":
        return read_anndata(source, label, labels, label_separator)
    if kind in _MATRICES:
        return read_matrix(
            source,
            kind,
            label=label,
            labels=labels,
            label_separator=label_separator,
            terms=terms,
            encoding=encoding,
        )
    if terms is not None:
        raise ReaderError(f"{origin_of(source)}: terms belong to a matrix; this is text.")
    return next(
        iter_documents(
            source,
            text=text,
            label=label,
            labels=labels,
            label_separator=label_separator,
            encoding=encoding,
            format=format,
            skip_empty=skip_empty,
            chunk=sys.maxsize,
        )
    )


def iter_documents(
    source: Any,
    *,
    text: str | None = None,
    label: LabelColumns | None = None,
    labels: Labels | None = None,
    label_separator: str | None = None,
    encoding: str = "utf-8",
    format: str | None = None,  # noqa: A002 - the word users look for
    skip_empty: bool = False,
    chunk: int = 1000,
) -> Iterator[Documents]:
    """Read documents a chunk at a time, so that a file larger than the memory will do.

    Parameters
    ----------
    source, text, label, labels, label_separator, encoding, format, skip_empty
        As in :func:`read_documents`. Matrices are read whole only. Whether several columns hold
        labels or zeros and ones is told by the first chunk.
    chunk : int, default=1000
        The most documents in a chunk.

    Yields
    ------
    Documents
        The next texts and labels. Notes on columns come with the first chunk, counts with each.
    """
    if chunk < 1:
        raise ValueError(f"`chunk` must be at least 1; got {chunk}.")
    kind = find_format(source, format)
    if kind in _MATRICES:
        raise ReaderError(f"{origin_of(source)}: a matrix is read whole; use read_documents.")
    notes: list[str] = []
    text_column: str | None = None
    label_column: str | list[str] | None = None
    with_labels = label is not None or labels is not None
    check_separator(label_separator, with_labels, origin_of(source))
    joined: JoinedColumns | None = None
    rows: Iterator[Row]
    if kind == "folder":
        origin, unit = str(source), "file"
        rows = open_folder(Path(source), encoding, label, labels, notes)
    else:
        table = _open_table(source, kind, encoding)
        origin, unit = table.origin, table.unit
        # With labels kept apart, `label` names a column over there.
        text_at, labels_at, guesses = choose_columns(
            table.columns, text, None if labels is not None else label, origin
        )
        notes += table.notes + guesses
        text_column = table.columns[text_at]
        rows = table.rows(text_at, labels_at)
        if labels is not None:
            rows = _with_labels(rows, read_labels(labels, label, encoding, notes).cells, labels)
        elif isinstance(label, str):
            label_column = table.columns[labels_at[0]]
        elif label is not None:
            label_column = [table.columns[i] for i in labels_at]
            joined = JoinedColumns(label_column)
    counts: Counter[str] = Counter()
    checked = _checked(rows, origin, unit, skip_empty, counts)
    empty = True
    while batch := list(islice(checked, chunk)):
        empty = False
        notes += [f"{number} {what}." for what, number in counts.items()]
        counts.clear()
        found = None
        if with_labels:
            cells = [row for _, _, row in batch]
            places = [f"{origin}, {unit} {name}" for name, _, _ in batch]
            tags = joined.join(cells, places, notes) if joined else [row[0] for row in cells]
            found = label_array(tags, places, label_separator, notes)
        yield Documents(
            origin,
            texts=[words for _, words, _ in batch],
            labels=found,
            ids=[name for name, _, _ in batch],
            text_column=text_column,
            label_column=label_column,
            notes=notes,
        )
        notes = []
    if empty:
        raise ReaderError(f"{origin}: empty: no documents in it.")


def find_format(source: Any, given: str | None = None) -> str:
    """Tell a source's format: the one given, else by kind of object, name, or first character."""
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
        return "folder"
    suffix = Path(path.name.removesuffix(".gz")).suffix.lower()
    for kind, suffixes in FORMATS.items():
        if suffix in suffixes:
            return kind
    raise ReaderError(
        f"{path}: unknown kind of file {suffix!r}. Say what it is with format='...' (--format on "
        f"the command line): {', '.join(FORMATS)}."
    )


def _kind_of_object(source: object) -> str:
    if is_frame(source):
        return "frame"
    if all(hasattr(source, name) for name in ("X", "obs", "var_names")):
        return "anndata"
    if hasattr(source, "column_names"):
        return "dataset"
    raise ReaderError(
        f"Cannot read documents from a {type(source).__name__}; expected a path, '-', a data "
        "frame, a Hugging Face dataset or an AnnData object."
    )


def _open_table(source: Any, kind: str, encoding: str) -> Table:
    if kind in ("parquet", "arrow"):
        return open_arrow(Path(source), parquet=kind == "parquet")
    if kind == "dataset":
        return open_dataset(source)
    if kind == "frame":
        return open_frame(source)
    return open_text(source, encoding, kind)


def _with_labels(rows: Iterator[Row], tags: list[object], origin: object) -> Iterator[Row]:
    """Give each row its label from outside; that the numbers agree is known at the end."""
    number = 0
    for name, words, _ in rows:
        if number < len(tags):
            yield name, words, (tags[number],)
        number += 1
    check_length(tags, number, origin)


def _checked(
    rows: Iterator[Row], origin: str, unit: str, skip_empty: bool, counts: Counter[str]
) -> Iterator[tuple[str, str, tuple[object, ...]]]:
    """Pass on rows that hold a text; count what was left out or mended."""
    for name, words, cells in rows:
        place = f"{origin}, {unit} {name}"
        if isinstance(words, str):
            clean = mended(words)
            if clean != words:
                counts["texts held broken Unicode, replaced by U+FFFD"] += 1
        elif is_missing(words):
            clean = ""
        else:
            raise ReaderError(
                f"{place}: the text is of type {type(words).__name__}, expected a string. Choose "
                "another column with text='...' (--text on the command line)."
            )
        if not clean.strip():
            if skip_empty:
                counts[f"{unit}s without text were left out"] += 1
                continue
            raise ReaderError(
                f"{place}: no text. Fill it in, or leave such rows out with skip_empty=True "
                "(--skip-empty on the command line)."
            )
        yield name, clean, cells
