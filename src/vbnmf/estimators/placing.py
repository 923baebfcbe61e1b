"""Where a fit runs: in this process, or on a Dask cluster."""

import os
from dataclasses import dataclass
from typing import Any

from vbnmf.engines.clients import current_client
from vbnmf.estimators.lazy import is_lazy, whole_rows
from vbnmf.shards.shard import ShardSource


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
        return of_blocks(whole_rows(X), client, folder)
    if not isinstance(X, ShardSource):
        raise ValueError(
            "engine='dask' takes documents as Shards or as a Dask array; got "
            f"{type(X).__name__}. Write a matrix in memory with vbnmf.shards.write_shards "
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
