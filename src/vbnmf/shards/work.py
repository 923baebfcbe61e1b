"""Compute all that concerns the documents of one shard.

The arguments of each function are a shard, the global state (:class:`~vbnmf.core.model.State`) and
the local state of the shard (:class:`~vbnmf.shards.shard.Local`). It returns the new local state,
and sums that are added over shards. Results depend on the arguments only. A sweep writes the new
local state into the arrays of the old one, which must not be used again. Engines only hold the
shards and add up their sums; they contain no formulas.

    q(z):  from ⟨λ⟩ and the E_v of the previous sweep, for documents with unknown labels
    q(v):  scale from ⟨λ⟩, q(z) and Σ_w E_t; shape a_v + Sigma_v
    sums:  R_t, Σ_d E_v, Σ_d δ_dl E_v, Σ_d δ_dl, and the sums that the bound needs

The passes over non-zeros are in ``vbnmf.kernels``.
"""

from dataclasses import replace

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from vbnmf.core import bound as bounds
from vbnmf.core import updates
from vbnmf.core.model import Array, BoundTally, DocumentSums, Labels, State, Statistics, Totals
from vbnmf.shards.shard import Local, OpenShard, Shard

_AT_ONCE = 1 << 16  # non-zeros whose ln Γ is held in memory
_ROWS_AT_ONCE = 1 << 9  # documents whose scales are held in memory
_TINY = np.finfo(float).tiny


def totals(shard: Shard) -> Totals:
    """Compute the sums over documents that do not depend on the model."""
    X, weight = shard.X, shard.counts_as
    log_factorials = 0.0
    for begin in range(0, X.nnz, _AT_ONCE):
        at = np.arange(begin, min(begin + _AT_ONCE, X.nnz))
        row = np.searchsorted(X.indptr, at, side="right") - 1
        log_factorials += float((weight[row] * gammaln(X.data[at].astype(np.float64) + 1)).sum())
    return Totals(
        n_docs=np.bincount(shard.group, weight, minlength=shard.n_groups),
        term_sums=X.T @ weight,  # not X.sum, which has the precision of X
        log_factorials=log_factorials,
    )


def members(shard: Shard) -> sparse.csr_array:
    """Return the sample weight of each document in the row of its group, (n_groups, n_docs)."""
    n_docs = shard.X.shape[0]
    # in 32 bits, so that products do not copy the indices of X
    where = (shard.group.astype(np.int32), np.arange(n_docs, dtype=np.int32))
    return sparse.csr_array(
        (shard.counts_as.astype(shard.X.dtype), where), (shard.n_groups, n_docs)
    )


def group_term_sums(shard: Shard) -> sparse.csr_array:
    """Compute Σ_d x_dw by group, (n_groups, n_terms)."""
    return members(shard) @ shard.X


def label_term_documents(shard: Shard, known: sparse.csr_array) -> sparse.csr_array:
    """Count the documents of each label that have each term, whatever their sample weights.

    Parameters
    ----------
    shard : Shard
        Documents. A document has a term if its value is not zero.
    known : sparse array of shape (n_known, n_labels)
        Labels of the first groups: a label belongs to a group if its value is not zero.

    Returns
    -------
    csr_array of int32 of shape (n_labels + 1, n_terms)
        The last row counts all documents, with and without known labels.
    """
    X, n_labels = shard.X, known.shape[1]
    each = sparse.coo_array(known)
    every = np.arange(shard.n_groups, dtype=np.int32)
    groups = np.concatenate([each.row, every], dtype=np.int32)
    labels = np.concatenate([each.col, np.full_like(every, n_labels)], dtype=np.int32)
    of_groups = sparse.csr_array(
        (np.ones(len(groups), np.int32), (groups, labels)), (shard.n_groups, n_labels + 1)
    )
    occurs = sparse.csr_array(((X.data > 0).astype(np.int32), X.indices, X.indptr), X.shape)
    counts = sparse.csr_array(of_groups[shard.group].T @ occurs)
    counts.eliminate_zeros()
    counts.sort_indices()
    return counts


def begin(shard: OpenShard, portions: Array, in_scope: Array | None) -> Local:
    """Spread the weight of each document over the components, by its group.

    Parameters
    ----------
    shard : OpenShard
        Documents.
    portions : array of shape (n_groups, K) or (1, K)
        Parts of a document's weight on each component.
    in_scope : array of bool, shape (n_groups, K), or None
        Components that each group may use; None if all.
    """
    K = portions.shape[1]
    portions = shard.by_group(portions)
    memory = shard.documents.begin(K, None if in_scope is None else shard.by_group(in_scope))
    Sigma_v, of_document = memory[:, :K], shard.mass
    for first in range(0, len(Sigma_v), _ROWS_AT_ONCE):
        at = slice(first, first + _ROWS_AT_ONCE)
        Sigma_v[at] = of_document[at, None] * portions[shard.group[at]]
    return Local(memory, np.empty((shard.n_unknown, 0)), np.empty((shard.n_unknown, 0)))


