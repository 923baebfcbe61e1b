"""Fit a vectorizer to documents that do not fit into memory.

Documents are split into terms once. Their counts are kept in parts on disk, and everything else is
computed from these parts: document frequencies first, then the length and the largest weights, then
the weights of each part. Memory holds one part and the vocabulary. The result is that of
``DocumentVectorizer.fit_transform``, up to rounding of the common length.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from vbnmf.files import replacing
from vbnmf.text.checks import check_parameters
from vbnmf.text.counting import (
    commonest_of,
    count_documents,
    document_frequencies,
    merging_matrix,
)
from vbnmf.text.markup import decide
from vbnmf.text.notices import report_cut
from vbnmf.text.vectorizer import DEFAULT_MAX_TERMS, DocumentVectorizer
from vbnmf.text.vocabulary import numbered
from vbnmf.text.weighting import MEAN_WEIGHT, choose_terms, inverse_document_frequency, weigh
from vbnmf.text.words import stem_terms


class PartsOfCounts:
    """Counts of terms on disk, in parts, which a run that was stopped can continue.

    Parameters
    ----------
    folder : path
        Where the parts are; it is made if it is not there.
    vectorizer : DocumentVectorizer
        How documents are split; its parameters are checked, and ``strip_`` is decided by the first
        part.

    Attributes
    ----------
    n_parts : int
        Parts that are there.
    n_documents : int
        Documents in them.
    forms : dict of str to int
        All words, numbered as they were first met.
    """

    def __init__(self, folder: Path, vectorizer: DocumentVectorizer) -> None:
        check_parameters(vectorizer.get_params())
        vectorizer._prepare()
        self._folder, self._vectorizer = folder, vectorizer
        folder.mkdir(parents=True, exist_ok=True)
        self.n_parts = self.n_documents = 0
        self.forms: dict[str, int] = {}
        while (about := self._about(self.n_parts)) is not None:
            self._note(about)

    def add(self, texts: Sequence[str], labels: Sequence[Any] | None) -> None:
        """Split documents into terms and write their counts and labels as the next part."""
        documents: Iterable[str] = texts
        if not self.n_parts:
            documents, self._vectorizer.strip_ = decide(texts, self._vectorizer.strip)
        counts, terms = count_documents(documents, self._vectorizer._build_analyzer())
        new = [term for term in terms if term not in self.forms]
        numbers = {term: len(self.forms) + i for i, term in enumerate(new)}
        columns = np.array([self.forms.get(t, numbers.get(t)) for t in terms], np.int32)
        path = self._folder / f"{self.n_parts:06d}"
        with replacing(path.with_suffix(".npz")) as temporary, open(temporary, "wb") as file:
            indices = columns[counts.indices] if len(columns) else counts.indices
            np.savez(file, indptr=counts.indptr, indices=indices, data=counts.data)
        about = {
            "n_documents": counts.shape[0],
            "new": new,
            "labels": None if labels is None else list(labels),
            "strip": self._vectorizer.strip_,
        }
        with replacing(path.with_suffix(".json")) as temporary:
            temporary.write_text(json.dumps(about), encoding="ascii")
        self._note(about)

    def __iter__(self) -> Iterator[sp.csr_matrix]:
        """Counts of each part, (n_documents, n_forms)."""
        for number in range(self.n_parts):
            with np.load(self._folder / f"{number:06d}.npz", allow_pickle=False) as held:
                data, indices, indptr = held["data"], held["indices"], held["indptr"]
            shape = (len(indptr) - 1, len(self.forms))
            yield sp.csr_matrix((data, indices, indptr), shape=shape)

    def labels(self) -> Iterator[list[Any] | None]:
        """Labels of each part."""
        for number in range(self.n_parts):
            about = self._about(number)
            assert about is not None
            yield about["labels"]

    def _about(self, number: int) -> dict[str, Any] | None:
        """What is said of a part, None if it is not there or is no part."""
        path = self._folder / f"{number:06d}.json"
        if not path.is_file() or not path.with_suffix(".npz").is_file():
            return None
        about: dict[str, Any] = json.loads(path.read_bytes())
        return about

    def _note(self, about: dict[str, Any]) -> None:
        self.n_parts += 1
        self.n_documents += about["n_documents"]
        for term in about["new"]:
            self.forms[term] = len(self.forms)
        self._vectorizer.strip_ = about["strip"]


def fit_parts(
    vectorizer: DocumentVectorizer,
    parts: PartsOfCounts,
    tell: Callable[[str, int], None] = lambda doing, part: None,
) -> Iterator[sp.csr_matrix]:
    """Fit a vectorizer to all parts, then yield the weights of each, (n_documents, n_terms).

    The vectorizer is fitted when the last part has been taken. ``tell(doing, part)`` is called for
    each part.
    """
    forms = list(parts.forms)
    if not forms:
        raise ValueError(
            f"No term in {parts.n_documents} documents. Expected at least one document with a word "
            f"that matches token_pattern={vectorizer.token_pattern!r} and is no stop word."
        )
    stems = stem_terms(forms, vectorizer.stem)
    all_stems = sorted(set(stems))
    merging = merging_matrix(stems, numbered(all_stems))
    frequencies, totals = np.zeros(len(all_stems), np.int64), np.zeros(len(forms))
    for number, counts in enumerate(parts):
        frequencies += document_frequencies(counts @ merging)
        totals += np.bincount(counts.indices, weights=counts.data, minlength=len(forms))
        tell("counting", number)
    passed = vectorizer._passing(frequencies, parts.n_documents)
    frequencies = frequencies[passed]
    idf = inverse_document_frequency(frequencies, parts.n_documents)
    names = numbered([all_stems[column] for column in passed])
    merging = merging[:, passed]
    largest, length = _largest_and_length(vectorizer, parts, merging, idf, tell)
    n_kept = len(passed) if vectorizer.max_terms is None else vectorizer.max_terms
    columns = choose_terms(largest, frequencies, n_kept, vectorizer.weighting)
    if n_kept == DEFAULT_MAX_TERMS < len(passed):
        report_cut(frequencies, columns)
    shown = commonest_of(forms, stems, totals) if vectorizer.stem is not None else None
    vectorizer._set_fitted(list(names), idf, columns, shown, parts.n_documents, length)
    vectorizer.n_empty_ = 0
    for number, counts in enumerate(parts):
        merged = counts @ merging
        X = vectorizer._finish(weigh(merged, idf, vectorizer.weighting, length)[0])
        vectorizer.n_empty_ += int((np.diff(X.indptr) == 0).sum())
        tell("writing", number)
        yield X


def _largest_and_length(
    vectorizer: DocumentVectorizer,
    parts: PartsOfCounts,
    merging: sp.csr_matrix,
    idf: Any,
    tell: Callable[[str, int], None],
) -> tuple[sp.csr_matrix, float]:
    """The largest weight of each term, (1, n_terms), and the length of documents in "log"."""
    largest, total, occurring = np.zeros(merging.shape[1]), 0.0, 0
    for number, counts in enumerate(parts):
        weights, _ = weigh(counts @ merging, idf, vectorizer.weighting, 1.0)
        if weights.shape[0]:
            largest = np.maximum(largest, weights.max(axis=0).toarray().ravel())
        total += float(weights.data.sum())
        occurring += int((weights.data > 0).sum())
        tell("weighting", number)
    is_scaled = vectorizer.weighting == "log" and occurring
    length = float(MEAN_WEIGHT / (total / occurring)) if is_scaled else 1.0
    return sp.csr_matrix(largest[None]), length
