"""From a model, and documents where they are given, to a page: as a file, or in a notebook."""

import os
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from vbnmf.files import replacing
from vbnmf.pipeline import DocumentModel
from vbnmf.report.explorer.bundle import bundle
from vbnmf.report.explorer.documents import (
    MOST_DOCUMENTS,
    Looked,
    Told,
    document_payload,
    look,
    shortened,
)
from vbnmf.report.explorer.packing import compact, pack
from vbnmf.report.explorer.payload import model_payload
from vbnmf.report.explorer.quality import quality_payload

_SMALL = 12_000_000  # characters; notebooks store what they display
_PACKED = 8_500_000  # characters of compressed documents, so that a page stays below 10 MB
_SHORTER = (1000, 500, 250, 120)  # characters of a text, where more would not keep to this


@dataclass(frozen=True)
class Report:
    """A page that shows a model; notebooks display it.

    Attributes
    ----------
    html : str
        The page: one file that needs nothing else.
    title : str
        Its title.
    """

    html: str = field(repr=False)
    title: str

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = True) -> Path:
        """Write the page; it replaces an existing file only when it is complete.

        Parameters
        ----------
        path : path
            The file.
        overwrite : bool, default=True
            Whether to replace a file that exists. If not, the page is written under a free name
            beside it, and a ``FileExistsError`` tells that name.
        """
        with replacing(path, overwrite=overwrite) as temporary:
            temporary.write_text(self.html, encoding="utf-8", newline="\n")
        return Path(path)

    def _repr_html_(self) -> str:
        """The page in a frame, which can neither see nor change the notebook around it."""
        if len(self.html) > _SMALL:
            return (
                f"<p>The page has {len(self.html) / 1e6:.0f} MB, too much to keep in a notebook. "
                "Write it to a file with <code>.save(&quot;page.html&quot;)</code>.</p>"
            )
        return (
            f'<iframe srcdoc="{escape(self.html)}" title="{escape(self.title)}" '
            'sandbox="allow-scripts allow-downloads" width="100%" height="720" '
            'style="border: 1px solid #8888; border-radius: 6px"></iframe>'
        )


def explore(
    model: DocumentModel,
    documents: Any = None,
    labels: Any = None,
    *,
    ids: Any = None,
    title: str = "",
    command: str = "",
    max_documents: int = MOST_DOCUMENTS,
    tell: Told | None = None,
) -> Report:
    """Make the page.

    Parameters
    ----------
    model : DocumentModel
        A fitted model.
    documents : iterable of str, or matrix of shape (n_docs, n_terms), or None
        Documents to show with it: those of training, or better others.
    labels : array-like of shape (n_docs,), lists of labels, indicator matrix, or None
        Their labels in the form that ``DocumentModel.fit`` takes. Predictions are held against
        them.
    ids : sequence of str or None
        What each document is called; None: its number, from 0.
    title : str
        Of the page.
    command : str
        What made the page, to be said on it.
    max_documents : int, default=5000
        Show at most this many documents, evenly spread. Scores are of all of them.
    tell : callable or None
        Called as ``tell(part, doing)`` from time to time.
    """
    tell = tell or (lambda _part, _doing: None)
    tell(0.0, "reading the model")
    title = title or "vbnmf"
    payload, places = model_payload(model)
    payload |= {"title": title, "command": command, "documents": None, "quality": None}
    packed = None
    if documents is not None:
        looked = look(model, documents, labels, ids, tell)
        payload["quality"] = quality_payload(model, looked)
        payload["documents"], packed = _packed(model, looked, places, max_documents, tell)
    tell(0.98, "writing the page")
    return Report(bundle(title, payload, packed), title)


def _packed(
    model: DocumentModel, looked: Looked, places: Any, most: int, tell: Told
) -> tuple[dict[str, Any], str]:
    """What the page says at once of its documents, and the compressed rest."""
    facts, details = document_payload(model, looked, places, most, tell)
    tell(0.9, "compressing texts")
    packed = pack(compact(details))
    for longest in _SHORTER:
        if len(packed) <= _PACKED:
            break
        packed = pack(compact(shortened(details, longest)))
        facts["longest"] = longest
    return facts, packed
