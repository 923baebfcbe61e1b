"""Define the records that functions of ``core`` pass to each other, and their symbols.

Documents are rows, and components are the last axis: ``(n_docs, K)``, ``(n_terms, K)``,
``(n_groups, K)``. A *group* is a set of documents whose coefficients have the same prior: documents
with the same label or set of labels, or all documents of the unsupervised model. The documents with
an unknown label are the last group of a corpus. Inside a shard, each of them is a group of its own.

==========  =============================================================================
x_dw        weight of term w in document d, modelled as Σ_k s_dwk
s_dwk       ~ Poisson(t_wk v_dk)
t_wk        ~ Gamma(a_t, b_t): weight of term w in component k
v_dk        ~ Gamma(a_v, 1/λ_{z_d k}), or Gamma(a_v, b_v) without labels
λ_lk        ~ Gamma(a_lam, b_lam): rate of component k in label l
z_d         label of document d; δ_dl its weights over labels, which sum to one
B_lk        whether label l is in the scope of component k; v_dk is zero if z_d is not
E, L        ⟨·⟩ and exp⟨ln ·⟩ under q
Sigma_t     Σ_d ⟨s_dwk⟩, and Sigma_v = Σ_w ⟨s_dwk⟩
==========  =============================================================================

All gamma distributions have a shape and a scale (mean = shape · scale), as in the paper's appendix.
"""

from dataclasses import astuple, dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from vbnmf.core import gamma
from vbnmf.core.products import product, row_products

Array = NDArray[Any]


@dataclass(frozen=True)
class Prior:
    """Hyperparameters, each shared by all entries of a matrix.

    ``a_lam`` and ``b_lam`` are one number, as in the paper, or one for each label, (n_labels,).
    Without labels they are None.
    """

    a_t: float
    b_t: float
    a_v: float
    b_v: float
    a_lam: float | Array | None = None
    b_lam: float | Array | None = None


@dataclass(frozen=True)
class Scopes:
    """Scopes: which labels each component serves.

    A document with known labels uses only components with one of these labels in their scope. A
    document with an unknown label may use all components, because q(z) gives every label a positive
    probability. For labels outside the scope its coefficient has the fixed rate ``outside``, whose
    prior mean is small.
    """

    mask: Array  # (n_labels, K) of bool: B
    outside: float


@dataclass(frozen=True)
class Terms:
    """q(T): t_wk ~ Gamma(shape_wk, scale_k), with the sums that the bound needs.

    ``shape`` and ``L`` may have padding after column K. Only kernels read their entries.
    """

    shape: Array  # (n_terms, K)
    scale: Array  # (K,) float64
    L: Array  # (n_terms, K): exp⟨ln t⟩ / exp(offset)
    offset: Array  # (n_terms,) float64: keeps each row of L within range
    shape_sums: Array  # (K,) float64: Σ_w shape
    psi: float  # Σ_wk ψ(shape), if requested
    entropy: float  # Σ_wk H(Gamma(shape, 1)), if requested

    @property
    def E_sums(self) -> Array:
        """Σ_w E_t, (K,)."""
        return self.shape_sums * self.scale


@dataclass(frozen=True)
class Rates:
    """q(Λ): λ_lk ~ Gamma(shape_l, scale_lk), or Gamma(shape_lk, scale_lk) with scopes."""

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
    """Reshape one number, or one number per label, to broadcast with (n_labels, K)."""
    return np.reshape(by_label, (-1, 1)) if np.ndim(by_label) < 2 else np.asarray(by_label)


