"""Where the terms of a vectorizer stand in texts; scikit-learn's analyzers do not tell.

Words are found with the same pattern and stemmed in the same way. Of n-grams the longest that is a
term is marked, and no word twice. Runs of characters, and what a function makes of documents, have
no place of their own: for these there is no marker.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from vbnmf.text.words import stem_terms, stop_word_list

Mark = tuple[int, int, int]
"""First character, the one after the last, and the term's column."""


@dataclass(frozen=True)
class Marker:
    """Finds terms in texts.

    Attributes
    ----------
    pattern : re.Pattern
        Of a word.
    lowercase : bool
    stop_words : set of str
    lengths : range
        Numbers of words of a term, the largest first.
    stem : str or None
        Snowball algorithm.
    columns : dict of str to int
        Of each term.
    """

    pattern: re.Pattern[str]
    lowercase: bool
    stop_words: frozenset[str]
    lengths: range
    stem: str | None
    columns: dict[str, int]

    @classmethod
    def of(cls, vectorizer: Any) -> Self | None:
        """The marker of a fitted vectorizer; None if its terms have no places."""
        if vectorizer is None or vectorizer.analyzer is not None:
            return None
        shortest, longest = vectorizer.ngram_range
        return cls(
            re.compile(vectorizer.token_pattern),
            bool(vectorizer.lowercase),
            frozenset(word.lower() for word in stop_word_list(vectorizer.stop_words)),
            range(longest, shortest - 1, -1),
            vectorizer.stem,
            vectorizer.vocabulary_,
        )

    def mark(self, texts: Iterable[str]) -> list[list[Mark]]:
        """Marks of each text, from its beginning to its end."""
        split = [self._words(text) for text in texts]
        forms = list({word: None for words in split for word, _, _ in words})
        stems = dict(zip(forms, stem_terms(forms, self.stem), strict=True))
        return [
            self._marks([(stems[word], start, end) for word, start, end in words])
            for words in split
        ]

    def _words(self, text: str) -> list[tuple[str, int, int]]:
        group = min(self.pattern.groups, 1)  # as scikit-learn: what a group holds, if there is one
        found = []
        for match in self.pattern.finditer(text):
            word = match[group].lower() if self.lowercase else match[group]
            if word not in self.stop_words:
                found.append((word, *match.span(group)))
        return found

    def _marks(self, words: list[tuple[str, int, int]]) -> list[Mark]:
        marks, taken = [], [False] * len(words)
        for length in self.lengths:
            for i in range(len(words) - length + 1):
                if any(taken[i : i + length]):
                    continue
                column = self.columns.get(" ".join(word for word, _, _ in words[i : i + length]))
                if column is not None:
                    taken[i : i + length] = [True] * length
                    marks.append((words[i][1], words[i + length - 1][2], column))
        return sorted(marks)
