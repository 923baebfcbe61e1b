"""Open tables whose rows are documents: CSV, TSV, JSON lines, data frames, datasets.

Each function reads the names of columns, and yields the rows of chosen columns.
:mod:`vbnmf.data.rows` chooses the columns and checks the rows. Parquet and Arrow are in
:mod:`vbnmf.data.arrow`.
"""

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any

import narwhals as nw

from vbnmf.data.documents import ReaderError, listed
from vbnmf.data.streams import MAX_DOCUMENT, origin_of, read_lines

# Id of a document in its source, and the raw cells of the requested columns.
Row = tuple[str, tuple[object, ...]]
# Number of JSON lines that are read for the names of columns, since any line may lack some.
PEEKED = 1000
# The line that sets the delimiter for Excel, which Excel writes itself in some countries.
_DELIMITER_LINE = re.compile(r"\s*\"?sep=(?P<delimiter>[^\w\s\"]|\t)\"?[\r\n]*", re.IGNORECASE)


@dataclass(frozen=True)
class Table:
    """Names of columns, and a function that reads the rows of given columns once."""

    origin: str
    columns: list[str]
    rows: Callable[[Sequence[int]], Iterator[Row]]
    unit: str = "row"
    notes: list[str] = field(default_factory=list)
    has_header: bool = True  # JSON lines without any line have none


def open_text(source: str | Path, encoding: str, kind: str) -> Table:
    """Open a ``csv``, ``tsv`` or ``jsonl`` file. ``stdin`` is CSV or JSON by its beginning."""
    origin = origin_of(source)
    lines = read_lines(source, encoding)
    first = next(lines, "")
    lines = chain([first], lines)
    notes = []
    if kind == "stdin":
        kind = "jsonl" if first.lstrip().startswith("{") else "csv"
        notes.append(f"Standard input is read as {kind.upper()} because of its first character.")
    if kind == "jsonl":
        return _open_jsonl(lines, origin, notes)
    delimiter, declared = delimiter_of(first, kind)
    if declared:
        next(lines)
        notes.append(f"Columns were split at {delimiter!r}, as the first line says.")
        return _open_delimited(lines, origin, notes, delimiter, skipped=1)
    if kind == "csv" and delimiter != ",":
        name = "semicolon" if delimiter == ";" else "tab"
        notes.append(
            f"Columns were split at the {name}, the commonest delimiter in the first line."
        )
    return _open_delimited(lines, origin, notes, delimiter)


def delimiter_of(first: str, kind: str) -> tuple[str, bool]:
    """Return the delimiter of a ``csv`` or ``tsv`` file, and whether the first line declares it."""
    if declared := _DELIMITER_LINE.fullmatch(first):
        return declared["delimiter"], True
    return "\t" if kind == "tsv" else max(",;\t", key=first.count), False


def _open_delimited(
    lines: Iterator[str], origin: str, notes: list[str], delimiter: str, skipped: int = 0
) -> Table:
    records = _records(lines, delimiter, origin, skipped)
    _, header = next(records, (1, []))
    if not header:
        raise ReaderError(f"{origin}: empty; expected a line with the names of the columns.")

    def rows(chosen: Sequence[int]) -> Iterator[Row]:
        for number, record in records:
            if len(record) != len(header):
                fields = "1 field" if len(record) == 1 else f"{len(record)} fields"
                raise ReaderError(
                    f"{origin}, line {number}: {fields}, but the first line names "
                    f"{len(header)} columns. Put quotes around a text that contains the delimiter."
                )
            yield str(number), tuple(record[i] for i in chosen)

    return Table(origin, [name.strip() for name in header], rows, "line", notes)


def _records(
    lines: Iterator[str], delimiter: str, origin: str, skipped: int
) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of the first line and the fields of each record that is not empty.

    `skipped` is the number of lines before `lines`.
    """
    # The limit is global to the process, so it is never decreased.
    if csv.field_size_limit() < MAX_DOCUMENT:
        csv.field_size_limit(MAX_DOCUMENT)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        start = skipped + reader.line_num + 1
        try:
            record = next(reader, None)
        except csv.Error as error:
            raise ReaderError(
                f"{origin}, line {start}: broken quoting: {error} (seen at line "
                f"{skipped + reader.line_num}). A quoted field ends with a quote, and a quote "
                "inside it is written twice."
            ) from error
        if record is None:
            return
        if record:
            yield start, record


def _open_jsonl(lines: Iterator[str], origin: str, notes: list[str]) -> Table:
    """Open JSON lines with one object per line, whose keys are the columns."""
    objects = _objects(lines, origin)
    head = list(islice(objects, PEEKED))
    columns = list(dict.fromkeys(key for _, item in head for key in item))

    def rows(chosen: Sequence[int]) -> Iterator[Row]:
        for number, item in chain(head, objects):
            yield str(number), tuple(item.get(columns[i]) for i in chosen)

    return Table(origin, columns, rows, "line", notes, has_header=bool(head))


def _objects(lines: Iterator[str], origin: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            item = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ReaderError(
                f"{origin}, line {number}: not JSON: {error}. Expected one complete object per "
                "line."
            ) from error
        if not isinstance(item, dict):
            raise ReaderError(
                f"{origin}, line {number}: a JSON {type(item).__name__}, expected an object such "
                'as {"text": "...", "label": "..."} on every line.'
            )
        yield number, item


def is_frame(source: object) -> bool:
    """Return whether narwhals recognises a data frame: pandas, Polars or PyArrow, also lazy."""
    return isinstance(_native(source), nw.DataFrame | nw.LazyFrame)


def open_frame(frame: object) -> Table:
    """Open a data frame."""
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

    return Table(origin, [str(name) for name in table.columns], rows)


def _native(source: object) -> Any:
    try:
        return nw.from_native(source, pass_through=True)
    except ValueError as error:  # two columns of one name
        raise ReaderError(f"The {type(source).__name__} cannot be read: {error}") from error


def open_dataset(dataset: Any) -> Table:
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

    return Table(origin, columns, rows)


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
