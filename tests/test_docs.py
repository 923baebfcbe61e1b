"""Documents that speak of the code are held to it."""

import ast
import importlib
import inspect
import re
import sys
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path

import pytest
from cliruns import make_corpus, ok, write_csv
from docruns import blocks_of, run_page

import vbnmf

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *(page for page in DOCS.rglob("*.md") if "_build" not in page.parts)]
NOTATION = (DOCS / "reference" / "notation.md").read_text(encoding="utf-8")


def resolve(path):
    """The object of a dotted path, or None for a field of a record."""
    parts = path.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for name in parts[cut:]:
            if is_dataclass(found) and name in {field.name for field in fields(found)}:
                return None
            found = getattr(found, name)
        return found
    raise AssertionError(f"no module in {path}")


NAMES = re.findall(r"`(vbnmf\.[\w.]+)`", NOTATION)


def test_notation_has_names():
    assert len(NAMES) > 20


@pytest.mark.parametrize("name", NAMES)
def test_names_in_the_notation_exist(name):
    resolve(name)


def user_names():
    rows = [line.split("|") for line in NOTATION.splitlines() if line.startswith("|")]
    return re.findall(r"`(\w+)`", " ".join(row[5] for row in rows if len(row) > 5))


@pytest.mark.parametrize("name", user_names())
def test_words_for_users_are_documented(name):
    known = vbnmf.SupervisedVBNMF.__doc__ + vbnmf.VBNMF.__doc__ + " ".join(dir(vbnmf)) + " X y "
    assert re.search(rf"\b{name}\b", known + "transform")


@pytest.mark.parametrize("name", ["VBNMF", "SupervisedVBNMF"])
def test_docstring_equals_signature(name):
    """Parameters in the docstring: the same names, order and defaults as in the signature."""
    estimator = getattr(vbnmf, name)
    section = (
        inspect.getdoc(estimator).split("Parameters\n----------\n")[1].split("\nAttributes")[0]
    )
    documented = re.findall(r"^(\w+) : (.+), default=(\S+)$", section, re.MULTILINE)
    signature = inspect.signature(estimator.__init__).parameters
    assert [row[0] for row in documented] == [key for key in signature if key != "self"]
    for key, _, default in documented:
        assert ast.literal_eval(default) == signature[key].default, key


def runs_code(page):
    return any(block.is_run for block in blocks_of(page.read_text(encoding="utf-8")))


@pytest.mark.docs
@pytest.mark.parametrize(
    "page", sorted(str(page.relative_to(ROOT)) for page in PAGES if runs_code(page))
)
def test_code_on_a_page_prints_what_is_shown(page):
    outcome = run_page(ROOT / page)
    assert outcome.differences == []
    if outcome.lacking:
        pytest.skip(f"ran, but for code that needs {', '.join(outcome.lacking)}")


def test_code_is_run_where_the_module_that_it_needs_is_installed(tmp_path):
    code = "```python\nraise ValueError\n```\n"
    (tmp_path / "page.md").write_text(
        f"<!-- run with: nonsense -->\n{code}\n<!-- run with: numpy -->\n{code}"
    )
    outcome = run_page(tmp_path / "page.md")
    assert (outcome.lacking, len(outcome.differences)) == ({"nonsense"}, 1)


def test_every_public_name_is_there():
    for name in vbnmf.__all__:
        assert getattr(vbnmf, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        vbnmf.nonsense  # noqa: B018


def test_import_is_light():
    import subprocess
    import sys

    code = (
        "import sys, vbnmf; print([m for m in ('numpy', 'scipy', 'sklearn') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True)  # noqa: S603
    assert run.stdout.strip() == "[]"


WALK = (DOCS / "explanation" / "design.md").read_text(encoding="utf-8").split("\n## ")[1]
COMMANDS = re.findall(r"^`vbnmf (.+?)` (.+?)(?=\n`vbnmf |\Z)", WALK, re.MULTILINE | re.DOTALL)


def code_of(name):
    """The code that a dotted name runs, without the wrappers of click and scikit-learn."""
    found = resolve(name)
    found = getattr(found, "callback", found)
    return inspect.unwrap(found).__code__


def first_calls(function):
    """Codes in the order in which they are first called."""
    calls = {}

    def note(frame, event, _):
        if event == "call":
            calls.setdefault(frame.f_code, len(calls))

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return calls


def test_the_walk_of_a_document_is_what_is_called(tmp_path, monkeypatch):
    """From a CSV file to a page, function by function, in the order of design.md."""
    monkeypatch.chdir(tmp_path)
    texts, labels = make_corpus(1)
    write_csv(Path("tickets.csv"), texts, labels, ("text", "team"))
    assert [command.split()[0] for command, _ in COMMANDS] == ["fit", "report"]
    for command, text in COMMANDS:
        names = re.findall(r"`(vbnmf\.[\w.]+)`", text)
        assert len(names) > 15
        calls = first_calls(partial(ok, *command.split(), "--quiet"))
        for name in names:
            assert code_of(name) in calls, f"{name} is not called by vbnmf {command}"
        assert sorted(names, key=lambda name: calls[code_of(name)]) == names


@pytest.mark.parametrize(
    "page",
    ["CONTRIBUTING.md", *sorted(str(page.relative_to(ROOT)) for page in PAGES)],
)
def test_files_of_the_package_that_a_page_names_exist(page):
    rooms = {folder.name for folder in (ROOT / "src" / "vbnmf").iterdir() if folder.is_dir()}
    text = (ROOT / page).read_text(encoding="utf-8")
    named = [path for path in re.findall(r"\b\w+/\w+\.py\b", text) if path.split("/")[0] in rooms]
    assert [path for path in named if not (ROOT / "src" / "vbnmf" / path).exists()] == []
