"""Describe components: their terms and names, their part in labels, passages, and which are alike.

The terminal, the page, the displays and the measures of ``evaluation`` use these functions.

    p(k)    part of the documents' weight          p(k|l)  part of component k in label l

**Terms.** Names, lists, the page and the displays show the terms that ``fit`` has chosen
(``metrics.describing``), so that terms common to many components do not name them all. Longer lists
continue with the most relevant terms (``metrics.relevance``). Models that lack this choice show
only the most relevant terms. Lists have one term of each passage that recurs
(``metrics.passages``), as long as there are other terms. Terms whose weight is mostly the prior
describe nothing, and are left out. A faded component has no other terms, and so it has no name.

**Passages.** A component is mostly a passage, such as a signature, if at least half of its ten most
relevant terms are in one passage. This is a count of terms: the documents of the component may say
more than the passage.

**Components that are alike.** Few lists share a term, so two components of nearly the same terms
still get different names. The terminal and the page therefore report which components are alike.
The measure is the cosine of their weights of terms,

    cos(j, k) = Σ_w t_wj t_wk / √(Σ_w t_wj² Σ_w t_wk²)

which is 1 if both have the same parts of terms, and 0 if they have no term in common.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from vbnmf.core.model import Array
from vbnmf.metrics.passages import first_of_each
from vbnmf.metrics.relevance import TermParts

NAME_TERMS = 3
"""Terms in the name of a component."""
COLUMN_TERMS = 2
"""Terms of a component in the name of a column."""
FADED = "(faded)"
"""What a faded component is called."""
MATTERS = 0.02
"""Lists leave out components that make up less than this part of a label."""
MOST_RELEVANT = 10
"""Number of most relevant terms of a component among which those of a passage are counted."""
ALIKE = 0.8
"""Cosine from which on two components are called alike."""
_MOST_NUMBERS = 1 << 24  # weights of components that are converted to double precision at a time
_LEAST_IDF = 0.1  # of terms in nearly all documents, whose weights come mostly from the prior
_TINY = np.finfo(float).tiny

# Lists of ``naming_terms`` by the fitted record and their length: explanations of single documents
# name all components each time.
_naming: WeakKeyDictionary[Any, dict[int, list[list[int]]]] = WeakKeyDictionary()


def estimator_of(model: Any) -> Any:
    """Return the estimator of a ``DocumentModel``; an estimator is returned unchanged."""
    return getattr(model, "estimator_", model)


def label_use(estimator: Any) -> Array:
    """Return p(k|l), (n_labels, K): the part of each component in a label's expected weight.

    Rows sum to one; the row of a label without documents is zero. Without labels there are no rows.
    """
    if not hasattr(estimator, "label_activations_"):
        return np.zeros((0, len(estimator.component_sums_)))
    return row_parts(estimator.label_activations_ * estimator.component_sums_)


def component_probabilities(estimator: Any) -> Array:
    """Return p(k), (K,): the weight of each component; uniform if none has any weight."""
    mass = np.asarray(estimator.component_mass_)
    return mass if mass.sum() > 0 else np.full(len(mass), 1 / len(mass))


def naming_terms(model: Any, n_terms: int) -> list[list[int]]:
    """Return the first terms that describe each component, without those of the prior.

    Components of few terms have shorter lists, and faded ones have none. If no describing term of
    a component is left, it has its heaviest one. ``model`` is a DocumentModel, or an estimator. The
    lists are computed once, and must not be changed.
    """
    estimator = estimator_of(model)
    found = _naming.setdefault(estimator.fitted_, {})
    if n_terms not in found:
        terms = shown_terms(model, n_terms)
        prior = from_prior(model, range(len(terms)), terms)
        lists = [row[~gone].tolist() for row, gone in zip(terms, prior, strict=True)]
        for k in np.flatnonzero(prior.all(axis=1) & ~estimator.faded_):
            lists[k] = [int(estimator.components_[k].argmax())]
        found[n_terms] = lists
    return found[n_terms]


def component_names(
    model: Any, terms: Sequence[str] | Array, n_terms: int = NAME_TERMS
) -> list[str]:
    """Return the name of each component: the terms that describe it, or "(faded)"."""
    return [
        FADED if faded else " ".join(str(terms[w]) for w in chosen)
        for chosen, faded in zip(
            naming_terms(model, n_terms), estimator_of(model).faded_, strict=True
        )
    ]


def component_titles(
    model: Any, n_terms: int = NAME_TERMS, terms: Sequence[str] | Array | None = None
) -> list[str]:
    """Return number and name of each component, as lists and tables show them: "#17 mail imap".

    ``terms`` are the names of terms; None for those of the model. If it knows none, a title is a
    number.
    """
    if terms is None and not _knows_terms(model):
        return [f"#{k}" for k in range(len(model.component_sums_))]
    terms = names_of_terms(model) if terms is None else terms
    return [f"#{k} {name}" for k, name in enumerate(component_names(model, terms, n_terms))]


def _knows_terms(model: Any) -> bool:
    return hasattr(model, "terms_") or hasattr(model, "feature_names_in_")


def column_names(model: Any) -> list[str]:
    """Return a name of each component for columns of frames: "component_17_mail_imap".

    The number alone if the model does not know the names of its terms, or the component has faded.
    """
    estimator = estimator_of(model)
    names: Iterable[str] = [""] * len(estimator.components_)
    if _knows_terms(model):
        faded = estimator.faded_
        found = component_names(model, names_of_terms(model), COLUMN_TERMS)
        names = ["" if gone else name for name, gone in zip(found, faded, strict=True)]
    return [re.sub(r"\W+", "_", f"component {k} {name}".strip()) for k, name in enumerate(names)]


def shown_terms(model: Any, n: int, components: Iterable[int] | None = None) -> Array:
    """Return the first n terms that are shown of each component, (K, n).

    Terms whose weight is mostly the prior come last.

    Parameters
    ----------
    model : DocumentModel, VBNMF or SupervisedVBNMF
        Fitted model.
    n : int
        Number of terms; all terms if there are fewer.
    components : iterable of int, or None
        Numbers of the components; None for all.
    """
    estimator = estimator_of(model)
    numbers = list(range(len(estimator.component_sums_)) if components is None else components)
    chosen, passage = estimator.describing_terms_, passage_of_terms(estimator)
    if chosen is not None and n <= chosen.shape[1]:
        listed = np.asarray(chosen[numbers])
        prior = from_prior(model, numbers, listed)
        return np.array([_ordered(*of, passage)[:n] for of in zip(listed, prior, strict=True)])
    relevant, least = term_parts(model), 2 * estimator.hyperparameters_["term_shape"]
    rows = []
    for k in numbers:
        others = relevant.most_relevant(k, len(passage))
        first = others[:0] if chosen is None else chosen[k]
        row = np.concatenate([first, others[~np.isin(others, first)]])
        rows.append(_ordered(row, estimator.component_shapes_[k, row] < least, passage)[:n])
    return np.array(rows)


def from_prior(model: Any, components: Iterable[int], terms: Array) -> Array:
    """Return whether the weight of each listed term of a component is mostly the prior, (n, m)."""
    fitted = estimator_of(model).fitted_
    return np.asarray(fitted.components.from_prior(list(components), terms))


def _ordered(terms: Array, prior: Array, passage: Array) -> Array:
    """Return the terms, then those of the prior, and last all others of shown passages."""
    terms = terms[np.argsort(prior, kind="stable")]
    shown = first_of_each(passage[terms])
    return np.concatenate([terms[shown], terms[~shown]])


def lasting(estimator: Any) -> Array:
    """Return whether each component has not faded, (K,); True for all if all have faded."""
    faded = estimator.faded_
    return np.ones_like(faded) if faded.all() else ~faded


def passage_of_terms(estimator: Any) -> Array:
    """Return the number of each term's passage, (n_terms,); -1 if it is in none."""
    found: Array = estimator.passages_.of_terms(estimator.components_.shape[1])
    return found


