"""docs/reference/cli.md is held to the command line: its commands, outputs, options and keys."""

import re
from pathlib import Path

import click
import pytest
from cliruns import run
from docruns import blocks_of, run_page

import vbnmf
from vbnmf.cli import cli

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "cli.md"
DOC = PAGE.read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for block in blocks_of(DOC):
        if block.file:
            (tmp_path / block.file).write_text(block.body, encoding="utf-8")
    return tmp_path


def test_commands_give_what_is_shown():
    outcome = run_page(PAGE)
    assert outcome.differences == []
    seen = {command[1] for command in outcome.commands if command[0] == "vbnmf"}
    assert seen == set(cli.commands) - {"demo", "reproduce", "doctor"}


def test_options_exist():
    commands = [*cli.commands.values(), *cli.commands["data"].commands.values()]
    known = {flag for command in commands for option in command.params for flag in
             (*option.opts, *option.secondary_opts)}  # fmt: skip
    shown = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*(?=[\s`=.,;:)]|$)", DOC))
    assert len(shown) > 25
    assert shown - known == {"--help"}
    fit = {flag for option in cli.commands["fit"].params for flag in option.opts}
    assert {flag for flag in fit if flag.startswith("--")} - shown == {"--lowercase"}


def test_every_command_has_a_section():
    listed = re.findall(r"^\| \[`(\w+)`\]\(#\1\) \|", DOC, re.MULTILINE)
    assert sorted(listed) == sorted(cli.commands)
    assert set(cli.commands) <= set(re.findall(r"^## (\w+)$", DOC, re.MULTILINE))
    assert all(isinstance(command, click.Command) for command in cli.commands.values())


def test_keys_of_json(folder):
    fit = run("fit", "tickets.csv", "--label", "team", "--json", "--quiet").json
    scores = run("evaluate", "tickets.vbnmf", "later.csv", "--label", "team", "--json").json
    topics = run("topics", "tickets.vbnmf", "--json").json
    described = run("labels", "tickets.vbnmf", "--json").json[0]
    described = {*described, *described["terms"][0], *described["components"][0]}
    changes = run("update", "tickets.vbnmf", "june.csv", "--json", "--out", "june.vbnmf").json
    changes = {*changes, *changes["labels"][0], *changes["components"][0]}
    run("fit", "tagged.csv", "--label", "tags", "--label-separator", ";")
    several = run("evaluate", "tagged.vbnmf", "tagged.csv", "--json").json
    for key in {*fit, *scores, *scores["labels"][0], *several, *topics[0], *described, *changes}:
        assert f"`{key}`" in DOC


def test_environment_variables():
    package = Path(vbnmf.__file__).parent
    sources = "".join(path.read_text(encoding="utf-8") for path in package.rglob("*.py"))
    read = set(re.findall(r'environ(?:\.get\(|\[)"(VBNMF_\w+)"', sources))
    assert read == set(re.findall(r"^\| `(VBNMF_\w+)`", DOC, re.MULTILINE))
    assert len(read) == 4
