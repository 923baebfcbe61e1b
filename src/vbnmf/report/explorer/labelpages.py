"""Compute what the page shows of each label in its documents: topics, confusions, near labels.

A *topic* of a label is a component that matters to it, with the documents of the label that have
most of it. The words of a confusion are those that speak most for the predicted label, in the
documents of one label for which the other was predicted.
"""

from collections import Counter
from typing import Any

import numpy as np

from vbnmf.core.model import Array
from vbnmf.report.explorer.packing import hundredths, sig, thousandths

_DOCUMENTS = 2  # of a topic
_LEAST = 0.05  # share of a component in a document of a topic
_CONFUSIONS, _WORDS = 6, 5  # confusions of a label, and words of each
_EACH, _NEAR = 3, 8  # near labels by each measure, and most of them

Labels = list[list[int] | None]


def topics_of_labels(
    use: Array, matters: float, parts: Array, trust: Array, labels: list[list[int]]
) -> list[list[list[float]]]:
    """Return the topics of each label with their typical documents.

    Parameters
    ----------
    use : array of shape (n_labels, K)
        Expected share of each component in each label.
    matters : float
        Least share of a topic.
    parts : array of shape (n_docs, K)
        Share of each component in each document of the page.
    trust : array of shape (n_docs,)
        Weight of a document, which is less for short ones.
    labels : list of lists of int
        Labels of each document: those given, or those predicted if none are given.

    Returns
    -------
    list of lists of [component, document, per mille, …]
        The topics of each label, the largest first.
    """
    members: list[list[int]] = [[] for _ in use]
    for d, some in enumerate(labels):
        for label in some:
            if label < len(use):
                members[label].append(d)
    found = []
    for row, mine in zip(use, members, strict=True):
        topics = []
        rows = np.array(mine, dtype=np.intp)
        for k in np.argsort(-row, kind="stable").tolist():
            if row[k] < matters:
                break
            column = parts[rows, k]
            order = np.argsort(-(column * trust[rows]), kind="stable")[:_DOCUMENTS]
            chosen = [i for i in order.tolist() if column[i] >= _LEAST]
            topics.append([k, *(n for i in chosen for n in (mine[i], thousandths(column[i])))])
        found.append(topics)
    return found


def confusions_of_labels(
    confusions: Array, truth: Labels, given: list[list[int]], why: list[list[list[Any]]]
) -> list[list[list[Any]]]:
    """Return the labels that were predicted for documents of each label, and the words for them.

    Parameters
    ----------
    confusions : array of int of shape (n_names, n_names)
        Number of documents of each label (rows) for which another was predicted (columns).
    truth, given : lists of lists of int
        Given and predicted labels of the documents of the page.
    why : list
        Evidence for labels of these documents, as in ``documents.document_payload``.

    Returns
    -------
    list of lists of [label, number of documents, [term, number of documents that have it, …]]
        The most frequent confusions of each label first.
    """
    evidence: dict[tuple[int, int], dict[int | str, list[float]]] = {}
    for true, predicted, found in zip(truth, given, why, strict=True):
        by_label = {at: terms for at, _, _, terms, *_ in found}
        for label in true or []:
            for m in predicted:
                if label not in predicted and m not in (true or []) and m in by_label:
                    sums = evidence.setdefault((label, m), {})
                    terms = by_label[m]
                    for w, part in zip(terms[0::2], terms[1::2], strict=True):
                        total = sums.setdefault(w, [0.0, 0])
                        total[0] += part
                        total[1] += 1
    rows = []
    for label, row in enumerate(confusions):
        best = [m for m in np.argsort(-row, kind="stable").tolist() if row[m] > 0][:_CONFUSIONS]
        rows.append([[m, int(row[m]), _strongest(evidence.get((label, m), {}))] for m in best])
    return rows


def _strongest(sums: dict[int | str, list[float]]) -> list[int | str]:
    """Return what speaks most for a label: [term, or text of another item; documents, …]."""
    listed = [w for w in sums if isinstance(w, str) or w >= 0]
    best = sorted(listed, key=lambda w: (-sums[w][0], str(w)))[:_WORDS]
    return [n for w in best for n in (w, int(sums[w][1]))]


def near_labels(cosines: Array | None, common: Array, confusions: Array | None) -> list[Any]:
    """Return the labels that are near each label by words, by components or by confusions.

    Parameters
    ----------
    cosines : array of shape (n_labels, n_labels) or None
        How similar the words of labels are.
    common : array of shape (n_labels, n_labels)
        Expected share that labels have in common by their components.
    confusions : array of int of shape (n_names, n_names) or None
        Documents of a label for which another was predicted.

    Returns
    -------
    list of lists of [label, cosine in per cent, per cent in common, documents there, and back]
        Those of each measure that are nearest; the most often named first, then by their cosine.
    """
    n = len(common)
    both = None if confusions is None else (confusions + confusions.T)[:n, :n]
    measures = [one for one in (cosines, common, both) if one is not None]
    found = []
    for at in range(n):
        named: Counter[int] = Counter()
        for measure in measures:
            row = np.where(np.arange(n) == at, -1, measure[at])
            best = np.argsort(-row, kind="stable")[:_EACH]
            named.update(m for m in best.tolist() if row[m] > 0)

        def rank(m: int, at: int = at, named: Counter[int] = named) -> tuple[float, ...]:
            return (-named[m], -float(measures[0][at][m]), m)

        found.append(
            [
                [
                    m,
                    None if cosines is None else hundredths(cosines[at, m]),
                    sig(common[at, m], 3),
                    0 if confusions is None else int(confusions[at, m]),
                    0 if confusions is None else int(confusions[m, at]),
                ]
                for m in sorted(named, key=rank)[:_NEAR]
            ]
        )
    return found
