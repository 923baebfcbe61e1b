"""Corpora on which words look wrong, and vocabularies that are cut, are said aloud."""

import re
import warnings

import numpy as np
import pytest
from cliruns import ok, write_csv

from vbnmf.shards.folder import Shards
from vbnmf.text import (
    DocumentVectorizer,
    SuspiciousWordsWarning,
    VocabularyCutWarning,
    vectorizer,
)

CHARACTERS = "天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬藏闰余成岁律吕调阳云腾致雨露结为霜"


def sentences(n, space=""):
    rng = np.random.default_rng(0)
    return [space.join(rng.choice(list(CHARACTERS), 15)) for _ in range(n)]


def test_sentences_taken_for_words():
    message = (
        r"80 of 80 documents have a single word and 100% of all words are in only one document"
    )
    with pytest.warns(SuspiciousWordsWarning, match=message) as caught:
        DocumentVectorizer(analyzer="word").fit(sentences(80))
    assert "analyzer='auto' (--analyzer auto)" in str(caught[0].message)
    # also if each of them comes twice
    with pytest.warns(SuspiciousWordsWarning, match="160 of 160 documents have a single word "):
        DocumentVectorizer(analyzer="word").fit(2 * sentences(80))


def test_identifiers_for_text():
    rng = np.random.default_rng(0)
    texts = [" ".join(f"{n:x}" for n in rng.integers(1e6, 1e9, 6)) for _ in range(60)]
    with pytest.warns(SuspiciousWordsWarning, match="100% of all words are in only one document"):
        DocumentVectorizer().fit(texts)


@pytest.mark.parametrize(
    ("texts", "options"),
    [
        (sentences(80), {}),
        (sentences(20), {"analyzer": "word"}),  # too few to tell
        ([f"word{n % 7}" for n in range(90)], {}),  # one word each, and it is shared
        (["red car", "blue car"], {}),
    ],
)
def test_nothing_to_say(texts, options):
    with warnings.catch_warnings():
        warnings.simplefilter("error", SuspiciousWordsWarning)
        DocumentVectorizer(**options).fit(texts)


LONG = ["green tea " + "ab" * 10_000, "black tea " + "x" * 255, "green " + "x" * 256]
LEFT_OUT = r"Left out words of more than 255 characters, such as 'abab\w+…' of 20,000 characters"


@pytest.mark.parametrize("stem", [None, "english"])
def test_endless_words_are_left_out_and_it_is_said_once(stem):
    with pytest.warns(SuspiciousWordsWarning, match=LEFT_OUT) as caught:
        fitted = DocumentVectorizer(weighting="counts", stem=stem).fit(LONG)
    assert len(caught) == 1
    assert sorted(fitted.vocabulary_) == ["black", "green", "tea", "x" * 255]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fitted.transform(LONG).sum() == 6


def test_nothing_but_endless_words():
    with (
        pytest.warns(SuspiciousWordsWarning, match=LEFT_OUT),
        pytest.raises(ValueError, match="No term in 2 documents"),
    ):
        DocumentVectorizer().fit(["ab" * 10_000, "x" * 256])


def test_endless_words_are_left_out_of_shards(tmp_path):
    """In parts, the vocabulary and the warning are the same."""
    write_csv(tmp_path / "a.csv", LONG, "aab")
    said = ok(
        "vectorize", tmp_path / "a.csv", "--label", "label", "--out", tmp_path / "s",
        "--n-jobs", 1, "--shard-nonzeros", 4,
    ).err  # fmt: skip
    assert len(re.findall(LEFT_OUT, said)) == 1
    assert sorted(Shards(tmp_path / "s").terms) == ["black", "green", "tea", "x" * 255]


def test_default_number_of_terms_is_not_enough(monkeypatch):
    monkeypatch.setattr(vectorizer, "DEFAULT_MAX_TERMS", 3)
    texts = ["tea cup", "tea pot", "tea cup pot rare", "odd"]
    message = r"Kept 3 of 5 terms.*The omitted terms are in at most 1 documents.*max_terms=None"
    with pytest.warns(VocabularyCutWarning, match=message):
        found = DocumentVectorizer(max_terms=3).fit(texts)
    assert list(found.vocabulary_) == ["cup", "pot", "tea"]
    with warnings.catch_warnings():
        warnings.simplefilter("error", VocabularyCutWarning)
        DocumentVectorizer(max_terms=2).fit(texts)  # asked for
