"""Read documents from users' files, data frames and other objects, whole or in chunks.

Here the format is found, the columns are chosen and every row is checked, once for all formats;
the formats themselves are in :mod:`vbnmf.data.tables`, :mod:`vbnmf.data.folders` and
:mod:`vbnmf.data.matrices`, well-known corpora in :mod:`vbnmf.data.corpora`.
"""

import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from vbnmf.data.columns import ColumnNames, Wanted, choose_columns, names_of
from vbnmf.data.documents import Documents, ReaderError, is_missing, mended
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
    text: ColumnNames | None = None,
    label: ColumnNames | None = None,
    labels: Labels | None = None,
    label_separator: str | None = None,
    terms: Terms | None = None,
    encoding: str = "utf-8",
    format: str | None = None,  # noqa: A002 - the word users look for
    skip_empty: bool = False,
    fitted_columns: Mapping[str, Any] | None = None,
    labels_required: bool = True,
) -> Documents:
    """Read documents into memory.

    Parameters
    ----------
    source : str, path or object
        A file (CSV, TSV, JSON lines, Parquet, Arrow, svmlight, Matrix Market, SciPy ``.npz``;
        text formats also gzipped), a folder, ``"-"`` for standard input, or a data frame, Hugging
        Face dataset or AnnData object.
    text : str or sequence of str, default=None
        The column of texts; None takes that of `fitted_columns`, or guesses it from usual names.
        The texts of several columns are joined, each on a line of its own.
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
    fitted_columns : mapping, default=None
        The columns that a model was fitted to, ``DocumentModel.columns_``. They are read where
        the header has them, unless `text` or `label` names others.
    labels_required : bool, default=True
        With ``label="auto"``: whether a source without labels is an error. If not, it is read
        without labels.

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
    _check_columns(kind, text, origin_of(source))
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
            labels_required=labels_required,
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
            fitted_columns=fitted_columns,
            labels_required=labels_required,
            chunk=sys.maxsize,
        )
    )


def iter_documents(
    source: Any,
    *,
    text: ColumnNames | None = None,
    label: ColumnNames | None = None,
    labels: Labels | None = None,
    label_separator: str | None = None,
    encoding: str = "utf-8",
    format: str | None = None,  # noqa: A002 - the word users look for
    skip_empty: bool = False,
    fitted_columns: Mapping[str, Any] | None = None,
    labels_required: bool = True,
    chunk: int = 1000,
) -> Iterator[Documents]:
    """Read documents a chunk at a time, so that a file larger than the memory will do.

    Parameters
    ----------
    source, text, label, labels, label_separator, encoding, format, skip_empty, fitted_columns, \
    labels_required
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
    _check_columns(kind, text, origin_of(source))
    with_labels = label is not None or labels is not None
    check_separator(label_separator, with_labels, origin_of(source))
    if kind == "folder":
        opened = _open_folder(Path(source), encoding, label, labels, labels_required)
    else:
        wanted = Wanted(text, label, fitted_columns or {}, labels_required)
        opened = _open_columns(source, kind, encoding, wanted, labels)
    notes = opened.notes
    counts: Counter[str] = Counter()
    checked = _checked(opened, skip_empty, counts)
    empty = True
    while batch := list(islice(checked, chunk)):
        empty = False
        notes += [f"{number} {what}." for what, number in counts.items()]
        counts.clear()
        found = None
        if opened.with_labels:
            places = [opened.place(item.name) for item in batch]
            tags = [item.tags for item in batch]
            joined = opened.joined
            cells = joined.join(tags, places, notes) if joined else [row[0] for row in tags]
            found = label_array(cells, places, label_separator, notes)
        yield Documents(
            opened.origin,
            texts=[item.text for item in batch],
            labels=found,
            ids=[item.name for item in batch],
            text_column=opened.text_column,
            label_column=opened.label_column,
            notes=notes,
        )
        notes = []
    if empty:
        raise ReaderError(f"{opened.origin}: empty: no documents in it.")


