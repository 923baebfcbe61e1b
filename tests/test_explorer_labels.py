"""The first screen of the explorer, in a real browser: what is on it without scrolling, and that
every number on it is the number of documents that a recount finds.
"""

import csv
import io

import numpy as np
import pytest
from cliruns import make_corpus, ok
from explorer_browser import heading, jump, ready
from explorer_pages import analysed, page, several, unpacked, usual

from vbnmf import DocumentModel, SupervisedVBNMF
from vbnmf.evaluation.judging import judge
from vbnmf.metrics.shares import share_interval
from vbnmf.report.explorer import explore

pytestmark = pytest.mark.filterwarnings("ignore")


def made_up(n_labels):
    """A page with labels of two words each."""
    rng = np.random.default_rng(0)
    words = [f"{stem}{i}" for i in range(n_labels) for stem in ("wordiness", "verbosity")]
    y = np.arange(6 * n_labels) % n_labels
    texts = [
        " ".join([*rng.choice(words[2 * at : 2 * at + 2], 6), *rng.choice(words, 5)]) for at in y
    ]
    labels = [f"a label of number {at}" for at in y]
    estimator = SupervisedVBNMF(
        n_labels, max_iter=4, classifier="generative", init="label", random_state=0
    )
    model = DocumentModel(estimator).fit(texts, labels)
    return explore(model, texts[: 3 * n_labels], labels[: 3 * n_labels], title="Many")


@pytest.mark.parametrize("n_labels", [24, 57, pytest.param(150, marks=pytest.mark.slow)])
def test_rows_without_scrolling(visit, n_labels):
    shown = made_up(n_labels)
    for width, height, least in ((1280, 800, 10), (390, 844, 3)):
        tab = visit(shown, width=width, height=height)
        rows = tab.locator(".labels tbody tr")
        assert rows.count() == n_labels
        boxes = [row.bounding_box() for row in rows.all()[:30]]
        assert sum(box["y"] + box["height"] <= height for box in boxes) >= least
        for what in ("#search", ".numbers"):
            box = tab.locator(what).bounding_box()
            assert box["y"] >= 0
            assert box["y"] + box["height"] <= height
        assert "accuracy" in tab.inner_text(".numbers")
        assert tab.evaluate("document.documentElement.scrollWidth") <= width


class TestNumbers:
    def test_accuracy_of_training_documents_is_of_models_that_did_not_see_them(self, visit):
        model = usual()[0]
        texts, labels = make_corpus(1, n_each=25, mixed=0.3)
        labels[0], labels[30] = labels[30], labels[0]
        left_out = judge(analysed(model, texts, labels).part).probabilities.argmax(axis=1)
        right = np.mean(model.estimator_.classes_[left_out] == labels)
        assert right < np.mean(model.predict(texts) == labels)
        shown = explore(model, texts, labels)
        assert unpacked(shown.html)["overview"]["score"][0] == pytest.approx(right, abs=1e-4)
        tab = visit(shown)
        assert "all of them were in training, predicted by models" in tab.inner_text(".numbers")
        assert "too good" not in tab.inner_text("main")
        assert "by chance" not in tab.inner_text(".numbers")

    def test_of_random_labels_it_is_said_to_be_chance(self, visit):
        texts, labels = make_corpus(1, n_each=25)
        labels = np.random.default_rng(0).permutation(labels).tolist()
        model = DocumentModel(SupervisedVBNMF(4, max_iter=20, random_state=0)).fit(texts, labels)
        tab = visit(explore(model, texts, labels))
        assert "right no more often than by chance" in tab.inner_text(".numbers")

    def test_counts(self, visit):
        """The table as CSV: each number recounted."""
        model, texts, labels = usual()
        given = model.predict(texts)
        trained = model.estimator_
        counts = trained.label_term_documents_.toarray()
        place = {term: w for w, term in enumerate(model.terms_)}
        tab = visit(page("usual"))
        assert heading(tab) == "Labels"
        with tab.expect_download() as found:
            tab.click("button[aria-label='Download labels as CSV']")
        rows = list(csv.DictReader(io.StringIO(found.value.path().read_text(encoding="utf-8"))))
        assert [int(row["training documents"]) for row in rows] == sorted(
            trained.label_counts_.astype(int).tolist(), reverse=True
        )
        for row in rows:
            at = trained.classes_.tolist().index(row["label"])
            assert int(row["training documents"]) == trained.label_counts_[at]
            mine = [i for i, y in enumerate(labels) if y == row["label"]]
            assert int(row["documents on this page"]) == len(mine)
            right = sum(given[i] == row["label"] for i in mine)
            assert float(row["recall"]) == pytest.approx(right / len(mine), rel=1e-3)
            others = [str(given[i]) for i in mine if given[i] != row["label"]]
            n = max((others.count(other) for other in others), default=0)
            assert int(row["documents confused"] or 0) == n
            if n:
                assert others.count(row["most confused with"]) == n
        words = tab.locator(".labels tbody tr").first.locator(".words a").all_inner_texts()
        first = rows[0]["label"]
        at = trained.classes_.tolist().index(first)
        assert len(words) == 6
        said = tab.locator(".labels tbody tr").first.locator(".words .tag").all_inner_texts()
        for word, share in zip(words, said, strict=True):
            part = counts[at, place[word]] / trained.label_counts_[at]
            assert abs(float(share.split("\u00a0")[0].strip("<>")) - 100 * part) <= 1

    def test_head(self, visit):
        model, texts, labels = usual()
        # without the planted errors, so that a threshold reaches the goal
        labels = [None if i in (0, 21, 45) else y for i, y in enumerate(labels)]
        known = [i for i, y in enumerate(labels) if y is not None]
        P, given = model.predict_proba(texts), model.predict(texts)
        right = np.array([given[i] == labels[i] for i in known])
        p = P.max(axis=1)[known]
        tab = visit(explore(model, texts, labels))
        said = tab.locator(".numbers > div").all_inner_texts()
        assert "60" in said[0]
        assert "3 labels" in said[0]
        low, high = share_interval(right.sum(), len(right))
        assert f"{100 * right.mean():.0f}\u00a0%" in said[1]
        top = ">99" if 0.995 < high < 1 else f"{100 * high:.0f}"
        assert f"({100 * low:.0f} to {top}\u00a0%)" in said[1]
        assert f"{len(known)} labelled documents" in said[1]
        assert "can be accepted automatically at 95\u00a0% right" in said[2]
        every = "whatever their probability" in said[2]
        threshold = 0 if every else float(said[2].split("≥ ")[1].split(")")[0])
        accepted = p >= threshold
        assert f"{100 * accepted.mean():.0f}\u00a0%" in said[2]
        assert right[accepted].mean() >= 0.95
        assert threshold == 0 or right[p >= threshold - 0.01].mean() < 0.95
        assert "to check" in said[3]

    @pytest.mark.parametrize("make", [usual, several])
    def test_numbers_are_the_lengths_of_lists(self, visit, make):
        tab = ready(visit(explore(*make())))
        links = [
            (link.inner_text(), link.get_attribute("href"))
            for link in tab.locator(
                ".numbers dd a, .labels td.confused a, .labels td.right a"
            ).all()
            if link.inner_text().isdigit()
        ]
        assert links
        for number, href in links:
            jump(tab, href[1:])
            if "view=review" in href:
                assert f"0 of {number} decided" in tab.inner_text("#decided")
            else:
                assert tab.inner_text("#how-many").split()[0] == number