@dataclass(frozen=True)
class Labels:
    """Label weights δ of the documents of each group; rows sum to one.

    Groups with known labels come first. Documents with an unknown label are one more group, whose
    row is p(z). A shard replaces this row by q(z), with one row for each of its documents
    (``vbnmf.shards.work``). Several labels of a document have equal weights. The bound is then
    the paper's relaxed bound (Jensen's inequality): Σ_l δ ln λ_l ≤ ln Σ_l δ λ_l. With scopes, the
    weights are restricted to the labels that the component serves: δ_dl B_lk / Σ_j δ_dj B_jk.
    """

    known: sparse.csr_array  # (n_known, n_labels)
    latent: Array  # p(z), (1, n_labels), or (0, n_labels); in a shard q(z), (n_unknown, n_labels)
    log_prior: Array  # (n_labels,): ln p(z), from the frequencies of the labels
    scopes: Scopes | None = None  # None: every component serves every label

    @classmethod
    def one_each(cls, n_docs: Array) -> "Labels":
        """Create labels for groups with one known label each."""
        n_labels = len(n_docs)
        return cls.of(sparse.eye_array(n_labels, format="csr"), n_docs, unknown=False)

    @classmethod
    def of(cls, known: sparse.csr_array, n_docs: Array, *, unknown: bool) -> "Labels":
        """Create labels from those of the known groups and the number of documents of each group.

        With ``unknown``, some documents have no known label.
        """
        n_known = max(float(n_docs[: known.shape[0]].sum()), np.finfo(float).tiny)
        frequency = (known.T @ n_docs[: known.shape[0]]) / n_known
        # a label that no document has gets almost no probability
        log_prior = np.log(np.maximum(frequency, np.finfo(float).tiny))
        return cls(known, np.repeat(frequency[None], int(unknown), axis=0), log_prior)

    @cached_property
    def in_scope(self) -> Array | None:
        """Whether each group may use each component, (n_groups, K) of bool; None if all may."""
        if self.scopes is None:
            return None
        latent = np.ones((len(self.latent), self.scopes.mask.shape[1]), dtype=bool)
        return np.vstack([self._parts_in_scope > 0, latent])

    @cached_property
    def _parts_in_scope(self) -> Array:
        """Σ_l δ_gl B_lk for the known groups, (n_known, K)."""
        assert self.scopes is not None
        return np.asarray(self.known @ self.scopes.mask.astype(np.float64))

    def by_group(self, values: Array) -> Array:
        """Average values by label, (n_labels, K), over the labels of each group, (n_groups, K).

        A component outside the scope of a known group gets zero.
        """
        of_latent = values
        if self.scopes is None:
            known = self.known @ values
        else:
            mask, parts = self.scopes.mask, self._parts_in_scope
            known = self.known @ np.where(mask, values, 0.0)
            known = np.divide(known, parts, out=np.zeros_like(known), where=parts > 0)
            of_latent = np.where(mask, values, self.scopes.outside)
        return np.vstack([known, product(self.latent, of_latent)]) if len(self.latent) else known

    def by_label(self, sums: Array) -> Array:
        """Distribute sums by group, (n_groups, K), over the labels, (n_labels, K)."""
        known, latent = np.split(sums, [self.known.shape[0]])
        if self.scopes is not None:
            parts = self._parts_in_scope
            known = np.divide(known, parts, out=np.zeros_like(parts), where=parts > 0)
        dealt = self.known.T @ known
        dealt = dealt + product(self.latent.T, latent) if len(self.latent) else dealt
        return dealt if self.scopes is None else np.where(self.scopes.mask, dealt, 0.0)

    def documents(self, n_docs: Array) -> Array:
        """Compute N_l, (n_labels,), from the number of documents of each group."""
        known, latent = np.split(n_docs, [self.known.shape[0]])
        dealt = self.known.T @ known
        return dealt + row_products(self.latent.T, latent) if len(self.latent) else dealt

    def documents_in_scope(self, n_docs: Array) -> Array:
        """Compute N_l, (n_labels,). With scopes, compute it for each component, (n_labels, K)."""
        if self.scopes is None:
            return self.documents(n_docs)
        K = self.scopes.mask.shape[1]
        return self.by_label(np.broadcast_to(n_docs[:, None], (len(n_docs), K)))

    def sums_outside(self, sums: Array) -> Array:
        """Distribute sums of documents with unknown labels over labels outside the scopes.

        Returns an array of shape (n_labels, K).
        """
        assert self.scopes is not None
        of_latent = sums[self.known.shape[0] :]
        latent = np.broadcast_to(of_latent, (len(of_latent), self.scopes.mask.shape[1]))
        return np.where(self.scopes.mask, 0.0, product(self.latent.T, latent))


@dataclass(frozen=True)
class State:
    """All quantities that documents share; ``rates`` and ``labels`` are None without labels."""

    prior: Prior
    terms: Terms
    rates: Rates | None = None
    labels: Labels | None = None
    inverse_temperature: float = 0.0  # of q(z): 0 gives p(z), 1 maximises the bound


@dataclass(frozen=True)
class DocumentSums:
    """Sums over documents that a kernel computes; the floats are NaN if no bound is needed."""

    shape_sums: Array  # (n_groups, K) float64: Σ_d shape of q(v)
    log_mean: float  # Σ x ln Σ_k L_t L_v, without the offsets of L_t
    psi: float  # Σ_dk ψ(shape)
    entropy: float  # Σ_dk H(Gamma(shape, 1))


@dataclass(frozen=True)
class BoundTally:
    """Sums over documents that only the bound needs; ``+`` adds the sums of two shards."""

    log_mean: float  # Σ x ln Σ_k L_t L_v, without the offsets of L_t
    psi: float  # Σ_dk ψ(shape)
    entropy: float  # Σ_dk H(Gamma(shape, 1))
    n_cells: float  # number of coefficients in scope
    log_scales: float  # Σ_dk ln scale over these coefficients
    docs_outside: float  # Σ_dk δ over unknown labels outside scopes
    E_outside: float  # the same sum, weighted by E_v
    labels: float  # Σ_dl δ (ln p(l) − ln δ) over documents with unknown labels

    def __add__(self, other: "BoundTally") -> "BoundTally":
        return BoundTally(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True)
