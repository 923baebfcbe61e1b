"""Pictures of fitted models for papers and slides, as scikit-learn displays.

A display holds what is drawn. ``from_estimator`` makes one from a model, and ``plot`` draws it with
``report.canvas``. Importing this module does not import matplotlib.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from vbnmf.core.model import Array
from vbnmf.description.components import component_names, label_use, names_of_terms
from vbnmf.description.scopes import scopes_of
from vbnmf.estimators.base import BaseVBNMF, burn_in_of
from vbnmf.estimators.validation import check_choice, check_count
from vbnmf.pipeline import DocumentModel

_MOST_COMPONENTS = 6  # components to draw by default


@dataclass(kw_only=True, eq=False, repr=False)
class LabelMapDisplay:
    """Heat map of how much each label uses each component.

    Parameters
    ----------
    activations : array-like of shape (n_labels, n_components)
        Values that the colours show; not negative.
    labels, components : sequences of str
        Names of the rows and columns.
    faded : array-like of bool of shape (n_components,), or None
        Components that have faded. They come last if columns are ordered.
    quantity : str
        Name of the values, for the colour bar.
    kinds : sequence of str of length n_components, or None
        Scopes of components: "background", "common", "shared", "joined" or "own". If given,
        columns are grouped by scope, with a line between groups and a title for each.

    Attributes
    ----------
    ax_, figure_, im_, colorbar_
        Objects of matplotlib; ``colorbar_`` may be None.
    text_ : ndarray of matplotlib Text of shape (n_labels, n_components), or None
        Values written into the cells; None for empty cells.
    label_order_, component_order_ : ndarrays of int
        Row and column of ``activations`` at each position of the map.
    titles_ : list of matplotlib Text
        Titles of the groups of columns, from left to right; empty without groups.

    Examples
    --------
    >>> from vbnmf import DocumentModel, LabelMapDisplay, SupervisedVBNMF
    >>> texts = ["green tea", "steep tea", "roast coffee", "grind coffee"] * 5
    >>> labels = ["tea", "tea", "coffee", "coffee"] * 5
    >>> model = DocumentModel(SupervisedVBNMF(2, random_state=0)).fit(texts, labels)
    >>> display = LabelMapDisplay.from_estimator(model, n_terms=1)
    >>> display.labels, sorted(name.split()[1] for name in display.components)
    (['coffee', 'tea'], ['coffee', 'tea'])
    """

    activations: Any
    labels: Sequence[str]
    components: Sequence[str]
    faded: Any = None
    quantity: str = "activation"
    kinds: Sequence[str] | None = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, normalize: Literal["label"] | None = "label", n_terms: int = 3,
        names: Any = None, ax: Any = None, **kwargs: Any,
    ) -> Self:  # fmt: skip
        """Draw the map of a fitted model.

        Parameters
        ----------
        estimator : fitted SupervisedVBNMF, or DocumentModel with labels
        normalize : "label" or None, default="label"
            "label": part of each component in the label's expected weight, the same numbers as in
            the explorer and ``vbnmf topics``; rows sum to one. None: ``label_activations_``.
        n_terms : int, default=3
            Number of terms in the name of a component, after its number.
        names : sequence of str or None, default=None
            Names of the terms, if the model does not know them.
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None makes a figure.
        **kwargs : passed to ``plot``, such as order, cmap, include_values

        Examples
        --------
        >>> from vbnmf import DocumentModel, LabelMapDisplay
        >>> texts, labels = ["green tea", "roast coffee"] * 5, ["tea", "coffee"] * 5
        >>> model = DocumentModel().fit(texts, labels)
        >>> LabelMapDisplay.from_estimator(model, n_terms=2).labels
        ['coffee', 'tea']
        """
        model, terms = _model_and_terms(estimator, names)
        if not hasattr(model, "label_activations_"):
            raise ValueError(
                f"LabelMapDisplay needs a model with labels; got a {type(model).__name__}. Fit a "
                "SupervisedVBNMF with labels, or draw components with ComponentTermsDisplay."
            )
        activations, quantity = model.label_activations_, "mean coefficient"
        if normalize is not None:
            check_choice("normalize", normalize, ("label",))
            activations, quantity = label_use(model), "expected part of the label's weight"
        scopes = scopes_of(model)
        called = component_names(estimator, terms, check_count("n_terms", n_terms, least=0))
        return cls(
            activations=activations,
            labels=[str(label) for label in model.classes_],
            components=[f"{k} {name}".rstrip() for k, name in enumerate(called)],
            faded=model.faded_,
            quantity=quantity,
            kinds=None if scopes is None else [scope.kind for scope in scopes],
        ).plot(ax=ax, **kwargs)

    def plot(
        self,
        *,
        order: bool = True,
        include_values: bool | Literal["auto"] = "auto",
        values_format: str = ".2f",
        cmap: Any = "Blues",
        colorbar: bool = True,
        ax: Any = None,
        im_kw: Mapping[str, Any] | None = None,
        text_kw: Mapping[str, Any] | None = None,
    ) -> Self:
        """Draw the map.

        Parameters
        ----------
        order : bool, default=True
            Order the map as in the explorer: similar labels are neighbours (hierarchical
            clustering with optimal leaf ordering), columns are grouped by scope, and faded
            components come last. If False, keep the order of the model and draw no groups.
        include_values : bool or "auto", default="auto"
            Write values into the cells; "auto" does so if there is room. Zeros are left out.
        values_format : str, default=".2f"
        cmap : str or matplotlib Colormap, default="Blues"
            Colour map.
        colorbar : bool, default=True
            Draw a colour bar.
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None makes a figure that fits on a page.
        im_kw, text_kw : dict or None, default=None
            Passed to ``imshow`` and to the text in cells. By default colours follow the square root
            of the values.

        Examples
        --------
        >>> from vbnmf import DocumentModel, LabelMapDisplay
        >>> texts, labels = ["green tea", "roast coffee"] * 5, ["tea", "coffee"] * 5
        >>> model = DocumentModel().fit(texts, labels)
        >>> display = LabelMapDisplay.from_estimator(model)
        >>> display = display.plot(cmap="Greens", include_values=False)
        """
        canvas = _canvas("LabelMapDisplay.plot")
        self.label_order_, self.component_order_ = canvas.places(self, order)
        im_kw = {"cmap": cmap} | dict(im_kw or {})
        with canvas.look_of(ax):
            self.ax_, self.im_, self.colorbar_, self.text_, self.titles_ = canvas.heat_map(
                self, ax, order, include_values, values_format, colorbar, im_kw, text_kw or {}
            )
        self.figure_ = self.ax_.figure
        return self


@dataclass(kw_only=True, eq=False, repr=False)
class ComponentTermsDisplay:
    """Bar charts of the strongest terms of components.

    Weights are normalised to sum to one in each component, because the scale of a component is
    arbitrary. The credible intervals are too narrow; see ``component_interval`` of the models.

    Parameters
    ----------
    terms, weights : sequences of sequences
        Names and weights of the terms of each component, the strongest first.
    titles : sequence of str
        Title of each chart.
    intervals, level : sequence of (low, high), and float; or None
        Lower and upper ends of the intervals of each component, and their probability.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes of shape (n_components,)
        Axes of each component.
    ax_, figure_
        The first axes, and the figure.
    bars_, errors_ : lists
        Bars and intervals of each component; None for no intervals.

    Examples
    --------
    >>> from vbnmf import ComponentTermsDisplay, DocumentModel, SupervisedVBNMF
    >>> texts = ["green tea", "steep tea", "roast coffee", "grind coffee"] * 5
    >>> labels = ["tea", "tea", "coffee", "coffee"] * 5
    >>> model = DocumentModel(SupervisedVBNMF(2, random_state=0)).fit(texts, labels)
    >>> display = ComponentTermsDisplay.from_estimator(model, components=[0, 1], n_terms=3)
    >>> sorted("tea" in terms for terms in display.terms)
    [False, True]
    """

    terms: Sequence[Sequence[str]]
    weights: Sequence[Array]
    titles: Sequence[str]
    intervals: Sequence[tuple[Array, Array]] | None = None
    level: float | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        components: Any = None,
        *,
        n_terms: int = 10,
        level: float | None = 0.9,
        names: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw components of a fitted model.

        Parameters
        ----------
        estimator : fitted VBNMF, SupervisedVBNMF or DocumentModel
        components : int, array of int or bool, or None, default=None
            Components to draw; None draws those that explain most of the documents' weight.
        n_terms : int, default=10
            Number of terms of each component.
        level : float or None, default=0.9
            Probability of the credible intervals; None draws none.
        names : sequence of str or None, default=None
            Names of the terms, if the model does not know them.
        ax : matplotlib Axes, array of them, or None, default=None
            One for each component, one that is divided, or None for a new figure.
        **kwargs : passed to ``plot``

        Examples
        --------
        >>> from vbnmf import ComponentTermsDisplay, DocumentModel
        >>> texts, labels = ["green tea", "roast coffee"] * 5, ["tea", "coffee"] * 5
        >>> model = DocumentModel().fit(texts, labels)
        >>> display = ComponentTermsDisplay.from_estimator(model, components=[0], n_terms=1)
        >>> len(display.terms[0])
        1
        """
        model, known = _model_and_terms(estimator, names)
        numbers = _numbers(model, components)
        top = _top_terms(model.components_[numbers], check_count("n_terms", n_terms))
        sums = model.component_sums_[numbers][:, None]
        intervals = None
        if level is not None:
            ends = model.component_interval(level, components=numbers)
            low, high = (np.take_along_axis(end, top, axis=1) / sums for end in ends)
            intervals = list(zip(low, high, strict=True))
        mass, faded = model.component_mass_, model.faded_
        shares = ["faded" if faded[k] else f"{100 * mass[k]:.1f} %" for k in numbers]
        return cls(
            terms=[[known[w] for w in row] for row in top],
            weights=list(np.take_along_axis(model.components_[numbers], top, axis=1) / sums),
            titles=[f"component {k} ({share})" for k, share in zip(numbers, shares, strict=True)],
            intervals=intervals,
            level=level,
        ).plot(ax=ax, **kwargs)

    def plot(
        self,
        *,
        n_columns: int = 3,
        ax: Any = None,
        bar_kw: Mapping[str, Any] | None = None,
        error_kw: Mapping[str, Any] | None = None,
    ) -> Self:
        """Draw the bars.

        Parameters
        ----------
        n_columns : int, default=3
            Number of charts in a row.
        ax : matplotlib Axes, array of them, or None, default=None
            One for each component, one that is divided, or None for a new figure.
        bar_kw, error_kw : dict or None, default=None
            Passed to ``barh`` and ``errorbar``.

        Examples
        --------
        >>> from vbnmf import ComponentTermsDisplay, DocumentModel
        >>> texts, labels = ["green tea", "roast coffee"] * 5, ["tea", "coffee"] * 5
        >>> model = DocumentModel().fit(texts, labels)
        >>> display = ComponentTermsDisplay.from_estimator(model, components=[0, 1])
        >>> display = display.plot(n_columns=1)
        """
        canvas = _canvas("ComponentTermsDisplay.plot")
        n_columns = check_count("n_columns", n_columns)
        with canvas.look_of(ax):
            self.axes_, self.bars_, self.errors_ = canvas.bar_charts(
                self, ax, n_columns, bar_kw or {}, error_kw or {}
            )
        self.ax_ = self.axes_[0]
        self.figure_ = self.ax_.figure
        return self


