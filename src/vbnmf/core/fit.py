"""Run the loop of a fit: a sweep over the documents, the bound, and the global step.

A sweep first completes q(z) and q(V) from the newest T and Λ, then computes q(S) and its sums. The
global step then updates T, Λ and the hyperparameters. Each update uses the newest value of all
other quantities, so the bound never falls. Most sweeps start from an extrapolated state
(``extrapolation``). This module has no formulas and validates nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from vbnmf.core import hyper, updates
from vbnmf.core.bound import bound as lower_bound
from vbnmf.core.extrapolation import Before, Momentum, completed, extrapolated
from vbnmf.core.model import Engine, Prior, State, Statistics, Terms
from vbnmf.core.starts import Knobs


@dataclass(frozen=True)
class Schedule:
    """Which quantities are learned in which iterations, and when the loop stops."""

    max_iter: int
    tol: float  # stop if the relative rise of the bound per iteration is smaller; 0: never
    burn_in: int  # iterations in which a_t and the label rates (without labels: b_v) are fixed
    bound_every: int  # iterations between evaluations of the bound
    annealing: int = 0  # iterations after burn-in in which the temperature of q(z) falls to one
    extrapolate: bool = True  # whether sweeps start from extrapolated states

    @property
    def settled(self) -> int:
        """Number of iterations after which convergence can be tested."""
        return self.burn_in + self.annealing

    def extrapolates(self, iteration: int) -> bool:
        """Return whether a sweep may start from an extrapolated state.

        Not during annealing, when the bound may fall, nor during burn-in: components that have not
        separated yet would be driven to a worse optimum.
        """
        return self.extrapolate and iteration > self.settled

    def inverse_temperature(self, iteration: int) -> float:
        """Return the inverse temperature of q(z): 0 gives p(z), 1 maximises the bound."""
        since = iteration - self.burn_in
        return min(1.0, since / (self.annealing + 1)) if since > 0 else 0.0


FITTING = "fitting"
"""The stage of the fit itself."""

WITHOUT_FOLDS = "components without a fold"
"""The stage after the fit that finds what the labels of documents changed."""

HEAD = "prediction head"
"""The stage after that."""

HEAD_ON_SHARDS = "prediction head on all documents"
"""The stage after that, if there are several shards."""


@dataclass(frozen=True)
class Progress:
    """Progress of a fit, which a callback gets after each iteration.

    Stages before the fit search for components, and a stage after it trains the prediction head.
    Iterations are those of the stage. Only the fit has a bound.
    """

    iteration: int  # completed so far
    max_iter: int
    bound: float  # at the last evaluation
    rise: float  # relative rise per iteration at the last evaluation; NaN before the second
    restart: int  # from 0
    n_restarts: int
    stage: str = FITTING  # current stage

    def __str__(self) -> str:
        restart = f"start {self.restart + 1} of {self.n_restarts}, " if self.n_restarts > 1 else ""
        if self.stage != FITTING:
            unit = "part" if self.stage in (WITHOUT_FOLDS, HEAD) else "iteration"
            return f"{restart}{self.stage}: {unit} {self.iteration} of {self.max_iter}"
        return (
            f"{restart}iteration {self.iteration} of {self.max_iter}: bound {self.bound:.6g}, "
            f"relative increase {self.rise:.1e}"
        )


@dataclass(frozen=True)
class Loop:
    """State of the loop. With ``State`` and the ``Local`` of all shards, a fit can be resumed."""

    iteration: int = 0  # completed so far
    history: tuple[float, ...] = ()  # bounds
    rise: float = float("nan")
    converged: bool = False
    best: float = float("nan")  # bound of the last accepted state, if it was computed
    momentum: Momentum = field(default_factory=Momentum)
    before: Before | None = None  # if the next sweep extrapolates


@dataclass(frozen=True)
class Fit:
    """Result of a fit; ``stats`` are the sums of exactly the fitted state."""

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
    """Iterate from an initial state until the bound hardly rises.

    ``keep(loop, state)`` and then ``watch(iteration, bound, rise)`` are called after each
    iteration. To resume a fit, pass the ``loop`` and ``state`` of an earlier call to ``keep``, with
    the local state of the documents from the same iteration. The result is the same, bit for bit.
    """
    loop = loop or Loop()
    history, rise = list(loop.history), loop.rise
    iteration, converged = loop.iteration, loop.converged
    best, momentum, before = loop.best, loop.momentum, loop.before
    kernel, spare = engine.kernel, None  # spare: memory of shapes
    while iteration < schedule.max_iter and not converged:
        extrapolates = schedule.extrapolates(iteration)
        start, beta = state, None
        if before is not None:
            beta = momentum.beta
            start = extrapolated(kernel, state, before, beta)
        elif extrapolates:
            beta = 0.0
            if spare is None:
                n_terms, K = len(state.terms.offset), len(state.terms.scale)
                spare = kernel.zeros(n_terms, K, state.terms.shape.dtype)
            start = replace(state, terms=replace(state.terms, shape=spare))
        due = _due(iteration, schedule)
        stats = engine.sweep(start, bound=due or extrapolates, beta=beta)
        bound = lower_bound(start, stats, engine.totals) if due or extrapolates else float("nan")
        rejected = before is not None and not bound >= best
        best = best if rejected else bound
        if due:
            history.append(best)
            rise = _relative_rise(history, schedule.bound_every)
            # during burn-in and annealing, a small rise does not mean convergence
            settled = iteration > schedule.settled + schedule.bound_every
            converged = settled and rise < schedule.tol and schedule.tol > 0 and not rejected
        iteration += 1
        last = converged or iteration == schedule.max_iter
        extrapolates = schedule.extrapolates(iteration) and not last
        tally = last or _due(iteration, schedule) or extrapolates
        if rejected:
            engine.step_back()
            momentum, spare, before = momentum.rejected(), start.terms.shape, None
            state = completed(kernel, state)
        else:
            if before is not None:
                momentum = momentum.accepted()
            before = Before.of(state) if beta is not None and extrapolates else None
            spare = None
            state = global_step(
                engine,
                start,
                stats,
                knobs,
                inverse_temperature=schedule.inverse_temperature(iteration),
                tally=(tally and before is None) or knobs.a_t is None,
                complete=before is None,
            )
        keep(Loop(iteration, tuple(history), rise, converged, best, momentum, before), state)
        watch(iteration, history[-1], rise)
    # evaluate the bound of exactly the returned state, without changing the documents
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
    complete: bool = True,
) -> State:
    """Update T, Λ and hyperparameters from the sums of a sweep.

    An inverse temperature of 0 means burn-in: Λ and the prior of coefficients stay fixed. If not
    ``complete``, q(T) has no L yet, because the next sweep does not start from it.
    """
    burning_in = inverse_temperature == 0
    terms = updates.terms(engine.kernel, state, stats, tally=tally, shapes_only=not complete)
    state = replace(state, terms=terms)
    prior = learn_terms_prior(state.prior, terms, knobs, burning_in=burning_in)
    if burning_in:
        return replace(state, prior=prior)
    if state.labels is not None:
        # the shards update q(z) from these rates when the next sweep begins
        rates = updates.rates(prior, stats.n_docs, stats.label_sums)
        state = replace(state, rates=rates, inverse_temperature=inverse_temperature)
    n_docs = float(engine.totals.n_docs.sum())
    return replace(state, prior=learn_coefs_prior(prior, state, stats, n_docs, knobs))


def learn_terms_prior(prior: Prior, terms: Terms, knobs: Knobs, *, burning_in: bool) -> Prior:
    """Update the hyperparameters of T that are learned; a_t is held during burn-in."""
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


def learn_coefs_prior(
    prior: Prior, state: State, stats: Statistics, n_docs: float, knobs: Knobs
) -> Prior:
    """Update the hyperparameters of V and Λ that are learned, from sums over ``n_docs``."""
    if knobs.b_v is None:  # with labels, only the projection of new documents uses b_v
        mean_v = stats.E_total / (n_docs * len(stats.E_sums))
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
