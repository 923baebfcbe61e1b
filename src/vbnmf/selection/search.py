"""Choose the number of components on validation documents: fit and score each candidate.

Each candidate is fitted until it converges, exactly as an estimator with these parameters is
fitted, so its scores are those of such a model. Fits are not stopped early: the search for
components, which comes first, takes most of the time of a fit. ``docs/guide/tuning.md`` has
the times.
"""

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from math import isfinite
from typing import Any

import numpy as np
from sklearn.base import clone

import vbnmf
from vbnmf.core.fit import FITTING, HEAD, Progress
from vbnmf.estimators import SupervisedVBNMF
from vbnmf.estimators.validation import check_count, check_label_shape, default_components
from vbnmf.selection.advice import (
    Candidate,
    LabelShape,
    Trial,
    best_of,
    order,
    recommended_of,
    words,
)
from vbnmf.selection.checkpoint import SearchRecord
from vbnmf.selection.heldout import DocumentScores, Split, compare, prepare, score
from vbnmf.tabular import Table

FACTORS = (1, 1.5, 2, 3, 4, 6)
"""Default numbers of components to try, as multiples of the number of labels."""
FEWEST, MOST = 10, 600
"""The number of labels counts as ``FEWEST`` at least, and no default number is above ``MOST``."""

_WITHOUT_EFFECT = ("n_components", "label_shape", "random_state", "n_jobs", "verbose", "callback")
_CONSTANT = 50.0  # time of a fit that does not depend on K, as a number of components; measured
_SEARCHED, _FITTED = 0.75, 0.85  # parts of the time of a fit until these stages end; measured


@dataclass(frozen=True)
class Step:
    """Progress of a search.

    Attributes
    ----------
    done, total : int
        Number of candidates that are finished, and of all candidates.
    part : float
        Estimated share of the search that is done, from 0 to 1.
    seconds_left : float
        Estimated time until the end of the search, from the times of the candidates that have been
        fitted since the start. NaN before the first one, and if the search takes longer than
        estimated.
    n_components, label_shape
        The candidate that is being fitted.
    """

    done: int
    total: int
    part: float
    seconds_left: float
    n_components: int
    label_shape: LabelShape


@dataclass(frozen=True)
class Tuning:
    """Result of a search.

    Attributes
    ----------
    rows : tuple of Trial
        One row for each candidate.
    best : dict
        ``n_components`` and ``label_shape`` of the candidate with the best held-out log-likelihood.
    recommended : dict
        Settings with the fewest components that are as good; see ``tune``.
    recommendation : str
        The recommended settings in words, with the reason and the uncertainty.
    estimator : SupervisedVBNMF
        An unfitted estimator with the recommended parameters.
    measure : str
        The score of predictions: "accuracy", or "micro F1" if documents may have several labels.
    n_validation : int
        Number of validation documents.
    """

    rows: tuple[Trial, ...]
    best: dict[str, Any]
    recommended: dict[str, Any]
    recommendation: str
    estimator: SupervisedVBNMF
    measure: str
    n_validation: int

    @property
    def table(self) -> Table:
        """The scores of all candidates, as ``vbnmf tune --json`` lists them; None is unknown."""
        found = [
            {
                name: value if not isinstance(value, float) or isfinite(value) else None
                for name, value in row.as_row().items()
            }
            for row in self.rows
        ]
        return Table(found)

    def to_frame(self, kind: str | None = None) -> Any:
        """Return the scores of all candidates as a data frame; see ``Table.to_frame``."""
        return self.table.to_frame(kind)

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.recommendation)}</p>{self.table._repr_html_()}"


