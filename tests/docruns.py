"""Run the code blocks of a page, and compare what they print with what the page shows.

A page is Markdown. Its blocks are run in order, in an empty folder, and share their variables:

- a block after a line such as `tickets.csv`: is written to this file before any block is run;
- ``console`` has commands after ``$``, each followed by its output (compared without numbers,
  which vary with versions);
- ``python`` is a doctest if it begins with ``>>>``, whose numbers may differ by a tenth; other
  Python runs as it is;
- a block after ``<!-- not run: REASON -->`` is not run;
- a block after ``<!-- run with: MODULE -->`` is run if the module is installed.

Blocks of other languages are text. To write what the code prints now into pages:

    python tests/docruns.py docs/tutorials/*.md
"""

import doctest
import importlib.util
import io
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from contextlib import chdir, contextmanager, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

from cliruns import run

from vbnmf.cli.progress import Display

ROOT = Path(__file__).parent.parent
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_FENCE = re.compile(
    r"^(?P<fence>`{3,})(?P<language>[\w-]*)\n(?P<body>.*?)^(?P=fence) *$", re.MULTILINE | re.DOTALL
)
_NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]\d+)?")
_PROGRESS = re.compile(r"^.*(?: left| of at most \d+.*|: iteration \d+ of .*)\n", re.MULTILINE)
_FILE = re.compile(r"^`([\w.-]+)`:\s*\Z", re.MULTILINE)
_NOT_RUN = re.compile(r"<!-- not run: .+? -->\s*\Z", re.DOTALL)
_RUN_WITH = re.compile(r"<!-- run with: (\w+) -->\s*\Z")


@dataclass
class Block:
    """A code block: where its body is in the page, and what is before it."""

    language: str
    body: str
    start: int
    end: int
    file: str | None
    skipped: bool
    needs: str | None

    @property
    def is_run(self):
        return not (self.file or self.skipped or self.lacks) and self.language in _RUNNERS

    @property
    def lacks(self):
        """The module that the block needs, if it is not installed."""
        return self.needs if self.needs and not importlib.util.find_spec(self.needs) else None


@dataclass
class Outcome:
    """What came of a page: its text with what the code prints now, commands, and differences."""

    text: str
    commands: list[list[str]] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)
    examples: int = 0
    lacking: set[str] = field(default_factory=set)


def blocks_of(text):
    """All code blocks of a page."""
    found = []
    for match in _FENCE.finditer(text):
        before = text[: match.start()]
        file, needs = _FILE.search(before), _RUN_WITH.search(before)
        found.append(
            Block(
                match["language"],
                match["body"],
                match.start("body"),
                match.end("body"),
                file[1] if file else None,
                bool(_NOT_RUN.search(before)),
                needs[1] if needs else None,
            )
        )
    return found


def words(text):
    """A text without its numbers, which vary with versions, and without its layout."""
    return re.sub(r"[-─]?[\d,.]*\d(e-\d+)?|─+", "#", text).split()


@contextmanager
def sandbox():
    """An empty folder, with what pages may use, and no corpora of the user."""
    folder = Path(tempfile.mkdtemp(prefix="docruns-"))
    for script in (ROOT / "examples").glob("*.py"):
        shutil.copy(script, folder)
    none = str(folder / "none")
    settings = {
        "COLUMNS": "100",
        "VBNMF_DATA": none,
        "SCIKIT_LEARN_DATA": none,
        "MPLBACKEND": "agg",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    # on a busy machine, commands would also print their progress
    quiet = mock.patch.object(Display, "_seconds_between_lines", math.inf)
    try:
        with mock.patch.dict(os.environ, settings), quiet, chdir(folder), importing_from(folder):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def importing_from(folder):
    """Modules of the page can be imported, and are forgotten at its end."""
    before = set(sys.modules)
    with mock.patch.object(sys, "path", [str(folder), *sys.path]):
        yield
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(folder)):
            del sys.modules[name]


def run_page(page):
    """Run all blocks of a page in an empty folder."""
    text = Path(page).read_text(encoding="utf-8")
    outcome = Outcome(text)
    variables = {"__name__": "__main__"}
    pieces, at = [], 0
    with sandbox() as folder:
        blocks = blocks_of(text)
        for block in blocks:
            if block.file:
                (folder / block.file).write_text(block.body, encoding="utf-8")
        outcome.lacking = {block.lacks for block in blocks if block.lacks}
        for block in blocks:
            if block.is_run:
                printed = _RUNNERS[block.language](block, outcome, variables)
                pieces += [text[at : block.start], printed]
                at = block.end
    outcome.text = "".join([*pieces, text[at:]])
    return outcome


