"""Machines trained by full-batch gradients: sums over shards, the optimum, heads of many shards."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from smallfits import labels_of, value_of
from test_machines import documents, several

from vbnmf import Shards, SupervisedVBNMF
from vbnmf.engines.local import LocalEngine
from vbnmf.engines.mapping import tree_sum
from vbnmf.estimators import heads, starting
from vbnmf.kernels import kernel_name
from vbnmf.prediction import fullbatch, machines
from vbnmf.prediction.fullbatch import Features, hinge_sums
from vbnmf.shards import write_shards


def batch(multilabel=False, n_labels=5):
    X, dense, labels, weight, _ = documents(n_labels=n_labels)
    labels = several(labels) if multilabel else labels
    return Features(X.astype(np.float32), dense.astype(np.float32), labels, weight)


def weights_like(of, seed=0):
    shape = (of.n_features, of.labels.shape[1])
    return np.random.default_rng(seed).normal(scale=0.5, size=shape).astype(np.float32)


@pytest.mark.parametrize("multilabel", [False, True])
def test_gradient_and_curvature_are_those_of_finite_differences(multilabel):
    of, step = batch(multilabel), 1 / 64
    W, boosts = weights_like(of), machines.boosts(of.labels, of.weight)
    found = hinge_sums(of, W, 0, boosts, curvature=True)
    rng = np.random.default_rng(1)
    for f in [0, 7, 40, 42, of.n_features - 1, *rng.integers(0, 40, 5)]:
        ends = []
        for sign in (-1, 1):
            moved = W.copy()
            moved[f] += sign * step
            ends.append(hinge_sums(of, moved, 0, boosts, curvature=True))
        slope = (ends[1].loss - ends[0].loss) / (2 * step)
        assert_allclose(found.gradient[f], slope, rtol=2e-2, atol=0.05)
        # the gradient of a document jumps nowhere, but its slope does
        bend = (ends[1].gradient[f] - ends[0].gradient[f]) / (2 * step)
        low, high = (np.array([e.curvature[f] for e in ends]).min(0),
                     np.array([e.curvature[f] for e in ends]).max(0))  # fmt: skip
        assert (low * 0.8 - 0.5 <= bend).all()
        assert (bend <= high * 1.2 + 0.5).all()


def test_sums_of_parts_threads_and_documents_without_weight():
    of = batch()
    W, boosts = weights_like(of), np.array([1.0, 2, 3, 4, 5])
    whole = hinge_sums(of, W, 0, boosts, curvature=True)
    parts = [Features(*(a[i : i + 40] for a in of)) for i in range(0, 150, 40)]
    added = tree_sum(hinge_sums(part, W, 0, boosts, curvature=True) for part in parts)
    twice = hinge_sums(of, W, 0, boosts, curvature=True, n_threads=2)
    some = hinge_sums(of, W[:, 2:4], 2, boosts[2:4])
    without = of._replace(weight=np.where(np.arange(150) < 80, of.weight, 0))
    fewer = Features(*(a[:80] for a in of))
    for name in ("loss", "gradient", "curvature"):
        assert_allclose(value_of(added, name), value_of(whole, name), rtol=1e-4, atol=1e-4)
        assert_array_equal(value_of(twice, name), value_of(whole, name))
        left_out, left = (hinge_sums(b, W, 0, boosts, curvature=True) for b in (without, fewer))
        assert_array_equal(value_of(left_out, name), value_of(left, name))
    assert_allclose(some.gradient, whole.gradient[:, 2:4], rtol=1e-4, atol=1e-5)
    assert some.curvature is None


@pytest.mark.skipif(kernel_name() != "native", reason="no compiled kernels here")
@pytest.mark.parametrize("n_labels", [2, 16, 19])
def test_compiled_and_scipy_sums_agree(n_labels, monkeypatch):
    of = batch(multilabel=True, n_labels=n_labels)
    of = of._replace(weight=of.weight * (np.arange(150) % 7 > 0))
    W, boosts = weights_like(of), np.linspace(1, 3, n_labels)
    found = {}
    for kernel in ("native", "scipy"):
        monkeypatch.setenv("VBNMF_KERNEL", kernel)
        found[kernel] = hinge_sums(of, W[:, 1:], 1, boosts[1:], curvature=True)
    for name in ("loss", "gradient", "curvature"):
        a, b = (value_of(found[kernel], name) for kernel in ("native", "scipy"))
        assert_allclose(a, b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("multilabel", [False, True])
@pytest.mark.parametrize("block", [1, 1 << 20])
def test_the_optimum_is_that_of_the_machines(multilabel, block, monkeypatch):
    monkeypatch.setattr(machines, "_TOL", 1e-5)
    monkeypatch.setattr(fullbatch, "TOL", 1e-12)
    monkeypatch.setattr(fullbatch, "BLOCK_WEIGHTS", block)
    of = batch(multilabel)
    boosts = machines.boosts(of.labels, of.weight)
    told = []

    def evaluate(weights, first, curvature):
        at = boosts[first : first + weights.shape[1]]
        return hinge_sums(of, weights, first, at, curvature=curvature)

    start = np.zeros((of.n_features, 5), np.float32)
    solved = fullbatch.solve(start, evaluate, lambda done, of: told.append((done, of)))
    exact = machines.train(of.X, of.dense, of.labels, of.weight, np.zeros(150, np.int32))
    assert_allclose(solved.weights[:40].T, exact.words, atol=3e-3)
    assert_allclose(solved.weights[40:-1].T, exact.dense, atol=3e-3)
    assert_allclose(solved.weights[-1], exact.intercepts, atol=3e-3)
    assert told == sorted(told)
    assert told[-1][0] <= told[-1][1]
    W = solved.weights
    expected = of.X @ W[:40] + of.dense @ W[40:-1] + W[-1]
    assert_allclose(fullbatch.scores(of, W), expected, rtol=1e-4, atol=1e-5)


def corpus(n_docs=900, n_labels=6, n_terms=300, seed=0):
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(n_terms, 0.08), n_labels) * 0.25 + 0.75 / n_terms
    y = rng.integers(0, n_labels, n_docs)
    X = sparse.csr_array(np.stack([rng.multinomial(30, topics[label]) for label in y]))
    return X.astype(np.float32), y


HEAD = ["head_.words", "head_.weights", "head_.intercepts", "head_.threshold",
        "left_out_proba_", "head_documents_"]  # fmt: skip


def fit(X, y=None, weight=None, **parameters):
    parameters = {"max_iter": 10, "tol": 0, "classifier": "words and components"} | parameters
    return SupervisedVBNMF(6, **parameters).fit(X, y, weight)


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("one", marks=pytest.mark.slow),
        "unknown",
        pytest.param("several", marks=pytest.mark.slow),
    ],
)
def test_memory_and_disk_give_the_same_bits(kind, tmp_path, monkeypatch):
    X, y = corpus(400)
    labels, weight = labels_of(y, kind), np.where(np.arange(len(y)) % 3, 1.0, 2.5)
    size = X.nnz // 18
    monkeypatch.setattr(starting, "LocalEngine", partial(LocalEngine, shard_nonzeros=size))
    monkeypatch.setattr(heads, "SHARD_NONZEROS", size)
    monkeypatch.setattr(heads, "HEAD_NONZEROS", X.nnz // 2)
    write_shards(tmp_path, X, labels, weight, shard_nonzeros=size)
    assert Shards(tmp_path).n_shards > 16  # sums of two levels
    streamed, memory = fit(Shards(tmp_path)), fit(X, labels, weight, n_jobs=1)
    for name in HEAD:
        assert_array_equal(value_of(streamed, name), value_of(memory, name), err_msg=name)
    for name in ("slopes", "biases", "length_exponent", "noise", "bend"):
        one, other = (getattr(fitted.head_.calibration, name) for fitted in (streamed, memory))
        assert_array_equal(one, other, err_msg=name)
    assert "trained on all" in memory.classifier_reason_
    known = [i for i, label in enumerate(labels) if label is not None]
    assert set(memory.head_documents_) < set(known)


def test_all_documents_count(tmp_path, monkeypatch):
    X, y = corpus(2700)
    X, y, X_new, y_new = X[:1200], y[:1200], X[1200:], y[1200:]
    write_shards(tmp_path, X, y, shard_nonzeros=X.nnz // 5)
    one_shard = fit(X, y).score(X_new, y_new)
    monkeypatch.setattr(heads, "HEAD_NONZEROS", X.nnz // 8)
    seen = []
    on_all = fit(Shards(tmp_path), callback=seen.append)
    assert any("on all documents" in str(progress) for progress in seen)
    monkeypatch.setattr(heads, "train_on_shards", lambda _engine, _task, found, _: (found, 0))
    on_sample = fit(Shards(tmp_path)).score(X_new, y_new)
    assert on_all.score(X_new, y_new) > on_sample + 0.005
    assert on_all.score(X_new, y_new) == pytest.approx(one_shard, abs=0.02)


def test_a_head_that_does_not_converge_says_so(tmp_path, monkeypatch):
    X, y = corpus(300)
    write_shards(tmp_path, X, y, shard_nonzeros=X.nnz // 3)
    monkeypatch.setattr(heads, "HEAD_NONZEROS", X.nnz // 2)
    monkeypatch.setattr(fullbatch, "MOST_ITERATIONS", 1)
    with pytest.warns(ConvergenceWarning, match="machines on all documents in 1 iterations"):
        fit(Shards(tmp_path))


@pytest.mark.parametrize("classifier", ["components", "generative", "auto"])
def test_other_heads(classifier, tmp_path, monkeypatch):
    X, y = corpus(500)
    write_shards(tmp_path, X, y, shard_nonzeros=X.nnz // 3)
    monkeypatch.setattr(heads, "HEAD_NONZEROS", X.nnz // 2)
    model = fit(Shards(tmp_path), classifier=classifier)
    assert ("trained on all" in model.classifier_reason_) == (model.classifier_ != "generative")
    assert model.score(Shards(tmp_path), y) > 0.6


def test_features_of_several_shards_in_memory(monkeypatch):
    """Shards have terms only, so a head with features is trained on a sample of the documents."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((120, 30), density=0.3, rng=rng, format="csr")
    y = np.arange(120) // 60
    wide = sparse.hstack([X, sparse.csr_array(np.eye(2)[y] * 0.5)], format="csr")
    monkeypatch.setattr(starting, "LocalEngine", partial(LocalEngine, shard_nonzeros=300))
    monkeypatch.setattr(heads, "SHARD_NONZEROS", 300)
    monkeypatch.setattr(heads, "HEAD_NONZEROS", wide.nnz // 2)
    model = SupervisedVBNMF(
        4, head_features=2, classifier="words and components", random_state=0, max_iter=10
    ).fit(wide, y)
    assert model.components_.shape == (4, 30)
    assert model.classifier_reason_.endswith("on a sample of 60 documents, and trained on it")
    assert len(model.left_out_proba_) == len(model.head_documents_) == 60
    assert model.score(wide, y) == 1
