"""Show the progress of commands; ``vbnmf.progressbars`` draws it."""

import os
import sys
import threading
from typing import TYPE_CHECKING, Self

from vbnmf import progressbars
from vbnmf.cli import common
from vbnmf.progressbars import ProgressBar, time_left

if TYPE_CHECKING:
    from vbnmf.paper.experiments import Tally


_AT_ONCE = 1 << 20  # bytes in which lines are counted at a time


class Display(progressbars.Bar):
    """Context manager that shows progress and the remaining time; lines are messages."""

    def _say(self, text: str) -> None:
        common.message(text)


class Waiting(Display):
    """Show the time since the beginning of work of unknown length, on a terminal, if it is long."""

    def __init__(self, quiet: bool, doing: str) -> None:
        super().__init__(quiet)
        self._doing = doing
        self._timer = threading.Timer(self._seconds_between_lines, self._show, (None, ""))
        self._timer.daemon = True

    def __enter__(self) -> Self:
        super().__enter__()
        if not self._quiet and sys.stderr.isatty():
            self._timer.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._timer.cancel()
        if self._timer.ident is not None:  # it was started
            self._timer.join()
        super().__exit__(*exc)


class FitProgress(Display, ProgressBar):
    """Callback of the estimators."""


class DocumentProgress(Display):
    """Show how many documents of a file were processed, and of how many if that can be counted."""

    def __init__(self, quiet: bool, doing: str, total: int | None = None) -> None:
        super().__init__(quiet)
        self._doing = doing
        self._total = total

    def __call__(self, number: int) -> None:
        """Show the number of documents so far."""
        done = common.counted(number, "document")
        part = None
        if self._total:
            part = min(number / self._total, 1.0)
            done = f"{number:,} of {common.counted(self._total, 'document')}"
        self._show(part, done if sys.stderr.isatty() else f"{self._doing}: {done}")


class CellProgress(Display):
    """Callback of the experiments."""

    _doing = "running"
    _seconds_between_lines = 10.0

    def __call__(self, tally: "Tally") -> None:
        """Show how many runs are done."""
        text = f"{tally.done:,} of {tally.total:,} runs"
        if tally.failed:
            text += f", {tally.failed} failed"
        self._show(tally.cost_done / tally.cost_total, text, time_left(tally.seconds_left))


class PageProgress(Display):
    """Show the progress of a page."""

    _doing = "drawing"

    def __call__(self, part: float, text: str) -> None:
        """Show the part that is done, from 0 to 1, and the current step."""
        self._show(part, text)


def count_documents(source: str, format: str | None) -> int | None:  # noqa: A002
    """Count the documents of a file without reading them; None if that takes long.

    The number is for the remaining time only. It may be wrong if a text has a single quote of a CSV
    file, or if rows are empty.
    """
    from vbnmf.data.readers import find_format

    if common.is_shard_folder(source):
        from vbnmf.shards import Shards

        return int(Shards(source).shape[0])
    if source == "-" or not os.path.exists(source):
        return None
    kind = find_format(source, format)
    if kind == "folder":
        return sum(len(names) for _, _, names in os.walk(source))
    if kind in ("csv", "tsv", "jsonl") and os.path.isfile(source):
        try:
            n_lines = _count_lines(source, quoted=kind == "csv")
        except OSError:  # of which the reader has a better message
            return None
        return n_lines if n_lines is None or kind == "jsonl" else max(n_lines - 1, 0)
    return None


def _count_lines(path: str, *, quoted: bool) -> int | None:
    """Count the lines of a file, those outside quotes if texts may be quoted; None if gzip."""
    number, inside, last = 0, False, b"\n"
    with open(path, "rb") as file:
        while chunk := file.read(_AT_ONCE):
            if not number and chunk.startswith(b"\x1f\x8b"):
                return None
            last = chunk[-1:]
            if not quoted:
                number += chunk.count(b"\n")
                continue
            for piece in chunk.split(b'"'):
                number += 0 if inside else piece.count(b"\n")
                inside = not inside
            inside = not inside  # the last piece goes on in the next chunk
    return number + (last != b"\n")
