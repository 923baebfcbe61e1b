"""The functions behind ``vbnmf review``, ``contrast``, ``compare`` and ``evaluate --accept``.

Each takes a model and documents, and returns ``Findings``: numbers and tables. The commands print
them, and ``--json`` prints exactly these names and values.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from vbnmf.data.labels import label_name
from vbnmf.evaluation.judging import training_places
from vbnmf.evaluation.parts import Part
from vbnmf.evaluation.truth import read_part
from vbnmf.reviewing.acceptance import Acceptance, acceptance_scores
from vbnmf.reviewing.comparison import NOVEL, ChangedShare, compare_parts
from vbnmf.reviewing.contrast import (
    Contrast,
    ContrastedTerm,
    contrast_labels,
    contrast_sides,
)
from vbnmf.reviewing.copies import copies_that_differ, spelt_alike
from vbnmf.reviewing.labelerrors import LabelErrors, Suspect, find_label_errors
from vbnmf.tabular import Findings, Table, one_line, rounded

SUSPECTS = ("id", "kind", "given", "p_given", "suggested", "p_suggested", "words_given",
            "words_suggested", "left_out")  # fmt: skip
"""Columns of the table of suspects."""

_WORDS = 5  # for each label of a suspect
_EXCERPT, _LONGER_EXCERPT = 60, 100  # characters of a text
_TERMS = ("term", "documents", "log_odds", "low", "high", "p_value")
_SHARES = ("name", "then", "now", "documents", "low", "high", "p_value")


def review(
    model: Any, documents: Any, labels: Any, *, ids: Sequence[Any] | None = None,
    most: int | None = None,
) -> Findings:  # fmt: skip
    """List the labels that are probably wrong, the most suspicious first.

    Documents that the model was fitted to are found by their content, and are judged by models that
    were fitted without them. See ``vbnmf.reviewing.labelerrors``.

    Parameters
    ----------
    model : DocumentModel
        Model fitted with labels.
    documents : iterable of str, or matrix of shape (n_docs, n_terms)
        Documents.
    labels : array-like of shape (n_docs,), lists of labels, or indicator matrix
        Their labels; unknown ones may be None.
    ids : sequence or None, default=None
        Name of each document; None numbers them from 0.
    most : int or None, default=None
        Maximum number of suspects of each kind; None for all.

    Returns
    -------
    Findings
        ``suspects``, a table of labels that are probably wrong, with the suggested label, the
        probabilities of both, and words that speak for each; ``estimated``, the number of wrong
        labels with an interval of 95 %; ``by_chance``, whether predictions are right no more often
        than by chance, so that no label can be judged; ``copies`` of documents with different
        labels; and ``spellings`` of labels that differ in case or spelling only. The names are
        those of ``vbnmf review --json``.

    Examples
    --------
    >>> from vbnmf import DocumentModel, SupervisedVBNMF, review
    >>> texts = ["green tea leaf", "steep tea pot", "roast coffee bean", "grind coffee cup"] * 5
    >>> labels = ["tea", "tea", "coffee", "coffee"] * 5
    >>> model = DocumentModel(SupervisedVBNMF(2, random_state=0)).fit(texts, labels)
    >>> found = review(model, ["green tea pot", "coffee bean"], ["coffee", "coffee"])
    >>> found["suspects"]["id"], found["suspects"]["suggested"]
    ([0], ['tea'])
    """
    part = read_part(_with_labels(model, "judge labels"), documents, labels)
    if not part.labelled.n_docs:
        raise ValueError(
            "no document has a label, so there is nothing to review. Check which column holds the "
            "labels."
        )
    errors = find_label_errors(part)
    names, called = part.subject.names, _ids(part, ids)
    suspects = errors.suspects
    if most is not None:
        kinds = [one.kind for one in suspects]
        suspects = [suspects[i] for i in first_of_each_kind(kinds, most)]
    counts = [int(n) for n in part.Y.sum(axis=0).ravel().tolist()]
    return Findings(
        documents=part.n_docs,
        judged=errors.n_judged,
        judged_by=errors.in_words(),
        by_chance=errors.by_chance,
        in_training=int(errors.judged.left_out.sum()),
        estimated={
            kind: {"number": round(one.number, 1), "low": round(one.low, 1),
                   "high": round(one.high, 1), "at_most": one.at_most}
            for kind, one in errors.estimates.items()
        },
        found=len(errors.suspects),
        suspects=Table(
            (
                _suspect(one, called, names, words)
                for one, words in zip(suspects, _words(part, errors, suspects), strict=True)
            ),
            SUSPECTS,
        ),
        copies=Table(
            (
                {
                    "ids": [called[row] for row in one.rows],
                    "labels": [[names[label] for label in given] for given in one.labels],
                    "identical": one.identical,
                    "text": None if part.texts is None else part.texts[one.rows[0]][:_EXCERPT],
                }
                for one in copies_that_differ(part)
            ),
            ("ids", "labels", "identical", "text"),
        ),
        spellings=Table(
            (
                {"labels": one.labels, "documents": one.documents}
                for one in spelt_alike(names, counts)
            ),
            ("labels", "documents"),
        ),
        labels=sum(n > 0 for n in counts),
    )  # fmt: skip


def first_of_each_kind(kinds: Sequence[str], most: int) -> list[int]:
    """Return the positions of the first ``most`` suspects of each kind, a kind at a time."""
    places = ([i for i, k in enumerate(kinds) if k == kind] for kind in sorted(set(kinds)))
    return [i for of_kind in places for i in of_kind[:most]]


def _suspect(
    one: Suspect, ids: Sequence[Any], names: Sequence[str], words: dict[int, str]
) -> dict[str, Any]:
    def named(label: int | None) -> str | None:
        return None if label is None else names[label]

    def said(label: int | None) -> str:
        return "" if label is None else words.get(label, "")

    return {
        "id": ids[one.row],
        "kind": one.kind,
        "given": named(one.given),
        "p_given": None if one.p_given is None else rounded(one.p_given),
        "suggested": named(one.suggested),
        "p_suggested": None if one.p_suggested is None else rounded(one.p_suggested),
        "words_given": said(one.given),
        "words_suggested": said(one.suggested),
        "left_out": one.left_out,
    }


def _words(part: Part, errors: LabelErrors, suspects: Sequence[Suspect]) -> list[dict[int, str]]:
    """Return the words that speak for the given and for the suggested label of suspects."""
    if not suspects:
        return []
    rows = [one.row for one in suspects]
    also = [
        [label for label in (one.given, one.suggested) if label is not None] for one in suspects
    ]
    model, texts = part.subject.model, part.texts
    explained = part.subject.estimator.explain(
        part.encoded[rows], n_terms=_WORDS, n_components=1, names=model.feature_names_, also=also,
        probabilities=errors.judged.probabilities[rows],
        regroup=None if texts is None else model.pieces_in_words([texts[row] for row in rows]),
    )  # fmt: skip
    place = {str(label): i for i, label in enumerate(part.subject.estimator.classes_.tolist())}
    return [
        {place[str(why.label)]: " ".join(_quoted(term.term) for term in why.terms) for why in both}
        for both in explained
    ]


def _quoted(term: Any) -> str:
    """Return a term; a pair of words in quotation marks."""
    return f'"{term}"' if " " in str(term) else str(term)


def accept(model: Any, documents: Any, labels: Any, *, right: float = 0.95) -> Findings:
    """Find the probability from which on predictions can be accepted without a look.

    Parameters
    ----------
    model : DocumentModel
        Model fitted with labels.
    documents : iterable of str, or matrix of shape (n_docs, n_terms)
        Documents. Training documents are judged by models that were fitted without them.
    labels : array-like of shape (n_docs,), lists of labels, or indicator matrix
        Their labels; unknown ones may be None.
    right : float, default=0.95
        Share of the accepted predictions that must be right.

    Returns
    -------
    Findings
        The ``threshold`` that accepts most (None if there is none), what it accepts, and a table of
        ``labels``. The names are those of ``accept`` in ``vbnmf evaluate --accept 0.95 --json``.

    Examples
    --------
    >>> from vbnmf import DocumentModel, SupervisedVBNMF, accept
    >>> texts = ["green tea leaf", "steep tea pot", "roast coffee bean", "grind coffee cup"] * 5
    >>> labels = ["tea", "tea", "coffee", "coffee"] * 5
    >>> model = DocumentModel(SupervisedVBNMF(2, random_state=0)).fit(texts, labels)
    >>> found = accept(model, ["green tea", "roast coffee"], ["tea", "coffee"], right=0.9)
    >>> found["accepted"], found["right"]
    (2, 2)
    """
    return accepted_of(read_part(_with_labels(model, "predict"), documents, labels), right)


def accepted_of(part: Part, right: float) -> Findings:
    """Find the threshold of the documents of a part, as ``accept`` does."""
    if not 0 < right <= 1:
        raise ValueError(f"right must be above 0 and at most 1; got {right!r}.")
    judged = part.judged
    acceptance = Acceptance.of(part, judged.probabilities)
    found = Findings(acceptance_scores(acceptance, part.subject.names, right))
    return found | {"labels": Table(found["labels"]), "judged_by": judged.in_words()}


def contrast(
    model: Any,
    documents: Any,
    labels: Any,
    first: Any,
    second: Any = None,
    *,
    by: Sequence[Any] | None = None,
    ids: Sequence[Any] | None = None,
    n_terms: int = 15,
) -> Findings:
    """Compare the documents of a label with those of another label, or with all others.

    See ``vbnmf.reviewing.contrast``.

    Parameters
    ----------
    model : DocumentModel
        Fitted model.
    documents : iterable of str, or matrix of shape (n_docs, n_terms)
        Documents.
    labels : array-like of shape (n_docs,), lists of labels, indicator matrix, or None
        Their labels; unknown ones may be None.
    first, second : label, and label or None
        What is compared; None for the rest of the labelled documents.
    by : sequence of length n_docs, or None, default=None
        Values to compare in place of labels, such as regions; ``first`` and ``second`` are two of
        them.
    ids : sequence or None, default=None
        Name of each document; None numbers them from 0.
    n_terms : int, default=15
        Maximum number of words in each list.

    Returns
    -------
    Findings
        The tables ``more_in_first``, ``in_both`` and ``more_in_second`` of words, with counts of
        documents on both sides and log-odds with an interval of 95 %; ``components`` with their
        shares of both sides; how many documents are ``confused``, and the two ``closest``. The
        names are those of ``vbnmf contrast --json``.

    Examples
    --------
    >>> from vbnmf import DocumentModel, SupervisedVBNMF, contrast
    >>> texts = ["green tea leaf", "steep tea pot", "roast coffee bean", "grind coffee cup"] * 5
    >>> labels = ["tea", "tea", "coffee", "coffee"] * 5
    >>> model = DocumentModel(SupervisedVBNMF(2, random_state=0)).fit(texts, labels)
    >>> found = contrast(model, texts, labels, "tea", "coffee")
    >>> found["more_in_first"][0]["term"], found["more_in_first"][0]["documents"]
    ('tea', [10, 0])
    """
    part = read_part(model, documents, labels)
    found = contrast_of(part, first, second, by=by, n_terms=n_terms)
    return contrast_findings(part, found, _ids(part, ids))


def contrast_of(
    part: Part, first: Any, second: Any, *, by: Sequence[Any] | None, n_terms: int
) -> Contrast:
    """Contrast two labels, or two values, of the documents of a part."""
    sides = tuple(None if one is None else label_name(one) for one in (first, second))
    if by is not None:
        if len(by) != part.n_docs:
            raise ValueError(f"there are {part.n_docs} documents but {len(by)} values of `by`.")
        values = np.array(["" if cell is None else label_name(cell) for cell in by], object)
        _check_known(sides, sorted(set(values.tolist())), "value")
        a = values == sides[0]
        b = ~a if sides[1] is None else values == sides[1]
        called = (str(sides[0]), sides[1] or "the rest")
        return contrast_sides(part, a, b, called, n_terms=n_terms)
    names = list(part.subject.names)
    _check_known(sides, names, "label")
    probabilities = part.judged.probabilities if part.subject.has_labels else None
    places = [None if name is None else names.index(name) for name in sides]
    return contrast_labels(
        part, places[0] or 0, places[1], n_terms=n_terms, probabilities=probabilities
    )


def _check_known(sides: tuple[Any, ...], known: list[str], what: str) -> None:
    for name in sides:
        if name is not None and name not in known:
            shown = ", ".join(known[:20]) + (", …" if len(known) > 20 else "")
            raise ValueError(f"{name!r} is not a {what} of these documents. There are: {shown}.")
    if sides[0] == sides[1]:
        raise ValueError(f"both sides are {sides[0]!r}. Name two different ones.")


def contrast_findings(part: Part, found: Contrast, ids: Sequence[Any]) -> Findings:
    """Return a contrast as numbers and tables."""
    closest = None
    if found.closest is not None:
        rows = found.closest.rows
        texts = [None if part.texts is None else part.texts[row] for row in rows]
        closest = {"ids": [ids[row] for row in rows], "cosine": found.closest.cosine,
                   "texts": texts}  # fmt: skip

    def terms(listed: Sequence[ContrastedTerm]) -> Table:
        return Table(
            (
                {"term": t.term, "documents": list(t.documents), "log_odds": round(t.log_odds, 4),
                 "low": round(t.low, 4), "high": round(t.high, 4), "p_value": t.p_value}
                for t in listed
            ),
            _TERMS,
        )  # fmt: skip

    return Findings(
        names=list(found.names),
        documents=list(found.documents),
        documents_in_both=found.in_both,
        more_in_first=terms(found.more_in_a),
        in_both=terms(found.in_both_terms),
        more_in_second=terms(found.more_in_b),
        noise_floor=round(found.floor, 4),
        words_tested=found.tested,
        components=Table(
            (
                {"component": c.component, "name": c.name,
                 "shares": [round(s, 4) for s in c.shares], "low": round(c.low, 4),
                 "high": round(c.high, 4),
                 "side": {"a": "first", "b": "second"}.get(c.side, c.side)}
                for c in found.components
            ),
            ("component", "name", "shares", "low", "high", "side"),
        ),
        in_training=int((training_places(part) >= 0).sum()),
        confused=None if found.confused is None else list(found.confused),
        closest=closest,
    )  # fmt: skip


def compare(
    model: Any,
    then: Any,
    now: Any,
    labels_then: Any = None,
    labels_now: Any = None,
    *,
    ids: Sequence[Any] | None = None,
    most: int = 15,
) -> Findings:
    """Show what has changed between the documents of two periods.

    See ``vbnmf.reviewing.comparison``.

    Parameters
    ----------
    model : DocumentModel
        Fitted model.
    then, now : iterables of str, or matrices of shape (n_docs, n_terms)
        Documents of both periods.
    labels_then, labels_now : labels, as for ``fit``, or None, default=None
        Their labels. If a period has none, predicted labels are compared.
    ids : sequence or None, default=None
        Name of each document of ``now``; None numbers them from 0.
    most : int, default=15
        Maximum number of words and of new documents.

    Returns
    -------
    Findings
        Tables of ``labels`` and ``components`` with their shares then and now and an interval of 95
        % of the difference, of ``words`` that significantly more documents have now, and of
        ``new_documents`` by novelty. Components have no intervals if the model was fitted to the
        documents of one period, but not to those of the other. The names are those of ``vbnmf
        compare --json``.

    Examples
    --------
    >>> from vbnmf import DocumentModel, SupervisedVBNMF, compare
    >>> texts = ["green tea leaf", "steep tea pot", "roast coffee bean", "grind coffee cup"] * 5
    >>> labels = ["tea", "tea", "coffee", "coffee"] * 5
    >>> model = DocumentModel(SupervisedVBNMF(2, random_state=0)).fit(texts, labels)
    >>> found = compare(model, texts, texts[:2] * 8, labels, labels[:2] * 8)
    >>> found["labels"][0]["then"], found["labels"][0]["now"]
    (0.5, 0.0)
    """
    has_labels = model.has_labels
    before = read_part(model, then, labels_then if has_labels else None)
    after = read_part(model, now, labels_now if has_labels else None)
    return compare_findings(before, after, _ids(after, ids), most)


def compare_findings(
    then: Part, now: Part, ids: Sequence[Any], most: int, *, fitted_to_then: bool = False
) -> Findings:
    """Compare the documents of two parts, as ``compare`` does."""
    found = compare_parts(then, now, n_words=most, fitted_to_then=fitted_to_then)

    def shares(changes: Sequence[ChangedShare]) -> Table:
        return Table(
            (
                {"name": one.name, "then": one.then, "now": one.now,
                 "documents": None if one.documents is None else list(one.documents),
                 "low": one.low, "high": one.high, "p_value": one.p_value}
                for one in changes
            ),
            _SHARES,
        )  # fmt: skip

    texts = now.texts
    return Findings(
        documents=list(found.documents),
        labels_are=found.labels_are,
        labels=shares(found.labels),
        components=shares(found.components),
        words=Table(
            (
                {"term": one.term, "documents": list(one.documents), "log_odds": one.log_odds,
                 "low": one.low, "high": one.high, "known": one.known}
                for one in found.words
            ),
            ("term", "documents", "log_odds", "low", "high", "known"),
        ),
        in_training=list(found.in_training),
        novel_above=NOVEL,
        novel=None if found.novel is None else list(found.novel),
        new_documents=Table(
            (
                {"id": ids[row], "novelty": novelty,
                 "text": None if texts is None else one_line(texts[row])[:_LONGER_EXCERPT]}
                for row, novelty in found.new_documents[:most]
            ),
            ("id", "novelty", "text"),
        ),
        most=most,
    )  # fmt: skip


def _with_labels(model: Any, doing: str) -> Any:
    if not model.has_labels:
        raise ValueError(f"this model was fitted without labels, so it cannot {doing}.")
    return model


def _ids(part: Part, ids: Sequence[Any] | None) -> Sequence[Any]:
    if ids is None:
        return range(part.n_docs)
    if len(ids) != part.n_docs:
        raise ValueError(f"there are {part.n_docs} documents but {len(ids)} ids.")
    return ids
