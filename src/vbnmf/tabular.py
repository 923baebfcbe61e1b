"""Tables: rows with named cells, which functions return, commands print and data frames hold.

A ``Table`` is a list of dicts with the same keys, so JSON, pandas and Polars read it as it is.
``Findings`` are results by name, some of which are tables. Both show themselves as text and in
notebooks. All text is escaped there, because names of labels and terms come from documents.

Cells are texts, numbers, truth values, None, or lists of these. Narwhals makes the frames.
"""

import math
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.util import find_spec
from typing import Any, Self, SupportsIndex, overload

FRAMES = ("pandas", "polars", "pyarrow")
"""Packages of data frames, in the order in which they are looked for."""

_NARROWEST_COLUMN = 12
_LONGEST_CELL = 40  # characters of a cell in the text of a table
_MOST_ROWS, _MOST_ROWS_HTML = 20, 200  # that are shown; the table has all
_CELL = (
    "padding:2px 10px 2px 0;max-width:26em;overflow:hidden;text-overflow:ellipsis;"
    "white-space:nowrap;border-bottom:1px solid #8883"
)


class Table(list[dict[str, Any]]):
    """Rows with named cells.

    It is a list of dicts. A text as index returns a column, and a slice another table.

    Parameters
    ----------
    rows : iterable of mappings
        The rows, with the same keys in the same order.
    columns : sequence of str or None, default=None
        Names of the columns; None for those of the first row.

    Attributes
    ----------
    columns : list of str
        Names of the columns, also of a table without rows.

    Examples
    --------
    >>> from vbnmf.tabular import Table
    >>> table = Table([{"label": "tea", "documents": 2}, {"label": "coffee", "documents": 10}])
    >>> table
    label   documents
    ─────────────────
    tea             2
    coffee         10
    >>> table["documents"]
    [2, 10]
    >>> table.to_frame("pandas").shape
    (2, 2)
    """

    def __init__(
        self, rows: Iterable[Mapping[str, Any]] = (), columns: Sequence[str] | None = None
    ) -> None:
        super().__init__(dict(row) for row in rows)
        first = list(self[0]) if self else []
        self.columns = first if columns is None else list(columns)

    @overload
    def __getitem__(self, at: SupportsIndex) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, at: slice) -> "Table": ...

    @overload
    def __getitem__(self, at: str) -> list[Any]: ...

    def __getitem__(self, at: SupportsIndex | slice | str) -> Any:
        if isinstance(at, str):
            if at not in self.columns:
                raise KeyError(f"there is no column {at!r}. Columns: {', '.join(self.columns)}.")
            return [row[at] for row in self]
        if isinstance(at, slice):
            return Table(super().__getitem__(at), self.columns)
        return super().__getitem__(at)

    def to_frame(self, kind: str | None = None) -> Any:
        """Convert the table to a data frame.

        Parameters
        ----------
        kind : {"pandas", "polars", "pyarrow"} or None, default=None
            The package. None takes the first of these that the program has imported, or else the
            first that is installed. Without any of them, the table itself is returned.

        Returns
        -------
        pandas.DataFrame, polars.DataFrame, pyarrow.Table or Table
            A column of lists is one of lists there too.

        Examples
        --------
        >>> from vbnmf.tabular import Table
        >>> frame = Table([{"label": "tea", "terms": ["leaf", "pot"]}]).to_frame("polars")
        >>> frame.columns
        ['label', 'terms']
        """
        if kind is not None and kind not in FRAMES:
            raise ValueError(f"kind must be one of {', '.join(FRAMES)}, or None; got {kind!r}.")
        package = kind or _package_at_hand()
        if package is None:
            return self
        try:
            native = _imported(package)
        except ModuleNotFoundError as error:
            raise ImportError(
                f"to_frame({package!r}) needs {package}: pip install {package}. A table is also a "
                "list of dicts, which needs no package."
            ) from error
        import narwhals.stable.v1 as nw

        cells = {name: _of_one_type(self[name]) for name in self.columns}
        return nw.to_native(nw.from_dict(cells, native_namespace=native))

    def __repr__(self) -> str:
        rows = [[as_text(row[name]) for name in self.columns] for row in self[:_MOST_ROWS]]
        right = [i for i, name in enumerate(self.columns) if _is_numeric(self[name])]
        notes = []
        if len(self) > _MOST_ROWS:
            notes.append(f"{len(self) - _MOST_ROWS:,} more of {len(self):,} rows")
        widths = _widths_that_fit(self.columns, rows)
        n_shown = len(widths)
        if n_shown < len(self.columns):
            notes.append(f"more columns: {', '.join(self.columns[n_shown:])}")
        if not self.columns:
            return "no rows"
        shown = text_table(
            self.columns[:n_shown], [row[:n_shown] for row in rows], right=right,
            most=widths,
        )  # fmt: skip
        return shown + "".join(f"\n… {note}" for note in notes)

    def _repr_html_(self) -> str:
        """Return the table for notebooks."""
        right = {name for name in self.columns if _is_numeric(self[name])}

        def cells(tag: str, texts: Iterable[str]) -> str:
            return "".join(
                f'<{tag} style="{_CELL};text-align:{"right" if name in right else "left"}" '
                f'title="{escape(text)}">{escape(text)}</{tag}>'
                for name, text in zip(self.columns, texts, strict=True)
            )

        rows = [
            f"<tr>{cells('td', (as_text(row[name]) for name in self.columns))}</tr>"
            for row in self[:_MOST_ROWS_HTML]
        ]
        more = len(self) - len(rows)
        note = f"<p>{more:,} more of {len(self):,} rows</p>" if more > 0 else ""
        return (
            '<div style="overflow-x:auto"><table style="border-collapse:collapse"><thead><tr>'
            f"{cells('th', self.columns)}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
            f"{note}</div>"
        )


