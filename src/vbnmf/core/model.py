"""The small records that the maths passes around, with their symbols.

Documents are rows and components come last: ``(n_docs, K)``, ``(n_terms, K)``, ``(n_groups, K)``.
A *group* is a set of documents that share one prior of their coefficients: those with the same
label or set of labels, or all documents of the unsupervised model. The documents whose label is
unknown are the last group of a corpus; inside of a shard each of them is a group of its own.

==========  =============================================================================
x_dw        weight of term w in document d, modelled as Σ_k s_dwk
s_dwk       ~ Poisson(t_wk v_dk)
t_wk        ~ Gamma(a_t, b_t): component k's use of term w
v_dk        ~ Gamma(a_v, 1/λ_{z_d k}), or Gamma(a_v, b_v) where there are no labels
λ_lk        ~ Gamma(a_lam, b_lam): rate of component k in label l
z_d         label of document d; δ_dl its weights over labels, which sum to one
B_lk        whether label l is in the scope of component k: v_dk is zero where z_d is not
E, L        ⟨·⟩ and exp⟨ln ·⟩ under q
Sigma_t     Σ_d ⟨s_dwk⟩, and Sigma_v = Σ_w ⟨s_dwk⟩
==========  =============================================================================

Scales are scales throughout (mean = shape · scale), as in the paper's appendix.
"""

from dataclasses import astuple, dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from vbnmf.core import gamma

Array = NDArray[Any]


@dataclass(frozen=True)
class Prior:
    """Hyperparameters, each tied over its whole matrix; those of λ are None without labels.

    Those of λ are one number, as in the paper, or one for each label, of shape (n_labels,).
    """

    a_t: float
    b_t: float
    a_v: float
    b_v: float
    a_lam: float | Array | None = None
    b_lam: float | Array | None = None


@dataclass(frozen=True)
class Scopes:
    """Which labels each component serves.

    A document of known labels uses the components of their scopes and no other. A document of
    unknown label may use all of them, because q(z) leaves every label possible: under a label that
    is not in the scope, its coefficient has the fixed rate ``outside``, which allows for very
    little.
    """

    mask: Array  # (n_labels, K) of bool: B
    outside: float


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
    """q(Λ): λ_lk ~ Gamma(shape_l, scale_lk), or shape_lk where there are scopes."""

    shape: Array  # (n_labels,) or (n_labels, K)
    scale: Array  # (n_labels, K)

    @property
    def E(self) -> Array:
        """⟨λ⟩, (n_labels, K)."""
        return np.asarray(column(self.shape) * self.scale)

    @property
    def mean_log(self) -> Array:
        """⟨ln λ⟩, (n_labels, K)."""
        return gamma.mean_log(column(self.shape), self.scale)


def column(by_label: float | Array) -> Array:
    """Shape one number, or one for each label, to stand beside (n_labels, K)."""
    return np.reshape(by_label, (-1, 1)) if np.ndim(by_label) < 2 else np.asarray(by_label)


