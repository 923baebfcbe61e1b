"""The result of one initialisation of a fit, and messages about it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import sparse

from vbnmf.core.fit import Fit, Schedule
from vbnmf.core.model import Array
from vbnmf.discovery.componentsearch import Found
from vbnmf.engines.mapping import ShardEngine

_LARGEST_ROUNDING = 1e-6
"""Largest rounding errors of the bound, relative to it; ``tol`` is 50 times as large."""


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
    """Explain why there are K components; ``why`` is the reason if no numbers were tried."""
    tried, asked = found.tried, found.asked
    if tried:
        best = max(tried, key=lambda n: tried[n])
        scores = ", ".join(f"{n}: {tried[n]:.3f}" for n in sorted(tried))
        which = (
            "had the best likelihood of held-out documents"
            if asked == best
            else "are the fewest within one standard error of the best likelihood of held-out "
            f"documents, that of {best}"
        )
        more = "; a larger number may be better" if asked == max(tried) else ""
        why = f"{asked} components {which} (log-likelihood per unit of weight: {scores}){more}"
    if asked < K:
        why += f"; {K - asked} more, so that labels take the same terms from what they share"
    if asked > K:
        why += f"; {asked - K} fewer, as others were alike or explained less than a document"
    return why


def check_finite(*found: Array | float) -> None:
    """Refuse results that are not finite."""
    if not all(np.isfinite(values).all() for values in found):
        raise ValueError(
            "some results of the fit are too large or too small for floating-point numbers. Divide "
            "or multiply X by a constant, pass X in double precision (float64), or leave the "
            "shapes and scales of the priors at their defaults."
        )


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


def head_not_converged(unfinished: Sequence[str]) -> str:
    """Return the message of a prediction head that did not converge."""
    return (
        f"the prediction head did not converge ({' and '.join(unfinished)}). Its probabilities may "
        "be inaccurate. Usual causes are documents or sample weights of very unequal size. Try "
        "another weighting."
    )
