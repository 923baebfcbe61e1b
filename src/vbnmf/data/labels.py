"""The one reading of labels: raw cells to plain values, their names, and files of labels.

A whole number is one label however a file writes it: 1, 1.0, "1" and "1.0". A column of numbers
with gaps is one of floats to many programs, and pandas writes it to CSV as "1.0". Which columns of
a table hold labels is chosen in :mod:`vbnmf.data.columns`.
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
        The labels of the model; nothing for a model without labels.
    unlabelled : object, default=None
        A label that stands for none, beside None and NaN.

    Attributes
    ----------
    names : list of str
        Their names, in the same order.
    """

    def __init__(self, classes: Iterable[object] = (), unlabelled: object = None) -> None:
        values = list(classes)
        self._unlabelled = unlabelled
        self.names = [str(value) for value in values]
        self._exact = set(self.names)
        self._by_key = dict(zip(map(label_name, values), self.names, strict=True))

    def match(self, label: object) -> list[str]:
        """Name the labels of a document, one or several, as the model does where it has them."""
        items = [item for item in _items(label) if not is_missing(item)]
        return [self._match(item) for item in items if item != self._unlabelled]

    def _match(self, label: object) -> str:
        if str(label) in self._exact:
            return str(label)
        name = label_name(label)
        return self._by_key.get(name, name)


def label_name(label: object) -> str:
    """Name a label; a whole number has one name, however it is written."""
    if isinstance(label, float | np.floating) and float(label).is_integer():
        return str(int(label))
    text = str(label)
    return text.partition(".")[0] if _WHOLE.fullmatch(text) else text


class LabelsFile(NamedTuple):
    """What a labels file holds.

    Attributes
    ----------
    names : list of str, or None
        The files the labels are for, when there is a column of them.
    cells : list
        Raw labels, one or a list a document.
    """

    names: list[str] | None
    cells: list[object]


