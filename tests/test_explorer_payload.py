"""What the explorer says of a model, held against the model itself."""

import json

import numpy as np
import pytest
from explorer_pages import fit, several, usual
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from oracle_uses import relevance, share_by_chance

from vbnmf import VBNMF, DocumentModel
from vbnmf.description.components import label_use, naming_terms
from vbnmf.metrics import log_odds
from vbnmf.metrics.relevance import TermParts
from vbnmf.report.explorer.ordering import order_components, order_map, order_rows
from vbnmf.report.explorer.packing import rounded, sig
from vbnmf.report.explorer.payload import STEPS, TOP, listed_terms, model_payload, shares

pytestmark = pytest.mark.filterwarnings("ignore:the fit did not converge")

TERMS = [f"term {i}" for i in range(60)]


@pytest.fixture(scope="module")
def model():
    return usual()[0]


@pytest.fixture(scope="module")
def payload(model):
    return model_payload(model)[0]


def parts_of(model):
    """p(w|k) and p(w), straight from the definition."""
    parts = model.estimator_.components_.astype(float)
    parts = parts / parts.sum(axis=1, keepdims=True)
    return parts, model.estimator_.component_mass_ @ parts


class TestComponents:
    def test_terms_and_intervals(self, model, payload):
        parts, _ = parts_of(model)
        low, high = model.estimator_.component_interval(0.9)
        totals = model.estimator_.components_.sum(axis=1, dtype=float)
        names = payload["terms"]["names"]
        place = {term: i for i, term in enumerate(model.terms_)}
        for k, component in enumerate(payload["components"]):
            assert component["mass"] == pytest.approx(model.estimator_.component_mass_[k], rel=1e-3)
            described = [names[w] for w in component["describing"]]
            assert described == model.terms_[naming_terms(model, TOP)[k]].tolist()
            assert bool(described) != component["faded"]
            assert component["name"] == " ".join(described[:3])
            assert set(component["describing"]) <= {w for w, *_ in component["terms"]}
            assert component["faded"] == model.estimator_.faded_[k]
            for w, p, least, most in component["terms"]:
                at = place[names[w]]
                expected = [parts[k, at], low[k, at] / totals[k], high[k, at] / totals[k]]
                assert [p, least, most] == pytest.approx(expected, rel=1e-4)
                assert least < p < most

    def test_every_top_list_is_there(self):
        """At each step of the slider, the most relevant of all terms are among those kept."""
        rng = np.random.default_rng(0)
        T, faded = rng.dirichlet(np.full(500, 0.1), 3), np.zeros(3, dtype=bool)
        relevant = TermParts.of_weights(T, np.ones(500), faded)
        chosen = rng.permutation(500)[:TOP]
        kept = listed_terms(relevant, 1, chosen)
        assert set(chosen) <= set(kept)
        assert len(kept) < 500
        for lam in STEPS:
            scores = relevance(T, None, faded, lam)[1]
            assert set(np.argsort(-scores, kind="stable")[:TOP]) <= set(kept)
        assert (np.diff(T[1, kept]) <= 0).all()

    def test_probabilities_of_terms(self, model, payload):
        parts, p_w = parts_of(model)
        place = {term: i for i, term in enumerate(model.terms_)}
        at = [place[name] for name in payload["terms"]["names"]]
        assert payload["terms"]["p"] == pytest.approx(p_w[at].tolist(), rel=1e-4)
        of_term = model.estimator_.component_mass_[:, None] * parts[:, at] / p_w[at]
        for w, flat in enumerate(payload["terms"]["components"]):
            for k, per_cent in zip(flat[::2], flat[1::2], strict=True):
                assert per_cent == pytest.approx(100 * of_term[k, w], abs=0.51)
            assert flat[1::2] == sorted(flat[1::2], reverse=True)


