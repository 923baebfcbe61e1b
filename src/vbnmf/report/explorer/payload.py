"""Compute what the explorer shows about a model, as plain numbers and texts.

    p(w|k) = part of term w in component k         p(w)   = Σ_k p(k) p(w|k)
    p(k|w) = p(k) p(w|k) / p(w)

p(k), p(k|l), names, the terms that describe a component, q(w|k) and relevance are those of
``description.components``. The terms of labels are counted in their documents
(``description.labels``). The page sorts, selects and draws; it computes nothing else. Numbers are
rounded to a few significant digits, and lists are cut to what can be shown, so that the page stays
small.
"""

from dataclasses import asdict, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.description.components import (
    MATTERS,
    alike_components,
    component_names,
    component_passages,
    component_probabilities,
    label_use,
    naming_terms,
    row_parts,
    term_parts,
)
from vbnmf.description.labels import Compared, LabelDescription, describe_labels, similarities
from vbnmf.description.scopes import BLOCKS, Scope, by_block, scopes_of
from vbnmf.estimators.posterior import gamma_interval
from vbnmf.metrics.logodds import log_odds
from vbnmf.metrics.relevance import BALANCE, TermParts
from vbnmf.pipeline import DocumentModel
from vbnmf.report.explorer.labelpages import near_labels
from vbnmf.report.explorer.ordering import (
    map_blocks,
    order_components,
    order_map,
    order_rows,
)
from vbnmf.report.explorer.packing import MARK, hundredths, rounded, sig
from vbnmf.reviewing.contrast import DRAWS
from vbnmf.versions import versions

STEPS = np.linspace(0, 2, 11)
"""Values of λ that the slider can take."""
TOP = 30
"""Number of terms of a component, at each λ, and of a label that the page shows."""
MOST_TERMS = 20_000
"""Number of commonest terms that can be searched. Other terms appear only in lists."""
LEVEL = 0.9
"""Probability of the credible intervals."""
_LEAST_SHARE, _MOST_SHARES = 0.03, 6  # parts of a term over components and labels
_NEIGHBOURS, _SHARED = 8, 3  # labels that share components, and components that are named for each
_CONTRASTED = 4000  # terms by which two labels are compared
_LEAST_SIMILAR = 0.1  # cosines below are left out
_LEAST_COMMON = 0.05  # labels share components if they have at least this part in common
_TINY = np.finfo(float).tiny


def model_payload(model: DocumentModel) -> tuple[dict[str, Any], Array]:
    """Return the data about the model for the page.

    Returns
    -------
    payload : dict
        Ready for JSON.
    places : ndarray of shape (n_terms,)
        Position of each term in the payload's list of terms; -1 for terms that are left out.
    """
    estimator = model.estimator_
    mass, p_k = estimator.component_mass_, component_probabilities(estimator)
    parts = row_parts(estimator.components_)
    p_w = p_k @ parts
    use, scopes, alike = label_use(estimator), scopes_of(estimator), alike_components(estimator)
    relevant, shown = term_parts(model), naming_terms(model, TOP)
    unit = relevant.unit
    totals = np.maximum(estimator.components_.sum(axis=1, dtype=np.float64), _TINY)
    listed = [listed_terms(relevant, k, shown[k]) for k in range(len(parts))]
    least = 2 * estimator.hyperparameters_["term_shape"]  # others are mostly the prior
    listed = [
        terms[estimator.component_shapes_[k, terms] >= least] for k, terms in enumerate(listed)
    ]
    near = _nearness(model)
    described, passages = _described(model), component_passages(model)
    of_labels = [
        np.array([term.column for term in terms], dtype=np.intp)
        for one in described or []
        for terms in (one.terms, *(part.terms for part in one.components))
    ]
    commonest = np.argsort(-p_w, kind="stable")[:MOST_TERMS]
    kept = np.unique(np.concatenate([commonest, *listed, *of_labels]))
    contrasted = np.intersect1d(_contrasted(model), kept)
    places = np.full(len(p_w), -1)
    places[kept] = np.arange(len(kept))
    payload = {
        "steps": STEPS.round(2).tolist(),
        "step": int(np.abs(STEPS - BALANCE).argmin()),
        "top": TOP,
        "level": LEVEL,
        "matters": MATTERS,
        "several": model.has_several_labels,
        "components": [
            {
                "name": name,
                "mass": sig(mass[k]),
                "faded": bool(estimator.faded_[k]),
                "background": bool(k == estimator.background_),
                "size": sig(relevant.sizes[k] / totals[k], 9),
                "terms": _terms_of_component(estimator, k, listed[k], places),
                "describing": places[shown[k]].tolist(),
                "passage": None if of is None else asdict(of),
                "alike": [n for j, cosine in alike[k] for n in (j, sig(cosine, 3))],
            }
            for k, (name, of) in enumerate(
                zip(component_names(model, model.terms_), passages, strict=True)
            )
        ],
        "labels": _labels(model, _without_common(use, scopes), described, places),
        "unlabelled": Compared.of(estimator).unlabelled if model.has_labels else 0,
        "similar": _similar(near),
        "contrast": _contrast(estimator, contrasted, places),
        "use": [rounded(row, 6) for row in use],
        "activations": _activations(model),
        "order": _orders(estimator, use, scopes, parts, p_w)
        | {"words": [] if near is None else order_rows(near, "euclidean")},
        "scopes": scope_payload(estimator, use, scopes, p_k[:, None] * parts[:, kept]),
        "terms": {
            "names": [str(name) for name in model.terms_[kept]],
            "p": rounded(p_w[kept], 5),
            "unit": rounded(unit[kept], 5),
            "average": rounded(relevant.average[kept], 5),
            "components": shares(p_k[:, None] * parts[:, kept]),
            "labels": _label_shares(model, kept),
            "total": len(p_w),
        },
        "fit": _fit(model),
    }
    return payload, places


