"""The fitted state of a model: a few frozen records.

``Fitted`` has what both models have, ``FittedLabels`` what a model with labels has besides. A fit,
a batch, a model file and a checkpoint make such a record as a whole, so that nothing is forgotten.
The public attributes of the estimators are fields of these records (``FittedAttribute``).

Intervals are quantiles of the gamma posteriors:

    t_wk ~ Gamma(shape_wk, scale_k)                     weight of a term
    a_v / λ_lk,  λ_lk ~ Gamma(a_v N_l, 1/Σ_d E_v)       mean of a coefficient in a label

The posterior of λ is taken without its prior. The prior controls sparsity (``label_shape`` = 100
counts as a hundred documents) and is not a belief about λ: with it, intervals would not contain the
mean of the label's own documents. The coverage of the intervals is in
docs/explanation/algorithm.md.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import sparse
from scipy.special import gammaincinv

from vbnmf.core.filled import FilledRows, column_limits
from vbnmf.core.model import Array, Prior, Rates, State, Statistics, column
from vbnmf.estimators.labels import moved_columns
from vbnmf.estimators.validation import check_nonnegative
from vbnmf.prediction.head import Head
from vbnmf.prediction.head import Posterior as PredictionPosterior

if TYPE_CHECKING:
    from vbnmf.metrics.passages import Passages

LEAST_OF_A_LABEL = 50
"""Number of documents of each label that a sample keeps first."""

MOST_NONZEROS = 1 << 22
"""Maximum number of non-zeros of the sample, 8 bytes each in single precision."""

_LEAST_DOCS = 0.99  # labels with less than one document, up to rounding, have no finite interval
_ROOT, _SPREAD = 0.41421356237309503, 997.0  # other numbers than those of the folds of machines
_TINY = np.finfo(float).tiny


@dataclass(frozen=True, eq=False)
class Components:
    """Posterior of the components, q(T), and the hyperparameters.

    Attributes
    ----------
    shapes : ndarray or FilledRows of shape (n_terms, K)
        Shapes of the gamma posteriors. In a loaded model, only those that are not the prior are
        held, if that is smaller.
    scales : ndarray of shape (K,)
        Scales of the gamma posteriors.
    sums : ndarray of shape (K,)
        Sums of the expected components over the terms.
    hyperparameters : dict
        Shapes and scales of the priors, given or learned.
    reason : str
        Explanation of the number of components.
    background : int or None
        The component that was initialised as a background common to all labels.
    """

    shapes: Array | FilledRows
    scales: Array
    sums: Array
    hyperparameters: dict[str, float]
    reason: str
    background: int | None

    @classmethod
    def of(cls, shapes: Array, state: State, reason: str, background: int | None) -> Self:
        """Return the posterior of a fitted state; the shapes, (n_terms, K), are without padding."""
        prior = state.prior
        known = {
            "term_shape": prior.a_t, "term_scale": prior.b_t,
            "coef_shape": prior.a_v, "coef_scale": prior.b_v,
        }  # fmt: skip
        known |= of_label_prior(prior)
        return cls(shapes, state.terms.scale, state.terms.E_sums, known, reason, background)

    @cached_property
    def means(self) -> Array:
        """Expected components, (K, n_terms), in the type of the shapes."""
        return component_means(self.by_component, self.scales)

    def release(self) -> None:
        """Free the expected components, which are large. They are computed again on use."""
        self.__dict__.pop("means", None)

    @cached_property
    def by_component(self) -> Array:
        """Shapes of the gamma posteriors, (K, n_terms)."""
        return np.asarray(self.shapes).T

    def in_full(self) -> "Components":
        """Return the same with all shapes in an array, as a batch needs them."""
        return replace(self, shapes=np.asarray(self.shapes))

    @property
    def number(self) -> int:
        """Number of components, K."""
        return len(self.scales)

    @property
    def mass(self) -> Array:
        """Part of the documents' weight that each component explains, (K,).

        Σ_w (shape_wk − a_t) = Σ_dw ⟨s_dwk⟩
        """
        shapes, a_t = self.by_component, self.hyperparameters["term_shape"]
        explained = shapes.sum(axis=1, dtype=np.float64) - shapes.shape[1] * a_t
        explained = np.maximum(explained, 0.0)  # negative by rounding, or if a_t is learned
        return explained / max(explained.sum(), _TINY)

    @property
    def faded(self) -> Array:
        """Whether each component has faded, (K,) of bool: shape_wk < 2 a_t for all terms w."""
        largest = column_limits(self.shapes)[1]
        return np.asarray(largest < 2 * self.hyperparameters["term_shape"])

    def from_prior(self, components: Any, terms: Array) -> Array:
        """Return whether the weight of a term is mostly the prior, shape_wk < 2 a_t, (n, n_listed).

        ``terms`` has a row of terms for each of the n ``components``.
        """
        distinct, places = np.unique(terms, return_inverse=True)
        shapes = self.shapes[distinct][places.reshape(terms.shape), np.reshape(components, (-1, 1))]
        return np.asarray(shapes < 2 * self.hyperparameters["term_shape"])

    def interval(self, level: float, components: Any) -> tuple[Array, Array]:
        """Compute quantiles of q(T), (n, n_terms) each; see ``BaseVBNMF.component_interval``."""
        shapes, scales = self.by_component, self.scales
        try:
            chosen = slice(None) if components is None else np.atleast_1d(components)
            shapes, scales = shapes[chosen], scales[chosen]
        except IndexError as error:
            raise ValueError(f"components must be indices of components: {error}.") from None
        return gamma_interval(shapes, scales[:, None], level)


@dataclass(frozen=True, eq=False)
class Course:
    """How the fit went: the bound, its history, and the number of iterations."""

    bound: float
    history: Array
    n_iter: int


@dataclass(frozen=True, eq=False)
class Seen:
    """Documents that the posterior is of: those seen, those it stands for, and later batches."""

    n_docs: float
    total: float
    n_steps: int = 0


@dataclass(frozen=True, eq=False)
class TermView:
    """The components in the terms of the vocabulary.

    Attributes
    ----------
    describing : ndarray of int32 of shape (K, at most 30), or None
        Terms that describe each component; None after a batch without labels.
    passages : Passages
        Passages that recur in the documents.
    """

    describing: Array | None
    passages: "Passages"


@dataclass(frozen=True, eq=False)
class LabelPosterior:
    """The labels and their posterior, q(Λ).

    Attributes
    ----------
    classes : ndarray of shape (n_labels,)
        The labels.
    counts : ndarray of int of shape (n_labels,)
        Documents that are known to have each label.
    frequencies : ndarray of shape (n_labels,)
        Part of the documents with known labels that have each label.
    n_seen : float
        Number of documents with known labels, by their weights.
    multilabel : bool
        Whether documents may have several labels.
    groups : dict
        The labels of each group of a label tree.
    scoped : bool
        Whether scopes were given or searched for.
    scopes : ndarray of bool of shape (n_labels, K)
        Labels that may use each component.
    activations : ndarray of shape (n_labels, K)
        Mean coefficients of the documents of each label.
    rate_shapes, rate_scales : ndarrays of shape (n_labels, K)
        Shapes and scales of the gamma posteriors of rates.
    shapes : ndarray of shape (n_labels,)
        Shape of the prior of rates of each label.
    """

    classes: Array
    counts: Array
    frequencies: Array
    n_seen: float
    multilabel: bool
    groups: dict[str, Array]
    scoped: bool
    scopes: Array
    activations: Array
    rate_shapes: Array
    rate_scales: Array
    shapes: Array

    def updated(self, state: State, stats: Statistics) -> "LabelPosterior":
        """Return the same labels with the posterior of a state and its sums."""
        return replace(self, **posterior_of_labels(state, stats))

    @cached_property
    def rates(self) -> Array:
        """Expected rates, (n_labels, K); infinite outside the scopes."""
        return np.where(self.scopes, self.rate_shapes * self.rate_scales, np.inf)

    @property
    def q(self) -> Rates:
        """The posterior as the maths uses it."""
        return Rates(self.rate_shapes, self.rate_scales)

    def interval(self, level: float, a_v: float) -> tuple[Array, Array]:
        """Compute quantiles by label, (n_labels, K); see ``SupervisedVBNMF.label_interval``."""
        n_docs = (self.rate_shapes - self.shapes[:, None]) / a_v
        known = n_docs >= _LEAST_DOCS
        shape = np.where(known, a_v * n_docs, 1.0)
        with np.errstate(divide="ignore"):  # a tiny shape has the quantile zero, and 1/λ no limit
            high, low = (shape / gammaincinv(shape, tail) for tail in _tails(level))
        E_v = np.where(known, self.activations, 1.0)
        low, high = E_v * np.where(known, low, 0.0), E_v * np.where(known, high, np.inf)
        return np.where(self.scopes, low, 0.0), np.where(self.scopes, high, 0.0)


def posterior_of_labels(state: State, stats: Statistics) -> dict[str, Any]:
    """Return the fields of ``LabelPosterior`` that follow from a state and its sums."""
    rates, prior, labels = state.rates, state.prior, state.labels
    assert rates is not None
    assert labels is not None
    assert prior.a_lam is not None
    sums, scopes = stats.label_sums, labels.scopes
    return {
        "scopes": np.ones(sums.shape, dtype=bool) if scopes is None else scopes.mask,
        "activations": sums / np.maximum(column(stats.n_docs), _TINY),
        "rate_shapes": np.broadcast_to(column(rates.shape), rates.scale.shape).copy(),
        "rate_scales": rates.scale,
        "shapes": np.broadcast_to(prior.a_lam, (len(sums),)).copy(),
    }


def of_label_prior(prior: Prior) -> dict[str, float]:
    """Return the means over labels of the hyperparameters of rates; none without labels."""
    if prior.a_lam is None or prior.b_lam is None:
        return {}
    return {
        "label_shape": float(np.mean(prior.a_lam)),
        "label_scale": float(np.mean(prior.b_lam)),
    }


@dataclass(frozen=True, eq=False)
class DocumentCounts:
    """Numbers of training documents that have each term.

    Attributes
    ----------
    label_terms : csr_array of int32 of shape (n_labels, n_terms)
        Of the documents that are known to have each label.
    terms : ndarray of int32 of shape (n_terms,)
        Of all documents.
    n_docs : int
        Number of all documents.
    """

    label_terms: sparse.csr_array
    terms: Array
    n_docs: int


@dataclass(frozen=True, eq=False)
class TrainedHead:
    """The prediction head, and what its training found.

    Attributes
    ----------
    head : Head
        The head.
    reason : str
        Why it is of this kind.
    smoothing : float
        Pseudo-count that smooths the probabilities of terms in components.
    agreement : ndarray of shape (K,)
        Agreement of the two main labels of each shared component; NaN for other components.
    left_out : ndarray of float32 of shape (n_docs, n_labels)
        Held-out probabilities of training documents.
    documents : ndarray of int of shape (n_docs,), or None
        The numbers of these documents; None if they are all documents.
    keys : ndarray of int64 of shape (n_docs,), or None
        Keys of their contents, ``core.rows.content_keys``, by which documents of a file are found
        again; None in older files.
    component_share : float
        Mean share of components in the scores of training documents; the rest is from words.
    component_share_by_label : ndarray of shape (n_labels,)
        The same of the documents that are predicted as each label.
    """

    head: Head
    reason: str
    smoothing: float
    agreement: Array
    left_out: Array
    documents: Array | None
    keys: Array | None
    component_share: float
    component_share_by_label: Array

    def with_labels(self, order: Array, n_components: int) -> "TrainedHead":
        """Return the head for more labels and components; parameters are as in ``Head``."""
        new = len(order) - len(self.component_share_by_label)
        more = n_components - len(self.agreement)
        return replace(
            self,
            head=self.head.with_labels(order, n_components),
            agreement=np.concatenate([self.agreement, np.full(more, np.nan)]),
            left_out=np.pad(self.left_out, ((0, 0), (0, new)))[:, order],
            component_share_by_label=np.append(
                self.component_share_by_label, np.full(new, self.component_share)
            )[order],
        )


@dataclass(frozen=True, eq=False)
class Reservoir:
    """A bounded sample of the labelled documents of a stream, to train a prediction head on.

    Each document has a number between zero and one, which follows from its terms. The documents
    with the largest numbers are kept. So the sample does not depend on the order of the documents,
    and it is a random one as far as labels are concerned. Of each label some documents are kept in
    any case.

    Attributes
    ----------
    X : csr_array of shape (n_docs, n_terms)
        Documents.
    indicators : csr_array of shape (n_docs, n_labels)
        Their labels.
    weight : ndarray of shape (n_docs,)
        Their sample weights.
    """

    X: sparse.csr_array
    indicators: sparse.csr_array
    weight: Array

    def with_labels(self, places: Array, n_labels: int) -> "Reservoir":
        """Return the sample with label l in column ``places[l]`` of ``n_labels`` columns."""
        return Reservoir(self.X, moved_columns(self.indicators, places, n_labels), self.weight)

    def add(self, other: "Reservoir", most: int) -> "Reservoir":
        """Return a sample of both, of at most ``most`` documents."""
        both = Reservoir(
            sparse.vstack([self.X, other.X], format="csr"),
            sparse.vstack([self.indicators, other.indicators], format="csr"),
            np.concatenate([self.weight, other.weight]),
        )
        return both.cut(most)

    def cut(self, most: int) -> "Reservoir":
        """Return a sample of at most ``most`` documents with ``MOST_NONZEROS`` non-zeros."""
        if self.X.shape[0] <= most and self.X.nnz <= MOST_NONZEROS:
            return self
        order = np.argsort(-_numbers(self.X), kind="stable")
        n_labels = self.indicators.shape[1]
        quota = max(1, min(LEAST_OF_A_LABEL, most // n_labels))
        by_label = sparse.csc_array(self.indicators[order])
        ranks = np.full(len(order), len(order))
        for begin, end in zip(by_label.indptr[:-1], by_label.indptr[1:], strict=True):
            of_label = np.sort(by_label.indices[begin:end])
            ranks[of_label] = np.minimum(ranks[of_label], np.arange(end - begin))
        order = order[np.argsort(np.where(ranks < quota, 0, 1), kind="stable")][:most]
        fits = np.cumsum(np.diff(self.X.indptr)[order]) <= MOST_NONZEROS
        return self.at(np.sort(order[fits]))

    def at(self, rows: Array) -> "Reservoir":
        """Return some of the documents."""
        return Reservoir(self.X[rows], self.indicators[rows], self.weight[rows])


def _numbers(X: sparse.csr_array) -> Array:
    """Return a number in [0, 1) for each document, the same for identical documents."""
    mixed = np.modf(np.arange(1, X.shape[1] + 1) * _ROOT)[0]
    return np.asarray(np.modf(X @ mixed * _SPREAD)[0])


@dataclass(frozen=True, eq=False)
class HeadSample:
    """The sample of a stream, and whether the prediction head is trained on it."""

    documents: Reservoir
    follows: bool


@dataclass(frozen=True, eq=False)
class Fitted:
    """The fitted state of a model without labels."""

    components: Components
    course: Course
    seen: Seen
    terms: TermView


@dataclass(frozen=True, eq=False)
class FittedLabels(Fitted):
    """The fitted state of a model with labels; ``sample`` is that of a stream, if there is one."""

    labels: LabelPosterior
    counts: DocumentCounts
    head: TrainedHead
    sample: HeadSample | None = None

    @property
    def for_prediction(self) -> PredictionPosterior:
        """What the prediction head needs of the model."""
        return for_prediction(self.components, self.labels, self.head.smoothing)


@dataclass(frozen=True, eq=False)
class UsedHead:
    """What predictions need of ``TrainedHead``."""

    head: Head
    smoothing: float


@dataclass(frozen=True, eq=False)
class PredictingState:
    """What predictions need of ``FittedLabels``."""

    components: Components
    terms: TermView
    labels: LabelPosterior
    head: UsedHead

    @property
    def for_prediction(self) -> PredictionPosterior:
        """What the prediction head needs of the model."""
        return for_prediction(self.components, self.labels, self.head.smoothing)


def for_prediction(
    components: Components, labels: LabelPosterior, smoothing: float
) -> PredictionPosterior:
    """Return the part of a fitted model that a prediction head needs."""
    return PredictionPosterior(
        components.shapes, components.scales, components.sums, labels.rates, labels.frequencies,
        smoothing,
    )  # fmt: skip


class FittedAttribute:
    """A public attribute of an estimator that is a field of its fitted records.

    Parameters
    ----------
    path : str
        Where the field is in ``fitted_``, such as "labels.scopes".
    optional : bool
        Whether the estimator lacks the attribute if the field is None.
    """

    def __init__(self, path: str, *, optional: bool = False) -> None:
        self._path, self._optional = path.split("."), optional

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, model: object, owner: type | None = None) -> Any:
        if model is None:
            return self
        value = vars(model).get("fitted_")
        for field in self._path:
            if value is None:
                raise self._missing(model)
            value = getattr(value, field)
        if value is None and self._optional:
            raise self._missing(model)
        return value

    def __set__(self, model: object, value: Any) -> None:
        if "fitted_" not in vars(model):
            raise self._missing(model)
        vars(model)["fitted_"] = _replaced(vars(model)["fitted_"], self._path, value)

    def _missing(self, model: object) -> AttributeError:
        return AttributeError(f"{type(model).__name__!r} object has no attribute {self._name!r}")


def _replaced(record: Any, path: list[str], value: Any) -> Any:
    """Return a record with another value in a field, which may be that of an inner record."""
    first, *rest = path
    inner = _replaced(getattr(record, first), rest, value) if rest else value
    return replace(record, **{first: inner})


def component_means(shapes: Array, scales: Array) -> Array:
    """Compute the posterior means of components, (K, n_terms), in the dtype of the shapes."""
    with np.errstate(over="ignore", under="ignore"):  # the caller checks for infinity
        return np.asarray(shapes * scales.astype(shapes.dtype)[:, None])


def gamma_interval(shapes: Array, scales: Array, level: float) -> tuple[Array, Array]:
    """Compute the central intervals of gamma distributions.

    Parameters
    ----------
    shapes, scales : arrays
        Shapes and scales of the distributions. Scales are broadcast.
    level : float
        Probability of the intervals, between 0 and 1.

    Returns
    -------
    low, high : arrays of the shape of `shapes`
    """
    tails = _tails(level)
    scales = scales.astype(shapes.dtype)
    low, high = (gammaincinv(shapes, shapes.dtype.type(tail)) * scales for tail in tails)
    return low, high


def _tails(level: Any) -> tuple[float, float]:
    """Return the probabilities below the two ends of a central interval."""
    if not 0 < check_nonnegative("level", level) < 1:
        raise ValueError(f"level must be between 0 and 1, such as 0.9; got {level!r}.")
    return (1 - level) / 2, (1 + level) / 2
