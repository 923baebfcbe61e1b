"""The forms that labels may have in Python, read into one form.

one label per document   a vector
several labels           an indicator matrix (documents × labels, 0 or 1), or lists of labels
unknown labels           None, NaN, a masked entry, the value of `unlabelled`, an empty list, zeros
"""

import warnings
from collections.abc import Iterable
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from vbnmf.callers import callers_level
from vbnmf.core.model import Array

_SETS = (list, set, frozenset)


class ReadLabels(NamedTuple):
    """Labels of documents, in the same form for all forms of y."""

    classes: Array  # the distinct labels, (n_labels,)
    indicators: sparse.csr_array  # known labels of each document, (n_docs, n_labels)
    multilabel: bool  # whether documents may have several labels
    named: bool  # False: columns without names, which are numbered


def read_labels(y: Any, unlabelled: Any) -> ReadLabels:
    """Read labels in any form.

    Parameters
    ----------
    y : array-like of shape (n_docs,), lists of labels, or matrix of shape (n_docs, n_labels)
        Labels as users pass them.
    unlabelled : label
        Value that marks an unknown label, besides None and NaN.

    Raises
    ------
    ValueError
        y has none of the forms, or its labels cannot be sorted.
    """
    if isinstance(y, np.ma.MaskedArray):
        mask, y = np.ma.getmaskarray(y), y.data.astype(object)
        y[mask] = None
    if type(y).__name__ == "Series":  # of pandas or polars; its entries may be lists
        y = list(y) if y.dtype == object or "List" in str(y.dtype) else y
    if is_indicator(y):
        return ReadLabels(*_from_indicator(y), multilabel=True, named=hasattr(y, "columns"))
    if _is_sets(y):
        return ReadLabels(*_from_sets(list(y), unlabelled), multilabel=True, named=True)
    return ReadLabels(*_from_vector(_as_vector(y), unlabelled), multilabel=False, named=True)


def is_indicator(y: Any) -> bool:
    """Return whether y is an indicator matrix. A single dense column is a vector."""
    if sparse.issparse(y):
        return True
    if isinstance(y, (list, tuple)):
        # Rows of zeros and ones of equal length are indicators, not lists of labels.
        rows = [list(row) for row in y if isinstance(row, (list, tuple, np.ndarray))]
        return (
            len(rows) == len(y) > 0
            and len({len(row) for row in rows}) == 1
            and len(rows[0]) > 1
            and all(_is_bit(value) for row in rows for value in row)
        )
    shape: tuple[int, ...] = getattr(y, "shape", ())
    return len(shape) == 2 and shape[1] != 1


def _is_bit(value: Any) -> bool:
    return isinstance(value, (Real, np.bool_)) and value in (0, 1)


def _from_indicator(y: Any) -> tuple[Array, sparse.csr_array]:
    """Read an indicator matrix. The columns of a data frame are the names of labels."""
    names = getattr(y, "columns", None)
    try:
        indicators = sparse.csr_array(
            y if sparse.issparse(y) else np.asarray(y), dtype=np.float64, copy=True
        )
        n_docs, n_labels = indicators.shape
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"y of shape {np.shape(y)} must be an indicator matrix of zeros and ones; {error}. "
            "Pass one label per document, or a list of labels per document."
        ) from None
    indicators.sum_duplicates()
    indicators.eliminate_zeros()
    if not (indicators.data == 1).all():
        odd = indicators.data[indicators.data != 1][0]
        raise ValueError(
            f"y of shape {n_docs, n_labels} must be an indicator matrix of zeros and ones; it has "
            f"the value {odd:g}. If each document has one label, y must be one-dimensional. A row "
            "of zeros is a document with unknown labels."
        )
    return _column_names(names, n_labels), indicators


def _column_names(names: Any, n_labels: int) -> Array:
    if names is None:
        return np.arange(n_labels)
    listed = list(names)
    if len({type(name) for name in listed}) > 1:
        listed = [str(name) for name in listed]
    if len(set(listed)) < len(listed):
        raise ValueError(f"y has columns with the same name: {listed}. Names must be unique.")
    check_endings(listed)
    return np.asarray(listed)


def check_endings(labels: Iterable[Any]) -> None:
    """Refuse labels that end with a NUL character, which strings of NumPy lose."""
    for label in labels:
        if isinstance(label, str) and label.endswith("\0"):
            raise ValueError(
                f"the label {label[-80:]!r} ends with a NUL character, which NumPy would remove, "
                "so that it could become another label. Remove NUL characters from the labels."
            )


def _is_sets(y: Any) -> bool:
    if isinstance(y, (str, bytes)) or not hasattr(y, "__iter__"):
        return False
    return any(isinstance(labels, _SETS) for labels in y)


