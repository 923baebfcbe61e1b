"""Fit the candidates of a search on a Dask cluster, several at a time."""

from collections.abc import Sequence
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
    progress = None if ladder.progress is None else _say
    return partial(Tasks, client, replace(ladder, estimator=estimator, progress=progress))


class Listener:
    """Reports the progress of the candidates of a rung that workers are fitting.

    Parameters
    ----------
    ladder : _Ladder
        Search whose progress is reported.
    rung, total : int
        Number of the rung, and of its candidates.
    done : list of Trial
        Rows of the candidates that have finished so far.
    """

    def __init__(self, ladder: Any, rung: int, total: int, done: Sequence[Any]) -> None:
        self._ladder, self._rung, self._total, self._done = ladder, rung, total, done
        self._parts: dict[tuple[Any, Any], float] = {}

    def __call__(self, message: Any) -> None:
        """Report a message of a worker: the candidate, and the part of it that is done."""
        k, shape, part = message
        self._parts[k, shape] = part
        self._ladder.tell(self._rung, self._total, self._done, k, shape, self.part)

    @property
    def part(self) -> float:
        """Sum of the parts of candidates that have not finished."""
        finished = {row.candidate for row in self._done}
        return sum(part for key, part in self._parts.items() if key not in finished)


def _say(step: Any) -> None:
    """Send the part of a candidate that is done to the client."""
    from vbnmf.engines.tasks import say

    say([step.n_components, step.label_shape, step.part * step.n_rungs - step.rung])
