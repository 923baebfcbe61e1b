"""Whether what a model says of labels is true, recounted from documents.

The measures are those of ``vbnmf.metrics``: agreement of the labels that share a component, and
fidelity of the terms that are said of labels and of components. In addition, terms of labels are
counted that none of the label's documents have, or that are rarer there than elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from vbnmf.evaluation.measures import MEASURES, number, recounted
from vbnmf.evaluation.parts import Part, Subject
from vbnmf.evaluation.statements import statements_of_labels
from vbnmf.metrics import agreement
from vbnmf.metrics.agreement import AGREES, GLUED

Array = NDArray[Any]
Row = dict[str, Any]


def label_terms(model: Any) -> list[Array]:
    """Return the columns of the terms that are said of each label, as users are shown them."""
    said = statements_of_labels(model)
    assert said is not None  # it was fitted with this version
    return said.terms


def indicators(model: Any, labels: Sequence[Sequence[Any]]) -> sp.csr_array:
    """Return the label indicators of documents, (n_docs, n_labels), in the order of the model."""
    place = {label: at for at, label in enumerate(model.classes_.tolist())}
    pairs = [(d, place[label]) for d, some in enumerate(labels) for label in some if label in place]
    d, label = np.array(pairs, dtype=int).reshape(-1, 2).T
    values = np.ones(len(pairs), dtype=int)
    return sp.csr_array((values, (d, label)), shape=(len(labels), len(place)))


def of_model(model: Any, X: sp.csr_array, Y: sp.csr_array) -> Row:
    """Recount what a model says of labels, in the documents of X with the label indicators Y."""
    subject = Subject(model, model.classes_.tolist())
    counted = recounted(Part(subject, X, Y))
    scores = {
        measure.key: number(measure.value(subject, counted))
        for measure in MEASURES
        if measure.count is recounted
    }
    absent, rarer, n_said = false_terms(label_terms(model), X, Y)
    return {
        "shared": counted.sharing.shared,
        "glued": scores["shared_that_are_glued"],
        "agree": scores["shared_that_agree"],
        "terms of labels": n_said,
        "in none of its documents": absent / max(n_said, 1),
        "rarer than elsewhere": rarer / max(n_said, 1),
        "fidelity of labels": scores["label_fidelity"],
        "elsewhere": scores["label_fidelity_elsewhere"],
        "fidelity of components": scores["component_fidelity"],
        "components said": counted.of_components[1],
    }


def shared_and_glued(model: Any, X: sp.csr_array, Y: sp.csr_array) -> tuple[int, float, float]:
    """Return the number of shared components, and the parts of them that are glued or agree."""
    found = agreement(X, Y, model.components_, model.scopes_)
    found = found[~np.isnan(found)]
    if not len(found):
        return 0, float("nan"), float("nan")
    return len(found), float((found < GLUED).mean()), float((found >= AGREES).mean())


def false_terms(terms: Sequence[Array], X: sp.csr_array, Y: sp.csr_array) -> tuple[int, int, int]:
    """Count terms of labels that are in none of their documents, or rarer there than elsewhere.

    Parameters
    ----------
    terms : sequence of arrays of int, of length n_labels
        Columns of the terms that are said of each label.
    X : csr_array of shape (n_docs, n_terms)
        Documents.
    Y : csr_array of shape (n_docs, n_labels)
        Label indicators.

    Returns
    -------
    absent, rarer, n_said : int
        Terms in no document of their label; other terms with a smaller share of the label's
        documents than of all other documents; all terms.
    """
    has, members = (sp.csc_array(matrix > 0, dtype=np.int64) for matrix in (X, Y))
    of_label, in_all = np.asarray(members.sum(axis=0)).ravel(), np.asarray(has.sum(axis=0)).ravel()
    absent = rarer = n_said = 0
    for label, some in enumerate(terms):
        inside = np.asarray(has[:, some].T @ members[:, [label]].toarray().ravel())
        n_here, n_there = of_label[label], has.shape[0] - of_label[label]
        none = inside == 0
        share, other = inside / max(n_here, 1), (in_all[some] - inside) / max(n_there, 1)
        absent += int(none.sum())
        rarer += int((~none & (share < other)).sum())
        n_said += len(some)
    return absent, rarer, n_said
