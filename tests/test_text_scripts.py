"""Terms in any script: words, pairs of characters, emoji; what looks the same is the same term."""

import time
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from sklearn.feature_extraction.text import CountVectorizer

from vbnmf.text import DocumentVectorizer
from vbnmf.text.splitting import is_plain, tokens
from vbnmf.text.vectorizer import token_sequences

plain = CountVectorizer().build_analyzer()


def whole(text, **options):
    """Tokens that are neither inside another nor at the edge of a run."""
    return [token.form for token in tokens(text, **options) if not token.is_part]


def parts(text):
    return [token.form for token in tokens(text) if token.is_part]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        # spaces separate words
        ("Größe naïve cœur", ["größe", "naïve", "cœur"]),
        ("Мама мыла раму", ["мама", "мыла", "раму"]),
        ("η γλώσσα μου", ["γλώσσα", "μου"]),
        ("हिन्दी में की", ["हिन्दी", "में", "की"]),
        ("বাংলা ভাষা", ["বাংলা", "ভাষা"]),
        ("தமிழ் மொழி", ["தமிழ்", "மொழி"]),
        ("اللغة العربية مُحَمَّد", ["اللغة", "العربية", "مُحَمَّد"]),
        ("עִבְרִית שפה", ["עִבְרִית", "שפה"]),
        ("한국어 문장은 띄어 쓴다", ["한국어", "문장은", "띄어", "쓴다"]),
        ("አማርኛ ቋንቋ", ["አማርኛ", "ቋንቋ"]),
        ("བོད་ཡིག", ["བོད", "ཡིག"]),  # syllables
        # nothing separates them
        ("北京大学", ["北京", "京大", "大学"]),
        ("東京タワー", ["東京", "京タ", "タワ", "ワー"]),
        ("ภาษาไทยง่าย", ["ภาษา", "ษาไท", "ไทย", "ยง่า", "ง่าย"]),
        ("ພາສາລາວ", ["ພາສາ", "ສາລາ", "ລາວ"]),
        ("ភាសាខ្មែរ", ["ភាសា", "សាខ្មែ", "ខ្មែរ"]),
        ("မြန်မာစာ", ["မြန်", "န်မာ", "မာစာ"]),
        ("ꦧꦱꦗꦮ", ["ꦧꦱ", "ꦱꦗ", "ꦗꦮ"]),
        # run by run
        ("用Python写代码3.12版", ["用", "python", "写代", "代码", "12", "版"]),
        ("iPhone手机 vs 한국폰", ["iphone", "手机", "vs", "한국폰"]),
        ("A和B", ["和"]),
        ("ไทย123ไทย", ["ไทย", "123", "ไทย"]),
        ("二〇二四年,人々", ["二〇", "〇二", "二四", "四年", "人々"]),
        ("๒๕๖๗ ปี", ["๒๕๖๗", "ปี"]),  # digits of Thai are a number
        # emoji
        ("ok 👍🏽👍 ❤️", ["ok", "👍", "👍", "❤"]),
        ("👩‍👩‍👧 🇩🇪🇫🇷", ["👩‍👩‍👧", "🇩🇪", "🇫🇷"]),
        ("good👍bad", ["good", "👍", "bad"]),
        ("★★☆", ["★", "★", "☆"]),
        # no width
        ("\ufeffDonau\u00addampf a\u2060b", ["donaudampf", "ab"]),
        ("می\u200cخواهم", ["میخواهم"]),
        ("red\u200bcar ไทย\u200bง่าย", ["red", "car", "ไทย", "ง่าย"]),
        ("\u200d \u0301 \ufe0f 語", ["語"]),
        # two spellings of the same
        ("cafe\u0301 e\u0301 x", ["café"]),
        ("İstanbul ISTANBUL", ["istanbul", "istanbul"]),
        ("ＡＢＣ１２ ｶﾞｯｺｳ", ["abc12", "ガッ", "ッコ", "コウ"]),
        ("\u1112\u1161\u11ab\u1100\u1173\u11af", ["한글"]),
        ("καλ\u1f71", ["καλ\u03ac"]),  # Greek, two code points for one letter
        ("⽇本 葛\U000e0100城", ["日本", "葛城"]),
    ],
)
def test_every_script(text, found):
    assert whole(text) == found
    assert is_plain(text) <= (plain(text) == found)
    for form in ("NFC", "NFD"):
        assert whole(unicodedata.normalize(form, text)) == found


def test_edges_and_single_characters_of_han():
    assert parts("《红楼》 3月") == ["《红", "红", "楼", "楼》", "_月", "月_"]
    assert parts("（日本") == parts("(日本") == ["(日", "日", "本", "本_"]
    assert parts("ไทยง่าย") == ["_ไท", "ย_"]
    assert parts("red 👍 हिन्दी 한국") == []


