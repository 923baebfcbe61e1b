"""Find documents of the page that look new, what they have in common, and words the model lacks.

Novelty is that of ``SupervisedVBNMF.novelty``: 5 % of documents like those in training exceed 0.95.
A document above that *looks new*. Some such documents are only odd, such as a list of numbers, and
some documents of a new topic resemble a label. But a new topic has many documents, and its words
are more frequent than in training. So as many documents as look new are listed, in this order:

    o_w = documents that have word w,    e_w = Σ_d Σ_l p_dl · share of l's training documents with w
    z_w = max((o_w − e_w) / √(o_w + e_w + 2) − 2, 0)
    x_d = Σ_w a_dw z_w,                  a_d = vector of unit length with the IDF of each word of d
    score_d = mean of ρ(novelty) + ρ(x) / 2 over the documents that are most similar to d

ρ is the rank among the documents, in log-odds, and similar is the cosine of a. A fiftieth of the
documents are most similar, at least 10 and at most 50. All count alike, so that a new topic comes
before a new thread of few documents that quote each other. Documents with a novelty of at most 0.5
are not listed.

The measure was chosen on training parts of six corpora with a label left out, also with later
documents than those in training. Of the first 40 documents, the part of the label left out rose
from 0.48 to 0.77 for 12 labels of 20 Newsgroups with later documents, and from 0.36 to 0.55 for 15
labels of the others. ``python -m benchmarks novelty --first 40`` measures it.

They are also grouped by words: the word that is most characteristic of them against all other
documents is the first group, with all documents that have it; the next word is chosen for the
documents that are left, and so on. Words that the model does not know take part.
"""

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import rankdata

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
_TRIED, _AT_ONCE = 1000, 100  # documents that are ordered, and at a time
_LEAST_NEW = 0.5  # novelty of documents that are listed
_NEIGHBOURS, _PART = (10, 50), 50  # similar documents of each: a fiftieth of all, from 10 to 50
_EXCESS, _CHANCE, _SMOOTH = 0.5, 2.0, 2.0  # weight of x; z that chance explains; see above
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
        """As many documents as look new, those of a new topic first; at most 200."""
        value = _log_odds_of_ranks(self.novelty) + _EXCESS * _log_odds_of_ranks(self._excess)
        order = np.argsort(-value, kind="stable")[:_TRIED]
        some = order[self.novelty[order] > _LEAST_NEW]
        score = self._of_neighbours(some, value)
        number = min(int((self.novelty > NEW).sum()), _MOST)
        return [int(d) for d in some[np.argsort(-score, kind="stable")][:number]]

    @cached_property
    def _vectors(self) -> sparse.csr_array:
        """Documents as vectors of unit length, with the IDF of each word, (n_docs, n_words)."""
        present, _ = self.words_of_documents
        frequency = np.asarray(present.sum(axis=0)).ravel()
        weighted = sparse.csr_array(present, dtype=np.float64)
        # a word of one document is not shared
        idf = np.where(frequency > 1, np.log(present.shape[0] / np.maximum(frequency, 1)), 0.0)
        weighted.data = idf[weighted.indices]
        return of_unit_length(weighted)

    @property
    def _excess(self) -> Array:
        """Words of each document that more documents have than their labels explain, (n_docs,)."""
        estimator, (present, words) = self.model.estimator_, self.words_of_documents
        counts = getattr(estimator, "label_term_documents_", None)
        if counts is None:  # in files of earlier versions
            return np.zeros(present.shape[0])
        P = self.part.probabilities
        labels = (P / np.maximum(P.sum(axis=1, keepdims=True), _TINY)).sum(axis=0)
        by_term = (labels / np.maximum(estimator.label_frequencies_, 1)) @ counts
        expected = dict(zip(self.model.terms_.tolist(), by_term.tolist(), strict=True))
        e = np.array([expected.get(word, 0.0) for word in words])
        o = np.asarray(present.sum(axis=0)).ravel()
        z = np.maximum((o - e) / np.sqrt(o + e + _SMOOTH) - _CHANCE, 0)
        return np.asarray(self._vectors @ z)

    def _of_neighbours(self, rows: Array, value: Array) -> Array:
        """Return the mean value of the documents that are most similar to some, (n_rows,)."""
        A, found = self._vectors, np.empty(len(rows))
        n = int(np.clip(A.shape[0] // _PART, *_NEIGHBOURS))
        for begin in range(0, len(rows), _AT_ONCE):
            some = rows[begin : begin + _AT_ONCE]
            cosines = np.asarray((A[some] @ A.T).toarray())
            cosines[np.arange(len(some)), some] = 0
            near = np.argsort(-cosines, axis=1, kind="stable")[:, :n]
            similar = np.take_along_axis(cosines, near, axis=1) > 0
            number = np.maximum(similar.sum(axis=1), 1)
            found[begin : begin + _AT_ONCE] = (similar * value[near]).sum(axis=1) / number
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
        rows = [sorted({place.setdefault(word, len(place)) for word in some}) for some in sequences]
        indptr = np.cumsum([0, *map(len, rows)])
        columns = np.array([i for row in rows for i in row], dtype=np.int64)
        ones = np.ones(len(columns), np.int64)
        present = sparse.csr_array((ones, columns, indptr), (len(rows), len(place)))
        return present, list(place)


def _log_odds_of_ranks(values: Array) -> Array:
    """Return the rank of each value, as log-odds; equal values have the same."""
    ranks = (rankdata(values) - 0.5) / max(len(values), 1)
    return np.asarray(np.log(ranks / (1 - ranks)))
