"""Compiled counting finds the terms of the Python code, whatever the text."""

import pickle
import random
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from properties import examples

from vbnmf.text import DocumentVectorizer, counting
from vbnmf.text.analyzers import ByScript, SplitWords, WithoutMarkup, build_analyzer
from vbnmf.text.counting import KnownTerms, Splitter, count_documents, count_known
from vbnmf.text.features import KINDS, Parts, Pieces, Tokens, TrainingTexts

pytestmark = pytest.mark.skipif(counting._native is None, reason="installed without a compiler")

# what has rules of its own: case, marks, scripts without spaces, emoji, spaces, and broken text
ODD = (
    *(
        "İ",
        "ı",
        "ß",
        "ẞ",
        "ΣΑΣ",
        "ς",
        "K",
        "Ω",
        "ǅ",
        "ﬁ",
        "é",
        "e\u0301",
        "n\u0303o",
        "\u0301",
        "क्षि",
    ),
    *(
        "北京",
        "の",
        "ก็",
        "한국",
        "\u1112\u1161\u11ab",
        "ﾊﾟ",
        "\uf900",
        "𠀀",
        "𝔘𝔫",
        "ⅷ",
        "²",
        "٣",
        "_",
        "__",
    ),
    *("👍🏽", "👨‍👩‍👧", "🇩🇪", "❤\ufe0f", "a\u200db", "soft\u00adhyphen", "\ufeff", "\u180e"),
    *(
        "\x00",
        "\x1c",
        "\x85",
        "\u00a0",
        "\u2028",
        "\u3000",
        "\t\n",
        "\ud83d",
        "\udc00x",
        "<b>b</b>&amp;",
    ),
    *(
        "Don't",
        "I",
        "a",
        "ab",
        "ABBA",
        "x1",
        "123456789",
        "a_long_word_of_letters",
        "!?",
        "«»",
        "…",
    ),
)
texts = st.lists(
    st.one_of(st.sampled_from(ODD), st.text(max_size=6), st.sampled_from([" ", "", "."])),
    max_size=12,
).map("".join)

SPLITS = {
    "words": SplitWords(True, ()),
    "words as written": SplitWords(False, ()),
    "no stop words": SplitWords(True, ("ab", "abba", "ß", "a_long_word_of_letters")),
    "by script": build_analyzer("auto", r"(?u)\b\w\w+\b", True, (1, 1), ("ab", "北")),
    "of two": build_analyzer("auto", r"(?u)\b\w\w+\b", True, (1, 2), ()),
    "without markup": WithoutMarkup(ByScript(SplitWords(True, ()), str.split)),
    "marks and pairs": Tokens(KINDS, frozenset("ai茶")),
    "marks": Tokens(("marks",), frozenset()),
    "parts": Parts(),
    "pieces": Pieces(),
}


