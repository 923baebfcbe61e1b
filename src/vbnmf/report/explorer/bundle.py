"""One HTML file of the explorer's sources and a payload.

The Content-Security-Policy names the one script and the one style sheet by their hashes and forbids
everything else, requests first of all. Data are in elements that no browser runs: JSON in which no
character can end the element, and compressed JSON in base64.
"""

import gzip
import json
import re
from base64 import b64encode
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

# in this order in one scope: what is used comes first
SCRIPTS = (
    *("core", "saving", "charts", "tables", "scopes"),
    *("map", "component", "label", "document", "term", "quality", "app"),
)
_UNSAFE = {c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def bundle(title: str, payload: dict[str, Any], packed: str | None) -> str:
    """The page.

    Parameters
    ----------
    title : str
    payload : dict
        Fit for JSON; numbers must be finite.
    packed : str or None
        What ``pack`` returned of the documents.
    """
    static = files(__package__) / "static"
    script = "\n".join(
        (static / f"{name}.js").read_text(encoding="utf-8").strip() for name in SCRIPTS
    )
    script = f'"use strict";\n(() => {{\n{script}\n}})();\n'
    style = (static / "style.css").read_text(encoding="utf-8")
    page = (static / "page.html").read_text(encoding="utf-8")
    documents = "" if packed is None else f'<script type="text/plain" id="packed">{packed}</script>'
    parts = {
        "policy": policy(script, style),
        "title": escape(mended(title)),
        "style": style,
        "payload": f'<script type="application/json" id="payload">{to_json(payload)}</script>',
        "documents": documents,
        "script": script,
    }
    # in one pass, so that nothing inside a part is taken for the place of another
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], page)


def policy(script: str, style: str) -> str:
    """The Content-Security-Policy that lets this script and this style work, and nothing else."""
    return (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "base-uri 'none'; form-action 'none'"
    )


def to_json(value: Any) -> str:
    """JSON without any character that could end an element or a line of script."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return re.sub("[<>&\u2028\u2029]", lambda c: _UNSAFE[c[0]], mended(text))


def pack(value: Any) -> str:
    """JSON, compressed, in base64; the same value gives the same text."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return b64encode(gzip.compress(mended(text).encode(), 6, mtime=0)).decode("ascii")


def mended(text: str) -> str:
    """Text that can be written in UTF-8: halves of characters are replaced."""
    return _LONE_SURROGATE.sub("\ufffd", text)


def _hash(source: str) -> str:
    return f"'sha256-{b64encode(sha256(source.encode()).digest()).decode()}'"