class TestSearch:
    def test_exact_first(self, visit):
        """Enter opens what was typed, not a longer name that is more common."""
        texts = ["a card of cards, a card", "card game card", "my car drives", "the car is new"]
        model = DocumentModel(SupervisedVBNMF(2, max_iter=3, random_state=0))
        model.fit(texts * 3, ["games", "games", "motors", "motors"] * 3)
        tab = visit(explore(model, texts))
        tab.keyboard.press("/")
        assert tab.evaluate("document.activeElement.id") == "search"
        tab.keyboard.type("car")
        tab.wait_for_selector("#results [aria-label='Documents'] [role=option]")
        kinds = tab.locator("#results [role=group]").evaluate_all(
            "all => all.map(e => e.ariaLabel)"
        )
        assert kinds[0] == "Words"
        tab.keyboard.press("Enter")
        assert heading(tab) == "Word car"
        tab.fill("#search", "motors")
        tab.keyboard.press("Enter")
        assert heading(tab) == "Label motors"

    def test_documents(self, visit):
        """The number of documents is that of the list, where the match is shown and marked."""
        texts = [*usual()[1][:5], f"{100 * 'long way '}to the needle in the hay"]
        tab = visit(explore(usual()[0], [*texts, "another needle"]))
        tab.fill("#search", "needle")
        tab.wait_for_selector("text=All 2 documents with")
        tab.click("text=All 2 documents with")
        ready(tab)
        assert tab.inner_text("#how-many").startswith("2 documents")
        assert tab.locator(".snippet mark").all_inner_texts() == ["needle", "needle"]


class TestKeys:
    def test_one_stop(self, visit):
        """All links of the table are one stop of Tab; arrows move between them."""
        tab = visit(page("usual"))
        stops = tab.locator(".labels tbody a[tabindex='0'], .labels tbody button[tabindex='0']")
        assert stops.count() == 1
        tab.locator(".labels tbody a").first.focus()
        tab.keyboard.press("ArrowDown")
        second = tab.locator(".labels tbody tr").nth(1).locator("th a")
        assert second.evaluate("e => e === document.activeElement")
        tab.keyboard.press("ArrowRight")
        assert tab.evaluate("document.activeElement.closest('td').className") == "words"
        assert stops.count() == 1
        tab.keyboard.press("Home")
        tab.keyboard.press("Enter")
        assert heading(tab).startswith("Label ")

    def test_map(self, visit):
        tab = visit(page("usual"), "view=map")
        assert tab.locator(".map table [tabindex='0']").count() == 1


