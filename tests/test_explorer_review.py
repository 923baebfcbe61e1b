"""Review, Trust and Label in a real browser: decisions by keyboard, and numbers recounted."""

import csv
import io
import json
import re

import numpy as np
import pytest
from cliruns import make_corpus
from explorer_browser import heading, jump, ready
from explorer_pages import analysed, page, several, usual

from vbnmf.report.explorer import explore
from vbnmf.report.explorer.overview import accept_curves, best_threshold
from vbnmf.reviewing.acceptance import Acceptance
from vbnmf.reviewing.corrections import read_decisions
from vbnmf.reviewing.labelerrors import find_label_errors

pytestmark = pytest.mark.filterwarnings("ignore")


def saved(tab, button):
    with tab.expect_download() as found:
        tab.click(f"button[aria-label='{button}']")
    return found.value.path().read_text(encoding="utf-8")


def fresh(visit, shown, place):
    """Open a page without the decisions of other tests."""
    tab = visit(shown, place)
    tab.evaluate("localStorage.clear()")
    tab.reload()
    tab.wait_for_selector("#suspect")
    return tab


class TestReview:
    def test_decisions_by_keyboard(self, visit):
        """They survive a reload, and are saved with the ids of the file."""
        model, texts, labels = usual()
        labels = ["tea" if i in (5, 6, 7) else y for i, y in enumerate(labels)]
        errors = find_label_errors(analysed(model, texts, labels).part)
        queue = errors.suspects
        assert len(queue) >= 3
        ids = [f"ticket-{i}" for i in range(len(texts))]
        tab = fresh(visit, explore(model, texts, labels, ids=ids), "view=review&which=all")
        names = [*model.estimator_.classes_, "unheard"]
        made = []
        for key, decision, one in zip("kcs", ("keep", "change", "skip"), queue, strict=False):
            assert tab.get_attribute("#suspect", "data-id") == ids[one.row]
            tab.keyboard.press(key)
            made.append((ids[one.row], names[one.given], names[one.suggested], decision))
        assert tab.inner_text("#decided") == (
            f"3 of {len(queue)} decided: 1 kept, 1 changed, 1 skipped."
        )
        tab.reload()
        tab.wait_for_selector("#suspect")
        assert f"3 of {len(queue)} decided" in tab.inner_text("#decided")
        rows = list(csv.DictReader(io.StringIO(saved(tab, "Download decisions as CSV"))))
        found = [(row["id"], row["given"], row["suggested"], row["decision"]) for row in rows]
        assert found == made
        for row in rows:
            changed = row["decision"] == "change"
            assert row["label"] == (row["suggested"] if changed else row["given"])
        tasks = json.loads(saved(tab, "Download decisions for Label Studio"))
        assert [task["data"]["id"] for task in tasks] == [made[0][0], made[1][0]]
        chosen = [task["annotations"][0]["result"][0]["value"]["choices"] for task in tasks]
        assert chosen == [[made[0][1]], [made[1][2]]]

    def test_decisions_are_read_by_the_command(self, visit, tmp_path):
        """Exactly the changed document is changed."""
        model, texts, labels = usual()
        tab = fresh(visit, explore(model, texts, labels), "view=review&which=all")
        changed = tab.get_attribute("#suspect", "data-id")
        tab.keyboard.press("c")
        tab.keyboard.press("k")
        path = tmp_path / "decisions.csv"
        path.write_text(saved(tab, "Download decisions as CSV"), encoding="utf-8", newline="")
        found = read_decisions(str(path))
        assert list(found) == [changed]
        rows = list(csv.DictReader(path.open(encoding="utf-8")))
        assert found[changed].label == rows[0]["suggested"]

    def test_other_pages_have_other_decisions(self, visit):
        model, texts, labels = usual()
        tab = fresh(visit, explore(model, texts, labels), "view=review&which=all")
        tab.keyboard.press("k")
        assert "1 kept" in tab.inner_text("#decided")
        other = ready(visit(explore(model, texts[:-2], labels[:-2]), "view=review&which=all"))
        assert "0 kept" in other.inner_text("#decided")

    def test_own_probabilities(self, visit):
        model, texts, labels = usual()
        errors = find_label_errors(analysed(model, texts, labels).part)
        tab = fresh(visit, page("usual"), "view=review&which=all")
        one = errors.suspects[0]
        said = tab.inner_text(".versus")
        names = [*model.estimator_.classes_, "unheard"]
        assert names[one.given] in said
        assert names[one.suggested] in said
        assert f"{100 * one.p_suggested:.0f}" in said or ">99" in said

    def test_another_label(self, visit):
        tab = fresh(visit, page("usual"), "view=review&which=all")
        options = tab.locator("#change-to option").all_inner_texts()
        third = options[-1]
        tab.select_option("#change-to", label=third)
        tab.locator("#heading").focus()
        tab.keyboard.press("c")
        rows = list(csv.DictReader(io.StringIO(saved(tab, "Download decisions as CSV"))))
        assert rows[0]["label"] == third

    def test_label_studio_has_all_labels_of_a_document(self, visit):
        """Also those that no decision is about."""
        model, texts, lists = several()
        lists = [None if labels is None else [*labels] for labels in lists]
        lists[1].remove("early")  # it is missing
        lists[4].append("bike" if "bike" not in lists[4] else "tea")  # one too many
        tab = fresh(visit, explore(model, texts, lists), "view=review&which=all")
        queue = tab.inner_text("#decided").split(" of ")[1].split()[0]
        for _ in range(int(queue)):
            tab.keyboard.press("c")
        rows = list(csv.DictReader(io.StringIO(saved(tab, "Download decisions as CSV"))))
        assert {"missing", "superfluous"} <= {row["kind"] for row in rows}
        expected = {row["id"]: set(lists[int(row["id"])]) for row in rows}
        for row in rows:
            expected[row["id"]] -= {row["given"]}
            expected[row["id"]] |= {row["label"]} - {""}
        tasks = json.loads(saved(tab, "Download decisions for Label Studio"))
        found = {
            task["data"]["id"]: set(task["annotations"][0]["result"][0]["value"]["choices"])
            for task in tasks
        }
        assert found == expected

    def test_several_labels(self, visit):
        tab = ready(visit(page("several labels"), "view=review&which=all"))
        assert heading(tab) == "Review"
        said = tab.inner_text("main")
        assert "labels are probably missing" in said
        assert "labels are probably superfluous" in said


