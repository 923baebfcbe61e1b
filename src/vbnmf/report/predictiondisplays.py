"""Pictures of labels and predictions on documents, as scikit-learn displays.

``ContrastDisplay`` draws the words of two labels, ``ReliabilityDisplay`` how far probabilities can
be trusted, and ``AcceptanceDisplay`` how many predictions can be accepted without a look. The
numbers are those of ``vbnmf contrast``, of the page and of ``vbnmf evaluate --accept``. Importing
this module does not import matplotlib.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from vbnmf.core.model import Array
from vbnmf.estimators.validation import check_count
from vbnmf.evaluation.truth import read_part
from vbnmf.metrics import calibration_bins, score_probabilities
from vbnmf.metrics.calibration import calibration_error
from vbnmf.metrics.shares import share_interval
from vbnmf.reviewing.acceptance import Acceptance
from vbnmf.reviewing.findings import contrast

_BINS = 10  # as on the page
_MOST_POINTS = 500  # of a curve


@dataclass(kw_only=True, eq=False, repr=False)
class ContrastDisplay:
    """Words that are more frequent in the documents of one label than in those of another.

    Each word has its log-odds with the interval of 95 %, and the numbers of documents that have it.

    Parameters
    ----------
    names : tuple of two str
        What the sides are called.
    documents : tuple of two int
        Number of documents of each side.
    first, second : sequences of dict
        Words of each side, the most characteristic first: rows of ``more_in_first`` and
        ``more_in_second`` of ``vbnmf.contrast``.

    Attributes
    ----------
    ax_, figure_
        Objects of matplotlib.
    points_ : list of matplotlib containers
        Points and intervals of the first and of the second side; None for a side without words.
    text_ : list of matplotlib Text
        Numbers of documents, from top to bottom.

    Examples
    --------
    >>> from vbnmf import ContrastDisplay, DocumentModel, SupervisedVBNMF
    >>> texts = ["green tea leaf", "steep tea pot", "roast coffee bean", "grind coffee cup"] * 5
    >>> labels = ["tea", "tea", "coffee", "coffee"] * 5
    >>> model = DocumentModel(SupervisedVBNMF(2, random_state=0)).fit(texts, labels)
    >>> display = ContrastDisplay.from_estimator(model, texts, labels, "tea", "coffee")
    >>> display.first[0]["term"], display.second[0]["term"]
    ('tea', 'coffee')
    """

    names: Sequence[str]
    documents: Sequence[int]
    first: Sequence[Mapping[str, Any]]
    second: Sequence[Mapping[str, Any]]

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, first: Any, second: Any = None, *, n_terms: int = 10,
        ax: Any = None, **kwargs: Any,
    ) -> Self:  # fmt: skip
        """Draw the words of two labels, or of a label and the rest.

        Parameters
        ----------
        estimator : fitted DocumentModel
        X, y : documents and their labels, as for ``vbnmf.contrast``
        first, second : label, and label or None, default=None
            What is compared; None for the rest of the labelled documents.
        n_terms : int, default=10
            Maximum number of words of each side.
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None makes a figure.
        **kwargs : passed to ``plot``

        Examples
        --------
        >>> from vbnmf import ContrastDisplay, DocumentModel
        >>> texts, labels = ["green tea", "roast coffee"] * 5, ["tea", "coffee"] * 5
        >>> model = DocumentModel().fit(texts, labels)
        >>> display = ContrastDisplay.from_estimator(model, texts, labels, "tea", "coffee")
        """
        found = contrast(estimator, X, y, first, second, n_terms=check_count("n_terms", n_terms))
        return cls.from_findings(found, ax=ax, **kwargs)

    @classmethod
    def from_findings(cls, found: Mapping[str, Any], *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the result of ``vbnmf.contrast``.

        Parameters
        ----------
        found : Findings
            The result.
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None makes a figure.
        **kwargs : passed to ``plot``

        Examples
        --------
        >>> from vbnmf import ContrastDisplay, DocumentModel, contrast
        >>> texts, labels = ["green tea", "roast coffee"] * 5, ["tea", "coffee"] * 5
        >>> model = DocumentModel().fit(texts, labels)
        >>> found = contrast(model, texts, labels, "tea", "coffee")
        >>> display = ContrastDisplay.from_findings(found)
        """
        return cls(
            names=found["names"],
            documents=found["documents"],
            first=found["more_in_first"],
            second=found["more_in_second"],
        ).plot(ax=ax, **kwargs)

    def plot(self, *, ax: Any = None, error_kw: Mapping[str, Any] | None = None) -> Self:
        """Draw the words.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None makes a figure.
        error_kw : dict or None, default=None
            Passed to ``errorbar``.

        Examples
        --------
        >>> from vbnmf import ContrastDisplay, DocumentModel
        >>> texts, labels = ["green tea", "roast coffee"] * 5, ["tea", "coffee"] * 5
        >>> model = DocumentModel().fit(texts, labels)
        >>> display = ContrastDisplay.from_estimator(model, texts, labels, "tea", "coffee")
        >>> display = display.plot(error_kw={"color": "black"})
        """
        if not (self.first or self.second):
            raise ValueError(
                f"no word is significantly more frequent in {self.names[0]} or {self.names[1]}, so "
                "there is nothing to draw."
            )
        charts = _charts("ContrastDisplay.plot")
        with charts.look_of(ax):
            self.ax_, self.points_, self.text_ = charts.contrasted(self, ax, error_kw or {})
        self.figure_ = self.ax_.figure
        return self


