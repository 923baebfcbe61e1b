"""Documents, which every reader returns, and the error that every reader raises."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


BadRows = Literal["error", "skip", "keep"]
"""What happens to a row that cannot be read or has no text; see ``read_documents``."""


class ReaderError(ValueError):
    """Error about a source that cannot be read. The message says where and what to do.

    Examples
    --------
    >>> from pathlib import Path
    >>> from vbnmf.data import ReaderError, read_documents
    >>> _ = Path("tea.csv").write_text('''text,label
    ... green tea,tea
    ... ''')
    >>> try:
    ...     read_documents("tea.csv", label="team")
    ... except ReaderError as error:
    ...     print(error)
    tea.csv: there is no label column 'team'; the columns are 'text', 'label'.
    """


@dataclass(frozen=True, eq=False)
class Documents:
    """Documents as texts or as a document-term matrix, with their labels if requested.

    Attributes
    ----------
    origin : str
        The file, folder or type of object that was read, for messages.
    texts : list of str, or None
        One text per document. None if the source is a matrix.
    matrix : scipy.sparse.csr_matrix of shape (n_docs, n_terms), or None
        The document-term matrix. None if the source has texts.
    labels : ndarray of shape (n_docs,), or None
        Numbers if all labels are numbers of one type, otherwise objects: str, or None for a
        document without a label. If documents may have several labels, lists of labels. None if no
        labels were requested.
    terms : list of str, or None
        Names of the columns of the matrix, if known.
    ids : list of str, or None
        Ids of the documents: the cell of the id column if requested, otherwise the line, row number
        (from 1) or file name.
    kept : dict of str to list
        Raw cells of the kept columns, by name.
    text_column : str, list of str or None
        The text column; a list if several were joined.
    label_column : str, list of str or None
        The label column; a list if several were requested.
    notes : list of str
        Messages for the user, such as which columns were guessed.
    problems : dict of int to str
        Why the text of a document is empty, by the position of the document; with
        ``bad_rows="keep"`` only.

    Examples
    --------
    >>> from pathlib import Path
    >>> from vbnmf.data import read_documents
    >>> _ = Path("tea.csv").write_text('''text,label
    ... green tea,tea
    ... black coffee,
    ... ''')
    >>> documents = read_documents("tea.csv", label="label")
    >>> len(documents), documents.labels.tolist(), documents.ids
    (2, ['tea', None], ['2', '3'])
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
    problems: dict[int, str] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        if self.texts is not None:
            return len(self.texts)
        return 0 if self.matrix is None else int(self.matrix.shape[0])

    @property
    def contents(self) -> Any:
        """The texts, or the matrix."""
        return self.texts if self.matrix is None else self.matrix

    def rows(self, at: Sequence[int]) -> "Documents":
        """Return some of the documents, in this order.

        Examples
        --------
        >>> import pandas as pd
        >>> from vbnmf.data import read_documents
        >>> frame = pd.DataFrame({"text": ["green tea", "black coffee", "mint tea"]})
        >>> documents = read_documents(frame)
        >>> documents.rows([2, 0]).texts
        ['mint tea', 'green tea']
        """
        at = list(at)

        def chosen(cells: list[Any] | None) -> list[Any] | None:
            return None if cells is None else [cells[i] for i in at]

        return replace(
            self,
            texts=chosen(self.texts),
            matrix=None if self.matrix is None else self.matrix[at],
            labels=None if self.labels is None else self.labels[at],
            ids=chosen(self.ids),
            kept={name: [cells[i] for i in at] for name, cells in self.kept.items()},
            problems={new: self.problems[i] for new, i in enumerate(at) if i in self.problems},
        )


def listed(names: Iterable[object], most: int = 20) -> str:
    """Format the first `most` names in quotes for a message."""
    quoted = [f"{str(name)[:60]!r}" for name in names]
    more = f" and {len(quoted) - most} more" if len(quoted) > most else ""
    return ", ".join(quoted[:most]) + more if quoted else "none"


def is_missing(value: object) -> bool:
    """Return whether a raw cell is None, NaN, NaT or the NA of pandas."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.generic) and bool(value != value)


def mended(text: str) -> str:
    r"""Replace lone surrogates (a broken ``\ud83d`` in JSON), which no file can hold, by U+FFFD."""
    return text if text.isascii() else _LONE_SURROGATE.sub("\ufffd", text)