def listed_terms(relevant: TermParts, k: int, shown: ArrayLike) -> Array:
    """Return the terms that are shown, or among the ``TOP`` most relevant at any step of λ."""
    found = [relevant.most_relevant(k, TOP, step) for step in STEPS]
    chosen = np.unique(np.concatenate([np.asarray(shown, np.intp), *found]))
    return chosen[np.argsort(-relevant.of_component(k)[chosen], kind="stable")]


def shares(joint: Array, whole: Array | None = None) -> list[list[float]]:
    """Return where each term occurs: [row, per cent, row, per cent, …], the largest first.

    Parameters
    ----------
    joint : array of shape (n_rows, n_terms)
        Joint probabilities of components or labels and terms, or numbers of documents.
    whole : array of shape (n_terms,), or None
        What 100 per cent is; None for the sum over rows.
    """
    if not len(joint):
        return []
    of_term = joint / np.maximum(joint.sum(axis=0) if whole is None else whole, _TINY)
    order = np.argsort(-of_term, axis=0, kind="stable")[:_MOST_SHARES]
    largest = np.take_along_axis(of_term, order, axis=0)
    return [
        [
            n
            for row, part in zip(rows, parts, strict=True)
            if part >= _LEAST_SHARE
            for n in (row, hundredths(part))
        ]
        for rows, parts in zip(order.T.tolist(), largest.T.tolist(), strict=True)
    ]


def _label_shares(model: DocumentModel, kept: Array) -> list[list[float]]:
    """Return the part of the documents that have a term which have each label, for kept terms."""
    if not model.has_labels:
        return []
    estimator = model.estimator_
    counts = estimator.label_term_documents_[:, kept].toarray()
    return shares(counts, estimator.term_documents_[kept])


def _terms_of_component(
    estimator: Any, k: int, chosen: Array, places: Array
) -> list[list[float | None]]:
    """Return for each term its position, p(w|k), and the credible interval of p(w|k)."""
    # quantiles of the chosen terms only: those of all would take seconds
    shapes, scale = estimator.component_shapes_[k, chosen], estimator.component_scales_[k]
    low, high = gamma_interval(shapes, scale, LEVEL)
    total = max(float(estimator.components_[k].sum(dtype=np.float64)), _TINY)
    columns = (estimator.components_[k, chosen], low, high)
    values = [rounded(column.astype(float) / total, 5) for column in columns]
    return [list(row) for row in zip(places[chosen].tolist(), *values, strict=True)]


def _described(model: DocumentModel) -> list[LabelDescription] | None:
    """Describe the labels; None without labels."""
    if not model.has_labels:
        return None
    return describe_labels(model, n_terms=TOP)


def _nearness(model: DocumentModel) -> Array | None:
    """Return the cosines of the words of labels; None without labels."""
    if not model.has_labels:
        return None
    return similarities(model.estimator_, range(len(model.estimator_.classes_)))


def near_payload(model: DocumentModel, confusions: Array | None) -> list[Any]:
    """Return the labels near each label by words, components and confusions; see ``near_labels``.

    Parameters
    ----------
    model : DocumentModel
        Fitted with labels.
    confusions : array of int of shape (n_names, n_names) or None
        Documents of a label for which another was predicted; None if not known.
    """
    apart = _without_common(label_use(model.estimator_), scopes_of(model.estimator_))
    common = np.array([np.minimum(apart, row).sum(axis=1) for row in apart])
    return near_labels(_nearness(model), common, confusions)


