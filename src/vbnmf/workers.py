"""Map a function over tasks in worker processes, with the results in the order of the tasks.

A worker never outlives the process that started it. Ctrl-C is left to that process. The order is
kept by :func:`in_order`, which a map over the workers of a cluster uses too.
"""

import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any, Self, TypeVar

Task = TypeVar("Task")
Pending = TypeVar("Pending")

_AHEAD = 2
"""Tasks of each worker that are prepared before their results are needed."""


class Workers:
    """Run tasks in worker processes. Use it as a context manager.

    Parameters
    ----------
    n_jobs : int
        Number of processes. With 1, and for a single task, no process is started.
    shared : object
        First argument of every call. It is sent to each process once.

    Examples
    --------
    >>> with Workers(1, 10) as workers:
    ...     list(workers.map(pow, [(1,), (2,)]))
    [10, 100]
    """

    def __init__(self, n_jobs: int, shared: Any) -> None:
        self._n_jobs, self._shared = n_jobs, shared
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def map(self, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """Yield ``function(shared, *task)`` of each task, in the order of the tasks.

        Tasks are taken from the iterable as workers need them. An error in a worker is raised here.

        Parameters
        ----------
        function : callable
            A function of a module.
        tasks : iterable of tuple
            Arguments after the first.

        Raises
        ------
        ChildProcessError
            A worker process has ended, because memory ran out or because a script is not protected
            by ``if __name__ == "__main__":``.
        """
        tasks = iter(tasks)
        first = list(islice(tasks, 0 if self._n_jobs == 1 else 2))
        tasks = chain(first, tasks)
        if self._pool is None and len(first) < 2:
            yield from (function(self._shared, *task) for task in tasks)
            return
        pool = self._started(function.__module__)

        def submit(task: tuple[Any, ...]) -> Future[Any]:
            with _signals_wait():
                return pool.submit(_run, function, task)

        try:
            yield from in_order(tasks, submit, _result, lambda: _AHEAD * self._n_jobs)
        except BrokenProcessPool:
            raise ChildProcessError(
                "a worker process has ended. If memory ran out, use fewer processes (--n-jobs, "
                "n_jobs). In a script, put the call under `if __name__ == '__main__':`."
            ) from None

    def _started(self, module: str) -> ProcessPoolExecutor:
        if self._pool is None:
            # Not "fork": this process may have threads. The server imports the module only once.
            methods = multiprocessing.get_all_start_methods()
            context = multiprocessing.get_context(
                "forkserver" if "forkserver" in methods else "spawn"
            )
            context.set_forkserver_preload([module])
            self._pool = ProcessPoolExecutor(
                self._n_jobs, mp_context=context, initializer=_begin, initargs=(self._shared,)
            )
        return self._pool


def in_order(
    tasks: Iterable[Task],
    submit: Callable[[Task], Pending],
    result: Callable[[Pending], Any],
    n_ahead: Callable[[], int],
) -> Iterator[Any]:
    """Submit tasks as they are needed, and yield their results in the order of the tasks.

    Parameters
    ----------
    tasks : iterable
        Tasks. One is taken when it is submitted.
    submit : callable
        Begins a task, and returns something that stands for its result.
    result : callable
        Waits for such a result, and returns it.
    n_ahead : callable
        Returns the number of tasks to submit before the result of the first one is needed.
    """
    tasks, pending = iter(tasks), deque[Pending]()
    while True:
        for task in islice(tasks, max(n_ahead() - len(pending), 0)):
            pending.append(submit(task))
        if not pending:
            return
        yield result(pending.popleft())


@contextmanager
def _signals_wait() -> Iterator[None]:
    """Call handlers of signals at the end of the block, in the main thread.

    A handler may raise an exception, as that of Ctrl-C does. In the middle of a call of the pool,
    this could leave a lock held, and the pool would never end.
    """
    came: list[int] = []
    before: dict[int, Any] = {}
    try:
        if threading.current_thread() is threading.main_thread():
            for name in ("SIGINT", "SIGTERM", "SIGHUP"):
                number = getattr(signal, name, None)  # Windows has no SIGHUP
                if number is not None and callable(signal.getsignal(number)):
                    before[number] = signal.getsignal(number)
                    signal.signal(number, lambda number, _: came.append(number))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    for number in came[:1]:
        signal.raise_signal(number)


def _result(future: Future[Any]) -> Any:
    """Return the result of a task. Signals wait for a tenth of a second at most."""
    while True:
        with _signals_wait():
            if wait([future], timeout=0.1).done:
                return future.result()


_shared: Any = None


def _begin(shared: Any) -> None:
    """Prepare a worker process."""
    global _shared
    _shared = shared
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _run(function: Callable[..., Any], task: tuple[Any, ...]) -> Any:
    return function(_shared, *task)


def _end_with_parent() -> None:
    """Wait until the process that started this one has ended, and end."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)
