"""Which labels each component serves, by kind and in words.

The terminal, the page and the displays all use this module. A *kind* is "background", "common" (to
all labels), "shared" (by several), "joined" or "own" (of one label). A component of several labels
is called shared only if its labels agree, that is, take the same terms from it
(``component_agreement_``). Otherwise it joins different terms of its labels. If the agreement is
not known, it is called shared. A *block* is the group of a component in the map and in lists:
"common", to which the background belongs, "shared", "joined" or "own". A model in which every
component serves every label has no scopes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vbnmf.core.model import Array
from vbnmf.description.components import label_use
from vbnmf.metrics.agreement import AGREES

BLOCKS = {
    "common": "common to all labels",
    "shared": "shared by several labels",
    "joined": "joining different terms of several labels",
    "own": "specific to one label",
}
"""Blocks in their order, and what they mean."""
CALLED_SHARED = 0.6
"""Agreement from which on a component of several labels is called shared."""

_NAMED, _NAMED_OF_MANY = 4, 3  # up to four labels are all named; of more, three are


@dataclass(frozen=True)
class Scope:
    """The labels that one component serves.

    Attributes
    ----------
    kind : str
        "background", "common", "shared", "joined" or "own".
    labels : list of int
        Indices of its labels, sorted by how much of each it makes up, the most first.
    names : list of str
        Names of its labels.
    group : str or None
        Name of the group of the label tree that consists of exactly these labels.
    agreement : float or None
        How much the terms agree that its labels take from it; None if not known or not defined.
    """

    kind: str
    labels: list[int]
    names: list[str]
    group: str | None = None
    agreement: float | None = None

    @property
    def block(self) -> str:
        """Its block: "common", "shared", "joined" or "own"."""
        return "common" if self.kind == "background" else self.kind

    def in_words(self, parts: Sequence[str] | None = None) -> str:
        """Describe the scope in words, such as "shared by A, B" or "joins different terms of A, B".

        Parameters
        ----------
        parts : sequence of str or None
            The expected part of each label's weight; added to the names of labels.
        """
        named = self.names
        if parts is not None:
            named = [f"{name} {part}" for name, part in zip(self.names, parts, strict=True)]
        most = f", most in {named[0]}" if parts is not None else ""
        if self.block == "common":
            return ("background, " if self.kind == "background" else "") + BLOCKS["common"] + most
        if self.kind == "own":
            return f"only {named[0]}"
        verb = "shared by" if self.kind == "shared" else "joins different terms of"
        if self.group is not None:
            return f"{verb} {self._group_in_words()}{most}"
        return f"{verb} {_listed(named)}"

    def agreement_in_words(self) -> str | None:
        """Return how much its labels agree, in words; None if it is not known."""
        if self.agreement is None:
            return None
        terms = "different terms"
        if self.agreement >= CALLED_SHARED:
            terms = "the same terms" if self.agreement >= AGREES else "partly the same terms"
        return f"{self.agreement_as_text}: its labels take {terms} from it"

    @property
    def agreement_as_text(self) -> str:
        """The agreement with two decimals, rounded down; empty if it is not known.

        It is rounded down so that an agreement below a limit does not read as the limit. It is one
        on average if labels take the same terms, and of few documents it may be 3 by chance: more
        than one reads as one.
        """
        if self.agreement is None:
            return ""
        return f"agreement {min(np.floor(100 * self.agreement + 1e-9) / 100, 1.0):.2f}"

    def beside(self, label: str) -> str:
        """Describe how one of its labels uses the component: "own", "shared with B", "common"."""
        if self.kind not in ("shared", "joined"):
            return self.kind
        if self.group is not None:
            within = "shared within" if self.kind == "shared" else "joined with different terms of"
            return f"{within} {self._group_in_words()}"
        verb = "shared with" if self.kind == "shared" else "joined with different terms of"
        return f"{verb} {_listed([name for name in self.names if name != label])}"

    def _group_in_words(self) -> str:
        return f"{self.group} ({len(self.names)} labels)"


def scopes_of(estimator: Any) -> list[Scope] | None:
    """Return the scope of each component; None if all serve all labels, or without labels."""
    mask = getattr(estimator, "scopes_", None)
    if mask is None or mask.all():
        return None
    names = [str(label) for label in estimator.classes_]
    groups = {
        name: np.isin(estimator.classes_, labels)
        for name, labels in estimator.label_groups_.items()
    }
    columns = zip(mask.T, label_use(estimator).T, estimator.component_agreement_, strict=True)
    return [
        _scope(column, use, float(agrees), names, groups, is_background=k == estimator.background_)
        for k, (column, use, agrees) in enumerate(columns)
    ]


def by_block(values: Array, scopes: Sequence[Scope]) -> dict[str, Array]:
    """Sum values of components, (..., K), by block; empty blocks are left out."""
    of = np.array([scope.block for scope in scopes])
    return {name: values[..., of == name].sum(axis=-1) for name in BLOCKS if (of == name).any()}


def _scope(
    mask: Array, use: Array, agrees: float, names: list[str], groups: dict[str, Array], *,
    is_background: bool,
) -> Scope:  # fmt: skip
    """Return the scope of a component from its columns of the scopes and of the use."""
    labels = [int(i) for i in np.argsort(-use, kind="stable") if mask[i]]
    if mask.all():
        kind = "background" if is_background else "common"
    else:
        kind = "own" if len(labels) == 1 else "joined" if agrees < CALLED_SHARED else "shared"
    agreement = agrees if kind in ("shared", "joined") and np.isfinite(agrees) else None
    group = next((name for name, members in groups.items() if (members == mask).all()), None)
    return Scope(kind, labels, [names[i] for i in labels], group, agreement)


def _listed(names: Sequence[str]) -> str:
    """Join names with commas; of many, name the first and count the others."""
    if len(names) <= _NAMED:
        return ", ".join(names)
    more = len(names) - _NAMED_OF_MANY
    return f"{', '.join(names[:_NAMED_OF_MANY])} and {more} more labels"
