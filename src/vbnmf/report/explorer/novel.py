"""Find documents of the page that look new, what they have in common, and words the model lacks.

Novelty is that of ``SupervisedVBNMF.novelty``: 5 % of documents like those in training exceed 0.95.
A document above that *looks new*. Some such documents are only odd, such as a list of numbers;
those of a new topic have others beside them. So they are ordered by the mean novelty of the twenty
documents that are most similar to them (cosine of words, with IDF), in log-odds and weighted by
this cosine. The measure was chosen on the training part of 20 Newsgroups, with a label left out.

Another order was tried, which adds words that more documents have than their predicted labels
explain, and counts the 50 most similar documents alike. On held-out training documents of 20
Newsgroups it was much better. This did not hold on the test documents: for some labels, threads of
known labels that began later came first.

They are also grouped by words: the word that is most characteristic of them against all other
documents is the first group, with all documents that have it; the next word is chosen for the
documents that are left, and so on. Words that the model does not know take part.
"""

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from vbnmf.core.model import Array
from vbnmf.core.rows import of_unit_length
from vbnmf.evaluation.parts import Part
from vbnmf.metrics.logodds import log_odds, rank_scores
from vbnmf.pipeline import DocumentModel
from vbnmf.report.explorer.packing import sig
from vbnmf.text import DocumentVectorizer
from vbnmf.text.vectorizer import token_sequences, unknown_terms

NEW = 0.95
"""Novelty above which a document looks new."""
_MOST = 200  # documents that are listed and grouped
_GROUPS, _FEWEST, _WORDS = 8, 3, 6  # groups, documents of a group, words that are said of it
_UNKNOWN = 30  # unknown words
_TRIED, _NEIGHBOURS, _AT_ONCE = 1000, 20, 100  # documents that are ordered; similar ones of each
_LEAST = 1e-4  # distance of a novelty from 0 and 1
_TINY = np.finfo(float).tiny


class NewDocuments:
    """Documents that look new to a model with labels.

    Parameters
    ----------
    model : DocumentModel
        Fitted with labels.
    part : Part
        The documents.
    """

    def __init__(self, model: DocumentModel, part: Part) -> None:
        self.model, self.part, self.texts = model, part, part.texts

    @cached_property
    def novelty(self) -> Array:
        """Novelty of each document, (n_docs,)."""
        known = None if self.texts is None else self.model.known_parts(self.texts)
        return self.model.estimator_.novelty(self.part.encoded, known)

    @cached_property
    def newest(self) -> list[int]:
        """Documents that look new, those with others like them first; at most 200."""
        order = np.argsort(-self.novelty, kind="stable")[:_TRIED]
        some = order[self.novelty[order] > NEW]
        score = self._of_neighbours(some)
        return [int(d) for d in some[np.argsort(-score, kind="stable")][:_MOST]]

    def _of_neighbours(self, rows: Array) -> Array:
        """Return the mean novelty of the documents that are most similar to some, in log-odds."""
        logit = _log_odds(self.novelty)
        present, _ = self.words_of_documents
        frequency = np.asarray(present.sum(axis=0)).ravel()
        weighted = sparse.csr_array(present, dtype=np.float64)
        # a word of one document is not shared
        idf = np.where(frequency > 1, np.log(present.shape[0] / np.maximum(frequency, 1)), 0.0)
        weighted.data = idf[weighted.indices]
        A = of_unit_length(weighted)
        found = np.empty(len(rows))
        for begin in range(0, len(rows), _AT_ONCE):
            some = rows[begin : begin + _AT_ONCE]
            cosines = np.asarray((A[some] @ A.T).toarray())
            cosines[np.arange(len(some)), some] = 0
            near = np.argsort(-cosines, axis=1, kind="stable")[:, :_NEIGHBOURS]
            weight = np.take_along_axis(cosines, near, axis=1)
            total = np.maximum(weight.sum(axis=1), _TINY)
            found[begin : begin + _AT_ONCE] = (weight * logit[near]).sum(axis=1) / total
        return found

    def payload(self, number: dict[int, int]) -> dict[str, Any]:
        """Return what the page shows.

        Parameters
        ----------
        number : dict of int to int
            Number on the page of each document that is shown.
        """
        shown = [d for d in self.newest if d in number]
        unknown = None
        if self.texts is not None and isinstance(self.model.vectorizer_, DocumentVectorizer):
            some = [self.texts[d] for d in self.newest]
            unknown = unknown_terms(self.model.vectorizer_, some, _UNKNOWN).commonest
        return {
            "above": NEW,
            "number": int((self.novelty > NEW).sum()),
            "documents": [[number[d], sig(self.novelty[d], 3)] for d in shown],
            "groups": [
                [words, [number[d] for d in rows if d in number]] for words, rows in self.groups()
            ],
            "unknown": unknown,
        }

    def groups(self) -> list[tuple[list[str], list[int]]]:
        """Group the documents that look new by the words that they have in common."""
        present, words = self.words_of_documents
        left = list(self.newest)
        found: list[tuple[list[str], list[int]]] = []
        others = np.ones(len(self.novelty), bool)
        others[self.newest] = False
        elsewhere, n_other = others.astype(np.int64) @ present, int(others.sum())
        while len(found) < _GROUPS and len(left) >= _FEWEST:
            here = np.ones(len(left), np.int64) @ present[left]
            odds = log_odds(here, len(left), elsewhere, n_other)
            score = np.where(here >= _FEWEST, rank_scores(here / len(left), odds.low), -np.inf)
            best = int(score.argmax())
            if not score[best] > 0:
                break
            has = present[left][:, [best]].toarray().ravel() > 0
            rows = [d for d, one in zip(left, has, strict=True) if one]
            found.append((self._said(present, words, rows, elsewhere, n_other, best), rows))
            left = [d for d, one in zip(left, has, strict=True) if not one]
        return found

    @staticmethod
    def _said(
        present: Any, words: list[str], rows: list[int], elsewhere: Array, n_other: int, best: int
    ) -> list[str]:
        """Return the words of a group, the one that it was chosen by first."""
        here = np.ones(len(rows), np.int64) @ present[rows]
        odds = log_odds(here, len(rows), elsewhere, n_other)
        score = np.where(here >= 2, rank_scores(here / len(rows), odds.low), -np.inf)
        order = [best, *(i for i in np.argsort(-score, kind="stable").tolist() if i != best)]
        return [words[i] for i in order[:_WORDS] if i == best or score[i] > 0]

    @cached_property
    def words_of_documents(self) -> tuple[Any, list[str]]:
        """Return which documents have which words, known or not, (n_docs, n_words)."""
        sequences = None
        if self.texts is not None and isinstance(self.model.vectorizer_, DocumentVectorizer):
            sequences = token_sequences(self.model.vectorizer_, self.texts)
        if sequences is None:
            return sparse.csr_array(self.part.X > 0, dtype=np.int64), self.model.terms_.tolist()
        place: dict[str, int] = {}
        for d in np.flatnonzero(self.novelty > NEW).tolist():
            for word in sequences[d]:
                place.setdefault(word, len(place))
        rows = [sorted({place[word] for word in some if word in place}) for some in sequences]
        indptr = np.cumsum([0, *map(len, rows)])
        columns = np.array([i for row in rows for i in row], dtype=np.int64)
        ones = np.ones(len(columns), np.int64)
        present = sparse.csr_array((ones, columns, indptr), (len(rows), len(place)))
        return present, list(place)


def _log_odds(novelty: Array) -> Array:
    inside = np.clip(novelty, _LEAST, 1 - _LEAST)
    return np.asarray(np.log(inside / (1 - inside)))
