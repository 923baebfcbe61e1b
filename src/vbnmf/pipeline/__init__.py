"""DocumentModel: a vectorizer and an estimator in one model and one file.

``documentmodel`` fits, transforms and saves it. ``batches`` has ``partial_fit``, ``predicting``
predicts labels, and ``inputs`` checks documents.
"""

from typing import TYPE_CHECKING

from vbnmf.lazily import on_first_use

if TYPE_CHECKING:
    from vbnmf.pipeline.documentmodel import DocumentModel, default_estimator
    from vbnmf.pipeline.predicting import NAME

__all__ = ["NAME", "DocumentModel", "default_estimator"]

__getattr__, __dir__ = on_first_use(
    __name__,
    {
        "DocumentModel": "vbnmf.pipeline.documentmodel",
        "NAME": "vbnmf.pipeline.predicting",
        "default_estimator": "vbnmf.pipeline.documentmodel",
    },
)
