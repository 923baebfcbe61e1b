"""Thirty trials of ``python -m tests.faults``; docs/trust.md has the long run."""

import os
from collections import Counter

import faults
import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs the processes of Linux"),
]


def test_outputs_are_whole_or_absent_after_a_fault(tmp_path):
    faults.preload()
    trials, found = faults.Trials(tmp_path), Counter()
    for number in range(30):
        found[trials(number)] += 1
    assert {fault for fault, _ in found} == set(faults.FAULTS)
    # how many depends on the moments of the faults, and these on what else the machine does
    assert sum(found[fault, "stopped"] for fault in faults.FAULTS) > 0


@pytest.mark.exhaustive  # on a busy machine, no fault of 40 may fall into a write
def test_a_broken_output_would_be_noticed(tmp_path, monkeypatch):
    """A command that writes in place is found by the trials."""
    from contextlib import contextmanager

    from vbnmf import files

    @contextmanager
    def in_place(path, *, overwrite=True):
        path.write_text("half")
        yield path

    faults.preload()
    trials = faults.Trials(tmp_path)
    monkeypatch.setattr(files, "replacing", in_place)
    with pytest.raises(faults.Wrong):
        list(map(trials, range(40)))