class Statistics:
    """Sums over documents from one sweep: all that the global step needs.

    Sums are by label or by term, never by document. ``tally`` is None if the bound is not needed.
    Without labels, ``label_sums`` and ``n_docs`` have one row for all documents.
    """

    R_t: Array | None  # (n_terms, K): Σ_d ratio_dw L_v, so that Sigma_t = L_t ∘ R_t
    E_sums: Array  # (K,) float64: Σ_d E_v
    E_total: float  # Σ_dk E_v
    label_sums: Array  # (n_labels, K) float64: Σ_d δ_dl E_v
    n_docs: Array  # (n_labels,), or (n_labels, K) with scopes: Σ_d δ_dl
    tally: BoundTally | None

    def __add__(self, other: "Statistics") -> "Statistics":
        """Add the sums of another shard. R_t is changed in place."""
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
    """Sums over documents that do not depend on the model; ``+`` adds those of two shards.

    Documents are weighted by their sample weights.
    """

    n_docs: Array  # (n_groups,)
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
    """The methods of kernels that ``core`` uses; ``vbnmf.kernels`` has two kernels."""

    def zeros(self, n: int, K: int, dtype: np.dtype[Any]) -> Array:
        """Return zeros of shape (n, K) in the kernel's own layout, which may pad rows."""
        ...

    def gamma_rows(
        self,
        R: Array,
        L: Array,
        scale: Array,
        prior_shape: float,
        *,
        tally: bool,
        shapes_only: bool = False,
    ) -> Terms:
        """Compute shape = prior_shape + L ∘ R in the memory of R, then the new L in that of L.

        With ``shapes_only``, L and the offsets are not of the new shapes.
        """
        ...

    def extrapolated_rows(
        self, shape: Array, before: Array, beta: float, L: Array, scale: Array, least: float
    ) -> Terms:
        """Extrapolate shapes in the memory of those before, then compute L in its memory.

        Results are at least ``least``. With a ``beta`` of 0, shapes stay as they are.
        """
        ...


class Engine(Protocol):
    """The methods of engines that the loop and the initialisation use."""

    @property
    def kernel(self) -> Kernel:
        """The kernel that updates the terms."""
        ...

    @property
    def totals(self) -> Totals:
        """Sums over documents that do not depend on the model."""
        ...

    def begin(self, portions: Array, in_scope: Array | None = None) -> None:
        """Initialise all documents: spread the weight of each over the components, by its group.

        ``portions`` is (n_groups, K), or (1, K) if all groups have the same. ``in_scope`` is as in
        ``Labels``.
        """
        ...

    def group_term_sums(self) -> sparse.csr_array:
        """Compute Σ_d x_dw by group, (n_groups, n_terms)."""
        ...

    def sweep(
        self, state: State, *, bound: bool, update: bool = True, beta: float | None = None
    ) -> Statistics:
        """Complete q(z) and q(v) from the shared state, then compute all sums over documents.

        With ``update``, R_t may be written to the memory of ``state.terms.shape``, which is no
        longer needed. With a number ``beta``, the documents can step back behind this sweep, and
        q(v) is extrapolated by ``beta`` from the sweep before.
        """
        ...

    def step_back(self) -> None:
        """Bring the documents to where they were before the last sweep."""
        ...


class ClusteringEngine(Engine, Protocol):
    """The methods of engines that the search for components uses; documents are in memory."""

    @property
    def nnz(self) -> int:
        """Number of non-zeros."""
        ...

    def cluster_term_sums(
        self, known: sparse.csr_array, counts: Array, rng: np.random.Generator | None
    ) -> sparse.csr_array:
        """Compute Σ_d x_dw by cluster, (Σ counts, n_terms); ``known`` is as in ``Labels``."""
        ...

    def factor_term_sums(self, known: sparse.csr_array, counts: Array) -> sparse.csr_array:
        """Compute Σ_d x_dw by factor, (Σ counts, n_terms); ``known`` is as in ``Labels``."""
        ...

    @property
    def documents(self) -> Any:
        """The documents, as a ``vbnmf.shards.shard.Shard``."""
        ...

    def coefficients(self, state: State) -> Array:
        """Compute E_v, (n_docs, K), from the last sweep."""
        ...

    def rest(self) -> None:
        """Free the local state of the documents, until the next ``begin``."""
        ...
