"""Scopes in words and by block: the same in the terminal, on the page and in displays."""

import re
from copy import copy
from itertools import pairwise
from types import SimpleNamespace

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from cliruns import ok
from explorer_pages import SCOPES, fit, page, scoped
from hypothesis import given
from hypothesis import strategies as st

from vbnmf import VBNMF, LabelMapDisplay
from vbnmf.cli.terminal import percent
from vbnmf.cli.topics import _plain, component_table
from vbnmf.description.components import label_use
from vbnmf.description.labels import describe_labels
from vbnmf.description.modeltables import topics_table
from vbnmf.description.scopes import by_block, scopes_of
from vbnmf.description.summary import blocks_of_label, summarise
from vbnmf.report.explorer import explore
from vbnmf.report.explorer.ordering import map_blocks, order_map, runs
from vbnmf.report.explorer.payload import model_payload

pytestmark = pytest.mark.filterwarnings("ignore:the fit did not converge")

MASK = np.array(list(SCOPES.values()), dtype=bool)


def made(mask, *, background=None, groups=None, activations=None):
    """Stand-in for a model with such scopes."""
    mask = np.asarray(mask, dtype=bool)
    n, K = mask.shape
    return SimpleNamespace(
        scopes_=mask,
        classes_=np.array([f"l{i}" for i in range(n)]),
        background_=background,
        label_groups_=groups or {},
        label_activations_=mask * (np.ones((n, K)) if activations is None else activations),
        component_sums_=np.ones(K),
        component_agreement_=np.full(K, np.nan),
    )


class TestWords:
    @pytest.mark.parametrize(
        ("column", "kind", "words"),
        [
            ([1, 0, 0, 0, 0, 0, 0, 0], "own", "only l0"),
            ([0, 1, 1, 0, 0, 0, 0, 0], "shared", "shared by l1, l2"),
            ([1, 1, 1, 1, 0, 0, 0, 0], "shared", "shared by l0, l1, l2, l3"),
            ([1, 1, 1, 1, 1, 0, 0, 0], "shared", "shared by l0, l1, l2 and 2 more labels"),
            ([0, 0, 0, 1, 1, 1, 1, 1], "shared", "shared by last (5 labels)"),
            ([1, 1, 1, 1, 1, 1, 1, 1], "common", "common to all labels"),
        ],
    )
    def test_of_each_kind(self, column, kind, words):
        mask = np.column_stack([np.ones(8), np.eye(8), column])
        groups = {"last": np.array([f"l{i}" for i in range(3, 8)])}
        scopes = scopes_of(made(mask, background=0, groups=groups))
        assert (scopes[0].kind, scopes[0].block) == ("background", "common")
        assert scopes[0].in_words() == "background, common to all labels"
        assert (scopes[-1].kind, scopes[-1].in_words()) == (kind, words)

    def test_with_parts_and_beside_a_label(self):
        """Labels that use a component most are named first."""
        mask = np.array([[1, 1, 0, 1], [1, 1, 0, 0], [1, 0, 1, 0]])
        use = np.array([[2, 3, 0, 5], [4, 6, 0, 0], [1, 0, 9, 0]])
        scopes = scopes_of(made(mask, activations=use))
        parts = [[f"{use[i, k]}0 %" for i in s.labels] for k, s in enumerate(scopes)]
        said = [scope.in_words(part) for scope, part in zip(scopes, parts, strict=True)]
        assert said == [
            "common to all labels, most in l1 40 %",
            "shared by l1 60 %, l0 30 %",
            "only l2 90 %",
            "only l0 50 %",
        ]
        assert [s.beside("l0") for s in scopes] == ["common", "shared with l1", "own", "own"]
        groups = {"ab": np.array(["l0", "l1"])}
        shared = scopes_of(made(mask, groups=groups, activations=use))[1]
        assert shared.beside("l0") == "shared within ab (2 labels)"
        assert shared.in_words(parts[1]) == "shared by ab (2 labels), most in l1 60 %"

    def test_nothing_to_say(self):
        assert scopes_of(made(np.ones((3, 2)), background=0)) is None
        assert scopes_of(VBNMF(2, max_iter=2).fit(np.ones((3, 4)))) is None
        assert scopes_of(fit(1, 3, [f"t{i}" for i in range(9)]).estimator_) is None

    @given(st.integers(2, 12), st.integers(1, 12), st.randoms(use_true_random=False))
    def test_any_scope_has_words(self, n, K, random):
        mask = np.array([[random.random() < 0.5 for _ in range(K)] for _ in range(n)])
        mask[0] |= ~mask.any(axis=0)
        scopes = scopes_of(made(mask))
        if mask.all():
            assert scopes is None
            return
        for k, scope in enumerate(scopes):
            assert sorted(scope.labels) == np.flatnonzero(mask[:, k]).tolist()
            assert re.match("common to|shared by|only l", scope.in_words())
        sizes = by_block(np.ones(K), scopes)
        assert sum(sizes.values()) == K
        assert list(sizes) == [b for b in ("common", "shared", "own") if b in sizes]


