"""vbnmf doctor: what is installed, and whether it works."""

import sys

import click

from vbnmf.cli import common, options


@click.command(short_help="Check this installation, for a bug report.")
@options.quiet
@options.as_json
def doctor(quiet: bool, as_json: bool) -> None:
    """Print versions, kernel, threads and memory, and check that this installation works.

    The checks fit small models to drawn documents and compare them with known numbers. They take a
    few seconds. Paste the output into a bug report: it has no file names and no documents.

    Ends with exit code 1 if a check fails.

    \b
    Example:
      vbnmf doctor --json
    """  # noqa: D301
    from vbnmf.cli.progress import Waiting
    from vbnmf.memory import available
    from vbnmf.selftest import check_installation
    from vbnmf.versions import versions

    memory = available()
    facts = versions()
    facts["memory"] = "not known" if memory is None else f"{memory / 1e9:.1f} GB available"
    with Waiting(quiet, "checking"):
        checks = list(check_installation())
    failed = [check.name for check in checks if not check.passed]
    if as_json:
        common.print_json({"versions": facts, "checks": [vars(check) for check in checks]})
    else:
        for name, value in facts.items():
            click.echo(f"{name:<16}{value}")
        click.echo()
        for check in checks:
            click.echo(f"{'ok  ' if check.passed else 'FAIL'}  {check.name} ({check.found})")
    if failed:
        common.message(
            f"Error: {len(failed)} of {len(checks)} checks failed. Reinstall vbnmf; if that does "
            "not help, report this output as a bug."
        )
        sys.exit(1)
