"""What the page says of scopes: each component's, and how much labels and terms have of each block.

A part of a block in a label is Σ p(k|l) over its components, in a term Σ p(k|w), in all p(k).
"""

from typing import Any

import numpy as np

from vbnmf.core.model import Array
from vbnmf.report.explorer.numbers import rounded, sig
from vbnmf.report.explorer.ordering import map_blocks
from vbnmf.report.scopes import BLOCKS, Scope, by_block

_TINY = np.finfo(float).tiny


def scope_payload(
    estimator: Any, use: Array, scopes: list[Scope] | None, joint: Array
) -> dict[str, Any] | None:
    """Scopes as the page needs them, fit for JSON; None where they say nothing.

    Parameters
    ----------
    estimator : fitted SupervisedVBNMF
    use : array of shape (n_labels, K)
        Part of each component in each label.
    scopes : list of Scope or None
        Of each component.
    joint : array of shape (K, n_terms)
        Joint probabilities of components and the terms that are on the page.
    """
    if scopes is None:
        return None
    mass = by_block(estimator.component_mass_, scopes)
    of_labels = by_block(use, scopes)
    return {
        "blocks": [
            {
                "name": name,
                "title": BLOCKS[name],
                "components": sum(scope.block == name for scope in scopes),
                "mass": sig(float(part), 6),
                "labels": rounded(of_labels[name], 6),
            }
            for name, part in mass.items()
        ],
        "components": [
            {
                "kind": scope.kind,
                "words": scope.in_words(),
                "labels": [] if scope.block == "common" else scope.labels,
                "group": scope.group,
            }
            for scope in scopes
        ],
        "columns": map_blocks([scope.kind for scope in scopes], estimator.faded_),
        "terms": _of_terms(joint, scopes),
    }


def _of_terms(joint: Array, scopes: list[Scope]) -> list[int]:
    """Per cent of each term in all blocks but the last, which has the rest; one term after another.

    Flat and without the last, because there are many terms.
    """
    of_term = joint / np.maximum(joint.sum(axis=0), _TINY)
    parts = np.stack(list(by_block(of_term.T, scopes).values()), axis=-1)
    ends = np.rint(100 * np.cumsum(parts, axis=-1)).astype(int)  # so that all add up to 100
    return np.diff(ends[:, :-1], prepend=0).ravel().tolist()
