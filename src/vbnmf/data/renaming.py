"""Give labels one spelling: fold their case, or rename them by a table."""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from vbnmf.data.documents import Documents, ReaderError
from vbnmf.data.labels import label_name
from vbnmf.data.tables import open_text

LabelCase = Literal["keep", "fold"]
LabelMap = str | os.PathLike[str] | Mapping[str, str]
_COLUMNS = ("label", "becomes")


def renaming(
    label_case: LabelCase | None, label_map: LabelMap | None, encoding: str
) -> Callable[[Documents], Documents]:
    """Return a function that renames the labels of documents.

    Parameters
    ----------
    label_case : {"keep", "fold"} or None
        "fold" writes labels in lower case, with single spaces: "Billing " becomes "billing".
    label_map : path, mapping or None
        What labels become, after their case is folded. A file is a table (CSV or TSV) with the
        columns ``label`` and ``becomes``. Labels that it does not name stay as they are. An empty
        cell removes a label.
    encoding : str
        Encoding of the file.
    """
    if label_case not in (None, "keep", "fold"):
        raise ReaderError(f"label_case is {label_case!r}; expected 'keep' or 'fold'.")
    fold = label_case == "fold"
    if label_map is None and not fold:
        return lambda documents: documents
    table = _read_map(label_map, encoding) if isinstance(label_map, str | os.PathLike) else {}
    table |= dict(label_map) if isinstance(label_map, Mapping) else {}
    names = {_folded(name) if fold else name: new for name, new in table.items()}

    def new_name(label: object) -> object:
        if fold and isinstance(label, str):
            label = _folded(label)
        name = label if isinstance(label, str) else label_name(label)
        return names.get(name, label)

    def rename(documents: Documents) -> Documents:
        if documents.labels is None:
            return documents
        labels = np.empty(len(documents.labels), dtype=object)
        for i, cell in enumerate(documents.labels.tolist()):
            items = cell if isinstance(cell, list) else [cell]
            new = [new_name(item) for item in items if item is not None]
            kept = list(dict.fromkeys(item for item in new if item != ""))
            labels[i] = kept if isinstance(cell, list) and kept else kept[0] if kept else None
        kinds = {type(item) for item in labels}
        if len(kinds) == 1 and kinds <= {int, float, bool}:
            labels = np.array(labels.tolist())
        return replace(documents, labels=labels)

    return rename


def _folded(label: str) -> str:
    return " ".join(label.lower().split())


def _read_map(path: str | os.PathLike[str], encoding: str) -> dict[str, str]:
    name = str(path)
    suffix = Path(name.removesuffix(".gz")).suffix.lower()
    table = open_text(Path(path), encoding, "tsv" if suffix in (".tsv", ".tab") else "csv")
    if not set(_COLUMNS) <= set(table.columns):
        raise ReaderError(
            f"{name}: expected the columns 'label' and 'becomes'; found "
            f"{', '.join(map(repr, table.columns))}."
        )
    found: dict[str, str] = {}
    for number, cells in table.all_rows([table.columns.index(column) for column in _COLUMNS]):
        label, becomes = (str(cell).strip() for cell in cells)
        if found.setdefault(label, becomes) != becomes:
            raise ReaderError(
                f"{name}, line {number}: {label!r} becomes {becomes!r}, but {found[label]!r} in a "
                "line before. Keep one of them."
            )
    return found
