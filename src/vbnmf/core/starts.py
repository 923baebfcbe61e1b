"""Initialise components, coefficients and hyperparameters.

*Random*, as in the paper: the weight of each term is distributed over the components at random, so
every component is initialised as a noisy copy of the whole corpus. The weight of each document is
spread evenly over the components.

*Label*: each label gets components of its own, and more of them if it has more documents. Nearly
all weight of a document is on the components of its label, and a component is initialised as a
noisy copy of the documents that use it. Documents with unknown labels are not used for this, since
they would make components similar.

*Given*: the weight of a document is where the given components explain its label, or spread evenly
during burn-in, which does not use labels.

The product of the scales of T and V is determined by the data, and only their quotient is free.
Components are initialised with a sum of one, so that coefficients are in units of document weight,
unless a scale is fixed by the user.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from vbnmf.core import hyper
from vbnmf.core.model import (
    Array,
    Kernel,
    Labels,
    Prior,
    Rates,
    State,
    Terms,
    Totals,
    column,
)
from vbnmf.core.updates import rates_shape


@dataclass(frozen=True)
class Knobs:
    """Hyperparameters as given by the user. A number is fixed, and None is learned.

    ``a_lam`` is None in the unsupervised model. It may be an array with one value for each label,
    (n_labels,). ``least_a_t`` is the lower limit of a learned a_t.
    """

    a_t: float | None
    b_t: float | None
    a_v: float
    b_v: float | None
    a_lam: float | Array | None = None
    b_lam: float | None = None
    least_a_t: float = hyper.LEAST_TERM_SHAPE


FIRST_TERM_SHAPE = 0.5
"""Initial value of a learned a_t."""


def random_shapes(rng: np.random.Generator, totals: Totals, a_t: float, out: Array) -> None:
    """Fill shapes of q(T), (n_terms, K), with each term's weight in random proportions."""
    _deal_out(rng, lambda at: totals.term_sums[at, None], a_t, out)


_TERMS_AT_ONCE = 1 << 9  # terms whose shapes are held in double precision at a time
_TINY = np.finfo(float).tiny

OWN_PART = 0.99
"""Initial part of a document's weight on the components of its own label."""

_PORTION_STEPS = 10  # more steps hardly increase the final bound of a fit


def even_portions(K: int) -> Array:
    """Return equal parts of a document's weight on each component, (1, K)."""
    return np.full((1, K), 1 / K)


def label_portions(n_docs: Array, K: int) -> Array:
    """Return the parts of a document's weight on each component, (n_labels, K), by label.

    Most weight is on the label's own components. ``n_docs`` is by label. If there are fewer
    components than labels, labels share them in turn, the commonest first.
    """
    n_docs = np.round(n_docs / max(n_docs.max(), _TINY), 9)  # rounding must not break ties
    n_labels = len(n_docs)
    own = np.zeros((n_labels, K))
    if n_labels >= K:
        own[np.argsort(-n_docs, kind="stable"), np.arange(n_labels) % K] = 1.0
    else:
        own[np.repeat(np.arange(n_labels), allotted(n_docs, K)), np.arange(K)] = 1.0
    own /= own.sum(axis=1, keepdims=True)
    return OWN_PART * own + (1 - OWN_PART) / K


def allotted(n_docs: Array, total: int, most: Array | None = None) -> Array:
    """Allot components to labels, (n_labels,): at least one, the rest by square roots of sizes.

    No label gets more than ``most``, (n_labels,), so the sum may be smaller than ``total``.
    """
    counts = np.ones(len(n_docs), dtype=np.int64)
    roots = np.sqrt(n_docs)
    for _ in range(total - len(n_docs)):
        worth = roots / (counts + 0.5)
        if most is not None:
            worth = np.where(counts < most, worth, -1.0)
            if worth.max() < 0:
                break
        counts[np.argmax(worth)] += 1
    return counts


def label_shapes(
    rng: np.random.Generator, group_term_sums: Any, portions: Array, a_t: float, out: Array
) -> None:
    """Fill shapes of q(T) with each term's weight on the components of its documents.

    Parameters
    ----------
    rng : Generator
        Random generator of the noise that distinguishes components of one label.
    group_term_sums : sparse array of shape (n_groups, n_terms)
        Σ_d x_dw by group.
    portions : array of shape (n_groups, K)
        Parts of a document's weight on each component.
    a_t : float
        Prior shape.
    out : array of shape (n_terms, K)
        Array to fill.
    """
    by_term = group_term_sums.T.tocsr()
    _deal_out(rng, lambda at: by_term[at] @ portions, a_t, out)


