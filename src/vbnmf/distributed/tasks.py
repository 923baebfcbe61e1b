"""An ordered map over the workers of a Dask cluster, as ``vbnmf.workers`` has over processes."""

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import Any
from uuid import uuid4

from distributed import CancelledError, Client, Future, KilledWorker, get_worker
from distributed.comm import CommClosedError

from vbnmf.distributed.client import cluster_of
from vbnmf.distributed.remote import ClusterError, Packed, check_software, pack, software, unpack
from vbnmf.workers import in_order

_LOST = "the connection to the Dask scheduler is lost. Start the cluster again, and repeat the run."
_AHEAD = 2
"""Tasks of each thread that are submitted before their results are needed."""

_SECONDS = 0.5  # between two messages of a task
_DONE = object()
_TASK = threading.local()  # of each thread: topic of its task's messages, and time of the last


class Tasks:
    """Run tasks on the workers of a cluster.

    Parameters
    ----------
    client : distributed.Client
        Connection to the cluster.
    shared : object
        First argument of every call. It is sent to each worker once.
    """

    def __init__(self, client: Client, shared: Any) -> None:
        # the result of a task survives its worker; scattered data would not
        self._client = client
        with explained(), connected():
            self._shared = client.submit(_same, pack(shared), pure=False)

    def map(
        self,
        function: Callable[..., Any],
        tasks: Iterable[tuple[Any, ...]],
        receive: Callable[[Any], None] | None = None,
    ) -> Iterator[Any]:
        """Yield ``function(shared, *task)`` of each task, in the order of the tasks.

        Parameters
        ----------
        function : callable
            A function of a module. A task may run twice.
        tasks : iterable of tuple
            Arguments after the first.
        receive : callable or None
            Called with each message of a task (:func:`send`), while this method waits for a result.
        """
        client = self._client
        with explained(), _messages(client, receive) as (topic, wait):
            args = (function, software(), topic, self._shared)

            def submit(task: tuple[Any, ...]) -> Future:
                packed = pack(task)
                with connected():
                    return client.submit(_run, *args, packed, pure=False)

            def result(future: Future) -> Any:
                wait(future)
                return unpack(future.result())

            def n_ahead() -> int:
                with connected():
                    return _AHEAD * max(sum(client.nthreads().values()), 1)

            yield from in_order(tasks, submit, result, n_ahead)


@contextmanager
def explained() -> Iterator[None]:
    """Raise errors of the cluster with messages that say what to do."""
    try:
        yield
    except KilledWorker as error:
        raise ClusterError(
            f"the task {error.task} has killed every worker that it was given to, most likely for "
            "lack of memory. Give workers more memory."
        ) from None
    except (CancelledError, CommClosedError) as error:
        raise ClusterError(_LOST) from error


@contextmanager
def connected() -> Iterator[None]:
    """Raise the error of a lost connection if the scheduler does not answer in time.

    This is for calls that wait for the scheduler only. A task may raise TimeoutError itself, for
    example if it reads documents from another machine.
    """
    try:
        yield
    except TimeoutError as error:
        raise ClusterError(_LOST) from error


def send(message: Any) -> None:
    """Send a message from a task to its client, unless it has sent one in the last half second.

    A message is a number, a string, or a list of these.
    """
    topic, then = getattr(_TASK, "messages", (None, 0.0))
    now = time.monotonic()
    if topic is not None and now - then >= _SECONDS:
        _TASK.messages = topic, now
        get_worker().log_event(topic, message)


@contextmanager
def _messages(
    client: Client, receive: Callable[[Any], None] | None
) -> Iterator[tuple[str | None, Callable[[Future], None]]]:
    """Subscribe to messages of tasks; yield their topic and a function that waits for a task."""
    if receive is None:
        yield None, lambda future: None
        return
    topic, messages = f"vbnmf-{uuid4().hex}", SimpleQueue[Any]()

    def wait(future: Future) -> None:
        future.add_done_callback(lambda _: messages.put(_DONE))
        while not future.done():
            with suppress(Empty):  # without messages, ask for the task each second
                message = messages.get(timeout=1.0)
                if message is not _DONE:
                    receive(message)

    client.subscribe_topic(topic, lambda event: messages.put(event[1]))
    try:
        yield topic, wait
    finally:
        with suppress(Exception):  # the scheduler may be lost
            client.unsubscribe_topic(topic)


def _run(
    function: Callable[..., Any], of_client: str, topic: str | None, shared: Packed, task: Packed
) -> Packed:
    check_software(of_client)
    _TASK.messages = topic, -math.inf
    try:
        return pack(function(unpack(shared), *unpack(task)))
    finally:
        del _TASK.messages


def map_on_cluster(
    engine: Any,
    shared: Any,
    function: Callable[..., Any],
    tasks: Iterable[tuple[Any, ...]],
    receive: Callable[[Any], None] | None = None,
) -> Iterator[Any]:
    """Map a function over tasks, on the cluster of the parameter ``engine``; see :class:`Tasks`."""
    client, _folder = cluster_of(engine)
    return Tasks(client, shared).map(function, tasks, receive)


def _same(value: Any) -> Any:
    return value
