"""Compare documents of two periods: labels, components and words, then and now, and what is new.

Shares of labels are those of documents, and their differences have the intervals of
``metrics.shares``. The labels are the given ones if documents of both periods have some, and
predictions otherwise. Shares of components are those of the weight of documents, as in
``contrast``. P-values are adjusted for the number of labels, of components or of words.

Words are listed that significantly more documents have now (``metrics.logodds``), also words that
are not in the vocabulary of the model. New documents are those of the highest novelty
(``prediction.novelty``): of documents like those of the fit, 5 % are above 0.95.

Components explain the documents that they were fitted to better than others, which have more of the
background. This alone changed shares by up to five points between random parts of a corpus. So
components have no intervals if the model was fitted to the documents of one period more than to
those of the other. The novelty of documents of the fit is too small, and is left out then.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vbnmf.core.model import Array
from vbnmf.description.components import component_names
from vbnmf.evaluation.judging import training_places
from vbnmf.evaluation.parts import Part
from vbnmf.metrics.logodds import log_odds, rank_scores
from vbnmf.metrics.shares import REACH, adjusted, difference_interval, two_sided
from vbnmf.reviewing.contrast import component_shares
from vbnmf.text import DocumentVectorizer
from vbnmf.text.vectorizer import documents_of_terms

NOVEL = 0.95
"""Novelty above which a document is called new."""
SIGNIFICANT = 0.05
"""Adjusted p-value below which a word is listed."""

UNEVEN = 0.05
"""Difference of the shares of training documents from which on components have no intervals."""

_FEWEST = 3  # documents that a listed word needs now, if there are as many


@dataclass(frozen=True)
class ChangedShare:
    """The share of a label or component, then and now.

    Attributes
    ----------
    name : str
        Name of the label or component.
    then, now : float
        The shares.
    documents : tuple of two int, or None
        Documents of a label, then and now; None for a component.
    low, high : float or None
        Interval of 95 % of the difference, now minus then; None for components that explain the
        documents of one period better, because they were fitted to them.
    p_value : float or None
        P-value of no change, adjusted for their number.
    """

    name: str
    then: float
    now: float
    documents: tuple[int, int] | None
    low: float | None
    high: float | None
    p_value: float | None


@dataclass(frozen=True)
class NewWord:
    """A word that more documents have now.

    Attributes
    ----------
    term : str
        The word.
    documents : tuple of two int
        Documents that had it then, and that have it now.
    log_odds, low, high : float
        Log-odds now against then, and the ends of its interval of 95 %.
    known : bool
        Whether it is in the vocabulary of the model.
    """

    term: str
    documents: tuple[int, int]
    log_odds: float
    low: float
    high: float
    known: bool


@dataclass(frozen=True)
class Comparison:
    """Documents then and now.

    Attributes
    ----------
    documents : tuple of two int
        Number of documents, then and now.
    labels_are : {"given", "predicted"} or None
        What the shares of labels are of; None for a model without labels.
    labels, components : lists of ChangedShare
        The largest change first.
    words : list of NewWord
        The most characteristic of now first.
    in_training : tuple of two float
        Share of the documents that the model was fitted to, then and now, as far as it is known.
    novel : tuple of two (float or None), or None
        Share of documents above a novelty of 0.95, then and now; None without labels. That of a
        period is None if the model was fitted to more of its documents than to those of the other.
    new_documents : list of (int, float)
        Documents of now by novelty, as rows, the highest first.
    """

    documents: tuple[int, int]
    labels_are: str | None
    labels: list[ChangedShare]
    components: list[ChangedShare]
    words: list[NewWord]
    in_training: tuple[float, float]
    novel: tuple[float | None, float | None] | None
    new_documents: list[tuple[int, float]]


def compare_parts(
    then: Part, now: Part, *, n_words: int = 20, fitted_to_then: bool = False
) -> Comparison:
    """Compare the documents of two periods with one model.

    Parameters
    ----------
    then, now : Part
        Documents of both periods, and the same model.
    n_words : int, default=20
        Maximum number of words.
    fitted_to_then : bool, default=False
        Whether it is known that the model was fitted to the documents of ``then``. Otherwise those
        of the fit are found by their content, if the model has labels.

    Raises
    ------
    ValueError
        A period has no documents.
    """
    if not (then.n_docs and now.n_docs):
        raise ValueError("both periods must have documents, but one has none.")
    model = now.subject.model
    labels_are: str | None = None
    labels: list[ChangedShare] = []
    if now.subject.has_labels:
        labels_are, labels = _labels(then, now)
    in_training = (1.0 if fitted_to_then else _in_training(then), _in_training(now))
    more = [in_training[i] - in_training[1 - i] > UNEVEN for i in range(2)]
    novel, ranked = None, []
    if now.subject.has_labels:
        before, after = (
            model.novelty(part.encoded if part.texts is None else part.texts)
            for part in (then, now)
        )
        above = [None if too_small else float((values > NOVEL).mean())
                 for values, too_small in zip((before, after), more, strict=True)]  # fmt: skip
        novel = (above[0], above[1])
        order = np.argsort(-after, kind="stable")
        ranked = [(int(row), float(after[row])) for row in order.tolist()]
    return Comparison(
        (then.n_docs, now.n_docs),
        labels_are,
        labels,
        _components(then, now, with_intervals=not any(more)),
        new_words(then, now, n_words),
        in_training,
        novel,
        ranked,
    )


def _labels(then: Part, now: Part) -> tuple[str, list[ChangedShare]]:
    """Compare shares of labels, given or predicted."""
    both = (then, now)
    if all(part.labelled.n_docs for part in both):
        kind = "given"
        counts = [_by_name(part.subject.names, part.Y) for part in both]
        sizes = [part.labelled.n_docs for part in both]
    else:
        kind = "predicted"
        found = [part.subject.estimator.indicators_from(part.probabilities) for part in both]
        counts = [_by_name(part.subject.names, Y) for part, Y in zip(both, found, strict=True)]
        sizes = [part.n_docs for part in both]
    names = list(dict.fromkeys([*counts[1], *counts[0]]))
    n, m = (np.array([count.get(name, 0) for name in names]) for count in counts)
    low, high = difference_interval(n, sizes[0], m, sizes[1])
    p_values = adjusted(two_sided(_z(n, sizes[0], m, sizes[1])))
    changes = [
        ChangedShare(
            name,
            float(n[i] / sizes[0]),
            float(m[i] / sizes[1]),
            (int(n[i]), int(m[i])),
            float(low[i]),
            float(high[i]),
            float(p_values[i]),
        )
        for i, name in enumerate(names)
        if n[i] or m[i]
    ]
    return kind, _largest_first(changes)


def _by_name(names: Sequence[str], Y: Any) -> dict[str, int]:
    """Count the documents of each label by its name."""
    sums = np.asarray(Y.sum(axis=0)).ravel()
    return {name: int(n) for name, n in zip(names, sums, strict=False)}


def _z(n: Array, N: int, m: Array, M: int) -> Array:
    """Return the difference of shares in standard errors of no difference."""
    p = (n + m) / (N + M)
    error = np.sqrt(p * (1 - p) * (1 / N + 1 / M))
    return np.asarray((m / M - n / N) / np.where(error > 0, error, np.inf))


def _largest_first(changes: list[ChangedShare]) -> list[ChangedShare]:
    return sorted(changes, key=lambda one: (-abs(one.now - one.then), one.name))


def _in_training(part: Part) -> float:
    """Return the share of the documents that the model was fitted to, as far as it holds them."""
    return float((training_places(part) >= 0).mean())


def _components(then: Part, now: Part, *, with_intervals: bool) -> list[ChangedShare]:
    """Compare shares of components."""
    before, after = component_shares(then), component_shares(now)
    if before is None or after is None:
        return []
    model = now.subject.model
    names = component_names(model, model.terms_)
    errors = [float(np.hypot(a.error, b.error)) for a, b in zip(before, after, strict=True)]
    differences = [b.value - a.value for a, b in zip(before, after, strict=True)]
    z = [d / e if 0 < e < np.inf else 0.0 for d, e in zip(differences, errors, strict=True)]
    p_values = adjusted(two_sided(z))
    return _largest_first(
        [
            ChangedShare(
                f"{k} {names[k]}",
                before[k].value,
                after[k].value,
                None,
                differences[k] - REACH * errors[k] if with_intervals else None,
                differences[k] + REACH * errors[k] if with_intervals else None,
                float(p_values[k]) if with_intervals else None,
            )
            for k in range(len(names))
        ]
    )


def new_words(then: Part, now: Part, n_words: int) -> list[NewWord]:
    """List the words that significantly more documents have now, the most characteristic first."""
    counts = [_frequencies(part) for part in (then, now)]
    words = list(counts[1])
    n = np.array([counts[0].get(word, 0) for word in words])
    m = np.array([counts[1][word] for word in words])
    odds = log_odds(m, now.n_docs, n, then.n_docs)
    p_values = adjusted(two_sided(odds.z))
    enough = m >= min(_FEWEST, now.n_docs)
    at = np.flatnonzero((p_values < SIGNIFICANT) & (odds.log_odds > 0) & enough)
    score = rank_scores(m / now.n_docs, odds.low)
    at = at[np.argsort(-score[at], kind="stable")][:n_words]
    known = set(map(str, now.subject.model.terms_))
    return [
        NewWord(
            words[i],
            (int(n[i]), int(m[i])),
            float(odds.log_odds[i]),
            float(odds.low[i]),
            float(odds.high[i]),
            words[i] in known,
        )
        for i in at.tolist()
    ]


def _frequencies(part: Part) -> dict[str, int]:
    """Count the documents that have each word; only known words if there are no texts."""
    vectorizer = part.subject.model.vectorizer_
    if part.texts is not None and isinstance(vectorizer, DocumentVectorizer):
        return documents_of_terms(vectorizer, part.texts)
    has = np.asarray((part.X > 0).sum(axis=0)).ravel()
    terms = part.subject.model.terms_
    return {str(terms[w]): int(has[w]) for w in np.flatnonzero(has)}
