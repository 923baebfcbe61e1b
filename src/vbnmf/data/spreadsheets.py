"""Guard the cells of CSV files that a spreadsheet would take as formulas.

A spreadsheet takes a cell that begins with =, +, -, @, a tab or a carriage return as a formula, and
a formula may run commands or send cells away. Such cells are written with an apostrophe before
them, unless they are numbers. To undo it, remove the first apostrophe of each cell that begins with
apostrophes and one of these characters.
"""

import re

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_GUARDED = re.compile(r"'+[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def guarded(cell: str) -> str:
    """Write an apostrophe before a cell that a spreadsheet would take as a formula.

    Examples
    --------
    >>> guarded("=1+1"), guarded("-1.5"), guarded("tea"), guarded("'=1")
    ("'=1+1", '-1.5', 'tea', "''=1")
    """
    return f"'{cell}" if _FORMULA.match(cell) and not _NUMBER.fullmatch(cell) else cell


def unguarded(cell: str) -> str:
    """Remove the apostrophe of ``guarded``."""
    return cell[1:] if _GUARDED.match(cell) else cell
