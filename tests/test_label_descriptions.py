"""What ``vbnmf labels`` and ``describe_labels`` say, recounted from the raw texts."""

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from cliruns import make_corpus, ok, run, write_csv
from oracle_uses import share_by_chance
from scipy import io, sparse

from vbnmf import DocumentModel, SupervisedVBNMF, load
from vbnmf.description.components import MATTERS, label_use
from vbnmf.description.labels import Compared, describe_labels
from vbnmf.metrics import log_odds

pytestmark = pytest.mark.filterwarnings("ignore:the fit did not", "ignore:(all|900) .* label")

FIT = ("--max-iter", "10", "--quiet")
KEYS = {"label", "documents", "elsewhere", "terms", "components", "nearest"}


def words(text):
    return set(re.findall(r"\w\w+", text.lower()))


def assert_true(described, texts, labels):
    """Every number recounted; ``labels`` has a list of labels for each text."""
    sets = [words(text) for text in texts]
    assert described
    for one in described:
        assert set(one) == KEYS
        name = one["label"]
        here = [s for s, of in zip(sets, labels, strict=True) if name in of]
        others = [s for s, of in zip(sets, labels, strict=True) if name not in of]
        assert (one["documents"], one["elsewhere"]) == (len(here), len(others))
        totals = Counter(word for s in sets for word in s)
        totals = {word: n for word, n in totals.items() if n < len(sets)}  # others weigh nothing
        of_label = [word for word in totals if any(word in s for s in here)]
        inside = [sum(word in s for s in here) for word in of_label]
        outside = [totals[word] - n for word, n in zip(of_label, inside, strict=True)]
        chances = (
            share_by_chance(inside, len(here), outside, len(others), list(totals.values()))
            if others
            else [0.0] * len(of_label)
        )
        chance = dict(zip(of_label, chances, strict=True))
        may_be = [term["by_chance"] >= 0.5 for term in one["terms"]]
        assert may_be == sorted(may_be)  # those that may be chance come last
        for term in one["terms"]:
            assert term["by_chance"] == pytest.approx(chance[term["term"]], abs=1e-4)
            n, m = (sum(term["term"] in s for s in part) for part in (here, others))
            assert (term["documents"], term["elsewhere"]) == (n, m)
            assert n >= min(2, len(here))
            assert not others or n / len(here) > m / len(others)
            odds = log_odds(n, len(here), m, len(others))
            assert term["log_odds"] == pytest.approx(float(odds.log_odds), abs=1e-4)
            assert term["interval"] == pytest.approx([float(odds.low), float(odds.high)], abs=1e-4)
        for part in one["components"]:
            counts = [sum(term in s for s in here) for term in part["terms"]]
            assert part["term_documents"] == counts
            assert all(count >= min(2, len(here)) for count in counts)
            assert part["share"] >= MATTERS
        shares = [part["share"] for part in one["components"]]
        assert shares == sorted(shares, reverse=True)
        assert sum(shares) <= 1 + 1e-9
        assert name not in [near["label"] for near in one["nearest"]]
        assert all(0 < near["similarity"] <= 1 for near in one["nearest"])


def described_after_fit(folder, texts, labels, *options, **write):
    write_csv(folder / "a.csv", texts, labels, **write)
    ok("fit", folder / "a.csv", "--label", "label", *FIT, "--out", folder / "m", *options)
    return ok("labels", folder / "m", "--json").json


def test_recounted_from_texts(tmp_path):
    texts, labels = make_corpus(4, mixed=0.3)
    found = described_after_fit(tmp_path, texts, labels)
    assert [one["label"] for one in found] == ["bike", "coffee", "tea"]
    assert_true(found, texts, [[label] for label in labels])
    assert all(one["terms"] and one["components"] and one["nearest"] for one in found)
    only = ok("labels", tmp_path / "m", "--json", "--label", "tea").json
    assert only == found[2:]
    longer = ok("labels", tmp_path / "m", "--json", "--n-terms", "12").json
    assert_true(longer, texts, [[label] for label in labels])
    assert longer[0]["terms"][:10] == found[0]["terms"]
    for one, more in zip(found, longer, strict=True):
        for part, further in zip(one["components"], more["components"], strict=True):
            assert part["terms"] == further["terms"]
    shorter = ok("labels", tmp_path / "m", "--json", "--n-terms", "3").json
    assert [one["components"] for one in shorter] == [one["components"] for one in found]
    assert [len(one["terms"]) for one in shorter] == [3, 3, 3]
    assert all(len(one["components"][0]["terms"]) > 3 for one in found)
    shown = ok("labels", tmp_path / "m", "--label", "tea", "--n-terms", "3").out
    for part in found[2]["components"]:
        line = rf"(?m)^ *{part['component']} .*  {' '.join(part['terms'][:3])}$"
        assert re.search(line, shown)