def term_parts(model: Any) -> TermParts:
    """Compute the parts of terms in the components of a model, by weights divided by √idf."""
    estimator = estimator_of(model)
    return TermParts.of_weights(estimator.components_, term_units(model), estimator.faded_)


def names_of_terms(model: Any) -> Sequence[str] | Array:
    """Return the names of the terms of a model; "term 0", "term 1", … if it knows none."""
    if hasattr(model, "terms_"):
        return np.asarray(model.terms_)
    n_terms = model.components_.shape[1]
    unknown = [f"term {w}" for w in range(n_terms)]
    return getattr(model, "feature_names_in_", unknown)[:n_terms]


def term_units(model: Any) -> Array:
    """Return the square root of each term's IDF, (n_terms,); 1 if the model has no IDF.

    It is also 1 with ``weighting="counts"``, which does not use IDF.
    """
    vectorizer = getattr(model, "vectorizer_", None)
    idf = getattr(vectorizer, "idf_", None)
    if idf is None or getattr(vectorizer, "weighting", None) == "counts":
        estimator = estimator_of(model)
        return np.ones(estimator.components_.shape[1])
    return np.sqrt(np.maximum(idf, _LEAST_IDF))


def row_parts(rows: Array) -> Array:
    """Return rows, or one vector, divided by their sums in float64; zeros stay zeros."""
    rows = np.asarray(rows, dtype=np.float64)
    return rows / np.maximum(rows.sum(axis=-1, keepdims=True), _TINY)


