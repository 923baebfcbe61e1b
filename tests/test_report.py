"""What a model says: the numbers of its summary, and the page, where text stays text."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from cliruns import LABELS, TEXTS

from vbnmf import VBNMF, DocumentModel, SupervisedVBNMF
from vbnmf.report.page import render, write_page
from vbnmf.report.summary import MATTERS, components_of_label, summarise

HOSTILE = [
    "</script><script>alert(1)</script>",
    "</style></title><img src=x onerror=alert(1)>",
    "\"quoted\" 'twice' `and` \\so\\ on",
    "&amp; & &lt; &#60; &nbsp",
    "<!-- comment --> <![CDATA[ x ]]>",
    "\u202eright to left\u202c \u200f عربى",
    "emoji 👩‍👩‍👧 🍵",
    "javascript:alert(1)//http://example.org/",
    "=cmd()|' /C calc'!A0",
    "{braces} {0} %s %(x)s",
    "中文 ünïcödé ﬁ",
    " spaces  inside ",
]
# neither takes what follows, nor ends before its tag says so
VOID = {"meta", "br", "hr"}


class Page(HTMLParser):
    """Elements of a page in order: tag, attributes and all text within."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self._open = [], []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        element = {"tag": tag, "text": "", **dict(attrs)}
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag):
        assert self._open.pop()["tag"] == tag

    def handle_data(self, data):
        for element in self._open:
            element["text"] += data

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")

    def texts(self, tag, **attributes):
        return [
            element["text"]
            for element in self.elements
            if element["tag"] == tag and attributes.items() <= element.items()
        ]


def fit(n_labels, K, terms=HOSTILE, n_docs=None, labels=None):
    """A model of few iterations, whose terms and labels may be hostile."""
    rng = np.random.default_rng(0)
    n_docs = n_docs or max(2 * n_labels, 8)
    X = rng.poisson(2.0, (n_docs, len(terms))).astype(np.float32) + 0.5
    if n_labels == 0:
        return DocumentModel(VBNMF(K, max_iter=3, random_state=0)).fit(X, terms=terms)
    names = labels or [f"label {i}" for i in range(n_labels)]
    y = [names[i % n_labels] for i in range(n_docs)]
    model = SupervisedVBNMF(K, max_iter=3, random_state=0)
    return DocumentModel(model).fit(X, y, terms=terms)


