"""What the package imports is what it declares."""

import ast
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
OTHER_NAMES = {"sklearn": "scikit-learn", "Stemmer": "pystemmer", "stop_words": "stop-words"}


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module


def test_every_package_that_is_imported_is_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    declared = {re.match(r"[\w-]+", line)[0].lower() for lines in lists for line in lines}
    modules = {name for path in (ROOT / "src").rglob("*.py") for name in imported(path)}
    packages = {name.split(".")[0] for name in modules} - set(sys.stdlib_module_names) - {"vbnmf"}
    assert {OTHER_NAMES.get(name, name) for name in packages} - declared == set()
    assert packages >= {"numpy", "scipy", "sklearn", "safetensors"}
