"""What explanations of ``DocumentModel`` show: kinds of features, and terms found in texts."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from vbnmf.core.model import Array
from vbnmf.description.explanations import MARK, PHRASE, PIECE, Span, kind_of_words
from vbnmf.text.features import TextFeatures
from vbnmf.text.marking import Marker


@dataclass(frozen=True, eq=False)
class FeatureKinds:
    """Kinds of terms and features by their names."""

    terms: Array
    features: TextFeatures | None

    @cached_property
    def _terms(self) -> frozenset[str]:
        return frozenset(map(str, self.terms))  # when a name is looked up: not in each explanation

    def __call__(self, name: Any) -> str:
        """Return the kind; what is written the same is of the first kind that has it."""
        if self.features is None or str(name) in self._terms:
            return kind_of_words(name)
        if str(name) in self.features.tokens.known.numbers:
            return PHRASE if " " in str(name) else MARK
        return PIECE


@dataclass(frozen=True, eq=False)
class TermFinder:
    """Finds the terms of texts."""

    marker: Marker
    terms: Array

    @classmethod
    def of(cls, vectorizer: Any, terms: Array) -> "TermFinder | None":
        """Return a finder for a vectorizer; None if its terms cannot be located."""
        marker = Marker.of(vectorizer)
        return None if marker is None else cls(marker, terms)

    def __call__(self, texts: Sequence[str]) -> list[list[Span]]:
        """Return begin, end and name of each term of each text."""
        return [
            [(begin, end, str(self.terms[column])) for begin, end, column in marks]
            for marks in self.marker.mark(texts)
        ]