def test_several_and_unknown_labels(tmp_path):
    texts, labels = make_corpus(5, mixed=0.2)
    lists = [
        [] if i % 7 == 3 else [label, "early"] if i % 2 else [label]
        for i, label in enumerate(labels)
    ]
    found = described_after_fit(
        tmp_path, texts, [";".join(one) for one in lists], "--label-separator", ";"
    )
    assert [one["label"] for one in found] == ["bike", "coffee", "early", "tea"]
    assert_true(found, texts, lists)


@pytest.mark.parametrize("n_labels", [1, 2])
def test_few_labels(tmp_path, n_labels):
    texts, labels = make_corpus(6, mixed=0.2)
    names = sorted(set(labels))[:n_labels]
    kept = [i for i, label in enumerate(labels) if label in names]
    texts, labels = [texts[i] for i in kept], [labels[i] for i in kept]
    found = described_after_fit(tmp_path, texts, labels, "-k", "3")
    assert_true(found, texts, [[label] for label in labels])
    assert [len(one["nearest"]) for one in found] == [n_labels - 1] * n_labels
    if n_labels == 1:  # the commonest terms
        sets = [words(text) for text in texts]
        counts = {w: sum(w in s for s in sets) for w in set().union(*sets)}
        most = sorted((n for n in counts.values() if n < len(texts)), reverse=True)[:10]
        assert [term["documents"] for term in found[0]["terms"]] == most
        text = ok("labels", tmp_path / "m").out
        assert "elsewhere" not in text
        assert f"({most[0]} of {len(texts)})" in text


def test_labels_of_one_document(tmp_path):
    texts, labels = make_corpus(7)
    texts += ["boat sail anchor", "rope sail mast wheel"]
    labels += ["boat", "ship"]
    found = described_after_fit(tmp_path, texts, labels, "--min-df", "1")
    assert_true(found, texts, [[label] for label in labels])
    by_name = {one["label"]: one for one in found}
    assert {"boat", "anchor"} <= {term["term"] for term in by_name["boat"]["terms"]}
    assert by_name["boat"]["nearest"][0]["label"] == "ship"
    assert by_name["boat"]["components"][0]["terms"]


@pytest.mark.slow
def test_five_hundred_labels_of_one_or_two_documents():
    rng = np.random.default_rng(0)
    X = sparse.csr_array((rng.random((900, 400)) < 0.02).astype(np.float64))
    y = [f"label {i % 500:03}" for i in range(900)]
    model = SupervisedVBNMF(20, max_iter=3, random_state=0, classifier="generative").fit(X, y)
    dense = X.toarray() > 0
    found = describe_labels(model, n_terms=5)
    assert len(found) == 500
    for one in found:
        rows = np.array([label == one.label for label in y])
        assert one.documents == rows.sum()
        for term in [*one.terms, *(term for part in one.components for term in part.terms)]:
            assert term.documents == dense[rows, term.column].sum() >= min(2, one.documents)
            assert term.elsewhere == dense[~rows, term.column].sum()
            assert term.term == f"term {term.column}"


def test_label_tree_and_scopes(tmp_path):
    texts, labels = make_corpus(8, mixed=0.2)
    labels = [("drink." if label != "bike" else "vehicle.") + label for label in labels]
    found = described_after_fit(tmp_path, texts, labels, "--label-tree", ".", "-k", "8")
    assert_true(found, texts, [[label] for label in labels])
    scopes = {part["scope"] for one in found for part in one["components"]}
    assert scopes & {"own", "shared within drink (2 labels)"}


def test_matrix_model(tmp_path):
    rng = np.random.default_rng(1)
    y = np.repeat(["a", "b", "c"], 12)
    X = rng.poisson(np.repeat(rng.dirichlet(np.full(30, 0.2), 3) * 25, 12, axis=0))
    io.mmwrite(tmp_path / "x.mtx", sparse.coo_matrix(X))
    Path(tmp_path / "y.txt").write_text("\n".join(y), encoding="utf-8")
    ok("fit", tmp_path / "x.mtx", "--label-file", tmp_path / "y.txt", *FIT, "--out", tmp_path / "m")
    found = ok("labels", tmp_path / "m", "--json").json
    names = load(tmp_path / "m").terms_.tolist()
    texts = [" ".join(names[w].replace(" ", "_") for w in np.flatnonzero(row)) for row in X]
    for one in found:
        for term in one["terms"]:
            term["term"] = term["term"].replace(" ", "_")
        for part in one["components"]:
            part["terms"] = [term.replace(" ", "_") for term in part["terms"]]
    assert_true(found, texts, [[label] for label in y])


