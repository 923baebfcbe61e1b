"""Add labels to a fitted model, which a batch of ``partial_fit`` meets for the first time.

A new label gets a row of rates. In a model with scopes it also gets one component of its own, which
is initialised with the terms of its documents, and it joins the components that all labels use, and
those of its groups in a label tree. Without scopes it uses the components that there are.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from vbnmf.core import starts, updates
from vbnmf.core.model import Array, Prior
from vbnmf.core.rows import mass
from vbnmf.discovery import drafts
from vbnmf.estimators import componentterms
from vbnmf.estimators.labeltree import check_label_tree, labels_of_groups
from vbnmf.estimators.posterior import Components, FittedLabels, LabelPosterior

_TINY = np.finfo(float).tiny


def add_labels(
    fitted: FittedLabels,
    names: list[Any],
    X: sparse.csr_array,
    parts: sparse.csr_array,
    prior: Prior,
    label_tree: Any,
) -> tuple[FittedLabels, Array]:
    """Return a model with more labels, and the places of all labels, those known before first.

    Parameters
    ----------
    fitted : FittedLabels
        Fitted model.
    names : list
        New labels.
    X : csr_array of shape (n_docs, n_terms)
        Documents.
    parts : csr_array of shape (n_docs, n_new)
        Weights of the documents in each new label.
    prior : Prior
        Hyperparameters of the model.
    label_tree : str, mapping or None
        Parameter of the model. A separator puts new labels into groups.

    Raises
    ------
    ValueError
        The new labels are strings and those of the model are numbers, or the reverse.
    """
    components, labels = fitted.components, fitted.labels
    _check_type(names, labels.classes)
    sums, n_docs = sparse.csr_array(parts.T @ X), np.asarray(parts.sum(axis=0)).ravel()
    scopes = _scopes(labels, names, label_tree)
    if labels.scoped:
        components = _with_components(components, sums, prior.a_t)
        own = np.zeros((len(scopes), len(names)), dtype=bool)
        own[len(labels.classes) :] = np.eye(len(names), dtype=bool)
        scopes = np.hstack([scopes, own])
    order, classes = _sorted(labels.classes.tolist(), names)
    places = np.argsort(order)
    reason = f"{components.number} components, with those added for labels that came later"
    components = replace(components, reason=reason)
    groups = labels.groups
    if isinstance(label_tree, str):
        groups = labels_of_groups(label_tree, classes)
    sample = fitted.sample
    if sample is not None:
        moved = sample.documents.with_labels(places[: len(labels.classes)], len(order))
        sample = replace(sample, documents=moved)
    grown = replace(
        fitted,
        components=components,
        labels=_with_rows(labels, components, sums, n_docs, scopes, prior, order, classes, groups),
        counts=componentterms.with_labels(fitted.counts, order),
        head=fitted.head.with_labels(order, components.number),
        sample=sample,
    )
    return grown, places


def _check_type(names: list[Any], known: Array) -> None:
    """Refuse strings among numbers, and the reverse."""
    if {isinstance(name, str) for name in names} != {isinstance(x, str) for x in known.tolist()}:
        raise ValueError(
            f"the labels of this batch are of another type than those of the model: got "
            f"{names[0]!r}, and the model has {known.tolist()[0]!r}. Pass labels of one type."
        )


def _scopes(labels: LabelPosterior, names: list[Any], label_tree: Any) -> Array:
    """Return the scopes of the components so far with rows for new labels, all labels first."""
    before = labels.scopes
    n_labels = len(before)
    rows = np.repeat(np.all(before, axis=0, keepdims=True), len(names), axis=0)
    scopes = np.vstack([before, rows])
    if isinstance(label_tree, str):
        classes = _array([*labels.classes.tolist(), *names])
        for places in check_label_tree(label_tree, classes).values():
            group = np.zeros(len(classes), dtype=bool)
            group[places] = True
            of_group = np.all(before == group[:n_labels, None], axis=0)
            scopes[np.ix_(group, of_group)] = True
    return scopes


def _with_components(components: Components, sums: sparse.csr_array, a_t: float) -> Components:
    """Add a component for each row of sums of terms, (n_new, n_terms)."""
    dtype = components.shapes.dtype
    shapes = sums.toarray().astype(dtype) + dtype.type(a_t)
    size = float(components.sums.mean())
    scales = size / shapes.sum(axis=1, dtype=np.float64)
    return replace(
        components,
        shapes=np.ascontiguousarray(np.hstack([components.shapes, shapes.T])),
        scales=np.concatenate([components.scales, scales]),
        sums=np.concatenate([components.sums, np.full(len(shapes), size)]),
    )


def _with_rows(
    labels: LabelPosterior,
    components: Components,
    sums: sparse.csr_array,
    n_docs: Array,
    scopes: Array,
    prior: Prior,
    order: Array,
    classes: Array,
    groups: dict[str, Array],
) -> LabelPosterior:
    """Add rates and activations of new labels, as their documents' terms suggest."""
    n_new = sums.shape[0]
    more = components.number - labels.scopes.shape[1]

    def widened(values: Array, edge: float) -> Array:  # out of scope, where it has no effect
        return np.hstack([values, np.zeros((len(values), more)) + edge])

    mask = scopes[-n_new:]
    portions = starts.fitted_portions(sums, np.asarray(components.shapes))
    portions = drafts.spread(portions * mask, mask)
    weight = mass(sums) / np.maximum(n_docs, _TINY)  # of a document
    means = weight[:, None] * portions / components.sums
    shape = np.full(n_new, float(np.median(labels.shapes)))
    scale = float(np.median(np.asarray(prior.b_lam)))
    new = Prior(prior.a_t, prior.b_t, prior.a_v, prior.b_v, shape, scale)
    rates = updates.rates(new, n_docs[:, None] * mask, n_docs[:, None] * means)
    shapes, scales = labels.rate_shapes, labels.rate_scales
    return LabelPosterior(
        classes=classes,
        counts=np.concatenate([labels.counts, np.zeros(n_new, np.int64)])[order],
        frequencies=np.concatenate([labels.frequencies, np.zeros(n_new)])[order],
        n_seen=labels.n_seen,
        multilabel=labels.multilabel,
        groups=groups,
        scoped=labels.scoped,
        scopes=scopes[order],
        activations=np.vstack([widened(labels.activations, 0.0), means])[order],
        rate_shapes=np.vstack([widened(shapes, shapes.mean()), rates.shape])[order],
        rate_scales=np.vstack([widened(scales, scales.mean()), rates.scale])[order],
        shapes=np.concatenate([labels.shapes, shape])[order],
    )


def _sorted(known: list[Any], names: list[Any]) -> tuple[Array, Array]:
    """Return the order of all labels, and the labels in it: sorted, if they were sorted before."""
    labels = [*known, *names]
    order = np.arange(len(labels))
    if known == sorted(known):
        order = np.array(sorted(range(len(labels)), key=lambda place: labels[place]))
    return order, _array([labels[place] for place in order])


def _array(labels: list[Any]) -> Array:
    """Return labels as an array; of objects, if they are tuples or of several types."""
    if len({type(label) for label in labels}) == 1 and not isinstance(labels[0], tuple):
        return np.array(labels)
    found = np.empty(len(labels), dtype=object)
    found[:] = labels
    return found
