"""Lists of documents in a real browser: each label with its own probability, in that order; and
what a list leaves out is said. Every number is computed again from the model's probabilities.
"""

import csv
import io
import re
from functools import cache

import numpy as np
import pytest
from cliruns import make_corpus
from explorer_browser import jump, ready
from explorer_pages import usual

from vbnmf import DocumentModel, SupervisedVBNMF
from vbnmf.report.explorer import explore

pytestmark = pytest.mark.filterwarnings("ignore")


@cache
def several():
    """Documents with up to three labels each, of which many are predicted wrongly."""
    rng = np.random.default_rng(0)
    texts, labels = make_corpus(3, n_each=30, mixed=0.4)
    lists = [
        [label, *(extra for extra, p in (("early", 0.5), ("rare", 0.15)) if rng.random() < p)]
        for label in labels
    ]
    model = DocumentModel(SupervisedVBNMF(6, max_iter=30, random_state=0)).fit(texts, lists)
    texts, labels = make_corpus(4, n_each=30, mixed=0.4)
    lists = [[label, *(["early"] if rng.random() < 0.5 else [])] for label in labels]
    return model, texts, [*lists[:-2], [], None]


@cache
def page_of_several():
    return explore(*several())


@cache
def sets(make):
    """Probabilities, and sets of true labels (None: unknown) and of predicted ones."""
    model, texts, labels = make()
    P = model.predict_proba(texts)
    names = [str(name) for name in model.estimator_.classes_]
    found = model.predict(texts)
    if make is usual:
        truth = [None if label is None else {label} for label in labels]
        return names, P, truth, [{label} for label in found.tolist()]
    return names, P, [set(t) if t else None for t in labels], [set(g) for g in found]


def percent(part):
    """As the page must write it."""
    value = 100 * float(f"{part:.4g}")
    if 0 < value < 0.1:
        return "<0.1\u00a0%"
    if value >= 99.95 and part < 1:
        return ">99.9\u00a0%"
    decimals = 1 if 0 < value < 9.95 or 99.5 <= value < 100 else 0
    rounded = np.floor(value * 10**decimals + 0.5) / 10**decimals  # halves up
    return f"{rounded:.{decimals}f}\u00a0%"


def ids(tab):
    return [int(name) for name in ready(tab).locator(".cardhead a").all_inner_texts()]


def test_each_label_has_its_own_probability(visit):
    names, P, truth, given = sets(several)
    tab = ready(visit(page_of_several(), "view=document&order=file"))
    heads = [card.inner_text() for card in tab.locator(".verdict").all()]
    assert len(heads) == 40
    assert max(map(len, given[:40])) >= 2
    for d, head in enumerate(heads):
        order = sorted(given[d], key=lambda name: -P[d, names.index(name)])
        said = ", ".join(f"{name} ({percent(P[d, names.index(name)])})" for name in order)
        assert head.endswith(f"predicted {said}" if said else "no label predicted")
        if truth[d] is not None and truth[d] != given[d]:
            true = [n for n in names if n in truth[d]]
            said = ", ".join(f"{name} ({percent(P[d, names.index(name)])})" for name in true)
            assert f"given {said}, " in head


