"""The labels of documents: the forms that users pass, encoded as groups, weights, odd labels.

one label per document   a vector
several labels           an indicator matrix (documents × labels, 0 or 1), or lists of labels
unknown labels           None, NaN, a masked entry, the value of `unlabelled`, an empty list, zeros

Documents with the same set of labels are a group. Documents with unknown labels are the last group.
"""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from vbnmf.callers import callers_level
from vbnmf.core.model import Array, Labels
from vbnmf.engines.backends import computed
from vbnmf.estimators.validation import check_weights

_AT_ONCE = 1 << 16  # documents that are counted at a time
_SETS = (list, set, frozenset)
_ENOUGH_DOCUMENTS = 20  # no warnings for smaller data, such as examples
_MOST_DOCUMENTS_LABELS = 0.5  # labels per document above which they look like names or texts
_MOST_JOINED = 0.5  # share of labels that contain a separator
_SEPARATORS = ("|", ";", ",")


@dataclass(frozen=True)
class Targets:
    """Validated labels.

    Attributes
    ----------
    classes : ndarray of shape (n_labels,)
        The labels, sorted, or in the order of the columns of an indicator matrix.
    group : ndarray of unsigned int, shape (n_docs,)
        The group of each document, in the smallest type. Documents with unknown labels are the last
        group. It is the only array here that grows with the documents.
    labels : Labels
        Labels of the groups.
    multilabel : bool
        Whether documents may have several labels.
    named : bool
        Whether the labels have names. The columns of an indicator matrix without names do not;
        they are numbered.
    """

    classes: Array
    group: Array
    labels: Labels
    multilabel: bool
    named: bool = True

    def rows(self, at: Array) -> "Targets":
        """Return the labels of some of the documents."""
        indicators = self.of_groups[self.group[at]]
        return grouped(self.classes, [indicators], self.multilabel, self.named)

    @property
    def indicators(self) -> sparse.csr_array:
        """Known labels of each document, (n_docs, n_labels) of int8; made anew by each use."""
        return self.of_groups[self.group]

    @property
    def of_groups(self) -> sparse.csr_array:
        """Labels of each group, (n_known + 1, n_labels) of int8; the last row is for unknown."""
        known = sparse.csr_array(self.labels.known)
        indptr = np.append(known.indptr, known.indptr[-1])
        ones = np.ones(known.nnz, np.int8)
        return sparse.csr_array(
            (ones, known.indices, indptr), shape=(known.shape[0] + 1, known.shape[1])
        )

    def sums(self, weight: Array | None) -> Array:
        """Sum the weights of the documents that have each label, (n_labels,) in float64."""
        by_group = sums_by_group(self.group, weight, self.labels.known.shape[0] + 1)
        return np.asarray(by_group @ self.of_groups)

    def with_classes(self, classes: Any) -> "Targets":
        """Return the labels with all that may occur, also those that no document has so far.

        Raises
        ------
        ValueError
            A document has a label that is not among them.
        """
        allowed = read_labels(list(classes), None).classes
        check_allowed(self.classes, allowed)
        place = {label: code for code, label in enumerate(allowed.tolist())}
        to = np.array([place[label] for label in self.classes.tolist()], dtype=np.int64)
        indicators = moved_columns(self.indicators, to, len(allowed))
        return grouped(allowed, [indicators], self.multilabel, named=True)

    def weighted(self, weight: Array) -> "Targets":
        """Return the labels for documents with sample weights, (n_docs,)."""
        n_known = self.labels.known.shape[0]
        known = self.known
        n_docs = np.bincount(self.group[known], weight[known], minlength=n_known)
        labels = Labels.of(self.labels.known, n_docs, unknown=bool(len(self.labels.latent)))
        return replace(self, labels=labels)

    def frequencies(self, weight: Array | None) -> Array:
        """Compute the part of documents with known labels that have each label, (n_labels,)."""
        if weight is None:
            return self.counts / self.known.sum()
        return self.sums(weight) / weight[self.known].sum()

    @property
    def counts(self) -> Array:
        """Documents that are known to have each label, (n_labels,) of int."""
        return self.sums(None).astype(np.int64)

    def check_known(self, classes: Array) -> None:
        """Raise an error if the labels do not match those of a model, (n_classes,).

        An unknown label is not an error if each document has one label.

        Raises
        ------
        ValueError
            Documents may have several labels, and the model does not know one of them; or the
            labels are strings and those of the model are numbers, or the reverse.
        """
        known = classes.tolist()
        _, labels = self.placed(classes)
        unknown = labels[len(known) :]
        n_used = int((self.counts > 0).sum())
        other_type = {isinstance(x, str) for x in unknown} ^ {isinstance(x, str) for x in known}
        if unknown and (self.multilabel or (len(unknown) == n_used and other_type)):
            raise ValueError(
                f"y has labels that the model does not know: {_some(unknown)}. It knows "
                f"{_some(known)}. Pass labels with the same names and type as in fit, or remove "
                "the documents with other labels."
            )

    def placed(self, classes: Array) -> tuple[sparse.csr_array, list[Any]]:
        """Reorder the labels as in a model.

        Labels are matched by name, and columns without names by position.

        Parameters
        ----------
        classes : ndarray of shape (n_classes,)
            The labels of the model.

        Returns
        -------
        indicators : csr_array of int of shape (n_docs, n_labels)
            Labels of each document.
        labels : list of length n_labels
            The labels of the model, followed by labels that the model does not know.

        Raises
        ------
        ValueError
            The number of columns without names differs from the number of labels.
        """
        known = classes.tolist()
        if not self.named and len(self.classes) != len(known):
            raise ValueError(
                f"y has {len(self.classes)} columns without names, but the model has {len(known)} "
                "labels. Pass one column for each label in the order of classes_, or lists of "
                "labels."
            )
        names = self.classes.tolist() if self.named else known
        places = {label: place for place, label in enumerate(known)}
        used = np.flatnonzero(self.counts).tolist()
        to = np.zeros(len(names), dtype=np.int64)
        to[used] = [places.setdefault(names[code], len(places)) for code in used]
        indicators = self.indicators.astype(np.int64)
        return moved_columns(indicators, to, len(places)), list(places)

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return self.labels.known.shape[0] + len(self.labels.latent)

    @property
    def known(self) -> Array:
        """Whether the labels of each document are known, (n_docs,) of bool."""
        return np.asarray(self.group < self.labels.known.shape[0])