@dataclass(frozen=True)
class PassageOfComponent:
    """The passage that a component mostly is.

    Attributes
    ----------
    number : int
        Its number in ``passages_``.
    documents : int
        Documents that have at least half of its terms.
    examined : int
        Documents in which it was counted.
    terms : int
        Number of its terms.
    among : int
        Number of its terms among the most relevant terms of the component.
    of : int
        Number of most relevant terms that were examined.
    """

    number: int
    documents: int
    examined: int
    terms: int
    among: int
    of: int

    @property
    def in_words(self) -> str:
        """What is said beside the component: "recurring passage, 52 documents"."""
        return f"recurring passage, {self.documents:,} documents"


def component_passages(model: Any) -> list[PassageOfComponent | None]:
    """Return the passage that each component mostly is; None for most components.

    Parameters
    ----------
    model : DocumentModel, VBNMF or SupervisedVBNMF
        Fitted model.
    """
    estimator = estimator_of(model)
    K, passages = len(estimator.components_), estimator.passages_
    if not len(passages):
        return [None] * K
    of_term, relevant = passage_of_terms(estimator), term_parts(model)
    found: list[PassageOfComponent | None] = []
    for k, faded in enumerate(estimator.faded_):
        top = of_term[relevant.most_relevant(k, MOST_RELEVANT)]
        counts = np.bincount(top[top >= 0], minlength=len(passages))
        best = int(counts.argmax())
        if faded or 2 * counts[best] < len(top):
            found.append(None)
            continue
        found.append(
            PassageOfComponent(
                number=best,
                documents=passages.documents[best],
                examined=passages.examined,
                terms=len(passages.terms[best]),
                among=int(counts[best]),
                of=len(top),
            )
        )
    return found


def alike_components(estimator: Any) -> list[list[tuple[int, float]]]:
    """Return the components that are alike to each component, with their cosines.

    Parameters
    ----------
    estimator : fitted VBNMF or SupervisedVBNMF

    Returns
    -------
    list of K lists of (int, float)
        Number and cosine of each other component with a cosine of at least ``ALIKE``, the largest
        first. Faded components are alike to none, because their terms come from the prior.
    """
    weights, faded = np.asarray(estimator.components_), np.asarray(estimator.faded_)
    K, n_terms = weights.shape
    products = np.zeros((K, K))
    step = max(1, _MOST_NUMBERS // K)
    for begin in range(0, n_terms, step):
        some = weights[:, begin : begin + step].astype(np.float64)
        products += some @ some.T
    norms = np.sqrt(np.maximum(products.diagonal(), _TINY))
    cosines = np.minimum(products / norms / norms[:, None], 1.0)
    cosines[faded] = cosines[:, faded] = 0
    np.fill_diagonal(cosines, 0)
    return [
        [(int(j), float(row[j])) for j in np.argsort(-row, kind="stable") if row[j] >= ALIKE]
        for row in cosines
    ]
