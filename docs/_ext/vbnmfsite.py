"""What this site adds to Sphinx: members of classes, help texts, and pages for programs.

``llms.txt`` lists all pages with their Markdown twins, which the builder ``markdown`` writes.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

_LONGEST = 300  # characters of what is said about a page
SECTIONS = {
    "Start": "start/",
    "Tutorials": "tutorials/",
    "Guide": "guide/",
    "Questions": "questions",
    "Reference": "reference/",
    "Explanation": "explanation/",
    "Gallery": "gallery/",
}


def own_members(_app: Any, what: str, _name: str, obj: Any, skip: bool, _options: Any) -> Any:
    """Leave out members that classes inherit from scikit-learn or Python."""
    home = getattr(obj, "__module__", None) or getattr(
        getattr(obj, "fget", None), "__module__", "vbnmf"
    )
    return True if what == "class" and not str(home).startswith("vbnmf") else None


def plain_help(_app: Any, _context: Any, lines: list[str]) -> None:
    """Show help texts of commands as they are: stars are no markup, and backquotes are code."""
    lines[:] = [re.sub(r"(?<!`)`(?!`)", "``", line.replace("*", r"\*")) for line in lines]


def link_twin(_app: Any, page: str, _template: str, context: dict[str, Any], doctree: Any) -> None:
    """Name the Markdown twin of a page in its head."""
    if doctree is not None:
        name = f"{page.rpartition('/')[2]}.md"
        link = f'<link rel="alternate" type="text/markdown" href="{name}">'
        context["metatags"] = context.get("metatags", "") + link


def write_llms_txt(app: Sphinx, error: Exception | None) -> None:
    """Write the list of all pages, for programs that read the documentation."""
    if error is None and app.builder.format == "html":
        text = "\n".join(llms_txt(app.env))
        (Path(app.outdir) / "llms.txt").write_text(text, encoding="utf-8")


def llms_txt(env: BuildEnvironment) -> Iterator[str]:
    """Return the lines of llms.txt: a page in each line, by section."""
    front = env.get_doctree(env.config.root_doc)
    yield from ("# vbnmf", "", f"> {_first_paragraphs(front, 2)}")
    for title, start in SECTIONS.items():
        yield from ("", f"## {title}", "")
        for name in sorted(env.found_docs):
            if name.startswith(start) and name in env.titles:
                about = _first_paragraphs(env.get_doctree(name), 1)
                yield f"- [{env.titles[name].astext()}]({name}.md): {about}"
    yield ""


def _first_paragraphs(doctree: nodes.document, n: int) -> str:
    found = [
        p.astext()
        for p in doctree.findall(nodes.paragraph)
        if not isinstance(p.parent, nodes.Admonition)
    ]
    text = " ".join(" ".join(found[:n]).split())
    return text if len(text) < _LONGEST else text[: text[:_LONGEST].rfind(". ") + 1]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the additions."""
    app.add_lexer("csv", TextLexer)
    app.connect("autodoc-skip-member", own_members)
    for part in ("description", "options", "epilog"):
        app.connect(f"sphinx-click-process-{part}", plain_help)
    app.connect("html-page-context", link_twin)
    app.connect("build-finished", write_llms_txt)
    return {"parallel_read_safe": True}
