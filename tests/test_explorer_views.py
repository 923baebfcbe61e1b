"""What views of the explorer save, and how they show documents; in a real browser."""

import csv
import io
from xml.etree import ElementTree

import numpy as np
import pytest
from cliruns import make_corpus
from explorer_browser import jump, ready
from explorer_pages import long_names, page, quality, scoped, several, usual

from vbnmf import DocumentModel, SupervisedVBNMF
from vbnmf.cli.evaluate import score
from vbnmf.description.components import label_use
from vbnmf.description.labels import describe_labels
from vbnmf.report.explorer import explore

FITTED = "Inter-label sparsity of the fit"


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
        assert header == ["term", "share", "low", "high", "lift"]
        least = 2 * model.estimator_.hyperparameters_["term_shape"]  # others come from the prior
        of_data = model.estimator_.component_shapes_[1] >= least
        assert {term for term, *_ in rows} == set(model.terms_[of_data])
        place = {term: i for i, term in enumerate(model.terms_)}
        for term, *numbers in rows:
            i = place[term]
            expected = np.array([weights[i], low[i], high[i]]) / weights.sum()
            assert [float(n) for n in numbers[:3]] == pytest.approx(expected.tolist(), rel=1e-3)
        assert rows[0][0] in self.picture(tab, "component-1-terms")
        labels = self.rows(tab, "component-1-labels")[1:]
        assert [label for label, _, _ in labels] == model.estimator_.classes_.tolist()

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
        assert [row[header.index("predicted")] for row in rows] == model.predict(texts).tolist()
        assert self.picture(tab, "documents")
        jump(tab, "view=document&d=0")
        why = model.explain(texts[:1], n_components=4)[0]
        rows = self.rows(tab, "document-0-evidence")[1:]
        rows = [row for row in rows if row[0] in [w.label for w in why]]  # not the true label
        named = [(str(w.label), t.term) for w in why for t in w.terms]
        assert [(row[0], row[2]) for row in rows if row[1] == "term"] == named
        assert self.picture(tab, "document-0-components")
        jump(tab, "view=term&w=3")
        assert self.rows(tab, "term-3-components")[0] == ["component", "share"]
        assert self.picture(tab, "term-3-labels")
        tab = visit(page("usual"), "view=about")  # a browser limits how many a page may save
        bound = self.rows(tab, "bound")[1:]
        values = [float(value) for _, value in bound]
        assert values == pytest.approx(model.estimator_.bound_history_.tolist(), rel=1e-7)
        for name in ("measures", "bound"):
            assert self.picture(tab, name)
        jump(tab, "view=trust")
        for name in ("accuracy", "confusions", "calibration"):
            assert self.picture(tab, name)

    @pytest.mark.filterwarnings("ignore:the fit did not converge")
    def test_measures(self, visit):
        """Each by a name of its own; those of documents only where there are documents."""
        of_model = ["Diversity", "Exclusivity", "Component sparsity", FITTED]
        of_documents = [
            *("NPMI by documents", "NPMI by windows of 10 tokens"),
            *("Held-out log-likelihood", "Component share", "Coefficient sparsity"),
        ]
        model, texts, _ = usual()
        expected = quality(model, texts)[1]
        header, *lines = self.rows(visit(page("usual"), "view=about"), "measures")
        assert header == ["measure", "value", "of"]
        rows = {name: value for name, value, _ in lines}
        of = {name: documents for name, _, documents in lines}
        assert {of[name] for name in of_documents} == {"all 60 documents"}
        assert {of[name] for name in of_model} == {"the model"}
        assert of["Inter-label sparsity"] == "59 labelled documents"
        assert set(rows) == {*of_model, *of_documents, "Inter-label sparsity"}
        for name, key in zip(
            of_documents,
            (
                "npmi_documents",
                "npmi_windows",
                "held_out_log_likelihood",
                "component_share",
                "coefficient_sparsity",
            ),
            strict=True,
        ):
            assert float(rows[name]) == expected[key]
        rows = [row[0] for row in self.rows(visit(page("no documents"), "view=about"), "measures")]
        assert set(rows[1:]) == {*of_model}
        rows = [row[0] for row in self.rows(visit(page("one label"), "view=about"), "measures")]
        assert "NPMI by documents" in rows
        assert "NPMI by windows of 10 tokens" not in rows

    def test_recounted(self, visit):
        """What is said of labels, as ``evaluate`` recounts it."""
        model, X, y = scoped()
        found = score(model, X, y.tolist())
        tab = visit(page("scopes"), "view=trust")
        header, *rows = self.rows(tab, "recounted")
        assert header == ["statement", "share", "of", "meaning"]
        names = {
            "Components that agree": ("shared_that_agree", "shared_components"),
            "Components that are glued": ("shared_that_are_glued", "shared_components"),
            "Fidelity of labels": ("label_fidelity", None),
            "Fidelity elsewhere": ("label_fidelity_elsewhere", None),
            "Fidelity of components": ("component_fidelity", "components_said"),
        }
        assert [row[0] for row in rows] == list(names)
        for name, part, of, about in rows:
            value, number = names[name]
            assert float(part) == pytest.approx(found[value], rel=1e-3)
            assert of == ("" if number is None else str(found[number]))
            assert ("0.8" in about) == ("agree" in name)
        shown = tab.locator("table:has(caption:text-is('What is said of labels, recounted'))")
        n, shared = round(found["shared_that_agree"] * found["shared_components"]), 2
        assert f"{n} of {shared}" in shown.inner_text()
        tab.click("summary:text-is('Fidelity by label')")
        labels = {row["label"]: row for row in found["labels"]}
        for label, here, elsewhere in self.rows(tab, "fidelity")[1:]:
            assert float(here) == pytest.approx(labels[label]["fidelity"], rel=1e-3)
            assert float(elsewhere) == pytest.approx(labels[label]["fidelity_elsewhere"], rel=1e-3)
        jump(tab, "view=label&l=0")
        facts = tab.inner_text(".facts")
        assert "of its documents that this page was made with have at least two" in facts
        tab = visit(page("no documents"), "view=trust")
        assert "recounted" not in tab.inner_text("main")

    def test_components_of_a_label(self, visit):
        """The model's expectation beside the part in documents, and all terms that are there."""
        model, X, y = scoped()
        parts = quality(model, X, y)[0]["label_parts"][2]
        use = label_use(model.estimator_)[2]
        described = describe_labels(model, labels=["c"])[0].components
        there = {part.component: [term.term for term in part.terms] for part in described}
        tab = visit(page("scopes"), "view=label&l=2")
        header, *rows = self.rows(tab, "label-2-components")
        for row in (dict(zip(header, cells, strict=True)) for cells in rows):
            k = int(row["component"])
            assert float(row["expected share"]) == pytest.approx(use[k], abs=1e-5)
            assert float(row["share in documents"]) == parts[k]
            assert row["terms here"].split() == there.get(k, [])
        heads = tab.locator("section:has(h3:text-is('Topics inside it')) thead").first.inner_text()
        assert "Expected share" in heads
        assert "In documents" in heads
        tab = visit(explore(model, title="Without documents"), "view=label&l=2")
        assert "share in documents" not in self.rows(tab, "label-2-components")[0]
        assert "In documents" not in tab.inner_text("main")

    def test_lists_of_documents(self, visit):
        """Typical of a component, confused with a label: all of them, not only those shown."""
        model, texts, labels = usual()
        found = model.predict(texts)
        tab = ready(visit(page("usual"), "view=component&k=1"))
        header, *rows = self.rows(tab, "component-1-documents")
        assert header[:2] == ["share", "id"]
        parts = model.transform(texts) * model.estimator_.component_sums_
        parts = (parts / parts.sum(axis=1, keepdims=True))[:, 1]
        assert [float(row[0]) for row in rows] == pytest.approx(
            [parts[int(row[1])] for row in rows], abs=0.001
        )
        assert [row[1] for row in rows] == tab.locator(".cardhead a").all_inner_texts()
        pairs = list(enumerate(zip(labels, found, strict=True)))
        for i_label, name in enumerate(model.estimator_.classes_):
            jump(tab, f"view=label&l={i_label}")
            missed = [i for i, (label, given) in pairs if label == name != given]
            wrongly = [
                i for i, (label, given) in pairs if label not in (name, None) and given == name
            ]
            for which, expected in (("missed", missed), ("wrongly-predicted", wrongly)):
                if expected:
                    rows = self.rows(tab, f"label-{i_label}-{which}")[1:]
                    assert sorted(int(row[0]) for row in rows) == expected
                else:
                    button = f"button[aria-label='Download label-{i_label}-{which} as CSV']"
                    assert tab.locator(button).count() == 0

    def test_terms(self, visit):
        """The commonest terms first, each with where most of it is."""
        estimator, terms = usual()[0].estimator_, usual()[0].terms_
        parts = estimator.components_.astype(float)
        parts *= (estimator.component_mass_ / parts.sum(axis=1))[:, None]
        tab = visit(page("usual"), "view=term")
        header, *rows = self.rows(tab, "terms")
        assert header == ["term", "share", "most in components", "of it", "most in labels", "of it"]
        p_w = parts.sum(axis=0)
        best = np.argsort(-p_w, kind="stable")[:24]
        assert [row[0] for row in rows] == terms[best].tolist()
        assert [float(row[1]) for row in rows] == pytest.approx(p_w[best].tolist(), rel=1e-3)
        for row, column in zip(rows, parts[:, best].T, strict=True):
            assert row[2].startswith(f"#{column.argmax()} ")
            assert float(row[3]) == pytest.approx(column.max() / column.sum(), abs=0.006)
        assert rows[0][0] in self.picture(tab, "terms")
        tab.fill("#find", "zzz")
        assert tab.inner_text("#found") == "No term contains this."


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
        assert tab.locator(".card.differs .badge").count() == len(wrong)
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
        tab = ready(visit(page("usual"), "view=document&d=2&shade=component"))
        assert tab.locator(".text").text_content() == texts[2][:2000]
        tinted = tab.locator(".text .term").all_text_contents()
        assert tinted[-2:] == ["Wheels", "wheel"]
        assert "Cut after 2,000" in tab.inner_text("main")
        jump(tab, "view=document&d=1")
        assert "follows only from how common each label is" in tab.inner_text("main")

    def test_several_labels(self, visit):
        model, texts, _ = several()
        tab = ready(visit(page("several labels"), "view=document&d=1"))
        given = model.predict(texts[1:2])[0]
        assert all(label in tab.inner_text(".facts") for label in given)
        jump(tab, "view=trust")
        assert "Micro F1" in tab.inner_text("main")


