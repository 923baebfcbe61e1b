"""``tune`` on a Dask cluster, and a cluster with TLS. The workers are in this process."""

import csv
import shutil
import subprocess
import warnings
from dataclasses import replace

import pytest
from cliruns import make_corpus, ok, run, write_csv
from numpy.testing import assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from smallfits import ATTRIBUTES, drawn, labels_of, value_of

from vbnmf import VBNMF, Shards, SupervisedVBNMF, load, tune
from vbnmf.core.fit import FITTING
from vbnmf.distributed import tasks
from vbnmf.estimators import base
from vbnmf.shards import write_shards

distributed = pytest.importorskip("distributed")
LOCAL = {"processes": False, "n_workers": 2, "threads_per_worker": 1}
FEW = {"n_components": [3, 6, 8], "label_shapes": [10, 100]}


@pytest.fixture(scope="module")
def client():
    with distributed.Client(
        **LOCAL, dashboard_address="127.0.0.1:0", set_as_default=True
    ) as client:
        yield client


def rows_of(found):
    return [repr(replace(row, seconds=0)) for row in found.rows]  # NaN equals NaN


def test_a_search_on_a_cluster_finds_the_same(client, tmp_path, monkeypatch):
    X, y = drawn(n_docs=120)
    estimator = SupervisedVBNMF(max_iter=25, tol=0, classifier="components", init="label", n_jobs=1)
    here = tune(X, y, estimator=estimator, **FEW)
    assert len(here.rows) == 6
    kept = tmp_path / "tune.csv"
    seen = []
    monkeypatch.setattr(tasks, "_SECONDS", 0.0)  # every iteration sends a message
    spread = tune(
        X, y, estimator=estimator, engine="dask", checkpoint=kept, progress=seen.append, **FEW
    )
    assert rows_of(spread) == rows_of(here)
    assert (spread.recommended, spread.recommendation) == (here.recommended, here.recommendation)
    assert (seen[-1].part, seen[-1].done) == (1, 6)
    assert len(seen) > 6  # also while candidates are fitted
    assert [step.part for step in seen] == sorted(step.part for step in seen)
    monkeypatch.setattr(tasks, "pack", None)  # what is there is not run again
    again = tune(X, y, estimator=estimator, engine="dask", checkpoint=kept, **FEW)
    assert repr(again.rows) == repr(spread.rows)  # with the same seconds


def test_the_command_line(client, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts, labels = make_corpus(1, n_each=12, mixed=0.4)
    file = write_csv(tmp_path / "a.csv", texts, labels)
    command = ("tune", file, "--label", "label", "-k", "3,6", "--label-shape", "10", "--json")
    here = ok(*command, "--out", "here").json
    address = client.scheduler.address
    spread = ok(*command, "--out", "spread", "--scheduler", address).json
    for name in ("best", "recommended", "recommendation", "command"):
        assert spread[name] == here[name]
    tables = []
    for name in ("here", "spread"):
        with open(tmp_path / name / "tune.csv", newline="", encoding="utf-8") as table:
            tables.append([{**row, "seconds": ""} for row in csv.DictReader(table)])
    assert tables[0] == tables[1]
    result = run(*command, "--scheduler", address, "--workers", "2")
    assert (result.code, "exclude each other" in result.err) == (2, True)


@pytest.mark.parametrize("labelled", [True, False])
def test_starts_at_the_same_time_give_the_same_model(client, tmp_path, labelled):
    X, y = drawn()
    write_shards(tmp_path, X, labels_of(y, "one") if labelled else None)
    parameters = {"n_init": 3, "max_iter": 6, "tol": 0, "random_state": 0, "init": "random"}
    make = SupervisedVBNMF if labelled else VBNMF
    here = make(4, **parameters).fit(Shards(tmp_path))
    reported = []
    spread = make(4, **parameters, engine="dask", callback=reported.append).fit(Shards(tmp_path))
    seen = [progress for progress in reported if progress.stage == FITTING]
    assert [(progress.restart, progress.n_restarts) for progress in seen] == [
        (0, 3),
        (1, 3),
        (2, 3),
    ]
    assert vars(spread).keys() == vars(here).keys()
    for name in ATTRIBUTES if labelled else ("components_", "bound_history_"):
        assert_array_equal(value_of(spread, name), value_of(here, name), err_msg=name)
    assert here.bound_ > min(progress.bound for progress in seen)


def test_warnings_are_those_of_the_best_start(client, tmp_path, monkeypatch):
    write_shards(tmp_path, drawn()[0])
    parameters = {"n_init": 3, "max_iter": 6, "tol": 1e-9, "random_state": 0, "init": "random"}

    def heard(engine):
        shown, filters = warnings.showwarning, warnings.filters
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            VBNMF(4, **parameters, engine=engine).fit(Shards(tmp_path))
        assert (warnings.showwarning, warnings.filters) == (shown, filters)
        assert {warning.filename for warning in found} <= {__file__}
        return [(warning.category, str(warning.message)) for warning in found]

    (alone,) = heard("auto")
    assert alone[0] is ConvergenceWarning
    assert heard("dask") == [alone]
    monkeypatch.setattr(base, "is_rounded", lambda best: True)
    assert len(heard("auto")) == 2
    assert heard("dask") == heard("auto")
    monkeypatch.undo()
    # a fit may converge in its last iteration
    parameters |= {"max_iter": 500, "tol": 1e-2}
    parameters["max_iter"] = VBNMF(4, **parameters).fit(Shards(tmp_path)).n_iter_
    assert heard("dask") == heard("auto")


@pytest.fixture
def certificate(tmp_path):
    """Files of a certificate, which is its own authority, and of its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    command = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-subj", "/CN=localhost", "-keyout", str(key), "-out", str(cert)]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603
    return str(cert), str(key)


def test_a_fit_on_a_cluster_with_tls(tmp_path, certificate):
    cert, key = certificate
    parts = {f"tls_{who}_{what}": file for who in ("scheduler", "worker", "client")
             for what, file in (("cert", cert), ("key", key))}  # fmt: skip
    security = distributed.Security(tls_ca_file=cert, require_encryption=True, **parts)
    X, y = drawn()
    write_shards(tmp_path / "a.shards", X, labels_of(y, "one"), shard_nonzeros=300)
    fit = ("fit", tmp_path / "a.shards", "-k", "6", "--max-iter", "4", "--tol", "0")
    ok(*fit, "--out", tmp_path / "here")
    with distributed.LocalCluster(
        **LOCAL, dashboard_address="127.0.0.1:0", protocol="tls://", security=security
    ) as cluster:
        address = cluster.scheduler_address
        assert address.startswith("tls://")
        on_cluster = (*fit, "--scheduler", address, "--out", tmp_path / "there")
        files = ("--tls-ca", cert, "--tls-cert", cert, "--tls-key", key)
        assert "Cluster: 2 workers" in ok(*on_cluster, *files).err
        refused = run(*on_cluster, "--force")
    a, b = (load(tmp_path / name).estimator_.component_shapes_ for name in ("here", "there"))
    assert_array_equal(a, b)
    assert (refused.code, "cannot connect to a Dask scheduler" in refused.err) == (2, True)
