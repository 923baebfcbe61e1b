"""Compute measures of a fitted model, for ``vbnmf evaluate`` and the explorer.

Measures of components ignore faded components. NPMI and diversity are computed from the
terms that describe each component, which ``vbnmf topics`` and the page show.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.metrics import completion_log_likelihood, exclusivity
from vbnmf.metrics.coherence import window_npmi_of_terms
from vbnmf.metrics.diversity import distinct_share
from vbnmf.pipeline import DocumentModel
from vbnmf.report.terms import shown_terms
from vbnmf.text.sequences import token_sequences

TOP, DIVERSE, WINDOW = 10, 25, 10
"""Usual numbers of top terms, of top terms for diversity, and of tokens in a window."""


def lasting(estimator: Any) -> Array:
    """Return whether each component has not faded, (K,); True for all if all have faded."""
    faded = estimator.faded_
    return np.ones_like(faded) if faded.all() else ~faded


def lasting_terms(model: DocumentModel, n: int) -> Array:
    """Return the n terms that are shown of each component that has not faded, (≤ K, n)."""
    return shown_terms(model, n, np.flatnonzero(lasting(model.estimator_)))


def distinctness(model: DocumentModel) -> dict[str, float]:
    """Compute diversity and exclusivity of the components."""
    components = model.estimator_.components_[lasting(model.estimator_)]
    return {
        "diversity": distinct_share(lasting_terms(model, DIVERSE)),
        "exclusivity": float(exclusivity(components, TOP).mean()),
    }


def npmi_by_windows(model: DocumentModel, texts: Iterable[str] | None) -> float | None:
    """Compute NPMI by windows of tokens, as a mean over components.

    Parameters
    ----------
    model : DocumentModel
        Fitted model.
    texts : iterable of str, or None
        Texts; None if documents are rows of a matrix.

    Returns
    -------
    float or None
        None without texts, if the texts have no tokens, or if terms are not words in sequence.
    """
    if texts is None or model.vectorizer_ is None:
        return None
    documents = token_sequences(model.vectorizer_, texts)
    if documents is None or not any(documents):
        return None
    terms = list(model.vectorizer_.vocabulary_)
    top = lasting_terms(model, TOP)
    return float(window_npmi_of_terms(top, documents, terms, WINDOW).mean())


def held_out_log_likelihood(estimator: Any, X: Any) -> float | None:
    """Compute the log-likelihood by document completion; None if no document has two terms."""
    n_terms = (sparse.csr_array(X) > 0).sum(axis=1)
    return completion_log_likelihood(estimator, X) if (n_terms > 1).any() else None
