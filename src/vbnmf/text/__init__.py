"""From raw documents to the weighted term matrix that the models factorise.

Reading files into documents is in :mod:`vbnmf.data`, the models are in :mod:`vbnmf.estimators`.
"""

from vbnmf.text.markup import MarkupWarning
from vbnmf.text.notices import (
    EmptyDocumentWarning,
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
    "MarkupWarning",
    "StemmerChangedWarning",
    "SuspiciousWordsWarning",
    "VocabularyCutWarning",
]