def test_terms_of_components_are_those_of_the_definition():
    """The ranking, straight from its formula, on a model with a shared component."""
    from explorer_pages import scoped

    model, X, y = scoped()
    estimator, dense = model.estimator_, X > 0
    use = label_use(estimator)
    parts = estimator.components_ / estimator.components_.sum(axis=1, keepdims=True)
    average = parts[~estimator.faded_].mean(axis=0)
    lengths = []
    n_first, n_all = 10, 16
    for row, one in enumerate(describe_labels(model, n_component_terms=n_all)):
        n = dense[y == one.label].sum(axis=0)
        for part in one.components:
            k = part.component
            assert part.share == pytest.approx(use[row, k])
            expected = use[row, k] * parts[k] / (use[row] @ parts)
            lift = np.log(parts[k] / average)
            typical = [w for w in range(len(n)) if n[w] >= 2 and lift[w] > 0]
            order = sorted(typical, key=lambda w: -n[w] * expected[w] * np.sqrt(lift[w]))[:n_first]
            others = [w for w in typical if w not in order]
            order += sorted(others, key=lambda w: -n[w] * np.sqrt(expected[w]))[: n_all - n_first]
            assert [term.column for term in part.terms] == order
            lengths.append(len(order))
    assert max(lengths) > n_first  # both orders were compared


def test_nearest_labels():
    X = np.array([[1, 1, 0, 0, 0], [1, 1, 1, 0, 0], [0, 0, 0, 1, 1]] * 4, dtype=float)
    y = ["a", "b", "c"] * 4
    found = describe_labels(SupervisedVBNMF(3, max_iter=3).fit(X, y))
    assert [one.nearest[0][0] for one in found[:2]] == ["b", "a"]
    rarity = np.log(12 / np.array([8, 8, 4, 4, 4]))
    a, b = np.array([1, 1, 0, 0, 0]) * rarity, np.array([1, 1, 1, 0, 0]) * rarity
    assert found[0].nearest == [("b", pytest.approx(a @ b / np.sqrt((a @ a) * (b @ b))))]
    assert found[2].nearest == []  # no term in common


def test_python_labels_and_limits():
    X, y = np.eye(6) + 1, [3, 3, 7, 7, 9, 9]
    model = SupervisedVBNMF(3, max_iter=3).fit(X, y)
    assert [one.label for one in describe_labels(model, labels=[9, "3"])] == [9, 3]
    assert all(len(one.components) <= 1 for one in describe_labels(model, n_components=1))
    with pytest.raises(ValueError, match=r"8 is not a label of this model. Its labels: 3, 7, 9"):
        describe_labels(model, labels=[8])