@dataclass(frozen=True)
class _Opened:
    """Rows of the chosen columns: `n_texts` cells of text, and the label cells after them."""

    origin: str
    unit: str
    rows: Iterator[Row]
    with_labels: bool
    notes: list[str]
    n_texts: int = 1
    text_column: str | list[str] | None = None
    label_column: str | list[str] | None = None
    joined: JoinedColumns | None = None

    def place(self, name: str) -> str:
        """Name a row in messages."""
        return f"{self.origin}, {self.unit} {name}"


def _open_folder(
    folder: Path,
    encoding: str,
    label: ColumnNames | None,
    labels: Labels | None,
    labels_required: bool,
) -> _Opened:
    notes: list[str] = []
    rows, with_labels = open_folder(
        folder, encoding, label, labels, notes, labels_required=labels_required
    )
    return _Opened(str(folder), "file", rows, with_labels, notes)


def _open_columns(
    source: Any, kind: str, encoding: str, wanted: Wanted, labels: Labels | None
) -> _Opened:
    """Open a table, and choose its columns by the header."""
    table = _open_table(source, kind, encoding)
    # With labels kept apart, `label` names a column over there.
    inside = wanted if labels is None else replace(wanted, label=None)
    chosen = choose_columns(table.columns, inside, table.origin)
    notes = table.notes + chosen.notes
    rows = table.rows([*chosen.text, *chosen.label])
    if labels is not None:
        cells = read_labels(labels, wanted.label, encoding, notes).cells
        rows = _with_labels(rows, cells, labels)
    label_column = names_of(table.columns, chosen.label, several=chosen.several)
    return _Opened(
        table.origin,
        table.unit,
        rows,
        with_labels=labels is not None or bool(chosen.label),
        notes=notes,
        n_texts=len(chosen.text),
        text_column=names_of(table.columns, chosen.text, several=False),
        label_column=label_column,
        joined=JoinedColumns(label_column) if chosen.several else None,
    )


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


def _check_columns(kind: str, text: ColumnNames | None, origin: str) -> None:
    """Raise if a column is asked of a source that has none."""
    if text and kind in (*_MATRICES, "folder"):
        raise ReaderError(f"{origin}: no column {text!r}: it is no table of texts.")


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
    for name, cells in rows:
        if number < len(tags):
            yield name, (*cells, tags[number])
        number += 1
    check_length(tags, number, origin)


class _Checked(NamedTuple):
    """A document whose text will do, and the raw cells of its labels."""

    name: str
    text: str
    tags: tuple[object, ...]


def _checked(opened: _Opened, skip_empty: bool, counts: Counter[str]) -> Iterator[_Checked]:
    """Pass on rows that hold a text; count what was left out or mended."""
    for name, cells in opened.rows:
        place = opened.place(name)
        words = _joined_text(cells[: opened.n_texts], place)
        clean = mended(words)
        if clean != words:
            counts["texts held broken Unicode, replaced by U+FFFD"] += 1
        if not clean.strip():
            if skip_empty:
                counts[f"{opened.unit}s without text were left out"] += 1
                continue
            raise ReaderError(
                f"{place}: no text. Fill it in, or leave such rows out with skip_empty=True "
                "(--skip-empty on the command line)."
            )
        yield _Checked(name, clean, cells[opened.n_texts :])


def _joined_text(cells: Sequence[object], place: str) -> str:
    """Join the texts of a row, each on a line of its own; empty cells are passed over."""
    parts = [cell for cell in cells if not is_missing(cell) and cell != ""]
    for part in parts:
        if not isinstance(part, str):
            raise ReaderError(
                f"{place}: the text is of type {type(part).__name__}, expected a string. Choose "
                "another column with text='...' (--text on the command line)."
            )
    return "\n".join(map(str, parts)) if len(parts) != 1 else str(parts[0])
