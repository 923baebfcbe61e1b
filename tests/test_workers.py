"""Worker processes: the order of results, errors, and how processes end."""

import os
from itertools import islice

import pytest

from vbnmf.workers import Workers


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
