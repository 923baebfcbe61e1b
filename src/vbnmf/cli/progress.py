"""Progress of a fit on standard error: a bar with rich on a terminal, plain lines elsewhere."""

import sys
import time
from math import isnan
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from vbnmf.core.fit import Progress

_SECONDS_BETWEEN_LINES = 2.0


class FitProgress:
    """A callback of the estimators, to be used as a context manager."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        # of the first iteration, for what came before it tells nothing about the others
        self._first: tuple[float, int] | None = None
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

    def __call__(self, progress: "Progress") -> None:
        """Show where the fit is."""
        done = progress.restart * progress.max_iter + progress.iteration
        total = progress.n_restarts * progress.max_iter
        text = f"bound {progress.bound:,.0f}"
        if not isnan(progress.rise):  # there were two bounds to compare
            text += f", rising by {max(progress.rise, 0):.1e}"
        if self._bar is None and not self._quiet and sys.stderr.isatty():
            self._open_bar()
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=total, description=text)
        elif not self._quiet:
            self._write_line(done, total, text)

    def _write_line(self, done: int, total: int, text: str) -> None:
        now = time.monotonic()
        if self._first is None:
            self._first = now, done
        if now - self._last < _SECONDS_BETWEEN_LINES:
            return
        self._last = now
        since, first = self._first
        if done > first:
            text += f"; at most {(now - since) / (done - first) * (total - done):.0f} s left"
        sys.stderr.write(f"iteration {done} of at most {total}: {text}\n")

    def _open_bar(self) -> None:
        try:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
        except ImportError:  # not installed; plain lines serve
            return
        self._bar = Progress(
            TextColumn("fitting"),
            BarColumn(),
            TextColumn("{task.completed:.0f} of at most {task.total:.0f}, {task.description}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._bar.start()
        self._task = self._bar.add_task("", total=1)