def tune(
    X: Any,
    y: Any,
    *,
    n_components: int | Sequence[int] | None = None,
    label_shapes: LabelShape | Sequence[LabelShape] | None = None,
    estimator: SupervisedVBNMF | None = None,
    vectorizer: Any = None,
    validation: float = 0.25,
    random_state: int = 0,
    checkpoint: Any = None,
    progress: Callable[[Step], None] | None = None,
    engine: Any = "auto",
) -> Tuning:
    """Choose the number of components by the likelihood of held-out documents.

    The fewest components are recommended whose held-out log-likelihood is within one standard error
    of the best, whose accuracy is not lower by more than one standard error, and that glue no
    unrelated topics. Standard errors are those of paired differences over the validation documents
    (``vbnmf.metrics.ratios``). If all such candidates have glued components, those with the
    smallest share of them are compared.

    Parameters
    ----------
    X : matrix of shape (n_docs, n_terms), or iterable of str
        Documents: weights of terms, or texts if a ``vectorizer`` is given.
    y : array-like of shape (n_docs,), lists of labels, or matrix of shape (n_docs, n_labels)
        Labels, as for ``SupervisedVBNMF.fit``. Documents with unknown labels are used only for
        training.
    n_components : int, sequence of int or None, default=None
        Numbers of components to try. None tries 1, 1.5, 2, 3, 4 and 6 times the number of labels
        (which counts as 10 if it is smaller), at most 600, and the default of
        ``SupervisedVBNMF``.
    label_shapes : float, "auto", sequence of these or None, default=None
        Label shapes to try with each number of components. None tries only "auto".
    estimator : SupervisedVBNMF or None, default=None
        Estimator with all other parameters. None is ``SupervisedVBNMF()``.
    vectorizer : DocumentVectorizer or None, default=None
        Vectorizer of texts. It is fitted to the training documents only.
    validation : float, default=0.25
        Fraction of the labelled documents to hold out for validation, stratified by label. Each
        label keeps at least one document for training.
    random_state : int, default=0
        Seed of the split and of the fits.
    checkpoint : path or None, default=None
        CSV file of the results, written after each candidate. If it exists, the search is resumed.
        Until the search ends, a folder beside it holds the scores of each validation document.
    progress : callable or None, default=None
        Called with a ``Step`` after each iteration and each candidate.
    engine : "auto", name of a cluster, or its settings, default="auto"
        Where candidates are fitted: in this process, or several at a time on the workers of a
        cluster, as for ``SupervisedVBNMF``. The results are the same.

    Returns
    -------
    Tuning
        The scores of all candidates, and the recommended settings.

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen, C. Stone (1984). Classification and Regression Trees.
    Wadsworth.

    Examples
    --------
    >>> import numpy as np
    >>> from vbnmf import tune
    >>> rng = np.random.default_rng(0)
    >>> tea, coffee = rng.poisson([3, 3, 0, 1], (40, 4)), rng.poisson([0, 1, 3, 3], (40, 4))
    >>> X = np.vstack([tea, coffee])
    >>> found = tune(X, ["tea"] * 40 + ["coffee"] * 40, n_components=[2, 6])
    >>> found.recommended
    {'n_components': 2, 'label_shape': 'auto'}
    >>> found.table["n_components"]
    [2, 6]
    """
    estimator = _checked_estimator(estimator)
    seed = check_count("random_state", random_state, least=0)
    split = prepare(X, y, estimator, vectorizer, validation, seed)
    candidates = _candidates(split, n_components, label_shapes)
    reports = None if progress is None else _Reports(progress, candidates)
    tell = None if reports is None else reports.tell
    fits = CandidateFits(split.adapted(estimator).set_params(random_state=seed), split, tell)
    key = _fingerprint(split, (candidates, seed, validation, _settings(estimator)))
    with SearchRecord.opened(checkpoint, key) as kept:
        missing = [candidate for candidate in candidates if candidate not in kept.rows]
        if reports is not None:
            reports.begin(missing)
        for row, documents in _results(engine, fits, missing):
            kept.add(row, documents)
            if reports is not None:
                reports.finish(row.candidate)
        rows = tuple(kept.rows[candidate] for candidate in candidates)
        if not all(row.is_compared for row in rows):
            rows = compare(rows, {each: kept.documents(each) for each in candidates})
            kept.settle(rows)
    chosen = recommended_of(rows)
    return Tuning(
        rows=rows,
        best=best_of(rows).parameters,
        recommended=chosen.parameters,
        recommendation=words(rows, split.measure, split.n_validation),
        estimator=clone(estimator).set_params(random_state=seed, **chosen.parameters),
        measure=split.measure,
        n_validation=split.n_validation,
    )


