"""The labels of documents, encoded as groups, and the weights of labels.

Documents with the same set of labels are a group. Documents with unknown labels are the last group.
``labelforms`` reads the labels that users pass.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array, Labels
from vbnmf.core.rows import as_narrow
from vbnmf.engines.backends import computed
from vbnmf.estimators.labelforms import check_endings, read_labels
from vbnmf.estimators.validation import check_weights

_AT_ONCE = 1 << 16  # documents that are counted at a time


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
                f"y has labels that the model does not know: {some_of(unknown)}. It knows "
                f"{some_of(known)}. Pass labels with the same names and type as in fit, or remove "
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
            f"y has labels that are not in classes: {some_of(other)}. Add them to classes, or "
            "leave classes out."
        )


def some_of(labels: Sequence[Any]) -> str:
    """Format the first few labels for a message."""
    shown = ", ".join(repr(label)[:80] for label in labels[:5])
    return shown + (f", … ({len(labels)} in all)" if len(labels) > 5 else "")


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
    """Convert codes from -1 to n - 1 to the smallest type of integers."""
    return codes.astype(np.min_scalar_type(-n - 1))


def _spans(indptr: Array, rows: Array) -> Sequence[tuple[int, int]]:
    return list(zip(indptr[rows].tolist(), indptr[rows + 1].tolist(), strict=True))


def _weights(sets: list[tuple[int, ...]], n_labels: int) -> sparse.csr_array:
    """Return equal weights of the labels of each set, (n_sets, n_labels)."""
    if not sets:
        return sparse.csr_array((0, n_labels))
    sizes = np.array([len(labels) for labels in sets])
    ends = as_narrow(np.concatenate([[0], np.cumsum(sizes)]))
    data, labels = np.repeat(1.0 / sizes, sizes), np.concatenate(sets, dtype=np.int32)
    return sparse.csr_array((data, labels, ends), shape=(len(sets), n_labels))


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
    check_endings(X.labels)
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