def check(text, model, title="title"):
    """What holds for all pages: complete, harmless, and everything is there."""
    page = Page(text)
    assert text.startswith("<!doctype html>")
    assert page.texts("title") == page.texts("h1") == [title]
    harmless = {
        *("html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "p", "section"),
        *("div", "table", "thead", "tbody", "tr", "th", "td", "a", "small", "span", "article"),
        "footer",
    }
    assert {element["tag"] for element in page.elements} <= harmless
    policies = [e["content"] for e in page.elements if "http-equiv" in e]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'"]
    attributes = {name for element in page.elements for name in element} - {"tag", "text"}
    assert attributes <= {
        *("lang", "charset", "name", "content", "http-equiv", "class", "id", "href", "scope"),
        "style",
    }
    ids = [element["id"] for element in page.elements if "id" in element]
    assert len(set(ids)) == len(ids)
    links = {element["href"] for element in page.elements if "href" in element}
    assert links <= {f"#{name}" for name in ids}
    styles = " ".join(element.get("style", "") for element in page.elements)
    styles += page.texts("style")[0]
    assert not re.search(r"url\(|@import|expression|https?:", styles)
    assert "nan" not in " ".join(page.texts("td", **{"class": "number"}))

    K = model.estimator_.components_.shape[0]
    assert [e["id"] for e in page.elements if e["tag"] == "article"] == [
        f"c{component.number}" for component in summarise(model).components
    ]
    assert len(page.texts("article")) == K
    assert "The fit" in page.texts("h2")
    assert f"{model.estimator_.bound_:,.1f}" in page.texts("td")
    return page


class TestPage:
    def test_hostile_strings_stay_text(self):
        """In the title, labels and terms; each is found again, letter by letter."""
        model = fit(len(HOSTILE), 4, labels=HOSTILE)
        for title in HOSTILE:
            page = check(render(model, title=title, n_terms=len(HOSTILE)), model, title)
        assert page.texts("th", scope="row")[: len(HOSTILE)] == sorted(HOSTILE)
        headings = page.texts("h3")[: len(HOSTILE)]
        for label, heading in zip(sorted(HOSTILE), headings, strict=True):
            assert heading == f"{label} 2 documents"
        summary = summarise(model, n_terms=len(HOSTILE))
        cells = page.texts("td")
        for component in summary.components:
            assert sorted(term for term, _ in component.terms) == sorted(HOSTILE)
            first = cells.index(component.terms[0][0])
            assert cells[first : first + 3 * len(HOSTILE) : 3] == [t for t, _ in component.terms]
            cells = cells[first + 3 * len(HOSTILE) :]

    @pytest.mark.parametrize(
        ("n_labels", "K"), [(0, 1), (0, 7), (1, 1), (1, 5), (2, 1), (200, 12), (3, 500)]
    )
    def test_sizes(self, n_labels, K):
        model = fit(n_labels, K)
        page = check(render(model, title="title", n_terms=5), model)
        known = f"{n_labels} labels" if n_labels else "no labels"
        assert f"{K} components of {len(HOSTILE)} terms, {known}" in page.texts("p")[0]
        assert ("What makes each label" in page.texts("h2")) is (n_labels > 0)
        labels = [f"label {i}" for i in range(n_labels)]
        assert page.texts("th", scope="row")[:n_labels] == sorted(labels)

    def test_several_labels(self):
        """A document counts for each of its labels; a label that nobody has is there too."""
        rng = np.random.default_rng(0)
        X = rng.poisson(2.0, (8, 4)) + 0.5
        bits = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 0]] * 2)
        estimator = SupervisedVBNMF(3, max_iter=3, random_state=0)
        model = DocumentModel(estimator).fit(X, bits, terms=list("abcd"))
        page = check(render(model, title="title", n_terms=5), model)
        assert "3 labels, of which a document may have several." in page.texts("p")[0]
        assert page.texts("h3")[:3] == ["0 4 documents", "1 4 documents", "2 0 documents"]
        use = summarise(model).use
        np.testing.assert_allclose(use[:2].sum(axis=1), 1)
        assert np.isfinite(use).all()
        assert "probability from which a label is given" in page.texts("th", scope="row")
        assert f"{model.estimator_.threshold_:.2f}" in page.texts("td", **{"class": "number"})

    def test_more_terms_than_there_are(self):
        model = fit(2, 2, terms=["only", "two"])
        page = check(render(model, title="title", n_terms=50), model)
        assert sorted(page.texts("td")).count("only") == 2

    def test_map(self):
        """The numbers of the map are those of the summary, each beside its label."""
        model = DocumentModel(SupervisedVBNMF(6, random_state=0)).fit(TEXTS, LABELS)
        page, summary = Page(render(model, title="t", n_terms=5)), summarise(model)
        shown = {
            c.number: summary.use[:, i]
            for i, c in enumerate(summary.components)
            if summary.use[:, i].max() >= MATTERS
        }
        start = next(i for i, e in enumerate(page.elements) if e.get("class") == "map")
        rest = page.elements[start:]
        columns = [int(e["href"][2:]) for e in rest if e.get("href", "").startswith("#c")]
        columns = columns[: len(shown)]
        assert set(columns) == set(shown)
        end = next(i for i, e in enumerate(rest) if e["tag"] == "section")
        cells = [e["text"] for e in rest[:end] if e["tag"] == "td"][1:]
        expected = [
            f"{100 * shown[k][row]:.0f}" if shown[k][row] >= MATTERS else ""
            for row in range(3)
            for k in columns
        ]
        assert cells == expected

    def test_file(self, tmp_path):
        model = fit(2, 2)
        path = tmp_path / "page.html"
        write_page(model, path, title="日本語 & co", n_terms=4)
        assert path.read_text(encoding="utf-8") == render(model, title="日本語 & co", n_terms=4)
        write_page(model, path)
        assert "<title>vbnmf</title>" in path.read_text(encoding="utf-8")

    def test_a_failure_keeps_the_old_page(self, tmp_path):
        path = tmp_path / "page.html"
        path.write_text("old")
        with pytest.raises(UnicodeEncodeError):
            write_page(fit(2, 2), path, title="\ud800")
        assert path.read_text() == "old"
        assert [file.name for file in tmp_path.iterdir()] == ["page.html"]


