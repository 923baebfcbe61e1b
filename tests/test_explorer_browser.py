"""The explorer in a real browser: Debian's Chromium, driven by Playwright, with the network off."""

import csv
import io
import os
import re
import shutil
from xml.etree import ElementTree

import numpy as np
import pytest
from explorer_pages import HOSTILE, KINDS, fit, page, several, usual

from vbnmf.report.explorer import explore
from vbnmf.report.explorer.payload import STEPS, TOP

VIEWS = ["map", "component", "label", "document", "term", "quality"]
PLACES = {
    "map": "view=map",
    "components": "view=component&k=1&with=2&pins=1,2",
    "label": "view=label&l=1",
    "documents": "view=document",
    "document": "view=document&d=0",
    "term": "view=term&w=3",
    "quality": "view=quality",
}


@pytest.fixture(scope="module")
def browser():
    """The machine's browser, offline; where there is none tests are skipped, but not in CI."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        _unavailable(f"Playwright is not installed: {error}")
    path = shutil.which("chromium")
    if path is None:
        _unavailable("there is no chromium on this machine")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-gpu"]
        )
        yield started.new_context(offline=True, reduced_motion="reduce")
        started.close()


def _unavailable(reason):
    if os.environ.get("CI") == "true":
        pytest.fail(f"{reason}; these tests must not be skipped here")
    pytest.skip(reason)


@pytest.fixture
def visit(browser, tmp_path):
    """Open a page at a place; whatever goes wrong in it, or it asks for, fails the test."""
    tabs, faults = [], []

    def opened(shown, place="", width=1200, height=900, scheme="light"):
        path = tmp_path / "page.html"
        path.write_text(getattr(shown, "html", shown), encoding="utf-8")
        tab = browser.new_page()
        tabs.append(tab)
        tab.set_viewport_size({"width": width, "height": height})
        tab.emulate_media(color_scheme=scheme)
        tab.on("console", lambda message: faults.append(f"{message.type}: {message.text}"))
        tab.on("pageerror", lambda error: faults.append(str(error)))
        tab.on("dialog", lambda dialog: faults.append(f"dialog: {dialog.message}"))
        tab.on("request", lambda request: faults.append(request.url[:99]) if asks(request) else 0)
        tab.goto(f"{path.as_uri()}#{place}")
        return tab

    def asks(request):
        return not request.url.startswith(("file:", "blob:"))

    yield opened
    for tab in tabs:
        tab.close()
    assert faults == []


def ready(tab):
    """Wait until all that is unpacked later is there."""
    tab.wait_for_selector("main:not(:has([aria-busy]))")
    return tab


def jump(tab, place):
    tab.evaluate("place => { location.hash = place; }", place)
    return ready(tab)


def heading(tab):
    return tab.inner_text("#heading")


@pytest.mark.parametrize("kind", KINDS)
def test_every_view_of_every_kind(visit, kind):
    """Nothing goes wrong and nothing is asked for, in any view and any size of a model."""
    tab = visit(page(kind), "view=map")
    assert tab.inner_text("h1").strip() == re.sub(r"\s+", " ", page(kind).title).strip()
    shown = tab.locator("header nav a").all_inner_texts()
    assert ("Label" in shown) is ("no labels" not in kind and kind != "unsupervised")
    assert ("Documents" in shown) is (kind != "no documents")
    for place in [*PLACES.values(), "view=nonsense&k=-1", "view=component&k=99999&relevance=77"]:
        jump(tab, place)
        assert heading(tab)
        assert "NaN" not in tab.inner_text("main")
        assert "undefined" not in tab.inner_text("main")


def test_large_model(visit, capsys):
    """K = 100, 20 labels, 10,000 terms: below 1 MB, and quick to open."""
    model = fit(20, 100, [f"term{i:05}" for i in range(10_000)], n_docs=60)
    shown = explore(model)
    size = len(shown.html.encode())
    tab = visit(shown)
    took = int(tab.get_attribute("html", "data-ready"))
    with capsys.disabled():
        print(f"\nK = 100, 20 labels, 10,000 terms: {size / 1e6:.2f} MB, {took} ms to interactive")  # noqa: T201
    assert size < 1_000_000
    assert tab.locator(".map td").count() > 20


class TestReached:
    def test_by_mouse(self, visit):
        tab = visit(page("usual"))
        titles = ["Map", "Component", "Label", "Documents", "Terms", "Quality"]
        for view, title in zip(VIEWS, titles, strict=True):
            tab.click(f"header nav a:text-is('{title}')")
            assert f"view={view}" in tab.url
            assert tab.locator("header [aria-current=page]").inner_text() == title
        tab.click("text=Map")
        tab.locator(".map thead a").first.click()
        assert heading(tab).startswith("Component #")
        tab.locator("table th a").first.click()
        assert heading(tab).startswith("Term ")
        tab.locator("section:has-text('In labels') th a").first.click()
        assert heading(tab).startswith("Label ")
        ready(tab).locator(".card a").first.click()
        ready(tab)
        assert heading(tab).startswith("Document ")
        tab.click("a:has-text('All documents')")
        assert heading(tab) == "Documents"
        tab.go_back()
        ready(tab)
        assert heading(tab).startswith("Document ")

    def test_by_keyboard(self, visit):
        """Every view by Tab and Enter; focus is visible, and lands on the view's heading."""
        tab = visit(page("usual"))
        tab.keyboard.press("Tab")
        assert tab.evaluate("document.activeElement.textContent") == "Skip to content"
        tab.keyboard.press("Enter")
        assert tab.evaluate("document.activeElement.id") == "main"
        for view in VIEWS:
            tab.evaluate("document.activeElement.blur()")
            reach(tab, f"e => e.matches('header nav a') && e.href.includes('view={view}')")
            outline = tab.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert outline == "solid"
            tab.keyboard.press("Enter")
            ready(tab)
            assert f"view={view}" in tab.url
            assert tab.evaluate("document.activeElement.id") == "heading"
        jump(tab, "view=document&order=file")
        reach(tab, "e => e.matches('.card a')")
        tab.keyboard.press("Enter")
        assert heading(ready(tab)) == "Document 0"
        assert tab.evaluate("document.activeElement.id") == "heading"
        assert tab.title() == "Document 0 – The usual"

    def test_controls_by_keyboard(self, visit):
        tab = visit(page("usual"), "view=map")
        reach(tab, "e => e.matches('.map thead button')")
        tab.keyboard.press("Enter")
        pressed = "e => [e.ariaPressed, e.closest('th').ariaSort]"
        assert tab.evaluate(f"({pressed})(document.activeElement)") == ["true", "descending"]
        jump(tab, "view=component&k=1")
        before = terms(tab)
        reach(tab, "e => e.id === 'relevance'")
        for _ in range(10):
            tab.keyboard.press("ArrowLeft")
        assert tab.evaluate("document.activeElement.ariaValueText") == "λ = 0"
        assert terms(tab) != before
        reach(tab, "e => e.id === 'pin'", "Shift+Tab")
        tab.keyboard.press("Space")
        assert "pins=1" in tab.url
        assert tab.evaluate("document.activeElement.id") == "pin"
        jump(tab, "view=term")
        reach(tab, "e => e.id === 'find'")
        tab.keyboard.type("whe")
        tab.keyboard.press("Enter")
        assert heading(tab) in ("Term wheel", "Term wheels")


