"""Words of new documents that a fitted vocabulary lacks."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from vbnmf.text.counting import count_documents, document_frequencies
from vbnmf.text.words import stem_terms

if TYPE_CHECKING:
    from vbnmf.text.vectorizer import DocumentVectorizer


class UnknownTerms(NamedTuple):
    """Terms that are not in a vocabulary.

    Attributes
    ----------
    share : float
        Part of all occurrences of terms that are of unknown terms; 0 if there is no term.
    commonest : list of (str, int)
        Unknown terms in most documents, with their numbers of documents.
    """

    share: float
    commonest: list[tuple[str, int]]


def unknown_terms(
    vectorizer: "DocumentVectorizer", documents: Sequence[str], n_terms: int = 10
) -> UnknownTerms:
    """Find the terms of documents that a fitted vectorizer ignores.

    Stop words are not counted.
    """
    counts, forms = count_documents(documents, vectorizer._build_analyzer())
    stems = stem_terms(forms, vectorizer.stem)
    known = np.fromiter((stem in vectorizer._numbers for stem in stems), bool, len(stems))
    totals = np.asarray(counts.sum(axis=0)).ravel()
    share = float(totals[~known].sum() / max(totals.sum(), 1))
    frequencies = np.where(known, 0, document_frequencies(counts))
    order = np.argsort(-frequencies, kind="stable")[:n_terms]
    return UnknownTerms(share, [(forms[i], int(frequencies[i])) for i in order if frequencies[i]])
