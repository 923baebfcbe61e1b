"""Passages that recur, in models: one term in each list, kept in files, said to be passages."""

import random
import re

import numpy as np
import pytest
from cliruns import ok
from explorer_browser import jump
from modelfiles import ModelFile, assert_refused

from vbnmf import VBNMF, DocumentModel, Shards, SupervisedVBNMF, load
from vbnmf.description.components import component_passages, shown_terms
from vbnmf.description.labels import describe_labels
from vbnmf.estimators import componentterms
from vbnmf.metrics import describing_terms, find_passages
from vbnmf.metrics.passages import Passages
from vbnmf.report.explorer import explore
from vbnmf.report.explorer.payload import model_payload
from vbnmf.shards import write_shards

pytestmark = pytest.mark.filterwarnings("ignore:the fit did not converge")
SIGNATURE = "gruber gg4x chastity intellect shameful cadre harbour"
N_SIGNED = 30


def documents():
    """Documents of three labels; a person who signs writes a third of those about medicine."""
    rng = random.Random(0)  # noqa: S311
    words = {
        label: [f"{label}{i:02}" for i in range(24)] for label in ("medicine", "sailing", "space")
    }
    common = [f"common{i:02}" for i in range(30)]
    texts, labels = [], []
    for label, own in words.items():
        for i in range(90):
            text = " ".join(rng.choices(own, k=9) + rng.choices(common, k=9))
            sign = label == "medicine" and i < N_SIGNED
            texts.append(f"{text} {SIGNATURE}" if sign else text)
            labels.append(label)
    return texts, labels


@pytest.fixture(scope="module")
def model():
    return DocumentModel(SupervisedVBNMF(6, random_state=0)).fit(*documents())