class TestTopics:
    @pytest.fixture
    def path(self, tmp_path, monkeypatch):
        monkeypatch.setenv("COLUMNS", "200")
        scoped()[0].save(tmp_path / "m.vbnmf")
        return tmp_path / "m.vbnmf"

    def test_all(self, path):
        estimator = scoped()[0].estimator_
        head, _, *rows, empty, last = ok("topics", path).out.splitlines()
        assert "scope (expected part)" in head
        assert empty == ""
        numbers = [int(row.split()[0]) for row in rows]
        mass = estimator.component_mass_
        for block in ([0, 1], [2, 3], [4, 5, 6, 7, 8, 9]):
            found, numbers = numbers[: len(block)], numbers[len(block) :]
            assert found == sorted(block, key=lambda k: -mass[k])
        use = 100 * label_use(estimator)
        row = {int(row.split()[0]): row for row in rows}
        assert " background, common to all labels, most in " in row[0]
        assert " shared by last (3 labels), most in " in row[3]
        assert f" only b {use[1, 6]:.0f} % " in row[6]
        strong, weak = sorted((0, 1), key=lambda i: -use[i, 2])
        said = (
            f" shared by {'ab'[strong]} {use[strong, 2]:.0f} %, {'ab'[weak]} {use[weak, 2]:.0f} % "
        )
        assert said in row[2]
        own, shared, common = (percent(mass[at].sum()) for at in (slice(4, 10), [2, 3], [0, 1]))
        assert (
            last == f"own {own}, shared {shared}, common {common} of the training documents' weight"
        )

    def test_of_a_label(self, path):
        use = label_use(scoped()[0].estimator_)
        head, _, *rows, _, last = ok("topics", path, "--label", "a").out.splitlines()
        assert head.split()[:6] == ["#", "expected", "part", "of", "a", "scope"]
        kinds = {0: "background", 1: "common", 2: "shared with b", 4: "own", 5: "own"}
        parts = []
        for row in rows:
            k, part, kind, _ = re.split(r"  +", row.strip(), maxsplit=3)
            assert kind == kinds[int(k)]
            assert part == percent(use[0, int(k)])
            parts.append(use[0, int(k)])
        assert parts == sorted(parts, reverse=True)
        own, shared, common = (percent(use[0, at].sum()) for at in ([4, 5], [2], [0, 1]))
        whole = "the weight of a, as the model expects it"
        assert last == f"own {own}, shared {shared}, common {common} of {whole}"
        assert "own " in ok("topics", path, "--label", "b").out.splitlines()[-1]

    def test_json(self, path):
        rows = {row["component"]: row for row in ok("topics", path, "--json").json}
        for k, row in rows.items():
            assert sorted(row["scope"]) == [label for label in SCOPES if SCOPES[label][k]]
            assert row["background"] is (k == 0)
        kinds = ["background", "common", "shared", "shared", *["own"] * 6]
        assert [rows[k]["scope_kind"] for k in range(10)] == kinds

    def test_all_labels_served_by_all(self, tmp_path):
        model = fit(2, 3, [f"t{i}" for i in range(9)])
        estimator = model.estimator_
        estimator.scopes_ = np.ones_like(estimator.scopes_)
        model.save(tmp_path / "m")
        shown = ok("topics", tmp_path / "m").out
        assert "strongest in" in shown
        assert "scope" not in shown + ok("topics", tmp_path / "m", "--label", "label 0").out
        assert {row["scope"] for row in ok("topics", tmp_path / "m", "--json").json} == {None}
        assert blocks_of_label(summarise(model), "label 0") is None


