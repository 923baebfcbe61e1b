"""What is kept of one start of a fit, and what the user is told about it."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from vbnmf.core.discovery import Found
from vbnmf.core.fit import Fit, Schedule
from vbnmf.core.model import Array
from vbnmf.engines.mapping import ShardEngine


class Outcome(NamedTuple):
    """What is kept of one start."""

    fit: Fit  # without its large arrays
    shapes: Array  # of q(T), (n_terms, K)
    coefficients: Array | None  # (n_docs, K), of all documents or of those asked for
    background: int | None  # the component that began as the background
    reason: str  # why there are as many components as there are


def wind_up(
    engine: ShardEngine,
    result: Fit,
    found: Found | None,
    why: str,
    *,
    coefficients: Array | bool,
) -> Outcome:
    """Keep what matters of a fit, letting go of each large array before the next one is made."""
    terms = result.state.terms
    K = len(terms.scale)
    shapes = terms.shape
    nothing = np.empty((0, K))
    light = replace(result.state, terms=replace(terms, shape=nothing, L=nothing))
    result = replace(result, state=light)
    del terms
    engine.close()
    E_v = None
    with np.errstate(over="ignore"):  # infinity is told by who asked
        if isinstance(coefficients, np.ndarray):
            E_v = engine.coefficients(result.state, coefficients)
        elif coefficients:
            E_v = engine.coefficients(result.state)
    return Outcome(
        result,
        np.ascontiguousarray(shapes[:, :K]),
        E_v,
        None if found is None else found.draft.background,
        reason_of_number(K, found.tried) if found is not None and found.tried else why,
    )


def reason_of_number(K: int, tried: dict[int, float]) -> str:
    """Why K components were found, in words; ``tried`` has the bound by number of components."""
    others = sorted((n for n in tried if n != K), key=lambda n: abs(n - K))[:2]
    lost = ", ".join(f"{n} by {tried[K] - tried[n]:,.0f}" for n in sorted(others))
    if max(tried) == K:
        return (
            f"{K} components, the most that were tried, had the best bound (less: {lost}); the "
            "documents may support more, which a number asks for"
        )
    return f"{K} components had the best bound of {len(tried)} numbers tried (less: {lost})"


def check_finite(*found: Array | float) -> None:
    """Refuse results that left the range of floating-point numbers."""
    if not all(np.isfinite(values).all() for values in found):
        raise ValueError(
            "the numbers became too large or too small to work with. Divide or multiply X by a "
            "constant, give X in double precision (float64), or leave the shapes and scales of "
            "the priors at their defaults."
        )


def callers_level() -> int:
    """Count the calls from the user's own code to the caller, for a warning to point there."""
    level, frame = 0, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(("vbnmf.", "sklearn.")):
        level, frame = level + 1, frame.f_back
    return level + 1


def not_converged(best: Fit, schedule: Schedule) -> str:
    """Tell how far from converging the best start was, and what to do."""
    rising = (
        "it is too early to tell how much the bound still rises"
        if np.isnan(best.rise)
        else f"the bound still rose by {best.rise:.2g} of its value an iteration"
    )
    return (
        f"after max_iter={schedule.max_iter} iterations {rising}; tol={schedule.tol:g} was not "
        "reached. Raise max_iter, or raise tol if the components are good enough."
    )


def head_not_converged(unfinished: Sequence[str]) -> str:
    """Tell what of the prediction head did not converge, and what to do."""
    return (
        f"the prediction head did not converge ({' and '.join(unfinished)}); its probabilities may "
        "be off. Documents or sample weights of very unequal size cause this: try another "
        "weighting."
    )
