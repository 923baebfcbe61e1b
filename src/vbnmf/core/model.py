"""The small records that the maths passes around, with their symbols.

Documents are rows and components come last: ``(n_docs, K)``, ``(n_terms, K)``, ``(n_groups, K)``.
A *group* is a set of documents that share one prior of their coefficients: a label of the
supervised model, or all documents of the unsupervised one.

==========  =============================================================================
x_dw        weight of term w in document d, modelled as Σ_k s_dwk
s_dwk       ~ Poisson(t_wk v_dk)
t_wk        ~ Gamma(a_t, b_t): component k's use of term w
v_dk        ~ Gamma(a_v, 1/λ_{z_d k}), or Gamma(a_v, b_v) where there are no labels
λ_lk        ~ Gamma(a_lam, b_lam): rate of component k in label l
E, L        ⟨·⟩ and exp⟨ln ·⟩ under q
Sigma_t     Σ_d ⟨s_dwk⟩, and Sigma_v = Σ_w ⟨s_dwk⟩
==========  =============================================================================

Scales are scales throughout (mean = shape · scale), as in the paper's appendix.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class Prior:
    """Hyperparameters, each tied over its whole matrix; those of λ are None without labels."""

    a_t: float
    b_t: float
    a_v: float
    b_v: float
    a_lam: float | None = None
    b_lam: float | None = None


@dataclass(frozen=True)
class Terms:
    """q(T): t_wk ~ Gamma(shape_wk, scale_k), with what its bound terms need.

    ``shape`` and ``L`` may have padding behind column K; only kernels look at them.
    """

    shape: Array  # (n_terms, K)
    scale: Array  # (K,) float64
    L: Array  # (n_terms, K): exp⟨ln t⟩ / exp(offset)
    offset: Array  # (n_terms,) float64: keeps each row of L within range
    shape_sums: Array  # (K,) float64: Σ_w shape
    psi: float  # Σ_wk ψ(shape), where it was asked for
    entropy: float  # Σ_wk H(Gamma(shape, 1)), where it was asked for

    @property
    def E_sums(self) -> Array:
        """Σ_w E_t, (K,)."""
        return self.shape_sums * self.scale


@dataclass(frozen=True)
class Rates:
    """q(Λ): λ_lk ~ Gamma(shape_l, scale_lk)."""

    shape: Array  # (n_groups,)
    scale: Array  # (n_groups, K)

    @property
    def E(self) -> Array:
        """⟨λ⟩, (n_groups, K)."""
        return self.shape[:, None] * self.scale


@dataclass(frozen=True)
class State:
    """All that documents share; ``rates`` is None without labels."""

    prior: Prior
    terms: Terms
    rates: Rates | None = None


@dataclass(frozen=True)
class Statistics:
    """What one sweep over the documents adds up: all that the global step needs.

    The three numbers at the end are filled where the bound was asked for.
    """

    R_t: Array | None  # (n_terms, K): Σ_d ratio_dw L_v, so that Sigma_t = L_t ∘ R_t
    shape_sums: Array  # (n_groups, K) float64: Σ_d shape of q(v)
    scale: Array  # (n_groups, K) float64: scale of q(v)
    log_mean: float  # Σ x ln Σ_k L_t L_v, but for the offsets of L_t
    psi: float  # Σ_dk ψ(shape)
    entropy: float  # Σ_dk H(Gamma(shape, 1))

    @property
    def E_sums(self) -> Array:
        """Σ_d E_v by group, (n_groups, K)."""
        return self.shape_sums * self.scale


@dataclass(frozen=True)
class Totals:
    """What never changes about a corpus."""

    n_docs: Array  # (n_groups,)
    term_sums: Array  # (n_terms,) float64: Σ_d x_dw
    log_factorials: float  # Σ ln Γ(x + 1)

    @property
    def mass(self) -> float:
        """Σ x."""
        return float(np.sum(self.term_sums))


class Kernel(Protocol):
    """What the maths asks of a kernel; ``vbnmf.kernels`` has two."""

    def zeros(self, n: int, K: int, dtype: np.dtype[Any]) -> Array:
        """Zeros of shape (n, K) in the kernel's own layout, which may pad rows."""
        ...

    def gamma_rows(
        self, R: Array, L: Array, scale: Array, prior_shape: float, *, tally: bool
    ) -> Terms:
        """Set shape = prior_shape + L ∘ R in place of R, and L anew from it in place."""
        ...


class Engine(Protocol):
    """What the loop asks of the place where the documents are."""

    @property
    def kernel(self) -> Kernel:
        """The kernel that updates the terms."""
        ...

    @property
    def totals(self) -> Totals:
        """What never changes about the corpus."""
        ...

    def sweep(
        self, terms: Terms, scale: Array, a_v: float, *, bound: bool, update: bool = True
    ) -> Statistics:
        """Finish q(v) with ``scale`` (n_groups, K), then form all sums over the documents.

        With ``update``, R_t may take the memory of ``terms.shape``, which nothing needs any more.
        """
        ...
