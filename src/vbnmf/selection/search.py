"""Choose ``n_components`` and ``label_shape`` on validation documents by successive halving.

All candidates are fitted for some iterations and scored. The better half continues from its
components, and so on, until few candidates are left. These are fitted from the start until they
converge, exactly as an estimator with these parameters is fitted. So their scores are those of such
a model.

References
----------
K. Jamieson, A. Talwalkar (2016). Non-stochastic best arm identification and hyperparameter
optimization. Proceedings of the 19th International Conference on Artificial Intelligence and
Statistics, 240-248.
"""

import hashlib
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil, log2
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import vbnmf
from vbnmf.core.fit import FITTING, HEAD, Progress
from vbnmf.estimators import SupervisedVBNMF
from vbnmf.estimators.base import burn_in_of
from vbnmf.estimators.validation import check_count, check_label_shape, default_components
from vbnmf.selection.advice import (
    LabelShape,
    Trial,
    best_of,
    order,
    preferred,
    recommended_of,
    words,
)
from vbnmf.selection.checkpoint import SearchRecord, WarmStart
from vbnmf.selection.clustersearch import Listener, spread
from vbnmf.selection.holdout import Split, prepare, score

LABEL_SHAPES: tuple[LabelShape, ...] = ("auto", 30.0, 100.0, 300.0, 1000.0)
FINALISTS = 5  # maximum number of candidates that are fitted until they converge
# Iterations after burn-in of the first two rungs; they double from then on. docs/tuning.md has how
# well they distinguish candidates.
ITERATIONS = 30

_WITHOUT_EFFECT = ("n_components", "label_shape", "random_state", "n_jobs", "verbose", "callback")


@dataclass(frozen=True)
class Step:
    """Progress of a search after an iteration of a candidate.

    Attributes
    ----------
    rung, n_rungs : int
        Number of the rung, from 0, and number of rungs.
    done, total : int
        Number of finished candidates and of all candidates in this rung.
    part : float
        Estimated share of the search that is done, from 0 to 1.
    n_components, label_shape
        The candidate.
    accuracy : float
        Best accuracy in this rung so far; NaN before the first candidate.
    """

    rung: int
    n_rungs: int
    done: int
    total: int
    part: float
    n_components: int
    label_shape: LabelShape
    accuracy: float


