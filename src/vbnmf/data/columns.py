"""Choose the text and label columns by the names in the header.

The content of cells is not used: a bad cell is an error, and never a reason to read another column.
The text column and the label column are chosen independently.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vbnmf.data.documents import ReaderError, listed

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
# One column, or several: texts are joined, labels make a list for each document.
ColumnNames = str | Sequence[str]


@dataclass(frozen=True)
class Wanted:
    """Requested columns.

    Attributes
    ----------
    text : str, sequence of str or None
        The text column, or several to join. None uses that of the fit, or guesses it.
    label : str, sequence of str or None
        The label column or columns. None for no labels; ``"auto"`` uses those of the fit, or
        guesses one.
    fitted : mapping
        Columns of an earlier fit, ``{"text": …, "label": …}``, used if the header has them.
    labels_required : bool
        Whether a header without a label column is an error if `label` is ``"auto"``.
    id : str or None
        The column with the ids of documents.
    keep : sequence of str
        Columns to return unchanged.
    """

    text: ColumnNames | None = None
    label: ColumnNames | None = None
    fitted: Mapping[str, Any] = field(default_factory=dict)
    labels_required: bool = True
    id: str | None = None
    keep: Sequence[str] = ()


@dataclass(frozen=True)
class Chosen:
    """Indices of the chosen columns, and notes about guesses.

    Attributes
    ----------
    text, label : list of int
        The text columns and the label columns. `label` is empty if there are no labels.
    several : bool
        Whether labels are read as lists, because several columns were requested.
    id, keep : list of int
        The id column, if requested, and the columns to keep.
    notes : list of str
        Messages about guesses.
    """

    text: list[int]
    label: list[int]
    several: bool
    id: list[int]
    keep: list[int]
    notes: list[str]


def choose_columns(columns: Sequence[str], wanted: Wanted, origin: str) -> Chosen:
    """Choose the text columns and the label columns of a header.

    Parameters
    ----------
    columns : sequence of str
        The header.
    wanted : Wanted
        Requested columns.
    origin : str
        Name of the source for messages.

    Returns
    -------
    Chosen
    """
    notes: list[str] = []
    label = wanted.label
    if label == AUTO and AUTO not in columns:
        label = _of_the_fit(columns, wanted.fitted.get("label"), "label", origin) or label
    labels_at = []
    if label is not None:
        required = wanted.labels_required
        labels_at = choose_labels(columns, label, origin, notes, required=required)
    text = wanted.text or _of_the_fit(columns, wanted.fitted.get("text"), "text", origin)
    if text is not None:
        text_at = _all_named(columns, text, "text", origin)
    else:
        text_at, note = _guess_text(columns, labels_at, wanted.fitted.get("text"), origin)
        notes.insert(0, note)
    if both := [at for at in text_at if at in labels_at]:
        raise ReaderError(
            f"{origin}: column {columns[both[0]]!r} cannot be both text and label; "
            f"the columns are {listed(columns)}."
        )
    several = bool(labels_at) and not isinstance(label, str)
    id_at = [] if wanted.id is None else _all_named(columns, wanted.id, "id", origin)
    kept_at = _all_named(columns, wanted.keep, "", origin)
    return Chosen(text_at, labels_at, several, id_at, kept_at, notes)


def choose_labels(
    columns: Sequence[str],
    label: ColumnNames,
    origin: str,
    notes: list[str],
    *,
    required: bool = True,
) -> list[int]:
    """Find the label columns by name; ``"auto"`` guesses one and adds a message to `notes`.

    If none can be guessed, an empty list is returned unless labels are required.
    """
    if not label:
        raise ReaderError(f"{origin}: `label` names no column; the columns are {listed(columns)}.")
    # If there is a column named "auto", it is used.
    if label != AUTO or AUTO in columns:
        return _all_named(columns, label, "label", origin)
    at = _guessed(columns, LABEL_NAMES, range(len(columns)))
    if at is None and not required:
        return []
    if at is None:
        raise ReaderError(
            f"{origin}: no column has a usual name for labels (columns: {listed(columns)}). "
            "Name it with label='...' (--label on the command line)."
        )
    notes.append(f"Label column {columns[at]!r} was chosen because of its name.")
    return [at]


def names_of(columns: Sequence[str], places: Sequence[int], *, several: bool) -> Any:
    """Return the names of columns, as a list if there are several or `several` is True."""
    names = [columns[at] for at in places]
    return names if several or len(names) > 1 else names[0] if names else None


def _of_the_fit(
    columns: Sequence[str], remembered: ColumnNames | None, role: str, origin: str
) -> ColumnNames | None:
    """Return the columns of the fit if the header has them all, None if it has none of them."""
    if remembered is None:
        return None
    folded = {column.casefold() for column in columns}
    missing = [name for name in _listed_names(remembered) if name.casefold() not in folded]
    if not missing:
        return remembered
    if len(missing) < len(_listed_names(remembered)):
        raise ReaderError(
            f"{origin}: the model was fitted to the {role} columns "
            f"{listed(_listed_names(remembered))}, but {listed(missing)} is not there; the columns "
            f"are {listed(columns)}. Name the ones to use with --{role}."
        )
    return None


def _guess_text(
    columns: Sequence[str], labels_at: list[int], fitted: ColumnNames | None, origin: str
) -> tuple[list[int], str]:
    others = [i for i in range(len(columns)) if i not in labels_at]
    only = len(others) == 1
    at = others[0] if only else _guessed(columns, TEXT_NAMES, others)
    if at is None:
        raise ReaderError(
            f"{origin}: no column has a usual name for text (columns: {listed(columns)}). "
            "Name it with text='...' (--text on the command line)."
        )
    besides = " besides the label" if labels_at else ""
    reason = f"it is the only column{besides}" if only else "of its name"
    if fitted is not None:
        names = listed(_listed_names(fitted))
        reason += f"; the model was fitted to {names}, which is not there"
    return [at], f"Text column {columns[at]!r} was chosen because {reason}."


def _listed_names(names: ColumnNames) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _all_named(columns: Sequence[str], names: ColumnNames, role: str, origin: str) -> list[int]:
    """Find the columns with these names, without repetition; ``role`` is for messages."""
    found = [_named(columns, name, role, origin) for name in _listed_names(names)]
    return list(dict.fromkeys(found))


def _named(columns: Sequence[str], name: str, role: str, origin: str) -> int:
    """Find the column with this name; case is ignored if there is no exact match."""
    same = [i for i, column in enumerate(columns) if column == name]
    found = same or [i for i, c in enumerate(columns) if c.casefold() == name.casefold()]
    if len(found) == 1:
        return found[0]
    problem = "there is no" if not found else f"{len(found)} columns match the"
    column = f"{role} column".lstrip()
    raise ReaderError(f"{origin}: {problem} {column} {name!r}; the columns are {listed(columns)}.")


def _guessed(columns: Sequence[str], names: Sequence[str], allowed: Iterable[int]) -> int | None:
    """Find the first column with one of the usual names, in the order of `names`."""
    by_name = {columns[i].strip().casefold(): i for i in reversed(list(allowed))}
    return next((by_name[name] for name in names if name in by_name), None)
