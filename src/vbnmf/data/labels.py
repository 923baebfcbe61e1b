"""Read labels: convert raw cells to values, name labels, and read files of labels.

A whole number is the same label in all notations: 1, 1.0, "1" and "1.0". Many programs store a
column of numbers with missing values as floats, and pandas writes it to CSV as "1.0".
:mod:`vbnmf.data.columns` chooses the label columns of a table.
"""

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbnmf.data.columns import AUTO, ColumnNames, choose_labels
from vbnmf.data.documents import ReaderError, is_missing, listed, mended
from vbnmf.data.streams import STDIN, origin_of, read_lines
from vbnmf.data.tables import open_text

# A path, or the labels themselves.
LabelsSource = str | os.PathLike[str] | Iterable[object]
# Cells of these types hold several labels.
_SEVERAL = (list, tuple, set, frozenset, np.ndarray)
# What a column of zeros and ones may hold; a column with gaps is one of floats to many programs.
_BITS = {"0": False, "1": True, "0.0": False, "1.0": True, "false": False, "true": True}
# How pandas writes a whole number of a column with gaps.
_WHOLE = re.compile(r"[-+]?[0-9]+\.0")
# Columns of a labels file that name the file each label is for.
_NAME_COLUMNS = ("file", "filename", "file_name", "path", "name", "document", "doc", "id")


class KnownLabels:
    """The labels of a model, to which the labels of documents are matched.

    Parameters
    ----------
    classes : iterable
        The labels of the model; empty for a model without labels.
    unlabelled : object, default=None
        A value that marks an unknown label, besides None and NaN.

    Attributes
    ----------
    names : list of str
        Names of the labels in the same order.
    """

    def __init__(self, classes: Iterable[object] = (), unlabelled: object = None) -> None:
        values = list(classes)
        self._unlabelled = unlabelled
        self.names = [str(value) for value in values]
        self._exact = set(self.names)
        self._by_key = dict(zip(map(label_name, values), self.names, strict=True))

    def match(self, label: object) -> list[str]:
        """Return the names of the labels of a document, as in the model if it has them."""
        items = [item for item in _items(label) if not is_missing(item)]
        return [self._match(item) for item in items if item != self._unlabelled]

    def _match(self, label: object) -> str:
        if str(label) in self._exact:
            return str(label)
        name = label_name(label)
        return self._by_key.get(name, name)


def label_name(label: object) -> str:
    """Return the name of a label. A whole number has the same name in all notations."""
    if isinstance(label, float | np.floating) and float(label).is_integer():
        return str(int(label))
    text = str(label)
    return text.partition(".")[0] if _WHOLE.fullmatch(text) else text


class LabelsFile(NamedTuple):
    """Content of a labels file.

    Attributes
    ----------
    names : list of str, or None
        Names of the documents' files, if the labels file has a column of them.
    cells : list
        Raw labels, one label or one list per document.
    """

    names: list[str] | None
    cells: list[object]


