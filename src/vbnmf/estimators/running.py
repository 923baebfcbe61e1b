"""The starts of a fit, each from the beginning or from a checkpoint, and the best of them."""

from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from vbnmf.core.fit import Loop, Schedule, fit
from vbnmf.core.model import Array, State
from vbnmf.core.pages import release, return_freed
from vbnmf.core.starts import Knobs
from vbnmf.discovery.componentsearch import Found, Watch
from vbnmf.engines.mapping import ShardEngine
from vbnmf.estimators.checkpoints import Keeper, check_checkpoint, fingerprint
from vbnmf.estimators.outcome import Outcome, check_finite, wind_up
from vbnmf.estimators.starting import FitData, Start
from vbnmf.estimators.telling import Teller
from vbnmf.estimators.validation import count_threads
from vbnmf.kernels import open_kernel


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
    keeper: Keeper | None = None
    best_keeper: Keeper | None = None
    best: Outcome | None = None
    counts: sparse.csr_array | None = None
    with ExitStack() as own:
        outer = own if hold is None else hold
        kernel = outer.enter_context(open_kernel(count_threads(estimator.n_jobs)))
        kept = outer.enter_context(ExitStack())  # the engine of the best start, if it is held
        for restart in range(n_init):
            rng = np.random.default_rng(random_state.randint(0, 2**32, 4, np.uint32))
            if getattr(estimator, "_only_start", restart) != restart:
                continue  # other workers run the other starts
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
                # intermediate results get no names, which would keep large arrays alive
                outcome = wind_up(
                    engine,
                    fit(
                        engine,
                        run.begin(engine, found),
                        knobs,
                        schedule,
                        tell,
                        run.loop,
                        partial(run.keep, engine, found),
                    ),
                    found,
                    why,
                    coefficients=coefficients,
                )
                check_finite(outcome.fit.bound, outcome.shapes)
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