class TestMended:
    def test_filters_survive_a_document(self, visit):
        tab = ready(visit(page("usual"), "view=document&only=wrong&truth=0"))
        n = tab.inner_text("#how-many")
        tab.locator(".cardhead a").first.click()
        ready(tab)
        assert "only=wrong" in tab.url
        assert "truth=0" in tab.url
        tab.click("a:has-text('All documents')")
        assert ready(tab).inner_text("#how-many") == n

    def test_sorting_keeps_the_place_of_the_map(self, visit):
        tab = visit(page("scopes"), "view=map&all=1", width=420, height=700)
        tab.evaluate("document.querySelector('.map').scrollLeft = 40")
        tab.evaluate("document.querySelectorAll('.map thead button')[3].click()")
        assert "rows=by" in tab.url
        assert tab.evaluate("document.querySelector('.map').scrollLeft") == 40

    def test_forced_colours(self, visit):
        """Only the tab of the view has a line."""
        tab = visit(page("usual"))
        tab.emulate_media(forced_colors="active")
        widths = tab.locator(".tabs a").evaluate_all(
            "all => all.map(e => getComputedStyle(e).borderBottomWidth)"
        )
        assert widths.count("3px") == 1
        assert widths.count("0px") == len(widths) - 1

    def test_names_do_not_break_inside_a_word(self, visit):
        tab = visit(page("usual"), "view=label&l=0", width=390, height=844)
        for place in ("view=label&l=0", "view=trust", "view=labels"):
            jump(tab, place)
            wraps = tab.locator("tbody th").evaluate_all(
                "all => all.map(e => getComputedStyle(e).overflowWrap)"
            )
            assert "anywhere" not in wraps

    def test_print_shows_the_whole_map(self, visit):
        tab = visit(page("scopes"), "view=map&all=1", width=1100)
        tab.emulate_media(media="print")
        cut = tab.evaluate(
            """() => { const map = document.querySelector('.map');
              return [map.scrollWidth - map.clientWidth, getComputedStyle(map).overflow] }"""
        )
        assert cut[1] == "visible"

    def test_print_shrinks_a_wide_map(self, visit):
        """Nothing of it is outside of a sheet, whose width is about 1,000 pixels."""
        tab = visit(page("500 components"), "view=map&all=1", width=1100)
        assert tab.evaluate("document.querySelector('.map table').offsetWidth") > 3000
        tab.evaluate("dispatchEvent(new Event('beforeprint'))")
        tab.emulate_media(media="print")
        box = tab.locator(".map table").bounding_box()
        assert 300 < box["width"] <= 960


def test_words_that_may_be_chance(visit):
    """The first screen leaves them out, and the view of a label marks them."""
    texts, labels = make_corpus(3, n_each=40)
    labels = np.random.default_rng(1).permutation(labels).tolist()
    random = explore(DocumentModel(SupervisedVBNMF(6, max_iter=5)).fit(texts, labels), texts)
    tab = visit(random)
    assert set(tab.locator(".labels tbody td.words").all_inner_texts()) == {"all may be chance"}
    jump(tab, "view=label&l=0")
    shown = tab.locator("td .quiet", has_text="elsewhere").all_inner_texts()
    assert shown
    assert all(text.endswith("; may be chance") for text in shown)
    assert "if documents had their labels at random" in tab.inner_text("main")
    tab = visit(page("usual"))
    assert "chance" not in tab.inner_text(".labels tbody")


@pytest.mark.parametrize("kind", ["several", "weighted"])
def test_documents_without_a_label_are_said_to_be_elsewhere(visit, tmp_path, kind):
    """They count as documents that do not have a label, but may have it."""
    texts, labels = make_corpus(1, n_each=10)
    labels = [None if i % 4 else label for i, label in enumerate(labels)]
    n = labels.count(None)
    labels = [label and ([label, "early"] if i % 3 else [label]) for i, label in enumerate(labels)]
    weight = np.arange(1.0, len(texts) + 1) if kind == "weighted" else None
    model = DocumentModel(SupervisedVBNMF(4, max_iter=20, random_state=0))
    model.fit(texts, labels, sample_weight=weight)
    tab = visit(explore(model), "view=label&l=0")
    some = "any" if kind == "weighted" else n  # it is not known how many
    said = f", including {some} without a label, which may have this one"
    assert f"elsewhere{said}; the" in tab.inner_text("main")
    jump(tab, "view=compare&a=0&b=rest")
    assert f"{said}. A word" in tab.inner_text("main")
    jump(tab, "view=compare&a=0&b=1")
    assert said not in tab.inner_text("main")
    model.save(tmp_path / "m.vbnmf")
    last = f"\nElsewhere includes {some} without a label, which may have it.\n"
    assert ok("labels", tmp_path / "m.vbnmf").out.endswith(last)


def test_nothing_is_said_of_documents_without_a_label_if_there_are_none(visit, tmp_path):
    model = usual()[0]
    tab = visit(page("usual"), "view=label&l=0")
    assert "without a label" not in tab.inner_text("main")
    model.save(tmp_path / "m.vbnmf")
    assert "without a label" not in ok("labels", tmp_path / "m.vbnmf").out