class Findings(dict[str, Any]):
    """Results by name: numbers, texts and tables.

    It is a dict. ``vbnmf COMMAND --json`` prints the same names and values.

    Examples
    --------
    >>> from vbnmf.tabular import Findings, Table
    >>> found = Findings(documents=3, labels=Table([{"label": "tea", "recall": 0.5}]))
    >>> found
    documents: 3
    <BLANKLINE>
    labels:
    label  recall
    ─────────────
    tea       0.5
    >>> found["labels"].to_frame("pandas").shape
    (1, 2)
    """

    @property
    def tables(self) -> dict[str, Table]:
        """The tables by name."""
        return {name: value for name, value in self.items() if isinstance(value, Table)}

    @property
    def facts(self) -> Table:
        """All that is no table, in rows of name and value."""
        rest = ((name, value) for name, value in self.items() if not isinstance(value, Table))
        return Table([{"name": n, "value": v} for n, v in rest], ["name", "value"])

    def __or__(self, other: Mapping[str, Any]) -> Self:  # type: ignore[override]
        return type(self)({**self, **other})

    def __repr__(self) -> str:
        lines = (f"{row['name']}: {one_line(as_text(row['value']))}" for row in self.facts)
        facts = "\n".join(_cut(line, _terminal()) for line in lines)
        blocks = [facts] if facts else []
        blocks += [f"{name}:\n{table!r}" for name, table in self.tables.items()]
        return "\n\n".join(blocks)

    def _repr_html_(self) -> str:
        """Return all results for notebooks."""
        blocks = [self.facts._repr_html_()]
        blocks += [
            f"<h4>{escape(name)}</h4>{table._repr_html_()}" for name, table in self.tables.items()
        ]
        return "".join(blocks)


def text_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = (),
    most: Sequence[int] | None = None,
) -> str:  # fmt: skip
    """Format rows under a header as plain text.

    Parameters
    ----------
    head : sequence of str of length n_columns
        Column titles.
    rows : sequence of sequences of str of length n_columns
        The cells.
    right : sequence of int
        Columns to align to the right.
    most : sequence of int of length n_columns, or None, default=None
        Largest width of each column; None fits the table into the terminal.
    """
    cells, widths = fitted_cells(head, rows, most)
    lines = [_line(row, widths, right) for row in cells]
    return "\n".join([lines[0], "─" * max(map(width, lines)), *lines[1:]])


