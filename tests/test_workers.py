"""Worker processes: the order of results, errors, and how processes end."""

import os
import signal
import threading
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import islice

import pytest

from vbnmf.workers import Workers, _result


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_results_have_the_order_of_the_tasks(n_jobs):
    with Workers(n_jobs, 3) as workers:
        for n_tasks in (0, 1, 30):
            found = list(workers.map(pow, ((i,) for i in range(n_tasks))))
            assert found == [3**i for i in range(n_tasks)]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_tasks_are_taken_as_they_are_needed(n_jobs):
    taken = []

    def tasks():
        for i in range(1000):
            taken.append(i)
            yield (i,)

    with Workers(n_jobs, 1) as workers:
        assert list(islice(workers.map(pow, tasks()), 3)) == [1, 1, 1]
    assert len(taken) <= 3 + 2 * n_jobs


def test_an_error_in_a_worker_is_raised_as_it_is():
    with Workers(2, "zz") as workers:
        found = workers.map(int, [(36,), (10,), (36,)])
        assert next(found) == 35 * 37
        with pytest.raises(ValueError, match="base 10"):
            next(found)


def test_a_worker_that_is_ended_from_outside():
    with Workers(2, 3) as workers, pytest.raises(ChildProcessError, match="fewer processes"):
        list(workers.map(os._exit, [(), ()]))


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_waits_until_the_pool_holds_no_lock(monkeypatch, name):
    """An exception in the middle of a call could leave the pool locked for ever."""
    number, ended = getattr(signal, name), []

    def end(number, _):
        raise SystemExit(128 + number)

    submit = ProcessPoolExecutor.submit

    def interrupted(self, *args):
        signal.raise_signal(number)
        ended.append(submit(self, *args))
        return ended[-1]

    before = signal.signal(number, end)
    monkeypatch.setattr(ProcessPoolExecutor, "submit", interrupted)
    try:
        with pytest.raises(SystemExit) as error, Workers(2, 3) as workers:
            list(workers.map(pow, [(1,), (2,), (3,)]))
        assert signal.getsignal(number) is end
    finally:
        signal.signal(number, before)
    assert error.value.code == 128 + number
    assert len(ended) == 1  # the call was not interrupted, and there was no other


def test_a_signal_ends_the_wait_for_a_result():
    def end(number, _):
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGTERM])
    try:
        timer.start()
        with pytest.raises(SystemExit):
            _result(Future())  # it never comes
    finally:
        timer.cancel()
        signal.signal(signal.SIGTERM, before)


def test_ignored_signals_stay_ignored():
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with Workers(2, 3) as workers:
            assert list(workers.map(pow, [(1,), (2,)])) == [3, 9]
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)
