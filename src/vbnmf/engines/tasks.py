"""An ordered map over the workers of a Dask cluster, as ``vbnmf.workers`` over processes."""

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from queue import Empty, SimpleQueue
from typing import Any
from uuid import uuid4

from distributed import CancelledError, Client, Future, KilledWorker, get_worker
from distributed.comm import CommClosedError

from vbnmf.engines.clusterwork import ClusterError, Packed, check_software, pack, software, unpack

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
        with told(), connected():
            self._shared = client.submit(_same, pack(shared), pure=False)

    def map(
        self,
        function: Callable[..., Any],
        tasks: Iterable[tuple[Any, ...]],
        hear: Callable[[Any], None] | None = None,
    ) -> Iterator[Any]:
        """Yield ``function(shared, *task)`` of each task, in the order of the tasks.

        Parameters
        ----------
        function : callable
            A function of a module. A task may run twice.
        tasks : iterable of tuple
            Arguments after the first.
        hear : callable or None
            Called with each message of a task (:func:`say`), while this method waits for a result.
        """
        client, pending = self._client, deque[Any]()
        with told(), _heard(client, hear) as (topic, wait):
            tasks, args = iter(tasks), (function, software(), topic, self._shared)
            while True:
                with connected():
                    ahead = _AHEAD * max(sum(client.nthreads().values()), 1)
                for task in islice(tasks, max(ahead - len(pending), 0)):
                    packed = pack(task)
                    with connected():
                        pending.append(client.submit(_run, *args, packed, pure=False))
                if not pending:
                    return
                wait(pending[0])
                yield unpack(pending.popleft().result())


@contextmanager
def told() -> Iterator[None]:
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


def say(message: Any) -> None:
    """Send a message from a task to its client, unless it has sent one in the last half second.

    A message is a number, a string, or a list of these.
    """
    topic, then = getattr(_TASK, "says", (None, 0.0))
    now = time.monotonic()
    if topic is not None and now - then >= _SECONDS:
        _TASK.says = topic, now
        get_worker().log_event(topic, message)


@contextmanager
def _heard(
    client: Client, hear: Callable[[Any], None] | None
) -> Iterator[tuple[str | None, Callable[[Future], None]]]:
    """Subscribe to messages of tasks; yield their topic and a function that waits for a task."""
    if hear is None:
        yield None, lambda future: None
        return
    topic, messages = f"vbnmf-{uuid4().hex}", SimpleQueue[Any]()

    def wait(future: Future) -> None:
        future.add_done_callback(lambda _: messages.put(_DONE))
        while not future.done():
            with suppress(Empty):  # without messages, look at the task each second
                message = messages.get(timeout=1.0)
                if message is not _DONE:
                    hear(message)

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
    _TASK.says = topic, -math.inf
    try:
        return pack(function(unpack(shared), *unpack(task)))
    finally:
        del _TASK.says


def _same(value: Any) -> Any:
    return value
