"""The frame and the common styles of static pages.

A page is one file without scripts. Its Content-Security-Policy forbids all network requests.
"""

from html import escape

import vbnmf


def frame(title: str, body: str, styles: str, *, images: bool = False) -> str:
    """Return a page with ``body``; ``images`` allows images that are embedded in the page."""
    policy = "default-src 'none'; style-src 'unsafe-inline'" + ("; img-src data:" if images else "")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{escape(title)}</title>
<style>{BASE}{styles}{PRINT}</style>
</head>
<body>
<h1>{escape(title)}</h1>
{body}
<footer>Made by vbnmf {escape(vbnmf.__version__)}.</footer>
</body>
</html>
"""


BASE = """
:root { color-scheme: light dark; --ink: light-dark(#1a1a1a, #e8e8e8);
  --paper: light-dark(#fff, #16181c); --line: light-dark(#d5d8dd, #3a3f47);
  --link: light-dark(#174ea6, #9cc2ff); }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 76rem; margin: 0 auto; padding: 1rem; }
h1, h2, h3 { line-height: 1.2; } h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); }
small, footer { font-weight: normal; opacity: .75; } a { color: var(--link); }
a:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
table { border-collapse: collapse; } td, th { padding: .15rem .5rem; text-align: left; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.wide { overflow-x: auto; }
"""

PRINT = """@media print { .wide { overflow: visible; } a { color: inherit; } }
"""
