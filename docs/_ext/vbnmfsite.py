"""What this site adds to Sphinx."""

from typing import Any

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the additions."""
    app.add_lexer("csv", TextLexer)
    return {"parallel_read_safe": True}
