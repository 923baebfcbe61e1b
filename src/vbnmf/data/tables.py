"""Open tables whose rows are documents: CSV, TSV, JSON lines, data frames, datasets.

Each function reads the names of columns, and yields the rows of chosen columns.
:mod:`vbnmf.data.rows` chooses the columns and checks the rows. Parquet and Arrow are in
:mod:`vbnmf.data.arrow`.
"""

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from vbnmf.data.documents import ReaderError, listed
from vbnmf.data.streams import MAX_DOCUMENT, LinesAhead, origin_of, problem_of_line, read_lines

# Id of a document in its source, and the raw cells of the requested columns.
Row = tuple[str, tuple[object, ...]]
_OF_AN_ARRAY = "To write an array so: jq -c '.[]' FILE.json > FILE.jsonl."


@dataclass(frozen=True)
class BadRow:
    """A row that cannot be read: its id in its source, and why, with what to do."""

    number: str
    reason: str


# Number of JSON lines that are read for the names of columns, since any line may lack some.
PEEKED = 1000
# The line that sets the delimiter for Excel, which Excel writes itself in some countries.
_DELIMITER_LINE = re.compile(r"\s*\"?sep=(?P<delimiter>[^\w\s\"]|\t)\"?[\r\n]*", re.IGNORECASE)


@dataclass(frozen=True)
class SourceTable:
    """Names of columns, and a function that reads the rows of given columns once."""

    origin: str
    columns: list[str]
    rows: Callable[[Sequence[int]], Iterator[Row | BadRow]]
    unit: str = "row"
    notes: list[str] = field(default_factory=list)
    has_header: bool = True  # JSON lines without any line have none
    has_next: Callable[[], bool] | None = None  # whether more has arrived, if rows arrive live

    def all_rows(self, chosen: Sequence[int]) -> Iterator[Row]:
        """Yield rows of which none may be missing. One that cannot be read is an error."""
        for row in self.rows(chosen):
            if isinstance(row, BadRow):
                raise ReaderError(f"{self.origin}, {self.unit} {row.number}: {row.reason}")
            yield row


def open_text(source: str | Path, encoding: str, kind: str, *, live: bool = False) -> SourceTable:
    """Open a ``csv``, ``tsv`` or ``jsonl`` file. ``stdin`` is CSV or JSON by its beginning.

    If it is `live`, rows are read as they arrive, and the first JSON object has all keys.
    """
    origin = origin_of(source)
    unchecked = read_lines(source, encoding, checked=False)
    ahead = LinesAhead(unchecked) if live else None
    lines = _Lines(ahead or unchecked, encoding)
    first = lines.first()
    if problem := problem_of_line(first, encoding, 1):
        raise ReaderError(f"{origin}, line 1: {problem}")
    notes = []
    if kind == "stdin":
        kind = "jsonl" if first.lstrip().startswith("{") else "csv"
        notes.append(f"Standard input is read as {kind.upper()} because of its first character.")
    has_next = ahead.has_next if ahead else None
    if kind == "jsonl":
        return replace(_open_jsonl(lines, origin, notes, live=live), has_next=has_next)
    delimiter, declared = delimiter_of(first, kind)
    if declared:
        next(lines)
        lines.end_record()
        notes.append(f"Columns were split at {delimiter!r}, as the first line says.")
        return replace(_open_delimited(lines, origin, notes, delimiter), has_next=has_next)
    if kind == "csv" and delimiter != ",":
        name = "semicolon" if delimiter == ";" else "tab"
        notes.append(
            f"Columns were split at the {name}, the commonest delimiter in the first line."
        )
    return replace(_open_delimited(lines, origin, notes, delimiter), has_next=has_next)


def delimiter_of(first: str, kind: str) -> tuple[str, bool]:
    """Return the delimiter of a ``csv`` or ``tsv`` file, and whether the first line declares it."""
    if declared := _DELIMITER_LINE.fullmatch(first):
        return declared["delimiter"], True
    return "\t" if kind == "tsv" else max(",;\t", key=first.count), False