def reach(tab, test, key="Tab"):
    """Go on with Tab until the focus is on what is wanted."""
    for _ in range(200):
        tab.keyboard.press(key)
        if tab.evaluate(f"({test})(document.activeElement)"):
            return
    raise AssertionError(f"not reached: {test}")


def terms(tab):
    return tab.locator(".panel .terms tbody th a").all_inner_texts()


def test_slider(visit):
    """At each λ the terms stand in the order that Python computes from the model itself."""
    model = usual()[0]
    estimator = model.estimator_
    parts = estimator.components_.astype(float)
    parts /= parts.sum(axis=1, keepdims=True)
    p_w = estimator.component_mass_ @ parts
    tab = visit(page("usual"))
    orders = set()
    for k in (0, 3):
        jump(tab, f"view=component&k={k}")
        for step, lam in enumerate(STEPS):
            tab.fill("#relevance", str(step))
            relevance = lam * np.log(parts[k]) + (1 - lam) * np.log(parts[k] / p_w)
            names = model.terms_[np.argsort(-relevance, kind="stable")[:TOP]].tolist()
            assert terms(tab) == names
            orders.add(tuple(names))
    assert len(orders) > 4


def test_links_restore_views(visit):
    """What is reached by changing the address, and by opening it anew, is the same."""
    tab = visit(page("usual"), "view=map")
    for place in PLACES.values():
        before = jump(tab, place).inner_text("main")
        tab.reload()
        assert tab.url.endswith(place)
        assert ready(tab).inner_text("main") == before


