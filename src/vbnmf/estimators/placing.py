"""Where a fit runs: in this process, or on a Dask cluster."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from vbnmf.engines.stream import ShardSource
from vbnmf.estimators.lazy import is_lazy, whole_rows

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


def placed(engine: Any, X: Any) -> Any:
    """Return the documents as the engine needs them: unchanged, or for workers of a cluster."""
    if isinstance(engine, str) and engine == "auto":
        if is_lazy(X):
            raise ValueError("engine='auto' takes no Dask array; use engine='dask' to fit to one.")
        return X
    client, folder = cluster_of(engine)
    from vbnmf.engines.cluster import ClusterSource, of_blocks

    if is_lazy(X):
        X = whole_rows(X)
        dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.dtype(np.float64)
        return of_blocks(X, dtype, client, folder)
    if not isinstance(X, ShardSource):
        raise ValueError(
            "engine='dask' takes documents as Shards or as a Dask array; got "
            f"{type(X).__name__}. Write a matrix in memory with vbnmf.data.sharding.write_shards "
            "to a folder that all workers can read, or leave engine at 'auto'."
        )
    return ClusterSource(X, client, getattr(X, "path", "") if folder is None else folder)


def cluster_of(engine: Any) -> tuple[Any, str | os.PathLike[str] | None]:
    """Return the current client, and the folder of the setting ``engine``."""
    if isinstance(engine, str) and engine == "auto":
        raise ValueError("engine='auto' takes no Dask collection; use engine='dask' to fit to one.")
    if isinstance(engine, str) and engine == "dask":
        engine = Dask()
    if not isinstance(engine, Dask):
        raise ValueError(f'engine must be "auto", "dask" or a Dask; got {engine!r}.')
    return current_client(), engine.folder


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
        with (
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


def _distributed() -> ModuleType:
    try:
        import distributed
    except ImportError as error:
        raise ImportError(_INSTALL) from error
    module: ModuleType = distributed
    return module