def check_targets(
    estimator: object, y: Any, n_docs: int, unlabelled: Any = None, *, some: bool = True
) -> Targets:
    """Validate labels and group the documents by them.

    Raises
    ------
    ValueError
        The numbers of labels and documents differ, labels cannot be sorted, or no label is known
        although ``some`` must be.
    """
    name = type(estimator).__name__
    if y is None:
        raise ValueError(
            f"{name} requires y to be passed, but the target y is None. Pass labels, or use "
            "VBNMF, which does not need labels."
        )
    classes, indicators, multilabel, named = read_labels(y, unlabelled)
    if indicators.shape[0] != n_docs:
        raise ValueError(
            "X and y must have the same length: found input variables with inconsistent numbers "
            f"of samples, {n_docs} documents in X and {indicators.shape[0]} labels in y."
        )
    if indicators.nnz == 0 and some:
        raise ValueError(
            f"y has no label for any of the {n_docs} documents. {name} needs some documents with "
            "known labels. To fit without labels, use VBNMF."
        )
    return grouped(classes, [indicators], multilabel, named)


def check_allowed(labels: Array, classes: Array) -> None:
    """Refuse labels that are not among ``classes``."""
    other = sorted(set(labels.tolist()) - set(classes.tolist()))
    if other:
        raise ValueError(
            f"y has labels that are not in classes: {_some(other)}. Add them to classes, or leave "
            "classes out."
        )


def grouped(
    classes: Array, parts: Iterable[sparse.csr_array], multilabel: bool, named: bool
) -> Targets:
    """Group documents with the same labels; documents with unknown labels are the last group.

    ``parts`` are the indicators of some documents after the other, (n, n_labels).
    """
    distinct: dict[tuple[int, ...], int] = {}
    if not multilabel:
        distinct = {(code,): code for code in range(len(classes))}
    codes = [_smallest(_codes(part, distinct, multilabel), len(distinct)) for part in parts]
    if not distinct:  # no label is known
        distinct = {(code,): code for code in range(len(classes))}
    sets = sorted(distinct)
    place = np.empty(len(sets) + 1, np.min_scalar_type(len(sets)))
    place[[distinct[key] for key in sets]] = np.arange(len(sets))
    place[-1] = len(sets)
    group = np.concatenate([place[part] for part in codes])
    del codes
    n_docs = sums_by_group(group, None, len(sets) + 1)
    labels = Labels.of(_weights(sets, len(classes)), n_docs[:-1], unknown=bool(n_docs[-1]))
    return Targets(classes, group, labels, multilabel, named)


