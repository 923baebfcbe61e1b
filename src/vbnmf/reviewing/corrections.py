"""Write decisions about labels into a copy of the file, in which exactly the changed rows differ.

Decisions are a CSV file with a row for each: the suspects of ``vbnmf review --out``, or the file
that the page exports. Only the label cells of changed rows are written anew. All other bytes are
copied. Of JSON lines, changed lines are written anew as a whole.

Cells that a spreadsheet would take as formulas have an apostrophe before them
(``vbnmf.data.spreadsheets``), which is removed when decisions are read.
"""

import csv
import gzip
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vbnmf.data.documents import ReaderError
from vbnmf.data.labels import label_name
from vbnmf.data.readers import find_format
from vbnmf.data.spreadsheets import unguarded
from vbnmf.data.streams import open_bytes
from vbnmf.data.tables import delimiter_of, open_text
from vbnmf.reviewing.labelerrors import MISSING, SUPERFLUOUS, WRONG

CHANGE, KEEP, SKIP = "change", "keep", "skip"
"""Decisions."""

_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass
class Change:
    """New labels of a document.

    Attributes
    ----------
    label : str or None
        Its only label from now on; None if labels are added and removed.
    given : str or None
        The label that it had when the decision was made, if known.
    added, removed : list of str
        Labels to add and to remove, if documents may have several.
    """

    label: str | None = None
    given: str | None = None
    added: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)


def read_decisions(path: str) -> dict[str, Change]:
    """Read the decisions to change a label, by the id of the document.

    The columns are ``id``, and any of ``decision`` (change, keep, skip or empty), ``label`` (the
    new label; empty for the suggested one), ``kind``, ``given`` and ``suggested``. Without a column
    ``decision``, every row with a ``label`` is a change.

    Raises
    ------
    ReaderError
        The file is not such a table, or two rows contradict each other.
    """
    table = open_text(Path(path), "utf-8", "tsv" if path.endswith(".tsv") else "csv")
    columns = [name.casefold() for name in table.columns]
    if "id" not in columns or not {"decision", "label"} & set(columns):
        raise ReaderError(
            f"{path}: expected the columns 'id' and 'decision' or 'label'; found "
            f"{', '.join(map(repr, table.columns))}. Use the file of `vbnmf review --out` or of "
            "the page."
        )
    changes: dict[str, Change] = {}
    for number, cells in table.all_rows(range(len(columns))):
        row = {n: unguarded(str(cell)).strip() for n, cell in zip(columns, cells, strict=True)}
        decision = row.get("decision", CHANGE if row.get("label") else "").casefold()
        if decision not in (CHANGE, KEEP, SKIP, ""):
            raise ReaderError(
                f"{path}, line {number}: the decision is {decision[:60]!r}; expected {CHANGE}, "
                f"{KEEP}, {SKIP} or nothing."
            )
        if decision == CHANGE:
            _add(changes, row, f"{path}, line {number}")
    return changes


def _add(changes: dict[str, Change], row: Mapping[str, str], place: str) -> None:
    """Add the change of a row to those of the same document."""
    kind, name = row.get("kind") or WRONG, row["id"]
    change = changes.setdefault(name, Change())
    if kind == MISSING:
        change.added.append(row.get("suggested") or row.get("label", ""))
    elif kind == SUPERFLUOUS:
        change.removed.append(row.get("given", ""))
    else:
        label = row.get("label") or row.get("suggested", "")
        if change.label not in (None, label):
            raise ReaderError(
                f"{place}: the document {name[:60]!r} gets two labels, {change.label!r} and "
                f"{label!r}. Decide for one."
            )
        change.label, change.given = label, row.get("given") or None
    if "" in (change.label, *change.added, *change.removed):
        raise ReaderError(f"{place}: the decision is to change, but there is no label.")


def apply_decisions(
    source: str,
    target: Path,
    changes: Mapping[str, Change],
    *,
    label: str,
    id_column: str | None = None,
    separator: str | None = None,
    encoding: str = "utf-8",
    file_format: str | None = None,
    compress: bool = False,
) -> int:
    """Write a copy of a file with changed labels.

    Parameters
    ----------
    source : str
        A CSV, TSV or JSON lines file, also gzipped.
    target : Path
        The file to write.
    changes : mapping of str to Change
        The changes, by the id of the document.
    label : str
        The label column.
    id_column : str or None
        The column of ids; None for the numbers of lines.
    separator : str or None
        Separator of several labels in a cell.
    encoding : str
        The encoding of the file.
    file_format : str or None
        Its format; None for that of its ending.
    compress : bool
        Whether to write a gzip file.

    Returns
    -------
    int
        Number of rows that differ.

    Raises
    ------
    ReaderError
        An id is not in the file or is there twice, or the document has another label than when the
        decision was made.
    """
    kind = find_format(source, file_format)
    if kind not in ("csv", "tsv", "jsonl"):
        raise ReaderError(
            f"{source}: labels can be changed in CSV, TSV and JSON lines files only, and this is "
            f"of the format {kind}. Convert it first."
        )
    with open_bytes(source) as stream:
        raw = stream.read()
    text = raw.decode(encoding)
    if text.encode(encoding) != raw:
        raise ReaderError(
            f"{source}: it cannot be written again in the encoding {encoding} without changing "
            "other bytes. Convert it to UTF-8 first."
        )
    if kind == "jsonl":
        cells: Iterator[_Cell] = _json_cells(text, label, id_column)
    else:
        cells = _table_cells(text, kind, label, id_column, source)
    pieces, at, seen, n_changed = [], 0, set(), 0
    for cell in cells:
        change = changes.get(cell.name)
        if change is None:
            continue
        if cell.name in seen:
            raise ReaderError(
                f"{source}: two rows have the id {cell.name[:60]!r}, which a decision names. "
                "Choose another id column with --id."
            )
        seen.add(cell.name)
        new = _changed(cell, change, separator, source)
        if new != cell.value:
            pieces += [text[at : cell.begin], cell.written(new)]
            at = cell.end
            n_changed += 1
    missing = [name for name in changes if name not in seen]
    if missing:
        raise ReaderError(
            f"{source}: no row has the id {missing[0][:60]!r}, which a decision names. Pass the "
            "same file and the same --id as when the decisions were made."
        )
    written = "".join([*pieces, text[at:]]).encode(encoding)
    target.write_bytes(gzip.compress(written, mtime=0) if compress else written)
    return n_changed


