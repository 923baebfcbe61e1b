"""Coefficients of documents with fixed components, which ``transform`` returns.

The label of a document is not known here, but its prior follows from what the model says of labels.
Let s_k = Σ_w ⟨t_wk⟩, and let θ_dk be the share of component k in document d, so that v_dk s_k is
the weight u_d of the document times θ_dk:

    q_dl ∝ π_l exp(n_d g_dl)                                     its label, from its terms
    m_dk = (1 − ε) Σ_l q_dl p_lk + ε Σ_l π_l p_lk                expected shares of components
    θ_d ~ Dirichlet(c ω_d m_d),   u_d ~ Gamma(ω_d, W / ω_d)

π_l is the frequency of label l, p_lk the share of component k in its documents, and g_dl the mean
log-likelihood of a term (``generative``). n_d is the effective number of terms of the document, ω_d
its weight divided by n_d, and W the mean weight of documents. So the prior counts as c terms for
the shares, and as one for the weight. The posterior mode of ln θ is found by

    θ_dk ∝ c ω_d m_dk + Σ_w x_dw L_t[w,k] v_dk / Σ_j L_t[w,j] v_dj

The shares of components do not depend on the units of X. Without scopes, the prior is that of the
paper, which is the same for all components, and the coefficients are means of q(v).
"""

from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from scipy import sparse
from scipy.special import softmax

from vbnmf.core.model import Array
from vbnmf.core.products import dot
from vbnmf.core.rows import effective_terms, mass
from vbnmf.prediction.evidence import mean_over_terms
from vbnmf.prediction.generative import term_log_probabilities

CONCENTRATION = 8.0
"""c: number of terms that the prior of a document counts as (docs/explanation/deviations.md)."""

EVERYWHERE = 0.1
"""ε: part of the prior that does not depend on the label, which may be another than it seems."""


class CoefficientPrior(Protocol):
    """Prior of the coefficients of documents whose labels are unknown."""

    def coefficients(
        self, kernel: Any, X: sparse.csr_array, L_t: Array, *, max_iter: int, tol: float
    ) -> Array:
        """Compute the coefficients of documents, (n_docs, K)."""


@dataclass(frozen=True, eq=False)
class EvenPrior:
    """The paper's prior, with the same shape for all components."""

    shape: float
    scale: float
    sums: Array  # (K,): sums of the components over the terms

    def coefficients(
        self, kernel: Any, X: sparse.csr_array, L_t: Array, *, max_iter: int, tol: float
    ) -> Array:
        """Compute the means of q(v), (n_docs, K)."""
        scale = 1.0 / (1.0 / self.scale + self.sums)
        V, _n_iter = kernel.project(X, L_t, scale, self.shape, max_iter=max_iter, tol=tol)
        return np.asarray(V)


@dataclass(frozen=True, eq=False)
class LabelPrior:
    """The prior that follows from the labels, as the terms of a document suggest them."""

    shares: sparse.csr_array  # p, (n_labels, K); rows sum to one
    term_logs: Array  # ln p_wl of the terms of X, (n_terms, n_labels)
    log_frequencies: Array  # ln π, (n_labels,)
    sums: Array  # s, (K,)
    mean_weight: float  # W
    concentration: float = CONCENTRATION
    everywhere: float = EVERYWHERE

    @classmethod
    def of(
        cls,
        components: Array,
        sums: Array,
        rates: Array,
        log_frequencies: Array,
        mean_weight: float,
    ) -> Self:
        """Compute the prior from the expected components, their sums, and the rates of labels.

        Parameters
        ----------
        components : array of shape (K, n_terms)
            Expected weights of the terms that documents have.
        sums : array of shape (K,)
            Sums of the components over all terms.
        rates : array of shape (n_labels, K)
            Expected rates of labels; infinite outside scopes.
        log_frequencies : array of shape (n_labels,)
            Log-frequencies of the labels.
        mean_weight : float
            Mean weight of documents.
        """
        shares = sparse.csr_array(sums / rates)
        totals = shares @ np.ones(len(sums))
        shares.data /= np.repeat(totals, np.diff(shares.indptr))
        logs = term_log_probabilities(components, rates, sums)
        return cls(shares, logs, log_frequencies, sums, mean_weight)

    def expected_shares(self, X: sparse.csr_array) -> Array:
        """Compute m, the expected shares of components in documents, (n_docs, K)."""
        logits = effective_terms(X)[:, None] * mean_over_terms(X, self.term_logs)
        q = softmax(logits + self.log_frequencies, axis=1)
        q = (1 - self.everywhere) * q + self.everywhere * softmax(self.log_frequencies)
        return np.asarray((self.shares.T @ q.T).T)

    def coefficients(
        self, kernel: Any, X: sparse.csr_array, L_t: Array, *, max_iter: int, tol: float
    ) -> Array:
        """Compute coefficients v from the posterior modes of ln θ, (n_docs, K)."""
        weight = mass(X)
        unit = np.where(weight > 0, weight / effective_terms(X), 1.0)
        shapes = (self.concentration * unit)[:, None] * self.expected_shares(X)
        V, _n_iter = kernel.project(
            X, L_t, 1 / self.sums, shapes, max_iter=max_iter, tol=tol, mode=True
        )
        total = (unit + weight) / (1 + unit / self.mean_weight)
        return np.asarray(
            V * (total / (self.concentration * unit + weight)).astype(V.dtype)[:, None]
        )


def mean_weight(activations: Array, frequencies: Array, sums: Array) -> float:
    """Compute the mean weight of documents from the mean coefficients of labels, (n_labels, K)."""
    by_label = (activations * sums).sum(axis=1)
    return dot(by_label, frequencies / max(frequencies.sum(), np.finfo(float).tiny))
