"""Measures of a fitted model, which ``vbnmf evaluate`` and the explorer both tell.

Components that have faded are left out of those that speak of components.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.metrics import completion_log_likelihood, exclusivity, topic_diversity, window_npmi
from vbnmf.pipeline import DocumentModel
from vbnmf.text.sequences import token_sequences

TOP, DIVERSE, WINDOW = 10, 25, 10
"""Strongest terms of a component, those for diversity, tokens of a window: what is usual."""


def lasting(estimator: Any) -> Array:
    """Return which components have not faded, (K,); all of them if all have."""
    faded = estimator.faded_
    return np.ones_like(faded) if faded.all() else ~faded


def distinctness(estimator: Any) -> dict[str, float]:
    """Return how much the components differ from one another."""
    components = estimator.components_[lasting(estimator)]
    return {
        "diversity": topic_diversity(components, DIVERSE),
        "exclusivity": float(exclusivity(components, TOP).mean()),
    }


def npmi_by_windows(model: DocumentModel, texts: Iterable[str] | None) -> float | None:
    """Return the mean over components of NPMI by windows of tokens.

    Parameters
    ----------
    model : DocumentModel
        Fitted.
    texts : iterable of str, or None
        None where documents are rows of a matrix.

    Returns
    -------
    float or None
        None without texts, or if these have no tokens, or if the model's terms stand in no order.
    """
    if texts is None or model.vectorizer_ is None:
        return None
    documents = token_sequences(model.vectorizer_, texts)
    if documents is None or not any(documents):
        return None
    components = model.estimator_.components_[lasting(model.estimator_)]
    terms = list(model.vectorizer_.vocabulary_)
    return float(window_npmi(components, documents, terms, TOP, WINDOW).mean())


def held_out_log_likelihood(estimator: Any, X: Any) -> float | None:
    """Return the log-likelihood of documents by completion, None if none has two terms."""
    n_terms = (sparse.csr_array(X) > 0).sum(axis=1)
    return completion_log_likelihood(estimator, X) if (n_terms > 1).any() else None
