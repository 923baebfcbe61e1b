"""Split documents into sequences of tokens, for measures of co-occurrence in windows."""

from collections.abc import Iterable

from vbnmf.text.vectorizer import DocumentVectorizer
from vbnmf.text.words import stem_terms


def token_sequences(
    vectorizer: DocumentVectorizer, documents: Iterable[str]
) -> list[list[str]] | None:
    """Split documents into the tokens that a fitted vectorizer counts, in their order.

    Parameters
    ----------
    vectorizer : DocumentVectorizer
        A fitted vectorizer. Its `vocabulary_` has the tokens that have a column.
    documents : iterable of str
        Texts.

    Returns
    -------
    list of lists of str, or None
        Tokens in the order of the text, lower-cased, stemmed and without stop words as the
        parameters of the vectorizer say. Words that are not terms are included. Pairs of characters
        (``analyzer="auto"``) are in the order of their first characters. None for n-grams and for
        the character analyzers, which have no order.

    Examples
    --------
    >>> vectorizer = DocumentVectorizer(stem="english", stop_words=["the"]).fit(["red apples"])
    >>> token_sequences(vectorizer, ["The apple is red"])
    [['appl', 'is', 'red']]
    """
    if vectorizer.analyzer in ("char", "char_wb") or tuple(vectorizer.ngram_range) != (1, 1):
        return None
    analyze = vectorizer._build_analyzer()
    stems: dict[str, str] = {}
    sequences = []
    for document in documents:
        words = list(analyze(document))
        new = [word for word in dict.fromkeys(words) if word not in stems]
        stems.update(zip(new, stem_terms(new, vectorizer.stem), strict=True))
        sequences.append([stems[word] for word in words])
    return sequences
