"""Run the benchmark commands that pages show, and write what they print into their tables.

A page shows a command in an indented block, and below it tables with some or all of the columns
that the command prints. Each of these tables is replaced by the first printed one that has its
columns, and a line below the command says when it ran, with which version. A section ends at the
next command, or at a heading of a section. Text is left alone: read it again.

Words of commands that stand for files, such as ``CORPORA`` and ``WHEEL``, are given with
``--given``. What a command prints is kept in the folder ``--outputs``. A command whose output is
there is not run again.
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import NamedTuple

from vbnmf import __version__
from vbnmf.files import replacing

_COMMAND = re.compile(r" {4}python -m benchmarks (?P<arguments>(?!pages ).*)")
_SECTION = re.compile(r"#{1,3} ")
_STAMP = re.compile(r"\*Printed on .*\*")

Table = list[list[str]]


class Section(NamedTuple):
    """Lines of a page: the commands of a block, where the block ends, and the end of its tables."""

    commands: list[str]
    begin: int
    end: int


def main(argv: list[str]) -> None:
    """Replace the tables of pages."""
    parser = argparse.ArgumentParser(
        prog="benchmarks pages", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("pages", nargs="+", type=Path, metavar="PAGE", help="such as docs/x.md")
    parser.add_argument("--only", default="", metavar="TEXT", help="commands that have this text")
    parser.add_argument(
        "--given", nargs="+", default=[], metavar="WORD=PATH", help="for words of commands"
    )
    parser.add_argument("--outputs", type=Path, required=True, help="folder of what was printed")
    options = parser.parse_args(argv)
    for page in options.pages:
        if not page.is_file():
            parser.error(f"there is no page {page}")
    for pair in options.given:
        if "=" not in pair:
            parser.error(f"--given takes WORD=PATH, such as CORPORA=folder; got {pair!r}")
    given = dict(pair.split("=", 1) for pair in options.given)
    options.outputs.mkdir(parents=True, exist_ok=True)
    for page in options.pages:
        lines = page.read_text(encoding="utf-8").splitlines()
        for section in reversed(list(sections(lines))):  # from the end, so that places stay right
            commands = [command for command in section.commands if options.only in command]
            if commands:
                files = [_printed(command, given, options.outputs) for command in commands]
                printed = "\n".join(path.read_text(encoding="utf-8") for path in files)
                day = date.fromtimestamp(max(path.stat().st_mtime for path in files))
                at = slice(section.begin, section.end)
                lines[at] = replaced(lines[at], printed, day, f"{page}: {commands[0]}")
        with replacing(page) as part:
            part.write_text("\n".join(lines) + "\n", encoding="utf-8")


def sections(lines: Sequence[str]) -> Iterator[Section]:
    """Yield the commands of each block, with the lines below them."""
    at = 0
    while at < len(lines):
        commands = []
        while at < len(lines) and (found := _COMMAND.fullmatch(lines[at])):
            command = found["arguments"]
            while command.endswith("\\"):
                at += 1
                command = f"{command[:-1].strip()} {lines[at].strip()}"
            commands.append(command)
            at += 1
        if not commands:
            at += 1
            continue
        begin = at
        while at < len(lines) and not (_COMMAND.fullmatch(lines[at]) or _SECTION.match(lines[at])):
            at += 1
        yield Section(commands, begin, at)


def replaced(lines: Sequence[str], printed: str, day: date, where: str) -> list[str]:
    """Return the lines below a command with the tables that it printed, and with the day."""
    left = list(tables(printed.splitlines()).values())
    out: list[str] = []
    old = tables(lines)
    at = 0
    while at < len(lines):
        if at not in old:
            out.append(lines[at])
            at += 1
            continue
        header = old[at][0]
        found = next((table for table in left if set(header) <= set(table[0])), None)
        if found is None:
            print(f"{where}: no printed table has the columns {header}", file=sys.stderr)
            out += lines[at : at + len(old[at])]
        else:
            left.remove(found)
            columns = [found[0].index(name) for name in header]
            out += ["| " + " | ".join(row[c] for c in columns) + " |" for row in found]
        at += len(old[at])
    body = [line for line in out if not _STAMP.fullmatch(line)]
    while body and not body[0]:
        del body[0]
    stamp = f"*Printed on {day.day} {day:%B %Y} by vbnmf {__version__}.*"
    return ["", stamp, "", *body]


def tables(lines: Sequence[str]) -> dict[int, Table]:
    """Return the cells of Markdown tables, by the number of their first line."""
    found: dict[int, Table] = {}
    begin = None
    for at, line in enumerate([*lines, ""]):
        if not line.startswith("|"):
            begin = None
            continue
        begin = at if begin is None else begin
        cells = line.strip()[1:-1].split("|")
        found.setdefault(begin, []).append([cell.strip() for cell in cells])
    return found


def _printed(command: str, given: Mapping[str, str], folder: Path) -> Path:
    """Run a command, unless it was run before, and return the file of what it printed."""
    path = folder / (re.sub(r"[^\w.-]+", "-", command)[:180] + ".md")
    if not path.exists():
        words = [given.get(word, word) for word in shlex.split(command)]
        print(f"python -m benchmarks {shlex.join(words)}", file=sys.stderr, flush=True)
        run = [sys.executable, "-m", "benchmarks", *words]
        done = subprocess.run(run, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
        with replacing(path) as part:
            part.write_text(done.stdout, encoding="utf-8")
    return path