@dataclass(kw_only=True, eq=False, repr=False)
class BoundDisplay:
    """Lower bound by iteration, of one or several models.

    All iterations are drawn; those of burn-in and annealing are shaded. Bounds of several models
    are comparable only if the models were fitted to the same documents.

    Parameters
    ----------
    iterations, bounds, names : sequences of arrays, of arrays, and of str
        For each model: iterations at which the bound was evaluated, its values, and a name.
    burn_in, annealing : sequences of int
        Number of iterations of burn-in, and of the annealing of unknown labels after it.

    Attributes
    ----------
    ax_, figure_
        Objects of matplotlib.
    lines_, phases_ : lists of matplotlib Line2D
        Curves of the models, and the shades of burn-in and annealing.

    Examples
    --------
    >>> from vbnmf import BoundDisplay, DocumentModel, SupervisedVBNMF
    >>> texts = ["green tea", "steep tea", "roast coffee", "grind coffee"] * 5
    >>> labels = ["tea", "tea", "coffee", "coffee"] * 5
    >>> model = DocumentModel(SupervisedVBNMF(2, random_state=0)).fit(texts, labels)
    >>> display = BoundDisplay.from_estimator({"drinks": model})
    >>> display.names, bool(display.bounds[0][-1] == model.estimator_.bound_)
    (['drinks'], True)
    """

    iterations: Sequence[Array]
    bounds: Sequence[Array]
    names: Sequence[str]
    burn_in: Sequence[int]
    annealing: Sequence[int]

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, annealing: int = 0, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw the bounds of fitted models, each of its best initialisation.

        Parameters
        ----------
        estimator : fitted VBNMF, SupervisedVBNMF or DocumentModel, or a dict of them by name
        annealing : int, default=0
            Number of iterations after burn-in to shade: 30 if some labels were unknown. Models do
            not store whether that was so.
        ax : matplotlib Axes or None, default=None
            Axes to draw on, possibly those of another BoundDisplay; None makes a figure.
        **kwargs : passed to ``plot``

        Examples
        --------
        >>> from vbnmf import BoundDisplay, DocumentModel
        >>> texts, labels = ["green tea", "roast coffee"] * 5, ["tea", "coffee"] * 5
        >>> model = DocumentModel().fit(texts, labels)
        >>> BoundDisplay.from_estimator({"drinks": model}).names
        ['drinks']
        """
        if not isinstance(estimator, Mapping):
            estimator = {type(_model(estimator)).__name__: estimator}
        models = [_model(one) for one in estimator.values()]
        return cls(
            iterations=[_iterations(model) for model in models],
            bounds=[model.bound_history_ for model in models],
            names=[str(name) for name in estimator],
            burn_in=[burn_in_of(model.burn_in, model.init) for model in models],
            annealing=[check_count("annealing", annealing, least=0)] * len(models),
        ).plot(ax=ax, **kwargs)

    def plot(self, *, ax: Any = None, line_kw: Mapping[str, Any] | None = None) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None makes a figure.
        line_kw : dict or None, default=None
            Passed to ``plot`` of the axes.

        Examples
        --------
        >>> from vbnmf import BoundDisplay, DocumentModel
        >>> texts, labels = ["green tea", "roast coffee"] * 5, ["tea", "coffee"] * 5
        >>> model = DocumentModel().fit(texts, labels)
        >>> display = BoundDisplay.from_estimator(model).plot(line_kw={"linewidth": 2})
        """
        canvas = _canvas("BoundDisplay.plot")
        with canvas.look_of(ax):
            self.ax_, self.lines_, self.phases_ = canvas.curves(self, ax, line_kw or {})
        self.figure_ = self.ax_.figure
        return self


