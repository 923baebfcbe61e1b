"""What every reader returns, the error every reader raises, and how columns are chosen.

The readers themselves are in :mod:`vbnmf.data.readers` and the modules it calls.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

# Tried in this order, without regard to case, when no column is named.
TEXT_NAMES = (
    *("text", "document", "doc", "body", "content", "contents", "message", "review", "abstract"),
    *("comment", "post", "tweet", "article", "sentence", "description", "summary", "title"),
)
LABEL_NAMES = (
    *("label", "category", "class", "tag", "target", "topic", "genre", "section", "newsgroup"),
    *("group", "sentiment", "rating", "y", "labels", "categories", "tags", "topics"),
)
AUTO = "auto"
# One column, or several that together hold the labels of a document.
LabelColumns = str | Sequence[str]

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
        What the source calls each document: its line, row number or file name.
    text_column : str or None
        The column of texts.
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
    text_column: str | None = None
    label_column: str | list[str] | None = None
    notes: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        if self.texts is not None:
            return len(self.texts)
        return 0 if self.matrix is None else int(self.matrix.shape[0])


def choose_columns(
    columns: Sequence[str], text: str | None, label: LabelColumns | None, origin: str
) -> tuple[int, list[int], list[str]]:
    """Choose the text column and those of labels.

    Parameters
    ----------
    columns : sequence of str
        The names at hand.
    text : str or None
        The text column; None to guess it.
    label : str, sequence of str or None
        The label column or columns; None for no labels, ``"auto"`` to guess it.
    origin : str
        The source's name for messages.

    Returns
    -------
    text_index : int
    label_indices : list of int
        Empty for no labels.
    notes : list of str
        The guesses made.
    """
    notes: list[str] = []
    labels_at = [] if label is None else choose_labels(columns, label, origin, notes)
    if text is not None:
        text_at = _named(columns, text, "text", origin)
    else:
        others = [i for i in range(len(columns)) if i not in labels_at]
        only = len(others) == 1
        text_at = others[0] if only else _guessed(columns, TEXT_NAMES, others)
        if text_at < 0:
            raise ReaderError(
                f"{origin}: no column has a usual name for text; there are {listed(columns)}. "
                "Name it with text='...' (--text on the command line)."
            )
        reason = "there is no other" if only else "of its name"
        notes.insert(0, f"Text column {columns[text_at]!r} was chosen because {reason}.")
    if text_at in labels_at:
        raise ReaderError(
            f"{origin}: column {columns[text_at]!r} cannot be both text and label; "
            f"there are {listed(columns)}."
        )
    return text_at, labels_at, notes


def choose_labels(
    columns: Sequence[str], label: LabelColumns, origin: str, notes: list[str]
) -> list[int]:
    """Find the label columns, by name or (``"auto"``) by guessing, which is added to `notes`."""
    names = [label] if isinstance(label, str) else list(label)
    if not names:
        raise ReaderError(f"{origin}: `label` names no column; there are {listed(columns)}.")
    found = [_choose_label(columns, name, origin, notes) for name in names]
    return list(dict.fromkeys(found))


def _choose_label(columns: Sequence[str], label: str, origin: str, notes: list[str]) -> int:
    # A column that is really called "auto" is meant when it is there.
    if label != AUTO or AUTO in columns:
        return _named(columns, label, "label", origin)
    at = _guessed(columns, LABEL_NAMES, range(len(columns)))
    if at < 0:
        raise ReaderError(
            f"{origin}: no column has a usual name for labels; there are {listed(columns)}. "
            "Name it with label='...' (--label on the command line)."
        )
    notes.append(f"Label column {columns[at]!r} was chosen because of its name.")
    return at


def listed(names: Iterable[object], most: int = 20) -> str:
    """Names in quotes for a message, the first `most` of them."""
    quoted = [f"{str(name)[:60]!r}" for name in names]
    more = f" and {len(quoted) - most} more" if len(quoted) > most else ""
    return ", ".join(quoted[:most]) + more if quoted else "none"


def is_missing(value: object) -> bool:
    """Say whether a raw cell is None or not a number."""
    return value is None or (isinstance(value, float | np.floating) and bool(np.isnan(value)))


def mended(text: str) -> str:
    r"""Replace lone surrogates (a broken ``\ud83d`` in JSON), which no file can hold, by U+FFFD."""
    return text if text.isascii() else _LONE_SURROGATE.sub("\ufffd", text)


def _named(columns: Sequence[str], name: str, role: str, origin: str) -> int:
    """Find the one column of this name, exactly or else without regard to case."""
    same = [i for i, column in enumerate(columns) if column == name]
    found = same or [i for i, c in enumerate(columns) if c.casefold() == name.casefold()]
    if len(found) == 1:
        return found[0]
    problem = "there is no" if not found else f"{len(found)} columns match the"
    raise ReaderError(
        f"{origin}: {problem} {role} column {name!r}; the columns are {listed(columns)}."
    )


def _guessed(columns: Sequence[str], names: Sequence[str], allowed: Iterable[int]) -> int:
    """Find the first column with one of the usual names, in the order of `names`, or -1."""
    by_name = {columns[i].strip().casefold(): i for i in reversed(list(allowed))}
    return next((by_name[name] for name in names if name in by_name), -1)