@pytest.mark.parametrize("only", ["", "wrong", "missed", "wrongly"])
@pytest.mark.parametrize("which", ["truth", "given"])
def test_lists_of_a_label_are_sorted_by_its_probability(visit, which, only):
    names, P, truth, given = sets(several)
    tab = visit(page_of_several())
    for at, name in enumerate(names):
        jump(tab, f"view=document&{which}={at}&only={only}")
        chosen = {
            d
            for d in range(len(P))
            if name in ((truth[d] or ()) if which == "truth" else given[d])
            and {
                "": True,
                "wrong": truth[d] is not None and truth[d] != given[d],
                "missed": bool((truth[d] or set()) - given[d])
                and (which == "given" or name not in given[d]),
                "wrongly": truth[d] is not None
                and bool(given[d] - truth[d])
                and (which == "truth" or name not in truth[d]),
            }[only]
        }
        found = ids(tab)
        if len(chosen) <= 40:
            assert set(found) == chosen
        assert set(found) <= chosen
        assert f"{len(chosen)} document" in tab.inner_text("#how-many")
        p = P[:, at]
        error = [truth[d] is not None and (name in truth[d]) != (name in given[d]) for d in found]
        assert error == sorted(error, reverse=True)
        sure = [p[d] if name in given[d] else 1 - p[d] for d in found]
        wrong = [truth[d] is not None and truth[d] != given[d] for d in found]
        for i in range(len(found) - 1):
            if (error[i], wrong[i]) == (error[i + 1], wrong[i + 1]):
                assert sure[i] >= sure[i + 1] - 2e-3  # probabilities on the page are rounded
        for d, said in zip(found, tab.locator(".cardhead > .quiet").all_inner_texts(), strict=True):
            assert said.startswith(f"{name} {percent(p[d])}")


def test_mistakes_about_a_label(visit):
    """Counted in the heading, sorted by the label's probability; all of them behind the link."""
    names, P, truth, given = sets(several)
    tab = visit(page_of_several())
    linked = 0
    for at, name in enumerate(names):
        missed = [d for d, t in enumerate(truth) if t and name in t and name not in given[d]]
        wrongly = [d for d, t in enumerate(truth) if t and name not in t and name in given[d]]
        missed.sort(key=lambda d, at=at: P[d, at])
        wrongly.sort(key=lambda d, at=at: -P[d, at])
        for title, expected in (
            ("Documents of this label for which it was not predicted", missed),
            ("Documents of other labels for which this one was predicted", wrongly),
        ):
            jump(tab, f"view=label&l={at}")
            section = tab.locator(f"section:has(h3:text('{title}'))")
            assert section.locator("h3").inner_text() == f"{title} ({len(expected)})"
            shown = [int(i) for i in section.locator(".cardhead a").all_inner_texts()]
            ordered = [P[d, at] for d in shown], [P[d, at] for d in expected[:4]]
            assert ordered[0] == pytest.approx(ordered[1], abs=2e-3)
            if len(expected) > 4:
                linked += 1
                section.locator(f"text=Show all {len(expected)}").click()
                assert tab.inner_text("#how-many") == f"{len(expected)} documents found"
                assert set(ids(tab)) <= set(expected)
    assert linked > 1


