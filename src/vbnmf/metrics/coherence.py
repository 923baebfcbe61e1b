"""Coherence of components: normalised pointwise mutual information (NPMI) of their top terms.

    p_i  = part of the contexts that have term i,     p_ij = part that have both i and j
    NPMI = ln(p_ij / (p_i p_j)) / −ln p_ij             1: always together, 0: by chance, −1: never

A context is a whole document in ``document_npmi``, and a window of a few tokens in ``window_npmi``.
The two measures are not comparable. Top terms are those with the largest weight in the component.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.metrics.relevance import strongest_terms

_AT_ONCE = 1 << 20  # pairs of window and term that are held in memory


def document_npmi(components: ArrayLike, X: Any, top: int = 10) -> Array:
    """Compute the mean NPMI of the top terms of each component, in whole documents.

    The NPMI of a pair is -1 if no document has both terms. It is 0 if no document has one of the
    terms, or if all documents have both. Estimates from few documents are rough.

    Parameters
    ----------
    components : array_like of shape (K, n_terms)
        Weights of the terms in each component.
    X : {array_like, sparse matrix} of shape (n_docs, n_terms)
        Documents, preferably not those of training. A document has a term if its weight is
        positive.
    top : int, default=10
        Number of top terms, at least 2. All terms are used if there are fewer.

    Returns
    -------
    ndarray of shape (K,)
        Mean NPMI between -1 and 1; 0 if there is only one term.

    See Also
    --------
    window_npmi : NPMI in windows of tokens, as in the literature.

    References
    ----------
    G. Bouma (2009). Normalized (pointwise) mutual information in collocation extraction.
    Proceedings of the Biennial GSCL Conference, 31-40.

    Examples
    --------
    >>> X = [[1, 1, 0, 0], [2, 1, 0, 0], [0, 0, 3, 0], [0, 0, 0, 1]]
    >>> document_npmi([[5, 4, 0, 0], [0, 0, 3, 2]], X, top=2).tolist()
    [1.0, -1.0]
    """
    strongest = strongest_terms(components, top, least=2)
    has = sparse.csc_array(X)
    if has.shape[1] != np.shape(components)[1]:
        raise ValueError(
            f"X has {has.shape[1]} terms, but the components have {np.shape(components)[1]}. "
            "Compute X as for the fit."
        )
    if has.shape[0] == 0:
        raise ValueError("X has no documents to count terms in. Pass at least one.")
    return npmi_of_counts(counts_together(strongest, has), has.shape[0])


def counts_together(strongest: Iterable[Array], X: Any) -> list[Array]:
    """Count the documents that have both of two top terms of a component, (top, top) for each.

    Counts of several parts of the documents can be added.

    Parameters
    ----------
    strongest : iterable of K arrays of int
        Top terms of each component. Some may have fewer than others.
    X : {array_like, sparse matrix} of shape (n_docs, n_terms)
        Documents.
    """
    has = sparse.csc_array(X)
    counts = []
    # one component at a time, because all pairs of terms would not fit into memory
    for terms in strongest:
        present = (has[:, terms] > 0).astype(np.float64)
        counts.append((present.T @ present).toarray())
    return counts


def npmi_of_counts(counts: Iterable[Array], n_docs: int) -> Array:
    """Compute the mean NPMI of each component from the result of ``counts_together``."""
    return np.array([_mean_npmi(of_component / n_docs) for of_component in counts])


def window_npmi(
    components: ArrayLike,
    documents: Iterable[Sequence[str]],
    terms: Sequence[str],
    top: int = 10,
    window: int = 10,
) -> Array:
    """Compute the mean NPMI of the top terms of each component, in sliding windows.

    A window moves over each document token by token. The probability of a term is the part of all
    windows that have it at least once. A document that is shorter than the window is one window. A
    document without any token has no window. Palmetto, the program of Röder et al., counts windows
    in the same way.

    The NPMI of a pair is -1 if no window has both terms. It is 0 if no window has one of the terms,
    or if all windows have both.

    Parameters
    ----------
    components : array_like of shape (K, n_terms)
        Weights of the terms in each component.
    documents : iterable of sequences of str
        The tokens of each document in order, including those that are not terms. Read once.
    terms : sequence of str of length n_terms
        The token of each column of the components.
    top : int, default=10
        Number of top terms, at least 2. All terms are used if there are fewer.
    window : int, default=10
        Length of the window in tokens, at least 2.

    Returns
    -------
    ndarray of shape (K,)
        Mean NPMI between -1 and 1; 0 if there is only one term.

    See Also
    --------
    document_npmi : NPMI in whole documents, for which a matrix is enough.

    References
    ----------
    N. Aletras, M. Stevenson (2013). Evaluating topic coherence using distributional semantics.
    Proceedings of the 10th International Conference on Computational Semantics, 13-22.

    J. H. Lau, D. Newman, T. Baldwin (2014). Machine reading tea leaves: automatically evaluating
    topic coherence and topic model quality. Proceedings of the 14th Conference of the European
    Chapter of the Association for Computational Linguistics, 530-539.

    M. Röder, A. Both, A. Hinneburg (2015). Exploring the space of topic coherence measures.
    Proceedings of the 8th ACM International Conference on Web Search and Data Mining, 399-408.

    Examples
    --------
    Of the four windows of two tokens, one has both terms and two have each.

    >>> documents = [["green", "tea", "is", "green"], ["hot"]]
    >>> window_npmi([[2, 1]], documents, ["green", "tea"], window=2).tolist()
    [0.0]
    """
    names = _checked_names(terms, np.shape(components)[1])
    return window_npmi_of_terms(strongest_terms(components, top, least=2), documents, names, window)


def window_npmi_of_terms(
    strongest: Array, documents: Iterable[Sequence[str]], names: Sequence[str], window: int
) -> Array:
    """Compute ``window_npmi`` of given top terms, columns of shape (K, top)."""
    counted = WindowCounts.of(strongest, documents, names, window)
    if counted.n_windows == 0:
        raise ValueError(
            "documents have no tokens to count terms in. Pass at least one that is not empty."
        )
    return counted.npmi(strongest)


@dataclass(frozen=True, eq=False)
class WindowCounts:
    """Counts of windows that have top terms; those of several parts of the documents can be added.

    Attributes
    ----------
    counts : csr_array of int of shape (n_used, n_used)
        Windows that have both of two terms, for all top terms in the order of their columns.
    n_windows : int
        All windows.
    """

    counts: sparse.csr_array
    n_windows: int

    @classmethod
    def of(
        cls,
        strongest: Sequence[Array] | Array,
        documents: Iterable[Sequence[str]],
        names: Sequence[str],
        window: int,
    ) -> "WindowCounts":
        """Count windows; see ``window_npmi``. Some components may have fewer terms than others."""
        if window < 2:
            raise ValueError(
                f"window must be at least 2 tokens; got {window}. A usual value is 10."
            )
        used = np.unique(np.concatenate(strongest))
        place = {names[column]: i for i, column in enumerate(used)}
        n_windows, counts = 0, sparse.csr_array((len(used), len(used)), dtype=np.int64)
        for present in _windows(documents, place, window):
            n_windows += present.shape[0]
            counts = counts + present.T @ present
        return cls(counts, n_windows)

    def __add__(self, other: "WindowCounts") -> "WindowCounts":
        return WindowCounts(self.counts + other.counts, self.n_windows + other.n_windows)

    def npmi(self, strongest: Sequence[Array] | Array) -> Array:
        """Compute the mean NPMI of each component, (K,), for the same top terms."""
        used = np.unique(np.concatenate(strongest))
        places = [np.searchsorted(used, terms) for terms in strongest]
        return np.array(
            [
                _mean_npmi(self.counts[chosen][:, chosen].toarray() / self.n_windows)
                for chosen in places
            ]
        )


def _windows(
    documents: Iterable[Sequence[str]], place: dict[str, int], window: int
) -> Iterator[sparse.csr_array]:
    """Yield which windows have which terms, 0/1 of shape (windows, terms), in batches.

    The window at token s of a document has the tokens s to s + window - 1. A term at token i is
    therefore in the windows at tokens i - window + 1 to i, if they exist.
    """
    n_windows = size = 0
    found: list[int] = []  # terms, with the first and the last window that have them
    first: list[int] = []
    last: list[int] = []
    for number, tokens in enumerate(documents):
        if isinstance(tokens, str | bytes):
            raise TypeError(
                f"documents must be sequences of tokens; number {number} (from 0) is a single "
                f"{type(tokens).__name__}. Split it into tokens first."
            )
        if not len(tokens):
            continue
        n_here = max(len(tokens) - window + 1, 1)
        n_before = len(found)
        for i, token in enumerate(tokens):
            if token in place:
                found.append(place[token])
                first.append(n_windows + max(i - window + 1, 0))
                last.append(n_windows + min(i, n_here - 1))
        n_windows += n_here
        size += (len(found) - n_before) * min(window, n_here)
        if size >= _AT_ONCE:
            yield _incidence(found, first, last, n_windows, len(place))
            n_windows, size, found, first, last = 0, 0, [], [], []
    if n_windows:
        yield _incidence(found, first, last, n_windows, len(place))


def _incidence(
    found: list[int], first: list[int], last: list[int], n_windows: int, n_terms: int
) -> sparse.csr_array:
    """Return 0/1 of shape (windows, terms) from the first and last window of each occurrence."""
    lengths = np.array(last, dtype=np.int64) - np.array(first, dtype=np.int64) + 1
    ends = np.cumsum(lengths)
    total = int(lengths.sum())
    rows = np.arange(total) + np.repeat(np.array(first, dtype=np.int64) - ends + lengths, lengths)
    columns = np.repeat(np.array(found, dtype=np.int64), lengths)
    present = sparse.csr_array((np.ones(total, np.int64), (rows, columns)), (n_windows, n_terms))
    present.data[:] = 1  # several occurrences in a window were added
    return present


def _checked_names(terms: Sequence[str], n_terms: int) -> list[str]:
    names = list(terms)
    if len(names) != n_terms:
        raise ValueError(
            f"terms has {len(names)} names, but the components have {n_terms} columns. Pass one "
            "name per column in the same order."
        )
    if len(set(names)) != n_terms:
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(
            f"the names in terms must be unique; {twice!r} occurs more than once. Pass the token "
            "of each column."
        )
    return names


def _mean_npmi(p: Array) -> float:
    """Compute the mean NPMI over pairs of terms.

    p has the parts of contexts that have both terms, (top, top). Its diagonal has the parts that
    have each term.
    """
    first, second = np.triu_indices(len(p), 1)
    if not len(first):
        return 0.0
    return float(npmi(p[first, second], p[first, first], p[second, second]).mean())


def npmi(both: Array, p_i: Array, p_j: Array) -> Array:
    """Compute the NPMI of pairs from the parts of contexts that have both terms, and each."""
    by_chance = p_i * p_j
    scores = np.where((both == 0) & (by_chance > 0), -1.0, 0.0)
    some = (both > 0) & (both < 1)
    log_both = np.log(both[some])
    scores[some] = (log_both - np.log(by_chance[some])) / -log_both
    return scores
