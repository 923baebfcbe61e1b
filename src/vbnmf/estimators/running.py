"""Run the starts of a fit, each from the beginning or from a checkpoint, and keep the best.

``Reporter`` passes the progress on to the callback and, with ``verbose``, to standard error.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from vbnmf.core.fit import Fit, Loop, Progress, Schedule, fit
from vbnmf.core.model import Array, State
from vbnmf.core.pages import release, return_freed
from vbnmf.core.starts import Knobs
from vbnmf.discovery.componentsearch import Found, Watch
from vbnmf.engines.backends import PlacedSource
from vbnmf.engines.mapping import ShardEngine
from vbnmf.estimators.checkpoints import Keeper, check_checkpoint, fingerprint
from vbnmf.estimators.starting import FitData, Start
from vbnmf.estimators.validation import check_finite
from vbnmf.files import only_user
from vbnmf.kernels import open_kernel
from vbnmf.shards.shard import ShardSource

_LARGEST_ROUNDING = 1e-6
"""Largest rounding errors of the bound, relative to it; ``tol`` is 50 times as large."""

_REPORT_EVERY = 10  # iterations between the lines of verbose=1


@dataclass(frozen=True)
class Reporter:
    """Report each iteration to the callback and to standard error.

    Attributes
    ----------
    name : str
        Name of the estimator.
    callback : callable or None
        Called with a ``Progress``.
    verbose : int
        Parameter of the estimator.
    max_iter : int
        Maximum number of iterations of a start.
    n_restarts : int
        Number of starts.
    restart : int
        Number of this start.
    """

    name: str
    callback: Callable[[Progress], None] | None
    verbose: int
    max_iter: int
    n_restarts: int
    restart: int = 0

    def __call__(self, iteration: int, bound: float, rise: float) -> None:
        """Report an iteration of the fit."""
        self._report(Progress(iteration, self.max_iter, bound, rise, self.restart, self.n_restarts))

    def stage(self, stage: str, iteration: int, of: int) -> None:
        """Report an iteration of a stage before or after the fit."""
        nan = float("nan")
        self._report(Progress(iteration, of, nan, nan, self.restart, self.n_restarts, stage))

    def _report(self, progress: Progress) -> None:
        if self.callback is not None:
            self.callback(progress)
        if self.verbose and (self.verbose > 1 or progress.iteration % _REPORT_EVERY == 0):
            sys.stderr.write(f"[{self.name}] {progress}\n")


@dataclass(frozen=True)
class RunSettings:
    """Settings of the starts of a fit.

    Attributes
    ----------
    start, knobs, schedule
        Initialisation, hyperparameters and stopping.
    why : str
        Reason of the number of components, if no search finds one.
    n_init : int
        Number of starts.
    random_state : int, RandomState or None
        Seed.
    n_threads, n_threads_elsewhere : int
        Number of threads, in this process and of each start on a cluster.
    checkpoint : str, path, Checkpoint or None
        Where checkpoints are written.
    parameters : dict
        Parameters of the estimator, to which checkpoints belong.
    reporter : Reporter
        Reports progress.
    """

    start: Start
    knobs: Knobs
    schedule: Schedule
    why: str
    n_init: int
    random_state: Any
    n_threads: int
    n_threads_elsewhere: int
    checkpoint: Any
    parameters: dict[str, Any]
    reporter: Reporter


def best_of_starts(
    settings: RunSettings,
    corpus: FitData,
    *,
    coefficients: Array | bool,
    hold: ExitStack | None,
) -> "Outcome":
    """Run all starts and return the outcome with the best bound.

    Parameters
    ----------
    settings : RunSettings
        Settings of the starts.
    corpus : FitData
        Documents.
    coefficients : array of int, or bool
        Documents whose coefficients the outcome has: all (True), none (False), or those with these
        numbers.
    hold : ExitStack or None
        If given, the outcome has the engine of the best start, open until this stack is closed.
    """
    return_freed()
    start, knobs, schedule = settings.start, settings.knobs, settings.schedule
    checkpoint, n_init = check_checkpoint(settings.checkpoint), settings.n_init
    belongs_to = ""
    if checkpoint is not None:
        belongs_to = fingerprint(settings.parameters, corpus.X, corpus.group, corpus.weight)
    random_state = check_random_state(settings.random_state)
    seeds = [random_state.randint(0, 2**32, 4, np.uint32) for _ in range(n_init)]
    if n_init > 1 and checkpoint is None and isinstance(corpus.X, PlacedSource):
        work = StartElsewhere(
            replace(corpus, X=sparse.csr_array((0, 0))), start, knobs, schedule, settings.why,
            seeds, coefficients, hold is not None, settings.n_threads_elsewhere,
        )  # fmt: skip
        with corpus.X.map_starts(work, range(n_init)) as found_elsewhere:
            if found_elsewhere is not None:
                return _best_elsewhere(settings, corpus, found_elsewhere, hold)
    keeper: Keeper | None = None
    best_keeper: Keeper | None = None
    best: Outcome | None = None
    counts: sparse.csr_array | None = None
    with ExitStack() as own:
        outer = own if hold is None else hold
        if checkpoint is not None:
            Path(checkpoint.path).mkdir(parents=True, exist_ok=True)
            outer.enter_context(only_user(checkpoint.path))
        kernel = outer.enter_context(open_kernel(settings.n_threads))
        kept = outer.enter_context(ExitStack())  # the engine of the best start, if it is held
        for restart in range(n_init):
            rng = np.random.default_rng(seeds[restart])
            if checkpoint is not None:
                number = restart if n_init > 1 else None
                keeper = Keeper(checkpoint, belongs_to, number, schedule.max_iter)
                if keeper.is_lost:
                    continue
            report = replace(settings.reporter, restart=restart)
            run = Run(start, keeper, kernel, corpus, knobs, rng)
            found = run.find(rng if restart else None, report.stage)
            release()
            with ExitStack() as trial:
                engine = trial.enter_context(corpus.engine(kernel))
                if counts is None and corpus.labels is not None:
                    counts = engine.label_term_documents(corpus.labels.known)
                outcome = run.outcome(engine, found, schedule, report, settings.why, coefficients)
                worse = keeper
                if best is None or outcome.fit.bound > best.fit.bound:
                    best, best_keeper, worse = outcome, keeper, best_keeper
                    if hold is not None:
                        best = outcome._replace(engine=engine)
                        kept.close()
                        kept.enter_context(trial.pop_all())
            if worse is not None:
                worse.lose()
            del engine, found  # before the next ones are made
    assert best is not None
    return best._replace(term_documents=counts)


@dataclass(frozen=True)
class Run:
    """A start, with what it works on."""

    start: Start
    keeper: Keeper | None  # None: there are no checkpoints
    kernel: Any
    corpus: FitData
    knobs: Knobs
    rng: np.random.Generator

    @property
    def loop(self) -> Loop | None:
        """Where the loop goes on; None: at its beginning."""
        return None if self.keeper is None else self.keeper.loop

    def find(self, rng: np.random.Generator | None, watch: Watch) -> Found | None:
        """Look for components, unless a checkpoint has them."""
        if self.keeper is not None and self.keeper.loop is not None:
            return self.keeper.found
        return self.start.find(self.kernel, self.corpus, self.knobs, rng, watch)

    def begin(self, engine: ShardEngine, found: Found | None) -> State:
        """Bring the documents to where the loop begins, and return the state of that."""
        dtype = self.corpus.X.dtype
        if self.keeper is not None and self.keeper.loop is not None:
            return self.keeper.restore(engine, self.corpus.labels, dtype)
        draft = None if found is None else found.draft
        return self.start.begin(engine, draft, self.knobs, self.corpus.labels, self.rng, dtype)

    def keep(self, engine: ShardEngine, found: Found | None, loop: Loop, state: State) -> None:
        """Write a checkpoint, if there is to be one."""
        if self.keeper is not None:
            self.keeper.keep(engine, loop, state, found)

    def outcome(
        self,
        engine: ShardEngine,
        found: Found | None,
        schedule: Schedule,
        watch: Callable[[int, float, float], None],
        why: str,
        coefficients: Array | bool,
    ) -> "Outcome":
        """Run the loop to its end, and return the outcome.

        Intermediate results get no names, which would keep large arrays alive.
        """
        outcome = wind_up(
            engine,
            fit(
                engine,
                self.begin(engine, found),
                self.knobs,
                schedule,
                watch,
                self.loop,
                partial(self.keep, engine, found),
            ),
            found,
            why,
            coefficients=coefficients,
        )
        check_finite(outcome.fit.bound, outcome.shapes)
        return outcome


@dataclass(frozen=True)
class StartElsewhere:
    """The starts of a fit, each of which can be run in another process."""

    corpus: FitData  # without the documents
    start: Start
    knobs: Knobs
    schedule: Schedule
    why: str
    seeds: list[Array]
    coefficients: Array | bool
    keeps_states: bool
    n_threads: int

    def __call__(self, source: ShardSource, number: int, folder: Path) -> "Outcome":
        """Run a start on all documents. Local states are written to the folder if they are kept."""
        corpus, rng = replace(self.corpus, X=source), np.random.default_rng(self.seeds[number])
        with open_kernel(self.n_threads) as kernel:
            run = Run(self.start, None, kernel, corpus, self.knobs, rng)
            found = run.find(rng if number else None, lambda stage, sweep, of: None)
            with corpus.engine(kernel) as engine:
                counts = None
                if number == 0 and corpus.labels is not None:
                    counts = engine.label_term_documents(corpus.labels.known)
                outcome = run.outcome(
                    engine, found, self.schedule, lambda iteration, bound, rise: None, self.why,
                    self.coefficients,
                )  # fmt: skip
                if self.keeps_states:
                    engine.snapshot(folder)
        return outcome._replace(term_documents=counts)


def _best_elsewhere(
    settings: RunSettings,
    corpus: FitData,
    found: Iterator[tuple["Outcome", Path]],
    hold: ExitStack | None,
) -> "Outcome":
    """Return the best outcome of starts in other processes, with an engine if it is held."""
    best, states, counts = None, Path(), None
    for number, (outcome, folder) in enumerate(found):
        report = replace(settings.reporter, restart=number)
        report(outcome.fit.n_iter, outcome.fit.bound, float("nan"))
        counts = outcome.term_documents if number == 0 else counts
        if best is None or outcome.fit.bound > best.fit.bound:
            best, states = outcome, folder
    assert best is not None
    best = deepcopy(best._replace(term_documents=counts))  # its arrays cannot be written to
    if hold is not None:
        kernel = hold.enter_context(open_kernel(settings.n_threads))
        engine = hold.enter_context(corpus.engine(kernel))
        state = best.fit.state
        in_scope = None if state.labels is None else state.labels.in_scope
        engine.restore(states, len(state.terms.scale), in_scope)
        best = best._replace(engine=engine)
    return best


class Outcome(NamedTuple):
    """Result of a fit from one initialisation."""

    fit: Fit  # without its large arrays
    shapes: Array  # shapes of q(T), (n_terms, K)
    coefficients: Array | None  # (n_docs, K), of all documents or of those requested
    background: int | None  # the component that was initialised as the background
    reason: str  # explains the number of components
    rounding: float  # size of rounding errors in the bound
    engine: ShardEngine | None = None  # where the documents are, if it was to be held
    term_documents: sparse.csr_array | None = None  # by label, and of all in the last row


def wind_up(
    engine: ShardEngine,
    result: Fit,
    found: Found | None,
    why: str,
    *,
    coefficients: Array | bool,
) -> Outcome:
    """Extract the outcome of a fit, and free each large array before the next one is made."""
    terms = result.state.terms
    K = len(terms.scale)
    shapes = terms.shape
    nothing = np.empty((0, K))
    light = replace(result.state, terms=replace(terms, shape=nothing, L=nothing))
    result = replace(result, state=light)
    del terms
    engine.close()
    E_v = None
    with np.errstate(over="ignore"):  # the caller checks for infinity
        if isinstance(coefficients, np.ndarray):
            E_v = engine.coefficients(result.state, coefficients)
        elif coefficients:
            E_v = engine.coefficients(result.state)
    return Outcome(
        result,
        np.ascontiguousarray(shapes[:, :K]),
        E_v,
        None if found is None else found.draft.background,
        why if found is None else reason_of_number(K, found, why),
        # terms of the size of Σ ln Γ(x + 1) cancel in the bound
        float(np.finfo(np.float64).eps * abs(engine.totals.log_factorials)),
    )


def reason_of_number(K: int, found: Found, why: str) -> str:
    """Explain why there are K components; ``why`` is the reason for the number asked for."""
    asked = found.asked
    if asked < K:
        why += f"; {K - asked} more, so that labels take the same terms from what they share"
    if asked > K:
        why += f"; {asked - K} fewer, as others were alike or explained less than a document"
    return why


def not_converged(best: Fit, schedule: Schedule) -> str:
    """Return the message of a fit that did not converge."""
    rising = (
        "The bound was evaluated less than twice"
        if np.isnan(best.rise)
        else f"The relative increase of the bound was {best.rise:.2g} per iteration"
    )
    return (
        f"the fit did not converge in max_iter={schedule.max_iter} iterations. {rising}; "
        f"tol={schedule.tol:g}. Increase max_iter, or increase tol if the components are good "
        "enough."
    )


def is_rounded(best: Outcome) -> bool:
    """Return whether rounding errors make the bound inaccurate."""
    return best.rounding > _LARGEST_ROUNDING * abs(best.fit.bound)


def bound_rounded(best: Outcome) -> str:
    """Return the message of a fit whose bound is inaccurate."""
    return (
        f"the bound is inaccurate: its rounding errors are about {best.rounding:.2g}, and the "
        f"bound is {best.fit.bound:.4g}. It can fall, so the fit may have stopped too early. A "
        "few values of X are far larger than the others. Check them, or reduce all large values, "
        "for example with np.log1p."
    )
