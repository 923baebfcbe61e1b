"""Open the rows of a source, choose columns, check each row, and yield documents in parts.

:mod:`vbnmf.data.readers` finds the format of a source, and :mod:`vbnmf.data.labels` reads labels.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from vbnmf.data.arrow import open_arrow, open_stream
from vbnmf.data.columns import Wanted, choose_columns, names_of
from vbnmf.data.documents import BadRows, Documents, ReaderError, is_missing, mended
from vbnmf.data.folders import open_folder
from vbnmf.data.labels import (
    JoinedColumns,
    LabelsSource,
    check_length,
    label_array,
    label_name,
    read_labels,
)
from vbnmf.data.tables import BadRow, Row, SourceTable, open_dataset, open_frame, open_text

_NAMED = 3  # rows that a note names; it only counts the others
_FEW = 10  # rows that may be left out of any file, because they cannot be read


@dataclass(frozen=True)
class Opened:
    """Rows of the chosen columns: the cells of texts, labels, id and kept columns."""

    origin: str
    unit: str
    rows: Iterator[Row | BadRow]
    with_labels: bool
    notes: list[str]
    n_texts: int = 1
    n_labels: int = 1
    n_ids: int = 0
    kept_columns: Sequence[str] = ()
    text_column: str | list[str] | None = None
    label_column: str | list[str] | None = None
    joined: JoinedColumns | None = None
    may_be_empty: bool = False
    has_next: Callable[[], bool] | None = None

    def place(self, number: str, name: str) -> str:
        """Format the position of a row for messages."""
        place = f"{self.origin}, {self.unit} {number}"
        return f"{place} (id {name[:60]!r})" if self.n_ids else place


def open_rows(
    source: Any,
    kind: str,
    encoding: str,
    wanted: Wanted,
    labels: LabelsSource | None,
    may_be_empty: bool,
    *,
    live: bool = False,
) -> Opened:
    """Open a folder, or a table whose columns are chosen by the header."""
    notes: list[str] = []
    if kind == "folder":
        files, with_labels = open_folder(
            Path(source), encoding, wanted.label, labels, notes,
            labels_required=wanted.labels_required,
        )  # fmt: skip
        return Opened(str(source), "file", files, with_labels, notes, may_be_empty=may_be_empty)
    table = _open_table(source, kind, encoding, live)
    if not table.has_header:
        return Opened(
            table.origin, table.unit, iter(()), False, table.notes,
            kept_columns=wanted.keep, may_be_empty=may_be_empty,
        )  # fmt: skip
    # With a labels file, `label` is a column of that file.
    inside = wanted if labels is None else replace(wanted, label=None)
    chosen = choose_columns(table.columns, inside, table.origin)
    notes += table.notes + chosen.notes
    rows = table.rows([*chosen.text, *chosen.label, *chosen.id, *chosen.keep])
    if labels is not None:
        tags = read_labels(labels, wanted.label, encoding, notes).cells
        rows = _with_labels(rows, len(chosen.text), tags, labels)
    label_column = names_of(table.columns, chosen.label, several=chosen.several)
    return Opened(
        table.origin,
        table.unit,
        rows,
        with_labels=labels is not None or bool(chosen.label),
        notes=notes,
        n_texts=len(chosen.text),
        n_labels=len(chosen.label) if labels is None else 1,
        n_ids=len(chosen.id),
        kept_columns=[table.columns[i] for i in chosen.keep],
        text_column=names_of(table.columns, chosen.text, several=False),
        label_column=label_column,
        joined=JoinedColumns(label_column) if chosen.several else None,
        may_be_empty=may_be_empty,
        has_next=table.has_next,
    )


class Checked(NamedTuple):
    """A document, and the raw cells of its labels and kept columns."""

    number: str  # its line, row or file
    name: str  # the cell of the id column, or the same as the number
    text: str
    tags: tuple[object, ...]
    kept: tuple[object, ...]
    problem: str | None = None  # why there is no text, if the row is kept


class _Left:
    """Rows that were left out or mended, for notes."""

    def __init__(self) -> None:
        self.mended = 0
        self.bad: list[str] = []

    def notes(self, unit: str) -> list[str]:
        """Return what happened since the last call, in words."""
        notes = []
        if self.mended:
            notes.append(f"{self.mended} texts had broken Unicode, replaced by U+FFFD.")
        if self.bad:
            units = unit if len(self.bad) == 1 else f"{unit}s"
            more = f"; and {len(self.bad) - _NAMED:,} more" if len(self.bad) > _NAMED else ""
            notes.append(
                f"{len(self.bad):,} {units} left out: {'; '.join(self.bad[:_NAMED])}{more}. "
                "With bad_rows='error' (--strict) the first of them is an error."
            )
        self.__init__()  # type: ignore[misc]
        return notes


def read_parts(
    opened: Opened, separator: str | None, bad_rows: BadRows, most: int, characters: int
) -> Iterator[Documents]:
    """Yield documents in parts of at most `most` documents and about `characters` characters."""
    notes = opened.notes
    left = _Left()
    checked = _checked(opened, bad_rows, left)
    empty = True
    while (batch := _batch(checked, most, characters, opened.has_next)) or empty:
        if not batch and not opened.may_be_empty:
            seen = f": {left.bad[0]}" if left.bad else ""
            raise ReaderError(f"{opened.origin}: there are no documents in it{seen}.")
        empty = False
        notes += left.notes(opened.unit)
        found = None
        if opened.with_labels:
            places = _Places(opened, batch)
            tags = [item.tags for item in batch]
            joined = opened.joined
            cells = joined.join(tags, places, notes) if joined else [row[0] for row in tags]
            found = label_array(cells, places, separator, notes)
        yield Documents(
            opened.origin,
            texts=[item.text for item in batch],
            labels=found,
            ids=[item.name for item in batch],
            kept={
                name: [item.kept[i] for item in batch] for i, name in enumerate(opened.kept_columns)
            },
            text_column=opened.text_column,
            label_column=opened.label_column,
            notes=notes,
            problems={i: item.problem for i, item in enumerate(batch) if item.problem},
        )
        notes = []


class _Places(Sequence[str]):
    """Positions of rows for messages, formatted on demand."""

    def __init__(self, opened: Opened, batch: list[Checked]) -> None:
        self._opened, self._batch = opened, batch

    def __len__(self) -> int:
        return len(self._batch)

    def __getitem__(self, at: Any) -> Any:
        return self._opened.place(self._batch[at].number, self._batch[at].name)


def _batch(
    checked: Iterator[Checked], most: int, characters: int, has_next: Callable[[], bool] | None
) -> list[Checked]:
    """Return the next documents: as many as fit, or as have arrived."""
    batch: list[Checked] = []
    length = 0
    for item in checked:
        batch.append(item)
        length += len(item.text)
        if len(batch) >= most or length >= characters or (has_next and not has_next()):
            break
    return batch


def _open_table(source: Any, kind: str, encoding: str, live: bool) -> SourceTable:
    if kind in ("parquet", "arrow"):
        return open_arrow(Path(source), parquet=kind == "parquet")
    if kind == "stream":
        return open_stream(source)
    if kind == "dataset":
        return open_dataset(source)
    if kind == "frame":
        return open_frame(source)
    return open_text(source, encoding, kind, live=live)


def _with_labels(
    rows: Iterator[Row | BadRow], n_texts: int, tags: list[object], origin: object
) -> Iterator[Row | BadRow]:
    """Add labels from a labels file to rows; their number is checked after the last row."""
    number = 0
    for row in rows:
        if isinstance(row, BadRow):
            yield row
        elif number < len(tags):
            name, cells = row
            yield name, (*cells[:n_texts], tags[number], *cells[n_texts:])
        number += 1
    check_length(tags, number, origin)


def _checked(opened: Opened, bad_rows: BadRows, left: _Left) -> Iterator[Checked]:
    """Yield rows with a text, and what becomes of the others.

    A row that cannot be read is told apart from one without text. If many cannot be read, the file
    or its options are wrong, and this is an error: all of them if rows are kept, and more than a
    twentieth if they are left out, because the others may be of another kind.
    """
    ends = accumulate([opened.n_texts, opened.n_labels, opened.n_ids])
    text_end, label_end, id_end = ends
    n_rows, unreadable = 0, 0
    first = ""
    problem: str | None
    for row in opened.rows:
        n_rows += 1
        if isinstance(row, BadRow):
            number = name = row.number
            cells: tuple[object, ...] = (None,) * (id_end + len(opened.kept_columns))
            clean, problem = "", row.reason
            unreadable += 1
            first = first or f"{opened.place(number, name)}: {problem}"
        else:
            number, cells = row
            name = number
            if opened.n_ids:
                name = "" if is_missing(cells[label_end]) else mended(label_name(cells[label_end]))
            clean, problem = _clean_text(cells[:text_end], left)
        if problem is not None:
            if bad_rows == "error":
                raise ReaderError(f"{opened.place(number, name)}: {problem}")
            if bad_rows == "skip":
                left.bad.append(f"{opened.unit} {number}: {_short(problem)}")
                continue
            problem = _short(problem)
        yield Checked(number, name, clean, cells[text_end:label_end], cells[id_end:], problem)
    most = max(_FEW, n_rows // 20) if bad_rows == "skip" else n_rows - 1
    if unreadable and unreadable > min(most, n_rows - 1):
        raise ReaderError(f"{first} {unreadable:,} of {n_rows:,} {opened.unit}s cannot be read.")


def _clean_text(cells: Sequence[object], left: _Left) -> tuple[str, str | None]:
    """Return the text of a row, and None or why there is none, with what to do."""
    words = _joined_text(cells)
    if words is None:
        kinds = {type(cell).__name__ for cell in cells} - {"str", "NoneType"}
        return "", (
            f"the text is of type {', '.join(sorted(kinds))}, expected a string. Choose another "
            "column with text='...' (--text on the command line)."
        )
    clean = mended(words)
    left.mended += clean != words
    if not clean.strip():
        return "", "no text. Fill it in, or leave such rows out with bad_rows='skip'."
    return clean, None


def _short(problem: str) -> str:
    """Return what is wrong without what to do."""
    return problem.partition(". ")[0].rstrip(".")


def _joined_text(cells: Sequence[object]) -> str | None:
    """Join the texts of a row with line breaks; return None if a cell is not a text.

    Empty cells are ignored.
    """
    parts = [cell for cell in cells if not is_missing(cell) and cell != ""]
    if len(parts) == 1:
        return parts[0] if isinstance(parts[0], str) else None
    texts = [part for part in parts if isinstance(part, str)]
    return "\n".join(texts) if len(texts) == len(parts) else None
