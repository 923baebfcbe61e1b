"""Fit a vectorizer to documents that do not fit into memory.

Documents are split into terms once, in parts, by worker processes. The counts of each part are kept
in a file, and everything else is computed from these files: first the vocabulary, then the common
length of documents, then the weights of each part. Memory holds the vocabulary and a few parts. The
result is that of ``DocumentVectorizer.fit_transform``, to the bit.
"""

import json
import warnings
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from vbnmf.files import replacing
from vbnmf.text.counting import (
    LONGEST_TERM,
    commonest_of,
    count_documents,
    document_frequencies,
    in_order,
    no_term,
    without_long,
)
from vbnmf.text.notices import EmptyDocumentWarning, report_cut, report_long
from vbnmf.text.termcounts import TermCounts
from vbnmf.text.vectorizer import DEFAULT_MAX_TERMS, DocumentVectorizer
from vbnmf.text.weighting import (
    choose_terms,
    inverse_document_frequency,
    length_of_documents,
    summed,
    weigh,
)
from vbnmf.text.words import stem_terms
from vbnmf.workers import Workers

MAX_VOCABULARY = 2_000_000
"""Number of different terms that are in memory at most."""

Tell = Callable[[str, int], None]


class PartsOfCounts:
    """Counts of the terms of documents, in files, each of which is complete or absent.

    Parameters
    ----------
    folder : path
        Folder of the files, which is created if it does not exist.
    max_vocabulary : int
        Number of different terms that are in memory at most.

    Attributes
    ----------
    n_parts, n_documents : int
        Number of parts that were taken note of, and of their documents.
    frequencies : TermCounts
        Number of documents with each term.
    forms : TermCounts
        Number of occurrences of each word, if words are stemmed.
    omitted : str or None
        The first term that was left out because it is too long.
    """

    def __init__(self, folder: Path, max_vocabulary: int = MAX_VOCABULARY) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self.max_vocabulary = folder, max_vocabulary
        self.n_parts = self.n_documents = 0
        self.omitted: str | None = None
        self._generations: list[int] = []
        self.frequencies = TermCounts(folder / "terms", max_vocabulary)
        self.forms = TermCounts(folder / "forms", max_vocabulary)

    def path(self, number: int) -> Path:
        """Return the file of a part."""
        return self._folder / f"{number:06d}.npz"

    def _numbers(self, number: int) -> Path:
        return self._folder / f"{number:06d}.npy"

    def has(self, number: int) -> bool:
        """Return whether the file of a part was written by an earlier run."""
        try:
            return isinstance(_about(self.path(number))["terms"], list)
        except (OSError, ValueError, LookupError, TypeError, zipfile.BadZipFile):
            return False

    def note(self) -> None:
        """Add the terms of the next part, whose file is written, to the vocabulary."""
        about = _about(self.path(self.n_parts))
        numbers = self.frequencies.add(about["terms"], about["frequencies"])
        self.forms.add(about["forms"], about["totals"])
        np.save(self._numbers(self.n_parts), numbers)
        self._generations.append(self.frequencies.generation)
        self.n_parts += 1
        self.n_documents += about["n_documents"]
        self.omitted = self.omitted or about.get("omitted")

    def numbers(self) -> Iterator[NDArray[np.int32]]:
        """Yield the positions of the terms of each part among the selected ones, or -1."""
        for number, generation in enumerate(self._generations):
            yield self.frequencies.final(generation, np.load(self._numbers(number)))

    def labels(self) -> Iterator[list[Any] | None]:
        """Yield the labels of each part."""
        return (_about(self.path(number))["labels"] for number in range(self.n_parts))


def count_part(
    vectorizer: DocumentVectorizer,
    path: Path,
    texts: Sequence[str] | None,
    labels: Sequence[Any] | None,
) -> None:
    """Count the terms of documents, and write the counts to a file; do nothing without texts.

    The terms are stemmed, and both they and the entries of a row are in alphabetical order.
    """
    if texts is None:
        return
    counts, forms = count_documents(texts, vectorizer._build_analyzer())
    counts, forms, omitted = without_long(counts, forms)
    terms, merged = in_order(counts, stem_terms(forms, vectorizer.stem))
    is_stemmed = vectorizer.stem is not None
    totals = np.bincount(counts.indices, weights=counts.data, minlength=len(forms)).astype(int)
    about = {
        "n_documents": counts.shape[0],
        "labels": None if labels is None else list(labels),
        "terms": terms,
        "frequencies": document_frequencies(merged).tolist(),
        "forms": forms if is_stemmed else [],
        "totals": totals.tolist() if is_stemmed else [],
        "omitted": omitted,
    }
    coded = np.frombuffer(json.dumps(about).encode("ascii"), np.uint8)
    arrays = {"data": merged.data, "indices": merged.indices, "indptr": merged.indptr}
    with replacing(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, about=coded, **arrays)


