"""The options of a fit or a search on a Dask cluster, and the connection to it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from vbnmf.cli import common
from vbnmf.cli.options import options as combined

NAMES = ("scheduler", "workers", "scratch", "tls_ca", "tls_cert", "tls_key")

_FILE = click.Path(exists=True, dir_okay=False)

_TLS = (
    click.option("--tls-ca", type=_FILE, metavar="FILE", help="Certificate of the authority, for "
                 "a scheduler with TLS."),
    click.option("--tls-cert", type=_FILE, metavar="FILE", help="Certificate of this client."),
    click.option("--tls-key", type=_FILE, metavar="FILE", help="Key of this client."),
)  # fmt: skip

options = combined(
    click.option("--scheduler", metavar="ADDRESS", help="Fit a shard folder on the Dask cluster "
                 "with this scheduler, such as tcp://host:8786. All workers must be able to read "
                 "the folder. Use it in a trusted network or with TLS only: messages are pickles, "
                 "so whoever reaches a scheduler or a worker can run code there."),
    click.option("--workers", type=click.IntRange(1), metavar="N", help="Fit a shard folder on N "
                 "processes of this machine, as a Dask cluster. They share the cores of --n-jobs."),
    click.option("--scratch", metavar="FOLDER", help="Folder for the state of a fit with "
                 "--scheduler or --workers, to which all workers can write.  [default: the shard "
                 "folder]"),
    *_TLS,
)  # fmt: skip

for_candidates = combined(
    click.option("--scheduler", metavar="ADDRESS", help="Fit several candidates at a time on the "
                 "Dask cluster with this scheduler, such as tcp://host:8786. Use it in a trusted "
                 "network or with TLS only: messages are pickles, so whoever reaches a scheduler "
                 "or a worker can run code there."),
    click.option("--workers", type=click.IntRange(1), metavar="N", help="Fit N candidates at a "
                 "time, each in a process of this machine, as a Dask cluster. They share the "
                 "cores of --n-jobs."),
    *_TLS,
)  # fmt: skip


def pop_options(settings: dict[str, Any]) -> dict[str, Any]:
    """Take the options of a cluster out of those of a command, and check them."""
    given = {name: settings.pop(name, None) for name in NAMES}
    tls = [given[name] for name in NAMES if name.startswith("tls")]
    if given["scheduler"] is not None and given["workers"] is not None:
        raise click.UsageError("--scheduler and --workers exclude each other.")
    if any(tls) and not all(tls):
        raise click.UsageError("--tls-ca, --tls-cert and --tls-key belong together.")
    if any(tls) and given["scheduler"] is None:
        raise click.UsageError("--tls-ca, --tls-cert and --tls-key need --scheduler.")
    if given["scratch"] is not None and not is_wanted(given):
        raise click.UsageError("--scratch needs --scheduler or --workers.")
    return given


def cores_each(given: dict[str, Any], n_jobs: int) -> int:
    """Return the number of cores of each worker of this machine; without workers, of all."""
    if given["scheduler"] is not None and n_jobs != -1:
        raise click.UsageError(
            "--n-jobs is the number of cores of this machine. With --scheduler, set the number of "
            "threads of each worker where it is started."
        )
    if given["workers"] is None:
        return n_jobs
    from vbnmf.estimators.validation import count_threads

    return max(1, count_threads(n_jobs) // given["workers"])


def is_wanted(given: dict[str, Any]) -> bool:
    """Return whether a fit is to run on a cluster."""
    return given["scheduler"] is not None or given["workers"] is not None


@contextmanager
def connected(given: dict[str, Any], n_threads: int | None, quiet: bool) -> Iterator[Any]:
    """Connect to a cluster, and yield the parameter ``engine`` of the estimator.

    ``n_threads`` is the number of threads of each worker of this machine.
    """
    if not is_wanted(given):
        yield "auto"
        return
    from vbnmf.distributed import Dask, connect, turn_off_logs

    turn_off_logs()  # errors are reported in one line
    tls = (given["tls_ca"], given["tls_cert"], given["tls_key"]) if given["tls_ca"] else None
    with connect(given["scheduler"], given["workers"], n_threads, tls) as client:
        if not client.nthreads():
            common.message(f"Waiting for workers of {given['scheduler']}.", quiet)
            client.wait_for_workers(1)
        threads = client.nthreads()
        n_workers = common.counted(len(threads), "worker")
        in_all = common.counted(sum(threads.values()), "thread")
        common.message(f"Cluster: {n_workers}, {in_all}.", quiet)
        yield Dask(given["scratch"])
