"""Change a draft by what its components explain of the documents.

    s_dwk = x_dw v_dk t_wk / Σ_j v_dj t_wj      part of a term of a document that k explains
    worth of k = −α Σ_dw x_dw ln(1 − s_dwk / x_dw) − Σ_d KL(q(v_dk) ‖ p(v_dk))

The worth is what the documents lose without component k. The first sum is the loss if all other
components stay as they are. After a few sweeps they have taken over the terms, and about the part α
of it remains. In drawn corpora, α was between 0.2 and 0.5.

*Widening* adds a label to the scope of a component that explains part of its terms. Components of
this label alone are left out of the comparison, because they may be blends of shared ones.
*Splitting* gives labels that take different terms from a component one of their own, because such a
component is two topics under one name (``vbnmf.discovery.labelterms``). *Residuals* add components
of what is left unexplained. *Reducing* merges and drops components (``vbnmf.discovery.merging``).

``vbnmf.discovery.componentsearch`` decides which moves are taken.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from scipy import sparse
from scipy.special import gammaln, psi

from vbnmf.core import starts, updates
from vbnmf.core.model import Array, Labels, State
from vbnmf.core.products import product, row_products
from vbnmf.core.rows import as_narrow, mass
from vbnmf.discovery.drafts import Draft, Plan, families, merged, spread, top_groups
from vbnmf.discovery.labelterms import (
    Explained,
    LabelTerms,
    MeanTerms,
    entries,
    label_sets,
    shared,
)
from vbnmf.discovery.merging import cosines, merge_order
from vbnmf.shards.shard import Shard

GLUED = 0.5
"""Agreement of its two main labels below which a component is two topics under one name."""
TOGETHER = 0.75
"""Agreement from which on labels may share a component."""
LEAST_PART = 0.02  # part of a label from which on a component is offered to it
_LEAST_SPLIT = 0.01  # part of a label that gets a component of its own, at least
_MOST_CANDIDATES = 24  # components that are fitted to a label
_STEPS = 20  # of expectation maximisation
_NEAR = 0.3  # cosine of components that documents may use together, to be merged
_MOST_NEAR = 4  # of each component
_ADDED = 0.5  # part of what is left unexplained that new components begin with
_OFFERED = 0.5  # weight of the components that explain a label in its new portions
_LARGEST_SHARE = 1 - 1e-6  # of a term that a component explains
_REMAINS = 0.35  # α: part of the loss of a component that remains when others have taken over
_DOCUMENTS_AT_ONCE = 1 << 9  # documents whose terms two components divide
_NUMBERS_AT_ONCE = 1 << 18  # coefficients, or parts of terms, that are held at a time
_TINY = np.finfo(float).tiny


@dataclass(frozen=True, eq=False)
class Use:
    """Prior of the coefficients, in units of what components explain.

    Attributes
    ----------
    a_v : float
        Shape.
    rate : ndarray of shape (n_groups, K)
        Rates, divided by the sums of the components. Zero out of scope.
    group : ndarray of int of shape (n_docs,)
        Group of each document.
    """

    a_v: float
    rate: Array
    group: Array

    @classmethod
    def of(cls, state: State, scale: Array, rate: Array, group: Array) -> "Use":
        """Make it from scales of q(v) and rates of the prior, (n_groups, K)."""
        sums = np.maximum(state.terms.E_sums[: scale.shape[1]], _TINY)
        return cls(state.prior.a_v, np.where(scale > 0, rate / sums, 0.0), group)

    def marginal(self, s: Array, rate: Array) -> Array:
        """Compute ℓ(s, ρ), the log marginal likelihood of what a component explains, (n_docs,)."""
        a_v = self.a_v
        of_shape = gammaln(a_v + s) - gammaln(a_v)
        return np.asarray(of_shape + a_v * np.log(rate) - (a_v + s) * np.log1p(rate))


@dataclass(frozen=True, eq=False)
class Look:
    """A draft with what its components explain of the documents.

    Attributes
    ----------
    draft : Draft
        After a few sweeps.
    explained : Explained
        What each component explains of each document.
    residual : csr_array of shape (n_labels, n_terms) or None
        Sums of what is left unexplained, max(x − Σ_k v t, 0), by label; None if not asked for.
    worth : ndarray of shape (K,)
        What the documents lose without each component.
    use : Use
        Prior of the coefficients.
    known : dict
        Results of ``label_terms``.
    """

    draft: Draft
    explained: Explained
    residual: sparse.csr_array | None
    worth: Array
    use: Use
    known: dict[int, LabelTerms] = field(default_factory=dict)

    def label_terms(self, k: int) -> LabelTerms:
        """Return what each label takes from component k, which is computed once."""
        if k not in self.known:
            self.known[k] = self.explained.label_terms(k)
        return self.known[k]

    def glued(self, n_kept: int) -> int:
        """Count the shared components that are two topics under one name."""
        return sum(
            is_glued(self.label_terms(k)) for k in shared(self.draft.mask).tolist() if k >= n_kept
        )


def is_glued(terms: LabelTerms) -> bool:
    """Return whether the two main labels of a component take different terms from it."""
    taken = mass(terms.sums)
    main = np.argsort(-taken, kind="stable")[:2]
    return bool(taken[main[1]] > 0 and terms.agreement(main)[0, 1] < GLUED)


def look_at(documents: Shard, draft: Draft, state: State, V: Array, *, residual: bool) -> Look:
    """Compute what the components of a draft explain of documents with known labels.

    Parameters
    ----------
    documents : Shard
        Documents.
    draft : Draft
        Draft with the counts of ``state``.
    state : State
        State of the fit; its shapes are not used.
    V : array of shape (n_docs, K)
        Expected coefficients.
    residual : bool
        Whether to sum what is left unexplained.
    """
    K, X = draft.K, documents.X
    dtype = draft.counts.dtype
    T = MeanTerms(draft.counts, dtype.type(state.prior.a_t), state.terms.scale.astype(dtype))
    known = np.ones((documents.n_groups, 1)) if state.labels is None else state.labels.known
    has = sparse.csr_array(sparse.csr_array(known) > 0, dtype=np.float64)  # labels of each group
    Y = has[documents.group]
    weight = documents.counts_as
    scale, rate = _scale_and_rate(state, documents.n_groups)
    worth, length = np.zeros(K), X.nnz // max(X.shape[0], 1) + 1  # mean number of terms
    ratio = np.zeros(X.nnz, dtype)
    unexplained: list[sparse.csr_array] = []  # sums by label, of parts of the documents
    in_scope = (has @ draft.mask.astype(np.float64)) > 0  # of each group
    for alike in label_sets(Y):
        columns = np.flatnonzero(in_scope[np.unique(documents.group[alike])].any(axis=0))
        # a copy of some columns pays if the documents have many terms
        t = None
        if len(columns) < K and np.diff(X.indptr)[alike].sum() > len(draft.counts):
            t = np.ascontiguousarray(T[:, columns].T)
        at_once = max(_NUMBERS_AT_ONCE // max(len(columns), length), 1)
        for rows in np.split(alike, range(at_once, len(alike), at_once)):
            v = V[rows[:, None], columns].astype(dtype, copy=False)
            group = documents.group[rows][:, None]
            of_coefs = _divergence(
                v.astype(np.float64), scale[group, columns], rate[group, columns], state.prior.a_v
            )
            worth[columns] -= product(weight[rows][None], of_coefs)[0]
            del of_coefs
            v = np.ascontiguousarray(v.T)  # (n, n_docs): sums over few components are fast
            row = np.repeat(np.arange(len(rows)), np.diff(X.indptr)[rows])
            places = entries(X, rows)
            left = np.empty(len(places)) if residual else None
            step = max(_NUMBERS_AT_ONCE // max(len(columns), 16), 1)
            for begin in range(0, len(places), step):
                at = slice(begin, begin + step)
                place, document = places[at], row[at]
                x, terms = X.data[place].astype(np.float64), X.indices[place]
                parts = np.take(v, document, axis=1)
                if t is not None:
                    parts *= np.take(t, terms, axis=1)
                else:  # rows are faster
                    where = (terms, slice(None)) if len(columns) == K else (terms[:, None], columns)
                    parts *= T[where].T
                mean = np.maximum(parts.sum(axis=0, dtype=np.float64), _TINY)
                ratio[place] = x / mean
                if left is not None:
                    left[at] = np.maximum(x - mean, 0.0)
                parts *= (1 / mean).astype(dtype)
                np.minimum(parts, _LARGEST_SHARE, out=parts)
                np.log(np.subtract(1.0, parts, out=parts), out=parts)  # faster than log1p
                lost = _REMAINS * x * weight[rows[document]]
                worth[columns] -= row_products(parts, lost.astype(dtype))
                del parts  # before the next are made
            if left is not None:
                left *= weight[rows][row]
                unexplained.append(_sums_by_label(left, X, rows, places, Y))
                del left
        del v, t
    explained = Explained(
        sparse.csr_array((ratio, X.indices, X.indptr), shape=X.shape),
        _nonzero(V, in_scope, documents.group), T, Y, draft.mask, weight,
    )  # fmt: skip
    sums = _added(unexplained) if residual else None
    return Look(draft, explained, sums, worth, Use.of(state, scale, rate, documents.group))


def _sums_by_label(
    values: Array, X: sparse.csr_array, rows: Array, places: Array, Y: sparse.csr_array
) -> sparse.csr_array:
    """Sum values in the places of the non-zeros of some rows of X by label, (n_labels, n_terms)."""
    ends = as_narrow(np.append(0, np.cumsum(np.diff(X.indptr)[rows])))
    of_rows = sparse.csr_array((values, X.indices[places], ends), (len(rows), X.shape[1]))
    return sparse.csr_array(sparse.csr_array(Y[rows].T) @ of_rows)


def _added(parts: list[sparse.csr_array]) -> sparse.csr_array:
    """Add up sparse matrices of the same shape."""
    n = parts[0].shape[0]
    row = np.tile(np.arange(n, dtype=np.int32), len(parts))
    each = sparse.csr_array((np.ones(len(row)), (row, np.arange(len(row), dtype=np.int32))))
    found = each @ sparse.vstack(parts, format="csr")
    found.sort_indices()
    return sparse.csr_array(found)


def _nonzero(V: Array, in_scope: Array, group: Array) -> sparse.csc_array | Array:
    """Return the coefficients in scope that are not zero; V itself if these are most."""
    n_used = [np.count_nonzero(in_scope[group, k] & (V[:, k] != 0)) for k in range(V.shape[1])]
    ends = np.cumsum([0, *n_used])
    if 2 * ends[-1] >= V.size:  # a sparse array would not be smaller
        return V
    indices, data = np.empty(ends[-1], np.int32), np.empty(ends[-1], V.dtype)
    for k in range(V.shape[1]):
        at, rows = slice(*ends[k : k + 2]), np.flatnonzero(in_scope[group, k] & (V[:, k] != 0))
        indices[at], data[at] = rows, V[rows, k]
    return sparse.csc_array((data, indices, as_narrow(ends)), shape=V.shape)


def widened(draft: Draft, label_sums: sparse.csr_array, n_kept: int, plan: Plan) -> Draft:
    """Offer each component to the labels that it explains in part.

    With a label tree, a component is offered to labels of its own top group only.

    Parameters
    ----------
    draft : Draft
        Draft; its counts are used by the new one as well.
    label_sums : csr_array of shape (n_labels, n_terms)
        Σ_d x_dw by label.
    n_kept : int
        Number of first components, whose scopes do not change.
    plan : Plan
        Has the groups of the label tree.
    """
    parts = _mixtures(draft, label_sums)
    if len(plan.groups):
        of_label = top_groups(plan, len(draft.mask))
        parts *= of_label[:, None] == of_label[draft.mask.argmax(axis=0)]
    mask = draft.mask | (parts >= LEAST_PART)
    mask[:, :n_kept] = draft.mask[:, :n_kept]
    offered = (1 - _OFFERED) * draft.portions + _OFFERED * parts
    return replace(draft, mask=mask, portions=spread(np.where(mask, offered, 0.0), mask))


def split_by_agreement(look: Look, n_kept: int) -> Draft:
    """Give labels that take different terms from a component components of their own.

    The labels that take most from the component keep it, with all labels that agree with them. The
    first ``n_kept`` components are not split.
    """
    draft = look.draft
    counts, portions, mask = draft.counts.copy(), draft.portions.copy(), draft.mask.copy()
    new: list[tuple[Array, Array, Array]] = []  # counts, portions and mask
    for k in range(n_kept, draft.K):
        if draft.mask[:, k].sum() < 2:
            continue
        terms = look.label_terms(k)
        for group in groups_that_agree(terms)[1:]:
            taken = np.asarray(terms.sums[group].sum(axis=0)).ravel()
            counts[:, k] = np.maximum(counts[:, k] - taken, 0)
            matters = group[portions[group, k] >= _LEAST_SPLIT]
            if len(matters):
                theirs = np.isin(np.arange(len(mask)), matters)
                new.append((taken, np.where(theirs, portions[:, k], 0.0), theirs))
            mask[group, k], portions[group, k] = False, 0.0
    if new:
        more = [np.column_stack(columns) for columns in zip(*new, strict=True)]
        counts = np.hstack([counts, more[0].astype(counts.dtype)])
        portions, mask = np.hstack([portions, more[1]]), np.hstack([mask, more[2]])
    lost = ~mask.any(axis=1)  # a label keeps what it used most
    mask[lost, draft.portions[lost].argmax(axis=1)] = True
    return replace(
        draft,
        counts=np.ascontiguousarray(counts),
        portions=spread(portions * mask, mask),
        mask=mask,
    )


def groups_that_agree(terms: LabelTerms) -> list[Array]:
    """Divide the labels that take terms from a component into groups that agree on them.

    Labels are considered in the order of what they take. A label joins the group with which it
    agrees most, if the mean agreement is at least ``TOGETHER``.
    """
    taken = mass(terms.sums)
    labels = np.argsort(-taken, kind="stable")[: np.count_nonzero(taken > 0)]
    agreement, taken = terms.agreement(labels), taken[labels]
    groups: list[list[int]] = []
    for place in range(len(labels)):
        means = [np.average(agreement[place, group], weights=taken[group]) for group in groups]
        if means and max(means) >= TOGETHER:
            groups[int(np.argmax(means))].append(place)
        else:
            groups.append([place])
    return [labels[group] for group in groups]


def with_residuals(draft: Draft, residual: sparse.csr_array, label_mass: Array) -> Draft:
    """Add a component for each label, of what is left unexplained in its documents."""
    labels = np.flatnonzero(mass(residual) > 0)
    return _with_components(draft, residual[labels], labels, label_mass)


def _with_components(
    draft: Draft, sums: sparse.csr_array, label: Array, label_mass: Array
) -> Draft:
    """Add a component of one label for each row of sums of terms, (n_new, n_terms)."""
    mask = label == np.arange(len(draft.mask))[:, None]
    part = _ADDED * mass(sums) / np.maximum(label_mass[label], _TINY)
    portions = np.hstack([draft.portions, mask * part])
    return replace(
        draft,
        counts=np.hstack([draft.counts, sums.toarray().T.astype(draft.counts.dtype)]),
        portions=portions / portions.sum(axis=1, keepdims=True),
        mask=np.hstack([draft.mask, mask]),
    )


def filled(look: Look, n: int, label_mass: Array) -> Draft:
    """Add components of what is left unexplained, until there are n.

    Labels with more left get more. The components of a label begin with different terms.
    """
    residual = look.residual
    assert residual is not None
    counts = starts.allotted(mass(residual), n - look.draft.K + residual.shape[0]) - 1
    label = np.repeat(np.arange(len(counts)), counts)
    turn = np.arange(len(label)) - np.repeat(np.cumsum(counts) - counts, counts)
    rows = residual[label].tocoo()
    own = rows.col % counts[label[rows.row]] == turn[rows.row]
    parts = sparse.csr_array((rows.data[own], (rows.row[own], rows.col[own])), rows.shape)
    return _with_components(look.draft, parts, label, label_mass)


def reduced(look: Look, a_t: float, n_left: int, n_kept: int, plan: Plan) -> Draft:
    """Merge and drop components until ``n_left`` are left; keep the first ``n_kept``.

    There may be fewer, if alike components of several labels are merged to one that they share.
    """
    draft = look.draft
    merges = merge_order(
        draft.counts[:, n_kept:],
        a_t,
        n_left - n_kept,
        families(draft, plan, n_kept),
        scopes=draft.mask[:, n_kept:],
        worth=look.worth[n_kept:],
        joint=gains_of_joint_use(look, n_kept),
    )
    return merged(draft, merges.groups(), n_kept, plan)


def without_unused(draft: Draft, n_docs: float, n_kept: int, plan: Plan) -> Draft:
    """Drop components that explain less than a document of mean weight.

    The first ``n_kept`` components are kept, and each label keeps one.
    """
    weight = draft.counts.sum(axis=0, dtype=np.float64)
    served = draft.mask.sum(axis=1)
    kept = []
    for k in np.argsort(weight[n_kept:], kind="stable").tolist():
        labels = draft.mask[:, n_kept + k]
        if weight[n_kept + k] * n_docs < weight.sum() and (served[labels] > 1).all():
            served[labels] -= 1
        else:
            kept.append([k])
    return merged(draft, sorted(kept), n_kept, plan) if len(kept) < draft.K - n_kept else draft


def gains_of_joint_use(look: Look, n_kept: int) -> dict[tuple[int, int], float]:
    """Compute what documents that use two components gain in the bound if these are merged.

    Such a document then has one coefficient instead of two, and nothing is divided between them:

        ℓ(s, ρ) = ln Γ(a_v + s) − ln Γ(a_v) + a_v ln ρ − (a_v + s) ln(1 + ρ)
        gain = Σ_d [ ℓ(s_di + s_dj, ρ) − ℓ(s_di, ρ_i) − ℓ(s_dj, ρ_j) − Σ_w H(s_dwi, s_dwj) ]

    with s_d = Σ_w s_dw, relative rates 1/ρ = 1/ρ_i + 1/ρ_j, and the entropy H of a division in two.
    ℓ is the part of a coefficient in the bound, at its best q(v). Only the nearest components are
    considered. The first ``n_kept`` are left out, and components are numbered without them.
    """
    mask = sparse.csr_array(look.draft.mask[:, n_kept:], dtype=np.float64)
    cosine = cosines(look.draft.counts[:, n_kept:])
    cosine[(mask.T @ mask).toarray() == 0] = 0.0  # no document with one label uses both
    gains: dict[tuple[int, int], float] = {}
    for i in range(len(cosine)):
        near = np.argsort(-cosine[i, :i], kind="stable")[:_MOST_NEAR]
        for j in near[cosine[i, near] >= _NEAR].tolist():
            gains[j, i] = _gain_of_joint_use(look, n_kept + j, n_kept + i)
    return gains


def _gain_of_joint_use(look: Look, i: int, j: int) -> float:
    """Compute what documents that use components i and j gain if these are merged."""
    explained, use = look.explained, look.use
    v = np.column_stack([explained.coefficients(i), explained.coefficients(j)])
    rates = use.rate[:, [i, j]][use.group]
    rows = np.flatnonzero(((v > 0) & (rates > 0)).all(axis=1))
    v, rates, T = v[rows], rates[rows].T, explained.T[:, [i, j]].T
    s_i, s_j, H = np.empty((3, len(rows)))
    for begin in range(0, len(rows), _DOCUMENTS_AT_ONCE):
        at = slice(begin, begin + _DOCUMENTS_AT_ONCE)
        ratio = explained.ratio[rows[at]]
        row = np.repeat(np.arange(ratio.shape[0]), np.diff(ratio.indptr))
        parts = (ratio.data * v[at].T[:, row]) * T[:, ratio.indices]
        both = parts.sum(axis=0)
        divided = both * np.log(np.maximum(both, _TINY))
        divided -= (parts * np.log(np.maximum(parts, _TINY))).sum(axis=0)
        s_i[at], s_j[at], H[at] = (
            np.bincount(row, x, minlength=ratio.shape[0]) for x in (*parts, divided)
        )
    after = use.marginal(s_i + s_j, 1 / (1 / rates[0] + 1 / rates[1]))
    before = use.marginal(s_i, rates[0]) + use.marginal(s_j, rates[1])
    return float(explained.weight[rows] @ (after - before - H))


def _mixtures(draft: Draft, label_sums: sparse.csr_array) -> Array:
    """Fit the parts of components to the terms of each label, (n_labels, K).

    Components of this label alone are left out, and have the part zero. Only the components that
    explain most after a first step are fitted.
    """
    totals = np.maximum(draft.counts.sum(axis=0, dtype=np.float64), _TINY)
    alone = draft.mask.sum(axis=0) == 1
    parts = np.zeros(draft.mask.shape)
    for label in range(len(parts)):
        at = slice(*label_sums.indptr[label : label + 2])
        offered = np.flatnonzero(~(alone & draft.mask[label]))
        x = label_sums.data[at] / max(label_sums.data[at].sum(), _TINY)
        if not (len(x) and len(offered)):
            continue
        T = draft.counts[label_sums.indices[at]][:, offered] / totals[offered]
        first = product((x / np.maximum(T.sum(axis=1), _TINY))[None], T)[0]
        best = np.sort(np.argsort(-first, kind="stable")[:_MOST_CANDIDATES])
        T, p = np.ascontiguousarray(T[:, best].T), np.full(len(best), 1 / len(best))
        for _ in range(_STEPS):
            p *= row_products(T, x / np.maximum(product(p[None], T)[0], _TINY))
        parts[label, offered[best]] = p
    return parts


def _scale_and_rate(state: State, n_groups: int) -> tuple[Array, Array]:
    """Return the scale of q(v) and the rate of its prior for each group, (n_groups, K)."""
    scale = updates.coefs_scale(state, state.labels)
    if state.rates is None:
        rate = np.full_like(scale, 1 / state.prior.b_v)
    else:
        labels = state.labels or Labels.one_each(np.ones(n_groups))
        rate = labels.by_group(state.rates.E)
    shape = (n_groups, len(state.terms.scale))
    return np.broadcast_to(scale, shape), np.broadcast_to(rate, shape)


def _divergence(E: Array, scale: Array, rate: Array, prior_shape: float) -> Array:
    """Compute KL(q(v) ‖ p(v)) of gamma distributions; 0 out of scope, where the scale is 0."""
    used = (scale > 0) & (rate > 0)
    shape = np.where(used, E / np.where(used, scale, 1.0), prior_shape)
    ratio = np.where(used, scale * rate, 1.0)
    return np.asarray(
        (shape - prior_shape) * psi(shape)
        - gammaln(shape)
        + gammaln(prior_shape)
        - prior_shape * np.log(ratio)
        + shape * (ratio - 1)
    )