class TestTrust:
    @pytest.mark.parametrize("make", [usual, several])
    def test_five_thresholds(self, visit, make):
        model, texts, labels = make()
        if make is several:  # other documents than those in training
            texts, labels = make_corpus(9, n_each=12, mixed=0.3)
            labels = [[y, "early"] if i % 2 else [y] for i, y in enumerate(labels)]
        known = [i for i, y in enumerate(labels) if y]
        P = model.predict_proba(texts)[known]
        names = [str(name) for name in model.estimator_.classes_]
        given = [{labels[i]} if isinstance(labels[i], str) else set(labels[i]) for i in known]
        if make is usual:
            decisions = [(d, int(row.argmax())) for d, row in enumerate(P)]
        else:
            found = model.predict([texts[i] for i in known])
            decisions = [(d, names.index(name)) for d, some in enumerate(found) for name in some]
        tab = ready(visit(explore(model, texts, labels), "view=trust"))
        assert not tab.locator("#trained").count()
        for step in (0, 40, 60, 80, 95):
            tab.fill("#accept", str(step))
            taken = [(d, label) for d, label in decisions if P[d, label] >= step / 100]
            right = sum(names[label] in given[d] for d, label in taken)
            said = tab.inner_text("#accepted")
            assert f"({len(taken):,} of {len(decisions):,})" in said
            if taken:
                share = re.search(r"\), (\S+)\u00a0% of them right", said)[1].strip("<>")
                assert float(share) == pytest.approx(100 * right / len(taken), abs=0.51)

    def test_warning(self, visit):
        """Where documents were in training; nowhere else."""
        model, texts, labels = usual()
        training = make_corpus(1, n_each=25, mixed=0.3)
        tab = ready(visit(explore(model, *training), "view=trust"))
        said = tab.inner_text("#trained")
        assert said.startswith("All documents were in training")
        assert "what to expect of new documents" in said
        jump(tab, "view=about")
        assert "so what is measured on them is too good" in tab.inner_text("main")
        some = [[*of, *more] for of, more in zip(training, (texts, labels), strict=True)]
        said = ready(visit(explore(model, *some), "view=trust")).inner_text("#trained")
        assert "too good for these documents" in said
        tab = visit(explore(model, texts, labels), "view=trust")
        assert not tab.locator("#trained").count()

    def test_reliability(self, visit):
        """Dots by size, and no line through groups of few."""
        tab = visit(page("usual"), "view=trust")
        dots = tab.locator("section:has-text('Whether probabilities hold') svg circle")
        sizes = {float(dot.get_attribute("r")) for dot in dots.all()}
        assert len(sizes) > 1
        assert tab.locator("section:has-text('Whether probabilities hold') polyline").count() <= 1


