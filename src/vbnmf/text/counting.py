"""Count the terms of documents, and select terms by the number of documents that have them.

A ``Splitter`` is a way to split texts into terms. Its Python code is the specification. Compiled
code (``native/``) does the same for most texts, if it is installed. Other analyzers are any
functions from a text to its terms. Counts of words with the same stem are added by a product with a
0/1 matrix, so that only distinct words are stemmed. ``weighting`` converts counts to weights.
"""

import os
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import compress
from operator import ne
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from vbnmf.text.checks import is_int

try:
    from vbnmf.text import _native
except ImportError:  # installed without a compiler
    _native = None

Analyzer = Callable[[str], Iterable[str]]
_BLOCK = 1 << 20  # tokens that are held as a list, which takes more memory than an array
LONGEST_TERM = 255
"""Number of characters of a term at most. Longer ones are data, such as files in Base64."""


def compiled() -> Any:
    """Return the module of compiled code; None without it, or if ``VBNMF_KERNEL`` is "scipy"."""
    return None if os.environ.get("VBNMF_KERNEL") == "scipy" else _native


class Splitter(ABC):
    """A way to split texts into terms, of which compiled code can do a part."""

    @abstractmethod
    def __call__(self, text: str) -> Iterable[str]:
        """Return the terms of a text."""

    def count(self, text: str, counts: Any) -> None:
        """Count the same terms with compiled code; ``counts`` are ``_native.Counts``."""
        counts.terms(self(text))


def count_with(analyze: Analyzer, text: str, counts: Any) -> None:
    """Count the terms of a text with compiled code, as far as it can split the text."""
    if isinstance(analyze, Splitter):
        analyze.count(text, counts)
    else:
        counts.terms(analyze(text))


class KnownTerms:
    """Terms that have numbers: those of a vocabulary.

    Parameters
    ----------
    names : sequence of str
        The terms. Their places are their numbers.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names

    def __len__(self) -> int:
        return len(self.names)

    def __getstate__(self) -> dict[str, Any]:
        return {"names": self.names}  # tables are made again on use, and compiled ones are no data

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Number of each term."""
        return numbered(self.names)

    @cached_property
    def table(self) -> Any:
        """The same for compiled code, ``_native.Terms``."""
        return _native.Terms(self.names)


def check_iterable(documents: Iterable[str]) -> Iterable[str]:
    """Return the documents; raise ValueError for a single string."""
    if isinstance(documents, str | bytes):
        raise ValueError(
            f"Expected an iterable of documents; got a single {type(documents).__name__}. "
            "Put it in a list: [text]."
        )
    return documents


def count_documents(documents: Iterable[str], analyze: Analyzer) -> tuple[sp.csr_matrix, list[str]]:
    """Count the terms of each document in one pass over an iterable.

    Returns
    -------
    counts : csr_matrix of int32 of shape (n_documents, n_terms)
        Counts of terms.
    terms : list of str of length n_terms
        Terms in the order of their first occurrence.
    """
    native = compiled()
    if isinstance(analyze, Splitter) and native is not None:
        table = native.Terms([])
        counts = _counted(documents, analyze, native.Counts(table, adds=True))
        return sp.csr_matrix(counts, shape=(len(counts[2]) - 1, len(table))), table.names()
    vocabulary: defaultdict[str, int] = defaultdict()
    vocabulary.default_factory = vocabulary.__len__
    number_of = vocabulary.__getitem__
    numbers: list[int] = []
    ends, blocks = [0], []
    for document in _checked(documents):
        numbers += map(number_of, analyze(document))
        ends.append(len(numbers))
        if len(numbers) >= _BLOCK:
            blocks.append(_added(numbers, ends))
            numbers, ends = [], [0]
    blocks.append(_added(numbers, ends))
    terms = list(vocabulary)
    for term in terms:
        if not isinstance(term, str):
            raise TypeError(f"The analyzer must return strings; got {type(term).__name__}.")
    for block in blocks:
        block.resize(block.shape[0], len(terms))
    return sp.vstack(blocks, format="csr"), terms


