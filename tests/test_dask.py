"""Fits on a Dask cluster: the same bits as on one machine. The cluster is in this process."""

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from properties import examples
from smallfits import ATTRIBUTES, drawn, labels_of, value_of
from test_engines import KNOBS, K, begun, corpus, local

from vbnmf import VBNMF, Checkpoint, Dask, Shards, SupervisedVBNMF
from vbnmf.core.fit import FITTING, Schedule, fit
from vbnmf.distributed import engine as dask_engine
from vbnmf.distributed import remote
from vbnmf.distributed.cluster import Cluster
from vbnmf.distributed.engine import DaskEngine
from vbnmf.distributed.remote import ClusterError
from vbnmf.engines import mapping
from vbnmf.estimators import heads
from vbnmf.kernels import open_kernel
from vbnmf.shards import write_shards

distributed = pytest.importorskip("distributed")
SCHEDULE = Schedule(7, 0.0, 1, bound_every=2, annealing=1)
PARAMETERS = {"max_iter": 6, "tol": 0, "random_state": 0, "init": "label"}


def outcome(engine, labels, mask, dtype=np.float64):
    """All that a fit comes to."""
    result = fit(engine, begun(engine, labels, mask, dtype), KNOBS, SCHEDULE)
    latent = engine.latent if len(labels.latent) else np.zeros(1)
    terms, rates = result.state.terms.shape[:, :K], result.state.rates.E
    V, some = engine.coefficients(result.state), engine.coefficients(result.state, np.arange(7, 30))
    sums = engine.group_term_sums().toarray()
    counts = engine.label_term_documents(labels.known).toarray()
    totals = engine.totals.term_sums
    return result.bound_history, terms, rates, V, some, latent, sums, counts, totals


def agree(client, folder, size, dtype=np.float64, **options):
    X, group, labels, mask, weight = corpus(dtype=dtype, **options)
    write_shards(folder, X, shard_nonzeros=size)
    unknown = len(labels.latent) > 0
    n_groups = labels.known.shape[0] + unknown
    with open_kernel() as kernel:
        expected = outcome(local(kernel, X, group, labels, weight, size), labels, mask, dtype)
        engine = DaskEngine(
            kernel, Cluster(client, Shards(folder)), group, n_groups, weight,
            unknown=unknown, folder=folder,
        )  # fmt: skip
        with engine:
            found = outcome(engine, labels, mask, dtype)
            left = sorted(path.name for path in engine._job.folder.iterdir())
    for a, b in zip(found, expected, strict=True):
        assert_array_equal(a, b)
    return engine, left


