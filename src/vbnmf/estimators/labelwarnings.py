"""Warnings about labels that look like a mistake."""

import warnings
from collections.abc import Iterator

import numpy as np

from vbnmf.callers import callers_level
from vbnmf.estimators.labels import Targets

_ENOUGH_DOCUMENTS = 20  # no warnings for smaller data, such as examples
_MOST_DOCUMENTS_LABELS = 0.5  # labels per document above which they look like names or texts
_MOST_JOINED = 0.5  # share of labels that contain a separator
_SEPARATORS = ("|", ";", ",")
_MISSING = ("nan", "nat", "null", "n/a", "#n/a", "<na>")  # as programs write missing values


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
    yield from _missing(names)
    if not targets.multilabel:
        yield from _joined(names)
    yield from _alike(names)
    numbers = np.asarray([x for x in labels if isinstance(x, (int, float))])
    if unlabelled is None and -1 in numbers and (numbers >= 0).sum() >= 2:
        yield (
            "-1 is used as a label like the others. If it marks an unknown label, set "
            "unlabelled=-1."
        )


def _missing(names: list[str]) -> Iterator[str]:
    """Warn of labels that look like missing values."""
    for name in names:
        if name.strip().casefold() in _MISSING:
            yield (
                f"{name!r} is used as a label like the others. If it marks an unknown label, leave "
                f"its cells empty (or use --label-map FILE; in Python: unlabelled={name!r})."
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