@dataclass(frozen=True)
class Labels:
    """Which labels the documents of each group have: δ, whose rows sum to one.

    Groups with given labels come first. The documents of unknown label are one more group, whose
    row is p(z). A shard replaces that row by one for each of its documents, which is q(z)
    (``vbnmf.core.shardwork``). A document with several labels has them in equal parts, for
    which the bound is the paper's relaxed one (Jensen): Σ_l δ ln λ_l ≤ ln Σ_l δ λ_l. With scopes
    the parts are those of the labels that the component serves, δ_dl B_lk / Σ_j δ_dj B_jk.
    """

    known: sparse.csr_array  # (n_known, n_labels)
    latent: Array  # p(z), (1, n_labels), or (0, n_labels); in a shard q(z), (n_unknown, n_labels)
    log_prior: Array  # (n_labels,): ln p(z), by how frequent the labels are
    scopes: Scopes | None = None  # None: every component may serve every label

    @classmethod
    def one_each(cls, n_docs: Array) -> "Labels":
        """One label for each group, none unknown."""
        n_labels = len(n_docs)
        return cls.of(sparse.eye_array(n_labels, format="csr"), n_docs, unknown=False)

    @classmethod
    def of(cls, known: sparse.csr_array, n_docs: Array, *, unknown: bool) -> "Labels":
        """Labels of the known groups, which have ``n_docs`` documents, and whether some are not."""
        frequency = (known.T @ n_docs[: known.shape[0]]) / n_docs[: known.shape[0]].sum()
        # a label that no document is known to have is all but impossible
        log_prior = np.log(np.maximum(frequency, np.finfo(float).tiny))
        return cls(known, np.repeat(frequency[None], int(unknown), axis=0), log_prior)

    @cached_property
    def in_scope(self) -> Array | None:
        """Which components each group may use, (n_groups, K) of bool; None: all of them."""
        if self.scopes is None:
            return None
        latent = np.ones((len(self.latent), self.scopes.mask.shape[1]), dtype=bool)
        return np.vstack([self._parts_in_scope > 0, latent])

    @cached_property
    def _parts_in_scope(self) -> Array:
        """Σ_l δ_gl B_lk of the known groups, (n_known, K)."""
        assert self.scopes is not None
        return np.asarray(self.known @ self.scopes.mask.astype(np.float64))

    def by_group(self, values: Array) -> Array:
        """Mean over the labels of each group: (n_labels, K) to (n_groups, K).

        Components out of a known group's scope get zero.
        """
        of_latent = values
        if self.scopes is None:
            known = self.known @ values
        else:
            mask, parts = self.scopes.mask, self._parts_in_scope
            known = self.known @ np.where(mask, values, 0.0)
            known = np.divide(known, parts, out=np.zeros_like(known), where=parts > 0)
            of_latent = np.where(mask, values, self.scopes.outside)
        return np.vstack([known, _product(self.latent, of_latent)]) if len(self.latent) else known

    def by_label(self, sums: Array) -> Array:
        """Deal out sums of the groups, (n_groups, K), to their labels, (n_labels, K)."""
        known, latent = np.split(sums, [self.known.shape[0]])
        if self.scopes is not None:
            parts = self._parts_in_scope
            known = np.divide(known, parts, out=np.zeros_like(parts), where=parts > 0)
        dealt = self.known.T @ known
        dealt = dealt + _product(self.latent.T, latent) if len(self.latent) else dealt
        return dealt if self.scopes is None else np.where(self.scopes.mask, dealt, 0.0)

    def documents(self, n_docs: Array) -> Array:
        """N_l, the number of documents of each label, (n_labels,), from that of each group."""
        known, latent = np.split(n_docs, [self.known.shape[0]])
        dealt = self.known.T @ known
        return dealt + _product(self.latent.T, latent) if len(self.latent) else dealt

    def documents_in_scope(self, n_docs: Array) -> Array:
        """N_l as far as each component is concerned: (n_labels,), or (n_labels, K) with scopes."""
        if self.scopes is None:
            return self.documents(n_docs)
        K = self.scopes.mask.shape[1]
        return self.by_label(np.broadcast_to(n_docs[:, None], (len(n_docs), K)))

    def sums_outside(self, sums: Array) -> Array:
        """Sums of the documents of unknown label under labels out of scope, (n_labels, K)."""
        assert self.scopes is not None
        of_latent = sums[self.known.shape[0] :]
        latent = np.broadcast_to(of_latent, (len(of_latent), self.scopes.mask.shape[1]))
        return np.where(self.scopes.mask, 0.0, _product(self.latent.T, latent))


def _product(a: Array, b: Array) -> Array:
    """A product that is rounded the same way however many threads BLAS has."""
    return np.asarray(sparse.csr_array(a) @ b)


@dataclass(frozen=True)
class State:
    """All that documents share; ``rates`` and ``labels`` are None without labels."""

    prior: Prior
    terms: Terms
    rates: Rates | None = None
    labels: Labels | None = None
    inverse_temperature: float = (
        0.0  # how definite unknown labels may be: 0 is p(z), 1 as the bound says
    )


@dataclass(frozen=True)
class DocumentSums:
    """What a kernel adds up in a sweep; the numbers are nan where no bound was asked for."""

    shape_sums: Array  # (n_groups, K) float64: Σ_d shape of q(v)
    log_mean: float  # Σ x ln Σ_k L_t L_v, but for the offsets of L_t
    psi: float  # Σ_dk ψ(shape)
    entropy: float  # Σ_dk H(Gamma(shape, 1))


