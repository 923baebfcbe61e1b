"""Contrast two sets of documents: their words, components, confusions and closest documents.

**Words** are counted in documents. The log-odds of a word in A against B and their intervals are
those of ``metrics.logodds``, with the documents of the whole corpus as the prior. A word is listed
as more frequent on one side if

- its p-value is below 0.05 after adjustment for the number of words (``metrics.shares.adjusted``);
- |z| is above the noise floor: the largest |z| of any word between two halves of A, or of B, that
  are drawn at random. The median over several draws is taken, and the larger one of both sides.

Words in both are those that are characteristic of A and B together against all other documents,
that differ by a factor of three at most, and that are on neither of the other lists. If there are
no other documents, they are the words with the largest − p ln q, where p is the smaller one of both
shares of documents that have it, and q the share of all documents.

**Components** are compared by their shares of the weight of documents, with coefficients that were
estimated without labels. Their errors are those of a ratio of sums over documents
(``metrics.ratios``).

To swap A and B mirrors the result: log-odds and differences change their signs. Halves follow from
the contents of documents, so the result does not depend on their order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.core.rows import content_keys, is_empty, of_unit_length
from vbnmf.description.components import MATTERS, component_names, passage_of_terms
from vbnmf.evaluation.parts import Part
from vbnmf.metrics.logodds import log_odds, rank_scores
from vbnmf.metrics.passages import first_of_each
from vbnmf.metrics.ratios import Estimate, ratio
from vbnmf.metrics.shares import REACH, adjusted, two_sided

SIGNIFICANT = 0.05
"""Adjusted p-value below which a word is listed as more frequent on one side."""
DRAWS = 10
"""Number of divisions into halves of which the noise floor is the median."""

_SIMILAR = 3.0  # largest ratio of the shares of a word that is in both
_TWICE = 2.0  # ratio of the shares from which on a component is of one side
_FEWEST = 2  # documents of a side that a listed word needs
_MOST_COMPARED = 2000  # documents of a side among which the closest ones are searched
_FEW_TERMS = 10  # documents with at most this many terms are alike by chance


@dataclass(frozen=True)
class ContrastedTerm:
    """A term on both sides.

    Attributes
    ----------
    term : str
        The term.
    column : int
        Its column in the document-term matrix.
    documents : tuple of two int
        Documents of A and of B that have it.
    log_odds, low, high : float
        Log-odds in A against B, and the ends of its interval of 95 %.
    p_value : float
        P-value of no difference, adjusted for the number of words.
    """

    term: str
    column: int
    documents: tuple[int, int]
    log_odds: float
    low: float
    high: float
    p_value: float


@dataclass(frozen=True)
class ContrastedComponent:
    """A component on both sides.

    Attributes
    ----------
    component : int
        Its number.
    name : str
        Its name.
    shares : tuple of two float
        Its share of the weight of the documents of A and of B.
    low, high : float
        Interval of 95 % of the share in A minus the share in B.
    side : {"a", "both", "b", "unclear"}
        Where it is: on one side if its share there is at least twice that on the other side. It is
        unclear if the interval of such a difference contains zero.
    """

    component: int
    name: str
    shares: tuple[float, float]
    low: float
    high: float
    side: str


@dataclass(frozen=True)
class Closest:
    """The two closest documents of A and B, as rows, and the cosine of their terms."""

    rows: tuple[int, int]
    cosine: float


@dataclass(frozen=True)
class Contrast:
    """Two sets of documents, contrasted.

    Attributes
    ----------
    names : tuple of two str
        What the sides are called.
    documents : tuple of two int
        Number of documents of A and of B.
    in_both : int
        Documents that belong to both, which are left out.
    more_in_a, in_both_terms, more_in_b : lists of ContrastedTerm
        Terms, the most characteristic first.
    floor : float
        Noise floor of |z|.
    tested : int
        Number of words that p-values are adjusted for.
    components : list of ContrastedComponent
        Components of at least 2 % of a side, from those of A to those of B.
    confused : tuple of two int, or None
        Documents of A that are predicted as B, and the reverse; None if sides are not labels.
    closest : Closest or None
        The two closest documents; None if no two have a term in common.
    """

    names: tuple[str, str]
    documents: tuple[int, int]
    in_both: int
    more_in_a: list[ContrastedTerm]
    in_both_terms: list[ContrastedTerm]
    more_in_b: list[ContrastedTerm]
    floor: float
    tested: int
    components: list[ContrastedComponent]
    confused: tuple[int, int] | None
    closest: Closest | None


def contrast_labels(
    part: Part, first: int, second: int | None = None, *, n_terms: int = 15,
    probabilities: Array | None = None,
) -> Contrast:  # fmt: skip
    """Contrast the documents of a label with those of another label, or with all others.

    Documents that have both labels are left out.

    Parameters
    ----------
    part : Part
        Documents with labels, and a model.
    first, second : int, and int or None
        Positions of the labels in ``part.subject.names``; None for the rest of the labelled
        documents.
    n_terms : int, default=15
        Maximum number of terms of each list.
    probabilities : array of shape (n_docs, n_labels) or None
        Probabilities of labels, such as left-out ones; None for predictions.
    """
    columns = sparse.csc_array(part.Y)
    has = [np.zeros(part.n_docs, bool) for _ in range(2)]
    for mask, label in zip(has, (first, second), strict=True):
        if label is not None:
            mask[columns.indices[columns.indptr[label] : columns.indptr[label + 1]]] = True
    a, b = has
    if second is None:
        b = (np.diff(part.Y.indptr) > 0) & ~a
    names = part.subject.names
    called = (names[first], "the rest" if second is None else names[second])
    confused = None
    if part.subject.has_labels:
        confused = _confused(part, a & ~b, b & ~a, first, second, probabilities)
    return contrast_sides(part, a, b, called, n_terms=n_terms, confused=confused)


def _confused(
    part: Part, a: Array, b: Array, first: int, second: int | None, probabilities: Array | None
) -> tuple[int, int]:
    """Count documents of A that are predicted as B and not as A, and the reverse."""
    P = part.probabilities if probabilities is None else probabilities
    predicted = part.subject.estimator.indicators_from(P) > 0
    n = predicted.shape[1]
    none = np.zeros(part.n_docs, bool)
    as_a = predicted[:, first] if first < n else none
    if second is None:
        as_b = predicted.any(axis=1) & ~as_a
    else:
        as_b = predicted[:, second] if second < n else none
    return int((a & as_b & ~as_a).sum()), int((b & as_a & ~as_b).sum())


def contrast_sides(
    part: Part,
    a: Array,
    b: Array,
    names: tuple[str, str] = ("A", "B"),
    *,
    n_terms: int = 15,
    confused: tuple[int, int] | None = None,
) -> Contrast:
    """Contrast two sets of documents.

    Parameters
    ----------
    part : Part
        Documents, and a model, which needs no labels.
    a, b : arrays of bool of shape (n_docs,)
        The documents of both sides. Documents on both sides are left out.
    names : tuple of two str
        What the sides are called.
    n_terms : int, default=15
        Maximum number of terms of each list.
    confused : tuple of two int, or None
        Documents of A that are predicted as B, and the reverse.

    Raises
    ------
    ValueError
        A side has no document of its own.
    """
    a, b = np.asarray(a, bool), np.asarray(b, bool)
    in_both = int((a & b).sum())
    a, b = a & ~b, b & ~a
    for side, name in zip((a, b), names, strict=True):
        if not side.any():
            raise ValueError(f"there is no document of {name!r} alone, so nothing can be compared.")
    words = _Words.of(part, a, b)
    lists = words.lists(n_terms)
    return Contrast(
        names,
        (int(a.sum()), int(b.sum())),
        in_both,
        *lists,
        words.floor,
        len(words.columns),
        _components(part, a, b),
        confused,
        _closest(part.X, a, b),
    )


@dataclass(frozen=True, eq=False)
class _Words:
    """Words that occur on a side, counted; arrays of shape (n_words,)."""

    names: Sequence[str]
    columns: Array
    in_a: Array
    in_b: Array
    in_rest: Array
    sizes: tuple[int, int, int]
    odds: Any
    p_values: Array
    floor: float
    passage: Array

    @classmethod
    def of(cls, part: Part, a: Array, b: Array) -> "_Words":
        present = sparse.csr_array(part.X > 0, dtype=np.int64)
        corpus = np.ones(part.n_docs, np.int64) @ present
        in_a, in_b = (side.astype(np.int64) @ present for side in (a, b))
        columns = np.flatnonzero(in_a + in_b)
        share = corpus[columns] / part.n_docs
        in_a, in_b = in_a[columns], in_b[columns]
        n_a, n_b = int(a.sum()), int(b.sum())
        odds = log_odds(in_a, n_a, in_b, n_b, share=share)
        keys = content_keys(part.X)
        floor = max(_floor(present[np.flatnonzero(side)][:, columns], keys[side], share)
                    for side in (a, b))  # fmt: skip
        return cls(
            part.subject.model.terms_[columns].tolist()
            if hasattr(part.subject.model, "terms_")
            else [f"term {w}" for w in columns.tolist()],
            columns,
            in_a,
            in_b,
            corpus[columns] - in_a - in_b,
            (n_a, n_b, part.n_docs - n_a - n_b),
            odds,
            adjusted(two_sided(odds.z)),
            floor,
            passage_of_terms(part.subject.estimator)[columns],
        )

    def lists(
        self, n_terms: int
    ) -> tuple[list[ContrastedTerm], list[ContrastedTerm], list[ContrastedTerm]]:
        """Return the terms that are more in A, in both, and more in B."""
        n_a, n_b, n_rest = self.sizes
        share_a, share_b = self.in_a / n_a, self.in_b / n_b
        differs = (self.p_values < SIGNIFICANT) & (np.abs(self.odds.z) > self.floor)
        more = []
        for sign, n, share, low in (
            (1, self.in_a, share_a, self.odds.low),
            (-1, self.in_b, share_b, -self.odds.high),
        ):
            enough = n >= min(_FEWEST, n_a if sign > 0 else n_b)
            mine = differs & enough & (sign * self.odds.log_odds > 0)
            more.append(self._listed(mine, rank_scores(share, low), n_terms))
        least, most = np.minimum(share_a, share_b), np.maximum(share_a, share_b)
        both = (least > 0) & (most <= _SIMILAR * least) & ~differs
        score = -least * np.log((self.in_a + self.in_b) / (n_a + n_b))  # not the words of all
        if n_rest:
            against = log_odds(self.in_a + self.in_b, n_a + n_b, self.in_rest, n_rest)
            both &= against.low > 0
            score = rank_scores(least, against.low)
        return more[0], self._listed(both, score, n_terms), more[1]

    def _listed(self, chosen: Array, score: Array, n_terms: int) -> list[ContrastedTerm]:
        """Return the chosen terms of the highest scores, one of each passage."""
        at = np.flatnonzero(chosen)
        at = at[np.argsort(-score[at], kind="stable")]
        at = at[first_of_each(self.passage[at])][:n_terms]
        return [
            ContrastedTerm(
                str(self.names[i]),
                int(self.columns[i]),
                (int(self.in_a[i]), int(self.in_b[i])),
                float(self.odds.log_odds[i]),
                float(self.odds.low[i]),
                float(self.odds.high[i]),
                float(self.p_values[i]),
            )
            for i in at.tolist()
        ]


def _floor(present: sparse.csr_array, keys: Array, share: Array) -> float:
    """Return the largest |z| of any word between random halves, as a median over draws."""
    order = np.argsort(keys, kind="stable")  # the order of the file does not matter
    total = np.ones(len(keys), np.int64) @ present
    found = []
    for draw in range(DRAWS):
        half = np.zeros(len(keys), np.int64)
        half[order] = np.random.default_rng(draw).permutation(len(keys)) % 2
        n, N = half @ present, int(half.sum())
        z = log_odds(n, N, total - n, len(keys) - N, share=share).z
        found.append(float(np.abs(z).max(initial=0)))
    return float(np.median(found))


def _components(part: Part, a: Array, b: Array) -> list[ContrastedComponent]:
    """Compare the shares of components, from those of A to those of B."""
    model = part.subject.model
    in_a, in_b = (component_shares(part, side) for side in (a, b))
    if in_a is None or in_b is None:
        return []
    terms = getattr(model, "terms_", None)
    names = component_names(
        model, [str(w) for w in range(part.X.shape[1])] if terms is None else terms
    )
    found = []
    for k, (of_a, of_b) in enumerate(zip(in_a, in_b, strict=True)):
        if max(of_a.value, of_b.value) < MATTERS:
            continue
        difference = of_a.value - of_b.value
        reach = REACH * float(np.hypot(of_a.error, of_b.error))
        low, high = difference - reach, difference + reach
        side = "both"
        if max(of_a.value, of_b.value) >= _TWICE * min(of_a.value, of_b.value):
            side = "a" if low > 0 else "b" if high < 0 else "unclear"
        shares = (of_a.value, of_b.value)
        found.append(ContrastedComponent(k, names[k], shares, low, high, side))
    return sorted(found, key=lambda one: (one.shares[1] - one.shares[0], one.component))


def component_shares(part: Part, rows: Any = slice(None)) -> list[Estimate] | None:
    """Compute each component's share of the weight of some documents.

    Parameters
    ----------
    part : Part
        Documents, and a model.
    rows : array of bool of shape (n_docs,), or slice
        The documents.

    Returns
    -------
    list of Estimate, or None
        A share for each component; None if the documents have no weight.
    """
    sums = part.subject.estimator.component_sums_
    amounts = part.coefficients[rows].astype(np.float64) * sums
    amounts[is_empty(part.X)[rows]] = 0
    totals = amounts.sum(axis=1)
    if not totals.sum() > 0:
        return None
    return [ratio(column, totals) for column in amounts.T]


def _closest(X: sparse.csr_array, a: Array, b: Array) -> Closest | None:
    """Find the two closest documents, among at most ``_MOST_COMPARED`` of each side.

    Documents of few terms are compared only if a side has no others.
    """
    keys, n_terms = content_keys(X), np.diff(X.indptr)
    chosen = []
    for side in (a, b):
        rows = np.flatnonzero(side & (n_terms > 0))
        long = rows[n_terms[rows] > _FEW_TERMS]
        rows = long if len(long) else rows
        if not len(rows):
            return None
        chosen.append(np.sort(rows[np.argsort(keys[rows], kind="stable")[:_MOST_COMPARED]]))
    A, B = (of_unit_length(sparse.csr_array(X[rows], dtype=np.float64)) for rows in chosen)
    cosines = sparse.coo_array(A @ B.T)
    if not cosines.data.any():
        return None
    value = cosines.data.round(9)
    rows = np.stack([chosen[0][cosines.coords[0]], chosen[1][cosines.coords[1]]])
    first, last = np.sort(rows, axis=0)
    best = np.lexsort((last, first, -value))[0]  # equal ones by their rows, whichever side is A
    return Closest((int(rows[0, best]), int(rows[1, best])), float(min(value[best], 1.0)))