def _labels(
    model: DocumentModel, apart: Array, described: list[LabelDescription] | None, places: Array
) -> list[dict[str, Any]]:
    """Return the labels.

    A term has its position, both counts, its log-odds with interval, and whether it may be chance.
    ``there`` has the terms of components in the label.
    """
    if not model.has_labels:
        return []
    estimator = model.estimator_
    labels = estimator.classes_.tolist()
    found: list[dict[str, Any]] = [
        {
            "name": str(label),
            "documents": int(estimator.label_counts_[i]),
            "neighbours": _neighbours(apart, i),
        }
        for i, label in enumerate(labels)
    ]
    for one, entry in zip(described or [], found, strict=True):
        entry["elsewhere"] = one.elsewhere
        entry["terms"] = [
            [int(places[term.column]), term.documents, term.elsewhere,
             *(sig(value, 3) for value in (term.log_odds, term.low, term.high)),
             int(term.may_be_chance)]
            for term in one.terms
        ]  # fmt: skip
        entry["there"] = {
            part.component: [int(places[term.column]) for term in part.terms]
            for part in one.components
        }
        entry["nearest"] = [[labels.index(label), sig(near, 2)] for label, near in one.nearest]
    return found


def _without_common(use: Array, scopes: list[Scope] | None) -> Array:
    """Return the use without components that serve all labels."""
    if scopes is None:
        return use
    return np.where([scope.block == "common" for scope in scopes], 0.0, use)


def _neighbours(use: Array, label: int) -> list[list[Any]]:
    """Return the labels that have most in common with this one: [label, part, components]."""
    common = np.minimum(use, use[label])
    part = common.sum(axis=1)
    others = [i for i in _strongest(part, _NEIGHBOURS + 1).tolist() if i != label]
    return [
        [
            i,
            sig(part[i], 3),
            [k for k in _strongest(common[i], _SHARED).tolist() if common[i, k] > 0],
        ]
        for i in others[:_NEIGHBOURS]
        if part[i] >= _LEAST_COMMON
    ]


def _similar(near: Array | None) -> list[list[float]] | None:
    """Return how similar the words of labels are: [label, cosine in per cent, …]; 10 % or more."""
    if near is None:
        return None
    return [
        [
            n
            for j in np.flatnonzero(row >= _LEAST_SIMILAR).tolist()
            if j != i
            for n in (j, hundredths(row[j]))
        ]
        for i, row in enumerate(near)
    ]


def _contrasted(model: DocumentModel) -> Array:
    """Return the terms by which labels are compared: those in most documents of any label."""
    if not model.has_labels or model.estimator_.label_term_documents_ is None:
        return np.zeros(0, np.intp)
    most = model.estimator_.label_term_documents_.max(axis=0).toarray().ravel()
    best = np.argsort(-most, kind="stable")[:_CONTRASTED]
    return np.sort(best[most[best] > 1])


def _contrast(estimator: Any, terms: Array, places: Array) -> dict[str, Any] | None:
    """Return the numbers of documents by which labels are compared; None without counts.

    ``labels`` has for each label [distance to the previous term, documents that have it, …],
    ``documents`` the numbers of compared documents that have each term, and ``noise`` the noise
    floor of each label.
    """
    if not len(terms):
        return None
    counts = sparse.csr_array(estimator.label_term_documents_)[:, terms].tocsr()
    counts.sort_indices()
    compared = Compared.of(estimator)
    share = compared.terms[terms] / compared.n_docs
    rows, noise = [], []
    for label, (begin, end) in enumerate(pairwise(counts.indptr)):
        columns = counts.indices[begin:end]
        n_label = int(estimator.label_counts_[label])
        noise.append(sig(noise_floor(counts.data[begin:end], n_label, share[columns]), 3))
        at = np.diff(columns, prepend=0)
        flat = np.stack([at, counts.data[begin:end].astype(np.int64)], axis=1)
        rows.append(flat.ravel().tolist())
    return {
        "words": places[terms].tolist(),
        "documents": compared.terms[terms].astype(int).tolist(),
        "total": compared.n_docs,
        "labels": rows,
        "noise": noise,
    }


def noise_floor(counts: Array, n_label: int, share: Array) -> float:
    """Return the largest |z| of any term between random halves of a label's documents.

    It is a median over draws, as in ``reviewing.contrast``. The documents that have a term are
    divided at random for each term, because only their number is known here.

    Parameters
    ----------
    counts : array of int of shape (n_terms,)
        Documents of the label that have each term.
    n_label : int
        Documents of the label.
    share : array of shape (n_terms,)
        Share of the compared training documents that have each term.
    """
    n, half = counts.astype(np.int64), n_label // 2
    found = []
    for draw in range(DRAWS):
        first = np.random.default_rng(draw).hypergeometric(n, n_label - n, half)
        z = log_odds(first, half, n - first, n_label - half, share=share).z
        found.append(float(np.abs(z).max(initial=0)))
    return float(np.median(found))


