"""Data frames with sparse columns, for ``DocumentVectorizer.set_output``.

scikit-learn does not convert sparse matrices to data frames. pandas has sparse columns, which
estimators of scikit-learn read without making them dense. polars has none.
"""

from typing import Any, Self

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


class GivesFrames:
    """The method `set_output` of the vectorizer."""

    def set_output(self, *, transform: str | None = None) -> Self:
        """Set the container that `transform` and `fit_transform` return.

        ``sklearn.set_config(transform_output=...)`` has no effect on this class.

        Parameters
        ----------
        transform : {"default", "pandas"} or None
            "default" is a sparse matrix. "pandas" is a data frame with a sparse column for each
            term, which is slow for many terms. None changes nothing.

        Returns
        -------
        self
            The vectorizer itself.
        """
        check_container(transform)
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}  # clones keep it
        return self

    def _contained(self, X: sp.csr_matrix, documents: object) -> Any:
        """Convert the weights to the container of `set_output`."""
        if getattr(self, "_sklearn_output_config", {}).get("transform") != "pandas":
            return X
        names = self.get_feature_names_out()  # type: ignore[attr-defined]
        return as_frame(X, names, documents)