def given_shapes(components: Array, totals: Totals, a_t: float, out: Array) -> None:
    """Fill shapes of q(T), (n_terms, K), with means proportional to components, (K, n_terms)."""
    np.multiply(components.T, totals.mass / max(components.sum(), _TINY), out=out, casting="unsafe")
    out += a_t


def fitted_portions(label_term_sums: Any, shapes: Array) -> Array:
    """Fit the parts of a document's weight on each component to its label, (n_labels, K).

    The parts are fitted by a few steps of expectation maximisation for the mixture weights of the
    components, which replaces many sweeps over documents.

    Parameters
    ----------
    label_term_sums : csr_array of shape (n_labels, n_terms)
        Σ_d x_dw by label.
    shapes : array of shape (n_terms, K)
        Shapes of q(T), positive.
    """
    n_labels, K = label_term_sums.shape[0], shapes.shape[1]
    sums = shapes.sum(axis=0, dtype=np.float64)
    portions = np.repeat(even_portions(K), n_labels, axis=0)
    for label in range(n_labels):
        at = slice(*label_term_sums.indptr[label : label + 2])
        T = shapes[label_term_sums.indices[at]] / sums
        weight = label_term_sums.data[at, None] / max(label_term_sums.data[at].sum(), _TINY)
        for _ in range(_PORTION_STEPS):
            parts = T * portions[label]
            parts *= weight / np.maximum(parts.sum(axis=1, keepdims=True), _TINY)
            portions[label] = parts.sum(axis=0)
    return OWN_PART * portions + (1 - OWN_PART) / K


def _deal_out(
    rng: np.random.Generator, expected: Callable[[slice], Array], a_t: float, out: Array
) -> None:
    """Distribute each term's weight by the expected parts, (terms, K) or (terms, 1), and noise."""
    n_terms, K = out.shape
    for begin in range(0, n_terms, _TERMS_AT_ONCE):
        at = slice(begin, min(begin + _TERMS_AT_ONCE, n_terms))
        parts = expected(at)
        weight = parts.sum(axis=1, keepdims=True)
        parts = parts * rng.standard_exponential((at.stop - begin, K), dtype=np.float32)
        out[at] = parts * (weight / np.maximum(parts.sum(axis=1, keepdims=True), _TINY)) + a_t


def state(
    kernel: Kernel,
    shapes: Array,
    K: int,
    totals: Totals,
    knobs: Knobs,
    labels: Labels | None = None,
) -> State:
    """Return the initial state, with equal label rates.

    ``shapes`` of q(T), (n_terms, K), are in the kernel's layout and are not copied. Without
    ``labels`` each group is a label of its own, unless ``knobs.a_lam`` is None.
    """
    n_terms = len(shapes)
    n_docs = float(totals.n_docs.sum())
    weight = totals.mass / (n_docs * K)  # of a component in a document, on average
    a_t = knobs.a_t or FIRST_TERM_SHAPE
    E_t_sum = sum_of_a_component(knobs, a_t, n_terms, weight)
    b_t = knobs.b_t or hyper.scale(E_t_sum / n_terms, a_t)
    b_v = knobs.b_v or hyper.scale(weight / E_t_sum, knobs.a_v)
    scale = E_t_sum / shapes[:, :K].sum(axis=0, dtype=np.float64)
    terms = terms_of(kernel, shapes, scale)
    if knobs.a_lam is None:
        return State(Prior(a_t, b_t, knobs.a_v, b_v), terms)
    rate = 1 / b_v
    b_lam = knobs.b_lam or rate / knobs.a_lam
    labels = labels or Labels.one_each(totals.n_docs)
    shape = rates_shape(knobs.a_lam, knobs.a_v, labels.documents_in_scope(totals.n_docs))
    rates = Rates(shape, np.broadcast_to(rate / column(shape), (len(shape), K)))
    return State(Prior(a_t, b_t, knobs.a_v, b_v, knobs.a_lam, b_lam), terms, rates, labels)


def terms_of(kernel: Kernel, shapes: Array, scale: Array, *, tally: bool = True) -> Terms:
    """Return q(T) from shapes, (n_terms, K) in the kernel's layout, and scales, (K,)."""
    L = kernel.zeros(len(shapes), len(scale), shapes.dtype)
    L[:] = 1
    return kernel.gamma_rows(shapes, L, scale, 0.0, tally=tally)


def sum_of_a_component(knobs: Knobs, a_t: float, n_terms: int, weight: float) -> float:
    """Return the initial Σ_w E_t, consistent with the scale that is fixed."""
    if knobs.b_t:
        return n_terms * a_t * knobs.b_t
    if knobs.b_v:
        return weight / (knobs.a_v * knobs.b_v)
    if knobs.a_lam is not None and knobs.b_lam:
        return weight * float(np.mean(knobs.a_lam)) * knobs.b_lam / knobs.a_v
    return 1.0
