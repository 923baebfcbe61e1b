"""Novelty: how little a document resembles the training documents of any label.

    v_d = max_l (β_l + s_dl),    novelty_d = share of training documents with a higher v

s_dl are the scores of labels. The machine of a label is trained against all other labels, so a
document that has nothing in common with any label gets low scores from all machines. Probabilities
of labels do not show this, because they sum to one. Words that the vocabulary lacks have no weight,
but count in the length of the document: with unknown words of squared length u², the scores of
single words are multiplied by r = ‖x‖ / √(‖x‖² + u²). In training, words of one document only are
such words, as soon as the document is left out.

The values v of training documents are those of machines that were trained without the document. So
the novelty of documents like those in training is uniform between 0 and 1: 5 % of them exceed 0.95.
No document of another kind is needed. The generative head has no scores against all other labels;
there v is the highest probability.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from vbnmf.core.model import Array
from vbnmf.store import LARGEST_WEIGHT, ModelFileError, check_doubles

_QUANTILES = 1_001  # of the values of training documents that are kept


@dataclass(frozen=True, eq=False)
class Novelty:
    """Distribution of the values v of training documents.

    Attributes
    ----------
    quantiles : ndarray of shape (n,)
        Quantiles of v at equal distances, ascending.
    """

    quantiles: Array

    @classmethod
    def of(cls, values: Array, weight: Array) -> "Novelty | None":
        """Return the distribution of left-out values, (n_docs,); None without any document."""
        takes_part = weight > 0
        values, weight = values[takes_part].astype(np.float64), weight[takes_part]
        if not len(values):
            return None
        order = np.argsort(values, kind="stable")
        total = np.cumsum(weight[order])
        places = (total - weight[order] / 2) / total[-1]  # the middle of each document's share
        levels = np.linspace(0, 1, _QUANTILES)
        return cls(np.interp(levels, places, values[order]))

    def novelty(self, values: Array) -> Array:
        """Return the part of training documents with a higher value, (n_docs,)."""
        grid = self.quantiles
        levels = np.linspace(0, 1, len(grid))
        # equal quantiles: the middle of their levels
        low, high = np.searchsorted(grid, values, "left"), np.searchsorted(grid, values, "right")
        tied = (levels[np.minimum(low, len(grid) - 1)] + levels[np.maximum(high - 1, 0)]) / 2
        between = np.interp(values, grid, levels)
        return np.asarray(1 - np.where(high > low, tied, between))

    @classmethod
    def from_array(cls, arrays: dict[str, Array]) -> "Novelty | None":
        """Rebuild a record. Damaged content raises ``ModelFileError``."""
        if "quantiles" not in arrays:
            return None
        most = LARGEST_WEIGHT
        shape: tuple[Any, ...] = (None,)
        quantiles = check_doubles(arrays, "quantiles", shape, least=-most, most=most)
        if len(quantiles) < 2 or (np.diff(quantiles) < 0).any():
            raise ModelFileError("the novelty of training documents is damaged.")
        return cls(quantiles)
