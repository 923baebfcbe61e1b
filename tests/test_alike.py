"""Components with nearly the same terms are shown as alike: terminal, JSON and page."""

import re

import numpy as np
import pytest
from cliruns import ok
from explorer_browser import jump

from vbnmf import VBNMF, DocumentModel, SupervisedVBNMF
from vbnmf.description.components import alike_components, component_names
from vbnmf.description.summary import summarise
from vbnmf.report.explorer import explore
from vbnmf.report.explorer.payload import model_payload

pytestmark = pytest.mark.filterwarnings("ignore:the fit did not converge")
TERMS = [f"term{i:02}" for i in range(30)]


def doubled():
    """A model of three components, of which the first two have nearly the same terms."""
    rng = np.random.default_rng(0)
    topics = np.zeros((3, 30))
    topics[0, :15] = rng.uniform(1, 2, 15)
    topics[1] = topics[0]
    topics[1, 15:20] = 0.5  # a few terms of its own
    topics[2, 20:] = 1
    y = np.repeat(["a", "b", "c"], 30)
    X = rng.poisson(6 * np.repeat(topics, 30, axis=0)).astype(np.float32)
    scopes = np.eye(3, dtype=bool)
    estimator = SupervisedVBNMF(3, init=6 * topics, scopes=scopes, max_iter=30, random_state=0)
    return DocumentModel(estimator).fit(X, y, terms=TERMS)


@pytest.fixture(scope="module")
def model():
    return doubled()


def cosine(model, j, k):
    a, b = (model.estimator_.components_[i].astype(float) for i in (j, k))
    return float((a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum()))


def test_pairs(model):
    found = alike_components(model.estimator_)
    same = cosine(model, 0, 1)
    assert 0.8 < same < 0.999
    assert cosine(model, 0, 2) < 0.3
    assert [[k for k, _ in row] for row in found] == [[1], [0], []]
    assert found[0][0][1] == pytest.approx(same, rel=1e-6)
    names = component_names(model, model.terms_)
    assert not {*names[0].split()} & {*names[1].split()}  # the names hide it


def test_the_closest_first_and_faded_ones_never():
    class Stub:
        components_ = np.array([[4, 3, 0.0], [4, 3, 0.4], [4, 1, 0], [0, 0, 1], [4, 3, 0]])
        faded_ = np.array([False, False, False, False, True])

    found = alike_components(Stub)
    assert [[k for k, _ in row] for row in found] == [[1, 2], [0, 2], [0, 1], [], []]
    assert found[0][1][1] == pytest.approx(19 / (5 * np.sqrt(17)))


def test_blocks_of_terms_add_up(model, monkeypatch):
    whole = alike_components(model.estimator_)
    monkeypatch.setattr("vbnmf.description.components._MOST_NUMBERS", 21)  # seven terms at a time
    parts = alike_components(model.estimator_)
    assert [dict(row) for row in parts] == [pytest.approx(dict(row)) for row in whole]


def test_terminal_and_json(model, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    model.save(tmp_path / "m.vbnmf")
    head, _, *rows = ok("topics", tmp_path / "m.vbnmf").out.splitlines()
    assert "alike (cosine)" in head
    shown = {int(row.split()[0]): row for row in rows if re.match(r" *\d", row)}
    same = f"{cosine(model, 0, 1):.2f}"
    assert f" #1 {same} " in shown[0]
    assert f" #0 {same} " in shown[1]
    assert "#" not in shown[2]
    listed = ok("topics", tmp_path / "m.vbnmf", "--json").json
    found = {row["component"]: row["alike"] for row in listed}
    assert found[0] == [{"component": 1, "cosine": pytest.approx(cosine(model, 0, 1))}]
    assert found[2] == []


def test_no_column_where_none_are_alike(tmp_path):
    X = np.kron(np.eye(2), np.full((9, 3), 5.0))
    model = DocumentModel(VBNMF(2, random_state=0)).fit(X, terms=list("abcdef"))
    model.save(tmp_path / "m.vbnmf")
    assert [component.alike for component in summarise(model).components] == [[], []]
    assert "alike" not in ok("topics", tmp_path / "m.vbnmf").out


def test_page(model, visit):
    same = cosine(model, 0, 1)
    assert model_payload(model)[0]["components"][0]["alike"] == [1, pytest.approx(same, rel=1e-3)]
    tab = visit(explore(model), "view=component&k=0")
    name = component_names(model, model.terms_)[1]
    said = f"Similar, with nearly the same terms: #1 {name} (cosine {same:.2f})"
    assert said in tab.locator(".facts li").all_inner_texts()
    tab.click(f"text=cosine {same:.2f}")
    assert "with=1" in tab.url
    assert tab.locator(".panel").count() == 2
    jump(tab, "view=component&k=2")
    assert "Similar" not in tab.inner_text(".facts")
