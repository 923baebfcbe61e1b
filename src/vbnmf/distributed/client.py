"""The settings of a Dask cluster, and the connection to it. Dask is imported only on request."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from vbnmf.engines.backends import PlacedSource, backend_of, matrix_of
from vbnmf.shards.shard import ShardSource

_INSTALL = "engine='dask' needs Dask, which is not installed. Run: pip install 'vbnmf[dask]'"


@dataclass(frozen=True)
class Dask:
    """Settings of a fit on a Dask cluster; ``engine="dask"`` uses the defaults.

    The cluster is that of the current ``distributed.Client``.

    Parameters
    ----------
    folder : str, path or None, default=None
        Folder for the state of the documents while the fit runs. This process and all workers must
        be able to write to it under the same path. It takes 8 bytes for each document and
        component, rounded up to a multiple of 16 components. None is the shard folder itself.

    Examples
    --------
    >>> from vbnmf import VBNMF, Dask
    >>> VBNMF(20, engine=Dask(folder="/scratch"))
    VBNMF(engine=Dask(folder='/scratch'), n_components=20)
    """

    folder: str | os.PathLike[str] | None = None

    def place(self, X: Any) -> PlacedSource:
        """Return documents, as Shards or as a Dask array, as shards that workers read.

        Examples
        --------
        >>> from distributed import Client
        >>> from vbnmf.shards import Shards, write_shards
        >>> write_shards("place.shards", [[5.0, 4, 0], [0, 0, 6]])
        >>> with Client(processes=False, dashboard_address=None):
        ...     Dask().place(Shards("place.shards")).shape
        (2, 3)
        """
        client = current_client()
        from vbnmf.distributed.cluster import ClusterSource, of_blocks

        if matrix_of(X) is not None:
            return of_blocks(X, client, self.folder)
        if not isinstance(X, ShardSource):
            raise ValueError(
                "engine='dask' takes documents as Shards or as a Dask array; got "
                f"{type(X).__name__}. Write a matrix in memory with vbnmf.shards.write_shards to a "
                "folder that all workers can read, or leave engine at 'auto'."
            )
        folder = getattr(X, "path", "") if self.folder is None else self.folder
        return ClusterSource(X, client, folder)


def cluster_of(engine: Any) -> tuple[Any, str | os.PathLike[str] | None]:
    """Return the current client, and the folder of the parameter ``engine``."""
    if isinstance(engine, str) and engine == "auto":
        raise ValueError("engine='auto' takes no Dask collection; use engine='dask' to fit to one.")
    found = backend_of(engine)
    assert isinstance(found, Dask)
    return current_client(), found.folder


def current_client() -> Any:
    """Return the current client of Dask."""
    try:
        return _distributed().get_client()
    except ValueError:
        raise ValueError(
            "engine='dask' found no Dask client. Connect to a cluster before fit: "
            "`from distributed import Client`, then `client = Client()` for processes of this "
            "machine, or `client = Client('tcp://HOST:8786')` for a scheduler that is running."
        ) from None


@contextmanager
def connect(
    scheduler: str | None,
    n_workers: int | None = None,
    n_threads: int | None = None,
    tls: tuple[str, str, str] | None = None,
) -> Iterator[Any]:
    """Connect to a scheduler, or to workers on this machine, which are stopped at the end.

    Parameters
    ----------
    scheduler : str or None
        Address of the scheduler. None starts workers on this machine.
    n_workers, n_threads : int or None
        Number of workers, and of threads for each of them.
    tls : tuple of str or None
        Files with the certificate of the authority, and with the certificate and the key of this
        client.
    """
    distributed = _distributed()
    if scheduler is None:
        options = {"n_workers": n_workers, "threads_per_worker": n_threads, "processes": True}
        options |= {"silence_logs": logging.CRITICAL}  # such as slow ends of workers
        with (
            _without_profiles(),
            distributed.LocalCluster(**options, dashboard_address="127.0.0.1:0") as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client
        return
    security = None
    if tls is not None:
        ca, cert, key = tls
        security = distributed.Security(
            tls_ca_file=ca, tls_client_cert=cert, tls_client_key=key, require_encryption=True
        )
        scheduler = scheduler if "://" in scheduler else f"tls://{scheduler}"
    try:
        client = distributed.Client(scheduler, security=security)
    except (OSError, TypeError, ValueError, RuntimeError) as error:  # TypeError: TLS is missing
        reason = str(error) or type(error).__name__
        raise OSError(f"cannot connect to a Dask scheduler at {scheduler}: {reason}") from error
    with client:
        yield client


def turn_off_logs() -> None:
    """Turn off the logs of Dask in this process.

    Dask sets the levels of its loggers when it is imported, each one for itself. So it is imported
    first, and the level of each is set.
    """
    _distributed()
    for name in ("distributed", "tornado", "asyncio", *logging.root.manager.loggerDict):
        if name.split(".")[0] in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL)


def _without_profiles() -> Any:
    """Turn off Dask's profiler, which interrupts workers a hundred times a second."""
    import dask

    return dask.config.set({"distributed.worker.profile.enabled": False})


def _distributed() -> ModuleType:
    try:
        import distributed
    except ImportError as error:
        raise ImportError(_INSTALL) from error
    module: ModuleType = distributed
    return module
