"""Starting states: where the components begin, and hyperparameters that fit them.

The paper says only that starts are random. Here each term's weight is dealt out to the components
at random, so that every component begins as a noisy copy of the whole corpus; documents begin with
their weight spread evenly, which needs no randomness and no memory (``Engine``). The product of
the scales of T and V is set by the data and only their quotient is free: components begin with a
sum of one, so that coefficients are in units of document weight, unless a fixed hyperparameter
says otherwise.
"""

from dataclasses import dataclass

import numpy as np

from vbnmf.core import hyper
from vbnmf.core.model import Array, Kernel, Prior, Rates, State, Terms, Totals


@dataclass(frozen=True)
class Knobs:
    """Hyperparameters as the user gave them: a number is held fixed, None is learned.

    ``a_lam`` is None in the unsupervised model.
    """

    a_t: float | None
    b_t: float | None
    a_v: float
    b_v: float | None
    a_lam: float | None = None
    b_lam: float | None = None


FIRST_TERM_SHAPE = 0.5
"""Where a learned a_t begins."""


def random_shapes(rng: np.random.Generator, totals: Totals, K: int, a_t: float) -> Array:
    """Shapes of q(T), (n_terms, K): each term's weight dealt out by uniform random proportions."""
    portions = rng.standard_exponential((len(totals.term_sums), K), dtype=np.float32)
    portions *= (totals.term_sums / portions.sum(axis=1, dtype=np.float64))[:, None].astype("f4")
    portions += np.float32(a_t)
    return portions


def given_shapes(components: Array, totals: Totals, a_t: float) -> Array:
    """Shapes of q(T), (n_terms, K), whose means are proportional to components, (K, n_terms)."""
    portions = np.asarray(components, dtype=np.float64).T
    portions = portions * (totals.mass / max(portions.sum(), np.finfo(float).tiny))
    return portions + a_t


def state(kernel: Kernel, shapes: Array, totals: Totals, knobs: Knobs, dtype: np.dtype) -> State:
    """Starting state from starting shapes of q(T); label rates are all equal."""
    n_terms, K = shapes.shape
    n_docs = int(totals.n_docs.sum())
    weight = totals.mass / (n_docs * K)  # of a component in a document, on average
    a_t = knobs.a_t or FIRST_TERM_SHAPE
    E_t_sum = _sum_of_a_component(knobs, a_t, n_terms, weight)
    b_t = knobs.b_t or hyper.scale(E_t_sum / n_terms, a_t)
    b_v = knobs.b_v or hyper.scale(weight / E_t_sum, knobs.a_v)
    terms = terms_of(kernel, shapes, E_t_sum / shapes.sum(axis=0, dtype=np.float64), dtype)
    if knobs.a_lam is None:
        return State(Prior(a_t, b_t, knobs.a_v, b_v), terms)
    rate = 1 / b_v
    b_lam = knobs.b_lam or hyper.scale(rate, knobs.a_lam)
    shape = knobs.a_lam + knobs.a_v * totals.n_docs
    rates = Rates(shape, np.repeat((rate / shape)[:, None], K, axis=1))
    return State(Prior(a_t, b_t, knobs.a_v, b_v, knobs.a_lam, b_lam), terms, rates)


def terms_of(
    kernel: Kernel, shapes: Array, scale: Array, dtype: np.dtype, *, tally: bool = True
) -> Terms:
    """q(T) of given shapes, (n_terms, K), and scales, (K,)."""
    ones = np.broadcast_to(np.float32(1), shapes.shape)
    return kernel.gamma_rows(
        kernel.rows(shapes, dtype), kernel.rows(ones, dtype), scale, 0.0, tally=tally
    )


def _sum_of_a_component(knobs: Knobs, a_t: float, n_terms: int, weight: float) -> float:
    """Σ_w E_t that agrees with whichever scale is fixed."""
    if knobs.b_t:
        return n_terms * a_t * knobs.b_t
    if knobs.b_v:
        return weight / (knobs.a_v * knobs.b_v)
    if knobs.a_lam and knobs.b_lam:
        return weight * knobs.a_lam * knobs.b_lam / knobs.a_v
    return 1.0