class _Lines(Iterator[str]):
    """Lines of a file that know the lines of the record in work, and whether they are texts.

    Attributes
    ----------
    number : int
        Number of lines that were read.
    begin : int
        Number of the first line of the record in work.
    problem : str or None
        Why a line of the record in work is not a text.
    """

    def __init__(self, lines: Iterator[str], encoding: str) -> None:
        self._lines, self._encoding = lines, encoding
        self._record: list[str] = []
        self.number, self.begin = 0, 1
        self.problem: str | None = None

    def first(self) -> str:
        """Return the first line, which is still to be read; "" if there is none."""
        line = next(self._lines, "")
        self._lines = chain([line] if line else [], self._lines)
        return line

    def __next__(self) -> str:
        line = next(self._lines)
        self.number += 1
        self._record.append(line)
        self.problem = self.problem or problem_of_line(line, self._encoding, self.number)
        return line

    def end_record(self) -> None:
        """Begin the next record after the last line that was read."""
        self._record, self.begin, self.problem = [], self.number + 1, None

    def again(self) -> None:
        """Begin the next record at the second line of the record in work."""
        self._lines = chain(self._record[1:], self._lines)
        self.number -= len(self._record) - 1
        self.end_record()


def _open_delimited(lines: _Lines, origin: str, notes: list[str], delimiter: str) -> SourceTable:
    header = next(_records(lines, delimiter), None)
    if isinstance(header, BadRow):
        raise ReaderError(f"{origin}, line {header.number}: {header.reason}")
    if header is None:
        raise ReaderError(f"{origin}: empty; expected a line with the names of the columns.")
    columns = [str(name).strip() for name in header[1]]

    def rows(chosen: Sequence[int]) -> Iterator[Row | BadRow]:
        for record in _records(lines, delimiter, len(columns)):
            if isinstance(record, BadRow):
                yield record
            else:
                number, cells = record
                yield number, tuple(cells[i] for i in chosen)

    return SourceTable(origin, columns, rows, "line", notes)


def _records(lines: _Lines, delimiter: str, n_fields: int | None = None) -> Iterator[Row | BadRow]:
    """Yield the number of the first line and the fields of each record that is not empty.

    A line with a stray quote would take the lines that follow into its last field. So after a bad
    record the next one begins at the second line, and not after the last.
    """
    # The limit is global to the process, so it is never decreased.
    if csv.field_size_limit() < MAX_DOCUMENT:
        csv.field_size_limit(MAX_DOCUMENT)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        reason = None
        try:
            record = next(reader, None)
        except csv.Error as error:
            record = []
            reason = (
                f"broken quoting: {error} (seen at line {lines.number}). A quoted field ends with "
                "a quote, and a quote inside it is written twice."
            )
        if record is None:
            return
        number = str(lines.begin)
        if reason is None and record and n_fields not in (None, len(record)):
            fields = "1 field" if len(record) == 1 else f"{len(record)} fields"
            reason = (
                f"{fields}, but the first line names {n_fields} columns. Put quotes around a text "
                "that contains the delimiter."
            )
        reason = lines.problem or reason
        if reason is not None:
            lines.again()
            reader = csv.reader(lines, delimiter=delimiter, strict=True)
            yield BadRow(number, reason)
            continue
        lines.end_record()
        if record:
            yield number, tuple(record)


def _open_jsonl(lines: _Lines, origin: str, notes: list[str], *, live: bool) -> SourceTable:
    """Open JSON lines with one object per line, whose keys are the columns."""
    objects = _objects(lines)
    head = []
    for number, item in islice(objects, PEEKED):
        head.append((number, item))
        if live and isinstance(item, dict):
            break
    first = head[0][1] if head else None
    if isinstance(first, BadRow) and all(isinstance(item, BadRow) for _, item in head):
        raise ReaderError(f"{origin}, line {first.number}: {first.reason}")
    columns = list(dict.fromkeys(key for _, item in head if isinstance(item, dict) for key in item))

    def rows(chosen: Sequence[int]) -> Iterator[Row | BadRow]:
        for number, item in chain(head, objects):
            if isinstance(item, BadRow):
                yield item
            else:
                yield number, tuple(item.get(columns[i]) for i in chosen)

    return SourceTable(origin, columns, rows, "line", notes, has_header=bool(head))