def fit_parts(
    vectorizer: DocumentVectorizer,
    parts: PartsOfCounts,
    workers: Workers,
    tell: Tell = lambda doing, part: None,
    note: Callable[[str], None] = lambda text: None,
) -> Iterator[sp.csr_matrix]:
    """Fit a vectorizer to all parts, then yield the weights of each, (n_documents, n_terms).

    Parameters
    ----------
    vectorizer : DocumentVectorizer
        The vectorizer. It is fitted when the last part has been taken. If there are too many terms
        for memory, its `min_df` is raised.
    parts : PartsOfCounts
        The counts.
    workers : Workers
        Processes to use, which share the vectorizer.
    tell : callable
        Called with "weighting" or "writing" and the number of the part.
    note : callable
        Called with a sentence if `min_df` was raised.
    """
    tasks = learn_parts(vectorizer, parts, workers, tell, note)
    vectorizer.n_empty_ = 0
    for number, X in enumerate(workers.map(weigh_part, tasks)):
        vectorizer.n_empty_ += int((np.diff(X.indptr) == 0).sum())
        tell("writing", number)
        yield X


def learn_parts(
    vectorizer: DocumentVectorizer,
    parts: PartsOfCounts,
    workers: Any,
    tell: Tell = lambda doing, part: None,
    note: Callable[[str], None] = lambda text: None,
) -> Iterator[tuple[Any, ...]]:
    """Fit a vectorizer to all parts, and return the tasks that weight them (``weigh_part``).

    Parameters are those of :func:`fit_parts`.
    """
    report_long(parts.omitted, LONGEST_TERM)
    terms, frequencies = _vocabulary(vectorizer, parts, note)
    idf = inverse_document_frequency(frequencies, parts.n_documents)
    largest, length = _largest_and_length(vectorizer, parts, idf, workers, tell)
    n_kept = len(terms) if vectorizer.max_terms is None else vectorizer.max_terms
    columns = choose_terms(largest, frequencies, n_kept, vectorizer.weighting)
    if n_kept == DEFAULT_MAX_TERMS < len(terms):
        report_cut(frequencies, columns)
    shown = None
    if vectorizer.stem is not None:
        shown = _commonest(parts.forms, vectorizer.stem, {terms[column] for column in columns})
    vectorizer._set_fitted(terms, idf, columns, shown, parts.n_documents, length)
    column_of = np.full(len(terms), -1, np.int32)
    column_of[columns] = np.arange(len(columns), dtype=np.int32)
    return (
        (path, numbers, of_terms, column_of[numbers[numbers >= 0]], length, len(columns))
        for path, numbers, of_terms in _located(parts, idf)
    )


class PartSummary(NamedTuple):
    """What the common length and the choice of terms need to know of a part."""

    numbers: NDArray[np.int32]  # terms of the part in the vocabulary
    largest: NDArray[np.float64] | None  # largest weight of each, with weighting "paper"
    total: int  # sum of the weights, see ``weighting.summed``
    occurring: int  # number of weights that are not zero


def summarise_part(
    vectorizer: DocumentVectorizer,
    path: Path,
    numbers: NDArray[np.int32],
    idf: NDArray[np.float64],
) -> PartSummary:
    """Weight the counts of a part with documents of length 1, and summarise the weights."""
    counts = _counts(path, numbers >= 0)
    weights, _ = weigh(counts, idf, vectorizer.weighting, 1.0)
    largest = None
    if vectorizer.weighting == "paper":
        largest = weights.max(axis=0).toarray().ravel()
    total, occurring = summed(weights.data) if vectorizer.weighting == "log" else (0, 0)
    return PartSummary(numbers[numbers >= 0], largest, total, occurring)


