"""The split of tune, and the scores on its validation documents."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle_uses import naming_terms, npmi_of_lists
from properties import examples
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score
from test_tuning import QUICK, drawn

from vbnmf import SupervisedVBNMF, inter_label_sparsity
from vbnmf.selection import heldout
from vbnmf.selection.advice import Trial
from vbnmf.selection.heldout import hold_out, prepare, score


def indicators(sets, n_labels):
    rows = [i for i, labels in enumerate(sets) for _ in labels]
    columns = [label for labels in sets for label in labels]
    return sparse.csr_array((np.ones(len(rows)), (rows, columns)), (len(sets), n_labels))


# the split


@given(
    st.lists(st.sets(st.integers(0, 4), max_size=3), min_size=8, max_size=60),
    st.floats(0.05, 0.95),
    st.integers(0, 5),
)
@examples(80)
def test_split_leaves_every_label_in_training(sets, part, seed):
    Y = indicators(sets, 5)
    try:
        train, held = hold_out(Y, part, seed)
    except ValueError:  # too few with a label, of which a test below is
        return
    assert sorted([*train, *held]) == list(range(len(sets)))
    assert all(sets[i] for i in held)
    assert set().union(*sets) == set().union(*(sets[i] for i in train))


def test_split_takes_its_part_of_each_label():
    sizes = [1, 2, 40, 200]
    Y = indicators([[label] for label, size in enumerate(sizes) for _ in range(size)], 4)
    _, held = hold_out(Y, 0.25, 0)
    got = Y[held].sum(axis=0)
    assert got[0] == 0
    assert np.abs(got[2:] - [10, 50]).max() <= 1
    again = hold_out(Y, 0.25, 0)[1]
    other = hold_out(Y, 0.25, 1)[1]
    assert held.tolist() == again.tolist() != other.tolist()


# the scores


def test_scores_are_those_of_scikit_learn():
    X, y = drawn(100, seed=1)
    split = prepare(X, y, QUICK, None, 0.3, 0)
    model = SupervisedVBNMF(2, max_iter=8, tol=0, classifier="components").fit(split.X, split.y)
    got = Trial(2, "auto", iterations=8, seconds=0.0, **score(model, split)[0])
    truth, predicted = split.Y_validation.indices, model.predict(split.X_validation)
    p = accuracy_score(truth, predicted)
    assert 0 < p < 1  # so that the comparisons mean something
    assert got.accuracy == pytest.approx(p)
    assert got.accuracy_error == pytest.approx(np.sqrt(p * (1 - p) / len(truth)))
    assert got.macro_accuracy == pytest.approx(balanced_accuracy_score(truth, predicted))
    V = model.transform(split.X_validation)
    assert got.measures["inter_label_sparsity"] == pytest.approx(inter_label_sparsity(V, truth))


def test_several_labels_are_scored_by_f1():
    X, y = drawn(100, seed=1)
    sets = [[label, "all"] if i % 3 else [label] for i, label in enumerate(y.astype(str))]
    split = prepare(X, sets, QUICK, None, 0.3, 0)
    model = SupervisedVBNMF(2, max_iter=8, tol=0, classifier="components").fit(split.X, split.y)
    got = Trial(2, "auto", iterations=8, seconds=0.0, **score(model, split)[0])
    truth, predicted = split.Y_validation.toarray(), model.predict(split.X_validation)
    assert got.accuracy == pytest.approx(f1_score(truth, predicted, average="micro"))
    assert got.macro_accuracy == pytest.approx(
        f1_score(truth, predicted, average="macro", zero_division=0)
    )
    rng = np.random.default_rng(0)
    draws = [rng.integers(0, len(truth), len(truth)) for _ in range(1000)]
    drawn_scores = [f1_score(truth[i], predicted[i], average="micro") for i in draws]
    assert got.accuracy_error == pytest.approx(np.std(drawn_scores), rel=0.1)


def test_shared_components_are_counted(monkeypatch):
    """By their agreement in the training documents with labels; NaN is not shared."""
    X, y = drawn(60, seed=1)
    y = np.where(np.arange(len(y)) % 5, y, -1)
    split = prepare(X, y, SupervisedVBNMF(unlabelled=-1), None, 0.3, 0)
    estimator = split.adapted(SupervisedVBNMF(4, max_iter=20, tol=0))
    model = clone(estimator).fit(split.X, split.y)
    seen = {}

    def agreement(X, Y, components, scopes):
        seen.update(X=X, Y=Y, components=components, scopes=scopes)
        return np.array([0.49, 0.5, 0.79, 0.8, np.nan, 1.3, 0.0])

    monkeypatch.setattr(heldout, "agreement", agreement)
    model.fitted_ = replace(model.fitted_, labels=replace(model.fitted_.labels, scoped=True))
    got, _ = score(model, split)
    assert (got["shared"], got["agreeing"], got["glued"]) == (6, 2, 2)
    assert (seen["Y"].sum(axis=1) == 1).all()
    assert seen["X"].shape[0] == seen["Y"].shape[0] == split.Y.sum()
    assert seen["components"] is model.components_
    assert seen["scopes"].shape == (3, model.n_components_)
    every = clone(estimator).set_params(scopes="all").fit(split.X, split.y)
    got, _ = score(every, split)
    assert (got["shared"], got["agreeing"], got["glued"]) == (0, 0, 0)


def test_npmi_is_that_of_describing_terms():
    X, y = drawn(60, seed=1)
    split = prepare(X, y, QUICK, None, 0.3, 0)
    model = SupervisedVBNMF(4, max_iter=20, tol=0).fit(split.X, split.y)
    lists = naming_terms(model, 10)
    assert min(map(len, lists)) < 10  # terms of the prior are not measured
    kept = [terms for terms, faded in zip(lists, model.faded_, strict=True) if not faded]
    expected = np.mean(npmi_of_lists(kept, split.X_validation.toarray()))
    assert score(model, split)[0]["measures"]["npmi_documents"] == pytest.approx(expected)


def test_fidelity_is_counted_in_validation_documents():
    X, y = drawn(60, seed=1)
    split = prepare(X, y, QUICK, None, 0.3, 0)
    model = SupervisedVBNMF(4, max_iter=20, tol=0).fit(split.X, split.y)
    # two components get terms that hardly any document has two of
    top = model.describing_terms_[:, :10].copy()
    top[:2] = np.argsort(np.asarray(X.sum(axis=0)).ravel())[: top.shape[1]]
    model.describing_terms_ = top
    held, truth = split.X_validation.toarray() > 0, split.Y_validation.indices
    confirmed = []
    for label in range(3):
        weight = model.label_activations_[label] * model.component_sums_
        for k, part in enumerate(weight / weight.sum()):
            if part >= 0.1:
                described = held[truth == label][:, top[k]].sum(axis=1) >= 2
                confirmed.append(described.mean() >= part / 2)
    assert 0 < np.mean(confirmed) < 1  # so that the comparison means something
    assert score(model, split)[0]["measures"]["fidelity"] == np.mean(confirmed)