def _results(
    engine: Any, fits: "CandidateFits", missing: Sequence[Candidate]
) -> Iterator[tuple[Trial, DocumentScores]]:
    """Yield the results of candidates in their order."""
    if isinstance(engine, str) and engine == "auto":
        return map(fits.run, missing)
    return _on_cluster(engine, fits, missing) if missing else iter(())


def _on_cluster(
    engine: Any, fits: "CandidateFits", candidates: Sequence[Candidate]
) -> Iterator[tuple[Trial, DocumentScores]]:
    """Fit candidates on the workers of a cluster, several at a time.

    Candidates are sent to the workers, which send back the parts of fits that are done, and the
    results. A worker runs a task on each of its threads. So a fit has one thread, unless the
    estimator says otherwise.
    """
    from vbnmf.distributed.tasks import map_on_cluster

    estimator, report = clone(fits.estimator), fits.tell
    if (estimator.n_jobs or 0) < 0:
        estimator.set_params(n_jobs=1)
    sent = replace(fits, estimator=estimator, tell=None if report is None else _send_part)

    def receive(message: Any) -> None:
        k, shape, part = message
        assert report is not None
        report((k, shape), part)

    tasks = ((candidate,) for candidate in candidates)
    return map_on_cluster(
        engine, sent, CandidateFits.run, tasks, None if report is None else receive
    )


def _send_part(candidate: Candidate, part: float) -> None:
    """Send the part of a candidate that is done from a worker to the client."""
    from vbnmf.distributed.tasks import send

    send([*candidate, part])


@dataclass(frozen=True)
class CandidateFits:
    """Fit and score candidates.

    Attributes
    ----------
    estimator : SupervisedVBNMF
        All parameters except those of the candidate.
    split : Split
        Training and validation documents.
    tell : callable or None
        Called with the candidate and the part of its fit that is done.
    """

    estimator: SupervisedVBNMF
    split: Split
    tell: Callable[[Candidate, float], None] | None

    def run(self, candidate: Candidate) -> tuple[Trial, DocumentScores]:
        """Fit and score a candidate."""
        begin = time.perf_counter()
        k, shape = candidate
        model = clone(self.estimator).set_params(n_components=k, label_shape=shape)
        tell = self.tell
        if tell is not None:
            model.set_params(callback=lambda at: tell(candidate, _part(at)))
        model.fit(self.split.X, self.split.y)
        scores, documents = score(model, self.split)
        seconds = time.perf_counter() - begin
        return Trial(k, shape, iterations=model.n_iter_, seconds=seconds, **scores), documents


