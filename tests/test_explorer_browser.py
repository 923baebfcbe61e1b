"""The explorer in a real browser: Debian's Chromium, driven by Playwright, with the network off."""

import csv
import io
import re

import numpy as np
import pytest
from explorer_browser import heading, jump, ready, unavailable
from explorer_pages import HOSTILE, KINDS, page, usual
from oracle_uses import naming_terms, relevance

from vbnmf.report.explorer import Report
from vbnmf.report.explorer.payload import STEPS, TOP

VIEWS = {
    "labels": "Labels",
    "components": "Components",
    "compare": "Compare",
    "term": "Words",
    "document": "Documents",
    "review": "Review",
    "trust": "Trust",
    "new": "New",
    "about": "About",
}
PLACES = {
    "labels": "view=labels",
    "map": "view=map",
    "similar labels": "view=map&kind=labels",
    "list of components": "view=components",
    "components": "view=component&k=1&with=2&pins=1,2",
    "label": "view=label&l=1",
    "documents": "view=document",
    "document": "view=document&d=0",
    "term": "view=term&w=3",
    "word": "view=term&word=wheel",
    "compare": "view=compare&a=0&b=1",
    "compare with the rest": "view=compare&a=1&b=rest",
    "review": "view=review&which=all",
    "trust": "view=trust",
    "about": "view=about",
    "structure": "view=structure",
    "new": "view=new",
    "columns": "view=columns",
    "values": "view=columns&column=1&of=predicted",
    "components by column": "view=columns&of=components",
    "test": "view=test",
    "test of documents": "view=test&task=documents",
}
LARGE = ("200 labels", "500 components")


@pytest.mark.parametrize(
    "kind",
    [pytest.param(k, marks=pytest.mark.slow if k in LARGE else ()) for k in KINDS],
)
def test_every_view_of_every_kind(visit, kind):
    """Nothing goes wrong and nothing is asked for, in any view and any size of a model."""
    tab = visit(page(kind), "view=map")
    assert tab.inner_text("h1").strip() == re.sub(r"\s+", " ", page(kind).title).strip()
    shown = tab.locator("header nav a").all_inner_texts()
    assert ("Labels" in shown) is ("no labels" not in kind and kind != "unsupervised")
    assert ("Documents" in shown) is (kind != "no documents")
    strange = ["view=nonsense&k=-1", "view=component&k=99999&rank=relevance&relevance=77"]
    for place in [*PLACES.values(), *strange]:
        jump(tab, place)
        assert heading(tab)
        assert "NaN" not in tab.inner_text("main")
        assert "undefined" not in tab.inner_text("main")


def test_addresses_that_mean_nothing(visit):
    """Names that every object of JavaScript has are no views and no settings."""
    tab = visit(page("usual"))
    names = ["measure", "order", "rows", "columns", "kind", "only", "shade", "rank", "which", "k"]
    names += ["l", "d", "w", "a", "b", "label", "truth", "given", "pins", "sense", "find", "word"]
    for wrong in ("constructor", "__proto__", "toString"):
        settings = "&".join(f"{name}={wrong}" for name in names)
        for view in (wrong, "map", *VIEWS):
            jump(tab, f"view={view}&{settings}")
            assert heading(tab)


def test_downloads_hold_no_formulas(visit):
    tab = visit(page("hostile"), "view=labels")
    with tab.expect_download() as found:
        tab.locator("button[aria-label$='as CSV']").first.click()
    rows = list(csv.reader(io.StringIO(found.value.path().read_text(encoding="utf-8"))))
    assert "'=cmd()|' /C calc'!A0" in {cell for row in rows for cell in row}
    assert not any(cell.startswith(("=", "+", "@")) for row in rows for cell in row)


def test_a_link_to_a_view_opens_at_the_top(visit):
    """The title, the search and the numbers are visible, and no tab looks as if it were focused."""
    tab = visit(page("usual"), "view=labels", height=300)
    for place in ("", "view=compare", "view=labels"):
        jump(tab, place)
        assert tab.evaluate("scrollY") == 0
        assert tab.evaluate("document.activeElement.tagName") != "A"


class TestReached:
    def test_by_mouse(self, visit):
        tab = visit(page("usual"))
        for view, title in VIEWS.items():
            tab.click(f"header nav a:text-is('{title}')")
            assert f"view={view}" in tab.url
            assert tab.locator("header [aria-current=page]").inner_text() == title
        tab.click("header nav a:text-is('Components')")
        tab.click(".under a:text-is('Map')")
        tab.locator(".map thead a").first.click()
        assert heading(tab).startswith("Component #")
        tab.locator("table th a").first.click()
        assert heading(tab).startswith("Word ")
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
        reach(tab, "e => e.matches('.map a, .map button')")
        for _ in range(9):
            if tab.evaluate("document.activeElement.matches('.map thead button')"):
                break
            tab.keyboard.press("ArrowRight")
        tab.keyboard.press("Enter")
        pressed = "e => [e.ariaPressed, e.closest('th').ariaSort]"
        assert tab.evaluate(f"({pressed})(document.activeElement)") == ["true", "descending"]
        jump(tab, "view=component&k=0&rank=relevance")
        before = terms(tab)
        reach(tab, "e => e.id === 'relevance'")
        for _ in range(10):
            tab.keyboard.press("ArrowLeft")
        assert tab.evaluate("document.activeElement.ariaValueText") == "λ = 0"
        assert terms(tab) != before
        reach(tab, "e => e.id === 'pin'", "Shift+Tab")
        tab.keyboard.press("Space")
        assert "pins=0" in tab.url
        assert tab.evaluate("document.activeElement.id") == "pin"
        jump(tab, "view=term")
        reach(tab, "e => e.id === 'find'")
        tab.keyboard.type("whe")
        tab.keyboard.press("Enter")
        assert heading(tab) in ("Word whe", "Word wheel")