def in_python(work):
    """Return a result without compiled code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "_native", None)
        return work()


def assert_same(split, documents):
    counts, terms = count_documents(documents, split)
    expected, names = in_python(lambda: count_documents(documents, split))
    assert terms == names
    assert counts.shape == expected.shape
    assert counts.has_canonical_format
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(counts, name), getattr(expected, name))
    known = KnownTerms(sorted(names)[::2])
    some = count_known(documents, split, known)
    wanted = in_python(lambda: count_known(documents, split, known))
    assert some.shape == wanted.shape
    assert some.dtype == wanted.dtype
    assert (some != wanted).nnz == 0
    assert some.has_sorted_indices


@pytest.mark.parametrize("name", SPLITS)
def test_splits_are_compiled(name):
    assert isinstance(SPLITS[name], Splitter)


@examples(500)
@given(documents=st.lists(texts, max_size=4))
@example(documents=list(ODD))
@example(documents=["".join(ODD), " ".join(ODD).upper()])
@pytest.mark.parametrize("name", SPLITS)
def test_the_same_terms_and_counts(name, documents):
    assert_same(SPLITS[name], documents)


@pytest.mark.parametrize("name", SPLITS)
def test_every_character(name):
    """Each character alone, inside a word, and between words."""
    codes = range(0x110000) if name == "words" else [*range(0x3400), *range(0xA000, 0x11000, 7)]
    characters = [chr(code) for code in codes]
    step = 4096
    assert_same(
        SPLITS[name],
        [
            " ".join(f"{c} a{c}B x {c}{c}" for c in characters[begin : begin + step])
            for begin in range(0, len(characters), step)
        ],
    )


def test_many_terms_of_all_lengths():
    """The table of terms grows, and long terms are told apart by all their letters."""
    draw = random.Random(0)  # noqa: S311
    words = ["".join(draw.choices("ab", k=draw.randint(2, 40))) for _ in range(20_000)]
    words += [f"{'x' * n}{end}" for n in range(1, 70) for end in "yz"]
    draw.shuffle(words)
    documents = [" ".join(words[i : i + 300]) for i in range(0, len(words), 50)]
    assert_same(SPLITS["words"], documents)


def test_documents_of_few_and_of_most_terms():
    """Terms of a document are put into order in two ways."""
    every = " ".join(f"w{i}" for i in range(5000))
    documents = [every, "w4999 w17 w17 w3", every, "", "w1", "w0 " * 3]
    assert_same(SPLITS["words"], documents)


def test_a_model_is_the_same_without_compiled_code():
    documents = [
        "Tea! green tea",
        "the tea, 茶 leaves",
        "coffee? beans",
        "roast the coffee",
        "",
    ] * 3
    for options in ({}, {"stem": "english"}, {"stop_words": ["the"]}, {"strip": "html"}):
        results = []
        for run in (lambda work: work(), in_python):

            def fitted(options=options):
                vectorizer = DocumentVectorizer(**options)
                X = vectorizer.fit_transform(documents)
                return vectorizer, X, vectorizer.transform(["green coffee, unknown 茶", "tea"])

            results.append(run(fitted))
        (a, *of_a), (b, *of_b) = results
        assert a.vocabulary_ == b.vocabulary_
        for one, other in zip(of_a, of_b, strict=True):
            np.testing.assert_array_equal(one.toarray(), other.toarray(), strict=True)
    X = a.transform(documents)
    features = [
        run(
            lambda: TrainingTexts(documents, X, a.idf_, a.vocabulary_, 50).fit(KINDS)[0].transform(
                ["Tea? 茶 beans"], X[:1], a.idf_
            )
        )
        for run in (lambda work: work(), in_python)
    ]  # fmt: skip
    np.testing.assert_array_equal(*(found.toarray() for found in features), strict=True)


def test_a_vectorizer_can_be_pickled_after_use():
    vectorizer = DocumentVectorizer().fit(["green tea", "black coffee"])
    expected = vectorizer.transform(["tea coffee"]).toarray()
    again = pickle.loads(pickle.dumps(vectorizer))
    np.testing.assert_array_equal(again.transform(["tea coffee"]).toarray(), expected)


@pytest.mark.parametrize("bad", [None, b"tea", 3])
def test_what_is_no_text_is_refused(bad):
    with pytest.raises(TypeError, match=r"number 1 \(from 0\)"):
        count_documents(["tea", bad], SPLITS["words"])
    table = counting._native.Terms([])
    with pytest.raises(TypeError):
        counting._native.Counts(table, adds=True).words(bad, True, None)


def test_it_can_be_turned_off():
    code = "from vbnmf.text.counting import compiled; raise SystemExit(compiled() is not None)"
    for kernel, expected in (("scipy", 0), ("", 1)):
        run = subprocess.run(  # noqa: S603
            [sys.executable, "-c", code], env={"VBNMF_KERNEL": kernel}, check=False
        )
        assert run.returncode == expected
