"""Format numbers, and tables that are cut to the width of the terminal.

On a terminal, tables have styles of rich. Elsewhere they are plain text.
"""

import io
import os
import shutil
import sys
import unicodedata
from collections.abc import Sequence
from typing import Literal

_NARROWEST_COLUMN = 12


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> str:
    """Format rows under a header, and cut cells if the terminal is too narrow.

    In a terminal that is too narrow, no column gets more than two fifths of the width. The last
    column gets the remaining width.

    Parameters
    ----------
    head : sequence of str of length n_columns
        Column titles.
    rows : sequence of sequences of str of length n_columns
        The cells.
    right : sequence of int
        Columns to align to the right.
    """
    cells = [[one_line(cell) for cell in row] for row in [head, *rows]]
    widths = [max(map(width, column)) for column in zip(*cells, strict=True)]
    terminal, gaps = shutil.get_terminal_size((100, 24)).columns, 2 * (len(widths) - 1)
    if sum(widths) + gaps > terminal:
        most = max(2 * terminal // 5, _NARROWEST_COLUMN)
        widths[:-1] = [min(one, most) for one in widths[:-1]]
        left = terminal - sum(widths[:-1]) - gaps
        widths[-1] = min(widths[-1], max(left, _NARROWEST_COLUMN))
    cells = [[_cut(cell, room) for cell, room in zip(row, widths, strict=True)] for row in cells]
    if is_terminal():
        return _rich_table(cells, widths, right)
    lines = [_line(row, widths, right) for row in cells]
    return "\n".join([lines[0], "─" * max(map(width, lines)), *lines[1:]])


def is_terminal() -> bool:
    """Return whether results go to a terminal that can show styles."""
    return sys.stdout.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


def _rich_table(cells: list[list[str]], widths: Sequence[int], right: Sequence[int]) -> str:
    """Format cells, of which the first are the header, with columns of these widths."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = Table(
        box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), border_style="dim"
    )
    for i, (title, room) in enumerate(zip(cells[0], widths, strict=True)):
        side: Literal["left", "right"] = "right" if i in right else "left"
        shown.add_column(
            Text(title), justify=side, width=room, no_wrap=True, overflow="ellipsis"
        )  # fmt: skip
    for row in cells[1:]:
        shown.add_row(*map(Text, row))
    console = Console(
        file=io.StringIO(),
        force_terminal=True,
        color_system="standard",
        legacy_windows=False,
        width=sum(widths) + 2 * len(widths),
    )
    with console.capture() as captured:
        console.print(shown)
    return captured.get().rstrip("\n")


def percent(part: float) -> str:
    """Format a fraction in whole per cent; only nothing is 0 %, and only all is 100 %."""
    if 0 < part < 0.01:
        return "<1 %"
    return ">99 %" if 0.995 <= part < 1 else f"{100 * part:.0f} %"


def fraction(p: float, digits: int = 2) -> str:
    """Format a number with some decimals; of those from 0 to 1, only 0 and 1 read as 0 and 1."""
    step = 10.0**-digits
    if 0 < p < step / 2:
        return f"<{step:.{digits}f}"
    # half of the last decimal is rounded to an even one, so that 1 - step / 2 may read as 1
    is_nearly_one = p < 1 and f"{p:.{digits}f}" == f"{1:.{digits}f}"
    return f">{1 - step:.{digits}f}" if is_nearly_one else f"{p:.{digits}f}"


def rounded(p: float) -> float:
    """Round a probability for a file, to four decimals.

    Near 0 and 1 it keeps the first digit of the distance, so that only 0 and 1 become 0 and 1.
    """
    if 0 < p < 1e-4:
        return float(f"{p:.1g}")
    return 1 - float(f"{1 - p:.1g}") if 0 < 1 - p < 1e-4 else round(p, 4)


def _line(row: Sequence[str], widths: Sequence[int], right: Sequence[int]) -> str:
    parts = []
    for i, (cell, room) in enumerate(zip(row, widths, strict=True)):
        gap = " " * (room - width(cell))
        parts.append(gap + cell if i in right else cell + gap)
    return "  ".join(parts).rstrip()


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