def sums_by_group(group: Array, weight: Array | None, n_groups: int) -> Array:
    """Sum the weights of documents, or count them, by group, (n_groups,) in float64."""
    sums = np.zeros(n_groups)
    for begin in range(0, len(group), _AT_ONCE):  # bincount makes a large copy of small numbers
        at = slice(begin, begin + _AT_ONCE)
        sums += np.bincount(group[at], None if weight is None else weight[at], minlength=n_groups)
    return sums


def _codes(
    indicators: sparse.csr_array, distinct: dict[tuple[int, ...], int], multilabel: bool
) -> Array:
    """Number the set of labels of each document; -1 if they are unknown. Adds new sets."""
    sizes = np.diff(indicators.indptr)
    known = np.flatnonzero(sizes)
    codes = indicators.indices
    if multilabel:
        spans = _spans(indicators.indptr, known)
        keys = [tuple(indicators.indices[a:b].tolist()) for a, b in spans]
        codes = np.array([distinct.setdefault(key, len(distinct)) for key in keys], np.int64)
    found = np.full(len(sizes), -1, np.int64)
    found[known] = codes
    return found


def _smallest(codes: Array, n: int) -> Array:
    """Codes from -1 to n - 1 in the smallest type of integers."""
    return codes.astype(np.min_scalar_type(-n - 1))


def _some(labels: Sequence[Any]) -> str:
    """Format the first few labels for a message."""
    shown = ", ".join(repr(label)[:80] for label in labels[:5])
    return shown + (f", … ({len(labels)} in all)" if len(labels) > 5 else "")


def _spans(indptr: Array, rows: Array) -> Sequence[tuple[int, int]]:
    return list(zip(indptr[rows].tolist(), indptr[rows + 1].tolist(), strict=True))


def _weights(sets: list[tuple[int, ...]], n_labels: int) -> sparse.csr_array:
    """Return equal weights of the labels of each set, (n_sets, n_labels)."""
    if not sets:
        return sparse.csr_array((0, n_labels))
    sizes = np.array([len(labels) for labels in sets])
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    data = np.repeat(1.0 / sizes, sizes)
    return sparse.csr_array((data, np.concatenate(sets), indptr), shape=(len(sets), n_labels))


# The forms that labels may have


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
    _check_endings(listed)
    return np.asarray(listed)


def _check_endings(labels: Iterable[Any]) -> None:
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
            sets.append([label for label in item if not is_unlabelled(label, unlabelled)])
        elif is_unlabelled(item, unlabelled):
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
    _check_endings(flat)
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
    missing = np.array([is_unlabelled(label, unlabelled) for label in labels], dtype=bool)
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


def is_unlabelled(label: Any, unlabelled: Any) -> bool:
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
        _check_endings(y)
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


# Labels of shards


def source_targets(estimator: object, X: Any, y: Any, unlabelled: Any) -> Targets:
    """Encode the labels of documents: those given, or those of the shards."""
    if y is not None:
        return check_targets(estimator, computed(y), X.shape[0], unlabelled)
    if not any(part.nnz for part in X.label_parts()):
        raise ValueError(
            f"{X!r} has no label for any document. {type(estimator).__name__} needs some documents "
            "of known label; use VBNMF where there are none."
        )
    _check_endings(X.labels)
    labels = np.array(X.labels)
    order = np.argsort(labels)  # labels are sorted, as those of a vector are
    place = np.empty(len(labels), np.int32)
    place[order] = np.arange(len(labels), dtype=np.int32)
    parts = (moved_columns(part, place, len(labels)) for part in X.label_parts())
    return grouped(labels[order], parts, X.multilabel, named=True)


def moved_columns(matrix: sparse.csr_array, places: Array, n_columns: int) -> sparse.csr_array:
    """Return a matrix with its columns at other places among ``n_columns``."""
    moved = sparse.csr_array(
        (matrix.data, places[matrix.indices], matrix.indptr), shape=(matrix.shape[0], n_columns)
    )
    moved.sort_indices()
    return moved


