"""A fit as a map over shards: cuts, sums in a tree, and the same fit however documents are cut."""

import os
import time
from dataclasses import replace
from itertools import combinations_with_replacement, pairwise

import numpy as np
import pytest
from conftest import make_corpus
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from properties import examples
from scipy import sparse

from vbnmf import Shards
from vbnmf.core import starts
from vbnmf.core.fit import Schedule, fit
from vbnmf.core.model import Labels
from vbnmf.discovery import drafts
from vbnmf.discovery.drafts import Draft
from vbnmf.engines import mapping
from vbnmf.engines.local import LocalEngine
from vbnmf.engines.mapping import tree_sum
from vbnmf.engines.stream import StreamEngine
from vbnmf.kernels import open_kernel
from vbnmf.kernels.reference import ReferenceKernel
from vbnmf.shards import ShardsError, write_shards
from vbnmf.shards.shard import Local, cut, even_cuts
from vbnmf.shards.states import read_local, write_local

pytestmark = pytest.mark.kernel

KNOBS = starts.Knobs(a_t=0.7, b_t=None, a_v=0.9, b_v=None, a_lam=3.0, b_lam=None)
SCHEDULE = Schedule(10, 0.0, 1, bound_every=2, annealing=2)
K = 5


def corpus(seed=0, *, unknown=7, sets=True, scoped=True, weighted=True, dtype=np.float64):
    """Documents with one label or several, unknown ones among them, and an empty one."""
    rng = np.random.default_rng(seed)
    X, _ = make_corpus(40, 23, 3, seed)
    X = sparse.csr_array(X.multiply((np.arange(40) != 11)[:, None]), dtype=dtype)
    weights = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.5, 0, 0.5]])[: 4 if sets else 3]
    group = rng.permutation(np.arange(40) % len(weights)).astype(np.int32)
    group[rng.permutation(40)[:unknown]] = len(weights)
    n_docs = np.bincount(group, minlength=len(weights))[: len(weights)]
    labels = Labels.of(sparse.csr_array(weights), n_docs, unknown=unknown > 0)
    mask = np.array([[1, 1, 0, 1, 0], [1, 0, 1, 0, 0], [1, 1, 0, 0, 1]], dtype=bool) | (not scoped)
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], 40) if weighted else None
    return X, group, labels, mask, weight


def begun(engine, labels, mask, dtype=np.float64):
    """The state of a fit that begins with random components."""
    counts = np.random.default_rng(1).gamma(1, 2, (len(engine.totals.term_sums), K)).astype(dtype)
    draft = Draft(counts, mask / mask.sum(axis=1, keepdims=True), mask)
    return drafts.begin(engine, draft, KNOBS, labels, np.dtype(dtype))


def local(kernel, X, group, labels, weight, size):
    unknown = len(labels.latent) > 0
    n_groups = labels.known.shape[0] + unknown
    return LocalEngine(
        kernel, X, group, n_groups, weight=weight, unknown=unknown, shard_nonzeros=size
    )


@pytest.mark.parametrize("sizes", [[3, 3, 3], [1, 9, 1], [0, 0, 0], [9, 0, 2, 2, 2], []])
def test_cuts_leave_out_no_document_and_are_of_absolute_size(sizes):
    cuts = cut(np.array(sizes, dtype=np.int64), 4)
    assert cuts[0] == 0
    assert cuts[-1] == len(sizes)
    for a, b in pairwise(cuts):
        assert b > a or not sizes
        assert sum(sizes[a:b]) <= 4 or b == a + 1
    # what follows a document changes no earlier cut
    more = cut(np.array([*sizes, 9, 9], dtype=np.int64), 4)
    assert_array_equal(more[: len(cuts) - 1], cuts[:-1])


@pytest.mark.parametrize("n", [1, 2, 5, 16, 17, 50, 300])
def test_the_tree_depends_on_the_number_alone(n, monkeypatch):
    monkeypatch.setattr(mapping, "FAN_IN", 4)

    class Noted(str):
        def __add__(self, other):
            return Noted(f"({self!s}{other!s})")

    assert str(tree_sum(Noted("x") for _ in range(n))).count("x") == n
    if n == 5:
        assert tree_sum(Noted(c) for c in "abcde") == "((((ab)c)d)e)"
    if n == 17:
        depth = str(tree_sum(Noted("x") for _ in range(n)))
        assert len(depth) - len(depth.lstrip("(")) < 10


