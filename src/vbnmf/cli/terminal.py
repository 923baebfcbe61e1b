"""Format numbers, and tables that are cut to the width of the terminal.

On a terminal, tables have styles of rich. Elsewhere they are plain text.
"""

import io
import os
import sys
from collections.abc import Sequence
from typing import Literal

from vbnmf.tabular import fitted_cells, one_line, percent, rounded, text_table, width

__all__ = ["fraction", "is_terminal", "one_line", "percent", "rounded", "table", "width"]


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
    if not is_terminal():
        return text_table(head, rows, right=right)
    return _rich_table(*fitted_cells(head, rows), right)


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


def fraction(p: float, digits: int = 2) -> str:
    """Format a number with some decimals; of those from 0 to 1, only 0 and 1 read as 0 and 1."""
    step = 10.0**-digits
    if 0 < p < step / 2:
        return f"<{step:.{digits}f}"
    # half of the last decimal is rounded to an even one, so that 1 - step / 2 may read as 1
    is_nearly_one = p < 1 and f"{p:.{digits}f}" == f"{1:.{digits}f}"
    return f">{1 - step:.{digits}f}" if is_nearly_one else f"{p:.{digits}f}"