class TestOrder:
    def test_blocks(self):
        """Background, common, shared, own, faded; in each by label, and alike together."""
        use = np.random.default_rng(0).random((4, 4)) + 0.1
        shared = np.array([[1, 0, 1], [1, 0, 1], [0, 1, 0], [0, 1, 0]]) * 0.5
        own = np.eye(4)[:, [2, 0, 3, 1, 0]] * [0.5, 0.3, 0.5, 0.5, 0.9]
        use = np.hstack([0.1 * use[:, :2], shared, own, np.zeros((4, 1))])
        kinds = ["common", "background", *["shared"] * 3, *["own"] * 6]
        faded = np.arange(11) == 10
        labels, components = order_map(use, 0.02, kinds, faded)
        assert components[:2] == [1, 0]
        assert components[2:5] in ([2, 4, 3], [3, 2, 4])
        places = [labels.index(int(use[:, k].argmax())) for k in components[5:10]]
        assert places == sorted(places)
        assert components.index(9) + 1 == components.index(6)  # of the same label, more used first
        assert components[-1] == 10
        blocks = map_blocks(kinds, faded)
        ordered = runs([blocks[k] for k in components])
        assert ordered == [("common", 2), ("shared", 3), ("own", 5), ("faded", 1)]
        assert map_blocks(None, faded) == [*[""] * 10, "faded"]

    def test_page_and_display_agree(self):
        model = scoped()[0]
        payload, _ = model_payload(model)
        mpl.use("Agg")
        display = LabelMapDisplay.from_estimator(model)
        assert display.label_order_.tolist() == payload["order"]["labels"]
        assert display.component_order_.tolist() == payload["order"]["components"]
        np.testing.assert_allclose(display.activations, payload["use"], rtol=1e-5)
        np.testing.assert_allclose(display.activations, label_use(model.estimator_))
        order = display.component_order_
        summary = summarise(model)
        numbers = [component.number for component in summary.components]
        np.testing.assert_allclose(display.activations[:, numbers], summary.use)
        assert set(order[:2]) == {0, 1}
        assert order[0] == 0
        plt.close("all")


class TestDisplay:
    @pytest.fixture(autouse=True)
    def _closed(self):
        mpl.use("Agg")
        yield
        plt.close("all")

    def test_titles_and_lines(self):
        display = LabelMapDisplay.from_estimator(scoped()[0])
        assert [title.get_text() for title in display.titles_] == ["common", "shared", "own"]
        lines = [line.get_xdata()[0] for line in display.ax_.lines]
        assert lines == [1.5, 3.5]
        display.figure_.draw_without_rendering()
        boxes = [title.get_window_extent() for title in display.titles_]
        assert all(a.x1 < b.x0 for a, b in pairwise(boxes))
        assert max(box.y1 for box in boxes) <= display.ax_.get_window_extent().y0
        bar = display.colorbar_.ax.get_window_extent()
        assert min(box.y0 for box in boxes) > bar.y1

    def test_narrow_blocks(self):
        """Titles make room for each other, and stay on the page."""
        kinds = ["background", "shared", *["own"] * 60, "own"]
        values = np.random.default_rng(0).dirichlet(np.full(63, 0.1), 20)
        display = LabelMapDisplay(
            activations=values, labels=[f"label {i}" for i in range(20)],
            components=[str(k) for k in range(63)], kinds=kinds, faded=np.arange(63) == 62,
        ).plot()  # fmt: skip
        assert [t.get_text() for t in display.titles_] == ["common", "shared", "own", "faded"]
        display.figure_.draw_without_rendering()
        boxes = [title.get_window_extent() for title in display.titles_]
        assert all(a.x1 < b.x0 for a, b in pairwise(boxes))
        assert all(display.figure_.bbox.x0 <= b.x0 < b.x1 <= display.figure_.bbox.x1 for b in boxes)

    def test_none(self):
        assert LabelMapDisplay.from_estimator(scoped()[0], order=False).titles_ == []
        model = fit(2, 3, [f"t{i}" for i in range(9)]).estimator_
        model.scopes_ = np.ones_like(model.scopes_)
        display = LabelMapDisplay.from_estimator(model)
        assert display.titles_ == []
        assert len(display.ax_.lines) == 0


