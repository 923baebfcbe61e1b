"""HTML is dropped from documents, if asked for or if most of them look like it."""

import time
import warnings

import pytest

from vbnmf.text import DocumentVectorizer, MarkupWarning
from vbnmf.text.markup import decide, looks_like_html, strip_html

TICKETS = [
    '<div class="body"><p>Printer &amp; scanner<br>broken</p></div>',
    "<p>pay&shy;ment <b>f</b>ailed&nbsp;twice</p>",
    "plain note about a scanner",
]


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ("<p>one</p><p>two</p>", "one two"),
        ("<b>H</b>ello <a href='x.html' title=\"y\">li</A>nk", "Hello link"),
        ("a<br/>b<BR>c<hr />d", "a b c d"),
        ("<!-- <p>no</p> -->yes<!-- never closed <p>no", "yes"),
        ("<style>p {color: red}</style>x<SCRIPT src=a>if (a<b) no()</script >y", "x y"),
        ("<script>never closed", ""),
        ("<!DOCTYPE html><?xml version='1'?><html><body>x</body></html>", "x"),
        ("caf&eacute; &#233;&#xE9; &lt;b&gt; AT&amp;T &unknown; &#99999999;",
         "café éé <b> AT&T &unknown; &#99999999;"),
        ("3 < 4 and 5 > 4, a <- b, <3", "3 < 4 and 5 > 4, a <- b, <3"),
        ("<p unclosed <b>x</b>", "<p unclosed x"),
        ("<article>x</article><my-tag>y", "x y"),
        ("", ""),
    ],
)  # fmt: skip
def test_strip(document, text):
    assert strip_html(document).split() == text.split()


@pytest.mark.parametrize("document", ["<p>", "x<br/>y", "</div>", "a&nbsp;b", "<!doctype html>"])
def test_html_is_seen(document):
    assert looks_like_html(document)


@pytest.mark.parametrize("document", ["a < b > c", "<john@example.com>", "x <- y", "R&D; &c", "<3"])
def test_other_text_is_not(document):
    assert not looks_like_html(document)


@pytest.mark.parametrize(
    "unit",
    ["<", "<a ", "<!--", "<script>", "<script ", "</script ", "<style></script", "&", "&#9", "&a",
     "<br ", "<a          ", "<!-", "</", "<p/", "<!", "&#x"],
)  # fmt: skip
def test_hostile_documents_take_linear_time(unit):
    for document in (unit * 100_000, unit + "9" * 100_000, unit + " " * 100_000):
        start = time.perf_counter()
        strip_html(document)
        looks_like_html(document)
        assert time.perf_counter() - start < 3


def test_guessed_and_said():
    with pytest.warns(MarkupWarning, match="2 of the 3 documents look like HTML"):
        vectorizer = DocumentVectorizer().fit(iter(TICKETS))
    assert vectorizer.strip_ == "html"
    terms = set(vectorizer.get_feature_names_out())
    assert {"printer", "broken", "payment", "failed", "twice"} <= terms
    assert not {"div", "class", "amp", "nbsp", "br"} & terms
    assert vectorizer.without_markup("<i>x</i>") == "x"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        X = vectorizer.transform(["<p>printer</p>"])  # new documents need no message
        assert X.nnz == 1
        assert DocumentVectorizer(strip="html").fit(TICKETS).vocabulary_ == vectorizer.vocabulary_
        assert "div" in DocumentVectorizer(strip=None).fit(TICKETS).vocabulary_
    with pytest.warns(MarkupWarning, match="2 of the 4 documents look like HTML"):
        half = DocumentVectorizer().fit([*TICKETS, "another note"])  # half of them are not most
    assert half.strip_ is None
    assert "div" in half.vocabulary_
    assert half.without_markup("<i>x</i>") == "<i>x</i>"


def test_a_function_gets_the_text():
    vectorizer = DocumentVectorizer(analyzer=str.split, strip="html").fit(["<p>one two</p>", "two"])
    assert list(vectorizer.vocabulary_) == ["one", "two"]


def test_unknown():
    with pytest.raises(ValueError, match="strip must be 'auto', 'html' or None; got 'xml'"):
        DocumentVectorizer(strip="xml").fit(["x y"])


def test_a_quarter_is_noticed_and_kept():
    documents = ["<p>tea</p>"] * 3 + ["coffee"] * 7
    with pytest.warns(MarkupWarning, match=r"3 of the 10 documents look like HTML\. Names of tags"):
        kept, strip = decide(documents, "auto")
    assert strip is None
    assert list(kept) == documents
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert decide(["<p>tea</p>"] + ["coffee"] * 3, "auto")[1] is None
