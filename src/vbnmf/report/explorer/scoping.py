"""Compute scopes for the page: that of each component, and the parts of blocks.

The part of a block is a sum over its components: Σ p(k|l) in a label, Σ p(k|w) in a term, and
Σ p(k) in all documents.
"""

from typing import Any

import numpy as np

from vbnmf.core.model import Array
from vbnmf.description.scopes import BLOCKS, Scope, by_block
from vbnmf.report.explorer.numbers import rounded, sig
from vbnmf.report.explorer.ordering import map_blocks

_TINY = np.finfo(float).tiny


def scope_payload(
    estimator: Any, use: Array, scopes: list[Scope] | None, joint: Array
) -> dict[str, Any] | None:
    """Return the data about scopes for the page; None without scopes.

    Parameters
    ----------
    estimator : fitted SupervisedVBNMF
    use : array of shape (n_labels, K)
        Part of each component in each label.
    scopes : list of Scope or None
        Scope of each component.
    joint : array of shape (K, n_terms)
        Joint probabilities of components and the terms of the page.
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
                "agreement": scope.agreement_in_words(),
                "labels": [] if scope.block == "common" else scope.labels,
                "group": scope.group,
            }
            for scope in scopes
        ],
        "columns": map_blocks([scope.kind for scope in scopes], estimator.faded_),
        "terms": _of_terms(joint, scopes),
    }


def _of_terms(joint: Array, scopes: list[Scope]) -> list[int]:
    """Return the percentages of each term in all blocks but the last, as one list.

    The last block has the rest. It is left out to save space, because there are many terms.
    """
    of_term = joint / np.maximum(joint.sum(axis=0), _TINY)
    parts = np.stack(list(by_block(of_term.T, scopes).values()), axis=-1)
    ends = np.rint(100 * np.cumsum(parts, axis=-1)).astype(int)  # so that all add up to 100
    return np.diff(ends[:, :-1], prepend=0).ravel().tolist()