def _model_and_terms(estimator: Any, names: Any) -> tuple[Any, list[str]]:
    """Return the model of the matrix and the names of its terms."""
    model = _model(estimator)
    names = names_of_terms(estimator) if names is None else names
    n_terms = model.components_.shape[1]
    if len(names) != n_terms:
        raise ValueError(f"`names` must have {n_terms} names, one for each term; got {len(names)}.")
    return model, [str(name) for name in names]


def _model(estimator: Any) -> Any:
    """Return the fitted model of the matrix."""
    if isinstance(estimator, DocumentModel):
        check_is_fitted(estimator, "estimator_")
        return estimator.estimator_
    if not isinstance(estimator, BaseVBNMF):
        raise TypeError(
            "a display takes a fitted VBNMF, SupervisedVBNMF or DocumentModel; got a "
            f"{type(estimator).__name__}. For a Pipeline, pass the step that is one of them."
        )
    check_is_fitted(estimator, "components_")
    return estimator


def _top_terms(weights: Array, n: int) -> Array:
    """Return the columns of the n largest values in each row, the largest first."""
    return np.argsort(-weights, axis=1, kind="stable")[:, :n]


def _numbers(model: Any, components: Any) -> Array:
    """Return the numbers of the chosen components."""
    K = len(model.components_)
    if components is None:
        return np.argsort(-model.component_mass_, kind="stable")[:_MOST_COMPONENTS]
    try:
        numbers = np.arange(K)[np.atleast_1d(components)]
    except IndexError:
        numbers = np.empty(0, int)
    if numbers.ndim != 1 or not len(numbers):
        raise ValueError(
            f"components must be numbers from 0 to {K - 1}, at least one; got {components!r}."
        )
    return numbers


def _iterations(model: Any) -> Array:
    """Return the iterations at which the bound was evaluated; the last is the end of the fit."""
    every, n = int(model.bound_every), int(model.n_iter_)
    at = np.array([*range(0, n, every), n])
    if len(at) != len(model.bound_history_):
        raise ValueError(
            f"bound_every is {every}, but the model was fitted with another value. Set that value."
        )
    return at


def _canvas(who: str) -> Any:
    """Return the module that draws; it needs matplotlib."""
    try:
        from vbnmf.report import canvas
    except ModuleNotFoundError as error:
        raise ImportError(f'{who} needs matplotlib: pip install "vbnmf[plot]".') from error
    return canvas