class TestLongNames:
    @pytest.mark.parametrize(
        ("place", "name"),
        [
            ("view=map", "map"),
            ("view=component&k=0", "component-0-labels"),
            ("view=document&d=0", "document-0-evidence"),
            ("view=trust", "confusions"),
            ("view=about", "bound"),
        ],
    )
    def test_pictures_have_room(self, visit, tmp_path, place, name):
        """Nothing leaves the picture; names that are too long end in an ellipsis."""
        tab = ready(visit(page("long names"), place))
        with tab.expect_download() as found:
            tab.click(f"button[aria-label='Download {name} as SVG']")
        found.value.save_as(tmp_path / "picture.svg")
        tab.goto((tmp_path / "picture.svg").as_uri())
        outside = tab.evaluate(
            """() => {
              const whole = document.documentElement.getBoundingClientRect();
              return [...document.querySelectorAll("text")].filter((text) => {
                const box = text.getBoundingClientRect();
                return Math.min(box.left, box.top) < 0 || box.right > whole.right ||
                  box.bottom > whole.bottom;
              }).map((text) => text.textContent);
            }"""
        )
        assert outside == []
        if name in ("map", "component-0-labels"):
            assert any("…" in text for text in tab.locator("text").all_text_contents())

    @pytest.mark.parametrize(
        "view", ["map", "component", "label", "document", "term", "trust", "about", "labels"]
    )
    def test_narrow_screens(self, visit, view):
        tab = ready(visit(page("long names"), f"view={view}", width=390, height=844))
        root = "document.documentElement"
        assert tab.evaluate(f"{root}.scrollWidth <= {root}.clientWidth")

    def test_letters_of_columns_lie_on_one_side(self, visit):
        """Upright East Asian letters would be turned upside down."""
        tab = visit(page("long names"), "view=map")
        column = "getComputedStyle(document.querySelector('.map .column'))"
        assert tab.evaluate(f"{column}.textOrientation") == "sideways"