@pytest.mark.parametrize("size", [1, 60])
@pytest.mark.parametrize("options", [{}, {"unknown": 0}, {"scoped": False}, {"weighted": False}])
def test_cutting_documents_changes_nothing_but_rounding(kernel, size, options):
    X, group, labels, mask, weight = corpus(**options)
    found = []
    for shard_nonzeros in (size, 1 << 23):
        engine = local(kernel, X, group, labels, weight, shard_nonzeros)
        sums = engine.group_term_sums().toarray()
        result = fit(engine, begun(engine, labels, mask), KNOBS, SCHEDULE)
        latent = engine.latent if len(labels.latent) else np.zeros(1)
        terms = result.state.terms.shape[:, :K]
        V = engine.coefficients(result.state)
        found.append((sums, result.bound_history, result.state.rates.E[mask], terms, V, latent))
    assert len(list(engine.shards())) == 1
    for many, one in zip(*found, strict=True):
        assert_allclose(many, one, rtol=1e-9, atol=1e-12)


def test_without_labels(kernel):
    X, _ = make_corpus(30, 20, 2)
    knobs = replace(KNOBS, a_lam=None)
    found = []
    for size in (30, 1 << 23):
        engine = LocalEngine(kernel, X, np.zeros(30, np.int32), 1, shard_nonzeros=size)
        state = begun_without_labels(engine, knobs)
        result = fit(engine, state, knobs, SCHEDULE)
        found.append((result.bound_history, engine.coefficients(result.state)))
    for many, one in zip(*found, strict=True):
        assert_allclose(many, one, rtol=1e-9)


@examples(60)
@given(st.lists(st.integers(0, 50), max_size=7), st.integers(1, 9))
def test_even_cuts_have_the_smallest_largest_part(costs, n):
    costs = np.array(costs, dtype=np.int64)
    cuts = even_cuts(costs, n)
    assert (cuts[0], cuts[-1]) == (0, len(costs))
    assert len(cuts) <= n + 1
    places = combinations_with_replacement(range(len(costs) + 1), n - 1)
    least = min(largest_part(costs, [0, *inner, len(costs)]) for inner in places)
    assert largest_part(costs, cuts) == least


def largest_part(costs, cuts):
    return max(costs[a:b].sum() for a, b in pairwise(cuts))


def begun_without_labels(engine, knobs):
    counts = np.random.default_rng(1).gamma(1, 2, (len(engine.totals.term_sums), K))
    draft = Draft(counts, starts.even_portions(K), np.ones((1, K), dtype=bool))
    return drafts.begin(engine, draft, knobs, None, np.dtype(float))


@examples(15)
@given(st.integers(0, 10**6), st.integers(1, 200), st.booleans())
def test_the_bound_never_falls_in_shards(seed, size, scoped):
    X, group, labels, mask, weight = corpus(seed, scoped=scoped)
    engine = local(ReferenceKernel(), X, group, labels, weight, size)
    schedule = Schedule(15, 0.0, 0, bound_every=1)
    history = np.array(fit(engine, begun(engine, labels, mask), KNOBS, schedule).bound_history)
    assert (np.diff(history) >= -1e-9 * np.abs(history[1:])).all()


