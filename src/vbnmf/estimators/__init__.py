"""The scikit-learn face of the models: contract, validation, fitted attributes; no maths."""

from typing import TYPE_CHECKING

from vbnmf.lazily import on_first_use

if TYPE_CHECKING:
    from vbnmf.estimators.supervised import SupervisedVBNMF
    from vbnmf.estimators.unsupervised import VBNMF

__all__ = ["VBNMF", "SupervisedVBNMF"]

__getattr__, __dir__ = on_first_use(
    __name__,
    {
        "SupervisedVBNMF": "vbnmf.estimators.supervised",
        "VBNMF": "vbnmf.estimators.unsupervised",
    },
)