@dataclass(frozen=True)
class _Cell:
    """A label cell: the id of its row, its value, and where it is in the text."""

    name: str
    value: object
    begin: int
    end: int
    delimiter: str | None = None
    quoted: bool = False
    item: Mapping[str, object] | None = None
    label: str = ""

    def written(self, new: object) -> str:
        """Return what is written in place of the cell."""
        if self.item is not None:
            return json.dumps({**self.item, self.label: new}, ensure_ascii=False)
        text, delimiter = str(new), self.delimiter or ","
        if self.quoted or text.strip() != text or any(c in text for c in f'{delimiter}"\r\n'):
            return '"' + text.replace('"', '""') + '"'
        return text


def _changed(cell: _Cell, change: Change, separator: str | None, source: str) -> object:
    """Return the new value of a label cell."""
    listed = isinstance(cell.value, list)
    if change.label is not None:
        if listed or (separator and separator in str(cell.value)):
            raise ReaderError(
                f"{source}: the document {cell.name[:60]!r} has several labels, so one of them "
                "cannot be replaced by one label. Use decisions with a kind."
            )
        now = "" if cell.value is None else str(cell.value).strip()
        if change.given is not None and now not in (change.given, change.label):
            raise ReaderError(
                f"{source}: the document {cell.name[:60]!r} has the label {now[:60]!r}, but the "
                f"decision was made for {change.given[:60]!r}. Review the file again."
            )
        return cell.value if now == change.label else change.label
    if not listed and separator is None:
        raise ReaderError(
            f"{source}: labels are added and removed, but the label column has one label in each "
            "cell. Set the separator with --label-separator."
        )
    parts: Sequence[object]
    parts = cell.value if isinstance(cell.value, list) else str(cell.value or "").split(separator)
    kept = [part for part in parts if str(part).strip() not in change.removed and str(part).strip()]
    there = {str(part).strip() for part in kept}
    kept = [*kept, *(label for label in change.added if label not in there)]
    if kept == [part for part in parts if str(part).strip()]:
        return cell.value
    return kept if listed else str(separator).join(map(str, kept))


def _json_cells(text: str, label: str, id_column: str | None) -> Iterator[_Cell]:
    """Yield the lines of JSON, each as one cell."""
    begin = 0
    for number, line in enumerate(text.split("\n"), 1):
        end = begin + len(line)
        if line.strip():
            item = json.loads(line.lstrip("\ufeff"))
            name = str(number) if id_column is None else label_name(item.get(id_column, ""))
            inside = begin + (len(line) - len(line.lstrip(" \t\ufeff")))
            stop = begin + len(line.rstrip())
            yield _Cell(name, item.get(label), inside, stop, item=item, label=label)
        begin = end + 1


def _table_cells(
    text: str, kind: str, label: str, id_column: str | None, source: str
) -> Iterator[_Cell]:
    """Yield the label cells of a CSV or TSV file."""
    start = 1 if text.startswith("\ufeff") else 0
    first = _LINE_END.search(text, start)
    delimiter, skipped = delimiter_of(text[start : first.end() if first else len(text)], kind)
    line = 1
    if skipped and first is not None:
        start, line = first.end(), 2
    records = _records(text, start, delimiter)
    header = next(records, [])
    names = [_value(text[a:b]).strip() for a, b in header]
    places = {}
    for role, name in (("label", label), ("id", id_column)):
        if name is not None:
            same = [n for n in names if n == name] or [
                n for n in names if n.casefold() == name.casefold()
            ]
            if not same:
                raise ReaderError(f"{source}: there is no {role} column {name!r}.")
            places[role] = names.index(same[0])
    at = start
    for record in records:
        begin = record[0][0]
        line += len(_LINE_END.findall(text, at, begin))
        at = begin
        if len(record) == 1 and record[0][0] == record[0][1]:
            continue  # an empty line
        if len(record) != len(names):
            raise ReaderError(f"{source}, line {line}: {len(record)} fields, not {len(names)}.")
        name = str(line)
        if id_column is not None:
            a, b = record[places["id"]]
            name = label_name(_value(text[a:b]))
        a, b = record[places["label"]]
        raw = text[a:b]
        yield _Cell(name, _value(raw), a, b, delimiter, raw.startswith('"'))


def _records(text: str, start: int, delimiter: str) -> Iterator[list[tuple[int, int]]]:
    """Yield the places of the fields of each record."""
    d = re.escape(delimiter)
    fields = re.compile(rf'("(?:[^"]|"")*"|[^{d}\r\n]*)({d}|\r\n|\r|\n|\Z)')
    record: list[tuple[int, int]] = []
    at = start
    while at < len(text):
        found = fields.match(text, at)
        if found is None:
            raise ReaderError(f"broken quoting at character {at}.")
        record.append(found.span(1))
        at = found.end()
        if found[2] != delimiter:
            yield record
            record = []
    if record:
        yield [*record, (at, at)]


def _value(raw: str) -> str:
    """Return the value of a field of a table."""
    return next(csv.reader([raw]), [""])[0] if raw.startswith('"') else raw
