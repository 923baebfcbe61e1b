"""Tables in the terminal, cut to its width."""

import shutil
import unicodedata
from collections.abc import Sequence

_NARROWEST_COLUMN = 12


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> str:
    """Lay out rows under a head, cutting cells where the terminal is too narrow for them.

    Then no column takes more than two fifths of the width, and the last one what is left of it.

    Parameters
    ----------
    head, rows : sequences of str
        Titles, and as many cells a row.
    right : sequence of int
        Columns aligned to the right.
    """
    cells = [[_one_line(cell) for cell in row] for row in [head, *rows]]
    widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
    terminal, gaps = shutil.get_terminal_size((100, 24)).columns, 2 * (len(widths) - 1)
    if sum(widths) + gaps > terminal:
        most = max(2 * terminal // 5, _NARROWEST_COLUMN)
        widths[:-1] = [min(width, most) for width in widths[:-1]]
        left = terminal - sum(widths[:-1]) - gaps
        widths[-1] = min(widths[-1], max(left, _NARROWEST_COLUMN))
    lines = [_line(row, widths, right) for row in cells]
    return "\n".join([lines[0], "─" * max(map(_width, lines)), *lines[1:]])


def percent(part: float) -> str:
    """A part of one in whole per cent, or less than one."""
    return "<1 %" if 0 < part < 0.01 else f"{100 * part:.0f} %"


def _line(row: Sequence[str], widths: Sequence[int], right: Sequence[int]) -> str:
    parts = []
    for i, (cell, width) in enumerate(zip(row, widths, strict=True)):
        text = cell if _width(cell) <= width else _cut(cell, width)
        gap = " " * (width - _width(text))
        parts.append(gap + text if i in right else text + gap)
    return "  ".join(parts).rstrip()


def _one_line(text: str) -> str:
    """Without line breaks and control characters, which a terminal would obey."""
    kept = (" " if char.isspace() else char for char in text)
    return "".join(char for char in kept if unicodedata.category(char)[0] != "C")


def _width(text: str) -> int:
    """Columns that a text takes: two for wide characters, none for marks."""
    letters = [char for char in text if unicodedata.category(char) not in ("Mn", "Me")]
    return len(letters) + sum(unicodedata.east_asian_width(char) in "WF" for char in letters)


def _cut(text: str, width: int) -> str:
    while _width(text) > width - 1:
        text = text[:-1]
    return text.rstrip() + "…"
