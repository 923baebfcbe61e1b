"""The starts of a fit, each from the beginning or from a checkpoint, and the best of them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from vbnmf.core.fit import Loop, Schedule, fit
from vbnmf.core.model import Array, State
from vbnmf.core.pages import release, return_freed
from vbnmf.core.starts import Knobs
from vbnmf.discovery.componentsearch import Found, Watch
from vbnmf.engines.backends import PlacedSource
from vbnmf.engines.mapping import ShardEngine
from vbnmf.estimators.checkpoints import Keeper, check_checkpoint, fingerprint
from vbnmf.estimators.outcome import Outcome, check_finite, wind_up
from vbnmf.estimators.starting import FitData, Start
from vbnmf.estimators.telling import Teller
from vbnmf.estimators.validation import count_threads
from vbnmf.kernels import open_kernel
from vbnmf.shards.shard import ShardSource


def best_of_starts(
    estimator: Any,
    corpus: FitData,
    start: Start,
    knobs: Knobs,
    schedule: Schedule,
    why: str,
    *,
    n_init: int,
    coefficients: Array | bool,
    hold: ExitStack | None,
) -> Outcome:
    """Run all starts and return the outcome with the best bound.

    Parameters
    ----------
    estimator : VBNMF or SupervisedVBNMF
        Its seed, threads, checkpoint and reports of progress are used.
    corpus : FitData
        Documents.
    start, knobs, schedule
        Initialisation, hyperparameters and stopping.
    why : str
        Reason of the number of components, if no search finds one.
    n_init : int
        Number of starts.
    coefficients : array of int, or bool
        Documents whose coefficients the outcome has: all (True), none (False), or those with these
        numbers.
    hold : ExitStack or None
        If given, the outcome has the engine of the best start, open until this stack is closed.
    """
    return_freed()
    checkpoint = check_checkpoint(estimator.checkpoint)
    belongs_to = ""
    if checkpoint is not None:
        belongs_to = fingerprint(estimator, corpus.X, corpus.group, corpus.weight)
    random_state = check_random_state(estimator.random_state)
    seeds = [random_state.randint(0, 2**32, 4, np.uint32) for _ in range(n_init)]
    if n_init > 1 and checkpoint is None and isinstance(corpus.X, PlacedSource):
        work = StartElsewhere(
            replace(corpus, X=sparse.csr_array((0, 0))), start, knobs, schedule, why, seeds,
            coefficients, hold is not None,
            # a worker has a task for each of its threads
            1 if estimator.n_jobs is None else count_threads(estimator.n_jobs),
        )  # fmt: skip
        with corpus.X.map_starts(work, range(n_init)) as found_elsewhere:
            if found_elsewhere is not None:
                return _best_elsewhere(estimator, corpus, found_elsewhere, n_init, hold)
    keeper: Keeper | None = None
    best_keeper: Keeper | None = None
    best: Outcome | None = None
    counts: sparse.csr_array | None = None
    with ExitStack() as own:
        outer = own if hold is None else hold
        kernel = outer.enter_context(open_kernel(count_threads(estimator.n_jobs)))
        kept = outer.enter_context(ExitStack())  # the engine of the best start, if it is held
        for restart in range(n_init):
            rng = np.random.default_rng(seeds[restart])
            if checkpoint is not None:
                number = restart if n_init > 1 else None
                keeper = Keeper(checkpoint, belongs_to, number, schedule.max_iter)
                if keeper.is_lost:
                    continue
            tell = Teller(estimator, restart, n_init)
            run = Run(start, keeper, kernel, corpus, knobs, rng)
            found = run.find(rng if restart else None, tell.of_stage)
            release()
            with ExitStack() as trial:
                engine = trial.enter_context(corpus.engine(kernel))
                if counts is None and corpus.labels is not None:
                    counts = engine.label_term_documents(corpus.labels.known)
                outcome = run.outcome(engine, found, schedule, tell, why, coefficients)
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
    ) -> Outcome:
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

    def __call__(self, source: ShardSource, number: int, folder: Path) -> Outcome:
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
    estimator: Any,
    corpus: FitData,
    found: Iterator[tuple[Outcome, Path]],
    n_init: int,
    hold: ExitStack | None,
) -> Outcome:
    """Return the best outcome of starts in other processes, with an engine if it is held."""
    best, states, counts = None, Path(), None
    for number, (outcome, folder) in enumerate(found):
        Teller(estimator, number, n_init)(outcome.fit.n_iter, outcome.fit.bound, float("nan"))
        counts = outcome.term_documents if number == 0 else counts
        if best is None or outcome.fit.bound > best.fit.bound:
            best, states = outcome, folder
    assert best is not None
    best = deepcopy(best._replace(term_documents=counts))  # its arrays cannot be written to
    if hold is not None:
        kernel = hold.enter_context(open_kernel(count_threads(estimator.n_jobs)))
        engine = hold.enter_context(corpus.engine(kernel))
        state = best.fit.state
        in_scope = None if state.labels is None else state.labels.in_scope
        engine.restore(states, len(state.terms.scale), in_scope)
        best = best._replace(engine=engine)
    return best