def test_what_is_set_is_in_the_link(visit):
    tab = visit(page("usual"), "view=map")
    tab.select_option("#choose-measure", "activation")
    tab.select_option("#choose-rows", "name")
    tab.locator(".map tbody button").nth(1).click()
    table = tab.inner_text(".map")
    assert visit(page("usual"), tab.url.split("#")[1]).inner_text(".map") == table
    jump(tab, "view=component&k=2")
    tab.fill("#relevance", "3")
    tab.select_option("#choose-with", "4")
    tab.click("#pin")
    assert terms(visit(page("usual"), tab.url.split("#")[1])) == terms(tab)
    assert tab.locator("header .pins a").all_inner_texts()[0].startswith("#2 ")
    jump(tab, "view=quality")
    tab.click("button:has-text('Found')")
    rows = tab.locator("section:has-text('Predictions') tbody th").all_inner_texts()
    again = visit(page("usual"), tab.url.split("#")[1])
    assert again.locator("section:has-text('Predictions') tbody th").all_inner_texts() == rows


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe(visit, scheme):
    """No violation in any view, at this contrast."""
    try:
        from axe_playwright_python.sync_playwright import Axe
    except ImportError as error:
        _unavailable(f"axe is not installed: {error}")
    tab = visit(page("usual"), scheme=scheme)
    for place in PLACES.values():
        jump(tab, place)
        found = Axe().run(tab)
        assert found.violations_count == 0, f"{place}\n{found.generate_report()}"


def test_themes(visit):
    tab = visit(page("usual"), scheme="light")
    background = "getComputedStyle(document.body).backgroundColor"
    light = tab.evaluate(background)
    tab.click("#theme")
    dark = tab.evaluate(background)
    assert dark != light
    assert tab.inner_text("#theme") == "Light"
    assert visit(page("usual"), scheme="dark").evaluate(background) == dark


@pytest.mark.parametrize("kind", ["usual", "hostile", "hostile texts"])
def test_narrow(visit, kind):
    """On a screen of 360 pixels nothing but tables in their own frames is wider."""
    tab = visit(page(kind), width=360, height=740)
    for place in PLACES.values():
        jump(tab, place)
        assert tab.evaluate("document.documentElement.scrollWidth") <= 360, place


def test_hostile_strings_stay_text(visit):
    tab = visit(page("hostile"), "view=map&rows=name")
    labels = tab.locator(".map tbody th bdi").all_text_contents()
    assert sorted(labels) == sorted(HOSTILE)
    for place in PLACES.values():
        jump(tab, place)
        assert tab.evaluate("window.hacked") is None
        assert tab.locator("script").count() == 3
        assert tab.locator("img, iframe, object, link, base").count() == 0
    jump(tab, "view=term")
    assert sorted(tab.locator("#found bdi").all_text_contents()) == sorted(HOSTILE)
    jump(tab, "view=document&order=file")
    assert tab.locator(".cardhead a bdi").all_text_contents() == HOSTILE
    jump(tab, "view=quality")
    assert HOSTILE[1] in tab.locator("section:has-text('How it was made')").inner_text()
    tab = ready(visit(page("hostile texts"), "view=document&order=file"))
    for i, bad in enumerate(HOSTILE):
        jump(tab, f"view=document&d={i}")
        assert bad in tab.locator(".text").text_content()
        assert tab.evaluate("window.hacked") is None


