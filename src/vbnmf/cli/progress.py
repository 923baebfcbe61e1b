"""Show progress on standard error: a bar with rich on a terminal, plain lines elsewhere."""

import sys
import time
from math import isfinite, isnan
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from vbnmf.core.fit import Progress
    from vbnmf.paper.experiments import Tally


_PART_OF_HEAD = 0.2  # part of a fit's progress bar that is for training the prediction head


class Display:
    """Context manager that shows progress."""

    _doing = ""
    _seconds_between_lines = 2.0
    _estimates_time = False  # whether ``_show`` gets the remaining time also for a bar

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._last = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        self._last = time.monotonic()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _show(self, part: float | None, text: str, left: str) -> None:
        """Show the completed part, from 0 to 1, or None if it is not known.

        ``left`` is the remaining time in words. A bar estimates it by itself, unless
        ``_estimates_time`` is set.
        """
        if self._quiet:
            return
        if self._bar is None and sys.stderr.isatty():
            self._open_bar()
        if self._bar is not None:
            amount = {"total": None} if part is None else {"completed": part}
            said = text + left if self._estimates_time else text
            self._bar.update(self._task, description=said, **amount)
            return
        now = time.monotonic()
        if now - self._last >= self._seconds_between_lines:
            self._last = now
            sys.stderr.write(f"{text}{left}\n")

    def _open_bar(self) -> None:
        try:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
        except ImportError:  # rich is not installed: print plain lines
            return
        self._bar = Progress(
            TextColumn(self._doing),
            BarColumn(),
            TextColumn("{task.description}"),
            *([] if self._estimates_time else [TimeRemainingColumn()]),
            console=Console(stderr=True),
            transient=True,
        )
        self._bar.start()
        self._task = self._bar.add_task("", total=1.0)


class FitProgress(Display):
    """Callback of the estimators."""

    _doing = "fitting"

    def __init__(self, quiet: bool) -> None:
        super().__init__(quiet)
        # time of the first iteration: earlier stages say nothing about the time of iterations
        self._first: tuple[float, int] | None = None

    def __call__(self, progress: "Progress") -> None:
        """Show the iteration and the bound."""
        from vbnmf.core.fit import FITTING, HEAD, HEAD_ON_SHARDS

        if progress.stage != FITTING:
            part = progress.restart / progress.n_restarts
            if progress.stage in (HEAD, HEAD_ON_SHARDS):
                part = 1 - _PART_OF_HEAD * (1 - progress.iteration / progress.max_iter)
            self._show(part, str(progress), "")
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
    """Show how many documents of a file were processed. Their total number is not known."""

    def __init__(self, quiet: bool, doing: str) -> None:
        super().__init__(quiet)
        self._doing = doing

    def __call__(self, number: int) -> None:
        """Show the number of documents so far."""
        done = f"{number:,} documents"
        self._show(None, done if sys.stderr.isatty() else f"{self._doing}: {done}", "")


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
