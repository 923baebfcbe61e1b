"""Fit components without the documents of a fold, for the evidence of these documents.

Components were fitted with the labels of all training documents. To subtract a document from them
(``evidence``) is not enough: other documents divided their terms among components as if it were
there. On long texts the evidence of training documents is then better than that of new documents,
and on short texts worse. So some sweeps are repeated without the documents of each fold. They begin
at the fitted components, so that components keep their meaning, and change only what depends on the
documents that are gone.

What all documents have in common differs a little between the models of the folds.
``Training.by_folds`` takes this difference away: it depends on the labels that the fold has, and
would speak against them. On 60 drawn documents with five labels and heavy common terms, most
left-out predictions were wrong without this (``tests/test_words.py``).

The documents of the fold are new to these components. Their words that no other fold has are left
out of their evidence, as unknown words of a new document are.

References
----------
Chernozhukov et al. (2018), Double/debiased machine learning for treatment and structural
parameters.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from vbnmf.core import starts, updates
from vbnmf.core.model import Array, State
from vbnmf.core.pages import release
from vbnmf.engines.local import LocalEngine
from vbnmf.kernels import open_kernel
from vbnmf.prediction.head import Posterior

if TYPE_CHECKING:
    from vbnmf.kernels import AnyKernel

SWEEPS = 5
"""Sweeps without the documents of a fold.

Chosen on held-out training documents (docs/explanation/deviations.md): more change little.
"""

MANY_DOCUMENTS, SWEEPS_OF_MANY = 15_000, 2
"""Number of documents above which there are fewer sweeps, and how many."""

_ROWS_AT_ONCE = 1 << 9  # documents whose Sigma_v is computed at a time


@dataclass(frozen=True, eq=False)
class CrossFit:
    """A fitted model with its documents, from which folds can be left out.

    Attributes
    ----------
    X : csr_array of shape (n_docs, n_terms)
        All documents of the fit, in memory.
    group : ndarray of shape (n_docs,)
        Their groups.
    n_groups : int
        Number of groups.
    weight : ndarray of shape (n_docs,) or None
        Sample weights.
    V : ndarray of shape (n_docs, K)
        Coefficients.
    state : State
        The fitted state. The large arrays of its terms are not used.
    shapes : ndarray of shape (n_terms, K)
        Shapes of the fitted terms.
    rows : ndarray of int of shape (n,)
        The documents that are divided into folds, ascending. All others are never left out.
    n_threads : int
        Number of threads. Results do not depend on it.
    report : callable
        Called with the number of folds that are done, and with that of all folds.
    """

    X: sparse.csr_array
    group: Array
    n_groups: int
    weight: Array | None
    V: Array
    state: State
    shapes: Array
    rows: Array
    n_threads: int = 1
    report: Callable[[int, int], None] = lambda done, of: None

    def posteriors(self, full: Posterior, fold: Array) -> Iterator[tuple[Array, Posterior]]:
        """Yield the places of each fold's documents in ``rows``, and the model without them.

        Parameters
        ----------
        full : Posterior
            The model of all documents.
        fold : array of int of shape (n,)
            Fold of each document in ``rows``.
        """
        numbers = np.unique(fold)
        with open_kernel(self.n_threads) as kernel:
            for done, number in enumerate(numbers.tolist(), 1):
                held = np.flatnonzero(fold == number)
                left = np.ones(len(self.group), dtype=bool)
                left[self.rows[held]] = False
                yield held, self._without(kernel, np.flatnonzero(left), full)
                self.report(done, len(numbers))

    def _without(self, kernel: "AnyKernel", left: Array, full: Posterior) -> Posterior:
        """Return the model of the documents that are left."""
        release()
        state, (n_terms, K) = self.state, self.shapes.shape
        assert state.labels is not None
        weight = None if self.weight is None else self.weight[left]
        unknown = self._unknown
        engine = LocalEngine(
            kernel, self.X[left], self.group[left], self.n_groups, weight=weight,
            unknown=bool(unknown.any()),
        )  # fmt: skip
        engine.begin(np.zeros((1, K)), state.labels.in_scope)
        engine.place(self._Sigma_v(left), self.V[left[unknown[left]]])
        shapes = engine.kernel.zeros(n_terms, K, self.shapes.dtype)
        shapes[:, :K] = self.shapes
        terms = starts.terms_of(engine.kernel, shapes, state.terms.scale, tally=False)
        state = replace(state, terms=terms, inverse_temperature=1.0)
        for _ in range(SWEEPS if len(left) <= MANY_DOCUMENTS else SWEEPS_OF_MANY):
            stats = engine.sweep(state, bound=False)
            terms = updates.terms(engine.kernel, state, stats, tally=False)
            rates = updates.rates(state.prior, stats.n_docs, stats.label_sums)
            state = replace(state, terms=terms, rates=rates)
        found, scales, a_t = terms.shape, terms.scale, state.prior.a_t
        del engine, stats, terms, state  # large
        # to their original size, so that smoothing has the same effect
        everything = np.ones(len(self.group)) if self.weight is None else self.weight
        shapes = np.ascontiguousarray(found[:, :K])
        shapes -= shapes.dtype.type(a_t)
        if size := everything[left].sum():  # all documents may be copies, in one fold
            shapes *= shapes.dtype.type(everything.sum() / size)
        shapes += shapes.dtype.type(a_t)
        return replace(
            full,
            shapes=shapes,
            scales=scales,
            sums=shapes.sum(axis=0, dtype=np.float64) * scales,
            rates=np.where(np.isfinite(full.rates), rates.E, np.inf),
        )

    @property
    def _unknown(self) -> Array:
        """Documents of unknown label, (n_docs,) of bool."""
        assert self.state.labels is not None
        return np.asarray(self.group >= self.state.labels.known.shape[0])

    def _Sigma_v(self, rows: Array) -> Array:
        """Compute Σ_w ⟨s⟩ of some documents from their coefficients, (n, K)."""
        state, labels, unknown = self.state, self.state.labels, self._unknown
        assert labels is not None
        assert state.rates is not None
        place = self.group.astype(np.int64)
        if unknown.any():
            place[unknown] = labels.known.shape[0] + np.arange(unknown.sum())
            of_unknown = self.V[unknown].astype(np.float64)
            latent = updates.latent_labels(state.prior, labels, state.rates, of_unknown)
            labels = replace(labels, latent=latent)
        scale = updates.coefs_scale(state, labels)
        inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
        out = np.empty((len(rows), self.V.shape[1]), self.V.dtype)
        for begin in range(0, len(rows), _ROWS_AT_ONCE):
            at = slice(begin, begin + _ROWS_AT_ONCE)
            some = rows[at]
            out[at] = np.maximum(self.V[some] * inverse[place[some]] - state.prior.a_v, 0)
        return out
