"""Compute the view Structure: pairs of labels that could be one, and labels that could be two.

Both rankings are those of ``review.structure``. Confusions are counted by predictions, so that
numbers equal the lists of documents that they open.
"""

from typing import Any

import numpy as np

from vbnmf.core.model import Array
from vbnmf.evaluation.parts import Part
from vbnmf.report.explorer.packing import sig
from vbnmf.reviewing.structure import (
    NEAR_CHANCE,
    LabelMerge,
    LabelSplit,
    labels_to_merge,
    labels_to_split,
)

_MERGES, _SPLITS = 30, 20  # pairs and labels that are shown
_TYPICAL = 2  # documents of each part of a label
_WORDS = 6  # of each part


def structure_payload(part: Part, number: dict[int, int], places: Array) -> dict[str, Any]:
    """Return the pairs and labels of the view.

    Parameters
    ----------
    part : Part
        All documents of the page, of a model with at least two labels.
    number : dict of int to int
        Number on the page of each document that is shown.
    places : array of shape (n_terms,)
        Position of each term in the list of the page; -1 for terms that are left out.
    """
    merges = labels_to_merge(part)[:_MERGES]
    splits = labels_to_split(part)
    tried = splits.separation
    worth = tried is None or tried >= NEAR_CHANCE
    return {
        "merges": [_merge(one) for one in merges],
        "splits": [_split(one, number, places) for one in splits.labels[:_SPLITS] if worth],
        "separation": None if tried is None else sig(tried, 2),
    }


def _merge(one: LabelMerge) -> list[Any]:
    """Return [label, label, documents of each, confused and back, words, components]."""
    confused = [None, None] if one.confused is None else list(one.confused)
    shares = [sig(one.words, 3), sig(one.components, 3)]
    return [one.first, one.second, *one.documents, *confused, *shares]


def _split(one: LabelSplit, number: dict[int, int], places: Array) -> dict[str, Any]:
    typical = [[number[d] for d in rows.tolist() if d in number][:_TYPICAL] for rows in one.parts]
    return {
        "label": one.label,
        "ratio": sig(one.ratio, 3),
        "nearest": [int(label) for label in one.nearest],
        "flagged": bool(one.flagged),
        "sizes": [len(np.unique(rows)) for rows in one.parts],
        "terms": [
            [int(n) for w, here, there in terms[:_WORDS] for n in (places[w], here, there)]
            for terms in one.terms
        ],
        "typical": typical,
    }