class TestLabels:
    def test_use(self, model, payload):
        estimator = model.estimator_
        use = estimator.label_activations_ * estimator.component_sums_
        use /= use.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(label_use(model.estimator_), use)
        np.testing.assert_allclose(payload["use"], use, rtol=1e-3)
        np.testing.assert_allclose(payload["activations"], estimator.label_activations_, rtol=1e-3)
        found = [(label["name"], label["documents"]) for label in payload["labels"]]
        expected = zip(estimator.classes_, estimator.label_counts_, strict=True)
        assert found == [(str(name), int(n)) for name, n in expected]

    def test_terms_are_counted(self, model, payload):
        """Recounted in the documents of the model; those of ``labels --json`` are in
        test_label_descriptions.
        """
        from cliruns import WORDS, make_corpus

        texts, labels = make_corpus(1, n_each=25, mixed=0.3)
        X = model.vectorize(texts).toarray() > 0
        names, all_names = payload["terms"]["names"], model.terms_.tolist()
        for label in payload["labels"]:
            rows = np.array([one == label["name"] for one in labels])
            assert label["elsewhere"] == (~rows).sum()
            assert {names[w] for w, *_ in label["terms"][:4]} <= set(WORDS[label["name"]])
            counted = X[rows].sum(axis=0), X[~rows].sum(axis=0)
            there = np.flatnonzero(counted[0])
            inside, outside = (some[there].tolist() for some in counted)
            chance = share_by_chance(
                inside, int(rows.sum()), outside, int((~rows).sum()), sum(counted).tolist()
            )
            for w, here, elsewhere, odds, low, high, may_be_chance in label["terms"]:
                place = np.searchsorted(there, all_names.index(names[w]))
                assert may_be_chance == (chance[place] >= 0.5)
                has = X[:, all_names.index(names[w])]
                assert (here, elsewhere) == (has[rows].sum(), has[~rows].sum())
                assert here / rows.sum() > elsewhere / (~rows).sum()
                found = log_odds(here, rows.sum(), elsewhere, (~rows).sum())
                expected = [found.log_odds, found.low, found.high]
                assert [odds, low, high] == pytest.approx([float(x) for x in expected], rel=0.01)
            assert label["there"]
            for terms in label["there"].values():
                assert all(X[rows, all_names.index(names[w])].sum() >= 2 for w in terms)
            assert len(label["nearest"]) == 2

    @pytest.mark.parametrize("made", [usual, several])
    def test_labels_of_terms_are_counted(self, made):
        """Per cent of the documents that have a term which have each label."""
        estimator, payload = made()[0].estimator_, model_payload(made()[0])[0]
        place = {term: i for i, term in enumerate(made()[0].terms_.tolist())}
        counts = estimator.label_term_documents_.toarray()
        for name, flat in zip(payload["terms"]["names"], payload["terms"]["labels"], strict=True):
            n = counts[:, place[name]]
            parts = 100 * n / max(estimator.term_documents_[place[name]], 1)
            expected = sorted((part for part in parts if part >= 3), reverse=True)[:6]
            assert flat[1::2] == pytest.approx(expected, abs=0.51)
            assert flat[1::2] == pytest.approx([parts[i] for i in flat[::2]], abs=0.51)

    def test_neighbours(self):
        model = fit(5, 3, TERMS)
        model.estimator_.scopes_[:] = True  # with scopes: test_report_scopes.py
        use = label_use(model.estimator_)
        for i, label in enumerate(model_payload(model)[0]["labels"]):
            common = np.minimum(use, use[i]).sum(axis=1)
            found = {other: part for other, part, _ in label["neighbours"]}
            assert i not in found
            assert found == pytest.approx(
                {j: common[j] for j in range(5) if j != i and common[j] >= 0.05}, rel=0.01
            )
            parts = list(found.values())
            assert parts == sorted(parts, reverse=True)
            for other, _, by in label["neighbours"]:
                both = np.minimum(use[i], use[other])
                best = np.argsort(-both, kind="stable")[:3].tolist()
                assert by == [k for k in best if both[k] > 0]


@pytest.mark.parametrize(("n_labels", "K"), [(0, 1), (0, 7), (1, 1), (1, 5), (2, 1), (3, 90)])
def test_sizes(n_labels, K):
    model = fit(n_labels, K, TERMS)
    payload, places = model_payload(model)
    json.dumps(payload, allow_nan=False)
    assert len(payload["components"]) == K
    assert len(payload["labels"]) == n_labels == len(payload["use"])
    assert sorted(payload["order"]["components"]) == list(range(K))
    assert sorted(payload["order"]["labels"]) == list(range(n_labels))
    assert payload["terms"]["names"] == TERMS
    assert places.tolist() == list(range(60))


