"""Choose the number of components on held-out documents (``n_components="auto"``).

Every fifth document of each label is held out. A search on the other documents finds components for
several numbers. Each is scored by the likelihood of held-out documents by document completion
(``metrics.likelihood``). The fewest components within one standard error of the best are chosen;
the standard error is that of the paired difference over documents (``metrics.ratios``).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import sparse

from vbnmf.core import starts
from vbnmf.core.model import Array
from vbnmf.core.products import row_products
from vbnmf.core.rows import mass
from vbnmf.core.starts import Knobs
from vbnmf.discovery.clusters import content_hashes
from vbnmf.discovery.drafts import Draft
from vbnmf.metrics.likelihood import document_log_sums, split_documents
from vbnmf.metrics.ratios import ratio, ratio_difference

TIMES = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
"""Numbers of components that are tried, in parts of the number of labels."""
FEWEST_LABELS = 10
"""Fewer labels count as this number."""
MOST = 600
"""Largest number that is tried."""
HELD_OUT = 5
"""Every n-th document of a label is held out."""

_MAX_ITER, _TOL = 50, 1e-3  # of the coefficients of held-out documents


def numbers_to_try(n_labels: int, n_groups: int = 0) -> list[int]:
    """Return the numbers to try, ascending; ``n_groups`` is that of a label tree."""
    base = max(n_labels, FEWEST_LABELS)
    most = max(MOST, n_labels)
    return sorted({min(round(times * base), most) + n_groups for times in TIMES})


def choose_number(
    corpus: Any,
    numbers: list[int],
    search: Callable[[Any, int], Draft],
    kernel: Any,
    knobs: Knobs,
) -> tuple[int, dict[int, float]]:
    """Choose the number of components.

    Numbers are tried in ascending order, until two in a row are worse than the best by more than
    one standard error.

    Parameters
    ----------
    corpus : FitData
        Documents in memory.
    numbers : list of int
        Numbers to try, ascending.
    search : callable
        ``search(corpus, number)`` finds components in documents.
    kernel : kernel
        Computes coefficients.
    knobs : Knobs
        Hyperparameters.

    Returns
    -------
    number : int
        The chosen number.
    tried : dict
        Log-likelihood per unit of weight by number.
    """
    training, held = _divided(corpus)
    first, second = split_documents(held)
    scored = first.nnz > 0 and second.nnz > 0
    scores: dict[int, tuple[Array, Array]] = {}
    worse = 0
    for number in numbers:
        if not scored:
            return number, {}
        draft = search(training, number)
        model = _Components.of(draft, training, knobs)
        scores[number] = document_log_sums(model, second, model.coefficients(kernel, first))
        best = max(scores, key=lambda n: ratio(*scores[n]).value)
        difference = ratio_difference(scores[best], scores[number])
        worse = worse + 1 if difference.value > difference.error else 0
        if worse == 2:
            break
    tried = {number: ratio(*sums).value for number, sums in scores.items()}
    best = max(tried, key=lambda n: tried[n])
    for number in sorted(scores):
        difference = ratio_difference(scores[best], scores[number])
        if difference.value <= difference.error:
            return number, tried
    return best, tried


def _divided(corpus: Any) -> tuple[Any, sparse.csr_array]:
    """Return the corpus without the held-out documents, and these documents.

    Documents of a group are sorted by their contents, so that their order does not matter.
    """
    order = np.lexsort((content_hashes(corpus.X), corpus.group))
    sizes = np.bincount(corpus.group, minlength=corpus.n_groups)
    place = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    out = place % HELD_OUT == HELD_OUT - 1
    rows = np.sort(order[~out])
    weight = None if corpus.weight is None else corpus.weight[rows]
    training = replace(corpus, X=corpus.X[rows], group=corpus.group[rows], weight=weight)
    return training, corpus.X[order[out]]


@dataclass(frozen=True)
class _Components:
    """Components of a draft, as ``metrics.likelihood`` uses them; they sum to one."""

    shapes: Array  # of q(T), (n_terms, K)
    mean: Array  # mean coefficients, (K,)
    a_v: float  # shape of the prior of coefficients

    @classmethod
    def of(cls, draft: Draft, corpus: Any, knobs: Knobs) -> Self:
        n_docs = np.bincount(corpus.group, minlength=corpus.n_groups).astype(float)
        n_docs = n_docs if corpus.labels is None else corpus.labels.documents(n_docs)
        parts = row_products(draft.portions.T, n_docs / n_docs.sum())
        a_t = draft.counts.dtype.type(knobs.a_t or starts.FIRST_TERM_SHAPE)
        return cls(draft.counts + a_t, parts * mass(corpus.X).mean(), knobs.a_v)

    @property
    def components_(self) -> Array:
        return self.shapes.T / self.shapes.sum(axis=0)[:, None]

    @property
    def component_sums_(self) -> Array:
        return np.ones(len(self.mean))

    def coefficients(self, kernel: Any, X: sparse.csr_array) -> Array:
        """Compute the coefficients of documents, (n_docs, K)."""
        n_terms, K = self.shapes.shape
        shapes = kernel.zeros(n_terms, K, X.dtype)
        shapes[:, :K] = self.shapes
        totals = self.shapes.sum(axis=0, dtype=np.float64)
        terms = starts.terms_of(kernel, shapes, 1 / totals, tally=False)
        scale = 1 / (self.a_v / np.maximum(self.mean, np.finfo(float).tiny) + 1)
        V, _ = kernel.project(X, terms.L, scale, self.a_v, max_iter=_MAX_ITER, tol=_TOL)
        return np.asarray(V)
