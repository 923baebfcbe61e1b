"""Some thirty trials of ``python -m tests.faults``; docs/explanation/trust.md has the long run."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import faults
import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs the processes of Linux"),
]


def test_outputs_are_whole_or_absent_after_a_fault():
    command = [sys.executable, "-m", "tests.faults", "--trials", "32"]
    home = Path(__file__).parent.parent
    found = subprocess.run(command, cwd=home, stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603
    assert found.returncode == 0, found.stdout
    counts = json.loads(found.stdout)
    tried = {name.split()[0] for name in counts if " " in name}
    assert tried == {*faults.FAULTS, *(faults.COUNTED if shutil.which("cc") else ())}
    # how many depends on the moments of the faults, and these on what else the machine does
    assert sum(counts.get(f"{fault} stopped", 0) for fault in tried) > 0


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