def _from_sets(items: list[Any], unlabelled: Any) -> tuple[Array, sparse.csr_array]:
    """Read lists of labels. Missing values stand for unknown labels."""
    sets = []
    for row, item in enumerate(items):
        if isinstance(item, _SETS):
            sets.append([label for label in item if not _is_unlabelled(label, unlabelled)])
        elif _is_unlabelled(item, unlabelled):
            sets.append([])
        else:
            raise ValueError(
                f"y mixes lists of labels with single labels: row {row} is {item!r}. Put each "
                "label into a list."
            )
    flat = [label for labels in sets for label in labels]
    if any(isinstance(label, (*_SETS, dict, np.ndarray)) for label in flat):
        raise ValueError(
            "y has nested lists of labels, which cannot be sorted. Pass one list of labels for "
            "each document."
        )
    check_endings(flat)
    vector = np.empty(len(flat), dtype=object)
    vector[:] = flat
    kinds = {type(label) for label in flat}
    classes, codes = _sorted_labels(np.array(flat) if len(kinds) == 1 else vector)
    _check_numbers(classes)
    ends = np.cumsum([len(labels) for labels in sets])
    rows = [np.unique(part) for part in np.split(codes, ends[:-1])]  # a label named twice is one
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    indices = np.concatenate(rows).astype(np.int64)
    shape = (len(sets), len(classes))
    return classes, sparse.csr_array((np.ones(len(indices)), indices, indptr), shape=shape)


def _from_vector(labels: Array, unlabelled: Any) -> tuple[Array, sparse.csr_array]:
    missing = np.array([_is_unlabelled(label, unlabelled) for label in labels], dtype=bool)
    found = labels[~missing]
    if missing.any() and {type(label) for label in found} in ({int}, {float}, {bool}, {str}):
        found = np.array(found.tolist())  # without missing labels they may be plain numbers
    if missing.any() and found.dtype.kind == "f" and (found == np.floor(found)).all():
        found = found.astype(np.int64)  # they were floats only because labels are missing
    _check_numbers(found)
    classes, codes = _sorted_labels(found)
    indptr = np.concatenate([[0], np.cumsum(~missing)]).astype(np.int64)
    shape = (len(labels), len(classes))
    return classes, sparse.csr_array((np.ones(len(codes)), codes, indptr), shape=shape)


def _sorted_labels(labels: Array) -> tuple[Array, Array]:
    """Return the distinct labels, sorted, and the code of each label."""
    try:
        if any(isinstance(label, (set, frozenset)) for label in labels):
            raise TypeError  # sets can be compared, but not sorted
        classes, codes = np.unique(labels, return_inverse=True)
        return classes, codes.ravel()
    except TypeError:
        kinds = sorted({type(label).__name__ for label in labels})
        raise ValueError(
            f"labels of these types cannot be sorted: y has {', '.join(kinds)}. "
            "Use one type, for example strings."
        ) from None


def _check_numbers(labels: Array) -> None:
    if labels.dtype.kind != "f":
        return
    if not np.isfinite(labels).all():
        raise ValueError("y has infinite values: Input y contains infinity. Labels must be finite.")
    if (labels != np.floor(labels)).any():
        odd = labels[labels != np.floor(labels)][0]
        raise ValueError(
            f"Unknown label type: continuous. y has the value {odd:g}, which is not a label. Use "
            "whole numbers or strings, such as str(label) for each label."
        )


def _is_unlabelled(label: Any, unlabelled: Any) -> bool:
    """Return whether a label is None, NaN, NaT, the NA of pandas, or equals `unlabelled`."""
    try:
        if label is None or bool(label != label):
            return True
        return unlabelled is not None and bool(label == unlabelled)
    except (TypeError, ValueError):  # the NA of pandas has no truth value
        return type(label).__name__ == "NAType"


def _as_vector(y: Any) -> Array:
    """Convert labels to a one-dimensional array."""
    if isinstance(y, (list, tuple)) or getattr(getattr(y, "dtype", None), "kind", "") == "O":
        check_endings(y)
    if isinstance(y, (list, tuple)) and any(isinstance(label, tuple) for label in y):
        vector = np.empty(len(y), dtype=object)
        vector[:] = y
        return vector
    try:
        labels = np.asarray(y)
    except ValueError:  # lists of different lengths
        labels = np.empty(0).reshape(0, 0)
    if labels.dtype.kind in "US" and isinstance(y, (list, tuple)):
        # NumPy converts other types among strings to strings
        kinds = {str, bytes, np.str_, np.bytes_}
        if labels.ndim == 1 and not all(type(label) in kinds for label in y):
            labels = np.array(y, dtype=object)
    if labels.ndim == 2 and labels.shape[1] == 1:
        message = "A column-vector y was passed when a 1d array was expected; it is used as one."
        from sklearn.exceptions import DataConversionWarning

        warnings.warn(message, DataConversionWarning, stacklevel=callers_level())
        labels = labels.ravel()
    if labels.ndim != 1:
        raise ValueError(
            "y must be one-dimensional, with one label per document; got an array of shape "
            f"{labels.shape}."
        )
    return labels
