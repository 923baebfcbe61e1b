"""Labels: one label reduced to a plain value, a list of them to an array, and files of labels.

Which column of a table holds labels is chosen in :mod:`vbnmf.data.documents`.
"""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbnmf.data.documents import AUTO, ReaderError, choose_label, is_missing, mended
from vbnmf.data.streams import STDIN, origin_of, read_lines
from vbnmf.data.tables import open_text

# A path, or the labels themselves.
Labels = str | os.PathLike[str] | Iterable[object]
# Columns of a labels file that name the file each label is for.
_NAME_COLUMNS = ("file", "filename", "file_name", "path", "name", "document", "doc", "id")


def label_value(value: object, place: str) -> object:
    """Reduce one raw label to a str, a number or None (missing), or say why that cannot be."""
    if isinstance(value, str):
        return mended(value.strip()) or None
    if isinstance(value, np.generic):
        value = value.item()
    if is_missing(value):
        return None
    if isinstance(value, int | float):
        # No integer type holds more, and no float either: such a number is a name.
        return value if abs(value) < 2**63 or isinstance(value, float) else str(value)
    if isinstance(value, list | tuple | set | dict | bytes | np.ndarray):
        raise ReaderError(
            f"{place}: the label is of type {type(value).__name__}, expected one string or number. "
            "Choose another label column, or write one label a document."
        )
    return str(value)  # dates, decimals, UUIDs


def label_array(values: list[object], notes: list[str]) -> NDArray[Any]:
    """Make labels of one kind an array, shape (n_docs,); missing ones are counted in `notes`."""
    missing = sum(value is None for value in values)
    if missing:
        notes.append(f"{missing} of {len(values)} documents have no label.")
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) > 1:
        # Labels get sorted, and Python cannot order a string against a number.
        kind: type = float if kinds == {int, float} else str
        notes.append(f"Labels of several types were made {kind.__name__}.")
        values = [None if value is None else kind(value) for value in values]
        kinds = {kind}
    if not missing and kinds <= {int, float, bool}:
        return np.array(values)
    # Objects, not fixed-width strings: one long label must not widen every other.
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def read_labels(
    labels: Labels, label: str | None, encoding: str, notes: list[str]
) -> tuple[list[str] | None, list[object]]:
    """Read a labels file: one label a line, or a CSV or TSV table with a label column.

    Parameters
    ----------
    labels : path or iterable
        The file, or the labels themselves.
    label : str or None
        The label column of a table; guessed when None or ``"auto"``.
    encoding : str
        The encoding of the file.
    notes : list of str
        Receives the guesses made.

    Returns
    -------
    names : list of str, or None
        The files the labels are for, when the table has a column of them.
    labels : list
        One label a line, empty ones being None.
    """
    if not isinstance(labels, str | os.PathLike):
        return None, list(labels)
    path = labels if labels == STDIN else Path(labels)
    origin = origin_of(path)
    suffix = Path(origin.removesuffix(".gz")).suffix.lower()
    if suffix not in (".csv", ".tsv"):
        return None, [line.strip() or None for line in read_lines(path, encoding)]
    table = open_text(path, encoding, suffix[1:])
    notes += table.notes
    folded = [column.casefold() for column in table.columns]
    name_at = next((folded.index(name) for name in _NAME_COLUMNS if name in folded), None)
    others = [i for i in range(len(folded)) if i != name_at]
    if label in (None, AUTO) and len(others) == 1:
        label_at = others[0]
    else:
        label_at = choose_label(table.columns, label or AUTO, origin, notes)
    if name_at is None or name_at == label_at:
        return None, [tag for _, _, tag in table.rows(label_at, label_at)]
    rows = [(str(name), tag) for _, name, tag in table.rows(name_at, label_at)]
    return [name for name, _ in rows], [tag for _, tag in rows]


def check_length(labels: Sequence[object], documents: int, origin: object, hint: str = "") -> None:
    """Raise unless there is one label a document."""
    if len(labels) != documents:
        where = origin if isinstance(origin, str | os.PathLike) else "labels"
        raise ReaderError(
            f"{where}: {len(labels):,} labels for {documents:,} documents; expected one a "
            f"document, an empty line where there is none.{hint}"
        )
