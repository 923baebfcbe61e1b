"""Data frames with sparse columns, for ``DocumentVectorizer.set_output``.

scikit-learn does not convert sparse matrices to data frames. pandas has sparse columns, which
estimators of scikit-learn read without making them dense. polars has none.
"""

from typing import Any

import scipy.sparse as sp
from numpy.typing import NDArray

CONTAINERS = ("default", "pandas")


def check_container(transform: Any) -> None:
    """Raise ValueError for a container that cannot hold sparse weights."""
    if transform not in (*CONTAINERS, None):
        raise ValueError(
            f'transform must be "default" (a sparse matrix) or "pandas" (a data frame with sparse '
            f"columns); got {transform!r}. polars has no sparse columns."
        )


def as_frame(X: sp.csr_matrix, names: NDArray[Any], documents: Any) -> Any:
    """Convert weights to a data frame with sparse columns and the index of `documents`."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError(
            'set_output(transform="pandas") needs pandas. Install it, or use transform="default".'
        ) from None
    index = documents.index if isinstance(documents, pd.Series) else None
    return pd.DataFrame.sparse.from_spmatrix(X, index=index, columns=names)