def test_table(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    texts, labels = make_corpus(9, mixed=0.2)
    found = described_after_fit(tmp_path, texts, labels)
    shown = ok("labels", tmp_path / "m").out
    for one, block in zip(found, shown.split("\n\n"), strict=True):
        n, m = one["documents"], one["elsewhere"]
        assert block.splitlines()[0] == f"{one['label']}: {n} documents"
        for term in one["terms"]:
            counts = f"({term['documents']} of {n}, elsewhere {term['elsewhere']} of {m})"
            assert f"{term['term']} {counts}" in block
        assert "expected share" in block
        assert all(near["label"] in block for near in one["nearest"])
    assert max(map(len, shown.splitlines())) <= 80


def test_words_of_random_labels_may_be_chance(tmp_path):
    """All of them, in the terminal and in JSON; with labels that fit the texts, hardly any."""
    texts, labels = make_corpus(3, n_each=40)
    rng = np.random.default_rng(1)
    for name, given, share in (("fitting", labels, 0.2), ("random", rng.permutation(labels), 1.0)):
        write_csv(tmp_path / f"{name}.csv", texts, list(given))
        model = tmp_path / f"{name}.m"
        ok("fit", tmp_path / f"{name}.csv", "--label", "label", *FIT, "--out", model)
        found = ok("labels", model, "--json").json
        flagged = [term["by_chance"] >= 0.5 for one in found for term in one["terms"]]
        assert (min(flagged), np.mean(flagged) <= share) == (name == "random", True)
        out = ok("labels", model).out
        assert ("\nterms: " in out) == (name == "fitting")
        assert ("\nmay be chance: " in out) == any(flagged)


def test_a_label_without_terms_says_what_holds(tmp_path):
    """A term of one of two documents is more frequent there, and yet is not said of the label."""
    texts = ["apple pear plum", "apple pear cherry"] * 10 + ["kiwi apple", "melon pear"]
    labels = ["fruit", "garden"] * 10 + ["rare"] * 2
    write_csv(tmp_path / "rare.csv", texts, labels, names=("text", "team"))
    ok("fit", tmp_path / "rare.csv", "--label", "team", "-k", "3", "--out", tmp_path / "m.vbnmf")
    text = ok("labels", tmp_path / "m.vbnmf", "--label", "rare").out
    assert "terms: none is in 2 or more of these documents and more frequent there" in text


def test_what_is_refused(tmp_path):
    texts, labels = make_corpus(0)
    write_csv(tmp_path / "a.csv", texts, labels)
    ok("fit", tmp_path / "a.csv", "--label", "label", *FIT, "--out", tmp_path / "m")
    ok("fit", tmp_path / "a.csv", *FIT, "--out", tmp_path / "u")
    for args, told in [
        ((tmp_path / "u",), "which has no labels to describe"),
        ((tmp_path / "m", "--label", "wine"), "'wine' is not a label of this model. Its labels:"),
    ]:
        result = run("labels", *args)
        assert result.code == 2
        assert result.out == ""
        assert told in result.err
        assert len(result.err.splitlines()) == 1


def test_topics_of_a_label_have_terms_that_are_there(tmp_path):
    texts, labels = make_corpus(4, mixed=0.3)
    found = described_after_fit(tmp_path, texts, labels)
    for one in found:
        rows = ok("topics", tmp_path / "m", "--label", one["label"], "--json").json
        there = {row["component"]: list(row["terms"]) for row in rows}
        assert there == {part["component"]: part["terms"] for part in one["components"]}
        table = ok("topics", tmp_path / "m", "--label", one["label"], "--n-terms", "2").out
        for part in one["components"]:
            assert " ".join(part["terms"][:2]) in table
    estimator = load(tmp_path / "m").estimator_
    parts = estimator.components_ / estimator.components_.sum(axis=1, keepdims=True)
    names = load(tmp_path / "m").terms_.tolist()
    for row in rows:
        for term, part in row["terms"].items():
            assert part == pytest.approx(parts[row["component"], names.index(term)], rel=1e-4)


def test_batches_add_to_descriptions(tmp_path):
    texts, labels = make_corpus(10, mixed=0.2)
    more, later = make_corpus(11, n_each=5, mixed=0.2)
    later = ["bus" if label == "bike" else label for label in later]
    model = DocumentModel(SupervisedVBNMF(6, max_iter=10, random_state=0)).fit(texts, labels)
    model.partial_fit(more, later)
    model.save(tmp_path / "m")
    found = ok("labels", tmp_path / "m", "--json").json
    known = set(model.terms_)
    every = [" ".join(words(text) & known) for text in [*texts, *more]]
    assert_true(found, every, [[label] for label in [*labels, *later]])
    assert "bus" in [one["label"] for one in found]


@pytest.mark.parametrize("weight", [None, 3.0])
def test_labels_are_compared_with_labelled_documents(tmp_path, weight):
    """Documents without a label are not elsewhere: they may have the label."""
    texts, labels = make_corpus(3, n_each=20, mixed=0.3)
    known = [label if i % 3 else None for i, label in enumerate(labels)]
    weights = None if weight is None else np.full(len(texts), weight)
    model = DocumentModel(SupervisedVBNMF(6, max_iter=10, random_state=0))
    model.fit(texts, known, sample_weight=weights)
    found = describe_labels(model)
    labelled = [i for i, label in enumerate(known) if label]
    has = model.vectorize(texts).toarray() > 0
    rows = np.array([known[i] for i in labelled])
    for one in found:
        here = rows == one.label
        assert (one.documents, one.elsewhere) == (here.sum(), (~here).sum())
        for term in one.terms:
            counted = has[labelled, term.column]
            assert (term.documents, term.elsewhere) == (counted[here].sum(), counted[~here].sum())
    # a single label, and one of several, are compared with all other documents
    model.fit(texts, [label and "one" for label in known], sample_weight=weights)
    (one,) = describe_labels(model)
    assert (one.documents, one.elsewhere) == (len(labelled), len(texts) - len(labelled))
    assert Compared.of(model.estimator_).unlabelled == len(texts) - len(labelled)
    several = [label and [label] if i % 2 else label and [label, "also"]
               for i, label in enumerate(known)]  # fmt: skip
    model.fit(texts, several, sample_weight=weights)
    one = describe_labels(model, labels=["also"])[0]
    assert one.documents + one.elsewhere == len(texts)
