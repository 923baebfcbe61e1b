"""Patterns of words from files of unknown origin: simple ones are accepted, others on request."""

import pytest
from cliruns import ok, run, write_csv

from vbnmf import DocumentModel, load
from vbnmf.store import ModelFileError
from vbnmf.text import DocumentVectorizer
from vbnmf.text.analyzers import TOKEN_PATTERN
from vbnmf.text.patterns import is_simple

pytestmark = pytest.mark.filterwarnings("ignore:the fit did not converge")
HYPHENS = r"\w+(?:-\w+)*"


@pytest.mark.parametrize(
    "pattern",
    [
        TOKEN_PATTERN, r"\S+", r"\b[a-zA-Z]{4,}\b", r"(?u)\b[^\W\d]\w+\b", r"[a-z](\d)", r"t\w+",
        "[\u4e00-\u9fff]", r"a|b|c+", r"\w{3}", r"(?:ab)c", r"[]a]+", r"[^]a\]]+?", r"\d{2,5}", "",
    ],
)  # fmt: skip
def test_simple_patterns(pattern):
    assert is_simple(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        r"(a+)+!", r"(?:a|a)*!", r"\w*\w*x", "a?a?aa", "(?:ab)+", "(?:ab){2}", HYPHENS,
        "(a{2,}){3}", r"(a)\1", r"(?=a+)b", r"(?<=a)b", r"(?P<n>a)", r"(?i:a)", r"(?x)a",
        "[]a]+[^]]+", "a" * 1001,
    ],
)  # fmt: skip
def test_patterns_that_are_not_simple(pattern):
    assert not is_simple(pattern)


@pytest.fixture
def path(tmp_path):
    vectorizer = DocumentVectorizer(token_pattern=HYPHENS)
    texts = ["green-tea leaves", "black-tea leaves", "coffee beans", "coffee cup"]
    DocumentModel(vectorizer=vectorizer).fit(texts, list("ttcc")).save(tmp_path / "m.vbnmf")
    return tmp_path / "m.vbnmf"


def test_other_patterns_are_loaded_only_if_trusted(path):
    with pytest.raises(ModelFileError, match=r"could take very long.*trusted=True.*--trusted"):
        load(path)
    assert "green-tea" in load(path, trusted=True).terms_


@pytest.mark.parametrize("command", ["topics", "predict", "transform", "evaluate", "report"])
def test_the_command_line_is_told_to_trust(command, path, tmp_path):
    args = [command, path]
    if command not in ("topics", "report"):
        args.append(write_csv(tmp_path / "a.csv", ["green-tea", "beans"], ["t", "c"]))
    args += ["--label", "label"] if command == "evaluate" else []
    if command in ("transform", "report"):
        args += ["--out", tmp_path / ("out.csv" if command == "transform" else "out.html")]
    refused = run(*args)
    assert refused.code == 2
    assert "--trusted" in refused.err
    ok(*args, "--trusted")


@pytest.mark.parametrize(
    "pattern", [r"(a+)+!", r"(\w+\s?)*!", r"(a|a)+$", r"\w+\w+\w+!", r"(x+x+)+y"]
)
def test_the_users_own_pattern_that_takes_very_long_is_refused(pattern):
    with pytest.raises(ValueError, match="could take very long: more than 50 ms"):
        DocumentVectorizer(token_pattern=pattern).fit(["aaaa bbbb"])


@pytest.mark.parametrize("pattern", [r"\w+(?:-\w+)*", r"\b[a-z]{2,}(?:'[a-z]+)?\b"])
def test_the_users_own_pattern_need_not_be_simple(pattern):
    assert not is_simple(pattern)
    assert DocumentVectorizer(token_pattern=pattern).fit(["tea-time is over"]).vocabulary_
