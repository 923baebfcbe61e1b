"""Several starts of a fit on a Dask cluster at a time, if there are more threads than shards.

Each start is a fit of its own, on one worker, to all shards. The model of the best bound is kept.
It is the same as that of starts one after the other, bit for bit.
"""

import threading
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from numbers import Integral
from typing import Any

from sklearn.base import clone
from sklearn.utils import check_random_state

from vbnmf.callers import callers_level
from vbnmf.estimators.lazy import computed, is_lazy
from vbnmf.estimators.placing import cluster_of
from vbnmf.estimators.telling import Teller
from vbnmf.estimators.validation import check_count

_LOCK = threading.Lock()
_HEARD: dict[int, list[Warning]] = {}  # warnings of the starts that run in this process, by thread
_CATCHER = ExitStack()  # in use while any start runs


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
    heard: list[Warning] = []
    for number, (found, warned) in enumerate(
        tasks.map(_start, [(n,) for n in range(model.n_init)])
    ):
        Teller(model, number, model.n_init)(found["n_iter_"], found["bound_"], float("nan"))
        if not best or found["bound_"] > best["bound_"]:
            best, heard = found, warned
    for name in [name for name in vars(model) if name.endswith("_")]:
        delattr(model, name)
    vars(model).update(best)
    for warning in heard:
        warnings.warn(warning, stacklevel=callers_level())
    return True


def _start(shared: tuple[Any, Any, Any, Any], number: int) -> tuple[dict[str, Any], list[Warning]]:
    """Fit one of the starts, and return the fitted attributes and all warnings."""
    one, X, y, sample_weight = shared
    model = clone(one)
    model._only_start = number
    with _recorded() as heard:
        model.fit(X, y, sample_weight)
    parameters = model.get_params(deep=False)
    found = {name: value for name, value in vars(model).items() if name not in parameters}
    del found["_only_start"]
    return found, heard


@contextmanager
def _recorded() -> Iterator[list[Warning]]:
    """Record the warnings of this thread.

    ``warnings.catch_warnings`` changes the whole process, and threads that leave it in another
    order would restore the wrong state. So all starts in a process share one.
    """
    me, heard = threading.get_ident(), list[Warning]()
    with _LOCK:
        if not _HEARD:
            _CATCHER.enter_context(warnings.catch_warnings())
            warnings.simplefilter("always")
            others = warnings.showwarning

            def show(message: Any, *args: Any, **options: Any) -> None:
                mine = _HEARD.get(threading.get_ident())
                if mine is None:
                    others(message, *args, **options)
                else:
                    mine.append(message)

            warnings.showwarning = show
        _HEARD[me] = heard
    try:
        yield heard
    finally:
        with _LOCK:
            del _HEARD[me]
            if not _HEARD:
                _CATCHER.close()
