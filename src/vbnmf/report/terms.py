"""The terms that describe the components of a model, and the relevance of all terms.

Names, lists, the page and the displays show the terms that ``fit`` has chosen
(``metrics.describing``). Longer lists continue with the most relevant terms
(``metrics.relevance``). Models that lack this choice show only the most relevant terms. Lists have
one term of each passage that recurs (``metrics.passages``), as long as there are other terms.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from vbnmf.core.model import Array
from vbnmf.metrics.passages import first_of_each
from vbnmf.metrics.relevance import TermParts

_LEAST_IDF = 0.1  # of terms in nearly all documents, whose weights come mostly from the prior
_TINY = np.finfo(float).tiny


def shown_terms(model: Any, n: int, components: Iterable[int] | None = None) -> Array:
    """Return the first n terms that are shown of each component, (K, n).

    Parameters
    ----------
    model : DocumentModel, VBNMF or SupervisedVBNMF
        Fitted model.
    n : int
        Number of terms; all terms if there are fewer.
    components : iterable of int, or None
        Numbers of the components; None for all.
    """
    estimator = getattr(model, "estimator_", model)
    numbers = list(range(len(estimator.components_)) if components is None else components)
    chosen = estimator.describing_terms_
    if chosen is not None and n <= chosen.shape[1]:
        return np.asarray(chosen[numbers, :n])
    relevant, passage = term_parts(model), passage_of_terms(estimator)
    rows = []
    for k in numbers:
        first = np.zeros(0, np.intp) if chosen is None else chosen[k]
        rows.append(_filled(first, relevant.most_relevant(k, len(passage)), passage)[:n])
    return np.array(rows)


def _filled(chosen: Array, relevant: Array, passage: Array) -> Array:
    """Return the chosen terms, then the relevant ones, and last all others of shown passages."""
    listed = np.concatenate([chosen, relevant[~np.isin(relevant, chosen)]])
    shown = first_of_each(passage[listed])
    return np.concatenate([listed[shown], listed[~shown]])


def passage_of_terms(estimator: Any) -> Array:
    """Return the number of each term's passage, (n_terms,); -1 if it is in none."""
    n_terms, passages = estimator.components_.shape[1], estimator.passages_
    return np.full(n_terms, -1) if passages is None else passages.of_terms(n_terms)


def term_parts(model: Any) -> TermParts:
    """Compute the parts of terms in the components of a model, by weights divided by √idf."""
    estimator = getattr(model, "estimator_", model)
    return TermParts.of_weights(estimator.components_, term_units(model), estimator.faded_)


def names_of_terms(model: Any) -> Sequence[str] | Array:
    """Return the names of the terms of a model; "term 0", "term 1", … if it knows none."""
    if hasattr(model, "terms_"):
        return np.asarray(model.terms_)
    unknown = [f"term {w}" for w in range(model.n_features_in_)]
    return getattr(model, "feature_names_in_", unknown)


def term_units(model: Any) -> Array:
    """Return the square root of each term's IDF, (n_terms,); 1 if the model has no IDF.

    It is also 1 with ``weighting="counts"``, which does not use IDF.
    """
    vectorizer = getattr(model, "vectorizer_", None)
    idf = getattr(vectorizer, "idf_", None)
    if idf is None or getattr(vectorizer, "weighting", None) == "counts":
        estimator = getattr(model, "estimator_", model)
        return np.ones(estimator.components_.shape[1])
    return np.sqrt(np.maximum(idf, _LEAST_IDF))


def row_parts(rows: Array) -> Array:
    """Return rows, or one vector, divided by their sums in float64; zeros stay zeros."""
    rows = np.asarray(rows, dtype=np.float64)
    return rows / np.maximum(rows.sum(axis=-1, keepdims=True), _TINY)
