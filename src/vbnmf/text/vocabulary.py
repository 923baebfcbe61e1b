"""Number the terms of a vocabulary, and select terms by the number of documents that have them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vbnmf.text.checks import is_int


def numbered(terms: Sequence[str]) -> dict[str, int]:
    """Return the position of each term."""
    return {term: number for number, term in enumerate(terms)}


def passes(
    frequencies: NDArray[np.int64], n_documents: int, min_df: float, max_df: float
) -> NDArray[np.bool_]:
    """Return which terms are in at least `min_df` and at most `max_df` documents."""
    # Divide instead of multiplying, so that 7 of 100 documents are exactly the share 0.07.
    shares = frequencies / n_documents
    low = frequencies if is_int(min_df) else shares
    high = frequencies if is_int(max_df) else shares
    found: NDArray[np.bool_] = (low >= min_df) & (high <= max_df)
    return found


def none_passes(n_terms: int, n_documents: int, min_df: float, max_df: float) -> ValueError:
    """Return the error for a vocabulary of which no term passes `min_df` and `max_df`."""
    return ValueError(
        f"None of the {n_terms} terms is in at least min_df={min_df} and at most max_df={max_df} "
        f"of the {n_documents} documents. Decrease min_df or increase max_df."
    )


def no_term(n_documents: int, token_pattern: str) -> ValueError:
    """Return the error for documents without any term."""
    return ValueError(
        f"No term in {n_documents} documents. Expected at least one document with a word that "
        f"matches token_pattern={token_pattern!r} and is not a stop word."
    )