class _Reports:
    """Reports the progress of a search, and estimates how long it still takes.

    The time of a candidate is taken to be proportional to ``_cost``. The factor comes from the
    candidates that have been fitted since the start, here or on several workers.
    """

    def __init__(self, progress: Callable[[Step], None], candidates: Sequence[Candidate]) -> None:
        self._progress, self._candidates = progress, candidates
        self._parts = dict.fromkeys(candidates, 1.0)
        self._to_do = self._left = 0.0  # costs of candidates, at the start and now
        self._start = self._last = time.monotonic()

    def begin(self, missing: Sequence[Candidate]) -> None:
        """Start the clock; ``missing`` are the candidates that are not in the checkpoint."""
        self._parts |= dict.fromkeys(missing, 0.0)
        self._to_do = self._left = sum(map(_cost, missing))
        self._start = self._last = time.monotonic()

    def tell(self, candidate: Candidate, part: float) -> None:
        """Report that part of the fit of a candidate is done."""
        self._parts[candidate] = max(self._parts[candidate], part)
        self._report(candidate)

    def finish(self, candidate: Candidate) -> None:
        """Report that a candidate is finished."""
        self._parts[candidate] = 1.0
        self._left -= _cost(candidate)
        self._last = time.monotonic()
        following = (each for each in self._candidates if self._parts[each] < 1)
        self._report(next(following, candidate))

    def _report(self, candidate: Candidate) -> None:
        costs = {each: _cost(each) for each in self._candidates}
        done = sum(cost * self._parts[each] for each, cost in costs.items())
        finished = sum(part == 1 for part in self._parts.values())
        total = len(costs)
        part = 1.0 if finished == total else done / sum(costs.values())
        self._progress(Step(finished, total, part, self._seconds_left(), *candidate))

    def _seconds_left(self) -> float:
        done = self._to_do - self._left
        if not done:
            return float("nan")
        since = time.monotonic() - self._last
        left = (self._last - self._start) / done * self._left - since
        return left if left > 0 else float("nan")


def _cost(candidate: Candidate) -> float:
    """Return what the time of a fit is proportional to, roughly."""
    return _CONSTANT + candidate[0]


def _part(at: Progress) -> float:
    """Return the part of the time of a fit that is done, roughly, less than 1."""
    if at.stage == FITTING:
        return _SEARCHED + (_FITTED - _SEARCHED) * at.iteration / at.max_iter
    return _FITTED if at.stage == HEAD else 0.0


def _checked_estimator(estimator: Any) -> SupervisedVBNMF:
    if estimator is None:
        return SupervisedVBNMF()
    if not isinstance(estimator, SupervisedVBNMF):
        raise TypeError(
            f"estimator must be a SupervisedVBNMF; got {type(estimator).__name__}. Candidates are "
            "scored by their predicted labels."
        )
    if not isinstance(estimator.init, str):
        raise ValueError(
            "init must be a name and not an array, because the number of components varies."
        )
    return estimator


def _candidates(split: Split, n_components: Any, label_shapes: Any) -> tuple[Candidate, ...]:
    """Return the pairs of n_components and label_shape, sorted."""
    # as objects, because NumPy would convert "auto" and numbers to strings
    shapes = np.atleast_1d(np.asarray("auto" if label_shapes is None else label_shapes, object))
    counts = (
        default_grid(split.n_labels, split.X.shape[0])
        if n_components is None
        else np.atleast_1d(n_components).tolist()
    )
    if not counts or not len(shapes):
        raise ValueError("n_components and label_shapes must each have at least one value.")
    ks = {check_count("n_components", k) for k in counts}
    checked: set[LabelShape] = {check_label_shape(shape) or "auto" for shape in shapes}
    return tuple(sorted(((k, shape) for k in ks for shape in checked), key=order))


def default_grid(n_labels: int, n_docs: int) -> list[int]:
    """Return the default numbers of components to try, from the number of labels."""
    fewest = max(n_labels, FEWEST)
    usual = [min(round(factor * fewest), MOST) for factor in FACTORS]
    return sorted({min(k, n_docs) for k in (*usual, default_components(n_labels))})


def _settings(estimator: SupervisedVBNMF) -> list[tuple[str, str]]:
    parameters = estimator.get_params()
    return [(n, repr(v)) for n, v in sorted(parameters.items()) if n not in _WITHOUT_EFFECT]


def _fingerprint(split: Split, settings: object) -> str:
    """Return a short hash of everything that the results depend on."""
    digest = hashlib.sha256(repr((vbnmf.__version__, settings)).encode())
    for matrix in (split.X, split.X_validation, split.Y, split.Y_validation):
        digest.update(repr((matrix.shape, matrix.dtype)).encode())
        for array in (matrix.data, matrix.indices, matrix.indptr):
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]
