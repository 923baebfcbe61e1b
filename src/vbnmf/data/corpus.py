"""Types of corpora and of their sources, and the error for a corpus that was not found."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from numpy.typing import NDArray
from scipy.sparse import csr_matrix


class CorpusError(OSError):
    """Error about a corpus that was not found. The message says what was tried and what to do.

    Examples
    --------
    >>> from vbnmf.data import CorpusError, load_corpus
    >>> try:
    ...     load_corpus("20newsgroups", source="nowhere.tar.gz")
    ... except CorpusError:
    ...     print("not found")
    not found
    """


@dataclass(frozen=True, eq=False)
class Corpus:
    """Labelled documents, as texts or as word counts.

    Attributes
    ----------
    name, description : str
        Name and content.
    source : str
        Source of this copy.
    labels : ndarray of str objects of shape (n_docs,)
        One label per document.
    label_names : list of str
        The labels of the whole corpus, sorted.
    split : ndarray of str objects of shape (n_docs,)
        ``"train"`` or ``"test"`` for each document.
    ids : list of str
        Ids of the documents in the source.
    texts : list of str, or None
        Texts of the documents. None if the source has counts.
    matrix : scipy.sparse.csr_matrix of shape (n_docs, n_terms), or None
        Counts of words. None if the source has texts.
    terms : list of str, or None
        Names of the columns of the matrix.
    notes : list of str
        Messages for the user.

    Examples
    --------
    >>> from vbnmf.data import load_corpus
    >>> corpus = load_corpus("scipy-docs", subset="test")
    >>> len(corpus.texts) == len(corpus.labels) == len(corpus)
    True
    """

    name: str
    description: str
    source: str
    labels: NDArray[Any]
    label_names: list[str]
    split: NDArray[Any]
    # Not in the repr: a notebook must not print a corpus.
    ids: list[str] = field(repr=False)
    texts: list[str] | None = field(default=None, repr=False)
    matrix: csr_matrix | None = None
    terms: list[str] | None = field(default=None, repr=False)
    notes: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.labels)


class Record(NamedTuple):
    """One document of a source. The text is None if the source has counts."""

    split: str
    id: str
    label: str
    text: str | None


class Copy(NamedTuple):
    """All documents of one source, with counts of shape (n_docs, n_terms) if it has them."""

    source: str
    records: list[Record]
    matrix: csr_matrix | None = None
    terms: list[str] | None = None
