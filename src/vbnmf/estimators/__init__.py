"""The scikit-learn face of the models: contract, validation, fitted attributes; no maths."""

from vbnmf.estimators.info import show_versions
from vbnmf.estimators.supervised import SupervisedVBNMF
from vbnmf.estimators.unsupervised import VBNMF

__all__ = ["VBNMF", "SupervisedVBNMF", "show_versions"]
