#!/usr/bin/env -S uv run
# /// script
# dependencies = ["nox>=2025.2.9"]
# ///
"""Tasks of development, each in an environment of its own: `nox --list`, `nox -s tests`."""

from pathlib import Path

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv|virtualenv"


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests; arguments go to pytest, as in `nox -s tests -- -m slow`."""
    session.install(".[test]")
    session.run("pytest", "-n", "auto", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, types and imports between rooms."""
    session.install("-e", ".[test]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    session.run("lint-imports")


@nox.session(default=False)
def docs(session: nox.Session) -> None:
    """Build the documentation; warnings are errors. Run its code, and check its links."""
    session.install(".[test,docs]")
    session.run("sphinx-build", "-W", "--keep-going", "docs", "docs/_build/html")
    session.run("pytest", "-n", "auto", "-m", "docs")


@nox.session(default=False)
def build(session: nox.Session) -> None:
    """Build the source distribution and a wheel, and check both."""
    session.install("build", "twine", "check-wheel-contents")
    folder = session.create_tmp()
    session.run("python", "-m", "build", "--outdir", folder)
    session.run("twine", "check", "--strict", *map(str, Path(folder).glob("vbnmf-*")))
    session.run("check-wheel-contents", *map(str, Path(folder).glob("*.whl")))


if __name__ == "__main__":
    nox.main()