@pytest.fixture(scope="module")
def blocks():
    """Two labels of three terms each, one of three times the weight, and terms of none."""
    rng = np.random.default_rng(0)
    X = np.zeros((80, 2006))
    X[:40, :3] = rng.poisson([300, 200, 100], (40, 3))
    X[40:, 3:6] = rng.poisson([50, 150, 0], (40, 3))
    labels = ["big"] * 40 + ["small"] * 40
    model = DocumentModel(SupervisedVBNMF(2, random_state=0))
    return X, model.fit(X, labels, terms=[*"abcdef", *(f"unused {i}" for i in range(2000))])


class TestSummary:
    def test_blocks(self, blocks):
        X, model = blocks
        summary = summarise(model, n_terms=3, n_labels=2)
        assert summary.labels == ["big", "small"]
        assert summary.documents == [40, 40]
        big, small = summary.components
        part = X[:40].sum() / X.sum()
        assert big.weight == pytest.approx(part, rel=0.01)
        assert small.weight == pytest.approx(1 - part, rel=0.01)
        assert [term for term, _ in big.terms] == ["a", "b", "c"]
        assert [term for term, _ in small.terms][:2] == ["e", "d"]
        assert big.name == "a b c"
        for column, (_, found) in zip((0, 1, 2), big.terms, strict=True):
            assert found == pytest.approx(X[:, column].sum() / X[:, :3].sum(), rel=0.06)
        assert summary.use == pytest.approx(np.eye(2), abs=0.01)
        assert [label for label, _ in small.labels] == ["small", "big"]
        assert small.labels[0][1] == summary.use[1, 1]

    def test_order_and_numbers(self):
        model = fit(5, 9)
        summary = summarise(model, n_terms=4, n_labels=2)
        assert sorted(c.number for c in summary.components) == list(range(9))
        weights = [c.weight for c in summary.components]
        assert weights == sorted(weights, reverse=True)
        assert sum(weights) == pytest.approx(1)
        # what a label's documents get from a component: their coefficient times all its terms
        estimator = model.estimator_
        use = estimator.label_activations_ * estimator.components_.sum(axis=1, dtype=np.float64)
        use = use[:, [c.number for c in summary.components]]
        np.testing.assert_allclose(summary.use, use / use.sum(axis=1, keepdims=True), rtol=1e-5)
        for i, component in enumerate(summary.components):
            expected = model.estimator_.components_[component.number]
            order = np.argsort(-expected, kind="stable")[:4]
            assert [term for term, _ in component.terms] == model.terms_[order].tolist()
            parts = expected[order] / expected.sum()
            assert [part for _, part in component.terms] == pytest.approx(parts.tolist())
            use = sorted(zip(summary.use[:, i], summary.labels, strict=True), reverse=True)[:2]
            assert [part for _, part in component.labels] == [part for part, _ in use]

    def test_components_of_a_label(self, blocks):
        summary = summarise(blocks[1])
        ((component, part),) = components_of_label(summary, "small")
        assert component.terms[0][0] == "e"
        assert part == summary.use[1, 1]
        spread = summarise(fit(2, 45))
        for label in spread.labels:
            found = components_of_label(spread, label)
            parts = [part for _, part in found]
            assert parts == sorted(parts, reverse=True)
            row = spread.use[spread.labels.index(label)]
            assert len(found) == (row >= MATTERS).sum() < 45

    def test_unsupervised(self):
        summary = summarise(fit(0, 4))
        assert (summary.labels, summary.documents) == ([], [])
        assert summary.use.shape == (0, 4)
        assert all(component.labels == [] for component in summary.components)
