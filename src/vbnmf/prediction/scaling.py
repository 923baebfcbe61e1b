"""Scale evidence to features of linear machines: centre it, then standardise or whiten it.

    f_d = (e_d − μ) S

μ is the mean of the evidence and S a matrix made from its covariance. The features have a given
mean squared length, which sets their influence relative to other features.
"""

from dataclasses import dataclass

import numpy as np

from vbnmf.core.model import Array
from vbnmf.core.products import product_with_rows, row_products

_RIDGE = 0.1  # added to the variances of whitened evidence
_DOCUMENTS_AT_ONCE = 1 << 12  # held in double precision


@dataclass(frozen=True, eq=False)
class Scaling:
    """A fitted scaling.

    Attributes
    ----------
    centre : ndarray of shape (K,)
        μ.
    matrix : ndarray of shape (K, K)
        S.
    """

    centre: Array
    matrix: Array

    def features(self, evidence: Array) -> Array:
        """Compute the features of documents, (n_docs, K) in float32."""
        out = np.empty(evidence.shape, np.float32)
        for begin in range(0, len(out), _DOCUMENTS_AT_ONCE):
            at = slice(begin, begin + _DOCUMENTS_AT_ONCE)
            out[at] = (evidence[at] - self.centre) @ self.matrix
        return out

    def unscaled(self, weights: Array, intercepts: Array) -> tuple[Array, Array]:
        """Convert weights of features, (n_labels, K), and intercepts to those of evidence."""
        of_evidence = product_with_rows(weights, self.matrix)
        return of_evidence, intercepts - row_products(of_evidence, self.centre)


def standardise(evidence: Array, weight: Array, size: float) -> Scaling:
    """Scale all columns to the same variance.

    Parameters
    ----------
    evidence : array of shape (n_docs, K)
    weight : array of shape (n_docs,)
        Sample weights.
    size : float
        Mean squared length of the features.
    """
    centre, covariance = _moments(evidence, weight)
    return Scaling(centre, _same_variance(covariance, size))


def whiten(evidence: Array, weight: Array, size: float) -> Scaling:
    """Scale all columns to the same variance, and make them uncorrelated, with a ridge.

    Parameters are as for ``standardise``.
    """
    centre, covariance = _moments(evidence, weight)
    standard = _same_variance(covariance, float(len(centre)))
    variances, axes = np.linalg.eigh(standard @ covariance @ standard)
    variances = np.maximum(variances, 0)
    shrunk = 1 / np.sqrt(variances + _RIDGE)
    length = (variances * shrunk**2).sum()
    scale = np.sqrt(size / length) if length > 0 else 0.0  # one component alone says nothing
    return Scaling(centre, standard @ (axes * shrunk) * scale)


def _moments(evidence: Array, weight: Array) -> tuple[Array, Array]:
    """Compute the mean, (K,), and the covariance, (K, K)."""
    part = weight / weight.sum()
    K = evidence.shape[1]
    centre, covariance = np.zeros(K), np.zeros((K, K))
    for begin in range(0, len(evidence), _DOCUMENTS_AT_ONCE):
        at = slice(begin, begin + _DOCUMENTS_AT_ONCE)
        centre += part[at] @ evidence[at]
    for begin in range(0, len(evidence), _DOCUMENTS_AT_ONCE):
        at = slice(begin, begin + _DOCUMENTS_AT_ONCE)
        centred = evidence[at] - centre
        covariance += (centred * part[at, None]).T @ centred
    return centre, covariance


def _same_variance(covariance: Array, size: float) -> Array:
    """Return the diagonal matrix that scales columns to the same variance.

    The mean squared length of the scaled documents is ``size``.
    """
    spread = np.sqrt(np.maximum(np.diag(covariance), 0))
    varies = spread > 0
    scale = np.sqrt(size / max(varies.sum(), 1))
    return np.diag(np.divide(scale, spread, out=np.zeros_like(spread), where=varies))