def _run_console(block, outcome, _):
    shown = [part for part in re.split(r"^\$ ", block.body, flags=re.MULTILINE) if part]
    printed = []
    for part in shown:
        line, _, expected = part.partition("\n")
        while line.endswith("\\"):  # a command of several lines
            more, _, expected = expected.partition("\n")
            line = f"{line}\n{more}"
        found, code = _run_command(line)
        outcome.commands.append(shlex.split(line))
        wanted = 2 if "Error: " in expected else 0
        if code != wanted:
            outcome.differences.append(f"$ {line}\nexit code {code} instead of {wanted}\n{found}")
            found = expected
        elif words(found) != words(expected):
            outcome.differences.append(f"$ {line}\n{found}\ninstead of\n{expected}")
        printed.append(f"$ {line}\n{found}")
    return "".join(printed)


def _run_command(line):
    """Return what a command prints, first its messages, and its exit code."""
    if line.startswith("vbnmf ") and not set("|<>&\\") & set(line):
        result = run(*shlex.split(line)[1:])
        return _tidy(result.err + result.out), result.code
    result = subprocess.run(  # noqa: S603
        ["bash", "-o", "pipefail", "-c", line],  # noqa: S607
        check=False,
        capture_output=True,
        text=True,
    )
    messages = _PROGRESS.sub("", result.stderr)  # printed on a busy machine
    return _tidy(messages + result.stdout), result.returncode


def _tidy(text):
    """Return a text without spaces at the ends of lines."""
    text = "\n".join(line.rstrip() for line in text.rstrip().split("\n"))
    return f"{text}\n" if text else ""


def _run_python(block, outcome, variables):
    if not block.body.lstrip().startswith(">>>"):
        outcome.examples += 1
        try:
            with redirect_stdout(io.StringIO()):
                exec(compile(block.body, "a block of the page", "exec"), variables)  # noqa: S102
        except Exception as error:
            outcome.differences.append(f"{block.body}{type(error).__name__}: {error}")
        return block.body
    parts = doctest.DocTestParser().parse(block.body)
    examples = [part for part in parts if isinstance(part, doctest.Example)]
    printed = _Recorder(checker=_Close(), optionflags=FLAGS)
    test = doctest.DocTest(examples, variables, "page", None, 0, block.body)
    with redirect_stdout(io.StringIO()):
        printed.run(test, out=lambda _: None, clear_globs=False)
    variables.update(test.globs)
    outcome.examples += len(examples)
    outcome.differences += printed.differences
    lines = []
    for part in parts:
        if isinstance(part, str):
            lines.append(part)
            continue
        prompts = part.source.rstrip("\n").split("\n")
        lines += [
            (f"{'>>>' if i == 0 else '...'} {line}").rstrip() + "\n"
            for i, line in enumerate(prompts)
        ]
        lines.append(printed.shown[id(part)])
    return "".join(lines)


class _Close(doctest.OutputChecker):
    """Accepts numbers that differ by a tenth, as they do between versions of NumPy."""

    def check_output(self, want, got, optionflags):
        if super().check_output(want, got, optionflags):
            return True
        if words(want) != words(got):
            return False
        pairs = zip(_NUMBER.findall(want), _NUMBER.findall(got), strict=True)
        return all(math.isclose(float(a), float(b), rel_tol=0.1) for a, b in pairs)


class _Recorder(doctest.DocTestRunner):
    """Keeps what each example prints; what equals the page stays as it is there."""

    def __init__(self, **options):
        super().__init__(verbose=False, **options)
        self.shown, self.differences = {}, []

    def report_start(self, out, test, example):
        pass

    def report_success(self, out, test, example, got):
        same = doctest.OutputChecker().check_output(example.want, got, FLAGS)
        self.shown[id(example)] = example.want if same else got

    def report_failure(self, out, test, example, got):
        self.shown[id(example)] = got
        self.differences.append(f">>> {example.source}{got}instead of\n{example.want}")

    def report_unexpected_exception(self, out, test, example, exc_info):
        self.shown[id(example)] = example.want
        self.differences.append(f">>> {example.source}{exc_info[0].__name__}: {exc_info[1]}")


_RUNNERS = {"console": _run_console, "python": _run_python}


def main(pages):
    """Write what the code prints now into pages."""
    for page in pages:
        outcome = run_page(page)
        changed = outcome.text != Path(page).read_text(encoding="utf-8")
        Path(page).write_text(outcome.text, encoding="utf-8")
        lines = [f"{page}: {'rewritten' if changed else 'unchanged'}", *outcome.differences]
        sys.stdout.write("\n\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