@dataclass(kw_only=True, eq=False, repr=False)
class ReliabilityDisplay:
    """How often predictions are right, by their probability.

    Points on the diagonal are probabilities that mean what they say. The bars below are the numbers
    of predictions.

    Parameters
    ----------
    probability, share_right, low, high : arrays of shape (n_bins_in_use,)
        Mean probability of each bin, the share of its predictions that is right, and the interval
        of 95 % of this share.
    number : array of int of shape (n_bins_in_use,)
        Number of predictions of each bin.
    n_bins : int
        Number of bins between 0 and 1.
    error : float
        Expected calibration error; see ``vbnmf.metrics.calibration_error``.

    Attributes
    ----------
    ax_, figure_
        Objects of matplotlib.
    points_, bars_
        Points with intervals, and bars.

    Examples
    --------
    >>> from vbnmf import ReliabilityDisplay
    >>> right = [True, True, True, False, True, False]
    >>> probability = [0.95, 0.92, 0.85, 0.65, 0.62, 0.35]
    >>> display = ReliabilityDisplay.from_predictions(right, probability, n_bins=5)
    >>> display.number.tolist()
    [1, 2, 3]
    """

    probability: Array
    share_right: Array
    low: Array
    high: Array
    number: Array
    n_bins: int
    error: float

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, n_bins: int = _BINS, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw the predictions of a model for labelled documents.

        Parameters
        ----------
        estimator : fitted DocumentModel with labels
        X, y : documents that the model was not fitted to, and their labels
            Unknown labels may be None. If documents may have several labels, the predictions are
            pairs of a document and a label.
        n_bins : int, default=10
            Number of bins between 0 and 1.
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None makes a figure.
        **kwargs : passed to ``plot``

        Examples
        --------
        >>> from vbnmf import DocumentModel, ReliabilityDisplay
        >>> texts, labels = ["green tea", "roast coffee"] * 5, ["tea", "coffee"] * 5
        >>> model = DocumentModel().fit(texts, labels)
        >>> new, given = ["hot tea", "a coffee"], ["tea", "coffee"]
        >>> int(ReliabilityDisplay.from_estimator(model, new, given).number.sum())
        2
        """
        part = read_part(estimator, X, y).labelled
        _check_labelled(part.n_docs)
        of = score_probabilities(part.truth, part.probabilities)
        return cls.from_predictions(of.right, of.probability, n_bins=n_bins, ax=ax, **kwargs)

    @classmethod
    def from_predictions(
        cls, right: Any, probability: Any, *, n_bins: int = _BINS, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw predictions of any classifier.

        Parameters
        ----------
        right : array-like of bool of shape (n,)
            Whether each prediction is right.
        probability : array-like of shape (n,)
            Its probability.
        n_bins : int, default=10
            Number of bins between 0 and 1.
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None makes a figure.
        **kwargs : passed to ``plot``

        Examples
        --------
        >>> from vbnmf import ReliabilityDisplay
        >>> display = ReliabilityDisplay.from_predictions([True, True, False], [0.9, 0.7, 0.6])
        >>> display.number.tolist()
        [1, 1, 1]
        """
        n_bins = check_count("n_bins", n_bins)
        right, probability = _checked(right, probability)
        mean, hit, number = calibration_bins(probability, right, n_bins).T
        low, high = share_interval(hit * number, number)
        return cls(
            probability=mean,
            share_right=hit,
            low=np.asarray(low),
            high=np.asarray(high),
            number=number.astype(int),
            n_bins=n_bins,
            error=calibration_error(probability, right),
        ).plot(ax=ax, **kwargs)

    def plot(self, *, ax: Any = None, error_kw: Mapping[str, Any] | None = None) -> Self:
        """Draw the points and bars.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None makes a figure.
        error_kw : dict or None, default=None
            Passed to ``errorbar``.

        Examples
        --------
        >>> from vbnmf import ReliabilityDisplay
        >>> display = ReliabilityDisplay.from_predictions([True, True, False], [0.9, 0.7, 0.6])
        >>> display = display.plot(error_kw={"color": "black"})
        """
        charts = _charts("ReliabilityDisplay.plot")
        with charts.look_of(ax):
            self.ax_, self.points_, self.bars_ = charts.reliability(self, ax, error_kw or {})
        self.figure_ = self.ax_.figure
        return self


