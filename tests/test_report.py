"""What a model says in numbers: components, their terms and labels. The page: test_explorer_*."""

import re

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from cliruns import ok
from explorer_pages import scoped

from vbnmf import VBNMF, DocumentModel, LabelMapDisplay, SupervisedVBNMF
from vbnmf.cli.terminal import percent
from vbnmf.description.components import MATTERS
from vbnmf.description.labels import describe_labels
from vbnmf.description.summary import components_of_label, summarise
from vbnmf.report.explorer.payload import model_payload

pytestmark = pytest.mark.filterwarnings("ignore:the fit did not converge")

TERMS = [*"abcdefghijkl"]


def fit(n_labels, K, terms=TERMS, n_docs=None, labels=None):
    """A model of few iterations, of made-up documents."""
    rng = np.random.default_rng(0)
    n_docs = n_docs or max(2 * n_labels, 8)
    X = rng.poisson(2.0, (n_docs, len(terms))).astype(np.float32) + 0.5
    if n_labels == 0:
        return DocumentModel(VBNMF(K, max_iter=3, random_state=0)).fit(X, terms=terms)
    names = labels or [f"label {i}" for i in range(n_labels)]
    y = [names[i % n_labels] for i in range(n_docs)]
    model = SupervisedVBNMF(K, max_iter=3, random_state=0)
    return DocumentModel(model).fit(X, y, terms=terms)


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


@pytest.fixture(scope="module")
def faded():
    """A model of which some components have faded."""
    rng = np.random.default_rng(0)
    X = rng.poisson(np.kron(np.eye(3), np.full((20, 3), 4.0)) + 0.05)
    estimator = SupervisedVBNMF(6, init="label", coef_shape=1, term_shape=0.5, random_state=0)
    model = DocumentModel(estimator).fit(X, np.repeat(["x", "y", "z"], 20), terms=[*"abcdefghi"])
    assert 0 < model.estimator_.faded_.sum() < 4
    return model


@pytest.mark.parametrize("kind", ["scopes", "faded"])
def test_terminal_page_and_display_agree(kind, faded, tmp_path, monkeypatch):
    """One name of a component, and one number for how much of a label it makes up."""
    monkeypatch.setenv("COLUMNS", "300")
    mpl.use("Agg")
    model = scoped()[0] if kind == "scopes" else faded
    model.save(tmp_path / "m.vbnmf")
    page, display = model_payload(model)[0], LabelMapDisplay.from_estimator(model)
    plt.close("all")
    np.testing.assert_allclose(page["use"], display.activations, rtol=1e-5)
    names = [component["name"] for component in page["components"]]
    assert list(display.components) == [f"{k} {name}" for k, name in enumerate(names)]
    rows = ok("topics", tmp_path / "m.vbnmf", "--n-terms", "3").out.splitlines()[2:]
    cells = [re.split("  +", row.strip()) for row in rows if row[:3].strip().isdigit()]
    assert {int(row[0]): row[-1] for row in cells} == dict(enumerate(names))
    described = describe_labels(model)
    for i, label in enumerate(display.labels):
        there = {part.component: part.name(3) for part in described[i].components}
        table = ok("topics", tmp_path / "m.vbnmf", "--n-terms", "3", "--label", label).out
        for k, use in enumerate(page["use"][i]):
            line = rf"(?m)^ *{k} +{percent(use)}  .*{re.escape(there.get(k, ''))}$"
            assert bool(re.search(line, table)) == (use >= MATTERS)


def test_faded_components_have_no_terms(faded, tmp_path):
    """Their terms are the prior's; no name is made of them."""
    faded.save(tmp_path / "m.vbnmf")
    gone = np.flatnonzero(faded.estimator_.faded_).tolist()
    for component in summarise(faded).components:
        assert component.faded == (component.number in gone)
        assert (component.name == "(faded)") == (component.terms == []) == component.faded
    rows = ok("topics", tmp_path / "m.vbnmf", "--json").json
    assert {row["component"] for row in rows if row["faded"] and not row["terms"]} == {*gone}
    page = model_payload(faded)[0]["components"]
    assert [k for k, c in enumerate(page) if c["faded"] and c["name"] == "(faded)"] == gone
    assert [k for k, c in enumerate(page) if not c["terms"]] == gone


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
        blocks = ["common", "shared", "own"]
        order = [(blocks.index(c.scope.block), -c.weight) for c in summary.components]
        assert order == sorted(order)
        assert sum(c.weight for c in summary.components) == pytest.approx(1)
        model.estimator_.scopes_[:] = True
        weights = [c.weight for c in summarise(model).components]
        assert weights == sorted(weights, reverse=True)
        # what a label's documents get from a component: their coefficient times all its terms
        estimator = model.estimator_
        use = estimator.label_activations_ * estimator.components_.sum(axis=1, dtype=np.float64)
        use = use[:, [c.number for c in summary.components]]
        np.testing.assert_allclose(summary.use, use / use.sum(axis=1, keepdims=True), rtol=1e-5)
        all_parts = estimator.components_.astype(float)
        all_parts /= all_parts.sum(axis=1, keepdims=True)
        assert not all(c.faded for c in summary.components)
        for i, component in enumerate(summary.components):
            use = sorted(zip(summary.use[:, i], summary.labels, strict=True), reverse=True)[:2]
            assert [part for _, part in component.labels] == [part for part, _ in use]
            if component.faded:
                continue
            expected = all_parts[component.number]
            order = estimator.describing_terms_[component.number, :4]
            assert [term for term, _ in component.terms] == model.terms_[order].tolist()
            parts = expected[order]
            assert [part for _, part in component.terms] == pytest.approx(parts.tolist())

    def test_words_of_all_components_name_none(self):
        """What is frequent everywhere comes after what is a component's own."""
        X = np.tile([9.0, 5, 0, 0, 0], (20, 1))
        X[:10, 2], X[10:, 3] = 8, 8
        y = ["left"] * 10 + ["right"] * 10
        estimator = SupervisedVBNMF(2, random_state=0)
        model = DocumentModel(estimator).fit(X, y, terms=["all", "also", "west", "east", "none"])
        for label, own in (("left", "west"), ("right", "east")):
            ((component, _), *_) = components_of_label(summarise(model), label)
            assert component.terms[0][0] == own
            assert dict(component.terms)["all"] > dict(component.terms)[own]

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
