"""What every reader returns, and the error that every reader raises.

The readers are in :mod:`vbnmf.data.readers` and the modules that it calls; the choice of columns is
in :mod:`vbnmf.data.columns`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class ReaderError(ValueError):
    """A source that cannot be read; the message names the file, the place and the way out."""


@dataclass(frozen=True, eq=False)
class Documents:
    """Documents as texts or as a document-term matrix, with their labels if asked for.

    Attributes
    ----------
    origin : str
        The file, folder or kind of object they came from; for messages.
    texts : list of str, or None
        One text a document. None when the source is a matrix.
    matrix : scipy.sparse.csr_matrix of shape (n_docs, n_terms), or None
        None when the source is text.
    labels : ndarray of shape (n_docs,), or None
        Numbers when all labels are numbers of one kind, else objects: str, or None for a document
        without a label. Where documents may have several, each is a list of labels, or None. None
        when no labels were asked for.
    terms : list of str, or None
        The names of the matrix's columns, if known.
    ids : list of str, or None
        What each document is called: the cell of the id column if one was asked for, else its
        line, row number (from 1) or file name.
    kept : dict of str to list
        Raw cells of the columns that were to be kept, by the names of the columns.
    text_column : str, list of str or None
        The column of texts, a list where several were joined.
    label_column : str, list of str or None
        The column of labels, a list where several were asked for.
    notes : list of str
        What was decided on the user's behalf, to be said aloud.
    """

    origin: str
    # Not in the repr: a notebook must not print a corpus.
    texts: list[str] | None = field(default=None, repr=False)
    matrix: csr_matrix | None = None
    labels: NDArray[Any] | None = None
    terms: list[str] | None = field(default=None, repr=False)
    ids: list[str] | None = field(default=None, repr=False)
    kept: dict[str, list[object]] = field(default_factory=dict, repr=False)
    text_column: str | list[str] | None = None
    label_column: str | list[str] | None = None
    notes: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        if self.texts is not None:
            return len(self.texts)
        return 0 if self.matrix is None else int(self.matrix.shape[0])


def listed(names: Iterable[object], most: int = 20) -> str:
    """Names in quotes for a message, the first `most` of them."""
    quoted = [f"{str(name)[:60]!r}" for name in names]
    more = f" and {len(quoted) - most} more" if len(quoted) > most else ""
    return ", ".join(quoted[:most]) + more if quoted else "none"


def is_missing(value: object) -> bool:
    """Say whether a raw cell is None, NaN, NaT or the NA of pandas."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.generic) and bool(value != value)


def mended(text: str) -> str:
    r"""Replace lone surrogates (a broken ``\ud83d`` in JSON), which no file can hold, by U+FFFD."""
    return text if text.isascii() else _LONE_SURROGATE.sub("\ufffd", text)
