"""An ordered map over the workers of a Dask cluster, as ``vbnmf.workers`` over processes."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from distributed import CancelledError, Client, KilledWorker
from distributed.comm import CommClosedError

from vbnmf.engines.clusterwork import ClusterError, Packed, check_software, pack, software, unpack

_LOST = "the connection to the Dask scheduler is lost. Start the cluster again, and repeat the run."
_AHEAD = 2
"""Tasks of each thread that are submitted before their results are needed."""


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

    def map(self, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """Yield ``function(shared, *task)`` of each task, in the order of the tasks.

        Parameters
        ----------
        function : callable
            A function of a module. A task may run twice.
        tasks : iterable of tuple
            Arguments after the first.
        """
        client, pending = self._client, deque[Any]()
        tasks, args = iter(tasks), (function, software(), self._shared)
        with told():
            while True:
                with connected():
                    ahead = _AHEAD * max(sum(client.nthreads().values()), 1)
                for task in islice(tasks, max(ahead - len(pending), 0)):
                    packed = pack(task)
                    with connected():
                        pending.append(client.submit(_run, *args, packed, pure=False))
                if not pending:
                    return
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


def _run(function: Callable[..., Any], of_client: str, shared: Packed, task: Packed) -> Packed:
    check_software(of_client)
    return pack(function(unpack(shared), *unpack(task)))


def _same(value: Any) -> Any:
    return value
