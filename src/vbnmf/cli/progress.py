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
        self._started = self._last = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        self._started = self._last = time.monotonic()
        if not self._quiet and sys.stderr.isatty():
            self._open_bar()
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
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=total, description=text)
        elif not self._quiet:
            now = time.monotonic()
            if now - self._last >= _SECONDS_BETWEEN_LINES:
                self._last = now
                left = (now - self._started) / done * (total - done)
                sys.stderr.write(
                    f"iteration {done} of at most {total}: {text}; at most {left:.0f} s left\n"
                )

    def _open_bar(self) -> None:
        try:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
        except ImportError:  # an extra; plain lines serve
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
