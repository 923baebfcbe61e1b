"""Fit the candidates of a search on a Dask cluster, several at a time."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from vbnmf.estimators.placing import cluster_of
from vbnmf.selection.advice import Candidate

if TYPE_CHECKING:
    from vbnmf.selection.search import CandidateFits


def fit_on_cluster(
    engine: Any,
    fits: "CandidateFits",
    candidates: Sequence[Candidate],
    tell: Callable[[Candidate, float], None] | None,
) -> Iterator[Any]:
    """Yield the results of candidates, in their order, from the workers of a cluster.

    Parameters
    ----------
    engine : "dask" or Dask
        Where candidates are fitted.
    fits : CandidateFits
        Fits and scores candidates. It is sent to the workers.
    candidates : sequence of Candidate
        The candidates to fit.
    tell : callable or None
        Called with a candidate and the part of its fit that is done.
    """
    client, _folder = cluster_of(engine)
    from vbnmf.engines.tasks import Tasks

    estimator = clone(fits.estimator)
    if estimator.n_jobs is None:
        estimator.set_params(n_jobs=1)  # a worker has a task for each of its threads
    shared = replace(fits, estimator=estimator, tell=None if tell is None else _say)

    def hear(message: Any) -> None:
        k, shape, part = message
        assert tell is not None
        tell((k, shape), part)

    tasks = Tasks(client, shared)
    yield from tasks.map(
        type(fits).run,
        ((candidate,) for candidate in candidates),
        None if tell is None else hear,
    )


def _say(candidate: Candidate, part: float) -> None:
    """Send the part of a candidate that is done to the client."""
    from vbnmf.engines.tasks import say

    say([*candidate, part])
