"""Compute what the explorer shows about documents: coefficients, predictions, evidence, texts.

``choosing`` chooses the documents that are shown, and counts all of them. ``quality`` scores the
predictions of all documents, and ``marking`` locates terms in texts.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.description.components import MATTERS, label_use
from vbnmf.evaluation.parts import Part, Subject
from vbnmf.evaluation.truth import read_truth
from vbnmf.pipeline import DocumentModel
from vbnmf.report.explorer.choosing import choose, count_documents, is_wrong
from vbnmf.report.explorer.keptcolumns import column_details, column_payload, read_columns
from vbnmf.report.explorer.labelpages import confusions_of_labels, topics_of_labels
from vbnmf.report.explorer.novel import NewDocuments
from vbnmf.report.explorer.overview import Overview, suspect_rows
from vbnmf.report.explorer.packing import fine, probability, sig, thousandths
from vbnmf.report.explorer.similar import structure_payload
from vbnmf.reviewing.columnshares import Column
from vbnmf.reviewing.intrusion import document_questions
from vbnmf.text.marking import Marker

MOST_DOCUMENTS = 5000
LONGEST = 2000
"""Maximum number of characters of a text that are shown."""
_COEFFICIENTS = 6  # largest components of a document that are shown
_WHY_COMPONENTS, _WHY_TERMS = 4, 8
_TYPICAL = 8  # documents of a component
_LOOSE_TERMS = 60  # terms of a document that has no text
_FOR_NEW = 10  # one in so many of the documents of a page is there because it looks new
_LEAST_LABELS = 2  # of a model whose labels are compared
_AT_ONCE = 200  # documents between two reports of progress
_TINY = np.finfo(float).tiny

ProgressCallback = Callable[[float, str], None]
"""Called with the completed part, from 0 to 1, and the current step."""


@dataclass(frozen=True)
class AnalysedDocuments:
    """Documents with their coefficients and predictions.

    Attributes
    ----------
    part : Part
        The documents, their label indicators, coefficients and probabilities.
    ids : list of str
        Name of each document.
    truth : list of (list of int or None), or None
        Labels of each document as positions in ``names``; None if unknown.
    predicted : list of lists of int, or None
        Predicted labels, the most probable first; None if the model has no labels.
    columns : list of Column
        Columns by which the documents can be filtered.
    """

    part: Part
    ids: list[str]
    truth: list[list[int] | None] | None
    predicted: list[list[int]] | None
    columns: list[Column]

    @property
    def names(self) -> list[str]:
        """Names of the labels of the model, followed by those that only the documents have."""
        return self.part.subject.names

    @cached_property
    def overview(self) -> Overview | None:
        """What is found in labelled documents; None if there are none, or no labels in training."""
        return Overview(self.part) if self.predicted is not None and self.labelled else None

    @cached_property
    def new(self) -> NewDocuments | None:
        """Documents that look new; None if the model has no labels."""
        if self.predicted is None:
            return None
        return NewDocuments(self.part.subject.model, self.part)

    @property
    def labelled(self) -> bool:
        """Whether the labels of at least one document are known."""
        return any(true is not None for true in self.truth or [])

    @property
    def wrong(self) -> Array:
        """Whether the predicted labels differ from the true ones, (n_docs,) of bool."""
        return is_wrong(self.truth, self.predicted, len(self.ids))


def analyse_documents(
    model: DocumentModel,
    documents: Any,
    labels: Any,
    ids: Any,
    progress: ProgressCallback,
    columns: Any = None,
) -> AnalysedDocuments:
    """Count terms, match labels, divide the documents by columns, and predict labels."""
    is_matrix = getattr(documents, "ndim", 1) == 2
    texts = None if is_matrix else list(documents)
    progress(0.05, "counting terms")
    X = sparse.csr_array(model.vectorize(documents if texts is None else texts))
    n_docs = X.shape[0]
    if n_docs == 0:
        raise ValueError("there are no documents to show. Pass at least one, or documents=None.")
    truth = read_truth(model, [None] * n_docs if labels is None else labels, n_docs)
    if ids is not None and len(ids) != n_docs:
        there = "is 1 document" if n_docs == 1 else f"are {n_docs} documents"
        raise ValueError(f"there {there} but {len(ids)} ids. Give one for each.")
    kept = read_columns(columns, n_docs)
    part, predicted = Part(Subject(model, truth.names), X, truth.indicators, texts), None
    if model.has_labels:
        progress(0.15, "predicting labels")
        part = part.scored
        predicted = _label_lists(model, part.probabilities)
    named = [str(i) for i in (range(n_docs) if ids is None else ids)]
    given = None if labels is None else truth.lists()
    return AnalysedDocuments(part, named, given, predicted, kept)


def document_payload(
    model: DocumentModel,
    analysed: AnalysedDocuments,
    places: Array,
    most: int,
    progress: ProgressCallback,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the data about documents for the page.

    Returns
    -------
    facts : dict
        Numbers of documents, and the typical documents of components; small.
    details : dict
        A list for each property, with an item for each document; large. ``p`` has the probability
        of each label in ``given``, and ``p_truth`` that of each label in ``truth``, which is None
        if the model does not have the label.
    """
    n_docs = len(analysed.ids)
    overview = analysed.overview
    always = [] if overview is None else [one.row for one in overview.to_check]
    always += [] if analysed.new is None else analysed.new.newest[: most // _FOR_NEW]
    shown = choose(analysed.truth, analysed.predicted, n_docs, most, always)
    number = {d: i for i, d in enumerate(shown.tolist())}
    amounts = analysed.part.coefficients[shown] * model.estimator_.component_sums_
    parts = amounts / np.maximum(amounts.sum(axis=1, keepdims=True), _TINY)
    wrong, trust = analysed.wrong, _trust(analysed.part.X[shown])
    details: dict[str, Any] = {
        "ids": [analysed.ids[d] for d in shown],
        "truth": None if analysed.truth is None else [analysed.truth[d] for d in shown],
        "given": None if analysed.predicted is None else [analysed.predicted[d] for d in shown],
        "p": _probabilities(analysed, analysed.predicted, shown),
        "p_truth": _probabilities(analysed, analysed.truth, shown),
        "wrong": [int(wrong[d]) for d in shown],
        "coefficients": [_largest(row) for row in parts],
        "why": _why(model, analysed, shown, places, progress),
        "columns": [column_details(one, shown.tolist()) for one in analysed.columns],
        **_texts(model, analysed, shown, places),
    }
    suspects, to_check = ([], []) if overview is None else suspect_rows(overview, number)
    facts = {
        "total": n_docs,
        "shown": len(shown),
        "longest": LONGEST,
        "labelled": analysed.labelled,
        "names": analysed.names,
        "counts": count_documents(analysed.part.Y, analysed.predicted, by_pair=len(shown) < n_docs),
        "suspects": suspects,
        "to_check": to_check,
        "novel": None if analysed.new is None else analysed.new.payload(number),
        "columns": [column_payload(analysed.part, one) for one in analysed.columns],
        "structure": None
        if overview is None or len(model.classes_) < _LEAST_LABELS
        else structure_payload(analysed.part, number, places),
        "questions": document_questions(parts, trust),
        "typical": _typical(parts, trust, _serves_first(model, details)),
        **_of_labels(model, analysed, details, parts, trust),
        "marked": details["spans"] is not None,
    }
    return facts, details


def shortened(details: dict[str, Any], longest: int) -> dict[str, Any]:
    """Return details with shorter texts, and only the marks inside them."""
    if details["texts"] is None:
        return details
    spans = details["spans"]
    return details | {
        "texts": [text[:longest] for text in details["texts"]],
        "spans": None if spans is None else [_within(marks, longest) for marks in spans],
    }


def _label_lists(model: DocumentModel, P: Array) -> list[list[int]]:
    order = np.argsort(-P, axis=1, kind="stable")
    if not model.has_several_labels:
        return order[:, :1].tolist()
    enough = model.estimator_.labels_from(P) == 1
    return [row[chosen[row]].tolist() for row, chosen in zip(order, enough, strict=True)]


def _probabilities(
    analysed: AnalysedDocuments, labels: list[Any] | None, shown: Array
) -> list[list[float | None] | None] | None:
    """Return the probability of each of these labels of the documents that are shown."""
    if analysed.predicted is None or labels is None:
        return None
    P = analysed.part.probabilities

    def of(d: int, label: int) -> float | None:
        return probability(P[d, label]) if label < P.shape[1] else None

    return [
        None if labels[d] is None else [of(d, label) for label in labels[d]] for d in shown.tolist()
    ]


def _largest(parts: Array) -> list[float]:
    """Return the components of a document: [component, per mille, …], the largest first.

    Components of less than half a per mille are left out, but at least one is returned.
    """
    best = np.argsort(-parts, kind="stable")[:_COEFFICIENTS].tolist()
    found = [(k, thousandths(parts[k])) for k in best]
    return [n for i, pair in enumerate(found) if i == 0 or pair[1] > 0 for n in pair]


def _trust(X: sparse.csr_array) -> Array:
    """Return a weight of documents that is less for short ones, and zero for empty ones."""
    weight = X @ np.ones(X.shape[1])
    return np.asarray(weight / np.maximum(weight + np.median(weight), _TINY))


def _labels_shown(details: dict[str, Any]) -> list[list[int]]:
    """Return the labels of the documents of the page: those given, or else those predicted."""
    given = details["given"] or [[]] * len(details["ids"])
    truth = details["truth"] or [None] * len(details["ids"])
    return [some if true is None else true for true, some in zip(truth, given, strict=True)]


def _serves_first(model: DocumentModel, details: dict[str, Any]) -> Array | None:
    """Return whether each document has the label that a component serves first, (n_docs, K)."""
    if not model.has_labels:
        return None
    first = label_use(model.estimator_).argmax(axis=0)
    return np.array([np.isin(first, some) for some in _labels_shown(details)], dtype=bool)


def _typical(parts: Array, trust: Array, serves: Array | None) -> list[list[float]]:
    """Return typical documents of each component: [document, per mille, …].

    The component makes up at least 5 % of each. Short documents get less weight. Documents of the
    label that it serves first have half of the places, if there are as many.
    """
    lists = []
    for k, column in enumerate(parts.T):
        enough = np.flatnonzero((column >= 0.05) & (trust > 0))
        order = enough[np.argsort(-(column * trust)[enough], kind="stable")]
        best = order[:_TYPICAL]
        if serves is not None:
            mine = order[serves[order, k]][: _TYPICAL // 2]
            best = np.concatenate([mine, np.setdiff1d(best, mine)])[:_TYPICAL]
            best = best[np.argsort(-(column * trust)[best], kind="stable")]
        lists.append([n for d in best.tolist() for n in (d, thousandths(column[d]))])
    return lists


def _of_labels(
    model: DocumentModel,
    analysed: AnalysedDocuments,
    details: dict[str, Any],
    parts: Array,
    trust: Array,
) -> dict[str, Any]:
    """Return the topics and the confusions of each label."""
    if not model.has_labels:
        return {"topics": [], "confusions": []}
    use, confused = label_use(model.estimator_), []
    if analysed.overview is not None:
        confused = confusions_of_labels(
            analysed.overview.confusions, details["truth"], details["given"], details["why"]
        )
    topics = topics_of_labels(use, MATTERS, parts, trust, _labels_shown(details))
    return {"topics": topics, "confusions": confused}


def _why(
    model: DocumentModel,
    analysed: AnalysedDocuments,
    shown: Array,
    places: Array,
    progress: ProgressCallback,
) -> list[list[list[Any]]] | None:
    """Return the evidence for the two most probable labels and the true labels of documents.

    It has label, probability, [component, part, …], [term, part, …], the share of components, and
    [term, part, …] of terms against it, for each label.
    """
    if analysed.predicted is None:
        return None
    place = {name: i for i, name in enumerate(analysed.names)}
    n_terms, encoded = len(model.terms_), analysed.part.encoded
    numbers = np.arange(encoded.shape[1])
    features = [] if model.text_features_ is None else model.text_features_.names

    def known(labels: list[int] | None) -> list[int]:
        """Return the true labels that the model has."""
        return [label for label in labels or [] if label < len(model.estimator_.classes_)]

    def shown_as(item: Any) -> Any:
        """Return the place of a term, or the text of another item and of a term without place."""
        if isinstance(item, str):
            return item
        if item >= n_terms:
            return features[item - n_terms]
        return int(places[item]) if places[item] >= 0 else str(model.terms_[item])

    def listed(terms: list[Any]) -> list[Any]:
        return summed((shown_as(term.term), term.part) for term in terms)

    texts = analysed.part.texts
    found: list[list[list[Any]]] = []
    for begin in range(0, len(shown), _AT_ONCE):
        progress(0.4 + 0.4 * begin / len(shown), f"explaining document {begin:,} of {len(shown):,}")
        some = shown[begin : begin + _AT_ONCE]
        own = None if texts is None else model.pieces_in_words([texts[d] for d in some])
        explained = model.estimator_.explain(
            encoded[some], n_terms=_WHY_TERMS, n_components=_WHY_COMPONENTS, names=numbers,
            probabilities=analysed.part.probabilities[some],
            also=None if analysed.truth is None else [known(analysed.truth[d]) for d in some],
            regroup=own,
        )  # fmt: skip
        found += [
            [
                [
                    place[str(why.label)],
                    probability(why.probability),
                    [n for c in why.components for n in (c.component, fine(c.part))],
                    listed(why.terms),
                    sig(why.component_share, 3),
                    listed(why.against),
                ]
                for why in both
            ]
            for both in explained
        ]
    progress(0.8, "marking terms in texts")
    return found


def summed(items: Iterable[tuple[Any, float]]) -> list[Any]:
    """Return [item, part, …], the largest first; the parts of equal items are added.

    A mark and a piece of a word may look the same.
    """
    parts: dict[Any, float] = {}
    for item, part in items:
        parts[item] = parts.get(item, 0.0) + part
    order = sorted(parts.items(), key=lambda pair: -abs(pair[1]))
    return [n for item, part in order for n in (item, fine(part))]


def _texts(
    model: DocumentModel, analysed: AnalysedDocuments, shown: Array, places: Array
) -> dict[str, list[Any] | None]:
    """Return texts and the positions of terms, with the component that each is assigned to.

    ``terms`` has [term, component, …] of each document. ``spans`` has [distance from the previous
    term, length, number of the pair in ``terms``, …] in characters. ``lengths`` has the lengths of
    whole texts.
    """
    estimator = model.estimator_
    texts = lengths = None
    if analysed.part.texts is not None and model.vectorizer_ is not None:
        whole = [model.vectorizer_.without_markup(analysed.part.texts[d]) for d in shown]
        texts, lengths = [text[:LONGEST] for text in whole], [len(text) for text in whole]
    marker = None if texts is None else Marker.of(model.vectorizer_)
    all_marks = None if marker is None or texts is None else iter(marker.mark(texts))
    terms, spans = [], []
    for d in shown.tolist():
        at = slice(analysed.part.X.indptr[d], analysed.part.X.indptr[d + 1])
        used, weights = analysed.part.X.indices[at], analysed.part.X.data[at]
        order = np.argsort(-weights, kind="stable")
        if all_marks is None:
            marks: list[tuple[int, int, int]] = []
            chosen = used[order][:_LOOSE_TERMS]
        else:
            has = set(used.tolist())
            marks = [mark for mark in next(all_marks) if mark[2] in has]
            chosen = np.array(list(dict.fromkeys(mark[2] for mark in marks)), dtype=int)
        owed = (estimator.components_[:, chosen].T * analysed.part.coefficients[d]).argmax(axis=1)
        pairs = zip(places[chosen].tolist(), owed.tolist(), strict=True)
        terms.append([n for pair in pairs for n in pair])
        spans.append(_flat(marks, {w: i for i, w in enumerate(chosen.tolist())}))
    return {
        "texts": texts,
        "lengths": lengths,
        "terms": terms,
        "spans": None if all_marks is None else spans,
    }


def _flat(marks: list[tuple[int, int, int]], number: dict[int, int]) -> list[int]:
    flat, at = [], 0
    for start, end, term in marks:
        flat += [start - at, end - start, number[term]]
        at = end
    return flat


def _within(marks: list[int], longest: int) -> list[int]:
    """Return the marks that end before the cut of a text."""
    kept: list[int] = []
    at = 0
    numbers = iter(marks)
    while mark := list(islice(numbers, 3)):
        at += mark[0] + mark[1]
        if at > longest:
            break
        kept += mark
    return kept
