"""Fit the candidates of a search on a Dask cluster, several at a time."""

from dataclasses import replace
from functools import partial
from typing import Any

from sklearn.base import clone

from vbnmf.estimators.placing import cluster_of


def spread(engine: Any, ladder: Any) -> Any:
    """Return what makes a map over the workers of a cluster, or None for a search in this process.

    The documents are sent when the map is made.

    Parameters
    ----------
    engine : {"auto", "dask"} or Dask
        Where candidates are fitted.
    ladder : _Ladder
        Fits and scores candidates. It is sent to the workers.
    """
    if isinstance(engine, str) and engine == "auto":
        return None
    client, _folder = cluster_of(engine)
    from vbnmf.engines.tasks import Tasks

    estimator = clone(ladder.estimator)
    if estimator.n_jobs is None:
        estimator.set_params(n_jobs=1)  # a worker has a task for each of its threads
    return partial(Tasks, client, replace(ladder, estimator=estimator, progress=None))