def test_faded_components(visit):
    """They have no name and no terms, and the page says why."""
    k = int(np.flatnonzero(long_names().estimator_.faded_)[0])
    tab = visit(page("long names"), f"view=component&k={k}")
    assert tab.inner_text("#heading") == f"Component #{k} (faded)"
    said = tab.inner_text("section:has-text('Terms')")
    assert "This component has faded" in said
    assert tab.locator(".terms").count() == 0


def test_labels_that_were_never_predicted(visit):
    model, texts, _ = usual()
    first = str(model.estimator_.classes_[0])
    kept = [text for text, label in zip(texts, model.predict(texts), strict=True) if label == first]
    tab = visit(explore(model, kept, [first] * len(kept)), "view=label&l=1")
    assert tab.locator(".facts li").all_inner_texts()[1] == "never predicted"
    jump(tab, "view=label&l=0")
    facts = tab.locator(".facts li").all_inner_texts()
    assert facts[1:3] == [f"recall 100\u00a0% on {len(kept)} documents", "precision 100\u00a0%"]


@pytest.mark.parametrize(
    ("features", "said"),
    [
        ("none", "Words contribute through all components and as single words. Of"),
        (["pairs"], "components and as single words; pairs of words are listed like words. Of"),
        (["marks", "pieces"], "as single words and by their pieces; marks are listed like words."),
    ],
)
def test_evidence_says_what_the_scores_are_made_of(visit, features, said):
    """A model that uses no pieces, marks or pairs does not say that it does."""
    texts, labels = make_corpus(1, n_each=30)
    estimator = SupervisedVBNMF(4, max_iter=20, classifier="words and components", random_state=0)
    model = DocumentModel(estimator, features=features).fit(texts, labels)
    tab = ready(visit(explore(model, texts[:2], labels[:2]), "view=document&d=0"))
    assert said in tab.inner_text("section:has-text('Why this label')")


