"""Describe what makes each label, in counts of documents: one function for all that shows labels.

    n_lw    documents of label l that have term w, of N_l; m_lw documents elsewhere, of M_l
    p(k|l)  share of component k in label l, expected by the model (``description.components``)
    p(w|k)  part of term w in component k

Counts are of the training documents, and hold when recounted. *Elsewhere* are the documents with
other labels (``Compared`` has the exceptions). Characteristic terms and their log-odds are those of
``metrics.logodds``. Terms that *may be chance* come last: at least half of the terms that are as
unlikely in the label would be there if documents had their labels at random.

The terms of component k in label l are terms that documents of the label have, and that are typical
of the component: q(w|k) > q(w) (``metrics.relevance``). The first ten are those with the largest

    n_lw r_lkw √ln(q(w|k) / q(w)),    r_lkw = p(k|l) p(w|k) / Σ_j p(j|l) p(w|j)

The first factor is the number of the label's documents that have the term. The second is the part
of the term's weight in the label that the model expects from this component. The third says how
typical the term is. Further terms are those with the largest n_lw √r_lkw. They are more frequent in
the label and less typical of the component, so that more of the label's documents have two of the
terms that are said of it (``metrics.fidelity``). Tables show the first terms, and data has all.

Of a passage that recurs, such as a signature (``metrics.passages``), a list has only one term: the
first.

Two labels are near if the same terms are frequent in their documents: the cosine of the vectors
√(n_lw / N_l) · ln(N / n_w). Of nine measures, the three nearest labels by this one had the largest
share of the confusions of held-out documents, on average over four corpora.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.description.components import (
    FADED,
    MATTERS,
    estimator_of,
    label_use,
    names_of_terms,
    passage_of_terms,
    term_parts,
)
from vbnmf.description.scopes import Scope, scopes_of
from vbnmf.metrics.logodds import characteristic_terms, log_odds, share_by_chance
from vbnmf.metrics.passages import first_of_each
from vbnmf.metrics.relevance import TermParts

N_NEAREST = 3
"""Number of nearest labels."""
LEAST_DOCUMENTS = 2
"""Documents of a label that a term needs to be said of it; one, if the label has no more."""
CHANCE = 0.5
"""Share of terms by chance from which on a term may be chance."""
COMPONENT_TERMS = 20
"""Number of terms of a component in a label."""
NOT_THERE = "(no term there)"
"""What a component is called in a label that has none of its terms."""
_TYPICAL_FIRST = 10  # terms of a component in a label that are chosen also by how typical they are
_TINY = np.finfo(float).tiny


@dataclass(frozen=True)
class TermOfLabel:
    """A term in the documents of a label, counted.

    Attributes
    ----------
    term : str
        The term.
    column : int
        Its column in the document-term matrix.
    documents : int
        Documents of the label that have it.
    elsewhere : int
        Documents elsewhere that have the term.
    log_odds, low, high : float
        Log-odds in the label against elsewhere, and the ends of its interval of 95 %.
    by_chance : float
        Of the terms that are as unlikely in the label, or more, the share that would be there too
        if documents had their labels at random, at most (``metrics.share_by_chance``).
    passage : int or None
        If it belongs to a passage that recurs: the number of documents, of all labels, that have at
        least half of the passage's terms. None otherwise.
    """

    term: str
    column: int
    documents: int
    elsewhere: int
    log_odds: float
    low: float
    high: float
    by_chance: float
    passage: int | None = None

    @property
    def may_be_chance(self) -> bool:
        """Whether half or more of the terms that are as unlikely could be there by chance."""
        return self.by_chance >= CHANCE


@dataclass(frozen=True)
class ComponentOfLabel:
    """A component in a label.

    Attributes
    ----------
    component : int
        Its number.
    share : float
        Its part of the label's weight, expected by the model.
    scope : str or None
        How the label uses it: "own", "shared with B", "common", "background"; None without scopes.
    terms : list of TermOfLabel
        Terms that are typical of the component and that documents of the label have, the best
        first; none if it has faded, or if no such term is in two of these documents.
    faded : bool
        Whether it has faded: its terms come from the prior, not from documents.
    """

    component: int
    share: float
    scope: str | None
    terms: list[TermOfLabel]
    faded: bool

    def name(self, n_terms: int) -> str:
        """Return its first terms there in one line; "(faded)" or "(no term there)" if none."""
        there = " ".join(term.term for term in self.terms[:n_terms]) or NOT_THERE
        return FADED if self.faded else there


@dataclass(frozen=True)
class LabelDescription:
    """What makes a label.

    Attributes
    ----------
    label : object
        The label, as in ``classes_``.
    documents, elsewhere : int
        Training documents that have the label, and those that it is compared with (``Compared``).
    terms : list of TermOfLabel
        Its characteristic terms, the most characteristic first.
    components : list of ComponentOfLabel
        Its components, the largest first; those below 2 % are left out.
    nearest : list of (object, float)
        The labels whose documents have the most similar terms, with the cosine.
    """

    label: Any
    documents: int
    elsewhere: int
    terms: list[TermOfLabel]
    components: list[ComponentOfLabel]
    nearest: list[tuple[Any, float]]


def describe_labels(
    model: Any,
    *,
    n_terms: int = 10,
    n_component_terms: int = COMPONENT_TERMS,
    n_components: int | None = None,
    labels: Iterable[Any] | None = None,
) -> list[LabelDescription]:
    """Describe labels by their documents, terms, components and nearest labels.

    Parameters
    ----------
    model : DocumentModel or SupervisedVBNMF
        Model fitted with labels.
    n_terms : int, default=10
        Maximum number of terms of a label.
    n_component_terms : int, default=20
        Maximum number of terms of each of its components.
    n_components : int or None, default=None
        Maximum number of components of a label; None for all from 2 %.
    labels : iterable of labels, or None
        The labels to describe, as in ``classes_`` or as strings; None for all.

    Returns
    -------
    list of LabelDescription
        In the order of ``labels`` or ``classes_``.

    Raises
    ------
    ValueError
        The model has no labels, or does not know one of ``labels``.
    """
    estimator = check_counted(model)
    rows, compared = places_of(estimator, labels), Compared.of(estimator)
    names, use, scopes = names_of_terms(model), label_use(estimator), scopes_of(estimator)
    relevant, near = term_parts(model), similarities(estimator, rows)
    found = []
    for place, row in enumerate(rows):
        counts = _Counts.of(estimator, row, compared)
        found.append(
            LabelDescription(
                label=estimator.classes_.tolist()[row],
                documents=counts.n_label,
                elsewhere=counts.n_other,
                terms=counts.described(counts.characteristic(n_terms), names),
                components=_components(
                    estimator,
                    row,
                    use[row],
                    counts,
                    relevant,
                    scopes,
                    names,
                    n_component_terms,
                    n_components,
                ),
                nearest=_nearest(estimator.classes_.tolist(), near[place], row),
            )
        )
    return found


def check_counted(model: Any) -> Any:
    """Return the estimator of a model that knows labels."""
    estimator = estimator_of(model)
    if not hasattr(estimator, "label_activations_"):
        raise ValueError(
            f"the model is a {type(estimator).__name__}, which has no labels to describe. Fit one "
            "with labels, or look at its components."
        )
    return estimator


@dataclass(frozen=True, eq=False)
class Compared:
    """The training documents among which a label is compared with the others.

    They have known labels. If documents may have several labels, it is not counted how many of
    those with a known label have a term. Then all documents are compared, and for a model of a
    single label, too.

    Attributes
    ----------
    n_docs : int
        Their number.
    terms : ndarray of int of shape (n_terms,)
        How many of them have each term.
    unlabelled : int or None
        How many of them have no label; None if it is not known (several labels and sample weights).
    """

    n_docs: int
    terms: Array
    unlabelled: int | None

    @classmethod
    def of(cls, estimator: Any) -> "Compared":
        """Count them for a fitted model."""
        of, counts = estimator.fitted_.labels, np.asarray(estimator.label_counts_)
        n_docs, terms = int(estimator.n_documents_), np.asarray(estimator.term_documents_)
        if of.multilabel:
            is_known = np.allclose(of.n_seen * of.frequencies, of.counts)  # documents weigh one
            return cls(n_docs, terms, n_docs - round(float(of.n_seen)) if is_known else None)
        labelled = int(counts.sum())
        if np.count_nonzero(counts) < 2:
            return cls(n_docs, terms, n_docs - labelled)
        return cls(labelled, np.asarray(estimator.label_term_documents_.sum(axis=0)).ravel(), 0)


def places_of(estimator: Any, labels: Iterable[Any] | None) -> list[int]:
    """Return the rows of labels in ``classes_``; labels may also be given as strings."""
    known = estimator.classes_.tolist()
    if labels is None:
        return list(range(len(known)))
    places = {str(label): place for place, label in enumerate(known)}
    places |= {label: place for place, label in enumerate(known)}
    labels = list(labels)
    missing = [label for label in labels if label not in places]
    if missing:
        shown = ", ".join(map(str, known[:20])) + (", …" if len(known) > 20 else "")
        raise ValueError(f"{missing[0]!r} is not a label of this model. Its labels: {shown}.")
    return [places[label] for label in labels]


def similarities(estimator: Any, rows: Sequence[int]) -> Array:
    """Compute the cosines of labels by the shares of their documents that have each term.

    Returns
    -------
    ndarray of shape (n_rows, n_labels)
        Zero for labels without documents.
    """
    counts = sparse.csr_array(estimator.label_term_documents_, dtype=np.float64)
    rarity = np.log(estimator.n_documents_ / np.maximum(estimator.term_documents_, 1))
    # the number of a label's documents cancels in a cosine
    counts.data = np.sqrt(counts.data) * rarity[counts.indices]
    lengths = np.sqrt(np.asarray(counts.power(2).sum(axis=1)).ravel())
    counts.data /= np.repeat(np.maximum(lengths, _TINY), np.diff(counts.indptr))
    return np.asarray((counts[list(rows)] @ counts.T).toarray()).clip(0, 1)


@dataclass(frozen=True)
class _Counts:
    """Documents that have the terms of a label; only terms that any document of the label has."""

    columns: Array
    documents: Array
    elsewhere: Array
    n_label: int
    n_other: int
    by_chance: Array  # ``metrics.share_by_chance``
    passage: Array  # number of each term's passage, or -1
    recurs: Sequence[int]  # documents of each passage

    @classmethod
    def of(cls, estimator: Any, row: int, compared: Compared) -> "_Counts":
        counts = estimator.label_term_documents_[[row]]
        n_label = int(estimator.label_counts_[row])
        n_other = compared.n_docs - n_label
        elsewhere = compared.terms[counts.indices] - counts.data
        return cls(
            counts.indices,
            counts.data,
            elsewhere,
            n_label,
            n_other,
            share_by_chance(counts.data, n_label, elsewhere, n_other, compared.terms),
            passage_of_terms(estimator)[counts.indices],
            estimator.passages_.documents,
        )

    def characteristic(self, n_terms: int) -> Array:
        """Return places of the characteristic terms, one of each passage.

        Those that may be chance come last.
        """
        ranked = characteristic_terms(
            self.documents, self.n_label, self.elsewhere, self.n_other, len(self.columns)
        )
        ranked = ranked[np.argsort(self.by_chance[ranked] >= CHANCE, kind="stable")]
        return np.asarray(ranked[first_of_each(self.passage[ranked])][:n_terms])

    def described(self, at: Array, names: Sequence[str] | Array) -> list[TermOfLabel]:
        """Return the terms at some places with their counts."""
        n, m = self.documents[at], self.elsewhere[at]
        odds = log_odds(n, self.n_label, m, self.n_other)
        return [
            TermOfLabel(
                str(names[w]),
                int(w),
                int(a),
                int(b),
                float(d),
                float(low),
                float(high),
                float(chance),
                self.recurs[p] if p >= 0 else None,
            )
            for w, a, b, d, low, high, chance, p in zip(
                self.columns[at],
                n,
                m,
                odds.log_odds,
                odds.low,
                odds.high,
                self.by_chance[at],
                self.passage[at],
                strict=True,
            )
        ]


def _components(
    estimator: Any,
    row: int,
    use: Array,
    counts: _Counts,
    relevant: TermParts,
    scopes: list[Scope] | None,
    names: Sequence[str] | Array,
    n_terms: int,
    n_components: int | None,
) -> list[ComponentOfLabel]:
    """Return the components of a label, each with its terms there."""
    shown = [int(k) for k in np.argsort(-use, kind="stable")[:n_components] if use[k] >= MATTERS]
    label, faded = str(estimator.classes_.tolist()[row]), estimator.faded_
    ranked = terms_there(estimator, use, counts.columns, counts.documents, counts.n_label,
                         relevant, shown, n_terms)  # fmt: skip
    return [
        ComponentOfLabel(
            component=k,
            share=float(use[k]),
            scope=None if scopes is None else scopes[k].beside(label),
            terms=[] if faded[k] else counts.described(at, names),
            faded=bool(faded[k]),
        )
        for k, at in zip(shown, ranked, strict=True)
    ]


def terms_there(
    estimator: Any,
    use: Array,
    columns: Array,
    documents: Array,
    n_label: int,
    relevant: TermParts,
    components: Sequence[int],
    n_terms: int,
) -> list[Array]:
    """Choose the terms of components that documents of one label have.

    Parameters
    ----------
    estimator : SupervisedVBNMF
        Fitted model.
    use : array of shape (K,)
        Share of each component in the label.
    columns, documents : arrays of int of shape (n,)
        Terms that documents of the label have, and how many of these have each.
    n_label : int
        Documents of the label.
    relevant : TermParts
        Parts of terms in components.
    components : sequence of int
        The components.
    n_terms : int
        Maximum number of terms of each.

    Returns
    -------
    list of ndarray of int
        Places in ``columns`` for each component, the best first; one of each passage.
    """
    enough = np.flatnonzero(documents >= min(LEAST_DOCUMENTS, n_label))
    at, n = columns[enough], documents[enough]
    used = np.flatnonzero(use > 0)
    sums = np.maximum(estimator.component_sums_[used], _TINY)
    parts = (use[used] / sums)[:, None] * estimator.components_[np.ix_(used, at)]
    total = np.maximum(parts.sum(axis=0), _TINY)
    average = np.maximum(relevant.average[at], _TINY)
    passage = passage_of_terms(estimator)[at]
    found = []
    for k in components:
        q = relevant.weights[k, at] / relevant.unit[at] / max(relevant.sizes[k], _TINY)
        typical = np.log(np.maximum(q, _TINY) / average)
        expected = np.where(typical > 0, parts[np.searchsorted(used, k)] / total, 0)
        first = n * expected * np.sqrt(np.maximum(typical, 0))
        chosen = _best(first, passage)[:_TYPICAL_FIRST]
        frequent = n * np.sqrt(expected)
        frequent[chosen] = 0
        order = np.concatenate([chosen, _best(frequent, passage)])
        found.append(enough[order[first_of_each(passage[order])][:n_terms]])
    return found


def _best(score: Array, passage: Array) -> Array:
    """Return the places of positive scores, the largest first, one of each passage."""
    order = np.argsort(-score, kind="stable")
    order = order[score[order] > 0]
    return order[first_of_each(passage[order])]


def _nearest(labels: list[Any], near: Array, row: int) -> list[tuple[Any, float]]:
    """Return the labels with the largest cosines, without the label itself."""
    order = [i for i in np.argsort(-near, kind="stable").tolist() if i != row and near[i] > 0]
    return [(labels[i], float(near[i])) for i in order[:N_NEAREST]]
