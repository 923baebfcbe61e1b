"""DocumentModel: a vectorizer and an estimator in one model and one file.

``documentmodel`` fits, transforms and saves it. ``batches`` has ``partial_fit``, ``predicting``
predicts labels, and ``inputs`` checks documents.
"""

from vbnmf.pipeline.documentmodel import NAME, DocumentModel, default_estimator

__all__ = ["NAME", "DocumentModel", "default_estimator"]