class TestNamesWithoutSpaces:
    """Labels without spaces break: other columns of their tables stay in sight."""

    HIDDEN = """[...document.querySelectorAll('main .scroll:not(.map)')]
        .filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.ariaLabel)"""

    @pytest.fixture(scope="class")
    @staticmethod
    def shown():
        texts, labels = make_corpus(1, n_each=12, mixed=0.2)
        long = {label: f"<{label}-maintainers@lists.{'of' * 40}.example>" for label in set(labels)}
        labels = [long[label] for label in labels]
        model = DocumentModel(SupervisedVBNMF(6, max_iter=20, random_state=0)).fit(texts, labels)
        return explore(model, texts, [*labels[1:], labels[0]])

    @pytest.mark.parametrize(
        ("width", "views"),
        [
            (1280, ("labels", "components", "label&l=0", "structure", "trust", "term", "compare")),
            (390, ("labels", "label&l=0&k=1", "component&k=1")),
        ],
    )
    def test_columns_in_sight(self, visit, shown, width, views):
        tab = visit(shown, width=width)
        for view in views:
            jump(tab, f"view={view}")
            hidden = tab.evaluate(self.HIDDEN)
            if width < 1280:  # five columns of numbers are wider than such a screen
                hidden = [name for name in hidden if not name.startswith("Labels near")]
            assert hidden == [], view