def weigh_part(
    vectorizer: DocumentVectorizer,
    path: Path,
    numbers: NDArray[np.int32],
    idf: NDArray[np.float64],
    columns: NDArray[np.int32],
    length: float,
    n_columns: int,
) -> sp.csr_matrix:
    """Weight the counts of a part, and return those of terms that have a column."""
    weights, _ = weigh(_counts(path, numbers >= 0), idf, vectorizer.weighting, length)
    kept = weights if (columns >= 0).all() else weights[:, columns >= 0]
    indices = columns[columns >= 0][kept.indices]
    data = kept.data.astype(vectorizer.dtype)
    X = sp.csr_matrix((data, indices, kept.indptr), shape=(kept.shape[0], n_columns))
    X.eliminate_zeros()
    return X


def weigh_texts(vectorizer: DocumentVectorizer, texts: Sequence[str]) -> sp.csr_matrix:
    """Convert texts with a fitted vectorizer, without a warning about empty documents."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyDocumentWarning)
        return vectorizer.transform(texts)


def _located(
    parts: PartsOfCounts, idf: NDArray[np.float64]
) -> Iterator[tuple[Path, NDArray[np.int32], NDArray[np.float64]]]:
    """Yield the file of each part, its terms in the vocabulary (or -1), and their idf."""
    for number, numbers in enumerate(parts.numbers()):
        yield parts.path(number), numbers, idf[numbers[numbers >= 0]]


def _vocabulary(
    vectorizer: DocumentVectorizer, parts: PartsOfCounts, note: Callable[[str], None]
) -> tuple[list[str], NDArray[np.int64]]:
    """Select the terms that pass, raise `min_df` if there are too many, and say so."""
    n, limit = parts.n_documents, parts.max_vocabulary
    if next(parts.frequencies.blocks(), None) is None:
        raise no_term(n, vectorizer.token_pattern)
    terms, frequencies, raised = parts.frequencies.select(n, vectorizer.min_df, vectorizer.max_df)
    if raised is not None:
        vectorizer.min_df = raised
        note(
            f"Raised min_df to {raised:,}: more than {limit:,} terms passed, which is the limit "
            f"for memory. {len(terms):,} terms are in at least {raised:,} documents. To keep more, "
            "increase max_vocabulary (--max-vocabulary). To silence this note, set min_df "
            "(--min-df)."
        )
    return terms, frequencies


def _largest_and_length(
    vectorizer: DocumentVectorizer,
    parts: PartsOfCounts,
    idf: NDArray[np.float64],
    workers: Any,
    tell: Tell,
) -> tuple[sp.csr_matrix, float]:
    """Return the largest weight of each term, (1, n_terms), and the common length of documents.

    Only "paper" needs the first, and only "log" needs the second.
    """
    largest, total, occurring = np.zeros(len(idf)), 0, 0
    if vectorizer.weighting != "counts":
        for number, part in enumerate(workers.map(summarise_part, _located(parts, idf))):
            total, occurring = total + part.total, occurring + part.occurring
            if part.largest is not None:
                largest[part.numbers] = np.maximum(largest[part.numbers], part.largest)
            tell("weighting", number)
    is_scaled = vectorizer.weighting == "log"
    length = length_of_documents(total, occurring) if is_scaled else 1.0
    return sp.csr_matrix(largest[None]), length


def _commonest(counted: TermCounts, language: str, kept: set[str]) -> dict[str, str]:
    """Return the commonest form of each stem that is kept."""
    forms: list[str] = []
    stems: list[str] = []
    totals: list[int] = []
    for block in counted.blocks():
        of_block = stem_terms(block.terms, language)
        here = [i for i, stem in enumerate(of_block) if stem in kept]
        forms += [block.terms[i] for i in here]
        stems += [of_block[i] for i in here]
        totals += block.counts[here].tolist()
    return commonest_of(forms, stems, np.array(totals))


def _counts(path: Path, known: NDArray[np.bool_]) -> sp.csr_matrix:
    """Read the counts of a part, (n_documents, n_known_terms)."""
    with np.load(path, allow_pickle=False) as held:
        data, indices, indptr = held["data"], held["indices"], held["indptr"]
    counts = sp.csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, len(known)))
    return counts if known.all() else counts[:, known]


def _about(path: Path) -> dict[str, Any]:
    """Read the number of documents, labels and terms of a part."""
    with np.load(path, allow_pickle=False) as held:
        about: dict[str, Any] = json.loads(held["about"].tobytes())
    return about
