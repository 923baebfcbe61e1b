"""Labels that a fitted model meets for the first time in ``partial_fit``.

A new label gets a row of rates. In a model with scopes it also gets one component of its own, which
is initialised with the terms of its documents, and it joins the components that all labels use, and
those of its groups in a label tree. Without scopes it uses the components that there are.
"""

from typing import Any

import numpy as np
from scipy import sparse

from vbnmf.core import starts, updates
from vbnmf.core.model import Array, Prior
from vbnmf.core.rows import mass
from vbnmf.discovery import drafts
from vbnmf.estimators.documentcounts import add_empty_rows
from vbnmf.estimators.labeltree import check_label_tree

_BY_LABEL = (
    "label_counts_", "label_frequencies_", "label_activations_", "scopes_", "label_rate_shapes_",
    "label_rate_scales_", "label_shapes_", "label_component_shares_", "label_term_documents_",
)  # fmt: skip
_TINY = np.finfo(float).tiny


def add_labels(
    model: Any, names: list[Any], X: sparse.csr_array, parts: sparse.csr_array, prior: Prior
) -> Array:
    """Add labels to a model, and return the places of all labels, those known before first.

    Parameters
    ----------
    model : SupervisedVBNMF
        Fitted model; its attributes are replaced.
    names : list
        New labels.
    X : csr_array of shape (n_docs, n_terms)
        Documents.
    parts : csr_array of shape (n_docs, n_new)
        Weights of the documents in each new label.
    prior : Prior
        Hyperparameters of the model.
    """
    sums, n_docs = sparse.csr_array(parts.T @ X), np.asarray(parts.sum(axis=0)).ravel()
    scopes = _scopes(model, names)
    if model.scoped_:
        _add_components(model, sums, prior.a_t)
        own = np.zeros((len(scopes), len(names)), dtype=bool)
        own[len(model.classes_) :] = np.eye(len(names), dtype=bool)
        scopes = np.hstack([scopes, own])
    _add_rows(model, sums, n_docs, scopes, prior)
    shares = model.label_component_shares_
    model.label_component_shares_ = np.append(shares, np.full(len(names), model.component_share_))
    return _sort(model, names)


def _scopes(model: Any, names: list[Any]) -> Array:
    """Return the scopes of the components so far with rows for new labels, all labels first."""
    before = model.scopes_
    n_labels = len(before)
    rows = np.repeat(before.all(axis=0)[None], len(names), axis=0)
    scopes = np.vstack([before, rows])
    if isinstance(model.label_tree, str):
        classes = _array([*model.classes_.tolist(), *names])
        for places in check_label_tree(model.label_tree, classes).values():
            group = np.zeros(len(classes), dtype=bool)
            group[places] = True
            of_group = (before == group[:n_labels, None]).all(axis=0)
            scopes[np.ix_(group, of_group)] = True
    return scopes


def _add_components(model: Any, sums: sparse.csr_array, a_t: float) -> None:
    """Add a component for each row of sums of terms, (n_new, n_terms)."""
    dtype = model.component_shapes_.dtype
    shapes = sums.toarray().astype(dtype) + dtype.type(a_t)
    size = float(model.component_sums_.mean())
    scales = size / shapes.sum(axis=1, dtype=np.float64)
    model.component_shapes_ = np.ascontiguousarray(np.vstack([model.component_shapes_, shapes]).T).T
    model.component_scales_ = np.concatenate([model.component_scales_, scales])
    model.component_sums_ = np.concatenate([model.component_sums_, np.full(len(shapes), size)])
    if model.component_agreement_ is not None:
        new = np.full(len(shapes), np.nan)
        model.component_agreement_ = np.concatenate([model.component_agreement_, new])
    for name in ("label_activations_", "label_rate_shapes_", "label_rate_scales_"):
        values = getattr(model, name)
        # out of scope, where these numbers have no effect
        edge = np.zeros((len(values), len(shapes)))
        edge += 0 if name == "label_activations_" else values.mean()
        setattr(model, name, np.hstack([values, edge]))


def _add_rows(
    model: Any, sums: sparse.csr_array, n_docs: Array, scopes: Array, prior: Prior
) -> None:
    """Add rates and activations of new labels, as their documents' terms suggest."""
    n_new = sums.shape[0]
    mask = scopes[-n_new:]
    portions = starts.fitted_portions(sums, model.component_shapes_.T)
    portions = drafts.spread(portions * mask, mask)
    weight = mass(sums) / np.maximum(n_docs, _TINY)  # of a document
    means = weight[:, None] * portions / model.component_sums_
    shape = np.full(n_new, float(np.median(model.label_shapes_)))
    scale = float(np.median(np.asarray(prior.b_lam)))
    new = Prior(prior.a_t, prior.b_t, prior.a_v, prior.b_v, shape, scale)
    rates = updates.rates(new, n_docs[:, None] * mask, n_docs[:, None] * means)
    model.scopes_ = scopes
    model.label_activations_ = np.vstack([model.label_activations_, means])
    model.label_rate_shapes_ = np.vstack([model.label_rate_shapes_, rates.shape])
    model.label_rate_scales_ = np.vstack([model.label_rate_scales_, rates.scale])
    model.label_shapes_ = np.concatenate([model.label_shapes_, shape])
    model.label_counts_ = np.concatenate([model.label_counts_, np.zeros(n_new, np.int64)])
    add_empty_rows(model, n_new)
    model.label_frequencies_ = np.concatenate([model.label_frequencies_, np.zeros(n_new)])


def _sort(model: Any, names: list[Any]) -> Array:
    """Sort the labels, if they were sorted before, and return the place of each."""
    known = model.classes_.tolist()
    labels = [*known, *names]
    order = np.arange(len(labels))
    if known == sorted(known):
        order = np.array(sorted(range(len(labels)), key=lambda place: labels[place]))
    model.classes_ = _array([labels[place] for place in order])
    for name in _BY_LABEL:
        setattr(model, name, getattr(model, name)[order])
    model.head_ = model.head_.with_labels(order, len(model.component_scales_))
    return np.argsort(order)


def _array(labels: list[Any]) -> Array:
    """Return labels as an array; of objects, if they are tuples or of several types."""
    if len({type(label) for label in labels}) == 1 and not isinstance(labels[0], tuple):
        return np.array(labels)
    found = np.empty(len(labels), dtype=object)
    found[:] = labels
    return found