@dataclass(kw_only=True, eq=False, repr=False)
class AcceptanceDisplay:
    """How many predictions can be accepted without a look, and how many of them are right.

    The lower the least probability of an accepted prediction, the more are accepted, and usually
    the fewer of them are right.

    Parameters
    ----------
    threshold, accepted, share_right, low, high : arrays of shape (n_points,)
        Least probability, share of the predictions that it accepts, the share of these that is
        right, and its interval of 95 %.
    wanted : float or None
        Share that must be right.
    chosen : Accepted or None
        What the lowest threshold with this share accepts; None if there is none.

    Attributes
    ----------
    ax_, figure_
        Objects of matplotlib.
    line_, band_, point_
        The curve, its interval, and the chosen threshold, or None.

    Examples
    --------
    >>> from vbnmf import AcceptanceDisplay
    >>> right = [True] * 40 + [False] * 10
    >>> probability = [0.99] * 30 + [0.7] * 10 + [0.6] * 10
    >>> display = AcceptanceDisplay.from_predictions(right, probability, wanted=0.95)
    >>> display.chosen.threshold, display.chosen.share
    (0.7, 0.8)
    """

    threshold: Array
    accepted: Array
    share_right: Array
    low: Array
    high: Array
    wanted: float | None = None
    chosen: Any = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, wanted: float | None = 0.95, ax: Any = None,
        **kwargs: Any,
    ) -> Self:  # fmt: skip
        """Draw the predictions of a model for labelled documents.

        Parameters
        ----------
        estimator : fitted DocumentModel with labels
        X, y : documents and their labels
            Training documents are judged by models that were fitted without them, as in
            ``vbnmf.accept``.
        wanted : float or None, default=0.95
            Share of the accepted predictions that must be right; the threshold is marked.
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None makes a figure.
        **kwargs : passed to ``plot``

        Examples
        --------
        >>> from vbnmf import AcceptanceDisplay, DocumentModel
        >>> texts, labels = ["green tea", "roast coffee"] * 5, ["tea", "coffee"] * 5
        >>> model = DocumentModel().fit(texts, labels)
        >>> new, given = ["hot tea", "a coffee"], ["tea", "coffee"]
        >>> AcceptanceDisplay.from_estimator(model, new, given, wanted=0.9).chosen.share
        1.0
        """
        part = read_part(estimator, X, y)
        _check_labelled(part.labelled.n_docs)
        of = Acceptance.of(part, part.judged.probabilities)
        return cls._of(of, wanted).plot(ax=ax, **kwargs)

    @classmethod
    def from_predictions(
        cls, right: Any, probability: Any, *, wanted: float | None = 0.95, ax: Any = None,
        **kwargs: Any,
    ) -> Self:  # fmt: skip
        """Draw predictions of any classifier.

        Parameters
        ----------
        right : array-like of bool of shape (n,)
            Whether each prediction is right.
        probability : array-like of shape (n,)
            Its probability.
        wanted : float or None, default=0.95
            Share of the accepted predictions that must be right; the threshold is marked.
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None makes a figure.
        **kwargs : passed to ``plot``

        Examples
        --------
        >>> from vbnmf import AcceptanceDisplay
        >>> right, probability = [True] * 30 + [False] * 10, [0.9] * 30 + [0.6] * 10
        >>> AcceptanceDisplay.from_predictions(right, probability, wanted=0.95).chosen.share
        0.75
        """
        right, probability = _checked(right, probability)
        labels = np.zeros(len(right), int)
        return cls._of(Acceptance(probability, right, labels, 1), wanted).plot(ax=ax, **kwargs)

    @classmethod
    def _of(cls, of: Acceptance, wanted: float | None) -> Self:
        order = np.argsort(-of.probability, kind="stable")
        p, right = of.probability[order], np.cumsum(of.right[order])
        ends = np.flatnonzero(np.append(p[1:] < p[:-1], True))  # equal ones are accepted together
        if len(ends) > _MOST_POINTS:
            ends = ends[np.unique(np.linspace(0, len(ends) - 1, _MOST_POINTS).astype(int))]
        low, high = share_interval(right[ends], ends + 1)
        return cls(
            threshold=p[ends],
            accepted=(ends + 1) / len(p),
            share_right=right[ends] / (ends + 1),
            low=np.asarray(low),
            high=np.asarray(high),
            wanted=wanted,
            chosen=None if wanted is None else of.for_share(wanted),
        )

    def plot(self, *, ax: Any = None, line_kw: Mapping[str, Any] | None = None) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None makes a figure.
        line_kw : dict or None, default=None
            Passed to ``plot`` of the axes.

        Examples
        --------
        >>> from vbnmf import AcceptanceDisplay
        >>> display = AcceptanceDisplay.from_predictions([True, True, False], [0.9, 0.8, 0.6])
        >>> display = display.plot(line_kw={"color": "black"})
        """
        charts = _charts("AcceptanceDisplay.plot")
        with charts.look_of(ax):
            self.ax_, self.line_, self.band_, self.point_ = charts.acceptance(
                self, ax, line_kw or {}
            )
        self.figure_ = self.ax_.figure
        return self


def _checked(right: Any, probability: Any) -> tuple[Array, Array]:
    """Check predictions, and convert them to arrays."""
    right, probability = np.asarray(right, bool), np.asarray(probability, np.float64)
    if right.ndim != 1 or right.shape != probability.shape:
        raise ValueError(
            "right and probability must have one value for each prediction; got arrays of shapes "
            f"{right.shape} and {probability.shape}."
        )
    _check_labelled(len(right))
    if not ((probability >= 0) & (probability <= 1)).all():
        raise ValueError("probabilities must be from 0 to 1.")
    return right, probability


def _check_labelled(number: int) -> None:
    if not number:
        raise ValueError("there is no prediction with a known label, so there is nothing to draw.")


def _charts(who: str) -> Any:
    """Return the module that draws; it needs matplotlib."""
    try:
        from vbnmf.report import charts
    except ModuleNotFoundError as error:
        raise ImportError(f'{who} needs matplotlib: pip install "vbnmf[plot]".') from error
    return charts