def _objects(lines: _Lines) -> Iterator[tuple[str, dict[str, Any] | BadRow]]:
    for line in lines:
        number, problem = str(lines.number), lines.problem
        lines.end_record()
        if problem is None:
            if not line.strip():
                continue
            try:
                item = json.loads(line)
            except (ValueError, RecursionError) as error:
                problem = f"not JSON: {error}. Expected one complete object per line."
                if line.lstrip().startswith("["):
                    problem = f"{problem} {_OF_AN_ARRAY}"
            else:
                if isinstance(item, dict):
                    yield number, item
                    continue
                problem = (
                    f"a JSON {type(item).__name__}, expected an object such as "
                    '{"text": "...", "label": "..."} on every line.'
                )
                if isinstance(item, list):
                    problem = f"{problem} {_OF_AN_ARRAY}"
        yield number, BadRow(number, problem)


def is_frame(source: object, *, lazy: bool = True) -> bool:
    """Return whether narwhals recognises a data frame: pandas, Polars or PyArrow, also lazy."""
    import narwhals as nw  # slow to import, and files do not need it

    native = _native(source)
    return isinstance(native, nw.DataFrame) or (lazy and isinstance(native, nw.LazyFrame))


def open_frame(frame: object) -> SourceTable:
    """Open a data frame."""
    import narwhals as nw

    origin = origin_of(frame)
    native = _native(frame)
    table: nw.DataFrame[Any] = native.collect() if isinstance(native, nw.LazyFrame) else native

    def values(column: int) -> list[object]:
        series = table.get_column(table.columns[column])
        gaps = series.is_null().to_list()
        return [None if gap else v for v, gap in zip(series.to_list(), gaps, strict=True)]

    def rows(chosen: Sequence[int]) -> Iterator[Row]:
        numbers = map(str, range(1, len(table) + 1))
        return zip(numbers, zip(*map(values, chosen), strict=True), strict=True)

    return SourceTable(origin, [str(name) for name in table.columns], rows)


def _native(source: object) -> Any:
    import narwhals as nw

    try:
        return nw.from_native(source, pass_through=True)
    except ValueError as error:  # two columns of one name
        raise ReaderError(f"The {type(source).__name__} cannot be read: {error}") from error


def open_dataset(dataset: Any) -> SourceTable:
    """Open a Hugging Face dataset, streamed or not, by its ``column_names`` and ``features``."""
    origin = origin_of(dataset)
    if isinstance(dataset, Mapping):
        raise ReaderError(f"{origin} has several splits: choose one of {listed(dataset)}.")
    # A streamed dataset may not know its columns before its first row.
    columns = list(dataset.column_names or next(iter(dataset), {}))

    def rows(chosen: Sequence[int]) -> Iterator[Row]:
        features = dataset.features or {}
        names = [columns[i] for i in chosen]
        # Images or sounds in other columns need not be decoded.
        for number, item in enumerate(dataset.select_columns(list(dict.fromkeys(names))), 1):
            yield (
                str(number),
                tuple(_class_names(item.get(name), features.get(name)) for name in names),
            )

    return SourceTable(origin, columns, rows)


def _class_names(value: object, feature: Any) -> object:
    """Convert class labels, which are numbers, to their names; -1 is an unknown label."""
    if isinstance(value, list):
        # A list of class labels is a feature around theirs, or a list that holds it.
        inner = feature[0] if isinstance(feature, list) else getattr(feature, "feature", None)
        return [_class_names(item, inner) for item in value]
    names = getattr(feature, "names", None)
    if names is None or not isinstance(value, int):
        return value
    return names[value] if 0 <= value < len(names) else None
