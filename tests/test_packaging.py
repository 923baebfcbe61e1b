"""What the package imports is what it declares."""

import ast
import re
import subprocess
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


def test_every_room_has_its_layer_and_its_line_on_the_map():
    """A room that is not in the contract could import anything."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    held = {room.strip() for layer in layers for room in layer.split("|")}
    places = (ROOT / "src" / "vbnmf").iterdir()
    rooms = {
        place.stem for place in places if place.suffix == ".py" or (place / "__init__.py").exists()
    }
    assert rooms - held == {"__init__", "__main__"}
    assert held <= rooms
    shown = re.findall(r"`(\w+)(?:/|\.py)`", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert held <= set(shown)


# One name for a command and for what it runs, for a measure and for what it measures.
SHARED_STEMS = {
    *("__init__", "fit", "report", "calibration", "documents", "rows", "labels"),
    "passages",
    "contrast",
}


def test_a_name_stands_for_one_thing():
    """No two modules have one name, and no two classes."""
    stems, classes = [], []
    for path in (ROOT / "src").rglob("*.py"):
        stems.append(path.stem)
        nodes = ast.parse(path.read_text(encoding="utf-8")).body
        classes += [node.name for node in nodes if isinstance(node, ast.ClassDef)]
    public = [name for name in classes if not name.startswith("_")]
    assert {stem for stem in stems if stems.count(stem) > 1} - SHARED_STEMS == set()
    assert {name for name in public if public.count(name) > 1} == set()


def test_no_import_by_name_goes_past_the_linter():
    """Only the package itself imports rooms by name, and only for those who use it."""
    by_name, of_package = set(), set()
    for path in (ROOT / "src").rglob("*.py"):
        room = path.relative_to(ROOT / "src" / "vbnmf").as_posix()
        text = path.read_text(encoding="utf-8")
        if re.search(r"import_module|__import__|SimpleNamespace", text):
            by_name.add(room)
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "vbnmf":
                of_package.add((room, node.attr))
    # the second reads other packages, and the third imports names of a room for this room
    assert by_name == {"__init__.py", "data/docstrings.py", "lazily.py"}
    assert {name for _, name in of_package} <= {"__version__"}


def test_a_room_imports_only_its_own_names_on_first_use():
    for path in (ROOT / "src" / "vbnmf").glob("*/__init__.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "on_first_use":
                homes = ast.literal_eval(node.args[1]).values()
                assert all(home.startswith(f"vbnmf.{path.parent.name}.") for home in homes)


def test_the_import_rules_have_no_exceptions():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for contract in settings["tool"]["importlinter"]["contracts"]:
        assert "ignore_imports" not in contract


def test_a_plain_fit_knows_no_cluster():
    script = (
        "import sys, numpy as np; from vbnmf import SupervisedVBNMF\n"
        "model = SupervisedVBNMF(2, max_iter=2, tol=0, n_init=2)\n"
        "model.fit(np.eye(6) + 1, [0, 1] * 3).predict(np.eye(6))\n"
        "print([m for m in sys.modules if m.startswith(('dask', 'vbnmf.distributed'))])"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)  # noqa: S603
    assert run.stdout.strip() == "[]", run.stderr[-800:]
