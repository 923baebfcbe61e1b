"""The command line: one file for each command. Heavy imports are inside the commands."""

import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import Any

import click

from vbnmf import __version__
from vbnmf.cli import common
from vbnmf.cli.compare import compare
from vbnmf.cli.contrast import contrast
from vbnmf.cli.data import data
from vbnmf.cli.demo import demo
from vbnmf.cli.doctor import doctor
from vbnmf.cli.evaluate import evaluate
from vbnmf.cli.fit import fit
from vbnmf.cli.labels import labels
from vbnmf.cli.predict import predict
from vbnmf.cli.report import report
from vbnmf.cli.reproduce import reproduce
from vbnmf.cli.review import review
from vbnmf.cli.topics import topics
from vbnmf.cli.transform import transform
from vbnmf.cli.tune import tune
from vbnmf.cli.update import update
from vbnmf.cli.vectorize import vectorize


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with `vbnmf demo`, then `vbnmf fit FILE --label COLUMN`.",
)
@click.version_option(__version__, prog_name="vbnmf")
def cli() -> None:
    """Learn readable components of labelled documents, and predict labels with them."""


_COMMANDS = (
    demo, fit, tune, topics, labels, transform, predict, evaluate, review, contrast,
    compare, report, update, vectorize, reproduce, data,
    doctor,
)  # fmt: skip
for command in _COMMANDS:
    cli.add_command(command)


def main() -> None:
    """Run the command line.

    An error that the user can fix prints one line and exits with 2. Ctrl-C exits with 130 at any
    moment; click would exit with 1, so its errors are handled here.
    """
    try:
        _open_closed_streams()
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper) and not stream.isatty():
                # Windows code pages lack most letters, and file names may not be valid text
                stream.reconfigure(encoding="utf-8", errors="backslashreplace")
        with _tidy_ending(), warnings.catch_warnings():
            warnings.showwarning = _show_warning
            warnings.simplefilter("default", UserWarning)
            sys.exit(cli(prog_name="vbnmf", standalone_mode=False))
    except click.ClickException as error:
        error.message = common.printable(error.message)  # type: ignore[misc]  # no control characters
        error.show()
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort) as stop:
        # click has ended the line on which the terminal shows ^C
        common.message("Stopped." if isinstance(stop, click.Abort) else "\nStopped.")
        sys.exit(common.INTERRUPTED)
    except (ValueError, OSError, ImportError, MemoryError, RuntimeError) as error:
        said = _error(error)
        if said is None or os.environ.get("VBNMF_DEBUG"):
            raise
        common.message(f"Error: {said}")
        sys.exit(2)


def _error(error: Exception) -> str | None:
    """Return what to say of an error that the user can fix; None for another one."""
    if not isinstance(error, RuntimeError):
        return str(error) or type(error).__name__
    if "start new thread" in str(error):  # of Python: no memory for it, or a limit of the system
        return "no thread could be started: memory or threads are limited."
    return None


def _open_closed_streams() -> None:
    """Open the null device for standard streams that are closed, in the order of their numbers.

    Otherwise the next file that is opened would get such a number, and messages of libraries would
    be written into it.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


@contextmanager
def _tidy_ending() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into exceptions, so that half-written files are removed."""

    def end(number: int, _: Any) -> None:
        sys.exit(128 + number)

    names = ("SIGTERM", "SIGHUP")  # the second does not exist on Windows
    signals = [getattr(signal, name) for name in names if hasattr(signal, name)]
    # keep signals that are ignored, as under nohup; only the main thread may set handlers
    before = {number: signal.getsignal(number) for number in signals}
    ours = [number for number, handler in before.items() if handler is signal.SIG_DFL]
    ours = ours if threading.current_thread() is threading.main_thread() else []
    for number in ours:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    context = click.get_current_context(silent=True)
    quiet = context is not None and bool(context.params.get("quiet"))
    common.message(f"Note: {message}", quiet)