class TestPartOfTheDocuments:
    """A page that holds some of the documents: numbers count all, and lists say what they show."""

    MOST = 20

    @pytest.mark.parametrize("most", [20, 59])
    def test_cells(self, visit, most):
        model, texts, labels = usual()
        _, _, truth, given = sets(usual)
        tab = visit(explore(model, texts, labels, max_documents=most), "view=trust")
        names = [*model.estimator_.classes_, "unheard"]
        said = tab.inner_text("section:has(h3:text-is('Confusions'))")
        assert f"not all of them are among the {most} on this page" in said
        tab.wait_for_function("!document.querySelector('main').textContent.includes('…')")
        rows = tab.locator("section:has(h3:text-is('Confusions')) tbody tr").all()
        shown = {
            row.locator("th").inner_text().split(" (")[0]: row.locator("td").all() for row in rows
        }
        complete = some = 0
        cells = []
        for true in names:
            for j, label in enumerate(names[:3]):
                n = sum(t == {true} and g == {label} for t, g in zip(truth, given, strict=True))
                cell = shown[true][j]
                if not n:
                    assert cell.inner_text() == ""
                    continue
                cells.append((true, label, n, cell.inner_text(), cell.locator("a")))
        opened = [(*cell, link.inner_text(), link.get_attribute("href")) for *cell, link in cells]
        for true, label, n, text, number, href in opened:
            jump(tab, href[1:])
            found = ids(tab)
            assert all(truth[d] == {true} and given[d] == {label} for d in found)
            assert len(found) == int(number.removesuffix(" here"))
            if text == str(n):
                complete += 1
                assert len(found) == n
            else:
                some += 1
                assert text == f"{n}, {len(found)} here"
                assert len(found) < n
                assert true == label  # those of confusions come first
        assert complete >= 3
        assert some

    @pytest.mark.parametrize("make", [usual, several])
    def test_other_lists(self, visit, make):
        """By one label, by none, and with words that are searched for."""
        names, _, truth, given = sets(make)
        total = len(truth)
        tab = visit(explore(*make(), max_documents=self.MOST), "view=document")
        assert f"{self.MOST} of {total} documents are on this page" in tab.inner_text(".lead")
        documents = list(zip(truth, given, strict=True))
        tests = {
            "": lambda t, g: True,
            "only=wrong": lambda t, g: t is not None and t != g,
            "only=right": lambda t, g: t == g,
            "only=missed": lambda t, g: t is not None and bool(t - g),
            "only=wrongly": lambda t, g: t is not None and bool(g - t),
            "truth=1": lambda t, g: names[1] in (t or ()),
            "truth=1&only=wrong": lambda t, g: names[1] in (t or ()) and t != g,
            "truth=1&only=missed": lambda t, g: names[1] in (t or ()) and names[1] not in g,
            "given=0": lambda t, g: names[0] in g,
            "given=0&only=right": lambda t, g: names[0] in g and t == g,
            "given=0&only=wrongly": lambda t, g: t is not None and names[0] in g - t,
            "truth=1&given=0": lambda t, g: names[1] in (t or ()) and names[0] in g,
        }
        some = 0
        for query, test in tests.items():
            jump(tab, f"view=document&{query}")
            n, found = sum(test(*document) for document in documents), ids(tab)
            assert all(test(*documents[d]) for d in found), query
            noun = "document" if n == 1 else "documents"
            expected = f"{n} {noun} found, all on this page"
            if len(found) < n:
                some += 1
                expected = f"Showing {len(found)} of {n} {noun}; the others are not on this page"
            assert tab.inner_text("#how-many") == expected, query
        assert some > 3
        jump(tab, "view=document&query=zzz")
        among = f"among the {self.MOST} of {total} that are on this page"
        assert tab.inner_text("#how-many") == f"0 documents found {among}"

    def test_mistakes_about_a_label(self, visit):
        names, _, truth, given = sets(several)
        tab = visit(explore(*several(), max_documents=self.MOST))
        some = 0
        for at, name in enumerate(names):
            jump(tab, f"view=label&l={at}")
            for title, n in (
                (
                    "Documents of this label for which it was not predicted",
                    sum(bool(t) and name in t - g for t, g in zip(truth, given, strict=True)),
                ),
                (
                    "Documents of other labels for which this one was predicted",
                    sum(bool(t) and name in g - t for t, g in zip(truth, given, strict=True)),
                ),
            ):
                said = tab.locator(f"h3:text('{title}')").inner_text()
                if said != f"{title} ({n})":
                    some += 1
                    assert said.endswith(f" of {n} are on this page)")
                    assert int(said.split("(")[1].split()[0]) < n
        assert some


def test_percentages_are_never_rounded_to_none_or_all(visit, monkeypatch):
    model, texts, _ = usual()
    first = [0.99961, 0.99951, 0.9994, 0.9951, 0.9941, 1.0, 0.6, 0.9999999]
    P = np.array([[p, 1 - p, 0] for p in first])
    monkeypatch.setattr(model.estimator_, "predict_proba", lambda X: P)
    n = len(P)
    second = str(model.estimator_.classes_[1])
    tab = visit(explore(model, texts[:n], [second] * n), "view=document&order=file")
    shown = [text.split("(")[-1] for text in ready(tab).locator(".verdict").all_inner_texts()]
    expected = [">99.9", ">99.9", "99.9", "99.5", "99", "100", "60", ">99.9"]
    assert shown == [f"{text}\u00a0%)" for text in expected]
    true = [text.split("(")[1].split(")")[0] for text in tab.locator(".verdict").all_inner_texts()]
    expected = ["<0.1", "<0.1", "<0.1", "0.5", "0.6", "0", "40", "<0.1"]
    assert true == [f"{text}\u00a0%" for text in expected]
    with tab.expect_download() as found:
        tab.click("button[aria-label='Download documents as CSV']")
    header, *rows = csv.reader(io.StringIO(found.value.path().read_text(encoding="utf-8")))
    written = [float(row[header.index("probability")]) for row in rows]
    assert written == pytest.approx(first, abs=6e-4)
    assert [p == 1 for p in written] == [p == 1 for p in first]