def fitted_cells(
    head: Sequence[str], rows: Sequence[Sequence[str]], most: Sequence[int] | None = None
) -> tuple[list[list[str]], list[int]]:
    """Cut cells to the width of the terminal, or to ``most``; return them and their widths.

    In a terminal that is too narrow, no column gets more than two fifths of the width. The last
    column gets the remaining width.
    """
    cells = [[one_line(cell) for cell in row] for row in [head, *rows]]
    widths = [max(map(width, column)) for column in zip(*cells, strict=True)]
    terminal, gaps = _terminal(), 2 * (len(widths) - 1)
    if most is not None:
        widths = [min(one, limit) for one, limit in zip(widths, most, strict=True)]
    elif sum(widths) + gaps > terminal:
        largest = max(2 * terminal // 5, _NARROWEST_COLUMN)
        widths[:-1] = [min(one, largest) for one in widths[:-1]]
        left = terminal - sum(widths[:-1]) - gaps
        widths[-1] = min(widths[-1], max(left, _NARROWEST_COLUMN))
    cut = [[_cut(cell, room) for cell, room in zip(row, widths, strict=True)] for row in cells]
    return cut, widths


def percent(part: float) -> str:
    """Format a fraction in whole per cent; only nothing is 0 %, and only all is 100 %.

    Halves are rounded up, as on the page.
    """
    if 0 < part < 0.01:
        return "<1 %"
    return ">99 %" if 0.995 <= part < 1 else f"{math.floor(100 * part + 0.5)} %"


def rounded(p: float) -> float:
    """Round a probability for a file, to four decimals.

    Near 0 and 1 it keeps the first digit of the distance, so that only 0 and 1 become 0 and 1.
    """
    if 0 < p < 1e-4:
        return float(f"{p:.1g}")
    return 1 - float(f"{1 - p:.1g}") if 0 < 1 - p < 1e-4 else round(p, 4)


def as_text(cell: Any) -> str:
    """Return a cell as text: lists with commas, numbers with four digits, None as nothing."""
    if cell is None:
        return ""
    if isinstance(cell, list | tuple):
        return ", ".join(map(as_text, cell))
    if isinstance(cell, Mapping):
        return ", ".join(f"{name} {as_text(value)}" for name, value in cell.items())
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


def one_line(text: str) -> str:
    """Remove line breaks and control characters."""
    kept = (" " if char.isspace() else char for char in text)
    return "".join(char for char in kept if unicodedata.category(char)[0] != "C")


def width(text: str) -> int:
    """Return the display width of a text: two for wide characters, none for combining marks."""
    return sum(map(_char_width, text))


def _char_width(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _cut(text: str, room: int) -> str:
    """Return the text if there is room for it, else its longest beginning and an ellipsis."""
    used, end = 0, len(text)
    for at, char in enumerate(text):
        used += _char_width(char)
        if used > room - 1:
            end = min(end, at)
        if used > room:
            return text[:end].rstrip() + "…"
    return text


def _line(row: Sequence[str], widths: Sequence[int], right: Sequence[int]) -> str:
    parts = []
    for i, (cell, room) in enumerate(zip(row, widths, strict=True)):
        gap = " " * (room - width(cell))
        parts.append(gap + cell if i in right else cell + gap)
    return "  ".join(parts).rstrip()


def _terminal() -> int:
    return shutil.get_terminal_size((100, 24)).columns


def _widths_that_fit(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """Return the widths of the first columns, as many as fit into the terminal; at least one."""
    left, widths = _terminal(), list[int]()
    for column in zip(head, *rows, strict=True):
        wide = min(max(width(one_line(cell)) for cell in column), _LONGEST_CELL)
        if widths and wide > left:
            if left >= _NARROWEST_COLUMN:  # a column that is cut
                widths.append(left)
            break
        widths.append(wide)
        left -= wide + 2
    return widths


def _is_numeric(column: Sequence[Any]) -> bool:
    return all(isinstance(cell, int | float | None) for cell in column) and any(
        isinstance(cell, int | float) for cell in column
    )


def _imported(package: str) -> Any:
    """Import a package of frames."""
    if package == "pandas":
        import pandas

        return pandas
    if package == "polars":
        import polars

        return polars
    import pyarrow

    return pyarrow


def _package_at_hand() -> str | None:
    """Return the first package of frames that is imported, or else installed."""
    imported = [name for name in FRAMES if name in sys.modules]
    return next(iter(imported or [name for name in FRAMES if find_spec(name) is not None]), None)


def _of_one_type(column: list[Any]) -> list[Any]:
    """Return a column whose cells have one type; texts if they differ, as in "auto" and 30.0."""
    kinds = {type(cell) for cell in column if cell is not None}
    if len(kinds) <= 1:
        return column
    if kinds == {int, float}:
        return [None if cell is None else float(cell) for cell in column]
    return [None if cell is None else as_text(cell) for cell in column]
