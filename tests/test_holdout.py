"""The split of tune, and the scores on its validation documents."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from scipy import sparse
from scipy.special import digamma, gammaln
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score
from test_tuning import QUICK, X, drawn, y

from vbnmf import SupervisedVBNMF, inter_label_sparsity
from vbnmf.selection.holdout import held_out_bound, hold_out, prepare, score


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
    got = score(model, split)
    truth, predicted = split.Y_validation.indices, model.predict(split.X_validation)
    p = accuracy_score(truth, predicted)
    assert 0 < p < 1  # so that the comparisons mean something
    assert got.accuracy == pytest.approx(p)
    assert got.standard_error == pytest.approx(np.sqrt(p * (1 - p) / len(truth)))
    assert got.macro_accuracy == pytest.approx(balanced_accuracy_score(truth, predicted))
    V = model.transform(split.X_validation)
    assert got.inter_label_sparsity == pytest.approx(inter_label_sparsity(V, truth))


def test_several_labels_are_scored_by_f1():
    X, y = drawn(100, seed=1)
    sets = [[label, "all"] if i % 3 else [label] for i, label in enumerate(y.astype(str))]
    split = prepare(X, sets, QUICK, None, 0.3, 0)
    model = SupervisedVBNMF(2, max_iter=8, tol=0, classifier="components").fit(split.X, split.y)
    got = score(model, split)
    truth, predicted = split.Y_validation.toarray(), model.predict(split.X_validation)
    assert got.accuracy == pytest.approx(f1_score(truth, predicted, average="micro"))
    assert got.macro_accuracy == pytest.approx(
        f1_score(truth, predicted, average="macro", zero_division=0)
    )
    rng = np.random.default_rng(0)
    draws = [rng.integers(0, len(truth), len(truth)) for _ in range(1000)]
    drawn_scores = [f1_score(truth[i], predicted[i], average="micro") for i in draws]
    assert got.standard_error == pytest.approx(np.std(drawn_scores), rel=0.1)


def test_held_out_bound_is_the_formula():
    model = SupervisedVBNMF(3, random_state=0, max_iter=20).fit(X[::2], y[::2])
    new = X[1::2]
    V = model.transform(new)
    a_v, b_v = (model.hyperparameters_[name] for name in ("coef_shape", "coef_scale"))
    scale = 1 / (1 / b_v + model.component_sums_)
    shape = V / scale
    L_v = np.exp(digamma(shape)) * scale
    L_t = np.exp(digamma(model.component_shapes_)) * model.component_scales_[:, None]
    x = new.toarray()
    data = (x * np.log(L_v @ L_t)).sum() - gammaln(x + 1).sum()
    data -= (V @ model.component_sums_).sum()
    prior = (a_v - 1) * np.log(L_v) - V / b_v - a_v * np.log(b_v) - gammaln(a_v)
    entropy = shape + np.log(scale) + gammaln(shape) + (1 - shape) * digamma(shape)
    assert held_out_bound(model, new, V) == pytest.approx(data + (prior + entropy).sum(), rel=1e-6)
