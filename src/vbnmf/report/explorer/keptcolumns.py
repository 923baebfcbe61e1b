"""Compute what the page shows of columns of the file: groups of documents, and shares in each.

Columns are divided, and labels counted, by ``review.columnshares``. All documents are counted, also
those that the page leaves out. The page computes the intervals of labels from the counts.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vbnmf.evaluation.parts import Part
from vbnmf.report.explorer.packing import rounded, sig
from vbnmf.reviewing.columnshares import (
    Column,
    Shares,
    label_shares,
    read_column,
    shares_of_components,
)

MOST_COLUMNS = 10
"""Number of columns that a page can have."""
_LONGEST = 80  # characters of a cell
_COMPONENTS = 100  # of the largest share


def read_columns(columns: Mapping[str, Sequence[Any]] | None, n_docs: int) -> list[Column]:
    """Check the columns of documents, and divide the documents by each.

    Parameters
    ----------
    columns : mapping of str to sequence, or None
        The cells of each column, one for each document.
    n_docs : int
        Number of documents.
    """
    if not columns:
        return []
    if len(columns) > MOST_COLUMNS:
        raise ValueError(
            f"a page shows at most {MOST_COLUMNS} columns, and {len(columns)} were given. Choose "
            "those that documents are to be filtered by."
        )
    found = []
    for name, cells in columns.items():
        cells = list(cells)
        if len(cells) != n_docs:
            raise ValueError(
                f"column {name!r} has {len(cells):,} cells, but there are {n_docs:,} documents. "
                "Give one for each."
            )
        found.append(read_column(str(name), cells))
    return found


def column_payload(part: Part, column: Column) -> dict[str, Any]:
    """Return the groups of a column, and the shares of labels and components in each.

    Parameters
    ----------
    part : Part
        All documents of the page.
    column : Column
        A column of the same documents.
    """
    given = predicted = None
    if part.subject.has_labels:
        predicted = _counts(label_shares(part, column, predicted=True))
        if part.labelled.n_docs:
            given = _counts(label_shares(part, column))
    return {
        "name": column.name,
        "unit": column.unit,
        "groups": [[cut(one.name), one.kind, one.documents] for one in column.groups],
        "values": column.n_values,
        "given": given,
        "predicted": predicted,
        "components": _components(shares_of_components(part, column)),
    }


def column_details(column: Column, shown: Sequence[int]) -> dict[str, Any]:
    """Return the group and the cell of each document that is shown."""
    return {
        "groups": [int(column.of_document[d]) for d in shown],
        "cells": [cut(column.cells[d]) for d in shown],
    }


def cut(text: str) -> str:
    """Shorten a long cell."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _counts(found: Shares) -> dict[str, Any]:
    """Return the documents of each group, those of each label in it, and the p-values."""
    assert found.counts is not None
    return {
        "documents": found.documents.tolist(),
        "counts": found.counts.tolist(),
        "p": rounded(found.p_values, 2),
    }


def _components(found: Shares) -> dict[str, Any]:
    """Return the components of the largest share: their shares with intervals, and p-values."""
    mean = np.nan_to_num(found.shares).mean(axis=1)
    best = np.argsort(-mean, kind="stable")[:_COMPONENTS].tolist()
    return {
        "documents": found.documents.tolist(),
        "rows": best,
        "shares": [rounded(found.shares[k], 3) for k in best],
        "low": [rounded(found.low[k], 3) for k in best],
        "high": [rounded(found.high[k], 3) for k in best],
        "p": [sig(found.p_values[k], 2) for k in best],
    }
