"""Report the progress of a fit to the callback and, with ``verbose``, to standard error."""

import sys
from typing import Any

from vbnmf.core.fit import Progress

_REPORT_EVERY = 10  # iterations between the lines of verbose=1


class Teller:
    """Report each iteration to the callback and to standard error."""

    def __init__(self, model: Any, restart: int, n_restarts: int) -> None:
        self._model, self._restart, self._n_restarts = model, restart, n_restarts

    def __call__(self, iteration: int, bound: float, rise: float) -> None:
        """Report an iteration of the fit."""
        self._tell(
            Progress(iteration, self._model.max_iter, bound, rise, self._restart, self._n_restarts)
        )

    def of_stage(self, stage: str, iteration: int, of: int) -> None:
        """Report an iteration of a stage before or after the fit."""
        nan = float("nan")
        self._tell(Progress(iteration, of, nan, nan, self._restart, self._n_restarts, stage))

    def _tell(self, progress: Progress) -> None:
        model = self._model
        if model.callback is not None:
            model.callback(progress)
        if model.verbose and (model.verbose > 1 or progress.iteration % _REPORT_EVERY == 0):
            sys.stderr.write(f"[{type(model).__name__}] {progress}\n")