class TestPayload:
    def test_numbers(self):
        model = scoped()[0]
        estimator = model.estimator_
        payload, _ = model_payload(model)
        found = payload["scopes"]
        use, mass = label_use(estimator), estimator.component_mass_
        members = {"common": [0, 1], "shared": [2, 3], "own": [4, 5, 6, 7, 8, 9]}
        assert [block["name"] for block in found["blocks"]] == list(members)
        for block, at in zip(found["blocks"], members.values(), strict=True):
            assert block["components"] == len(at)
            assert block["mass"] == pytest.approx(mass[at].sum(), rel=1e-5)
            assert block["labels"] == pytest.approx(use[:, at].sum(axis=1).tolist(), rel=1e-5)
        parts = estimator.components_.astype(float)
        joint = mass[:, None] * parts / parts.sum(axis=1, keepdims=True)
        joint /= joint.sum(axis=0)
        place = {term: w for w, term in enumerate(model.terms_)}
        of_terms = np.reshape(found["terms"], (-1, 2))
        for name, of_term in zip(payload["terms"]["names"], of_terms, strict=True):
            expected = [100 * joint[members[b], place[name]].sum() for b in ("common", "shared")]
            assert of_term.tolist() == pytest.approx(expected, abs=1.01)
        assert [scope["kind"] for scope in found["components"]][:5] == [
            *("background", "common", "shared", "shared", "own")
        ]
        assert found["components"][3]["words"] == "shared by last (3 labels)"
        assert sorted(found["components"][3]["labels"]) == [2, 3, 4]
        assert found["columns"] == [name for name, at in members.items() for _ in at]

    def test_neighbours_leave_out_what_is_common(self):
        """What they have in common is what their shared components make up."""
        model = scoped()[0]
        use = label_use(model.estimator_)
        labels = model_payload(model)[0]["labels"]
        for i, k in ((0, 2), (1, 2), (2, 3), (4, 3)):
            expected = {
                j: min(use[i, k], use[j, k]) for j in range(5) if j != i and MASK[i, k] & MASK[j, k]
            }
            found = {j: part for j, part, by in labels[i]["neighbours"] if by == [k]}
            listed = {j: part for j, part in expected.items() if part >= 0.05}
            assert found == pytest.approx(listed, rel=0.01)
            assert len(labels[i]["neighbours"]) == len(listed)

    def test_nothing_to_say(self):
        for model in (fit(0, 3, ["a", "b", "c"]), fit(1, 2, ["a", "b", "c"])):
            payload, _ = model_payload(model)
            assert payload["scopes"] is None
            assert payload["fit"]["n_components_reason"]


