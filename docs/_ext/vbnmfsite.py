"""What this site adds to Sphinx."""

from typing import Any

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx


def own_members(_app: Any, what: str, _name: str, obj: Any, skip: bool, _options: Any) -> Any:
    """Leave out members that classes inherit from scikit-learn or Python."""
    home = getattr(obj, "__module__", None) or getattr(
        getattr(obj, "fget", None), "__module__", "vbnmf"
    )
    return True if what == "class" and not str(home).startswith("vbnmf") else None


def plain_help(_app: Any, _context: Any, lines: list[str]) -> None:
    """Show help texts of commands as they are: their stars are no markup."""
    lines[:] = [line.replace("*", r"\*") for line in lines]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the additions."""
    app.add_lexer("csv", TextLexer)
    app.connect("autodoc-skip-member", own_members)
    for part in ("description", "options", "epilog"):
        app.connect(f"sphinx-click-process-{part}", plain_help)
    return {"parallel_read_safe": True}
