"""The prediction head: a linear score of evidence and words, and its calibration.

    s_dl = b_l + Σ_k w_lk e_dk + Σ_w u_lw x_dw / ‖x_d‖

e is the evidence for components (``evidence``). The other sum is over single words of the document,
scaled to unit length. ``calibration`` converts scores to probabilities.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.core.products import product_with_rows
from vbnmf.core.rows import effective_terms, of_unit_length
from vbnmf.prediction.calibration import Calibration
from vbnmf.prediction.evidence import mean_over_terms


@dataclass(frozen=True)
class Head:
    """A trained prediction head.

    Attributes
    ----------
    weights : ndarray of shape (n_labels, K)
        Weights of the evidence.
    intercepts : ndarray of shape (n_labels,)
        Intercepts of the scores.
    calibration : Calibration
        Map from scores to probabilities.
    words : ndarray of float32 of shape (n_labels, n_terms), or (n_labels, 0)
        Weights of single words; of shape (n_labels, 0) if they are not used.
    """

    weights: Array
    intercepts: Array
    calibration: Calibration
    words: Array

    def scores(self, X: sparse.csr_array, term_evidence: Array) -> Array:
        """Compute the scores of documents, (n_docs, n_labels), with the evidence of terms."""
        by_components, by_words = self.parts(X, term_evidence)
        return np.asarray(by_components + self.intercepts + by_words)

    def parts(self, X: sparse.csr_array, term_evidence: Array) -> tuple[Array, Array]:
        """Compute the contributions of components and of single words, (n_docs, n_labels) each."""
        by_components = product_with_rows(mean_over_terms(X, term_evidence), self.weights)
        if not self.words.size:
            return by_components, np.zeros(by_components.shape)
        return by_components, np.asarray(of_unit_length(X) @ self.words.T.astype(np.float64))

    def probabilities(self, X: sparse.csr_array, term_evidence: Array) -> Array:
        """Compute the probabilities of labels, (n_docs, n_labels)."""
        return self.calibration.probabilities(self.scores(X, term_evidence), effective_terms(X))