def sweep(
    shard: OpenShard,
    state: State,
    local: Local,
    *,
    bound: bool,
    out: Array | None,
    update: bool | None = None,
    beta: float | None = None,
) -> tuple[Local, Statistics]:
    """Complete q(z) and q(v), then compute all sums over the documents of the shard.

    If the local state has not changed, the same object is returned.

    Parameters
    ----------
    shard : OpenShard
        Documents.
    state : State
        Global state.
    local : Local
        Local state. Its arrays are reused.
    bound : bool
        Whether to compute the sums for the bound.
    out : array of shape (n_terms, K) in the kernel's layout, or None
        Array for R_t. If None, R_t is not computed.
    update : bool or None
        Whether to update Sigma_v. None updates it if R_t is computed.
    beta : float or None
        How far to extrapolate q(v) from the sweep before. With a number, also 0, the new local
        state has the old one as ``before``. None updates the local state in place.
    """
    update = out is not None if update is None else update
    labels = _labels(state, local)
    scale, a_v, L_t = updates.coefs_scale(state, labels), state.prior.a_v, state.terms.L
    shard.documents.hold(local.Sigma_v)
    before = None
    if beta is not None:
        before = shard.documents.memory() if local.before is None else local.before.Sigma_v
    sums = shard.documents.sweep(
        L_t, scale, a_v, update=update, bound=bound, out=out, before=before, beta=beta or 0.0
    )
    scale = np.broadcast_to(scale, sums.shape_sums.shape)
    E_sums, n_docs = sums.shape_sums * scale, shard.n_docs
    stats = Statistics(
        out,
        E_sums.sum(axis=0),
        float(E_sums.sum()),
        E_sums if labels is None else labels.by_label(E_sums),
        n_docs if labels is None else labels.documents_in_scope(n_docs),
        _tally(sums, scale, E_sums, n_docs, labels) if bound else None,
    )
    old = None if before is None else replace(local, before=None)
    Sigma_v = local.Sigma_v if before is None else before
    if labels is None or not shard.n_unknown:
        if not update:
            return local, stats
        return Local(Sigma_v, local.latent, local.E_v, old), stats
    E_v = E_sums[shard.n_known :] / np.maximum(n_docs[shard.n_known :], _TINY)[:, None]
    return Local(Sigma_v, labels.latent, E_v, old), stats


def step_back(shard: OpenShard, local: Local) -> Local:
    """Return the local state before the last sweep. The other one is kept as memory."""
    assert local.before is not None
    return replace(local.before, before=replace(local, before=None))


def coefficients(shard: OpenShard, state: State, local: Local) -> Array:
    """Compute E_v, (n_docs, K), from q(v) of the last sweep."""
    labels = state.labels
    if labels is not None and len(labels.latent):
        labels = replace(labels, latent=local.latent)
    scale = updates.coefs_scale(state, labels)
    Sigma_v = local.Sigma_v[:, : scale.shape[1]]
    scale = np.broadcast_to(scale, (len(shard.n_docs), scale.shape[1]))
    E_v = np.empty(Sigma_v.shape, Sigma_v.dtype)
    for first in range(0, len(E_v), _ROWS_AT_ONCE):
        at = slice(first, first + _ROWS_AT_ONCE)
        E_v[at] = (Sigma_v[at] + state.prior.a_v) * scale[shard.group[at]]
    return E_v


def _labels(state: State, local: Local) -> Labels | None:
    """Return the labels of the groups of a shard, with q(z) of documents with unknown labels."""
    labels = state.labels
    if labels is None or not len(labels.latent):
        return labels
    if state.inverse_temperature == 0 or not len(local.E_v):
        return replace(labels, latent=np.repeat(labels.latent, len(local.E_v), axis=0))
    assert state.rates is not None
    latent = updates.latent_labels(
        state.prior, labels, state.rates, local.E_v, state.inverse_temperature
    )
    return replace(labels, latent=latent)


def _tally(
    sums: DocumentSums, scale: Array, E_sums: Array, n_docs: Array, labels: Labels | None
) -> BoundTally:
    """Compute the sums that the bound needs besides those by label; arguments are by group."""
    docs_outside = E_outside = of_labels = 0.0
    if labels is not None and len(labels.latent):
        of_labels = bounds.labels_term(labels, n_docs)
        if labels.scopes is not None:
            docs_outside = float(labels.sums_outside(n_docs[:, None]).sum())
            E_outside = float(labels.sums_outside(E_sums).sum())
    return BoundTally(
        sums.log_mean,
        sums.psi,
        sums.entropy,
        *bounds.cells(scale, n_docs),
        docs_outside,
        E_outside,
        of_labels,
    )