@examples(12, ordinary=4)
@given(
    st.integers(0, 10**6),
    st.integers(1, 300),
    st.sampled_from([0, 1, 9]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from([np.float32, np.float64]),
    st.integers(1, 3),
)
def test_shards_on_disk_give_the_same_bits(
    tmp_path_factory, seed, size, unknown, sets, scoped, weighted, dtype, n_threads
):
    options = {"unknown": unknown, "sets": sets, "scoped": scoped, "weighted": weighted}
    X, group, labels, mask, weight = corpus(seed, dtype=dtype, **options)
    folder = tmp_path_factory.mktemp("shards")
    write_shards(folder, X, shard_nonzeros=size)
    with open_kernel(n_threads) as kernel:
        engine = local(kernel, X, group, labels, weight, size)
        expected = everything(engine, labels, mask, dtype)
    n_groups = labels.known.shape[0] + (unknown > 0)
    with (
        open_kernel() as kernel,
        StreamEngine(
            kernel, Shards(folder), group, n_groups, weight, unknown=unknown > 0
        ) as engine,
    ):
        found = everything(engine, labels, mask, dtype)
        kept = engine._folder
    assert not kept.exists()
    for a, b in zip(found, expected, strict=True):
        assert_array_equal(a, b)


def everything(engine, labels, mask, dtype):
    """All that a fit comes to, begun twice, for the second must not see the first."""
    fit(engine, begun(engine, labels, mask, dtype), KNOBS, SCHEDULE)
    result = fit(engine, begun(engine, labels, mask, dtype), KNOBS, SCHEDULE)
    latent = engine.latent if len(labels.latent) else np.zeros(1)
    sums = engine.group_term_sums().toarray()
    terms, rates = result.state.terms.shape[:, :K], result.state.rates.E
    V = engine.coefficients(result.state)
    return result.bound_history, terms, rates, V, latent, sums, engine.totals.term_sums


def test_a_shard_that_cannot_be_read_ends_the_fit_with_its_name(tmp_path):
    X, group, labels, mask, _ = corpus(unknown=0)
    write_shards(tmp_path, X, shard_nonzeros=60)
    with open_kernel() as kernel, StreamEngine(kernel, Shards(tmp_path), group, 4) as engine:
        state = begun(engine, labels, mask)
        (tmp_path / "00001" / "rows.data.npy").unlink()
        with pytest.raises(ShardsError, match=r"00001/rows\.data\.npy"):
            fit(engine, state, KNOBS, SCHEDULE)


def test_a_full_disk_is_told_with_the_way_out(tmp_path, monkeypatch):
    X, group, labels, mask, _ = corpus(unknown=0)
    write_shards(tmp_path, X, shard_nonzeros=60)

    def full(path, local, spare):
        raise OSError(28, "No space left on device")

    with open_kernel() as kernel, StreamEngine(kernel, Shards(tmp_path), group, 4) as engine:
        state = begun(engine, labels, mask)
        monkeypatch.setattr("vbnmf.engines.stream.write_local", full)
        with pytest.raises(OSError, match=r"No space left .* Set TMPDIR"):
            fit(engine, state, KNOBS, SCHEDULE)


def local_of(n_docs, seed=0):
    rng = np.random.default_rng(seed)
    return Local(rng.random((n_docs, 16)), rng.random((2, 3)), rng.random((2, 16)))


@pytest.mark.parametrize("n_before", [5, 40, 90])
def test_a_spare_file_is_overwritten(tmp_path, n_before):
    path, spare, local = tmp_path / "new", tmp_path / "spare", local_of(40)
    write_local(spare, local_of(n_before, seed=1))
    inode = spare.stat().st_ino
    write_local(path, local, spare)
    assert [file.name for file in tmp_path.iterdir()] == ["new"]
    assert path.stat().st_ino == inode
    found = read_local(path, np.empty((40, 16)))
    for name in ("Sigma_v", "latent", "E_v"):
        assert_array_equal(getattr(found, name), getattr(local, name))


def test_a_spare_file_with_another_name_keeps_its_values(tmp_path):
    spare, checkpoint, old = tmp_path / "spare", tmp_path / "checkpoint", local_of(40, seed=1)
    write_local(spare, old)
    os.link(spare, checkpoint)
    write_local(tmp_path / "new", local_of(40), spare)
    assert not spare.exists()
    assert_array_equal(read_local(checkpoint, np.empty((40, 16))).Sigma_v, old.Sigma_v)
    new = read_local(tmp_path / "new", np.empty((40, 16)))
    assert_array_equal(new.Sigma_v, local_of(40).Sigma_v)


def test_a_spare_file_that_is_gone(tmp_path):
    write_local(tmp_path / "new", local_of(40), tmp_path / "claimed by another task")
    assert read_local(tmp_path / "new", np.empty((40, 16))).latent.shape == (2, 3)


def test_a_slow_disk_leaves_two_shards_in_memory(tmp_path, monkeypatch):
    X, group, labels, mask, _ = corpus(unknown=0)
    write_shards(tmp_path, X, shard_nonzeros=60)
    writing, seen = [], []
    whole = write_local

    def slow(path, local, spare):
        writing.append(path)
        time.sleep(0.02)
        whole(path, local, spare)
        writing.remove(path)

    with open_kernel() as kernel, StreamEngine(kernel, Shards(tmp_path), group, 4) as engine:
        state = begun(engine, labels, mask)
        opened = engine._open
        monkeypatch.setattr("vbnmf.engines.stream.write_local", slow)
        engine._open = lambda number: seen.append(len(writing)) or opened(number)
        engine.sweep(state, bound=False)
        assert len(seen) == engine.n_shards > 3
    assert not any(seen)  # the state before last is written when the next shard is read