# Weights of labels


def with_class_weights(class_weight: Any, targets: Targets, weight: Array | None) -> Array | None:
    """Multiply sample weights with class weights.

    A document with several labels gets the mean of their class weights. A document with unknown
    labels gets class weight one.
    """
    if class_weight is None:
        return weight
    each = np.ones(len(targets.group)) if weight is None else weight
    sizes = targets.sums(each)
    if isinstance(class_weight, str) and class_weight == "balanced":
        has_any = sizes > 0
        by_label = np.where(has_any, sizes.sum() / np.where(has_any, sizes, 1) / has_any.sum(), 1.0)
    elif isinstance(class_weight, dict):
        listed = [class_weight.get(label, 1.0) for label in targets.classes.tolist()]
        if not all(isinstance(value, Real) for value in listed):
            raise ValueError(f"class_weight must have numbers as values; got {class_weight!r}.")
        by_label = np.array(listed, dtype=np.float64)
        unknown = set(class_weight) - set(targets.classes.tolist())
        if unknown:
            raise ValueError(
                f"class_weight has labels that y does not have: {sorted(map(str, unknown))}. y "
                f"has {', '.join(map(str, targets.classes[:5]))}, …"
            )
    else:
        raise ValueError(
            'class_weight must be a dict from labels to weights, "balanced" or None; got '
            f"{class_weight!r}."
        )
    of_groups = targets.of_groups
    n_labels = np.diff(of_groups.indptr)
    by_group = np.where(n_labels > 0, (of_groups @ by_label) / np.maximum(n_labels, 1), 1.0)
    of_labels = by_group[targets.group]
    return check_weights(each * of_labels, len(each), "class_weight, times sample_weight,")


# Labels that look like a mistake


class LabelWarning(UserWarning):
    """Warning about labels that look like a mistake."""


def warn_of_odd_labels(targets: Targets, unlabelled: object) -> None:
    """Issue a ``LabelWarning`` for each likely mistake in the labels."""
    for concern in _concerns(targets, unlabelled):
        warnings.warn(concern, LabelWarning, stacklevel=callers_level())


def _concerns(targets: Targets, unlabelled: object) -> Iterator[str]:
    n_docs, labels = int(targets.known.sum()), targets.classes.tolist()
    if n_docs < _ENOUGH_DOCUMENTS:
        return
    if len(labels) == 1:
        yield (
            f"all {n_docs:,} documents have the same label, {labels[0]!r}. Check which column "
            "holds the labels."
        )
    if len(labels) > _MOST_DOCUMENTS_LABELS * n_docs:
        yield (
            f"{n_docs:,} documents have {len(labels):,} different labels, such as {labels[0]!r}. "
            "They look like names or texts. Check which column holds the labels."
        )
    names = [label for label in labels if isinstance(label, str)]
    if not targets.multilabel:
        yield from _joined(names)
    yield from _alike(names)
    numbers = np.asarray([x for x in labels if isinstance(x, (int, float))])
    if unlabelled is None and -1 in numbers and (numbers >= 0).sum() >= 2:
        yield (
            "-1 is used as a label like the others. If it marks an unknown label, set "
            "unlabelled=-1."
        )


def _joined(names: list[str]) -> Iterator[str]:
    """Warn of labels that look like several labels in one string."""
    for separator in _SEPARATORS:
        joined = [name for name in names if separator in name]
        parts = {part.strip() for name in names for part in name.split(separator)}
        if len(joined) > _MOST_JOINED * len(names) and len(parts) < len(names):
            yield (
                f"{len(joined):,} of {len(names):,} labels contain {separator!r}, such as "
                f"{joined[0]!r}, and their parts repeat. If documents have several labels, pass "
                f"them as lists (on the command line: --label-separator {separator!r})."
            )
            return


def _alike(names: list[str]) -> Iterator[str]:
    """Warn of labels that differ only in case or spaces."""
    seen: dict[str, str] = {}
    for name in names:
        same = seen.setdefault(" ".join(name.casefold().split()), name)
        if same != name:
            yield (
                f"the labels {same!r} and {name!r} differ only in case or spaces. If they are "
                "meant to be one label, give them one spelling (on the command line: --label-case "
                "fold, or --label-map FILE)."
            )
            return
