"""The scikit-learn face of the models: contract, validation, fitted attributes; no maths."""

from vbnmf.estimators.supervised import SupervisedVBNMF
from vbnmf.estimators.unsupervised import VBNMF

__all__ = ["VBNMF", "SupervisedVBNMF"]
