"""Make the page of a model and, if given, of documents; as a file or in a notebook."""

import os
from dataclasses import dataclass, field
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from vbnmf.description.naming import check_names
from vbnmf.evaluation import Evaluation
from vbnmf.evaluation.measures import PAGE
from vbnmf.evaluation.parts import Subject
from vbnmf.files import replacing
from vbnmf.pipeline import DocumentModel
from vbnmf.report.explorer.bundle import bundle
from vbnmf.report.explorer.documents import (
    MOST_DOCUMENTS,
    AnalysedDocuments,
    ProgressCallback,
    analyse_documents,
    document_payload,
    shortened,
)
from vbnmf.report.explorer.packing import compact, pack
from vbnmf.report.explorer.payload import model_payload, near_payload
from vbnmf.report.explorer.quality import measure_rows, quality_payload
from vbnmf.reviewing.intrusion import KIND, Question, word_questions
from vbnmf.text import DocumentVectorizer

_SMALL = 12_000_000  # characters; notebooks store what they display
_PACKED = 8_500_000  # characters of compressed documents, so that a page stays below 10 MB
_SHORTER = (1000, 500, 250, 120)  # characters of a text if the page would be larger


@dataclass(frozen=True)
class Report:
    """Page that shows a model; notebooks display it.

    Attributes
    ----------
    html : str
        The page, a single file without further dependencies.
    title : str
        Its title.
    """

    html: str = field(repr=False)
    title: str

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = True) -> Path:
        """Write the page to a file; an existing file is replaced only by a complete page.

        Parameters
        ----------
        path : path
            File to write.
        overwrite : bool, default=True
            Whether to replace an existing file. If False and the file exists, the page is written
            beside it under a free name, and a ``FileExistsError`` is raised with that name.

        Examples
        --------
        >>> from vbnmf import DocumentModel, explore
        >>> texts, labels = ["green tea", "roast coffee"] * 5, ["tea", "coffee"] * 5
        >>> model = DocumentModel().fit(texts, labels)
        >>> explore(model, ["green tea"], ["tea"]).save("drinks.html").name
        'drinks.html'
        """
        with replacing(path, overwrite=overwrite) as temporary:
            temporary.write_text(self.html, encoding="utf-8", newline="\n")
        return Path(path)

    def _repr_html_(self) -> str:
        """Return the page in a sandboxed frame, which cannot see or change the notebook."""
        if len(self.html) > _SMALL:
            return (
                f"<p>The page has {len(self.html) / 1e6:.0f} MB, too much for a notebook. "
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
    columns: Any = None,
    title: str = "",
    command: str = "",
    names: dict[str, Any] | None = None,
    max_documents: int = MOST_DOCUMENTS,
    progress: ProgressCallback | None = None,
) -> Report:
    """Make an HTML page in which to explore a fitted model; notebooks display it.

    Parameters
    ----------
    model : DocumentModel
        Fitted model.
    documents : iterable of str, or matrix of shape (n_docs, n_terms), or None
        Documents to show. Use documents that the model was not fitted to.
    labels : array-like of shape (n_docs,), lists of labels, indicator matrix, or None
        True labels of the documents, in any form that ``fit`` accepts. The predictions are scored
        with them.
    ids : sequence of str or None
        Name of each document; None numbers them from 0.
    columns : mapping of str to sequence, or None
        Other columns of the documents, such as a date or a customer: the name of each and a cell
        for each document. Documents can be filtered by them, and the page shows the shares of
        labels and components by value, or by day, month or year if the cells are dates.
    title : str
        Title of the page.
    command : str
        Command that made the page; shown on it.
    names : dict or None
        Names and notes, as the page saves them: ``{"labels": {old: new}, "components": {old: new},
        "notes": {…}}``. None for none.
    max_documents : int, default=5000
        Largest number of documents to show. If there are more, wrong predictions come first, and
        the others are spread evenly. Scores and counts are over all documents.
    progress : callable or None
        Called as ``progress(part, step)`` with the completed part, from 0 to 1, and the step.

    Returns
    -------
    Report
        The page. ``.save("page.html")`` saves it, and ``.html`` is its source. Notebooks show it in
        a frame that cannot reach the notebook.

    Examples
    --------
    >>> import os, tempfile
    >>> from vbnmf import DocumentModel, SupervisedVBNMF, explore
    >>> texts = ["green tea", "steep tea", "roast coffee", "grind coffee"] * 5
    >>> labels = ["tea", "tea", "coffee", "coffee"] * 5
    >>> model = DocumentModel(SupervisedVBNMF(2, random_state=0)).fit(texts, labels)
    >>> page = explore(model, ["green tea leaves"], ["tea"], title="Drinks")
    >>> page.save(os.path.join(tempfile.mkdtemp(), "drinks.html")).name
    'drinks.html'
    """
    if not isinstance(model, DocumentModel):
        raise ValueError(
            f"explore needs a DocumentModel; got {type(model).__name__}. Fit a DocumentModel: "
            "it takes texts or a matrix."
        )
    check_is_fitted(model, "estimator_")
    if documents is not None and not isinstance(model.vectorizer_, DocumentVectorizer | None):
        raise ValueError(
            "pages with documents need a DocumentVectorizer, which finds terms in texts; this "
            f"model has a {type(model.vectorizer_).__name__}. Make the page without documents."
        )
    if columns and documents is None:
        raise ValueError("columns are those of documents: pass documents too.")
    progress = progress or (lambda _part, _step: None)
    progress(0.0, "reading the model")
    title = title or "vbnmf"
    payload, places = model_payload(model)
    nothing = dict.fromkeys(("documents", "quality", "overview", "novel", "structure", "columns"))
    payload |= {
        "title": title,
        "command": command,
        "names": None if names is None else check_names(names),
        **nothing,
    }
    analysed = packed = None
    subject = Subject(model, model.classes_.tolist() if model.has_labels else ())
    if documents is not None:
        analysed = analyse_documents(model, documents, labels, ids, progress, columns)
        subject = analysed.part.subject
    evaluation = Evaluation(subject, PAGE)
    if analysed is not None:
        progress(0.25, "measuring the model")
        evaluation.add_part(analysed.part)
        payload["quality"] = quality_payload(evaluation, analysed.part)
        if analysed.overview is not None:
            payload["overview"] = analysed.overview.payload()
        payload["documents"], packed = _packed(model, analysed, places, max_documents, progress)
        for name in ("novel", "structure", "columns"):  # views of their own
            payload[name] = payload["documents"].pop(name)
    if model.has_labels:
        overview = None if analysed is None else analysed.overview
        payload["near"] = near_payload(model, None if overview is None else overview.confusions)
    payload["measures"] = measure_rows(evaluation)
    about = [] if payload["documents"] is None else payload["documents"].pop("questions")
    payload["test"] = question_payload(word_questions(model), about, places)
    # decisions that are kept in the browser belong to the documents of this page
    payload["key"] = sha256((packed or "").encode()).hexdigest()[:20]
    progress(0.98, "writing the page")
    return Report(bundle(title, payload, packed), title)


def question_payload(
    words: list[Question], documents: list[Question], places: Any
) -> dict[str, Any]:
    """Return the questions of Test yourself: [component, items, place of the intruder, its own]."""
    return {
        "kind": KIND,
        "words": [
            [one.component, places[one.items].tolist(), one.intruder, one.source] for one in words
        ],
        "documents": [[one.component, one.items, one.intruder, one.source] for one in documents],
    }


def _packed(
    model: DocumentModel,
    analysed: AnalysedDocuments,
    places: Any,
    most: int,
    progress: ProgressCallback,
) -> tuple[dict[str, Any], str]:
    """Return the facts about documents that the page needs at once, and the compressed details."""
    facts, details = document_payload(model, analysed, places, most, progress)
    progress(0.9, "compressing texts")
    packed = pack(compact(details))
    for longest in _SHORTER:
        if len(packed) <= _PACKED:
            break
        packed = pack(compact(shortened(details, longest)))
        facts["longest"] = longest
    return facts, packed
