"""Several starts of a fit on a Dask cluster at a time, if there are more threads than shards.

Each start is a fit of its own, on one worker, to all shards. The model of the best bound is kept.
It is the same as that of starts one after the other, bit for bit.
"""

import warnings
from numbers import Integral
from typing import Any

from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from vbnmf.estimators.lazy import computed, is_lazy
from vbnmf.estimators.outcome import callers_level
from vbnmf.estimators.placing import cluster_of
from vbnmf.estimators.telling import Teller
from vbnmf.estimators.validation import check_count


def fit_spread(model: Any, X: Any, y: Any, sample_weight: Any) -> bool:
    """Fit the starts of a model on a cluster, or return False if they are not to be spread."""
    engine = model.engine
    seed = model.random_state
    if (
        (isinstance(engine, str) and engine == "auto")
        or check_count("n_init", model.n_init) == 1
        or is_lazy(X)
        or not hasattr(X, "starts")
        or model.checkpoint is not None
        or not (seed is None or isinstance(seed, Integral))
    ):
        return False
    client, _folder = cluster_of(engine)
    if len(X.starts) > sum(client.nthreads().values()):
        return False
    from vbnmf.engines.tasks import Tasks

    if seed is None:
        seed = int(check_random_state(None).randint(2**31))
    one = clone(model).set_params(engine="auto", callback=None, verbose=0, random_state=seed)
    if one.n_jobs is None:
        one.set_params(n_jobs=1)  # a worker has a task for each of its threads
    tasks = Tasks(client, (one, X, computed(y), computed(sample_weight)))
    best: dict[str, Any] = {}
    for number, found in enumerate(tasks.map(_start, [(n,) for n in range(model.n_init)])):
        Teller(model, number, model.n_init)(found["n_iter_"], found["bound_"], float("nan"))
        if not best or found["bound_"] > best["bound_"]:
            best = found
    for name in [name for name in vars(model) if name.endswith("_")]:
        delattr(model, name)
    vars(model).update(best)
    if model.n_iter_ == model.max_iter and model.tol > 0:
        warnings.warn(
            f"the best start did not converge in max_iter={model.max_iter} iterations. Increase "
            "max_iter, or increase tol if the components are good enough.",
            ConvergenceWarning,
            stacklevel=callers_level(),
        )
    return True


def _start(shared: tuple[Any, Any, Any, Any], number: int) -> dict[str, Any]:
    """Fit one of the starts, and return the fitted attributes."""
    one, X, y, sample_weight = shared
    model = clone(one)
    model._only_start = number
    model.fit(X, y, sample_weight)
    parameters = model.get_params(deep=False)
    found = {name: value for name, value in vars(model).items() if name not in parameters}
    del found["_only_start"]
    return found