class TestDownloads:
    def rows(self, tab, name):
        with tab.expect_download() as found:
            tab.click(f"button[aria-label='Download {name} as CSV']")
        assert found.value.suggested_filename == f"{name}.csv"
        text = found.value.path().read_text(encoding="utf-8")
        return list(csv.reader(io.StringIO(text, newline="")))

    def picture(self, tab, name):
        with tab.expect_download() as found:
            tab.click(f"button[aria-label='Download {name} as SVG']")
        root = ElementTree.fromstring(found.value.path().read_text(encoding="utf-8"))  # noqa: S314
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        return ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]

    def test_map(self, visit):
        tab = visit(page("usual"), "view=map&all=1&rows=name&columns=number")
        estimator = usual()[0].estimator_
        header, *rows = self.rows(tab, "map")
        assert [row[0] for row in rows] == estimator.classes_.tolist()
        use = estimator.label_activations_ * estimator.component_sums_
        use /= use.sum(axis=1, keepdims=True)
        found = np.array([row[1:] for row in rows], dtype=float)
        np.testing.assert_allclose(found, use, rtol=1e-3)
        assert header[1].startswith("#0 ")
        drawn = self.picture(tab, "map")
        assert set(estimator.classes_) <= set(drawn)
        tab.select_option("#choose-measure", "activation")
        rows = self.rows(tab, "map")[1:]
        found = np.array([row[1:] for row in rows], dtype=float)
        np.testing.assert_allclose(found, estimator.label_activations_, rtol=1e-3)

    def test_component(self, visit):
        tab = visit(page("usual"), "view=component&k=1")
        model = usual()[0]
        weights = model.estimator_.components_[1].astype(float)
        low, high = (a[0] for a in model.estimator_.component_interval(0.9, components=1))
        header, *rows = self.rows(tab, "component-1-terms")
        assert header == ["term", "part", "low", "high", "lift"]
        assert len(rows) == min(TOP, len(model.terms_))
        place = {term: i for i, term in enumerate(model.terms_)}
        for term, *numbers in rows:
            i = place[term]
            expected = np.array([weights[i], low[i], high[i]]) / weights.sum()
            assert [float(n) for n in numbers[:3]] == pytest.approx(expected.tolist(), rel=1e-3)
        assert rows[0][0] in self.picture(tab, "component-1-terms")
        labels = self.rows(tab, "component-1-labels")[1:]
        assert [label for label, _ in labels] == model.estimator_.classes_.tolist()

    def test_the_others(self, visit):
        """Each view offers its numbers and a picture."""
        model, texts, labels = usual()
        tab = visit(page("usual"), "view=label&l=0")
        for name in ("label-0-components", "label-0-terms"):
            assert len(self.rows(tab, name)) > 2
            assert len(self.picture(tab, name)) > 2
        jump(tab, "view=document&order=file")
        header, *rows = self.rows(tab, "documents")
        assert [row[header.index("text")] for row in rows] == [text[:2000] for text in texts]
        assert [row[header.index("label")] for row in rows] == [label or "" for label in labels]
        assert [row[header.index("given")] for row in rows] == model.predict(texts).tolist()
        assert self.picture(tab, "documents")
        jump(tab, "view=document&d=0")
        why = model.explain(texts[:1], n_components=4)[0]
        rows = self.rows(tab, "document-0-evidence")[1:]
        named = [(str(w.label), t.term) for w in why for t in w.terms]
        assert [(row[0], row[2]) for row in rows if row[1] == "term"] == named
        assert self.picture(tab, "document-0-components")
        jump(tab, "view=term&w=3")
        assert self.rows(tab, "term-3-components")[0] == ["component", "part"]
        assert self.picture(tab, "term-3-labels")
        tab = visit(page("usual"), "view=quality")  # a browser limits how many a page may save
        bound = self.rows(tab, "bound")[1:]
        values = [float(value) for _, value in bound]
        assert values == pytest.approx(model.estimator_.bound_history_.tolist(), rel=1e-7)
        for name in ("accuracy", "confusions", "calibration", "measures", "bound"):
            assert self.picture(tab, name)