def count_known(documents: Iterable[str], analyze: Analyzer, known: KnownTerms) -> sp.csr_matrix:
    """Count only known terms, (n_documents, len(known)) of int32, with sorted indices."""
    native = compiled()
    if isinstance(analyze, Splitter) and native is not None:
        counts = _counted(documents, analyze, native.Counts(known.table, adds=False))
        return sp.csr_matrix(counts, shape=(len(counts[2]) - 1, len(known)))
    counts, terms = count_documents(documents, analyze)
    return merge_columns(counts, terms, known.numbers)


def _checked(documents: Iterable[str]) -> Iterator[str]:
    """Yield documents; raise TypeError for one that is not a string."""
    for row, document in enumerate(check_iterable(documents)):
        if not isinstance(document, str):
            raise TypeError(
                f"Documents must be strings; number {row} (from 0) is "
                f"{type(document).__name__}. Decode bytes, and replace missing text by ''."
            )
        yield document


def _counted(
    documents: Iterable[str], analyze: Splitter, counts: Any
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[Any]]:
    """Count documents with compiled code; return the data, columns and ends of compressed rows."""
    for document in _checked(documents):
        analyze.count(document, counts)
        counts.end()
    data, columns, ends = counts.taken()
    narrow = ends[-1] <= np.iinfo(np.int32).max
    return data, columns, ends.astype(np.int32) if narrow else ends


def _added(numbers: list[int], ends: list[int]) -> sp.csr_matrix:
    """Return the counts of the terms of documents, of which `ends` has the beginnings and ends."""
    n_terms = max(numbers, default=0) + 1
    ones, indices = np.ones(len(numbers), np.int32), np.array(numbers, np.int32)
    counts = sp.csr_matrix((ones, indices, np.array(ends)), shape=(len(ends) - 1, n_terms))
    counts.sum_duplicates()
    return counts


def without_long(
    counts: sp.csr_matrix, terms: list[str]
) -> tuple[sp.csr_matrix, list[str], str | None]:
    """Leave out terms of more than ``LONGEST_TERM`` characters.

    Returns
    -------
    counts : csr_matrix of int32 of shape (n_documents, n_kept)
        Counts of the terms that are kept.
    terms : list of str of length n_kept
        These terms.
    omitted : str or None
        The first term that was left out; None if all are kept.
    """
    omitted = next((term for term in terms if len(term) > LONGEST_TERM), None)
    if omitted is None:
        return counts, terms, None
    kept = np.fromiter((len(term) <= LONGEST_TERM for term in terms), np.bool_, len(terms))
    return counts[:, kept], list(compress(terms, kept)), omitted


def in_order(counts: sp.csr_matrix, terms: Sequence[str]) -> tuple[list[str], sp.csr_matrix]:
    """Sort the columns of counts by their terms, and add the columns that have the same term.

    Returns
    -------
    terms : list of str
        The different terms in alphabetical order.
    counts : csr_matrix of int32 of shape (n_documents, n_different_terms)
        Their counts, with sorted indices.
    """
    order = sorted(range(len(terms)), key=terms.__getitem__)
    ordered = [terms[column] for column in order]
    is_new = np.fromiter(map(ne, ordered, ["", *ordered]), np.bool_, len(ordered))
    is_new[:1] = True
    target = np.empty(len(ordered), np.int32)
    target[order] = np.cumsum(is_new) - 1
    distinct = [term for term, new in zip(ordered, is_new.tolist(), strict=True) if new]
    indices = target[counts.indices] if len(ordered) else counts.indices
    shape = (counts.shape[0], len(distinct))
    merged = sp.csr_matrix((counts.data, indices, counts.indptr), shape=shape)
    merged.sum_duplicates()
    return distinct, merged


def numbered(terms: Sequence[str]) -> dict[str, int]:
    """Return the position of each term."""
    return {term: number for number, term in enumerate(terms)}


