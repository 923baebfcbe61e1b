"""Mutants: small changes of the code, each of which a test should notice.

    pip install cosmic-ray
    python -m tests.mutants --sample 150

The sample is spread evenly over the rooms of ``mutants.toml``, which also names the tests of each
module. It is the same for the same code, and a smaller sample is a part of a larger one. The
package is copied, and the copy is changed: nothing in the work tree is. A mutant is killed if a
test fails, or does not end. Only the tests that reach the changed line run, the quickest first.
Changes that cannot be compiled are not counted. The last line has the counts.
"""

import argparse
import difflib
import importlib
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections import Counter
from itertools import chain, zip_longest
from pathlib import Path
from typing import NamedTuple

import pytest

TESTS = Path(__file__).resolve().parent
PACKAGE = TESTS.parent / "src" / "vbnmf"
LONGEST = 120  # CPU seconds beyond those of the sound code, after which tests do not end
MOST_MEMORY = 8 << 30

# The package is imported from the copy, also by processes that tests start.
IMPORTED = """
import sys
sys.meta_path = [finder for finder in sys.meta_path if "Redirect" not in type(finder).__name__]
"""


class Mutant(NamedTuple):
    """A change of a module: the number of the place to which an operator is applied."""

    module: str
    operator: str
    place: int

    @property
    def path(self):
        return f"{self.module}.py"

    def code(self):
        from cosmic_ray.mutating import mutate_code
        from cosmic_ray.plugins import get_operator

        operator = get_operator(self.operator)()
        return mutate_code((PACKAGE / self.path).read_text(), operator, self.place)

    def is_code(self):
        """Say whether the change can be compiled: "*" of a signature is no multiplication."""
        try:
            compile(self.code(), self.path, "exec")
        except SyntaxError:
            return False
        return True

    def diff(self):
        """Return the lines that change, and the number of the first one."""
        before, after = (PACKAGE / self.path).read_text().splitlines(), self.code().splitlines()
        lines = list(difflib.unified_diff(before, after, lineterm="", n=0))[2:]
        at = int(lines[0].split()[1][1:].split(",")[0])
        return [line for line in lines if not line.startswith("@@ ")], at


