"""Words and counts found in a faster way are those of scikit-learn; counts in parts add up."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.feature_extraction.text import CountVectorizer

from vbnmf.text import counting, termcounts, weighting
from vbnmf.text.analyzers import TOKEN_PATTERN, build_analyzer
from vbnmf.text.counting import count_documents, in_order
from vbnmf.text.termcounts import TermCounts

TEXTS = ["to be or not to be", "", "be that as it may", "it may not be", "or"]


@given(
    st.text(st.characters(max_codepoint=0x17F)) | st.text(st.characters(max_codepoint=127)),
    st.booleans(),
    st.sampled_from([(), ("to", "be", "__")]),
)
def test_words_are_those_of_scikit_learn(text, lowercase, stop_words):
    theirs = CountVectorizer(lowercase=lowercase, stop_words=list(stop_words) or None)
    ours = build_analyzer("word", TOKEN_PATTERN, lowercase, (1, 1), stop_words)
    assert list(ours(text)) == theirs.build_analyzer()(text)


@pytest.mark.parametrize("size", [1, 4, 1000])
def test_counts_are_those_of_scikit_learn(size, monkeypatch):
    monkeypatch.setattr(counting, "_BLOCK", size)
    counts, terms = count_documents(TEXTS, str.split)
    assert terms == list(dict.fromkeys(" ".join(TEXTS).split()))
    theirs = CountVectorizer(vocabulary=terms).transform(TEXTS)  # words of two letters
    assert_array_equal(counts.toarray(), theirs.toarray())


def test_columns_in_order():
    counts, terms = count_documents(TEXTS, str.split)
    first_letters = [term[0] for term in terms]
    ordered, merged = in_order(counts, first_letters)
    assert ordered == sorted(set(first_letters))
    for letter, column in zip(ordered, merged.toarray().T, strict=True):
        words = [sum(word[0] == letter for word in text.split()) for text in TEXTS]
        assert column.tolist() == words
    assert merged.has_sorted_indices
    assert in_order(*count_documents(["", ""], str.split))[1].shape == (2, 0)


def test_sums_of_weights_do_not_depend_on_the_order(monkeypatch):
    weights = np.random.default_rng(0).random(1000) ** 8
    weights[::7] = 0
    whole = weighting.summed(weights)
    monkeypatch.setattr(weighting, "_BLOCK", 13)
    halves = [weighting.summed(half) for half in (weights[600:], weights[:600])]
    assert whole == tuple(map(sum, zip(*halves, strict=True)))
    assert whole == (pytest.approx(weights.sum() * 2**62, rel=1e-14), (weights > 0).sum())


# Counts of terms in bounded memory

PARTS = [
    ({"b": 2, "a": 1}),
    ({"c": 1, "é": 3}),
    ({"a": 4, "d": 1, "\ud800": 1}),
    ({"d": 9, "b": 1}),
]
TOTALS = {"a": 5, "b": 3, "c": 1, "d": 10, "é": 3, "\ud800": 1}


def counted(tmp_path, limit):
    counts = TermCounts(tmp_path / "terms", limit)
    numbers = []
    for part in PARTS:
        found = counts.add(list(part), list(part.values()))
        numbers.append((list(part), counts.generation, found))
    return counts, numbers


@pytest.mark.parametrize("line", [1, 2, 4096])
@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_counts_add_up_with_any_limit(tmp_path, monkeypatch, limit, line):
    monkeypatch.setattr(termcounts, "_LINE", line)  # terms in a line of a file
    counts, _ = counted(tmp_path, limit)
    assert (counts.generation > 0) == (limit < 6)
    for _ in range(2):  # it can be asked again
        blocks = list(counts.blocks())
        found = {t: c for block in blocks for t, c in zip(block.terms, block.counts, strict=True)}
        assert found == TOTALS
        assert list(found) == sorted(TOTALS)


def test_terms_that_were_written_do_not_stay_in_memory(tmp_path):
    counts = TermCounts(tmp_path / "terms", 1)
    counts.add(["a", "b"], [1, 1])
    held = counts._held
    counts.add(["c"], [1])
    assert (held, list(counts._held)) == ({}, ["c"])


@pytest.mark.parametrize(
    ("limit", "kept", "raised"),
    [(100, "abcdé", None), (5, "abdé", 3), (4, "abdé", 3), (3, "ad", 5), (1, "d", 10)],
)
def test_min_df_is_raised_until_terms_fit(tmp_path, limit, kept, raised):
    counts, numbers = counted(tmp_path, limit)
    kept = [*kept, "\ud800"] if raised is None else list(kept)
    terms, frequencies, at = counts.select(20, 1, 20)
    assert (terms, at) == (kept, raised)
    assert frequencies.tolist() == [TOTALS[term] for term in kept]
    for of_part, generation, found in numbers:
        final = counts.final(generation, found).tolist()
        assert final == [kept.index(term) if term in kept else -1 for term in of_part]


def test_a_limit_that_no_number_of_documents_meets(tmp_path):
    counts = TermCounts(tmp_path / "terms", 1)
    counts.add(["a", "b"], [2, 2])
    with pytest.raises(ValueError, match=r"2 terms are in the same number.*--max-vocabulary"):
        counts.select(3, 1, 1.0)
    with pytest.raises(ValueError, match="None of the 2 terms"):
        counts.select(3, 3, 1.0)