def merge_columns(
    counts: sp.csr_matrix, terms: Sequence[str], columns: Mapping[str, int]
) -> sp.csr_matrix:
    """Add the columns of `counts` that have the same term.

    Parameters
    ----------
    counts : csr_matrix of shape (n_documents, len(terms))
        Counts of terms.
    terms : sequence of str
        Term of each column. Several columns may have the same term (a stem). Terms that are not in
        `columns` are dropped.
    columns : mapping of str to int
        Column of each term in the result, from 0 to ``len(columns) - 1``.

    Returns
    -------
    csr_matrix of int32 of shape (n_documents, len(columns))
        Sums of counts, with sorted indices.
    """
    merged = counts @ merging_matrix(terms, columns)
    merged.sort_indices()
    return merged


def merging_matrix(terms: Sequence[str], columns: Mapping[str, int]) -> sp.csr_matrix:
    """Return the 0/1 matrix, shape (len(terms), len(columns)), that adds up columns of counts."""
    target = np.fromiter((columns.get(term, -1) for term in terms), np.int64, len(terms))
    (known,) = np.nonzero(target >= 0)
    return sp.csr_matrix(
        (np.ones(len(known), np.int32), (known, target[known])), shape=(len(terms), len(columns))
    )


def document_frequencies(counts: sp.csr_matrix) -> NDArray[np.int64]:
    """Count the documents with each term, (n_terms,)."""
    return np.bincount(counts.indices, minlength=counts.shape[1]).astype(np.int64)


def passes(
    frequencies: NDArray[np.int64], n_documents: int, min_df: float, max_df: float
) -> NDArray[np.bool_]:
    """Return which terms are in at least `min_df` and at most `max_df` documents."""
    # Divide instead of multiplying, so that 7 of 100 documents are exactly the share 0.07.
    shares = frequencies / n_documents
    low = frequencies if is_int(min_df) else shares
    high = frequencies if is_int(max_df) else shares
    found: NDArray[np.bool_] = (low >= min_df) & (high <= max_df)
    return found


def none_passes(n_terms: int, n_documents: int, min_df: float, max_df: float) -> ValueError:
    """Return the error for a vocabulary of which no term passes `min_df` and `max_df`."""
    return ValueError(
        f"None of the {n_terms} terms is in at least min_df={min_df} and at most max_df={max_df} "
        f"of the {n_documents} documents. Decrease min_df or increase max_df."
    )


def no_term(n_documents: int, token_pattern: str) -> ValueError:
    """Return the error for documents without any term, or for no documents."""
    if not n_documents:
        return ValueError("There are no documents. Pass at least one text with a word in it.")
    return ValueError(
        f"No term in {n_documents:,} documents. Expected at least one document with a word that "
        f"matches token_pattern={token_pattern!r} and is not a stop word."
    )


def commonest_forms(
    counts: sp.csr_matrix, forms: Sequence[str], stems: Sequence[str]
) -> dict[str, str]:
    """Return the commonest form of each stem. Ties are broken alphabetically.

    A form has only one stem, so the forms of different stems are different.

    Parameters
    ----------
    counts : csr_matrix of shape (n_documents, len(forms))
        Counts of forms.
    forms, stems : sequences of str
        Term of each column before and after stemming.
    """
    totals = np.bincount(counts.indices, weights=counts.data, minlength=len(forms))
    return commonest_of(forms, stems, totals)


def commonest_of(
    forms: Sequence[str], stems: Sequence[str], totals: NDArray[np.number[Any]]
) -> dict[str, str]:
    """Return the same from how often each form occurs, shape (len(forms),)."""
    best: dict[str, tuple[float, str]] = {}
    for stem, form, total in zip(stems, forms, totals.tolist(), strict=True):
        rival = (-total, form)
        if stem not in best or rival < best[stem]:
            best[stem] = rival
    return {stem: form for stem, (_, form) in best.items()}
