"""Locate the terms of a vectorizer in texts, which scikit-learn's analyzers cannot do.

Words are found and stemmed as by the vectorizer. Of several n-grams at a position, the longest that
is a term is marked. No character is marked twice; of overlapping pairs of characters, the first is
marked. Character n-grams, and terms returned by a function, cannot be located, so there is no
marker for them. If the vectorizer removes HTML, texts must be passed without HTML.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Self

from vbnmf.text.checks import WORD_ANALYZERS
from vbnmf.text.splitting import Token, is_plain, joined, tokens, without
from vbnmf.text.words import stem_terms

Mark = tuple[int, int, int]
"""Position of the first character, position after the last, and column of the term."""


@dataclass(frozen=True)
class Marker:
    """Locate terms in texts.

    Attributes
    ----------
    pattern : re.Pattern
        Pattern of a word.
    by_script : bool
        Whether texts in scripts without spaces are split by script.
    lowercase : bool
    stop_words : frozenset of str
        Stop words, as split by the vectorizer.
    lengths : range
        Numbers of words in an n-gram, the largest first.
    stem : str or None
        Snowball algorithm.
    columns : dict of str to int
        Column of each term.
    """

    pattern: re.Pattern[str]
    by_script: bool
    lowercase: bool
    stop_words: frozenset[str]
    lengths: range
    stem: str | None
    columns: dict[str, int]

    @classmethod
    def of(cls, vectorizer: Any) -> Self | None:
        """Return a marker for a fitted vectorizer, or None if its terms cannot be located."""
        if vectorizer is None or vectorizer.analyzer not in WORD_ANALYZERS:
            return None
        shortest, longest = vectorizer.ngram_range
        return cls(
            re.compile(vectorizer.token_pattern),
            vectorizer.splits_by_script,
            bool(vectorizer.lowercase),
            vectorizer.stop_tokens_,
            range(longest, shortest - 1, -1),
            vectorizer.stem,
            vectorizer.vocabulary_,
        )

    def mark(self, texts: Iterable[str]) -> list[list[Mark]]:
        """Return the marks of each text in order."""
        split = [without(self._tokens(text), self.stop_words) for text in texts]
        forms = list({token.form: None for found in split for token in found})
        stems = dict(zip(forms, stem_terms(forms, self.stem), strict=True))
        return [
            self._marks([token._replace(form=stems[token.form]) for token in found])
            for found in split
        ]

    def _tokens(self, text: str) -> Iterator[Token]:
        if self.by_script and not is_plain(text):
            yield from tokens(text, lowercase=self.lowercase)
            return
        group = min(self.pattern.groups, 1)  # as in scikit-learn: the group, if there is one
        for match in self.pattern.finditer(text):
            form = match[group].lower() if self.lowercase else match[group]
            yield Token(form, *match.span(group))

    def _marks(self, found: list[Token]) -> list[Mark]:
        marks: list[Mark] = []
        taken: set[int] = set()
        for run in self._runs(found):
            column = self.columns.get(joined(run))
            places = range(run[0].start, run[-1].end)
            if column is not None and taken.isdisjoint(places):
                taken.update(places)
                marks.append((places.start, places.stop, column))
        return sorted(marks)

    def _runs(self, found: list[Token]) -> Iterator[list[Token]]:
        """Yield candidates for terms, the longest first."""
        whole = [token for token in found if not token.is_part]
        for length in self.lengths:
            for first in range(len(whole) - length + 1):
                yield whole[first : first + length]
        if 1 in self.lengths:
            yield from ([token] for token in found if token.is_part)