@pytest.fixture(scope="module")
def file(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("passages") / "m.vbnmf"
    model.save(path)
    return path


def in_passage(names):
    return [name for name in names if name in SIGNATURE.split()]


def signed_component(model):
    """The component with the largest part of its weight in the signature."""
    of = model.estimator_
    columns = [model.terms_.tolist().index(word) for word in SIGNATURE.split()]
    return int((of.components_[:, columns].sum(axis=1) / of.component_sums_).argmax())


def test_a_fit_finds_them(model):
    found = model.estimator_.passages_
    X = model.vectorize(documents()[0])
    assert found == find_passages(X)
    assert [sorted(model.terms_[list(terms)]) for terms in found.terms] == [
        sorted(SIGNATURE.split())
    ]
    assert found.documents == (N_SIGNED,)
    assert found.examined == 270


def test_lists_have_one_term_of_each(model):
    of = model.estimator_
    lists = [in_passage(model.terms_[row]) for row in of.describing_terms_]
    assert max(map(len, lists)) == 1
    assert len(lists[signed_component(model)]) == 1
    # without passages the signature fills a list
    X = model.vectorize(documents()[0])
    before = describing_terms(of.components_, X, 10)
    assert max(len(in_passage(model.terms_[row])) for row in before) == 7


def test_longer_lists_have_the_others_last(model, monkeypatch):
    k, n_terms = signed_component(model), len(model.terms_)
    whole = shown_terms(model, n_terms)[k]
    assert sorted(whole) == list(range(n_terms))
    assert in_passage(model.terms_[whole[-6:]]) == model.terms_[whole[-6:]].tolist()
    monkeypatch.setattr(model.estimator_, "describing_terms_", None)
    assert len(in_passage(model.terms_[shown_terms(model, n_terms - 6)[k]])) == 1


def test_the_most_relevant_is_shown_and_the_others_only_if_nothing_else_is_left():
    X = np.ones((9, 8))
    passages = Passages(((0, 1, 2, 3, 4, 5),), (9,), 9)
    components = [[6, 7, 8, 5, 4, 3, 2, 1.0]]
    assert describing_terms(components, X, 4, passages=passages).tolist() == [[2, 6, 7, 1]]
    assert describing_terms(components, X, 4).tolist() == [[2, 1, 0, 3]]


def test_labels(model, monkeypatch):
    texts, labels = documents()
    medicine, *others = describe_labels(model, n_terms=30)
    assert len(in_passage(term.term for term in medicine.terms)) == 1
    for term in medicine.terms:
        counted = sum(
            term.term in text.split() for text, label in zip(texts, labels, strict=True)
            if label == "medicine"
        )  # fmt: skip
        assert term.documents == counted
        assert term.passage == (N_SIGNED if in_passage([term.term]) else None)
    for part in medicine.components:
        assert len(in_passage(term.term for term in part.terms)) <= 1
    assert any(in_passage(term.term for term in part.terms) for part in medicine.components)
    assert not any(in_passage(term.term for term in one.terms) for one in others)
    monkeypatch.setattr(model.estimator_, "passages_", Passages((), (), 270))
    (before, *_) = describe_labels(model, n_terms=30)
    assert len(in_passage(term.term for term in before.terms)) == 7
    assert all(term.passage is None for term in before.terms)


def test_a_component_that_is_mostly_a_passage(model, monkeypatch):
    k = signed_component(model)
    found = component_passages(model)
    assert [j for j, one in enumerate(found) if one is not None] == [k]
    assert (found[k].documents, found[k].examined, found[k].terms) == (N_SIGNED, 270, 7)
    assert (found[k].among, found[k].of) == (7, 10)
    # four of ten are fewer than half
    some = Passages((model.estimator_.passages_.terms[0][:4],), (N_SIGNED,), 270)
    monkeypatch.setattr(model.estimator_, "passages_", some)
    assert component_passages(model) == [None] * 6
    monkeypatch.setattr(model.estimator_, "passages_", Passages((), (), 270))
    assert component_passages(model) == [None] * 6


def test_terminal_and_json(model, file, monkeypatch):
    monkeypatch.setenv("COLUMNS", "250")
    k = signed_component(model)
    rows = {
        int(row.split()[0]): row
        for row in ok("topics", file).out.splitlines()
        if re.match(r" *\d", row)
    }
    said = f"recurring passage, {N_SIGNED} documents: "
    assert [j for j, row in rows.items() if said in row] == [k]
    there = ok("topics", file, "--label", "medicine").out
    assert said in there
    listed = {one["component"]: one["passage"] for one in ok("topics", file, "--json").json}
    assert listed.pop(k) == {
        "documents": N_SIGNED, "examined": 270, "terms": 7, "among_most_relevant": [7, 10],
    }  # fmt: skip
    assert set(listed.values()) == {None}
    (one,) = ok("labels", file, "--label", "medicine", "--json").json
    for term in one["terms"]:
        assert term["passage"] == (N_SIGNED if in_passage([term["term"]]) else None)
    for part in one["components"]:
        expected = [N_SIGNED if in_passage([term]) else None for term in part["terms"]]
        assert part["term_passages"] == expected
    (shown,) = in_passage(term["term"] for term in one["terms"])
    text = ok("labels", file, "--label", "medicine").out
    assert f"{shown} (30 of 90, elsewhere 0 of 180; of a passage in 30 documents)" in text
    assert text.count("of a passage") == 1


def test_fit_says_so(tmp_path):
    texts, labels = documents()
    table = tmp_path / "posts.csv"
    rows = [f"{text},{label}" for text, label in zip(texts, labels, strict=True)]
    table.write_text("\n".join(["text,label", *rows]) + "\n")
    run = ("fit", table, "--label", "label", "-k", "3", "--max-iter", "5")
    said = ok(*run, "--out", tmp_path / "a").err
    about = "1 passage recurs (signatures, headers, boilerplate): it has 7 terms in 30 documents; "
    assert about in said
    assert "--stop-words" in said
    found = ok(*run, "--out", tmp_path / "b", "--json").json["passages"]
    assert found == [{"documents": 30, "terms": sorted(SIGNATURE.split())}]
    # the advice works
    (tmp_path / "words").write_text("\n".join(found[0]["terms"]))
    without = ok(*run, "--out", tmp_path / "c", "--stop-words", tmp_path / "words").err
    assert "recur" not in without
    assert not in_passage(load(tmp_path / "c").terms_)


def test_files(model, file):
    assert load(file).estimator_.passages_ == model.estimator_.passages_


def test_a_model_without_passages_is_saved(tmp_path):
    X = np.kron(np.eye(2), np.full((9, 3), 5.0))
    VBNMF(2, random_state=0).fit(X).save(tmp_path / "m")
    assert load(tmp_path / "m").passages_ == Passages((), (), 18)


def test_damaged_files(model, tmp_path):
    model.estimator_.save(tmp_path / "whole")
    parts, path = ModelFile((tmp_path / "whole").read_bytes()), tmp_path / "damaged"
    n_terms = model.estimator_.n_features_in_

    def arrays(**changes):
        return parts.with_arrays(**{f"passages.{name}": a for name, a in changes.items()})

    terms = np.array(model.estimator_.passages_.terms[0], np.int32)
    header = parts.header["passages"]
    path.write_bytes(arrays(terms=terms))
    assert load(path).passages_.documents == (N_SIGNED,)
    for content in (
        arrays(terms=terms[::-1].copy()),
        arrays(terms=np.full(7, terms[0])),
        arrays(terms=terms + np.int32(n_terms)),
        arrays(terms=terms.astype(np.int64)),
        arrays(terms=terms[:4].copy(), ends=np.array([4])),
        arrays(ends=np.array([6])),
        arrays(ends=np.array([3, 7])),
        arrays(documents=np.array([0], np.int32)),
        arrays(documents=np.array([271], np.int32)),
        arrays(documents=np.array([30, 30], np.int32)),
        arrays(terms=None),
        arrays(documents=None),
        parts.with_header(passages={**header, "number": 2}),
        parts.with_header(passages={**header, "number": -1}),
        parts.with_header(passages={**header, "examined": 29}),
        parts.with_header(passages={**header, "examined": 270.0}),
        parts.with_header(passages={"number": 1}),
        parts.with_header(passages=None),
    ):
        assert_refused(path, content)


def test_shards_give_the_same(model, tmp_path):
    X, y = model.vectorize(documents()[0]), documents()[1]
    write_shards(tmp_path, X, y, shard_nonzeros=1000)
    shards = Shards(tmp_path)
    assert len(shards.starts) > 2
    fitted = SupervisedVBNMF(3, random_state=0, max_iter=3).fit(shards)
    assert fitted.passages_ == model.estimator_.passages_


def test_samples_of_very_many(model, monkeypatch):
    X = model.vectorize(documents()[0])
    monkeypatch.setattr(componentterms, "MOST_NONZEROS", X.nnz // 2)
    found = componentterms.passages_of(X, None)
    assert found == find_passages(X[::2])
    assert (found.documents, found.examined) == ((15,), 135)


def test_batches(model):
    X, y = model.vectorize(documents()[0]), np.array(documents()[1])
    unsupervised = VBNMF(3, random_state=0, max_iter=3).partial_fit(X)
    assert unsupervised.partial_fit(X[:50]).passages_ == model.estimator_.passages_
    supervised = SupervisedVBNMF(3, random_state=0, max_iter=3).partial_fit(X[20:], y[20:])
    assert supervised.passages_.documents == (N_SIGNED - 20,)
    supervised.partial_fit(X[:20], y[:20])
    assert supervised.passages_ == find_passages(supervised.fitted_.sample.documents.X)
    assert supervised.passages_.documents == (N_SIGNED,)


def test_page(model, visit):
    k = signed_component(model)
    found = [one["passage"] for one in model_payload(model)[0]["components"]]
    assert [j for j, one in enumerate(found) if one] == [k]
    tab = visit(explore(model), f"view=component&k={k}")
    said = (
        "Recurring passage: 7 of its 10 most relevant terms belong to a passage of 7 terms, such "
        "as a signature; 30 of 270 training documents have at least half of them. The list of "
        "terms that describe it shows one."
    )
    assert said in tab.locator(".facts li").all_inner_texts()
    jump(tab, f"view=component&k={(k + 1) % 6}")
    assert "passage" not in tab.inner_text(".facts")