def reach(tab, test, key="Tab"):
    """Go on with Tab until the focus is on what is wanted."""
    for _ in range(200):
        tab.keyboard.press(key)
        if tab.evaluate(f"({test})(document.activeElement)"):
            return
    raise AssertionError(f"not reached: {test}")


def terms(tab):
    return tab.locator(".panel .terms tbody th a").all_inner_texts()


def test_ranks_of_terms(visit):
    """First come the terms that describe the component. At each λ of the slider, the terms stand
    in the order that Python computes from the model itself.
    """
    model = usual()[0]
    of = model.estimator_
    place = {term: w for w, term in enumerate(model.terms_)}
    least = 2 * of.hyperparameters_["term_shape"]
    tab = visit(page("usual"))
    orders = set()
    for k in (0, 2, 3):
        jump(tab, f"view=component&k={k}")
        assert terms(tab) == model.terms_[naming_terms(of, TOP)[k]].tolist()
        named = tab.inner_text("#heading bdi").split()
        assert terms(tab)[: len(named)] == named
        assert not tab.locator("#relevance").count()
        tab.select_option("#choose-rank", "relevance")
        assert tab.evaluate("document.getElementById('relevance').ariaValueText") == "λ = 1"
        for step, lam in enumerate(STEPS):
            tab.fill("#relevance", str(step))
            scores = relevance(of.components_, model.vectorizer_.idf_, of.faded_, lam)[k]
            shown = [place[term] for term in terms(tab)]
            scores[of.component_shapes_[k] < least] = 0  # of the prior
            assert scores[shown].all()
            best = np.sort(scores)[::-1][: min(TOP, np.count_nonzero(scores))]
            # numbers on the page are rounded: terms that are nearly the same may change places
            np.testing.assert_allclose(scores[shown], best, rtol=1e-3, atol=1e-3 * best[0])
            orders.add(tuple(shown))
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
    tab.select_option("#choose-rank", "relevance")
    tab.fill("#relevance", "3")
    tab.select_option("#choose-with", "4")
    tab.click("#pin")
    assert terms(visit(page("usual"), tab.url.split("#")[1])) == terms(tab)
    assert tab.locator("header .pins a").all_inner_texts()[0].startswith("#2 ")
    jump(tab, "view=trust")
    tab.click("button:has-text('Recall')")
    rows = tab.locator("section:has-text('Predictions') tbody th").all_inner_texts()
    again = visit(page("usual"), tab.url.split("#")[1])
    assert again.locator("section:has-text('Predictions') tbody th").all_inner_texts() == rows


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe(visit, scheme):
    """No violation in any view, at this contrast."""
    try:
        from axe_playwright_python.sync_playwright import Axe
    except ImportError as error:
        unavailable(f"axe is not installed: {error}")
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
    assert sorted(tab.locator("#found th bdi").all_text_contents()) == sorted(HOSTILE)
    jump(tab, "view=document&order=file")
    assert tab.locator(".cardhead a bdi").all_text_contents() == HOSTILE
    jump(tab, "view=about")
    assert HOSTILE[1] in tab.locator("section:has-text('How it was made')").inner_text()
    tab = ready(visit(page("hostile texts"), "view=document&order=file"))
    for i, bad in enumerate(HOSTILE):
        jump(tab, f"view=document&d={i}")
        assert bad in tab.locator(".text").text_content()
        assert tab.evaluate("window.hacked") is None


def test_a_browser_that_cannot_unpack(visit):
    """It says so."""
    tab = visit(page("usual"))
    tab.add_init_script("delete window.DecompressionStream")
    tab.reload()
    said = "The page cannot be shown: this browser is too old. Use one of 2024 or later."
    tab.wait_for_function("said => document.querySelector('main').textContent === said", arg=said)


def test_damaged_documents(visit):
    """The page says so, and shows the rest."""
    shown = page("usual")
    begin = shown.html.index('id="packed">') + 500
    tab = visit(Report(shown.html[:begin] + "AAAAAAAA" + shown.html[begin + 8 :], shown.title))
    for place in ("view=document", "view=document&d=1", "view=component&k=1"):
        jump(tab, place)
        assert "The documents cannot be shown" in tab.inner_text("main")
    assert terms(tab)


def test_notebook(visit):
    """In the frame of a notebook links work, and the notebook around it stays where it is."""
    host = f"<!doctype html><title>notebook</title><p>cell</p>{page('usual')._repr_html_()}"
    tab = visit(host)
    frame = tab.frame_locator("iframe")
    frame.locator("header nav a:text-is('Trust')").click()
    assert frame.locator("#heading").inner_text() == "How far to trust the predictions"
    frame.locator("header nav a:text-is('Components')").click()
    frame.locator(".under a:text-is('Map')").click()
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
