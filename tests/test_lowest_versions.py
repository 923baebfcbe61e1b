"""CI runs a part of the suite on the lowest versions that are declared; they are the same."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_ci_runs_on_the_lowest_versions_that_are_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    declared = dict(
        requirement.split(">=") for requirement in [*project["dependencies"], *extras["io"]]
    )
    lines = (ROOT / ".ci" / "lowest.txt").read_text(encoding="utf-8").splitlines()
    tested = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert set(declared) <= set(tested)
    for name, version in declared.items():
        assert re.sub(r"(\.0)+$", "", tested[name]) == version, name
    assert f"PyStemmer>={tested['PyStemmer']}" in extras["text"]