def sample(settings, size):
    """Choose mutants, as many of each room, in turns."""
    rooms = settings["rooms"]
    chosen = [
        random.Random(room).sample(found, min(-(-size // len(rooms)), len(found)))  # noqa: S311
        for room in rooms
        for found in [_of_room(room, settings["without"])]
    ]
    in_turns = chain.from_iterable(zip_longest(*chosen))
    return [mutant for mutant in in_turns if mutant is not None][:size]


def _of_room(room, without):
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator, operator_names

    one = PACKAGE / f"{room}.py"
    paths = [one] if one.is_file() else sorted((PACKAGE / room).glob("*.py"))
    names = [n for n in sorted(operator_names()) if not any(re.fullmatch(w, n) for w in without)]
    found = []
    for path in paths:
        module = str(path.relative_to(PACKAGE).with_suffix(""))
        nodes = list(ast_nodes(get_ast(path.read_text())))
        for name in names:
            operator = get_operator(name)
            if operator.arguments():
                continue
            n_places = sum(len(list(operator().mutation_positions(node))) for node in nodes)
            found += [Mutant(module, name, place) for place in range(n_places)]
    return found


class Watch:
    """A plugin of pytest that notes the seconds and the lines of each test, or selects tests."""

    def __init__(self, folder, selected=None):
        self.inside, self.selected = f"{folder}/vbnmf/", selected
        self.seconds, self.lines, self.here = {}, {}, set()

    def pytest_collection_modifyitems(self, items):
        if self.selected is not None:
            place = {name: number for number, name in enumerate(self.selected)}
            items[:] = sorted(
                (i for i in items if i.nodeid in place), key=lambda i: place[i.nodeid]
            )

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        if self.selected is not None:
            return (yield)
        self.here, begin = set(), time.process_time()
        threading.settrace(self._called)
        sys.settrace(self._called)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            self.seconds[item.nodeid] = time.process_time() - begin
            self.lines[item.nodeid] = sorted(self.here)

    def _called(self, frame, event, argument):
        path = frame.f_code.co_filename
        return self._line if path.startswith(self.inside) else None

    def _line(self, frame, event, argument):
        self.here.add((frame.f_code.co_filename[len(self.inside) : -3], frame.f_lineno))
        return self._line


class Runs:
    """Runs of tests on a copy of the package, in child processes."""

    def __init__(self, folder, tests):
        self.folder, self.tests, self.seconds, self.lines = folder, tests, {}, {}
        self.watched, self.said = set(), folder / "said.txt"
        shutil.copytree(PACKAGE, folder / "vbnmf", ignore=shutil.ignore_patterns("__pycache__"))
        for room in ("kernels", "text"):  # not imported here: a process can do it once only
            code = f"import vbnmf.{room}._native as native; print(native.__file__)"
            path = subprocess.check_output([sys.executable, "-c", code], text=True)  # noqa: S603
            shutil.copy(path.strip(), folder / "vbnmf" / room)
        (folder / "sitecustomize.py").write_text(IMPORTED)

    def killer(self, mutant, line):
        """Return what notices a mutant, of the tests that reach its line; None if none does."""
        names = self.tests[mutant.module]
        for name in names:
            if name not in self.watched:
                self._watch(name)
        path = self.folder / "vbnmf" / mutant.path
        sound = path.read_text()
        path.write_text(mutant.code())
        try:
            code = self._code(names, Watch(self.folder, self._reaching(mutant, line)))
        finally:
            path.write_text(sound)
        if code == 0:
            return None
        if code in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED):
            raise RuntimeError(f"no test ran: {self.said.read_text()[-2000:]}")
        said = re.search(r"^(?:FAILED|ERROR) (\S+)", self.said.read_text(), re.MULTILINE)
        return said[1] if said else f"exit code {code}"

    def _watch(self, name):
        """Run tests without a mutant; note their seconds and the lines that they reach."""
        kept = self.folder / "watched.json"
        if self._code([name], Watch(self.folder), kept):
            said = self.said.read_text()[-2000:]
            raise RuntimeError(f"test_{name}.py fails without a mutant: {said}")
        seconds, lines = json.loads(kept.read_text())
        self.seconds |= seconds
        for test, reached in lines.items():
            for module, line in reached:
                self.lines.setdefault((module, line), set()).add(test)
        self.watched.add(name)

    def _reaching(self, mutant, line):
        """Return the tests that reach a line, the quickest ones first; without any, all tests."""
        files = tuple(f"tests/test_{name}.py::" for name in self.tests[mutant.module])
        own = {test for test in self.seconds if test.startswith(files)}
        found = own & self.lines.get((mutant.module, line), own) or own
        return sorted(found, key=lambda test: (self.seconds[test], test))

    def _code(self, names, watch, kept=None):
        child = os.fork()
        if child == 0:
            code = 70
            try:
                code = self._run(names, watch)
                if kept is not None:
                    kept.write_text(json.dumps([watch.seconds, watch.lines]))
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(status)

    def _run(self, names, watch):
        """Be the tests, in a child process that has not imported the package."""
        said = os.open(self.said, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        for stream in (0, 1, 2):
            os.dup2(said, stream)
        usual = sum(self.seconds[test] for test in watch.selected or ())
        longest = LONGEST + int(2 * usual)
        resource.setrlimit(resource.RLIMIT_CPU, (longest, longest))
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.dont_write_bytecode = True
        os.environ |= {
            "PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1", "VBNMF_EXAMPLES": "5",
        }  # fmt: skip
        sys.path[:0] = [str(self.folder), str(TESTS)]
        exec(IMPORTED)  # noqa: S102
        import hypothesis

        import vbnmf

        # the same examples each time, and no failure because the machine is busy
        settings = hypothesis.settings(
            derandomize=True, database=None, suppress_health_check=list(hypothesis.HealthCheck)
        )
        hypothesis.settings.register_profile("mutants", settings)
        hypothesis.settings.load_profile("mutants")
        assert vbnmf.__file__.startswith(str(self.folder)), vbnmf.__file__
        paths = [str(TESTS / f"test_{name}.py") for name in names]
        options = ["-x", "-q", "-p", "no:cacheprovider", "--rootdir", str(TESTS.parent)]
        return int(pytest.main([*options, *paths], plugins=[watch]))


def preload():
    """Import what tests import, so that a child process begins at once."""
    for name in ("matplotlib", "pandas", "scipy.optimize", "scipy.sparse.linalg", "sklearn.svm",
                 "sklearn.feature_extraction.text", "sklearn.linear_model", "sklearn.pipeline",
                 "sklearn.model_selection"):  # fmt: skip
        importlib.import_module(name)


def main(args=None):
    """Run tests on mutants, show those that survive, and print the counts."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        "python -m tests.mutants", description=__doc__, formatter_class=form
    )
    parser.add_argument("--sample", type=int, default=150, help="mutants [default: 150]")
    parser.add_argument("--first", type=int, default=0, help="number of the first one")
    parser.add_argument("--only", help="numbers of mutants, such as 3,14")
    given = parser.parse_args(args)
    settings = tomllib.loads((TESTS / "mutants.toml").read_text())
    chosen = list(enumerate(sample(settings, given.sample)))[given.first :]
    if given.only:
        chosen = [(n, mutant) for n, mutant in chosen if n in set(map(int, given.only.split(",")))]
    counts = Counter()
    preload()
    with tempfile.TemporaryDirectory(prefix="vbnmf-mutants-") as folder:
        runs = Runs(Path(folder), settings["tests"])
        for number, mutant in chosen:
            lines, at = mutant.diff()
            if not mutant.is_code():
                counts["no code"] += 1
                continue
            killer = runs.killer(mutant, at)
            what = "killed" if killer else "survived"
            counts[what] += 1
            counts[f"{what} in {mutant.module.split('/')[0]}"] += 1
            where = f"{mutant.path}:{at} {mutant.operator} {killer or ''}".rstrip()
            print(f"{number} {what} {where}", *lines, sep="\n  ", flush=True)  # noqa: T201
    score = counts["killed"] / max(counts["killed"] + counts["survived"], 1)
    print(json.dumps({"score": round(score, 3), **dict(sorted(counts.items()))}))  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