@dataclass(frozen=True)
class Tuning:
    """Result of a search.

    Attributes
    ----------
    rows : tuple of Trial
        One row for each candidate in each rung that it reached.
    best : dict
        ``n_components`` and ``label_shape`` of the most accurate candidate in the last rung.
    recommended : dict
        Settings with the fewest components within one standard error of the best. Among these,
        label shape "auto" is preferred.
    recommendation : str
        Explanation of the recommended settings, with alternatives and uncertainty.
    estimator : SupervisedVBNMF
        An unfitted estimator with the recommended parameters.
    measure : str
        The score: "accuracy", or "micro F1" if documents may have several labels.
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
    """Choose the number of components and the label shape by validation on held-out documents.

    Parameters
    ----------
    X : matrix of shape (n_docs, n_terms), or iterable of str
        Documents: weights of terms, or texts if a ``vectorizer`` is given.
    y : array-like of shape (n_docs,), lists of labels, or matrix of shape (n_docs, n_labels)
        Labels, as for ``SupervisedVBNMF.fit``. Documents with unknown labels are used only for
        training.
    n_components : int, sequence of int or None, default=None
        Numbers of components to try. None tries one, two and four times the number of labels, from
        10 to 200, and the default of ``SupervisedVBNMF``.
    label_shapes : float, "auto", sequence of these or None, default=None
        Label shapes to try. None tries "auto", 30, 100, 300 and 1000.
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
        Until the search ends, a folder beside it holds components.
    progress : callable or None, default=None
        Called with a ``Step`` after each iteration and each candidate; with ``engine="dask"``
        only after each candidate.
    engine : {"auto", "dask"} or Dask, default="auto"
        Where candidates are fitted: in this process, or several at a time on the workers of the
        current ``distributed.Client``. The results are the same.

    Returns
    -------
    Tuning
        The scores of all candidates, and the recommended settings.

    References
    ----------
    K. Jamieson, A. Talwalkar (2016). Non-stochastic best arm identification and hyperparameter
    optimization. Proceedings of the 19th International Conference on Artificial Intelligence and
    Statistics, 240-248.

    Examples
    --------
    >>> import numpy as np
    >>> from vbnmf import tune
    >>> rng = np.random.default_rng(0)
    >>> tea, coffee = rng.poisson([3, 3, 0, 1], (40, 4)), rng.poisson([0, 1, 3, 3], (40, 4))
    >>> X = np.vstack([tea, coffee])
    >>> found = tune(X, ["tea"] * 40 + ["coffee"] * 40, n_components=[2, 6], label_shapes=10)
    >>> found.recommended
    {'n_components': 2, 'label_shape': 10.0}
    """
    estimator = _checked_estimator(estimator)
    seed = check_count("random_state", random_state, least=0)
    split = prepare(X, y, estimator, vectorizer, validation, seed)
    candidates = _candidates(split, n_components, label_shapes)
    n_rungs = 1 + max(0, ceil(log2(len(candidates) / FINALISTS)))
    ladder = _Ladder(
        split.adapted(estimator).set_params(random_state=seed),
        split,
        n_rungs,
        progress,
    )
    key = _fingerprint(split, (candidates, n_rungs, seed, validation, _settings(estimator)))
    with SearchRecord.opened(checkpoint, key) as kept:
        rows = _climb(candidates, ladder, kept, spread(engine, ladder))
    last = [row for row in rows if row.rung == n_rungs - 1]
    best, chosen = best_of(last), recommended_of(last)
    return Tuning(
        rows=tuple(rows),
        best=best.parameters,
        recommended=chosen.parameters,
        recommendation=words(rows, last, split.measure, split.n_validation),
        estimator=clone(estimator).set_params(random_state=seed, **chosen.parameters),
        measure=split.measure,
        n_validation=split.n_validation,
    )


def _climb(
    candidates: Sequence[tuple[int, LabelShape]],
    ladder: "_Ladder",
    kept: SearchRecord,
    make_tasks: Callable[[], Any] | None = None,
) -> list[Trial]:
    """Run all rungs, and return all rows. Candidates in the checkpoint are not run again.

    ``make_tasks`` returns a map over the workers of a cluster, and is called if any row is missing.
    None fits one candidate after the other here.
    """

    def begun(
        rung: int, candidate: tuple[int, LabelShape]
    ) -> tuple[int, tuple[int, LabelShape], Trial | None, WarmStart | None]:
        before = kept.row(rung - 1, candidate)
        start = kept.read(before) if before and ladder.goes_on(rung) else None
        return rung, candidate, before, start

    going = list(candidates)
    rows: list[Trial] = []
    tasks = None
    for rung in range(ladder.n_rungs):
        done: list[Trial] = []
        missing = [candidate for candidate in going if kept.row(rung, candidate) is None]
        elsewhere, running = None, Listener(ladder, rung, len(going), done)
        if make_tasks is not None and missing:
            tasks = tasks or make_tasks()
            hear = None if ladder.progress is None else running
            elsewhere = tasks.map(_Ladder.run, (begun(rung, each) for each in missing), hear)
        for place, candidate in enumerate(going):
            row = kept.row(rung, candidate)
            if row is None:
                if elsewhere is not None:
                    row, further = next(elsewhere)
                else:
                    row, further = ladder.run(*begun(rung, candidate), done, len(going))
                if ladder.goes_on(rung + 1):
                    kept.write(row, further)
                kept.add(row)
            done.append(row)
            following = going[min(place + 1, len(going) - 1)]
            ladder.tell(rung, len(going), done, *following, running.part)
        if rung < ladder.n_rungs - 1:
            going = [row.candidate for row in _survivors(done)]
            done = [replace(row, survived=row.candidate in going) for row in done]
        else:
            done = [replace(row, survived=True) for row in done]
        rows += done
        kept.settle(rows, rung)
    return rows


def _survivors(rows: Sequence[Trial]) -> list[Trial]:
    """Return the better half, and the preferred row of each number of components.

    The preferred rows are kept so that simpler settings that are as good are not dropped by chance.
    """
    ranked = sorted(rows, key=lambda row: row.rank, reverse=True)
    kept = [*ranked[: (len(ranked) + 1) // 2], *preferred(rows)]
    return [row for row in rows if row in kept]


@dataclass(frozen=True)
class _Ladder:
    """Fit and score candidates in each rung."""

    estimator: SupervisedVBNMF
    split: Split
    n_rungs: int
    progress: Callable[[Step], None] | None

    def goes_on(self, rung: int) -> bool:
        """Return whether candidates in this rung continue from their components."""
        return 0 < rung < self.n_rungs - 1

    def run(
        self,
        rung: int,
        candidate: tuple[int, LabelShape],
        before: Trial | None,
        start: WarmStart | None,
        done: Sequence[Trial] = (),
        total: int = 1,
    ) -> tuple[Trial, WarmStart]:
        """Fit and score a candidate; return its row, and components from which it can continue."""
        begin = time.perf_counter()
        k, shape = candidate
        model = clone(self.estimator).set_params(n_components=k, label_shape=shape)
        last = rung == self.n_rungs - 1
        if not last:
            burn_in = burn_in_of(model.burn_in, model.init)
            n = ITERATIONS * 2 ** max(0, rung - 1) + (burn_in if rung == 0 else 0)
            model.set_params(max_iter=min(n, model.max_iter))
        if start is not None:
            scopes = "all" if start.scopes is None else start.scopes
            model.set_params(init=start.components, burn_in=0, scopes=scopes, label_tree=None)
        if self.progress is not None:
            model.set_params(callback=lambda at: self.tell(rung, total, done, k, shape, _part(at)))
        with warnings.catch_warnings():
            if not last:  # earlier rungs stop before convergence on purpose
                warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(self.split.X, self.split.y)
        scores = score(model, self.split)
        inherited = before.iterations if start is not None and before is not None else 0
        row = Trial(k, shape, rung, inherited + model.n_iter_, *scores, time.perf_counter() - begin)
        found = model.scopes_.astype(np.uint8) if model.scoped_ else None
        return row, WarmStart(model.components_, found)

    def tell(
        self,
        rung: int,
        total: int,
        done: Sequence[Trial],
        k: int,
        shape: LabelShape,
        part: float = 0.0,
    ) -> None:
        """Report progress, assuming that all rungs take about the same time."""
        if self.progress is None:
            return
        part = (rung + min(1.0, (len(done) + part) / total)) / self.n_rungs
        best = max((row.accuracy for row in done), default=float("nan"))
        self.progress(Step(rung, self.n_rungs, len(done), total, part, k, shape, best))


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


def _candidates(
    split: Split, n_components: Any, label_shapes: Any
) -> tuple[tuple[int, LabelShape], ...]:
    """Return the pairs of n_components and label_shape, sorted."""
    # as objects, because NumPy would convert "auto" and numbers to strings
    shapes = np.atleast_1d(
        np.asarray(LABEL_SHAPES if label_shapes is None else label_shapes, object)
    )
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
    by_labels = (n_labels, 2 * n_labels, 4 * n_labels)
    usual = [*(min(max(k, 10), 200) for k in by_labels), default_components(n_labels)]
    return sorted({min(k, n_docs) for k in usual})


def _settings(estimator: SupervisedVBNMF) -> list[tuple[str, str]]:
    parameters = estimator.get_params()
    return [(n, repr(v)) for n, v in sorted(parameters.items()) if n not in _WITHOUT_EFFECT]


def _fingerprint(split: Split, settings: object) -> str:
    """Return a short hash of everything that the results depend on."""
    digest = hashlib.sha256(repr((vbnmf.__version__, ITERATIONS, FINALISTS, settings)).encode())
    for matrix in (split.X, split.X_validation, split.Y, split.Y_validation):
        digest.update(repr((matrix.shape, matrix.dtype)).encode())
        for array in (matrix.data, matrix.indices, matrix.indptr):
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


def _part(at: Progress) -> float:
    """Return the part of a fit that is done."""
    if at.stage == FITTING:
        return at.iteration / at.max_iter
    return 1.0 if at.stage == HEAD else 0.0