def test_parts_in_documents_beside_expected_parts(visit):
    """What the model expects of a label, and what it estimates in the label's documents."""
    model, texts, labels = usual()
    estimator = model.estimator_
    amounts = model.transform(texts) * estimator.component_sums_
    has_terms = np.asarray(model.vectorize(texts).sum(axis=1)).ravel() > 0
    tab = visit(
        explore(model, texts, labels), "view=map&measure=found&rows=name&columns=number&all=1"
    )
    with tab.expect_download() as found:
        tab.click("button[aria-label='Download map as CSV']")
    _, *rows = csv.reader(io.StringIO(found.value.path().read_text(encoding="utf-8")))
    assert "estimated from their terms without their labels" in tab.inner_text(".lead")
    expected = []
    for name in estimator.classes_:
        of_label = amounts[has_terms & np.array([label == name for label in labels])].sum(axis=0)
        expected.append(of_label / of_label.sum())
    np.testing.assert_allclose([[float(x) for x in row[1:]] for row in rows], expected, rtol=6e-3)
    use = estimator.label_activations_ * estimator.component_sums_
    use /= use.sum(axis=1, keepdims=True)
    k = int(use[0].argmax())
    jump(tab, f"view=component&k={k}")
    table = tab.locator("section:has(h3:text-is('Labels it serves'))")
    name = str(estimator.classes_[0])
    row = table.locator(f"tr:has(th:has-text('{name}'))").inner_text().split()
    assert row[0] == name
    assert float(row[1]) == pytest.approx(100 * use[0, k], abs=0.5)
    assert float(row[-2]) == pytest.approx(100 * expected[0][k], abs=0.6)  # rounded twice


NUMBER = re.compile(r"(?:Show all |All )?([\d,]+)(?: lines| here| on this page)*")
LISTS = {"how-many": r"([\d,]+)", "lines": r"([\d,]+)", "decided": r"of ([\d,]+) decided"}


@pytest.mark.parametrize("most", [5000, 20])
@pytest.mark.parametrize("make", [usual, several])
def test_every_number_that_is_a_link_is_the_length_of_its_list(visit, make, most):
    model, texts, labels = make()
    tab = visit(explore(model, texts, labels, max_documents=most), height=400)
    links = {}
    for place in (
        *("view=labels", "view=label&l=0", "view=label&l=1", "view=compare&a=0&b=1"),
        *("view=structure", "view=trust", "view=term&word=and", "view=document&d=0"),
    ):
        jump(tab, place)
        tab.wait_for_function("!document.querySelector('main').textContent.includes('…,')")
        for text, target in tab.locator("main a[href^='#']").evaluate_all(
            "all => all.map(a => [a.textContent.trim(), a.getAttribute('href')])"
        ):
            found = NUMBER.fullmatch(text.replace("\xa0", " "))
            if found and "&w=" not in target and "&d=" not in target:
                links[target] = int(found[1].replace(",", ""))
    assert len(links) > 3
    for target, n in links.items():
        jump(tab, target[1:])
        said = {name: tab.locator(f"#{name}") for name in LISTS}
        (name,) = (name for name in LISTS if said[name].count())
        shown = re.search(LISTS[name], said[name].inner_text())
        assert int(shown[1].replace(",", "")) == n, target
