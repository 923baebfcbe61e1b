"""Convert raw documents to the weighted document-term matrix that the models factorise.

:mod:`vbnmf.data` reads documents from files, and :mod:`vbnmf.estimators` has the models.
"""

from vbnmf.text.markup import MarkupWarning
from vbnmf.text.notices import (
    EmptyDocumentWarning,
    LabelsOfMarksWarning,
    StemmerChangedWarning,
    SuspiciousWordsWarning,
    VocabularyCutWarning,
)
from vbnmf.text.vectorizer import DocumentVectorizer
from vbnmf.text.weighting import DEFAULT_WEIGHTING, WEIGHTINGS

__all__ = [
    "DEFAULT_WEIGHTING",
    "WEIGHTINGS",
    "DocumentVectorizer",
    "EmptyDocumentWarning",
    "LabelsOfMarksWarning",
    "MarkupWarning",
    "StemmerChangedWarning",
    "SuspiciousWordsWarning",
    "VocabularyCutWarning",
]