def test_accept_curves():
    p, right = np.array([0.29, 0.5, 0.57, 1.0]), np.array([False, True, False, True])
    found = accept_curves(Acceptance(p, right, np.array([0, 0, 1, 1]), 3))
    every, first, second, third = (np.array(curve).reshape(101, 2) for curve in found)
    assert every[29].tolist() == [4, 2]
    assert every[30].tolist() == [3, 2]
    assert every[57].tolist() == [2, 1]
    assert every[100].tolist() == [1, 1]
    assert first[50].tolist() == [1, 1]
    assert second[0].tolist() == [2, 1]
    assert third.sum() == 0
    assert best_threshold(found[3]) is None
    assert best_threshold([4, 2, 4, 4, 3, 3]) == 1
    assert best_threshold([30, 20, 19, 19]) is None  # too few to rely on


class TestLabel:
    def test_words(self, visit):
        """Counts of training documents, in words."""
        model = usual()[0].estimator_
        tab = visit(page("usual"), "view=label&l=0")
        first = tab.locator("section:has(h3:text-is('Its words')) tbody tr").first
        word = first.locator("th").inner_text()
        w = usual()[0].terms_.tolist().index(word)
        here = int(model.label_term_documents_[0, w])
        n = int(model.label_counts_[0])
        assert f"in {here} of {n} documents" in first.inner_text()
        elsewhere = int(model.term_documents_[w]) - here
        assert elsewhere / (model.n_documents_ - n) < 0.1
        assert "% elsewhere" in first.inner_text()

    def test_topics_have_documents_of_the_label(self, visit):
        model, _, labels = usual()
        tab = ready(visit(page("usual"), "view=label&l=0"))
        tab.wait_for_selector(".topic a")
        ids = tab.locator(".topic a").all_inner_texts()
        assert ids
        assert {labels[int(i)] for i in ids} == {model.estimator_.classes_[0]}

    def test_confusions(self, visit):
        """Documents given one label and predicted as another, with words of these documents."""
        model, texts, labels = usual()
        given = model.predict(texts)
        names = model.estimator_.classes_.tolist()
        tab = visit(page("usual"))
        checked = 0
        for at, name in enumerate(names):
            jump(tab, f"view=label&l={at}")
            rows = tab.locator("section:has(h3:text('Confusions, and the words')) tbody tr").all()
            expected = {}
            for i, y in enumerate(labels):
                if y == name != given[i]:
                    expected.setdefault(str(given[i]), []).append(i)
            assert len(rows) == len(expected)
            for row in rows:
                cells = [cell.inner_text() for cell in row.locator("th, td").all()]
                mine = expected[cells[0]]
                assert int(cells[1]) == len(mine)
                for word in (word.inner_text() for word in row.locator("td a").all()[1:]):
                    has = model.vectorize([texts[i] for i in mine])[
                        :, model.terms_.tolist().index(word)
                    ]
                    assert has.nnz
                    checked += 1
        assert checked

    def test_every_topic_of_a_component_has_its_first_label(self, visit):
        """Typical documents are of the label that a component serves first, half of them."""
        facts = page("scopes")
        from explorer_pages import unpacked

        payload = unpacked(facts.html)
        details = unpacked(facts.html, "packed")
        use = np.array(payload["use"])
        for k, flat in enumerate(payload["documents"]["typical"]):
            first = int(use[:, k].argmax())
            mine = [d for d in flat[0::2] if first in details["truth"][d]]
            assert not flat or mine
