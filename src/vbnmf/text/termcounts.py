"""Add up counts of terms in bounded memory, and number the terms that are kept.

Terms get provisional numbers as they come. When there are too many different terms for memory, they
are written to disk in alphabetical order, and numbering begins again with the next *generation*. In
the end all generations are merged. So the counts are exact.
"""

import json
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbnmf.text.counting import none_passes, passes

_BLOCK = 1 << 16  # terms that are handed over at a time
_LINE = 1 << 12  # terms in a line of the file of a generation
_Columns = tuple[list[str], NDArray[np.int64], NDArray[np.int64]]  # terms, counts and numbers
_NOTHING: _Columns = ([], np.zeros(0, np.int64), np.zeros(0, np.int64))


class Block(NamedTuple):
    """Some terms in alphabetical order."""

    terms: list[str]
    counts: NDArray[np.int64]
    places: NDArray[np.int64]  # position in the block, generation and provisional number: (n, 3)


class TermCounts:
    """Counts of terms, of which at most about `limit` are in memory.

    Parameters
    ----------
    path : path
        Beginning of the names of files for generations.
    limit : int
        Number of different terms after which a generation ends.

    Attributes
    ----------
    generation : int
        The present generation, from 0.
    """

    def __init__(self, path: Path, limit: int) -> None:
        self._path, self._limit = path, limit
        self._sizes: list[int] = []  # of generations that were written
        self._begin()

    @property
    def generation(self) -> int:
        """The present generation, from 0."""
        return len(self._sizes)

    def add(self, terms: Sequence[str], counts: Sequence[int]) -> NDArray[np.int32]:
        """Add counts of different terms, and return their provisional numbers."""
        if len(self._held) > self._limit:
            self._spill()
        numbers = np.fromiter(map(self._held.__getitem__, terms), np.int32, len(terms))
        if len(self._held) > len(self._counts):
            self._counts.resize(2 * len(self._held), refcheck=False)  # the rest is 0
        self._counts[numbers] += np.asarray(counts, np.int64)
        return numbers

    def blocks(self) -> Iterator[Block]:
        """Yield all terms in alphabetical order with their counts, in blocks."""
        if not self._sizes:
            yield from self._held_blocks()
            return
        if self._held:
            self._spill()
        runs = [_Run(self._file(each, "jsonl")) for each in range(self.generation)]
        while any(run.terms for run in runs):
            # all terms up to this one have been read, in every generation
            last = min(run.terms[-1] for run in runs if run.terms)
            taken = [run.take(last) for run in runs]
            terms = sorted({term for of, _, _ in taken for term in of})
            position = {term: i for i, term in enumerate(terms)}
            total = np.zeros(len(terms), np.int64)
            places = []
            for generation, (of, counts, numbers) in enumerate(taken):
                at = np.fromiter(map(position.__getitem__, of), np.int64, len(of))
                total[at] += counts
                places.append(np.stack([at, np.full_like(at, generation), numbers], axis=1))
            yield Block(terms, total, np.concatenate(places))

    def select(
        self, n_documents: int, min_df: float, max_df: float
    ) -> tuple[list[str], NDArray[np.int64], int | None]:
        """Select terms by the number of documents that have them, but not more than the limit.

        Parameters
        ----------
        n_documents : int
            Number of documents. The counts must be numbers of documents, too.
        min_df, max_df : int or float
            As in ``DocumentVectorizer``. If more terms pass than the limit, `min_df` is raised.

        Returns
        -------
        terms : list of str
            Terms that pass, in alphabetical order.
        counts : ndarray of int of shape (n_terms,)
            Number of documents with each.
        raised : int or None
            The number of documents to which `min_df` was raised; None if it was not.
        """
        n_terms, sizes = 0, Counter[int]()  # number of passing terms by number of documents
        for block in self.blocks():
            n_terms += len(block.terms)
            sizes.update(block.counts[passes(block.counts, n_documents, min_df, max_df)].tolist())
        if not sizes:
            raise none_passes(n_terms, n_documents, min_df, max_df)
        least = _least(sizes, self._limit)
        kept: list[str] = []
        counts: list[NDArray[np.int64]] = []
        self._final = [self._numbers_of(generation) for generation in range(self.generation + 1)]
        for block in self.blocks():
            here = passes(block.counts, n_documents, min_df, max_df) & (block.counts >= least)
            final = np.where(here, len(kept) + np.cumsum(here) - 1, -1)
            position, generation, number = block.places.T
            for each in np.unique(generation):
                of = generation == each
                self._final[each][number[of]] = final[position[of]]
            kept += [block.terms[i] for i in np.flatnonzero(here)]
            counts.append(block.counts[here])
        return kept, np.concatenate(counts), None if least == min(sizes) else least

    def final(self, generation: int, numbers: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the position of terms among the selected ones; -1 if a term was not selected."""
        return np.asarray(self._final[generation][numbers])

    def _begin(self) -> None:
        self._held: defaultdict[str, int] = defaultdict()
        self._held.default_factory = self._held.__len__
        self._counts = np.zeros(1024, np.int64)

    def _held_blocks(self) -> Iterator[Block]:
        terms = sorted(self._held)
        for first in range(0, len(terms), _BLOCK):
            block = terms[first : first + _BLOCK]
            numbers = np.fromiter(map(self._held.__getitem__, block), np.int64, len(block))
            places = np.stack([np.arange(len(block)), np.zeros_like(numbers), numbers], axis=1)
            yield Block(block, self._counts[numbers], places)

    def _spill(self) -> None:
        """Write the present generation to disk, and begin the next one."""
        with open(self._file(self.generation, "jsonl"), "w", encoding="ascii") as file:
            for block in self._held_blocks():
                columns = [block.terms, block.counts.tolist(), block.places[:, 2].tolist()]
                for first in range(0, len(block.terms), _LINE):
                    part = [column[first : first + _LINE] for column in columns]
                    file.write(f"{json.dumps(part)}\n")
        self._sizes.append(len(self._held))
        self._held.clear()  # it refers to itself, so it is not freed at once
        self._begin()

    def _numbers_of(self, generation: int) -> NDArray[np.int32]:
        """Return an array on disk for the final numbers of a generation."""
        n = (*self._sizes, len(self._held))[generation]
        path = self._file(generation, "npy")
        numbers: NDArray[np.int32] = np.lib.format.open_memmap(path, "w+", np.int32, (max(n, 1),))
        return numbers

    def _file(self, generation: int, ending: str) -> Path:
        return self._path.with_name(f"{self._path.name}-{generation:04d}.{ending}")


class _Run:
    """The terms of a generation in alphabetical order, of which one line is in memory."""

    def __init__(self, path: Path) -> None:
        self._lines = _lines(path)
        self._line = next(self._lines, _NOTHING)

    @property
    def terms(self) -> list[str]:
        """Terms that were read and not taken; empty at the end of the generation."""
        return self._line[0]

    def take(self, last: str) -> _Columns:
        """Return the terms of the line up to ``last``. If none is left, read the next line."""
        terms, counts, numbers = self._line
        n = bisect_right(terms, last)
        self._line = terms[n:], counts[n:], numbers[n:]
        if not self.terms:
            self._line = next(self._lines, _NOTHING)
        return terms[:n], counts[:n], numbers[:n]


def _lines(path: Path) -> Iterator[_Columns]:
    with open(path, encoding="ascii") as file:
        for line in file:
            terms, counts, numbers = json.loads(line)
            yield terms, np.array(counts, np.int64), np.array(numbers, np.int64)


def _least(sizes: Counter[int], limit: int) -> int:
    """Return the smallest number of documents that at most `limit` terms reach."""
    total, least = 0, None
    for frequency in sorted(sizes, reverse=True):
        total += sizes[frequency]
        if total > limit:
            break
        least = frequency
    if least is None:
        raise ValueError(
            f"{sizes[max(sizes)]:,} terms are in the same number of documents, and at most "
            f"{limit:,} may be kept. Increase max_vocabulary (--max-vocabulary), or decrease "
            "max_df (--max-df)."
        )
    return least
