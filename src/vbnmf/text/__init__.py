"""Convert raw documents to the weighted document-term matrix that the models factorise.

:mod:`vbnmf.data` reads documents from files, and :mod:`vbnmf.estimators` has the models.
"""

from typing import TYPE_CHECKING

from vbnmf.lazily import on_first_use

if TYPE_CHECKING:
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

__getattr__, __dir__ = on_first_use(
    __name__,
    {
        "MarkupWarning": "vbnmf.text.markup",
        "EmptyDocumentWarning": "vbnmf.text.notices",
        "LabelsOfMarksWarning": "vbnmf.text.notices",
        "StemmerChangedWarning": "vbnmf.text.notices",
        "SuspiciousWordsWarning": "vbnmf.text.notices",
        "VocabularyCutWarning": "vbnmf.text.notices",
        "DocumentVectorizer": "vbnmf.text.vectorizer",
        "DEFAULT_WEIGHTING": "vbnmf.text.weighting",
        "WEIGHTINGS": "vbnmf.text.weighting",
    },
)