def test_rare_terms_are_left_out_of_the_list(monkeypatch):
    """But those that are listed anywhere are there, and numbers point at the right names."""
    from vbnmf.report.explorer import payload as module

    monkeypatch.setattr(module, "MOST_TERMS", 5)
    monkeypatch.setattr(module, "TOP", 4)
    model = fit(2, 3, TERMS)
    shown, places = model_payload(model)
    names = shown["terms"]["names"]
    assert 5 <= len(names) < 60
    assert shown["terms"]["total"] == 60
    for w, place in enumerate(places):
        assert place == -1 or names[place] == TERMS[w]
    parts, p_w = parts_of(model)
    assert p_w[places == -1].max() <= np.sort(p_w)[-5] * (1 + 1e-12)  # the fifth may have an equal
    lasting = [k for k, component in enumerate(shown["components"]) if not component["faded"]]
    assert lasting
    for k in lasting:
        component = shown["components"][k]
        assert names[component["terms"][0][0]] == TERMS[parts[k].argmax()]


class TestFit:
    def test_bound(self, model, payload):
        """Evaluated every five iterations from the first, and at the end."""
        estimator = model.estimator_
        iterations = [i for i, _ in payload["fit"]["bound"]]
        values = [bound for _, bound in payload["fit"]["bound"]]
        assert values == pytest.approx(estimator.bound_history_.tolist())
        n = len(estimator.bound_history_) - 1
        assert iterations == [*range(0, 5 * n, 5), estimator.n_iter_]
        assert iterations[-2] < iterations[-1]

    def test_facts(self, payload):
        assert payload["fit"]["model"] == "SupervisedVBNMF"
        assert payload["fit"]["threshold"] is None
        assert {"vbnmf", "python", "numpy"} <= set(payload["fit"]["versions"])
        labels = model_payload(several()[0])[0]
        assert labels["several"] is True
        assert labels["fit"]["threshold"] == pytest.approx(several()[0].estimator_.head_.threshold)

    def test_nothing_explained(self):
        """A model of no weight at all has a page too."""
        model = DocumentModel(VBNMF(2, max_iter=1, random_state=0)).fit(np.ones((3, 4)))
        model.estimator_.component_shapes_[:] = 1e-9
        assert model.estimator_.component_mass_.sum() == 0
        payload, _ = model_payload(model)
        assert payload["terms"]["p"] == pytest.approx([0.25] * 4, rel=0.5)


class TestOrdering:
    def test_blocks_are_found(self):
        """Shuffled blocks come out along the diagonal, what matters to nobody at the end."""
        rng = np.random.default_rng(0)
        use = np.kron(np.eye(6), np.ones((1, 4))) / 4
        use = np.hstack([use, np.full((6, 2), 1e-4)])
        rows, columns = rng.permutation(6), rng.permutation(26)
        shuffled = use[rows][:, columns]
        labels, components = order_map(shuffled, 0.02)
        assert sorted(labels) == list(range(6))
        assert sorted(components) == list(range(26))
        assert {int(columns[k]) for k in components[-2:]} == {24, 25}
        peaks = shuffled[labels][:, components[:-2]].argmax(axis=0)
        assert peaks.tolist() == np.repeat(np.arange(6), 4).tolist()

    def test_alike_are_neighbours(self):
        use = np.array([[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5], [0.45, 0.55, 0, 0], [0, 0, 0.4, 0.6]])
        labels, _ = order_map(use, 0.02)
        assert abs(labels.index(0) - labels.index(2)) == abs(labels.index(1) - labels.index(3)) == 1
        assert order_components(use)[:2] in ([0, 2], [2, 0], [1, 3], [3, 1])

    @given(
        arrays(
            float,
            st.tuples(st.integers(1, 7), st.integers(1, 9)),
            elements=st.floats(0, 1, allow_subnormal=False),
        )
    )
    def test_permutations(self, use):
        labels, components = order_map(use, 0.02)
        assert sorted(labels) == list(range(len(use)))
        assert sorted(components) == list(range(use.shape[1]))

    def test_many_rows(self):
        rows = np.random.default_rng(0).random((1020, 3))
        assert sorted(order_rows(rows, "euclidean")) == list(range(1020))


def test_rounding():
    assert [sig(v) for v in (0.123456, 12345.6, 3.0, float("inf"), float("nan"))] == [
        *(0.1235, 12350, 3, None, None)
    ]
    assert isinstance(sig(3.0), int)
    assert rounded([1.23456, 0.0], 3) == [1.23, 0]
    assert shares(np.array([[0.6, 0.0], [0.38, 0.0], [0.02, 1.0]])) == [[0, 60, 1, 38], [2, 100]]
    assert shares(np.zeros((0, 3))) == []
