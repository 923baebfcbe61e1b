"""Extrapolate the state of a fit, so that it needs fewer sweeps (Ang and Gillis, 2019).

x_n is the state after sweep n. The next sweep does not start from x_n, but from

    ln y = ln x_n + β (ln x_n − ln x_{n−1})

of the shapes and scales of q(T) and q(V) and of the scales of q(Λ). The sweep computes the bound of
y, and updates y to x_{n+1}. An update never lowers the bound, so the bound of x_{n+1} is at least
that of y. If the bound of y is lower than that of the y before, then y is rejected: the fit goes
back to x_n, whose bound is not lower, and the next sweep starts there. So the bounds of accepted
states never fall. β grows with each accepted y, and becomes smaller with each rejected one. It may
become a little larger than one: then steps grow from sweep to sweep, which helps far from the
optimum. Near the optimum such steps are too long, and are rejected.

The scale of q(V) follows from T and Λ, and the shards extrapolate its shapes themselves. So a shard
keeps two rows of K numbers for each document, and the global state two matrices of shapes.

References
----------
A. M. S. Ang and N. Gillis (2019). Accelerating nonnegative matrix factorization algorithms using
extrapolation. Neural Computation 31, 417–439.
"""

from dataclasses import dataclass, replace

import numpy as np

from vbnmf.core.model import Array, Kernel, Rates, State

FIRST = 0.5  # β of the first extrapolation
MOST = 1.1  # largest β
FASTER, SLOWER = 1.2, 0.75  # factors of β after an accepted and a rejected state
MORE = 1.05  # factor of the largest β after an accepted state, up to MOST


@dataclass(frozen=True)
class Momentum:
    """β of the next sweep, and how it changes."""

    beta: float = FIRST
    most: float = MOST  # largest β at present
    last: float = FIRST  # the last β that was accepted

    def accepted(self) -> "Momentum":
        """Return what follows an accepted state."""
        most = min(MOST, self.most * MORE)
        return Momentum(min(most, self.beta * FASTER), most, self.beta)

    def rejected(self) -> "Momentum":
        """Return what follows a rejected state."""
        return Momentum(self.beta * SLOWER, self.last, self.last)


@dataclass(frozen=True)
class Before:
    """What the state before had, from which to extrapolate."""

    shape: Array  # (n_terms, K): shapes of q(T)
    scale: Array  # (K,): scales of q(T)
    rate_scale: Array | None  # (n_labels, K): scales of q(Λ)

    @classmethod
    def of(cls, state: State) -> "Before":
        """Return what is kept of a state. Arrays are not copied."""
        rates = state.rates
        return cls(state.terms.shape, state.terms.scale, None if rates is None else rates.scale)


def extrapolated(kernel: Kernel, state: State, before: Before, beta: float) -> State:
    """Return y. Its q(T) is in the memory of the shapes before and of the L of the state."""
    terms, rates = state.terms, state.rates
    scale = _extrapolated(terms.scale, before.scale, beta)
    terms = kernel.extrapolated_rows(
        terms.shape, before.shape, beta, terms.L, scale, state.prior.a_t
    )
    if rates is not None and before.rate_scale is not None:
        rates = Rates(rates.shape, _extrapolated(rates.scale, before.rate_scale, beta))
    return replace(state, terms=terms, rates=rates)


def completed(kernel: Kernel, state: State) -> State:
    """Return a state with the L of its shapes."""
    terms, a_t = state.terms, state.prior.a_t
    terms = kernel.extrapolated_rows(terms.shape, terms.shape, 0.0, terms.L, terms.scale, a_t)
    return replace(state, terms=terms)


def _extrapolated(x: Array, before: Array, beta: float) -> Array:
    return np.asarray(x * np.exp(beta * np.log(x / before)))