class TestPage:
    def test_map(self, visit):
        tab = visit(page("scopes"), "view=map")
        heads = tab.locator(".map th[scope=colgroup]")
        assert heads.all_inner_texts() == ["common", "shared", "own"]
        spans = [int(head.get_attribute("colspan")) for head in heads.all()]
        order = model_payload(scoped()[0])[0]["order"]["components"]
        shown = [int(t.split()[0][1:]) for t in tab.locator(".map thead a").all_inner_texts()]
        assert shown == [k for k in order if k in shown]
        assert sum(spans) == len(shown)
        assert spans[0] == 2
        line = "e => getComputedStyle(e).borderLeftWidth"
        cells = tab.locator(".map tbody tr").first.locator("td").all()
        thick = [i for i, cell in enumerate(cells) if cell.evaluate(line) == "2px"]
        assert thick == [spans[0], spans[0] + spans[1]]
        assert "that the model expects the component to explain" in tab.inner_text(".lead")
        with tab.expect_download() as found:
            tab.click("button[aria-label='Download map as SVG']")
        picture = found.value.path().read_text(encoding="utf-8")
        assert all(f">{name}</text>" in picture for name in ("common", "shared", "own"))
        tab.select_option("#choose-columns", "mass")
        assert heads.count() == 0

    def test_names_of_blocks_stay_in_sight(self, visit):
        tab = visit(page("scopes"), "view=map", width=360, height=740)
        tab.locator(".map").evaluate("e => e.scrollTo(e.scrollWidth, 0)")
        tab.wait_for_selector(".map[style*='--names']")
        edges = "document.querySelector('.corner').getBoundingClientRect().right"
        own = tab.locator(".map .blocks span").last.bounding_box()
        assert tab.evaluate(edges) <= own["x"] < 360

    def test_views(self, visit):
        from explorer_browser import jump

        tab = visit(page("scopes"), "view=component&k=3")
        assert "shared by last (3 labels)" in tab.inner_text(".facts")
        jump(tab, "view=component&k=0")
        assert "background, common to all labels" in tab.inner_text(".facts")
        jump(tab, "view=label&l=0")
        blocks = blocks_of_label(summarise(scoped()[0]), "a")
        heads = tab.locator("h4").all_inner_texts()
        titles = {
            "own": "Specific to this label",
            "shared": "Shared with other labels",
            "common": "Common to all labels",
        }
        said = dict(head.replace("\u00a0", " ").split(": expected share ") for head in heads)
        assert list(said) == list(titles.values())
        for name, title in titles.items():
            assert float(said[title].removesuffix(" %")) == pytest.approx(
                100 * blocks[name], abs=0.5
            )
        assert tab.locator("th .quiet:not(.there)").all_inner_texts() == ["with b"]
        jump(tab, "view=label&l=2")
        others = tab.locator("th .quiet:not(.there)").all_inner_texts()
        assert others == ["with the rest of last (3 labels)"]
        there = describe_labels(scoped()[0], labels=["c"])[0].components
        said = {f"here: {part.name(8)}" for part in there}
        assert set(tab.locator("th .there").all_inner_texts()) == said
        terms = tab.locator("table:has(caption:text-is('Characteristic terms of label c')) tr")
        first = describe_labels(scoped()[0], n_terms=1, labels=["c"])[0].terms[0]
        cells = terms.nth(1).locator("th, td").all_inner_texts()
        assert cells[0] == first.term
        assert cells[1].startswith(f"in {first.documents} of ")
        jump(tab, "view=term&w=3")
        assert "% shared by several labels" in tab.inner_text("main .facts")
        jump(tab, "view=about")
        assert tab.locator("section:has(h3:text-is('Scopes')) tbody tr").count() == 3
        assert "as requested" in tab.inner_text("main")

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_axe_and_narrow(self, visit, scheme):
        axe = pytest.importorskip("axe_playwright_python.sync_playwright")
        from explorer_browser import jump

        tab = visit(page("scopes"), scheme=scheme, width=360, height=740)
        places = (
            "view=map",
            "view=component&k=3",
            "view=label&l=2",
            "view=term&w=3",
            "view=quality",
        )
        for place in places:
            jump(tab, place)
            found = axe.Axe().run(tab)
            assert found.violations_count == 0, f"{place}\n{found.generate_report()}"
            assert tab.evaluate("document.documentElement.scrollWidth") <= 360, place


