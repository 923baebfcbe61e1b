"""vbnmf fit: how texts become terms, by its options and by its defaults."""

import json

import pytest
from cliruns import FIT, ok, run, write_csv

from vbnmf import load
from vbnmf.cli import cli
from vbnmf.text import DocumentVectorizer


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return write_csv(tmp_path / "tickets.csv")


def fit(*options):
    """The model of a fit with some options more."""
    ok("fit", "tickets.csv", "--label", "label", *FIT, *options, "--force")
    return load("tickets.vbnmf")


def test_text_options(table):
    (table.parent / "stop.txt").write_text("wheel\nkettle")
    model = fit(
        *("--weighting", "paper", "--max-terms", "12", "--min-df", "3", "--max-df", "0.9"),
        *("--stop-words", "stop.txt", "--stem", "english", "--ngram-range", "1,2"),
        *("--token-pattern", r"\b[a-zA-Z]{4,}\b", "--no-lowercase"),
    )
    vectorizer = model.vectorizer_
    assert vectorizer.weighting == "paper"
    assert len(model.terms_) == vectorizer.max_terms == 12
    assert (vectorizer.min_df, vectorizer.max_df) == (3, 0.9)
    assert vectorizer.stop_words == ["kettle", "wheel"]
    assert vectorizer.stem == "english"
    assert vectorizer.ngram_range == (1, 2)
    assert "{4,}" in vectorizer.token_pattern
    assert vectorizer.lowercase is False
    assert {"wheel", "kettle", "mug"}.isdisjoint(model.terms_)


@pytest.mark.parametrize(("text", "value"), [("2", 2), ("0.1", 0.1), (".1", 0.1), ("1e-3", 0.001)])
def test_counts_and_parts(table, text, value):
    found = fit("--min-df", text).vectorizer_.min_df
    assert found == value
    assert type(found) is type(value)


def test_more_text_options(table):
    vectorizer = fit("--analyzer", "char_wb", "--max-terms", "all", "--strip", "html").vectorizer_
    assert vectorizer.analyzer == "char_wb"
    assert vectorizer.max_terms is None
    assert vectorizer.strip == vectorizer.strip_ == "html"
    assert fit("--strip", "none").vectorizer_.strip is None
    refused = run("fit", table, "--label", "label", "--max-terms", "many", "--force")
    assert refused.code == 2
    assert "'many' is neither a number nor 'all'" in refused.err


@pytest.mark.parametrize("name", ["max_terms", "min_df", "max_df", "analyzer", "strip"])
def test_help_tells_the_defaults_of_python(name):
    """They are written there, because help must not load scikit-learn."""
    (option,) = (option for option in cli.commands["fit"].params if option.name == name)
    assert f"[default: {DocumentVectorizer().get_params()[name]}]" in option.help


TITLES = [
    ("足球比赛今晚开始", "sport"),
    ("今晚足球联赛直播", "sport"),
    ("联赛比赛结果出炉", "sport"),
    ("股票市场今日上涨", "money"),
    ("股票基金大幅下跌", "money"),
    ("基金市场行情上涨", "money"),
]


@pytest.mark.parametrize("markup", ["{}", "<div class='x'>{}<br></div>"])
def test_titles_without_spaces(tmp_path, monkeypatch, markup):
    monkeypatch.chdir(tmp_path)
    rows = [json.dumps({"text": markup.format(text), "label": label}) for text, label in TITLES * 3]
    (tmp_path / "titles.jsonl").write_text("\n".join(rows), encoding="utf-8")
    new = [json.dumps({"text": markup.format(text)}) for text in ("足球直播", "股票行情")]
    (tmp_path / "new.jsonl").write_text("\n".join(new), encoding="utf-8")
    said = ok("fit", "titles.jsonl", "--label", "label", "-k", "2", "--max-iter", "15").err
    assert ("18 of the 18 documents look like HTML" in said) == (markup != "{}")
    model = load("titles.vbnmf")
    assert {"足球", "股票"} <= set(model.terms_)
    assert not {"div", "class", "br"} & set(model.terms_)
    found = ok("predict", "titles.vbnmf", "new.jsonl", "--json").out
    assert found.index("sport") < found.index("money")
    assert model.predict(["足球直播", "股票行情"]).tolist() == ["sport", "money"]


def test_words_that_look_wrong_are_said_aloud(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = [f"{chr(0x4E00 + 7 * n)}是一个没有空格的很长的句子吗" for n in range(60)]
    write_csv(tmp_path / "a.csv", texts=texts, labels=["x", "y"] * 30)
    said = ok("fit", "a.csv", "--label", "label", "--analyzer", "word", "--max-iter", "1").err
    assert "Note: The words look wrong: 60 of 60 documents have a single word" in said
    assert "--analyzer auto" in said
