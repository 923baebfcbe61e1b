"""Show progress on standard error: a bar with rich on a terminal, plain lines elsewhere."""

import os
import sys
import threading
import time
from math import isfinite, isnan
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from vbnmf.cli import common

if TYPE_CHECKING:
    from vbnmf.core.fit import Progress
    from vbnmf.paper.experiments import Tally


_PART_OF_HEAD = 0.2  # part of a fit's progress bar that is for training the prediction head
_SECONDS_BEFORE_BAR = 0.5  # a bar for shorter work would only flicker
_AT_ONCE = 1 << 20  # bytes in which lines are counted at a time


class Display:
    """Context manager that shows progress and the remaining time."""

    _doing = ""
    _seconds_between_lines = 2.0
    _estimates_time = False  # whether ``_show`` gets the remaining time also for a bar

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._begin = self._last = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        self._begin = self._last = time.monotonic()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _show(self, part: float | None, text: str, left: str | None = None) -> None:
        """Show the completed part, from 0 to 1, or None if it is not known.

        ``left`` is the remaining time in words; None estimates it from the part. A bar estimates it
        by itself, unless ``_estimates_time`` is set.
        """
        if self._quiet:
            return
        now = time.monotonic()
        is_terminal = sys.stderr.isatty()
        wait = min(_SECONDS_BEFORE_BAR, self._seconds_between_lines)
        if is_terminal and self._bar is None and now - self._begin >= wait:
            self._open_bar(part)
        if self._bar is not None:
            amount = {"total": None} if part is None else {"completed": part, "total": 1.0}
            shown = text + (left or "") if self._estimates_time else text
            self._bar.update(self._task, description=shown, **amount)
        elif not is_terminal and now - self._last >= self._seconds_between_lines:
            self._last = now
            if left is None:
                left = time_left((now - self._begin) * (1 - part) / part) if part else ""
            common.message(f"{text}{left}")

    def _open_bar(self, part: float | None) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        of_time = TimeElapsedColumn() if part is None else TimeRemainingColumn()
        self._bar = Progress(
            TextColumn(self._doing, markup=False),
            BarColumn(),
            TextColumn("{task.description}", markup=False),
            *([] if self._estimates_time else [of_time]),
            console=Console(stderr=True),
            transient=True,
        )
        self._bar.start()
        self._task = self._bar.add_task("", total=1.0)


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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        if self._timer.ident is not None:  # it was started
            self._timer.join()
        super().__exit__(kind, error, trace)


class FitProgress(Display):
    """Callback of the estimators."""

    _doing = "fitting"

    def __init__(self, quiet: bool) -> None:
        super().__init__(quiet)
        # time of the first iteration: earlier stages say nothing about the time of iterations
        self._first: tuple[float, int] | None = None

    def __call__(self, progress: "Progress") -> None:
        """Show the iteration and the bound."""
        from vbnmf.core.fit import FITTING, HEAD, HEAD_ON_SHARDS, WITHOUT_FOLDS

        if progress.stage != FITTING:
            part = progress.restart / progress.n_restarts
            if progress.stage in (HEAD, HEAD_ON_SHARDS):
                part = 1 - _PART_OF_HEAD * (1 - progress.iteration / progress.max_iter)
            elif progress.stage == WITHOUT_FOLDS:
                part = 1 - _PART_OF_HEAD
            self._show(part, str(progress), left="")
            return
        done = progress.restart * progress.max_iter + progress.iteration
        total = progress.n_restarts * progress.max_iter
        text = f"iteration {done} of at most {total}: bound {progress.bound:,.0f}"
        if not isnan(progress.rise):  # NaN before the second bound
            text += f", relative increase {max(progress.rise, 0):.1e}"
        now = time.monotonic()
        since, first = self._first = self._first or (now, done)
        left = ""
        if done > first:
            left = f"; at most {(now - since) / (done - first) * (total - done):.0f} s left"
        self._show((1 - _PART_OF_HEAD) * done / total, text, left)


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


def time_left(seconds: float) -> str:
    """Return the remaining time in words; nothing if it is not a finite number."""
    return f"; about {_duration(seconds)} left" if isfinite(seconds) else ""


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


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
