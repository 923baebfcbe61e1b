"""Fits, predictions and searches on a Dask cluster: all that this package knows about Dask.

``client`` has the settings (``Dask``) and the connection, ``engine`` maps work over shards on
workers, with ``cluster`` (shards and tasks) and ``remote`` (what runs on workers). ``tasks`` is an
ordered map over workers. ``arrays`` has Dask arrays, and ``texts`` bags and data frames of texts.

Estimators do not import this room. They ask ``vbnmf.engines.backends`` for the room of an
``engine`` or of a collection. Dask is imported when a cluster is used.
"""

from vbnmf.distributed.arrays import collection, is_texts
from vbnmf.distributed.client import Dask, connect, turn_off_logs

__all__ = ["Dask", "backend", "collection", "connect", "is_texts", "turn_off_logs"]


def backend() -> Dask:
    """Return the default settings, for ``engine="dask"``."""
    return Dask()