def _activations(model: DocumentModel) -> list[list[float | None]]:
    if not model.has_labels:
        return []
    return [rounded(row) for row in model.estimator_.label_activations_]


def _orders(
    estimator: Any, use: Array, scopes: list[Scope] | None, parts: Array, p_w: Array
) -> dict[str, list[int]]:
    labels: list[int] = []
    if len(use):
        kinds = None if scopes is None else [scope.kind for scope in scopes]
        labels, components = order_map(use, MATTERS, kinds, estimator.faded_)
    else:
        components = order_components(parts[:, _strongest(p_w, 2000)])
    return {"labels": labels, "components": components}


def scope_payload(
    estimator: Any, use: Array, scopes: list[Scope] | None, joint: Array
) -> dict[str, Any] | None:
    """Return the data about scopes for the page; None without scopes.

    The part of a block is a sum over its components: Σ p(k|l) in a label, Σ p(k|w) in a term, and
    Σ p(k) in all documents. ``words`` have numbers of labels between marks, because labels can be
    renamed on the page.

    Parameters
    ----------
    estimator : fitted SupervisedVBNMF
    use : array of shape (n_labels, K)
        Part of each component in each label.
    scopes : list of Scope or None
        Scope of each component.
    joint : array of shape (K, n_terms)
        Joint probabilities of components and the terms of the page.
    """
    if scopes is None:
        return None
    mass = by_block(estimator.component_mass_, scopes)
    of_labels = by_block(use, scopes)
    return {
        "blocks": [
            {
                "name": name,
                "title": BLOCKS[name],
                "components": sum(scope.block == name for scope in scopes),
                "mass": sig(float(part), 6),
                "labels": rounded(of_labels[name], 6),
            }
            for name, part in mass.items()
        ],
        "components": [
            {
                "kind": scope.kind,
                "words": replace(
                    scope, names=[f"{MARK}{i}{MARK}" for i in scope.labels]
                ).in_words(),
                "agreement": scope.agreement_in_words(),
                "labels": [] if scope.block == "common" else scope.labels,
                "group": scope.group,
            }
            for scope in scopes
        ],
        "columns": map_blocks([scope.kind for scope in scopes], estimator.faded_),
        "terms": _of_terms(joint, scopes),
    }


def _of_terms(joint: Array, scopes: list[Scope]) -> list[int]:
    """Return the percentages of each term in all blocks but the last, as one list.

    The last block has the rest. It is left out to save space, because there are many terms.
    """
    of_term = joint / np.maximum(joint.sum(axis=0), _TINY)
    parts = np.stack(list(by_block(of_term.T, scopes).values()), axis=-1)
    ends = np.rint(100 * np.cumsum(parts, axis=-1)).astype(int)  # so that all add up to 100
    return np.diff(ends[:, :-1], prepend=0).ravel().tolist()


def _fit(model: DocumentModel) -> dict[str, Any]:
    """Return what is known about the fit without documents."""
    estimator = model.estimator_
    facts = versions()
    return {
        "model": type(estimator).__name__,
        "classifier": estimator.classifier_ if model.has_labels else None,
        "classifier_reason": estimator.classifier_reason_ if model.has_labels else None,
        "component_shares": _component_shares(model),
        "features": list(model.features_),
        "bound": [
            list(point)
            for point in zip(
                _bound_iterations(estimator), rounded(estimator.bound_history_, 9), strict=True
            )
        ],
        "final_bound": sig(estimator.bound_, 9),
        "iterations": int(estimator.n_iter_),
        "n_components_reason": estimator.n_components_reason_,
        "empty": model.n_empty_,
        "threshold": sig(estimator.head_.threshold) if model.has_several_labels else None,
        "hyperparameters": {
            name: sig(float(value)) for name, value in estimator.hyperparameters_.items()
        },
        "versions": {
            name: facts[name]
            for name in ("vbnmf", "kernel", "python", "numpy", "scipy", "scikit-learn")
        },
    }


def _component_shares(model: Any) -> list[float | None] | None:
    """Return the share of components in the scores of each label."""
    if not model.has_labels:
        return None
    return [sig(share, 3) for share in model.estimator_.fitted_.head.component_share_by_label]


def _bound_iterations(estimator: Any) -> list[int]:
    """Return the iterations before which the bound was computed; the last is of the result."""
    n = len(estimator.bound_history_) - 1
    regular = [min(i * int(estimator.bound_every), estimator.n_iter_) for i in range(n)]
    return [*regular, int(estimator.n_iter_)]


def _strongest(values: Array, n: int) -> Array:
    """Return the indices of the n largest values, the largest first; ties in order."""
    return np.argsort(-values, kind="stable")[:n]