@examples(6, ordinary=3)
@given(
    st.integers(0, 10**6),
    st.integers(80, 300),
    st.sampled_from([0, 1, 9]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from([np.float32, np.float64]),
)
def test_engines_agree_to_the_bit(
    client, tmp_path_factory, seed, size, unknown, sets, scoped, weighted, dtype
):
    options = {"unknown": unknown, "sets": sets, "scoped": scoped, "weighted": weighted}
    folder = tmp_path_factory.mktemp("shards")
    agree(client, folder, size, dtype, seed=seed, **options)
    assert not list(folder.glob(".fit-*"))


@pytest.mark.parametrize("fan_in", [2, pytest.param(3, marks=pytest.mark.slow), 16])
@pytest.mark.parametrize("size", [20, pytest.param(35, marks=pytest.mark.slow)])
def test_many_shards_are_added_in_the_same_tree(client, tmp_path, monkeypatch, fan_in, size):
    for module in (mapping, dask_engine, remote):
        monkeypatch.setattr(module, "FAN_IN", fan_in)
    engine, left = agree(client, tmp_path, size)
    assert engine.n_shards > 9
    runs = [engine._cluster.shards_of(task) for task in engine._by_run("sum", remote.add_up)]
    assert [number for run in runs for number in run] == list(range(engine.n_shards))
    assert all(run[0] // fan_in == run[-1] // fan_in for run in runs)
    assert len(runs) <= 4 + -(-engine.n_shards // fan_in)  # there are four threads
    assert sum(name.isdigit() for name in left) == 1  # what shards kept before is removed
    assert not [name for name in left if name.startswith("shared")]


class Threads:
    """A client of workers with these numbers of threads."""

    def __init__(self, **threads):
        self.threads = threads

    def nthreads(self):
        return self.threads

    def submit(self, *args, **options):
        pass


@pytest.mark.parametrize(
    ("nonzeros", "threads", "expected"),
    [
        # by number, the first worker would get four shards
        ([8] * 6 + [1], {"a": 1, "b": 1}, [("a", 3), ("b", 4)]),
        ([8] * 6, {"b": 1, "a": 2}, [("a", 2), ("a", 2), ("b", 2)]),
        ([1, 1, 1, 9], {"a": 1, "b": 1}, [("a", 3), ("b", 1)]),
        ([8, 8], {"a": 2, "b": 2}, [("a", 1), ("b", 1)]),  # not both on the same worker
        ([8, 8], {}, [(None, 2)]),
    ],
)
def test_threads_get_shards_by_non_zeros(nonzeros, threads, expected):
    entries = [SimpleNamespace(nnz=nnz) for nnz in nonzeros]
    source = SimpleNamespace(entries=entries, starts=np.arange(len(entries) + 1))
    shares = Cluster(Threads(**threads), source).shares()
    assert [(place, len(shards)) for place, shards in shares] == expected
    assert [number for _, shards in shares for number in shards] == list(range(len(nonzeros)))


def test_tasks_that_run_twice_change_nothing(client, tmp_path, monkeypatch):
    once, first = Cluster.task, []

    def twice(self, *args, **options):
        first.append(once(self, *args, **options))  # runs beside the second, or before it
        return once(self, *args, **options)

    monkeypatch.setattr(Cluster, "task", twice)
    agree(client, tmp_path, 100)
    assert len(first) > 20


def test_files_that_are_mapped_can_not_be_removed_on_windows(client, tmp_path, monkeypatch):
    whole, kept = Path.unlink, []

    def unlink(self, *args, **options):
        maps = Path("/proc/self/maps")
        if self.suffix == ".sums" and maps.exists():  # only the client maps it
            assert str(self) not in maps.read_text()
        if self.name.startswith("shared-"):
            kept.append(self)
            raise PermissionError(13, "in use", str(self))
        whole(self, *args, **options)

    monkeypatch.setattr(Path, "unlink", unlink)
    write_shards(tmp_path, corpus()[0], shard_nonzeros=100)
    model = VBNMF(3, **PARAMETERS | {"init": "random"}, engine=Dask(tmp_path)).fit(Shards(tmp_path))
    assert {".sums", ""} <= {path.suffix for path in kept}
    assert not any(path.exists() for path in kept)  # removed with their folder
    assert not list(tmp_path.glob(".fit-*"))
    monkeypatch.undo()
    expected = VBNMF(3, **PARAMETERS | {"init": "random"}).fit(Shards(tmp_path))
    assert_array_equal(model.components_, expected.components_)


def test_workers_hold_no_memory_after_a_fit(client, tmp_path, monkeypatch):
    held = []
    whole = DaskEngine.sweep

    def sweep(self, *args, **options):
        found = whole(self, *args, **options)
        held.append({kind for of in remote._MEMORY.values() for m in of.values() for kind in m})
        return found

    monkeypatch.setattr(DaskEngine, "sweep", sweep)
    agree(client, tmp_path, 100)
    assert {"documents", "sums"} <= held[-1]
    assert not remote._MEMORY

    def stop(progress):
        assert remote._MEMORY
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        VBNMF(3, engine="dask", init="random", callback=stop).fit(Shards(tmp_path))
    assert not remote._MEMORY


def test_starts_at_the_same_time_with_a_head_on_several_shards(client, tmp_path):
    """The head goes on from the local states of the best start, which a worker has written."""
    X, y = drawn()
    write_shards(tmp_path, X, labels_of(y, "unknown"), shard_nonzeros=X.nnz // 2)
    shards = Shards(tmp_path)
    assert 2 <= shards.n_shards < 4  # fewer than threads, so starts are spread
    parameters = {"n_init": 3, "max_iter": 6, "tol": 0, "init": "random"}
    before = set(tmp_path.iterdir())
    for seed in (0, 1):
        here = SupervisedVBNMF(6, **parameters, random_state=np.random.RandomState(seed))
        here.fit(shards)
        seen = []
        there = SupervisedVBNMF(
            6, **parameters, random_state=np.random.RandomState(seed), engine="dask",
            callback=seen.append,
        ).fit(shards)  # fmt: skip
        assert [at.restart for at in seen if at.stage == FITTING] == [0, 1, 2]
        assert vars(there).keys() == vars(here).keys()
        for name in ATTRIBUTES:
            assert_array_equal(value_of(there, name), value_of(here, name), err_msg=name)
    assert set(tmp_path.iterdir()) == before


@pytest.mark.slow
def test_heads_of_all_shards(client, tmp_path, monkeypatch):
    X, y = drawn(n_docs=300)
    write_shards(tmp_path, X, labels_of(y, "unknown"), shard_nonzeros=X.nnz // 18)
    monkeypatch.setattr(heads, "HEAD_NONZEROS", X.nnz // 2)
    parameters = PARAMETERS | {"classifier": "words and components"}
    found, expected = (
        SupervisedVBNMF(6, engine=engine, **parameters).fit(Shards(tmp_path))
        for engine in ("dask", "auto")
    )
    for name in (*ATTRIBUTES, "head_.intercepts", "left_out_proba_"):
        assert_array_equal(value_of(found, name), value_of(expected, name), err_msg=name)
    assert_array_equal(found.head_.calibration.biases, expected.head_.calibration.biases)
    assert "then trained on all" in found.classifier_reason_


@pytest.mark.parametrize("kind", ["one", "unknown", "several"])
def test_the_estimator_agrees_with_a_fit_from_disk(client, tmp_path, kind):
    X, y = drawn()
    labels, weight = labels_of(y, kind), np.where(np.arange(len(y)) % 3, 1.0, 2.0)
    write_shards(tmp_path, X, labels, weight, shard_nonzeros=300)
    streamed = SupervisedVBNMF(6, **PARAMETERS).fit(Shards(tmp_path))
    spread = SupervisedVBNMF(6, **PARAMETERS, engine="dask").fit(Shards(tmp_path))
    for name in ATTRIBUTES:
        assert_array_equal(value_of(spread, name), value_of(streamed, name))
    assert_array_equal(spread.predict_proba(X), streamed.predict_proba(X))


def test_without_labels_with_a_search_and_a_folder(client, tmp_path):
    X, _y = drawn()
    write_shards(tmp_path / "shards", X, shard_nonzeros=300)
    shards = Shards(tmp_path / "shards")
    streamed = VBNMF(4, max_iter=5, tol=0).fit(shards)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    seen = []
    spread = VBNMF(
        4,
        max_iter=5,
        tol=0,
        engine=Dask(scratch),
        callback=lambda _: seen.extend(scratch.iterdir()),
    )
    assert_array_equal(spread.fit(shards).components_, streamed.components_)
    assert seen
    assert not list(scratch.iterdir())
    assert_array_equal(spread.transform(shards), streamed.transform(shards))


class Stopped(Exception):
    pass


@pytest.mark.parametrize(("first", "then"), [("auto", "dask"), ("dask", "auto")])
def test_a_checkpoint_is_resumed_on_the_cluster_and_off_it(client, tmp_path, first, then):
    X, y = drawn()
    write_shards(tmp_path / "shards", X, labels_of(y, "unknown"), shard_nonzeros=300)
    shards, checkpoint = Shards(tmp_path / "shards"), Checkpoint(tmp_path / "kept", seconds=0)
    whole = SupervisedVBNMF(6, **PARAMETERS).fit(shards)

    def stop(progress):
        if progress.stage == FITTING and progress.iteration == 3:
            raise Stopped

    model = SupervisedVBNMF(6, **PARAMETERS, checkpoint=checkpoint)
    with pytest.raises(Stopped):
        model.set_params(engine=first, callback=stop).fit(shards)
    seen = []
    model.set_params(engine=then, callback=seen.append).fit(shards)
    assert min(p.iteration for p in seen if p.stage == FITTING) == 4
    for name in ATTRIBUTES:
        assert_array_equal(value_of(model, name), value_of(whole, name))


def test_a_worker_that_joins_is_used(tmp_path):
    X, y = drawn()
    write_shards(tmp_path, X, y, shard_nonzeros=200)
    whole = SupervisedVBNMF(6, **PARAMETERS).fit(Shards(tmp_path))
    options = {"processes": False, "n_workers": 1, "threads_per_worker": 1}
    with (
        distributed.LocalCluster(**options, dashboard_address="127.0.0.1:0") as cluster,
        distributed.Client(cluster) as client,
    ):
        first = set(client.nthreads())

        def join(progress):
            if progress.stage == FITTING and progress.iteration == 2:
                cluster.scale(2)
                client.wait_for_workers(2)

        model = SupervisedVBNMF(6, **PARAMETERS, engine="dask", callback=join)
        model.fit(Shards(tmp_path))
        done = client.run(lambda dask_worker: dask_worker.state.executed_count)
    (joined,) = set(done) - first
    assert done[joined] > 4
    assert_array_equal(model.components_, whole.components_)


def test_a_file_that_is_missing_is_named_with_the_worker(client, tmp_path):
    X, y = drawn()
    write_shards(tmp_path, X, y, shard_nonzeros=300)
    shards = Shards(tmp_path)
    (tmp_path / "00001" / "rows.data.npy").unlink()
    with pytest.raises(ClusterError, match=r"shard 00001 on worker inproc.*00001/rows\.data\.npy"):
        VBNMF(3, engine="dask").fit(shards)


def test_a_worker_with_other_software_is_refused(client, tmp_path, monkeypatch):
    write_shards(tmp_path, drawn()[0])
    versions = iter(["vbnmf 9"])
    monkeypatch.setattr(remote, "software", lambda: next(versions, "vbnmf 8"))
    with pytest.raises(ClusterError, match=r"this worker has vbnmf 8.* VBNMF_SIMD"):
        VBNMF(3, engine="dask").fit(Shards(tmp_path))


def test_refusals(client, tmp_path):
    X, _y = drawn()
    write_shards(tmp_path / "shards", X)
    write_shards(tmp_path / "empty", 0 * X[:, :3])
    shards = Shards(tmp_path / "shards")
    with pytest.raises(ValueError, match='engine must be "auto"'):
        VBNMF(3, engine="spark").fit(X)
    with pytest.raises(ValueError, match=r"as Shards or as a Dask array; got csr.*write_shards"):
        VBNMF(3, engine="dask").fit(X)
    with pytest.raises(OSError, match=r"cannot write to .*nowhere.*Dask\(folder=\.\.\.\)"):
        VBNMF(3, engine=Dask(tmp_path / "nowhere")).fit(shards)
    with pytest.raises(ValueError, match="nothing to learn from"):
        VBNMF(3, engine="dask").fit(Shards(tmp_path / "empty"))
    seventh = np.arange(X.shape[0]) == 7
    write_shards(tmp_path / "hole", X.multiply(~seventh[:, None]), shard_nonzeros=300)
    with pytest.raises(ValueError, match="weight zero"):
        VBNMF(3, engine="dask").fit(Shards(tmp_path / "hole"), sample_weight=1.0 * seventh)


def test_no_client(tmp_path, monkeypatch):
    write_shards(tmp_path, drawn()[0])

    def none():
        raise ValueError("No global client found and no address provided")

    monkeypatch.setattr(distributed, "get_client", none)
    with pytest.raises(ValueError, match=r"found no Dask client.*client = Client\(\)"):
        VBNMF(3, engine="dask").fit(Shards(tmp_path))


def test_no_dask(tmp_path, monkeypatch):
    write_shards(tmp_path, drawn()[0])
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"pip install 'vbnmf\[dask\]'"):
        VBNMF(3, engine="dask").fit(Shards(tmp_path))
