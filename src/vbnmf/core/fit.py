"""The loop: sweep over the documents → bound → global step; no formulas, no validation.

A sweep first finishes q(z) and q(V) with the newest T and Λ, then forms q(S) and its sums; the
global step then updates T, Λ and the hyperparameters. Each update sees the newest value of
everything else, which is what makes the bound monotone.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from vbnmf.core import hyper, updates
from vbnmf.core.bound import bound as lower_bound
from vbnmf.core.model import Engine, Prior, State, Statistics, Terms
from vbnmf.core.starts import Knobs


@dataclass(frozen=True)
class Schedule:
    """When to learn what, and when to stop."""

    max_iter: int
    tol: float  # relative rise of the bound an iteration, below which the loop ends; 0: never
    burn_in: int  # iterations that hold the label rates equal (without labels: b_v), and hold a_t
    bound_every: int  # iterations between evaluations of the bound
    annealing: int = 0  # iterations after burn-in in which unknown labels become definite

    @property
    def settled(self) -> int:
        """Iterations after which nothing changes its rules, so that standing still means it."""
        return self.burn_in + self.annealing

    def inverse_temperature(self, iteration: int) -> float:
        """Inverse temperature of unknown labels: 0 leaves them at p(z), 1 follows the bound."""
        since = iteration - self.burn_in
        return min(1.0, since / (self.annealing + 1)) if since > 0 else 0.0


FITTING = "fitting"
"""The stage of the fit itself."""

HEAD = "prediction head"
"""The stage after the fit."""

HEAD_ON_SHARDS = "prediction head on all documents"
"""The stage after that, if there are several shards."""


@dataclass(frozen=True)
class Progress:
    """Progress of a fit, which a callback gets after each iteration.

    Stages before the fit search for components, and a stage after it trains the prediction head.
    Iterations are those of the stage. Only the fit has a bound.
    """

    iteration: int  # finished so far
    max_iter: int
    bound: float  # at the last evaluation
    rise: float  # relative rise an iteration at the last evaluation; nan before there are two
    restart: int  # from 0
    n_restarts: int
    stage: str = FITTING  # what is being done

    def __str__(self) -> str:
        restart = f"start {self.restart + 1} of {self.n_restarts}, " if self.n_restarts > 1 else ""
        if self.stage != FITTING:
            unit = "part" if self.stage == HEAD else "iteration"
            return f"{restart}{self.stage}: {unit} {self.iteration} of {self.max_iter}"
        return (
            f"{restart}iteration {self.iteration} of {self.max_iter}: bound {self.bound:.6g}, "
            f"relative increase {self.rise:.1e}"
        )


@dataclass(frozen=True)
class Loop:
    """Where the loop is: with the state and what the shards keep, all that it needs to go on."""

    iteration: int = 0  # finished so far
    history: tuple[float, ...] = ()  # bounds
    rise: float = float("nan")
    converged: bool = False


@dataclass(frozen=True)
class Fit:
    """A fitted state; ``stats`` belongs to exactly this state."""

    state: State
    stats: Statistics
    bound: float
    bound_history: list[float]
    n_iter: int
    rise: float
    converged: bool


def fit(
    engine: Engine,
    state: State,
    knobs: Knobs,
    schedule: Schedule,
    watch: Callable[[int, float, float], None] = lambda iteration, bound, rise: None,
    loop: Loop | None = None,
    keep: Callable[[Loop, State], None] = lambda loop, state: None,
) -> Fit:
    """Iterate from a starting state until the bound hardly rises.

    ``keep(loop, state)`` and then ``watch(iteration, bound, rise)`` are called after each
    iteration. A fit that is given the ``loop`` and ``state`` of an earlier call, with the documents
    as they were, goes on to the same bits.
    """
    loop = loop or Loop()
    history, rise = list(loop.history), loop.rise
    iteration, converged = loop.iteration, loop.converged
    while iteration < schedule.max_iter and not converged:
        stats = engine.sweep(state, bound=_due(iteration, schedule))
        if _due(iteration, schedule):
            history.append(lower_bound(state, stats, engine.totals))
            rise = _relative_rise(history, schedule.bound_every)
            # before the prior of the coefficients is let go, standing still means nothing
            settled = iteration > schedule.settled + schedule.bound_every
            converged = settled and rise < schedule.tol and schedule.tol > 0
        iteration += 1
        last = converged or iteration == schedule.max_iter
        state = global_step(
            engine,
            state,
            stats,
            knobs,
            inverse_temperature=schedule.inverse_temperature(iteration),
            tally=last or _due(iteration, schedule) or knobs.a_t is None,
        )
        keep(Loop(iteration, tuple(history), rise, converged), state)
        watch(iteration, history[-1], rise)
    # The bound of exactly the state that is returned; the documents keep what they have.
    stats = engine.sweep(state, bound=True, update=False)
    bound = lower_bound(state, stats, engine.totals)
    return Fit(state, stats, bound, [*history, bound], iteration, rise, converged)


def global_step(
    engine: Engine,
    state: State,
    stats: Statistics,
    knobs: Knobs,
    *,
    inverse_temperature: float,
    tally: bool,
) -> State:
    """T, Λ and hyperparameters from the sums of a sweep; inverse temperature 0: burn-in."""
    burning_in = inverse_temperature == 0
    terms = updates.terms(engine.kernel, state, stats, tally=tally)
    state = replace(state, terms=terms)
    prior = _learn_terms_prior(state.prior, terms, knobs, burning_in=burning_in)
    if burning_in:
        return replace(state, prior=prior)
    if state.labels is not None:
        # the shards update q(z) from these rates when the next sweep begins
        rates = updates.rates(prior, stats.n_docs, stats.label_sums)
        state = replace(state, rates=rates, inverse_temperature=inverse_temperature)
    return replace(state, prior=_learn_coefs_prior(prior, state, stats, engine, knobs))


def _learn_terms_prior(prior: Prior, terms: Terms, knobs: Knobs, *, burning_in: bool) -> Prior:
    n_terms, K = len(terms.offset), len(terms.scale)
    mean_t = float(terms.E_sums.mean()) / n_terms
    if knobs.a_t is None and not burning_in:
        mean_log_t = terms.psi / (n_terms * K) + float(np.log(terms.scale).mean())
        least = knobs.least_a_t
        if knobs.b_t is None:
            a_t = hyper.shape(mean_t, mean_log_t, least=least)
        else:
            a_t = hyper.shape_at_scale(mean_log_t, knobs.b_t, least=least)
        prior = replace(prior, a_t=a_t)
    if knobs.b_t is None:
        prior = replace(prior, b_t=hyper.scale(mean_t, prior.a_t))
    return prior


def _learn_coefs_prior(
    prior: Prior, state: State, stats: Statistics, engine: Engine, knobs: Knobs
) -> Prior:
    if knobs.b_v is None:  # with labels, b_v is what the labels-off projection will use
        n_docs, K = float(engine.totals.n_docs.sum()), len(stats.E_sums)
        mean_v = stats.E_total / (n_docs * K)
        prior = replace(prior, b_v=hyper.scale(mean_v, prior.a_v))
    if state.rates is not None and knobs.b_lam is None:
        assert prior.a_lam is not None
        scopes = None if state.labels is None else state.labels.scopes
        in_scope = None if scopes is None else scopes.mask
        prior = replace(prior, b_lam=hyper.scale_of_rates(state.rates.E, prior.a_lam, in_scope))
    return prior


def _due(iteration: int, schedule: Schedule) -> bool:
    return iteration % schedule.bound_every == 0


def _relative_rise(history: list[float], iterations: int) -> float:
    if len(history) < 2:
        return float("nan")
    return (history[-1] - history[-2]) / (iterations * max(abs(history[-1]), 1.0))