class JoinedColumns:
    """Several columns that together hold a document's labels, which are joined to one list.

    Columns of nothing but zeros and ones say which documents have the label that the column is
    called. The first rows tell: a file that is read in parts is not read twice.
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
                    f"Columns {listed(self._names, 5)} hold zeros and ones: the labels are their "
                    "names."
                )
        if not self._are_bits:
            return [[item for cell in row for item in _items(cell)] for row in rows]
        return [self._named(row, place) for row, place in zip(rows, places, strict=True)]

    def _named(self, row: tuple[object, ...], place: str) -> list[str]:
        cells = [_plain(cell) for cell in row]
        for name, cell in zip(self._names, cells, strict=True):
            if cell is not None and cell not in _BITS:
                raise ReaderError(
                    f"{place}: column {name!r} holds {cell[:60]!r}, where it was 0 or 1 before. "
                    "Read the file in one part, or name the columns that hold labels only."
                )
        return [
            name for name, cell in zip(self._names, cells, strict=True) if _BITS.get(cell or "")
        ]


def _plain(cell: object) -> str | None:
    """A cell as text, None if it is empty."""
    return None if is_missing(cell) else str(cell).strip().lower() or None


def _items(cell: object) -> list[object]:
    if isinstance(cell, np.ndarray):
        cell = cell.tolist()
    return list(cell) if isinstance(cell, _SEVERAL) else [cell]


def label_array(
    cells: Sequence[object], places: Sequence[str], separator: str | None, notes: list[str]
) -> NDArray[Any]:
    """Make raw labels, one or a list a document, an array of labels of one kind.

    Parameters
    ----------
    cells : sequence of length n_docs
        Raw labels.
    places : sequence of str of length n_docs
        Where each is, for messages.
    separator : str or None
        What stands between the labels in a text of several.
    notes : list of str
        Receives the number of missing labels, and what else was noticed.

    Returns
    -------
    ndarray of shape (n_docs,)
        Labels, None where there is none; lists of labels where any document could have several.
    """
    values = [_value(cell, place, separator) for cell, place in zip(cells, places, strict=True)]
    if separator is not None and not any(
        isinstance(item, str) and separator in item for cell in cells for item in _items(cell)
    ):
        notes.append(
            f"The label separator {separator!r} is in no label: is it the right one? Each label "
            "was taken as it is."
        )
    missing = sum(value is None for value in values)
    if missing:
        notes.append(f"{missing} of {len(values)} documents have no label.")
    several = any(isinstance(value, list) for value in values)
    lists = [value if isinstance(value, list) else [value] for value in values]
    kinds = {type(label) for labels in lists for label in labels if label is not None}
    kind = _common_kind({label for labels in lists for label in labels} - {None}, kinds)
    if kind is not None:
        if len(kinds) > 1:
            # Labels get sorted, and Python cannot order a string against a number.
            notes.append(f"Labels of several types were made {kind.__name__}.")
        elif kind is str:
            notes.append("Labels were taken for whole numbers: '1.0' is '1'.")
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
    """Find the type that all labels can have, None if they are to stay as they are."""
    if kinds in ({float}, {int, float}):
        whole = all(float(label).is_integer() and abs(label) < 2**53 for label in labels)
        return int if whole else None if kinds == {float} else float
    if kinds == {str}:
        return str if all(_WHOLE.fullmatch(label) for label in labels) else None
    return str if len(kinds) > 1 else None


def _value(cell: object, place: str, separator: str | None) -> object:
    """Reduce a raw label to a str, a number, a list of these, or None, which is missing."""
    if separator is None and not isinstance(cell, _SEVERAL):
        return _one(cell, place)
    labels = []
    for item in _items(cell):
        parts = item.split(separator) if separator and isinstance(item, str) else [item]
        labels += [_one(part, place) for part in parts]
    return list(dict.fromkeys(label for label in labels if label is not None)) or None


def _one(value: object, place: str) -> object:
    """Reduce one raw label to a str, a number or None, or say why that cannot be."""
    if isinstance(value, str):
        return mended(value.strip()) or None
    if is_missing(value):
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int | float):
        # No integer type holds more, and no float either: such a number is a name.
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
    """Read a labels file: one label a line, or a CSV or TSV table with a label column.

    Parameters
    ----------
    labels : path or iterable
        The file, or the labels themselves.
    label : str, sequence of str or None
        The label column or columns of a table; guessed when None or ``"auto"``.
    encoding : str
        The encoding of the file.
    notes : list of str
        Receives the guesses made.

    Returns
    -------
    LabelsFile
        Raw labels, still with their separators.
    """
    if not isinstance(labels, str | os.PathLike):
        if getattr(labels, "ndim", 1) != 1:
            raise ReaderError(
                f"labels: a {type(labels).__name__} of several columns, expected one label or one "
                "list of labels a document."
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
    rows = list(table.rows([*labels_at, *([name_at] if named and name_at is not None else [])]))
    tags = [cells[: len(labels_at)] for _, cells in rows]
    values: list[object] = [row[0] for row in tags]
    if label is not None and not isinstance(label, str):
        columns = JoinedColumns([table.columns[i] for i in labels_at])
        places = [f"{origin}, {table.unit} {number}" for number, _ in rows]
        values = columns.join(tags, places, notes)
    return LabelsFile([str(cells[-1]) for _, cells in rows] if named else None, values)


def check_separator(separator: str | None, with_labels: bool, origin: str) -> None:
    """Raise unless a separator can separate labels, and there are some."""
    if separator is None:
        return
    if not isinstance(separator, str) or not separator:
        raise ReaderError(f"{origin}: label_separator is {separator!r}, expected a text like ';'.")
    if not with_labels:
        raise ReaderError(
            f"{origin}: a label separator, {separator!r}, but no labels to separate. Name their "
            "column with label='...' (--label on the command line)."
        )


def check_single(label: ColumnNames | None, origin: str, what: str) -> None:
    """Raise if several columns are asked for where there are none."""
    if label is not None and not isinstance(label, str):
        raise ReaderError(
            f"{origin}: columns {listed(label)} are asked for, but {what}. Give one label='auto' "
            "(--label auto on the command line), or a labels file with these columns."
        )


def check_length(labels: Sequence[object], documents: int, origin: object, hint: str = "") -> None:
    """Raise unless there is one label a document."""
    if len(labels) != documents:
        where = origin if isinstance(origin, str | os.PathLike) else "labels"
        raise ReaderError(
            f"{where}: {len(labels):,} labels for {documents:,} documents; expected one a "
            f"document, an empty line where there is none.{hint}"
        )