class TestDocuments:
    def test_wrong_ones_first(self, visit):
        model, texts, labels = usual()
        tab = ready(visit(page("usual"), "view=document"))
        wrong = [
            str(i)
            for i, (label, given) in enumerate(zip(labels, model.predict(texts), strict=True))
            if label is not None and label != given
        ]
        assert len(wrong) >= 3
        ids = tab.locator(".cardhead a").all_inner_texts()
        assert sorted(ids[: len(wrong)]) == sorted(wrong)
        assert tab.locator(".card.wrong .badge").count() == len(wrong)
        tab.select_option("#choose-only", "wrong")
        assert sorted(ready(tab).locator(".cardhead a").all_inner_texts()) == sorted(wrong)

    def test_search(self, visit):
        tab = ready(visit(page("usual"), "view=document&order=file"))
        tab.fill("#query", "wheels")
        tab.wait_for_selector(".card:only-child")
        assert tab.locator(".cardhead a").all_inner_texts() == ["2"]
        assert "query=wheels" in tab.url

    def test_tinted_text(self, visit):
        """The text is whole, and what is tinted are its terms, after emoji too."""
        texts = usual()[1]
        tab = ready(visit(page("usual"), "view=document&d=2"))
        assert tab.locator(".text").text_content() == texts[2][:2000]
        tinted = tab.locator(".text .term").all_text_contents()
        assert tinted[-2:] == ["Wheels", "wheel"]
        assert "Cut after 2,000" in tab.inner_text("main")
        jump(tab, "view=document&d=1")
        assert "nothing speaks for a label" in tab.inner_text("main")

    def test_several_labels(self, visit):
        model, texts, _ = several()
        tab = ready(visit(page("several labels"), "view=document&d=1"))
        given = model.predict(texts[1:2])[0]
        assert all(label in tab.inner_text(".facts") for label in given)
        jump(tab, "view=quality")
        assert "micro F1" in tab.inner_text("main")


def test_a_browser_that_cannot_unpack(visit):
    """It says so, and shows the rest."""
    tab = visit(page("usual"))
    tab.add_init_script("delete window.DecompressionStream")
    tab.reload()
    for place in ("view=document", "view=document&d=1", "view=component&k=1"):
        jump(tab, place)
        assert "The documents cannot be shown" in tab.inner_text("main")
    assert terms(tab)


def test_notebook(visit):
    """In the frame of a notebook links work, and the notebook around it stays where it is."""
    host = f"<!doctype html><title>notebook</title><p>cell</p>{page('usual')._repr_html_()}"
    tab = visit(host)
    frame = tab.frame_locator("iframe")
    frame.locator("header nav a:text-is('Quality')").click()
    assert frame.locator("#heading").inner_text() == "How far to trust it"
    frame.locator("header nav a:text-is('Map')").click()
    frame.locator(".map thead a").first.click()
    assert frame.locator("#heading").inner_text().startswith("Component")
    assert tab.inner_text("p") == "cell"
    assert tab.url.endswith("page.html#")


def test_printing(visit):
    tab = visit(page("usual"), "view=map")
    tab.click("#theme")  # dark, which is not for paper
    tab.emulate_media(media="print")
    paper = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == "rgb(255, 255, 255)"
    assert not tab.locator("header nav").first.is_visible()
    assert not tab.locator(".controls").is_visible()
    assert tab.locator(".map td").first.is_visible()
