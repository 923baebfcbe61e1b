"""One file: nothing inside can leave its place, the policy fits, and it is written whole."""

import base64
import hashlib
import html
import re
from html.parser import HTMLParser
from importlib.resources import files

import pytest
from explorer_pages import HOSTILE, KINDS, page, restored, unpacked, usual
from sklearn.feature_extraction.text import CountVectorizer

from vbnmf import VBNMF, DocumentModel, explore
from vbnmf.report.explorer import Report
from vbnmf.report.explorer.bundle import SCRIPTS
from vbnmf.report.explorer.packing import compact, fine, mended, pack, probability


class Elements(HTMLParser):
    """Tags of a page in order, with what is in them."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.found, self._open = [], []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        element = {"tag": tag, "text": "", **dict(attrs)}
        self.found.append(element)
        if tag != "meta":
            self._open.append(element)

    def handle_endtag(self, tag):
        assert self._open.pop()["tag"] == tag

    def handle_data(self, data):
        for element in self._open:
            element["text"] += data

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")

    def all(self, tag):
        return [element for element in self.found if element["tag"] == tag]


@pytest.mark.filterwarnings("ignore:the fit did not converge")
@pytest.mark.parametrize("kind", KINDS)
def test_page(kind):
    """The elements are those of the source, whatever the data; the policy lets in two hashes."""
    text = page(kind).html
    elements = Elements(text)
    assert [element["text"] for element in elements.all("title")] == [page(kind).title]
    kinds = [element.get("type") for element in elements.all("script")]
    with_documents = kind != "no documents"
    assert kinds == [*["text/plain"] * (1 + with_documents), None]
    assert {element["tag"] for element in elements.found} == {
        *("html", "head", "meta", "title", "style", "body", "a", "header", "main", "noscript"),
        *("p", "footer", "script"),
    }
    attributes = {name for element in elements.found for name in element} - {"tag", "text"}
    assert not any(name.startswith("on") or name in ("src", "style") for name in attributes)
    (policy,) = [e["content"] for e in elements.all("meta") if "http-equiv" in e]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules == {
        "default-src": "'none'",
        "script-src": hashed(elements.all("script")[-1]["text"]),
        "style-src": hashed(elements.all("style")[0]["text"]),
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    assert unpacked(text)["title"] == page(kind).title


def hashed(source):
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"


def test_sources():
    """All of them are bundled, and none writes markup or reaches for the network."""
    static = files("vbnmf.report.explorer") / "static"
    names = {path.name for path in static.iterdir()}
    assert names == {f"{name}.js" for name in SCRIPTS} | {"style.css", "page.html"}
    for name in names:
        source = (static / name).read_text(encoding="utf-8")
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function|fetch\(|"
            r"XMLHttpRequest|WebSocket|import\(|url\(|@import|https?://(?!www\.w3\.org/2000/svg)",
            source,
        ), name
        assert len(source.splitlines()) < 400


class TestPacking:
    def test_nothing_leaves_its_place(self):
        value = {"texts": HOSTILE}
        packed = pack(value)
        assert re.fullmatch(r"[A-Za-z0-9+/=]+", packed)
        assert unpacked(f'id="payload">{packed}</script>') == value
        assert pack(value) == packed

    def test_not_a_number(self):
        with pytest.raises(ValueError, match="JSON"):
            pack({"x": float("nan")})

    def test_halves_of_characters(self):
        assert mended("a\ud800b🍵") == "a\ufffdb🍵"
        assert pack("\ud800") == pack("\ufffd")
        explore(usual()[0], title="\ud800").html.encode()

    @pytest.mark.parametrize(
        ("text", "spans", "shown", "marks"),
        [
            ("no term", [], "no term", []),
            # new, new, as before, another form of the first, as before
            (
                *("a b b As As", [0, 1, 0, 1, 1, 1, 1, 1, 1, 1, 2, 0, 1, 2, 0]),
                *("|a| |b| |b| |As| |As|", [0, 0, 0, 1, 0]),
            ),
            # the same characters mean two terms
            ("北.北", [0, 1, 0, 1, 1, 1], "|北|.|北|", [0, 2]),
            ("x\x7fy", [2, 1, 0], "x\ufffd|y|", [0]),  # the mark itself is no text
        ],
    )
    def test_marks_are_in_the_text(self, text, spans, shown, marks):
        details = {"texts": [text], "spans": [spans], "terms": [[5, 7, 6, 8]], "why": None}
        found = compact(details)
        assert found["texts"] == [shown.replace("|", "\x7f")]
        assert found["marks"] == [marks]
        assert (found["terms"], found["owed"]) == ([[5, 6]], [[7, 8]])
        assert restored(found) == details | {"texts": [text.replace("\x7f", "\ufffd")]}

    def test_texts_without_marks(self):
        for texts in (None, ["a"]):
            details = {"texts": texts, "spans": None, "terms": [[5, 7]], "why": None}
            assert compact(details)["marks"] is None
            assert restored(compact(details)) == details

    def test_evidence_names_terms_by_their_place_in_the_document(self):
        """Small numbers compress better than those of 20,000 terms."""
        why = [
            [2, 0.9, [4, 0.5], [700, 0.4, "!", 0.2, -1, 0.1, 0, 0.1], 0.3, [900, -0.2, 800, -0.1]]
        ]
        details = {"texts": None, "spans": None, "terms": [[900, 1, 700, 3, -1, 5]], "why": [why]}
        found = compact(details)["why"][0][0]
        assert found[3] == [1, 0.4, "!", 0.2, -1, 0.1, -2, 0.1]
        assert found[5] == [0, -0.2, -802, -0.1]
        assert restored(compact(details)) == details

    @pytest.mark.parametrize(
        ("value", "shown"),
        [
            (0.69996, 0.6999),
            (0.7, 0.7),
            (0.29, 0.29),
            (0.0999996, 0.0999),
            (0.69986, 0.6999),
            (0.99999999, 0.99999),
            (1, 1),
            (0, 0),
        ],
    )
    def test_probabilities_reach_no_threshold_by_rounding(self, value, shown):
        assert probability(value) == shown
        assert all(probability(t / 100) == t / 100 for t in range(101))

    @pytest.mark.parametrize(
        ("value", "shown"),
        [(1.23456, 1.235), (-0.0456, -0.046), (0.00034, 0.0003), (-4e-9, -4e-9), (0, 0)],
    )
    def test_contributions(self, value, shown):
        assert fine(value) == shown


class TestReport:
    def test_the_same_bits(self):
        model, texts, labels = usual()
        first, second = (explore(model, texts, labels, title="t") for _ in range(2))
        assert first == second
        assert first.html == second.html

    def test_save(self, tmp_path):
        path = tmp_path / "page.html"
        report = explore(usual()[0], title="日本語 & co")
        assert report.save(path) == path
        assert path.read_bytes().decode() == report.html
        assert "<title>日本語 &amp; co</title>" in report.html
        assert "日本語" in repr(report)
        assert len(repr(report)) < 200

    def test_a_failure_keeps_the_old_page(self, tmp_path):
        path = tmp_path / "page.html"
        path.write_text("old")
        with pytest.raises(UnicodeEncodeError):
            Report("\ud800", "broken").save(path)
        assert path.read_text() == "old"
        assert [file.name for file in tmp_path.iterdir()] == ["page.html"]

    @pytest.mark.filterwarnings("ignore:the fit did not converge")
    def test_notebook(self):
        report = page("hostile")
        (frame,) = Elements(report._repr_html_()).all("iframe")
        assert frame["srcdoc"] == report.html
        assert frame["sandbox"] == "allow-scripts allow-downloads"
        assert frame["title"] == report.title
        large = Report("x" * 13_000_000, "large")
        assert "iframe" not in large._repr_html_()
        assert ".save(" in html.unescape(large._repr_html_())

    def test_not_fitted(self):
        with pytest.raises(ValueError, match="not fitted"):
            explore(DocumentModel(VBNMF()))

    def test_only_of_document_models(self):
        with pytest.raises(ValueError, match="needs a DocumentModel; got VBNMF"):
            explore(VBNMF())

    def test_documents_need_a_vectorizer_that_finds_terms(self):
        texts = ["wheel chain", "leaf cup", "wheel pedal", "cup kettle"]
        model = DocumentModel(VBNMF(2, random_state=0), CountVectorizer()).fit(texts)
        assert explore(model).html.startswith("<!doctype html>")
        with pytest.raises(ValueError, match=r"need a DocumentVectorizer.*has a CountVectorizer"):
            explore(model, texts)
