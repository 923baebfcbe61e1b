"""Documents to tokens in their order, for measures that look at what stands near what."""

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
        Fitted. Its `vocabulary_` names the tokens that have a column.
    documents : iterable of str

    Returns
    -------
    list of lists of str, or None
        Lower-cased, without stop words and stemmed, as the vectorizer was told to. Words that are
        no terms are there too. None for n-grams and runs of characters of several lengths, which
        stand in no order. Pairs of characters (``analyzer="auto"``) are in the order of their
        first characters.

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