def test_places():
    text = "👍🏽 Cafe\u0301 在ﾊﾞｽ"
    found = {token.form: text[token.start : token.end] for token in tokens(text)}
    assert found["👍"] == "👍🏽"
    assert found["café"] == "Cafe\u0301"
    assert found["在バ"] == "在ﾊﾞ"
    assert found["ス_"] == "ｽ"


def test_case_is_kept_if_asked_for():
    assert whole("Café 在 İZ", lowercase=False) == ["Café", "在", "İZ"]


@examples(200)
@given(st.text(st.characters(max_codepoint=0x24F, exclude_characters="\xadİ")))
def test_ordinary_letters_give_the_words_of_scikit_learn(text):
    assert is_plain(text)
    assert whole(text, lowercase=False) == CountVectorizer(lowercase=False).build_analyzer()(text)
    assert DocumentVectorizer(stop_words=None)._terms_of((1, 2), ())(text) == CountVectorizer(
        ngram_range=(1, 2)
    ).build_analyzer()(text)


@examples(200)
@given(st.text())
def test_any_text_has_tokens_in_their_places(text):
    for token in tokens(text):
        assert 0 <= token.start < token.end <= len(text)
        assert token.form
        assert " " not in token.form


@pytest.mark.parametrize(
    "unit", ["ก\u0e34", "a\u0301", "\u200d", "👍\u200d", "北", "เ", "\u17d2ក", "北a", "🇩", "々《"]
)
def test_hostile_text_takes_linear_time(unit):
    start = time.perf_counter()
    assert sum(1 for _ in tokens(unit * 50_000)) <= 250_000
    assert time.perf_counter() - start < 5


class TestVectorizer:
    TEXTS = ("北京大学 runs and runs", "北京 cafes", "大学 café run", "plain text")

    def terms(self, **options):
        vectorizer = DocumentVectorizer(**options).fit(self.TEXTS)
        return vectorizer.get_feature_names_out().tolist()

    def test_terms(self):
        found = self.terms()
        assert {"北京", "京大", "北", "_北", "学_", "café", "runs", "run"} <= set(found)
        assert not {"cafe", "北京大学"} & set(found)

    def test_word_and_none_are_scikit_learns(self):
        words = CountVectorizer().fit(self.TEXTS).get_feature_names_out().tolist()
        assert self.terms(analyzer="word") == self.terms(analyzer=None) == words
        # and so is a pattern of one's own
        pattern = {"token_pattern": "[\u4e00-\u9fff]"}
        assert self.terms(**pattern) == ["京", "北", "大", "学"]

    def test_stems_and_stop_words(self):
        found = self.terms(stem="english", stop_words=["and", "京大", "北"])
        assert {"北京", "大学", "cafes", "runs"} <= set(found)
        assert not {"and", "京大", "北", "run", "running"} & set(found)
        # a stop word of two characters leaves its characters alone
        assert {"大", "学"} <= set(self.terms(stop_words=["大学"]))

    def test_runs_are_spelt_as_they_are_written(self):
        found = self.terms(ngram_range=(1, 3))
        assert {"北京大", "京大学", "北京大学", "大学 runs", "runs and runs", "北京"} <= set(found)
        assert "北京 京大" not in found
        # what follows a stop word does not continue what stood before it
        assert "北京 大学" in self.terms(ngram_range=(2, 2), stop_words=["京大"])
        assert "北" not in self.terms(ngram_range=(2, 2))

    def test_sequences_are_what_is_counted(self):
        vectorizer = DocumentVectorizer(weighting="counts")
        X = vectorizer.fit_transform(self.TEXTS).toarray()
        for row, found in zip(X, token_sequences(vectorizer, self.TEXTS), strict=True):
            assert row.sum() == len(found)
            assert all(row[vectorizer.vocabulary_[token]] == found.count(token) for token in found)
        (first,) = token_sequences(vectorizer, ["大学 runs"])
        assert first == ["_大", "大", "大学", "学", "学_", "runs"]

    def test_titles_are_told_apart(self):
        """What a sentence without spaces is about is found in another such sentence."""
        vectorizer = DocumentVectorizer().fit(["足球比赛今晚开始", "股票市场今日上涨"])
        X = vectorizer.transform(["昨天的足球比赛", "明天的股票市场"])
        Y = vectorizer.transform(["足球比赛今晚开始", "股票市场今日上涨"])
        assert (np.diag((X @ Y.T).toarray()) > 0).all()
        assert (X @ Y.T).nnz == 2