@dataclass(frozen=True)
class BoundTally:
    """Sums over documents that only the bound needs; ``+`` adds those of two shards."""

    log_mean: float  # Σ x ln Σ_k L_t L_v, but for the offsets of L_t
    psi: float  # Σ_dk ψ(shape)
    entropy: float  # Σ_dk H(Gamma(shape, 1))
    n_cells: float  # number of coefficients in scope
    log_scales: float  # Σ_dk ln scale over them
    docs_outside: float  # Σ_dk δ of unknown labels out of scope
    E_outside: float  # the same of E_v
    labels: float  # Σ_dl δ (ln p(l) − ln δ) where z_d is unknown

    def __add__(self, other: "BoundTally") -> "BoundTally":
        return BoundTally(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True)
class Statistics:
    """What one sweep over the documents adds up: all that the global step needs.

    Everything is by label or by term, never by document. ``tally`` is None where the bound was not
    asked for. Without labels ``label_sums`` and ``n_docs`` have one row for all documents.
    """

    R_t: Array | None  # (n_terms, K): Σ_d ratio_dw L_v, so that Sigma_t = L_t ∘ R_t
    E_sums: Array  # (K,) float64: Σ_d E_v
    E_total: float  # Σ_dk E_v
    label_sums: Array  # (n_labels, K) float64: Σ_d δ_dl E_v
    n_docs: Array  # (n_labels,), or (n_labels, K) with scopes: Σ_d δ_dl
    tally: BoundTally | None

    def __add__(self, other: "Statistics") -> "Statistics":
        """Add the sums of another shard; R_t is added in place."""
        R_t = self.R_t
        if R_t is not None and other.R_t is not None:
            R_t += other.R_t
        both = self.tally is not None and other.tally is not None
        return Statistics(
            R_t,
            self.E_sums + other.E_sums,
            self.E_total + other.E_total,
            self.label_sums + other.label_sums,
            self.n_docs + other.n_docs,
            self.tally + other.tally if both else None,  # type: ignore[operator]
        )


@dataclass(frozen=True)
class Totals:
    """What never changes about a corpus; ``+`` adds those of two shards."""

    n_docs: Array  # (n_groups,), by the documents' weights as all that is here
    term_sums: Array  # (n_terms,) float64: Σ_d x_dw
    log_factorials: float  # Σ ln Γ(x + 1)

    @property
    def mass(self) -> float:
        """Σ x."""
        return float(np.sum(self.term_sums))

    def __add__(self, other: "Totals") -> "Totals":
        return Totals(
            self.n_docs + other.n_docs,
            self.term_sums + other.term_sums,
            self.log_factorials + other.log_factorials,
        )


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
    """What the loop and the starts ask of the place where the documents are."""

    @property
    def kernel(self) -> Kernel:
        """The kernel that updates the terms."""
        ...

    @property
    def totals(self) -> Totals:
        """What never changes about the corpus."""
        ...

    def begin(self, portions: Array, in_scope: Array | None = None) -> None:
        """Start anew with each document's weight spread over the components by its group.

        ``portions`` is (n_groups, K), or (1, K) for all groups alike, and ``in_scope`` as in
        ``Labels``.
        """
        ...

    def group_term_sums(self) -> sparse.csr_array:
        """Σ_d x_dw by group, (n_groups, n_terms)."""
        ...

    def sweep(self, state: State, *, bound: bool, update: bool = True) -> Statistics:
        """Finish q(z) and q(v) with what is shared, then form all sums over the documents.

        With ``update``, R_t may take the memory of ``state.terms.shape``, which nothing needs any
        more.
        """
        ...


class ClusteringEngine(Engine, Protocol):
    """What the search for components asks beside that, of documents that are in memory."""

    @property
    def nnz(self) -> int:
        """Number of non-zeros."""
        ...

    def cluster_term_sums(
        self, known: sparse.csr_array, counts: Array, rng: np.random.Generator | None
    ) -> sparse.csr_array:
        """Σ_d x_dw by cluster of each label, (Σ counts, n_terms); ``known`` as in ``Labels``."""
        ...
