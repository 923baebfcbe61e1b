"""Show progress on standard error or in a notebook, with the time that is left.

A terminal and a notebook get a bar, and other files get plain lines. ``ProgressBar`` is a callback
for fits. The command line shows its own work in the same way.
"""

import re
import sys
import time
from html import escape
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from vbnmf.core.fit import Progress

_SEARCHED, _FITTED = 0.6, 0.75  # parts of the time of a fit until these stages end; rough
_ROUND = re.compile(r"round (\d+) of at most (\d+)")
_SECONDS_BEFORE_BAR = 0.5  # a bar for shorter work would only flicker
_SECONDS_BETWEEN_BARS = 0.2  # in a notebook


class Bar:
    """Context manager that shows progress and the remaining time."""

    _doing = ""
    _seconds_between_lines = 2.0
    _estimates_time = False  # whether ``_show`` gets the remaining time also for a bar

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet
        self._notebook: Any = None
        self._begin = self._last = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Self:
        self._begin = self._last = time.monotonic()
        return self

    def __exit__(self, *exc: object) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _say(self, text: str) -> None:
        """Write a line."""
        sys.stderr.write(f"{text}\n")

    def _show(self, part: float | None, text: str, left: str | None = None) -> None:
        """Show the completed part, from 0 to 1, or None if it is not known.

        ``left`` is the remaining time in words; None estimates it from the part. A bar estimates it
        by itself, unless ``_estimates_time`` is set.
        """
        if self._quiet:
            return
        now = time.monotonic()
        if self._notebook is not None or in_notebook():
            self._show_in_notebook(part, text, left, now)
            return
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
            self._say(f"{text}{left}")

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

    def _show_in_notebook(
        self, part: float | None, text: str, left: str | None, now: float
    ) -> None:
        """Show a bar below the cell, and replace it a few times a second."""
        if now - self._last < _SECONDS_BETWEEN_BARS or now - self._begin < _SECONDS_BEFORE_BAR:
            return
        self._last = now
        if not left:
            left = time_left((now - self._begin) * (1 - part) / part) if part else ""
        self._draw(f"{_bar(part)} {escape(self._doing)} {escape(text + left)}")

    def _draw(self, html: str) -> None:
        of_notebook: Any = sys.modules["IPython.display"]  # every notebook has imported it
        shown = of_notebook.HTML(html)
        if self._notebook is None:
            self._notebook = of_notebook.display(shown, display_id=True)
        else:
            self._notebook.update(shown)


class ProgressBar(Bar):
    """Callback that shows the progress of a fit, with the time that is left.

    It draws a bar in a notebook and in a terminal, and writes lines to other files. Pass it as the
    parameter ``callback`` of ``VBNMF`` or ``SupervisedVBNMF``. It may be used for several fits, one
    after the other. A short fit shows nothing.

    Parameters
    ----------
    quiet : bool, default=False
        Whether to show nothing.

    Examples
    --------
    >>> from vbnmf import DocumentModel, ProgressBar, SupervisedVBNMF
    >>> model = DocumentModel(SupervisedVBNMF(2, callback=ProgressBar(), random_state=0))
    >>> model = model.fit(["green tea", "roast coffee"] * 5, ["tea", "coffee"] * 5)
    """

    _doing = "fitting"

    def __init__(self, quiet: bool = False) -> None:
        super().__init__(quiet)
        # time of the first iteration: earlier stages say nothing about the time of iterations
        self._first: tuple[float, int] | None = None
        self._done: float | None = None  # part of the fit; None between fits

    def __call__(self, progress: "Progress") -> None:
        """Show the iteration and the bound."""
        from vbnmf.core.fit import FITTING

        if self._done is None:
            self.__enter__()
        self._done = max(self._done or 0.0, part_of_fit(progress))  # a bar never goes back
        if progress.stage != FITTING:
            self._show(self._done, str(progress), left="")
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
        self._show(self._done, text, left)

    def close(self) -> None:
        """End the bar; models call it when a fit ends.

        Examples
        --------
        >>> from vbnmf import ProgressBar
        >>> ProgressBar().close()  # nothing to end
        """
        if self._notebook is not None:
            self._draw(f"{_bar(1.0)} fitted")
            self._notebook = None
        self._first = self._done = None
        self.__exit__(None, None, None)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what belongs to a screen, so that models with this callback can be copied."""
        return {"_quiet": self._quiet}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(quiet=state["_quiet"])  # type: ignore[misc]


def part_of_fit(progress: "Progress") -> float:
    """Return the part of the time of a fit that is done, from 0 to 1; roughly."""
    from vbnmf.core.fit import FITTING, HEAD, HEAD_ON_SHARDS, WITHOUT_FOLDS

    of_stage = progress.iteration / max(progress.max_iter, 1)
    if progress.stage in (HEAD, HEAD_ON_SHARDS):
        return _FITTED + (1 - _FITTED) * of_stage
    if progress.stage == WITHOUT_FOLDS:
        return _FITTED
    part = 0.0
    if progress.stage == FITTING:
        part = _SEARCHED + (_FITTED - _SEARCHED) * of_stage
    elif found := _ROUND.match(progress.stage):
        this, most = map(int, found.groups())
        part = _SEARCHED * this / (most + 1)
    return (progress.restart * _FITTED + part) / progress.n_restarts


def in_notebook() -> bool:
    """Return whether this is the kernel of a notebook, which can show HTML."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


def _bar(part: float | None) -> str:
    value = "" if part is None else f' value="{part:.3f}"'
    return f'<progress max="1"{value} style="width:12em"></progress>'


def time_left(seconds: float) -> str:
    """Return the remaining time in words; nothing if it is not a finite number."""
    return f"; about {_duration(seconds)} left" if isfinite(seconds) else ""


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
