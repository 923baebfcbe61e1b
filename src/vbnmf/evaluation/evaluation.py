"""Score a model on documents in parts: sums over documents, and the scores that follow from them.

The documents of a file are one part. A shard folder is added part by part, so that the memory for
it does not depend on its number of documents.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from vbnmf.evaluation import measures
from vbnmf.evaluation.measures import ALL, EVALUATE, LABELLED, number
from vbnmf.evaluation.parts import Part, Subject
from vbnmf.evaluation.truth import read_part, read_truth, refuse_several_labels
from vbnmf.pipeline import DocumentModel
from vbnmf.shards import Shards
from vbnmf.tabular import Findings, Table

PART_NONZEROS = 1 << 20
"""Maximum of non-zeros in a part of a shard, unless a document has more."""

LABEL_SCORES = ("label", "documents", "recall", "precision", "component_share", "fidelity",
                "fidelity_elsewhere", "known")  # fmt: skip
"""Columns of the table of labels."""

PART_NUMBERS = 1 << 21
"""Maximum of documents times labels, and of documents times components, in a part."""


class Scores(Findings):
    """Scores by name, as ``vbnmf evaluate --json`` prints them; see ``evaluate``."""

    @property
    def measures(self) -> Table:
        """The measures that are known: name, value, documents that each is of, and meaning."""
        return Table(
            (
                {
                    "measure": one.name,
                    "value": self[one.key],
                    "of": self["measured_on"][one.key],
                    "meaning": one.explained(self),
                }
                for one in measures.measures_for(EVALUATE)
                if self.get(one.key) is not None
            ),
            ("measure", "value", "of", "meaning"),
        )

    def __repr__(self) -> str:
        return f"{self.measures!r}\n\n{self['labels']!r}"

    def _repr_html_(self) -> str:
        return f"{self.measures._repr_html_()}<h4>labels</h4>{self['labels']._repr_html_()}"


def evaluate(model: DocumentModel, documents: Any, labels: Any = None) -> Scores:
    """Measure a model on labelled documents, best on documents that it was not fitted to.

    Scores of predictions, and whether statements about labels hold, are of the labelled documents.
    Measures that need no labels are of all documents. If nearly all labelled documents were in
    training, they are predicted by models that did not see them, and ``left_out_documents`` is
    their number; each part of ``Shards`` is decided by itself. All other measures are then too
    good.

    Parameters
    ----------
    model : DocumentModel
        Fitted model.
    documents : iterable of str, matrix of shape (n_docs, n_terms), or Shards
        Documents.
    labels : array-like of shape (n_docs,), lists of labels, indicator matrix, or None
        True labels in any form that ``fit`` accepts; unknown ones may be None. ``Shards`` have
        their own.

    Returns
    -------
    Scores
        A dict of the scores, by the names that ``vbnmf evaluate --json`` has. ``measured_on`` has
        the documents that each is of. A score that is not defined is None. ``labels`` is a table of
        recall, precision and more of each label, and the attribute ``measures`` a table of all
        measures with their meanings.

    Examples
    --------
    >>> from vbnmf import DocumentModel, SupervisedVBNMF, evaluate
    >>> texts = ["green leaf", "leaf tea", "dark roast", "roast bean"]
    >>> model = DocumentModel(SupervisedVBNMF(n_components=2, random_state=0))
    >>> model = model.fit(texts, ["tea", "tea", "coffee", "coffee"])
    >>> scores = evaluate(model, ["leaf", "roast", "bean"], ["tea", "coffee", None])
    >>> scores["micro_accuracy"], scores["measured_on"]["micro_accuracy"]
    (1.0, '2 labelled documents')
    >>> scores["measured_on"]["npmi_documents"]
    'all 3 documents'
    >>> scores["labels"].to_frame("pandas")["recall"].tolist()
    [1.0, 1.0]
    >>> scores.measures[0]["measure"], scores.measures[0]["value"]
    ('micro accuracy', 1.0)
    """
    if isinstance(documents, Shards):
        return evaluate_shards(model, documents)
    return evaluate_part(read_part(model, documents, labels))


def evaluate_part(part: Part) -> Scores:
    """Measure a model on the documents of a part, as ``evaluate`` does."""
    evaluation = Evaluation(part.subject)
    evaluation.add_part(part)
    return evaluation.scores()


def accuracy(model: DocumentModel, X: Any, labels: Any) -> tuple[float | None, int]:
    """Compute the accuracy of predictions, as ``evaluate`` does, and the number of documents.

    Parameters
    ----------
    model : DocumentModel
        Model fitted with labels.
    X : matrix of shape (n_docs, n_terms)
        Weights of terms.
    labels : array-like of shape (n_docs,), lists of labels, or indicator matrix
        True labels; unknown ones may be None.

    Returns
    -------
    accuracy : float or None
        Part of the labelled documents whose label, or whole set of labels, was predicted. None if
        there are none.
    n_labelled : int
        Number of labelled documents.
    """
    truth = read_truth(model, labels, X.shape[0])
    rows = np.flatnonzero(truth.known)
    if not len(rows):
        return None, 0
    part = Part(Subject(model, truth.names), X[rows], truth.indicators[rows])
    tally = measures.predictions(part)
    return tally.exact / tally.n_docs, tally.n_docs


def evaluate_shards(model: DocumentModel, shards: Shards) -> Scores:
    """Measure a model on the documents of a shard folder, a part of a shard at a time."""
    model.vectorize(shards)  # checks the number of terms
    labels = shards.labels or []
    truth = read_truth(model, [[label] for label in labels] if shards.multilabel else labels,
                       len(labels))  # fmt: skip
    evaluation = Evaluation(Subject(model, truth.names))
    for shard, indicators in enumerate(shards.label_parts()):
        if not model.has_several_labels and (np.diff(indicators.indptr) > 1).any():
            refuse_several_labels()
        Y, X = sparse.csr_array(indicators @ truth.indicators), shards.rows(shard)
        for begin, end in _parts(X, max(len(truth.names), model.estimator_.n_components_)):
            evaluation.add(X[begin:end], Y[begin:end])
    return evaluation.scores()


def _parts(X: sparse.csr_array, n_numbers: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of documents that are scored at a time."""
    most, begin = max(1, PART_NUMBERS // n_numbers), 0
    while begin < X.shape[0]:
        end = int(np.searchsorted(X.indptr, X.indptr[begin] + PART_NONZEROS, side="right")) - 1
        end = min(max(end, begin + 1), begin + most, X.shape[0])
        yield begin, end
        begin = end


class Evaluation:
    """Sums over documents, and the scores that follow from them.

    Parameters
    ----------
    subject : Subject
        The model.
    place : {"evaluate", "page", "tune"}
        Where the scores are printed. Only the measures that are printed there are computed.
    """

    def __init__(self, subject: Subject, place: str = EVALUATE) -> None:
        self.subject = subject
        self.measures = [one for one in measures.measures_for(place) if one.applies(subject)]
        self.n_docs = self.n_labelled = self.n_left_out = 0
        counts = [(one.count, one.of) for one in self.measures if one.count is not None]
        if place != measures.TUNE:
            counts.append((measures.empty_documents, ALL))
            counts += [(measures.component_shares, LABELLED)] if subject.has_labels else []
        self._counts = list(dict.fromkeys(counts))
        self._totals: dict[Any, Any] = {}

    def add(self, X: Any, Y: sparse.csr_array, texts: Sequence[str] | None = None) -> Part:
        """Add documents.

        Parameters
        ----------
        X : matrix of shape (n_docs, n_terms)
            Weights of terms.
        Y : csr_array of shape (n_docs, n_names)
            Label indicators. The row of a document with unknown labels is zero.
        texts : sequence of str, or None
            The texts.

        Returns
        -------
        Part
            The documents, with what was computed of each.
        """
        part = Part(self.subject, sparse.csr_array(X), Y, texts)
        self.add_part(part)
        return part

    def add_part(self, part: Part) -> None:
        """Add the documents of a part of the same model."""
        if part.scored is not part:
            self.n_left_out += int(part.judged.left_out.sum())
            part = part.scored
        self.n_docs += part.n_docs
        self.n_labelled += part.labelled.n_docs
        for count, of in self._counts:
            some = part.labelled if of == LABELLED else part
            sums = count(some) if some.n_docs else None
            if sums is not None:
                before = self._totals.get((count, of))
                self._totals[count, of] = sums if before is None else before + sums

    def total(self, count: Any, of: str = LABELLED) -> Any:
        """Return the sums of a function of ``measures`` over all parts; None if there are none."""
        return self._totals.get((count, of))

    def values(self) -> dict[str, float | None]:
        """Compute the measures of all documents so far, by key; None if not defined."""
        found = {}
        for one in self.measures:
            total = None if one.count is None else self.total(one.count, one.of)
            known = one.count is None or total is not None
            found[one.key] = number(one.value(self.subject, total)) if known else None
        return found

    def facts(self) -> dict[str, Any]:
        """Return the numbers that explain the measures, by key."""
        counted = self.total(measures.recounted)
        agreements = [] if counted is None else counted.agreement
        return {
            "documents": self.n_docs,
            "labelled_documents": self.n_labelled,
            "left_out_documents": self.n_left_out,
            "documents_without_known_term": self.total(measures.empty_documents, ALL) or 0,
            "faded_components": int(self.subject.estimator.faded_.sum()),
            "agreement": [number(value) for value in agreements],
            "shared_components": 0 if counted is None else counted.sharing.shared,
            "components_said": 0 if counted is None else counted.of_components[1],
        }

    def scores(self) -> Scores:
        """Return all scores, as ``vbnmf evaluate --json`` prints them."""
        facts = self.facts()
        of = {one.key: measures.documents_of(one.of, facts) for one in self.measures}
        return Scores({**facts, **self.values(), "measured_on": of, "labels": self.labels()})

    def labels(self) -> Table:
        """Return the scores of each label that the documents have."""
        tally = self.total(measures.predictions)
        if tally is None:
            return Table([], LABEL_SCORES)
        names, n_classes = self.subject.names, self.subject.n_labels
        found = tally.scores(np.arange(len(names)))
        n_predicted, shares = self.total(measures.component_shares)
        fidelity = np.full((len(names), 2), np.nan)  # nothing is said of labels unknown to it
        fidelity[:n_classes] = self.total(measures.recounted).by_label
        with np.errstate(invalid="ignore"):  # NaN where no document was predicted as a label
            shares = shares / n_predicted
        rows = [
            {
                "label": name,
                "documents": int(found.support[at]),
                "recall": float(found.recall[at]),
                "precision": number(found.precision[at]),
                "component_share": number(shares[at]),
                "fidelity": number(fidelity[at, 0]),
                "fidelity_elsewhere": number(fidelity[at, 1]),
                "known": at < n_classes,
            }
            for at, name in enumerate(names)
            if found.support[at] > 0
        ]
        return Table(rows, LABEL_SCORES)
