"""Choose and explain the recommended settings from the results of ``tune``."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

LabelShape = float | Literal["auto"]

_NOTICEABLE = 0.01  # minimum difference of inter-label sparsity to mention


def order(candidate: tuple[int, LabelShape]) -> tuple[int, float]:
    """Return the sort key of a candidate (n_components, label_shape); "auto" comes first."""
    k, shape = candidate
    return k, 0.0 if shape == "auto" else shape


def shown(shape: LabelShape) -> str:
    """Format a label shape."""
    return shape if shape == "auto" else f"{shape:g}"


@dataclass(frozen=True)
class Trial:
    """Result of a candidate in one rung (round) of successive halving.

    Attributes
    ----------
    n_components : int
        Number of components.
    label_shape : float or "auto"
        Label shape.
    rung : int
        Number of the rung, from 0. Only fits of the last rung have converged.
    iterations : int
        Number of iterations, including those of earlier rungs that the fit continued.
    accuracy : float
        Accuracy on the validation documents; micro F1 if documents may have several labels.
    standard_error : float
        Standard error of the accuracy.
    macro_accuracy : float
        Mean recall over labels; macro F1 if documents may have several labels.
    bound : float
        Mean lower bound of the log-likelihood of a validation document.
    inter_label_sparsity : float
        Inter-label sparsity of the coefficients of validation documents, equation (13) of the
        paper.
    seconds : float
        Time to fit and to score.
    survived : bool or None
        Whether the candidate continued to the next rung or reached the last one. None if not yet
        known.
    """

    n_components: int
    label_shape: LabelShape
    rung: int
    iterations: int
    accuracy: float
    standard_error: float
    macro_accuracy: float
    bound: float
    inter_label_sparsity: float
    seconds: float
    survived: bool | None = None

    @property
    def candidate(self) -> tuple[int, LabelShape]:
        """Settings that identify the candidate."""
        return self.n_components, self.label_shape

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of ``SupervisedVBNMF``."""
        return {"n_components": self.n_components, "label_shape": self.label_shape}

    @property
    def rank(self) -> tuple[float, float, int]:
        """Sort key: accuracy, then inter-label sparsity, then fewer components."""
        return self.accuracy, self.inter_label_sparsity, -self.n_components


def best_of(rows: Sequence[Trial]) -> Trial:
    """Return the most accurate row."""
    return max(rows, key=lambda row: row.rank)


def near(rows: Sequence[Trial]) -> list[Trial]:
    """Return the rows within one standard error of the most accurate row, which is included."""
    best = best_of(rows)
    return [row for row in rows if row.accuracy >= best.accuracy - best.standard_error]


def recommended_of(rows: Sequence[Trial]) -> Trial:
    """Return the row with the fewest components within one standard error of the best row."""
    return min(preferred(rows), key=lambda row: row.n_components)


def preferred(rows: Sequence[Trial]) -> list[Trial]:
    """Return one row for each number of components within one standard error of the best row.

    If a row with label shape "auto" (the default) is within one standard error, it is chosen.
    Otherwise the best row with this number of components is chosen.
    """
    close = near(rows)
    return [
        max(
            (row for row in close if row.n_components == k),
            key=lambda row: (row.label_shape == "auto", *row.rank),
        )
        for k in sorted({row.n_components for row in close})
    ]


def words(rows: Sequence[Trial], last: Sequence[Trial], measure: str, n_validation: int) -> str:
    """Return the recommendation in words, from all rows and those of the last rung."""
    best, chosen = best_of(last), recommended_of(last)
    sparsest = max(near(last), key=lambda row: row.inter_label_sparsity)
    n_tried = len({row.candidate for row in rows})
    said = [
        f"Best on {n_validation:,} validation documents: {_named(best)}, {measure} "
        f"{best.accuracy:.3f} ± {best.standard_error:.3f}."
    ]
    if chosen is best:
        smaller = any(row.n_components < best.n_components for row in rows)
        why = ": no setting with fewer components is within one standard error" if smaller else ""
        said.append(f"It is recommended{why}.")
    else:
        fewer = chosen.n_components < best.n_components
        gain = (
            f"with {chosen.n_components} components instead of {best.n_components}"
            if fewer
            else "with the default label_shape"
        )
        said.append(
            f"Recommended: {_named(chosen)}, {measure} {chosen.accuracy:.3f}. That is within one "
            f"standard error of the best, {gain}. Inter-label sparsity is "
            f"{chosen.inter_label_sparsity:.3f} instead of {best.inter_label_sparsity:.3f}."
        )
    if sparsest.inter_label_sparsity > chosen.inter_label_sparsity + _NOTICEABLE:
        said.append(
            f"As good, but with sparser labels: {_named(sparsest)}, inter-label sparsity "
            f"{sparsest.inter_label_sparsity:.3f}, {measure} {sparsest.accuracy:.3f}. Use it if "
            "labels should share few components."
        )
    said += _edges(rows, best)
    unsure = 2 * best.standard_error
    said.append(
        f"With {n_validation:,} validation documents, the {measure} is known to about "
        f"±{unsure:.3f} (two standard errors). Settings closer than that cannot be distinguished."
    )
    if n_tried > 1:
        said.append(
            f"The score of the best of {n_tried} settings is slightly optimistic. Evaluate the "
            "final model on other held-out documents."
        )
    return " ".join(said)


def _named(row: Trial) -> str:
    return f"{row.n_components} components with label_shape {shown(row.label_shape)}"


def _edges(rows: Sequence[Trial], best: Trial) -> list[str]:
    """Return a note if the best value is the smallest or largest that was tried."""
    said = []
    for name in ("n_components", "label_shape"):
        tried = sorted({getattr(row, name) for row in rows} - {"auto"})
        value = getattr(best, name)
        if len(tried) > 1 and value in (tried[0], tried[-1]):
            end, more = ("smallest", "smaller") if value == tried[0] else ("largest", "larger")
            said.append(f"The best {name} is the {end} that was tried. Try {more} values too.")
    return said
