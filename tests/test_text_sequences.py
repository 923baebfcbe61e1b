"""Tokens in their order, as the vectorizer counts them."""

import warnings
from collections import Counter

import pytest

from vbnmf.text import DocumentVectorizer
from vbnmf.text.vectorizer import token_sequences

TEXTS = ["The apples, the RED apple and apples!", "", "Cars and car: a red car?", "zebras"]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"stem": "english"},
        {"stop_words": ["the", "and"], "stem": "english"},
        {"lowercase": False},
        {"token_pattern": r"[a-z]{4,}"},
        {"analyzer": str.split},
    ],
)
def test_tokens_are_those_that_are_counted(options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        vectorizer = DocumentVectorizer(weighting="counts", **options)
        X = vectorizer.fit_transform(TEXTS).toarray()
    found = token_sequences(vectorizer, iter(TEXTS))
    assert len(found) == 4
    for row, tokens in zip(X, found, strict=True):
        counts = Counter(tokens)
        assert row.tolist() == [counts[term] for term in vectorizer.vocabulary_]
        assert row.sum() == len(tokens)


def test_order_is_kept_and_unknown_words_stay():
    vectorizer = DocumentVectorizer(stem="english", stop_words=["the"]).fit(["red apples", "car"])
    assert token_sequences(vectorizer, ["The unknown apple is the red one"]) == [
        ["unknown", "appl", "is", "red", "one"]
    ]


@pytest.mark.parametrize(
    "options", [{"ngram_range": (1, 2)}, {"ngram_range": (2, 2)}, {"analyzer": "char"}]
)
def test_terms_that_overlap_have_no_order(options):
    vectorizer = DocumentVectorizer(**options).fit(["red apples fall", "two cars"])
    assert token_sequences(vectorizer, ["red apples"]) is None
