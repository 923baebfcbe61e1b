"""Log-odds of terms in the documents of a label against the documents outside of it.

    n_lw    documents of label l that have term w, of N_l
    m_lw    documents outside of label l that have it, of M_l
    p_w     = (n_lw + m_lw) / (N_l + M_l), share of all documents that have it
    α_w     = 1/2 + p_w,   β_w = 1/2 + (1 − p_w)

    δ_lw    = ln((n_lw + α_w) / (N_l − n_lw + β_w)) − ln((m_lw + α_w) / (M_l − m_lw + β_w))
    σ²_lw   = 1 / (n_lw + α_w) + 1 / (N_l − n_lw + β_w) + 1 / (m_lw + α_w) + 1 / (M_l − m_lw + β_w)

This is the weighted log-odds ratio of Monroe, Colaresi and Quinn (2008) for a share of documents in
place of a share of words, so that a word that is repeated in one document counts once. The prior is
Beta(α_w, β_w): that of Jeffreys, and one document drawn from the corpus.

If documents had the label at random, each document that has a term would have it with probability
q = N_l / (N_l + M_l), and

    P_lw    = P(Binomial(n_lw + m_lw, q) ≥ n_lw)
    e_lw    = P_lw · number of terms v that could reach it: q^(n_lv + m_lv) ≤ P_lw
    r_lw    = min over P ≥ P_lw of e / number of terms of the label with at most this P

e is an upper limit of the number of terms that would reach P by chance (Tarone 1990), and r that of
their share among those that do (Benjamini and Hochberg 1995). So r is of all terms that are as
unlikely or more, not of term w alone, which may be there by chance with a small r. With random
labels, at most half of the labels have a term with r below 1/2. Since N_l is known, the binomial
tail is too large for terms of many documents, which errs towards chance.

Y. Benjamini, Y. Hochberg (1995). Controlling the false discovery rate: a practical and powerful
approach to multiple testing. Journal of the Royal Statistical Society B 57, 289-300.
B. L. Monroe, M. P. Colaresi and K. M. Quinn (2008). Fightin' words: lexical feature selection and
evaluation for identifying the content of political conflict. Political Analysis 16, 372-403.
R. E. Tarone (1990). A modified Bonferroni method for discrete data. Biometrics 46, 515-522.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import betainc, ndtri

from vbnmf.core.model import Array

LEVEL = 0.95
"""Probability of the intervals."""

_BALANCE = 1 / 3  # exponent of the share of the label's documents in the ranking
_LEAST = 2  # documents of the label that a characteristic term needs, if the label has as many


class LogOdds(NamedTuple):
    """Log-odds of terms with intervals; arrays of one shape.

    Examples
    --------
    >>> from vbnmf.metrics import log_odds
    >>> found = log_odds([23], 25, [4], 1200)
    >>> bool(found.low[0] < found.log_odds[0] < found.high[0])
    True
    """

    log_odds: Array
    z: Array
    low: Array
    high: Array


def log_odds(
    label_documents: Any,
    n_label: Any,
    other_documents: Any,
    n_other: Any,
    *,
    level: float = LEVEL,
    share: Any = None,
) -> LogOdds:
    """Compare how many documents have each term in a label and outside of it.

    The arguments are broadcast against one another.

    Parameters
    ----------
    label_documents : array-like of int
        Documents of the label that have each term.
    n_label : array-like of int
        Documents of the label.
    other_documents : array-like of int
        Documents outside of the label that have each term.
    n_other : array-like of int
        Documents outside of the label.
    level : float, default=0.95
        Probability of the intervals, with equal tails.
    share : array-like of float or None, default=None
        Share of the documents of the corpus that have each term, p_w. None takes the documents of
        the label and outside of it as the corpus.

    Returns
    -------
    log_odds : ndarray
        Logarithm of the ratio of the odds in the label and outside, towards zero for few documents.
    z : ndarray
        The same divided by its standard error.
    low, high : ndarrays
        Ends of the interval, from a normal approximation.

    Raises
    ------
    ValueError
        A count is negative or larger than the number of documents, or ``level`` is not between 0
        and 1.

    Examples
    --------
    >>> from vbnmf.metrics import log_odds
    >>> found = log_odds([23, 2], 25, [4, 90], 1200)
    >>> found.log_odds.round(1).tolist()
    [7.5, 0.3]
    """
    n, N, m, M = _checked(label_documents, n_label, other_documents, n_other)
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1; got {level!r}.")
    p = (n + m) / np.maximum(N + M, 1) if share is None else np.asarray(share, np.float64)
    alpha, beta = 0.5 + p, 1.5 - p
    with_n, without_n, with_m, without_m = n + alpha, N - n + beta, m + alpha, M - m + beta
    found = np.log(with_n / without_n) - np.log(with_m / without_m)
    error = np.sqrt((1 / with_n + 1 / without_n) + (1 / with_m + 1 / without_m))  # mirrors
    reach = ndtri((1 + level) / 2) * error
    return LogOdds(found, found / error, found - reach, found + reach)


def characteristic_terms(
    label_documents: Any, n_label: int, other_documents: Any, n_other: int, n_terms: int
) -> Array:
    """Choose the terms that are characteristic of a label, the most characteristic first.

    A term is in at least two documents of the label (in one, if the label has no more), and a
    larger share of the label's documents has it than of the others. Terms are ranked by
    ``share ** (1 / 3) * low``, where ``low`` is the lower end of the interval of the log-odds, and
    the share is that of the label's documents that have the term. Terms whose interval reaches
    below zero come last, by ``low``.

    Why this order: on seven corpora, the order by z put words such as "the" and "it" first where
    documents are short, and the order by ``low`` alone put names that are in a few documents of one
    label and nowhere else before the words that most of its documents have.

    If there are no other documents, these are the terms of most documents.

    Parameters
    ----------
    label_documents : array-like of int of shape (n_terms,)
        Documents of the label that have each term.
    n_label : int
        Documents of the label.
    other_documents : array-like of int of shape (n_terms,)
        Documents outside of the label that have each term.
    n_other : int
        Documents outside of the label.
    n_terms : int
        Maximum number of terms.

    Returns
    -------
    ndarray of int of shape (at most n_terms,)
        Columns of the terms.

    Examples
    --------
    >>> from vbnmf.metrics import characteristic_terms
    >>> characteristic_terms([23, 2, 20], 25, [4, 90, 900], 1200, 2).tolist()
    [0, 2]
    """
    n, m = np.asarray(label_documents), np.asarray(other_documents)
    enough = n >= max(min(_LEAST, n_label), 1)
    if n_other == 0:
        at = np.flatnonzero(enough)
        return np.asarray(at[np.argsort(-n[at], kind="stable")[:n_terms]])
    # whole numbers, so that equal shares are equal
    at = np.flatnonzero(enough & (n.astype(np.int64) * n_other > m.astype(np.int64) * n_label))
    low = log_odds(n[at], n_label, m[at], n_other).low
    score = rank_scores(n[at] / n_label, low)
    return np.asarray(at[np.argsort(-score, kind="stable")[:n_terms]])


def share_by_chance(
    label_documents: Any, n_label: int, other_documents: Any, n_other: int, term_documents: Any
) -> Array:
    """Estimate which share of the terms of a label that are as unlikely as each is there by chance.

    How unlikely a term is: with which probability at least as many of its documents would have the
    label if documents had it at random. Among the terms of the label that are as unlikely or more,
    the expected share of those that random labels would give too is at most the result. The share
    is of all these terms: a single one with a small value may still be there by chance.

    Parameters
    ----------
    label_documents : array-like of int of shape (n_terms,)
        Documents of the label that have each term.
    n_label : int
        Documents of the label.
    other_documents : array-like of int of shape (n_terms,)
        Documents outside of the label that have each term.
    n_other : int
        Documents outside of the label.
    term_documents : array-like of int
        Documents that have each term of the corpus, also terms that the label does not have.

    Returns
    -------
    ndarray of shape (n_terms,)
        Between 0 and 1. Zero if all documents have the label, or none.

    Raises
    ------
    ValueError
        A count is negative or larger than the number of documents.

    Examples
    --------
    >>> from vbnmf.metrics import share_by_chance
    >>> n, m = [23, 2, 2], [4, 0, 90]  # of 25 documents of the label, and of 1,200 others
    >>> share_by_chance(n, 25, m, 1200, [27, 2, 92] + [2] * 900).round(2).tolist()
    [0.0, 0.19, 1.0]
    """
    n, _, m, _ = _checked(label_documents, n_label, other_documents, n_other)
    if n_other == 0 or n_label == 0:
        return np.zeros(n.shape)
    q = n_label / (n_label + n_other)
    P = np.where(n > 0, betainc(np.maximum(n, 1), m + 1, q), 1.0)  # tail of the binomial
    order = np.argsort(P, kind="stable")
    P = P[order]
    totals = np.sort(np.asarray(term_documents))
    needed = np.log(np.maximum(P, np.finfo(float).tiny)) / np.log(q)  # documents to reach P
    expected = P * (len(totals) - np.searchsorted(totals, needed - 1e-9))
    share = expected / np.searchsorted(P, P, side="right")
    found = np.empty(n.shape)
    found[order] = np.minimum(np.minimum.accumulate(share[::-1])[::-1], 1.0)
    return found


def _checked(label_documents: Any, n_label: Any, other_documents: Any, n_other: Any) -> list[Array]:
    """Return the counts as arrays of one shape, after checking them."""
    counts = (label_documents, n_label, other_documents, n_other)
    n, N, m, M = np.broadcast_arrays(*(np.asarray(a, np.float64) for a in counts))
    if not ((n >= 0) & (n <= N) & (m >= 0) & (m <= M)).all():
        raise ValueError(
            "the documents that have a term must be between 0 and all documents, in the label and "
            "outside of it. Pass counts of documents, not of words."
        )
    return [n, N, m, M]


def rank_scores(share: Array, low: Array) -> Array:
    """Score terms by the share of documents that have them and the lower end of their log-odds.

    Terms with the largest scores are the most characteristic; see ``characteristic_terms``.
    """
    return np.where(low > 0, share**_BALANCE * low, low)
