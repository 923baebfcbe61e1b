"""Check the documents and the names of terms that are passed to ``DocumentModel``."""

from typing import Any

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array


def is_matrix(documents: Any) -> bool:
    """Return whether documents are a matrix; raise an error for data frames and 2-d strings."""
    if hasattr(documents, "columns"):  # a data frame iterates over names of columns, not over rows
        raise TypeError(
            f"documents must be texts or a matrix; got a {type(documents).__name__}. Pass one "
            "column of texts, or an array of weights."
        )
    if not isinstance(documents, np.ndarray) or documents.ndim != 2:
        return sparse.issparse(documents)
    if documents.dtype.kind in "UST" or any(isinstance(x, str) for x in documents[:1].flat):
        raise TypeError(
            f"documents must be texts or a matrix; got strings in an array of shape "
            f"{documents.shape}. Pass one column of texts: documents[:, 0]."
        )
    return True


def term_names(names: Any, n_terms: int) -> Array:
    """Check the names of terms, or make default names."""
    if names is None:
        names = [f"term {i}" for i in range(n_terms)]
    if len(names) != n_terms:
        raise ValueError(f"there are {n_terms} terms, but `terms` has {len(names)} names.")
    return np.array([str(name) for name in names], dtype=object)
