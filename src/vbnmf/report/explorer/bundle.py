"""Combine the sources of the explorer and a payload in one HTML file.

The Content-Security-Policy allows one script and one style sheet, by their hashes. It forbids
everything else, including all requests. Data are compressed JSON in base64, in elements that are
not executed. No character of base64 can end an element.
"""

import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

from vbnmf.report.explorer.packing import mended, pack

# combined in this order in one scope
SCRIPTS = (
    *("core", "saving", "charts", "tables", "scopes", "search", "names", "truth", "columns"),
    *("labels", "label", "map", "components", "component", "lists", "document", "context", "term"),
    *("compare", "structure", "review", "trust", "test", "novel", "about", "app"),
)


def bundle(title: str, payload: dict[str, Any], packed: str | None) -> str:
    """Return the page as HTML.

    Parameters
    ----------
    title : str
    payload : dict
        Data for JSON; numbers must be finite.
    packed : str or None
        Documents, packed by ``pack``.
    """
    page, script, style = _sources()
    parts = {
        "policy": policy(script, style),
        "title": escape(mended(title)),
        "style": style,
        "payload": _data("payload", pack(payload)),
        "documents": "" if packed is None else _data("packed", packed),
        "script": script,
    }
    # in one pass, so that placeholders inside inserted text are not replaced
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], page)


@cache
def _sources() -> tuple[str, str, str]:
    """Return the frame of the page, the script and the style sheet."""
    static = files(__package__) / "static"
    script = "\n".join(
        (static / f"{name}.js").read_text(encoding="utf-8").strip() for name in SCRIPTS
    )
    script = f'"use strict";\n(async () => {{\n{script}\n}})();\n'
    style = (static / "style.css").read_text(encoding="utf-8")
    return (static / "page.html").read_text(encoding="utf-8"), script, style


def policy(script: str, style: str) -> str:
    """Return a Content-Security-Policy that allows only this script and this style sheet."""
    return (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _data(name: str, packed: str) -> str:
    return f'<script type="text/plain" id="{name}">{packed}</script>'


def _hash(source: str) -> str:
    return f"'sha256-{b64encode(sha256(source.encode()).digest()).decode()}'"