class TestAgreement:
    """A component is shared only where its labels take the same terms from it."""

    @pytest.fixture
    def model(self):
        """Component 2 agrees, component 3 joins different terms; the others are not of several."""
        model, X, y = scoped()
        model = copy(model)
        model.estimator_ = copy(model.estimator_)
        agreement = np.full(10, np.nan)
        agreement[[2, 3]] = 0.84, 0.41
        model.estimator_.component_agreement_ = agreement
        return model, X, y

    def test_words(self):
        mask = np.array([[1, 1, 1, 1, 0], [1, 1, 1, 0, 0], [0, 0, 0, 0, 1]])
        stub = made(mask)
        stub.component_agreement_ = np.array([0.84, 0.6, 0.599, np.nan, np.nan])
        scopes = scopes_of(stub)
        assert [scope.kind for scope in scopes] == ["shared", "shared", "joined", "own", "own"]
        assert [scope.in_words() for scope in scopes[:3]] == [
            *("shared by l1, l0", "shared by l1, l0", "joins different terms of l1, l0")
        ]
        assert scopes[2].in_words(["30 %", "20 %"]) == "joins different terms of l1 30 %, l0 20 %"
        assert scopes[2].beside("l1") == "joined with different terms of l0"
        assert [scope.agreement_in_words() for scope in scopes] == [
            "agreement 0.84: its labels take the same terms from it",
            "agreement 0.60: its labels take partly the same terms from it",
            "agreement 0.59: its labels take different terms from it",
            None,
            None,
        ]
        assert [scope.agreement for scope in scopes] == [0.84, 0.6, 0.599, None, None]
        assert list(by_block(np.ones(5), scopes)) == ["shared", "joined", "own"]
        stub.component_agreement_[0] = 3.09  # of few documents, by chance
        assert scopes_of(stub)[0].agreement_as_text == "agreement 1.00"
        stub.component_agreement_[:] = np.nan  # not measured
        assert [scope.kind for scope in scopes_of(stub)] == [*["shared"] * 3, "own", "own"]

    def test_terminal(self, model, monkeypatch):
        monkeypatch.setenv("COLUMNS", "200")
        summary = summarise(model[0])
        kinds = [component.scope.kind for component in summary.components]
        assert kinds[2:] == ["shared", "joined", *["own"] * 6]
        lines = component_table(summary).splitlines()
        rows = {int(row.split()[0]): row for row in lines[2:12]}
        assert re.search(r" shared by \w .* \(agreement 0\.84\) ", rows[2])
        assert re.search(r" joins different terms of last .* \(agreement 0\.41\) ", rows[3])
        assert all("agreement" not in rows[k] for k in (0, 1, 4, 5, 6, 7, 8, 9))
        found = {row["component"]: row for row in _plain(summary, None, topics_table(summary, 1.0))}
        assert [found[k]["agreement"] for k in range(4)] == [None, None, 0.84, 0.41]
        assert found[3]["scope_kind"] == "joined"
        part = percent(model[0].estimator_.component_mass_[3])
        assert f", joined {part}, shared " in lines[-1]

    def test_display(self, model):
        mpl.use("Agg")
        display = LabelMapDisplay.from_estimator(model[0])
        titles = [title.get_text() for title in display.titles_]
        plt.close("all")
        assert titles == ["common", "shared", "joined", "own"]

    def test_page(self, model, visit):
        from explorer_browser import jump

        tab = visit(explore(*model), "view=map")
        heads = tab.locator(".map th[scope=colgroup]").all_inner_texts()
        assert heads == ["common", "shared", "joined", "own"]
        jump(tab, "view=component&k=2")
        said = tab.locator(".facts li").all_inner_texts()
        assert said[:2] == [said[0], "agreement 0.84: its labels take the same terms from it"]
        assert said[0].startswith("shared by ")
        jump(tab, "view=component&k=3")
        said = tab.locator(".facts li").all_inner_texts()
        assert said[:2] == [
            "joins different terms of last (3 labels)",
            "agreement 0.41: its labels take different terms from it",
        ]
        jump(tab, "view=label&l=2")
        heads = tab.locator("h4").all_inner_texts()
        assert any(h.startswith("Joined with different terms of other labels:") for h in heads)
        assert not any(h.startswith("Shared") for h in heads)
        jump(tab, "view=about")
        scopes = tab.locator("section:has(h3:text-is('Scopes')) tbody th").all_inner_texts()
        assert scopes[2] == "joining different terms of several labels"