class JoinedColumns:
    """Several label columns, which are joined to one list of labels per document.

    If all columns have only zeros and ones, the names of the columns are the labels. This is
    decided by the first part of a file that is read in parts.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._are_bits: bool | None = None

    def join(
        self, rows: Sequence[tuple[object, ...]], places: Sequence[str], notes: list[str]
    ) -> list[object]:
        """Join the cells of each row, shape (n_docs, n_columns), to a list of raw labels."""
        if self._are_bits is None:
            found = {_plain(cell) for row in rows for cell in row} - {None}
            self._are_bits = len(self._names) > 1 and found <= {*_BITS} if found else None
            if self._are_bits:
                notes.append(
                    f"Columns {listed(self._names, 5)} have zeros and ones: their names are used "
                    "as labels."
                )
        if not self._are_bits:
            return [[item for cell in row for item in _items(cell)] for row in rows]
        return [self._named(row, place) for row, place in zip(rows, places, strict=True)]

    def _named(self, row: tuple[object, ...], place: str) -> list[str]:
        cells = [_plain(cell) for cell in row]
        for name, cell in zip(self._names, cells, strict=True):
            if cell is not None and cell not in _BITS:
                raise ReaderError(
                    f"{place}: column {name!r} has {cell[:60]!r}, but only 0 and 1 before. "
                    "Read the file in one part, or name only the columns that have labels."
                )
        return [
            name for name, cell in zip(self._names, cells, strict=True) if _BITS.get(cell or "")
        ]


def _plain(cell: object) -> str | None:
    """Convert a cell to text, or to None if it is empty."""
    return None if is_missing(cell) else str(cell).strip().lower() or None


def _items(cell: object) -> list[object]:
    if isinstance(cell, np.ndarray):
        cell = cell.tolist()
    return list(cell) if isinstance(cell, _SEVERAL) else [cell]


def label_array(
    cells: Sequence[object], places: Sequence[str], separator: str | None, notes: list[str]
) -> NDArray[Any]:
    """Convert raw labels, one label or one list per document, to an array of labels of one type.

    Parameters
    ----------
    cells : sequence of length n_docs
        Raw labels.
    places : sequence of str of length n_docs
        Position of each label, for messages.
    separator : str or None
        Separator of several labels in one text.
    notes : list of str
        List to which messages are added, such as the number of missing labels.

    Returns
    -------
    ndarray of shape (n_docs,)
        Labels, or lists of labels if documents may have several. None for a missing label.
    """
    values = [_value(cell, place, separator) for cell, place in zip(cells, places, strict=True)]
    if separator is not None and not any(
        isinstance(item, str) and separator in item for cell in cells for item in _items(cell)
    ):
        notes.append(
            f"The label separator {separator!r} is in no label. Check whether it is the right "
            "separator."
        )
    missing = sum(value is None for value in values)
    if missing:
        notes.append(f"{missing:,} of {len(values):,} documents have no label.")
    several = any(isinstance(value, list) for value in values)
    lists = [value if isinstance(value, list) else [value] for value in values]
    kinds = {type(label) for labels in lists for label in labels if label is not None}
    kind = _common_kind({label for labels in lists for label in labels} - {None}, kinds)
    if kind is not None:
        if len(kinds) > 1:
            # Labels get sorted, and Python cannot order a string against a number.
            notes.append(f"Labels of several types were converted to {kind.__name__}.")
        elif kind is str:
            notes.append("Labels were read as whole numbers: '1.0' is '1'.")
        convert = label_name if kind is str else kind
        lists = [
            [None if label is None else convert(label) for label in labels] for labels in lists
        ]
        kinds = {kind}
    if not several and not missing and kinds <= {int, float, bool}:
        return np.array([labels[0] for labels in lists])
    # Objects, not fixed-width strings: one long label must not widen every other.
    array = np.empty(len(lists), dtype=object)
    for i, labels in enumerate(lists):  # one by one: lists of one length would make a matrix
        array[i] = labels if several and labels != [None] else labels[0]
    return array


def _common_kind(labels: set[Any], kinds: set[type]) -> type | None:
    """Return the type to which all labels are converted, or None to leave them unchanged."""
    if kinds in ({float}, {int, float}):
        whole = all(float(label).is_integer() and abs(label) < 2**53 for label in labels)
        return int if whole else None if kinds == {float} else float
    if kinds == {str}:
        return str if all(_WHOLE.fullmatch(label) for label in labels) else None
    return str if len(kinds) > 1 else None


def _value(cell: object, place: str, separator: str | None) -> object:
    """Convert a raw label to a str, a number, a list of these, or None if it is missing."""
    if separator is None and not isinstance(cell, _SEVERAL):
        return _one(cell, place)
    labels = []
    for item in _items(cell):
        parts = item.split(separator) if separator and isinstance(item, str) else [item]
        labels += [_one(part, place) for part in parts]
    return list(dict.fromkeys(label for label in labels if label is not None)) or None


def _one(value: object, place: str) -> object:
    """Convert one raw label to a str, a number or None; raise an error for other types."""
    if isinstance(value, str):
        return mended(value.strip()) or None
    if is_missing(value):
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int | float):
        # Larger integers do not fit into any numeric type, so they are used as names.
        return value if abs(value) < 2**63 or isinstance(value, float) else str(value)
    if isinstance(value, (*_SEVERAL, dict, bytes)):
        raise ReaderError(
            f"{place}: a label is of type {type(value).__name__}, expected a string, a number, or "
            "a list of these. Choose another label column."
        )
    return str(value)  # dates, decimals, UUIDs


def read_labels(
    labels: LabelsSource, label: ColumnNames | None, encoding: str, notes: list[str]
) -> LabelsFile:
    """Read a labels file: one label per line, or a CSV or TSV table with a label column.

    Parameters
    ----------
    labels : path or iterable
        The file, or the labels themselves.
    label : str, sequence of str or None
        The label column or columns of a table; guessed when None or ``"auto"``.
    encoding : str
        The encoding of the file.
    notes : list of str
        List to which messages about guesses are added.

    Returns
    -------
    LabelsFile
        Raw labels, still with their separators.
    """
    if not isinstance(labels, str | os.PathLike):
        if getattr(labels, "ndim", 1) != 1:
            raise ReaderError(
                f"labels: a {type(labels).__name__} with several columns; expected one label or "
                "one list of labels per document."
            )
        return LabelsFile(None, list(labels))
    path = labels if labels == STDIN else Path(labels)
    origin = origin_of(path)
    suffix = Path(origin.removesuffix(".gz")).suffix.lower()
    if suffix not in (".csv", ".tsv"):
        return LabelsFile(None, [line.strip() or None for line in read_lines(path, encoding)])
    table = open_text(path, encoding, suffix[1:])
    notes += table.notes
    folded = [column.casefold() for column in table.columns]
    name_at = next((folded.index(name) for name in _NAME_COLUMNS if name in folded), None)
    others = [i for i in range(len(folded)) if i != name_at]
    if label in (None, AUTO) and len(others) == 1:
        labels_at = others
    else:
        labels_at = choose_labels(table.columns, label or AUTO, origin, notes)
    named = name_at is not None and name_at not in labels_at
    at = [*labels_at, *([name_at] if named and name_at is not None else [])]
    rows = list(table.all_rows(at))
    tags = [cells[: len(labels_at)] for _, cells in rows]
    values: list[object] = [row[0] for row in tags]
    if label is not None and not isinstance(label, str):
        columns = JoinedColumns([table.columns[i] for i in labels_at])
        places = [f"{origin}, {table.unit} {number}" for number, _ in rows]
        values = columns.join(tags, places, notes)
    return LabelsFile([str(cells[-1]) for _, cells in rows] if named else None, values)


def check_separator(separator: str | None, with_labels: bool, origin: str) -> None:
    """Raise an error if a separator is empty, or if there are no labels to separate."""
    if separator is None:
        return
    if not isinstance(separator, str) or not separator:
        raise ReaderError(f"{origin}: label_separator is {separator!r}, expected a text like ';'.")
    if not with_labels:
        raise ReaderError(
            f"{origin}: there is a label separator, {separator!r}, but no label column. Name the "
            "label column with label='...' (--label on the command line)."
        )


def check_single(label: ColumnNames | None, origin: str, what: str) -> None:
    """Raise an error if several label columns are requested from a source without columns."""
    if label is not None and not isinstance(label, str):
        raise ReaderError(
            f"{origin}: columns {listed(label)} are requested, but {what}. Use label='auto' "
            "(--label auto on the command line), or pass a labels file with these columns."
        )


def check_length(labels: Sequence[object], documents: int, origin: object, hint: str = "") -> None:
    """Raise an error if the numbers of labels and documents differ."""
    if len(labels) != documents:
        where = origin if isinstance(origin, str | os.PathLike) else "labels"
        raise ReaderError(
            f"{where}: {len(labels):,} labels for {documents:,} documents; expected one per "
            f"document, and an empty line for a missing label.{hint}"
        )
