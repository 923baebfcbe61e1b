"""What the results of ``tune`` say: the best, the smallest that is as good, and how sure we are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

LabelShape = float | Literal["auto"]

_NOTICEABLE = 0.01  # difference of inter-label sparsity that is worth a word


def order(candidate: tuple[int, LabelShape]) -> tuple[int, float]:
    """What candidates, n_components and label_shape, are sorted by: "auto" comes first."""
    k, shape = candidate
    return k, 0.0 if shape == "auto" else shape


def shown(shape: LabelShape) -> str:
    """A label shape as people read it."""
    return shape if shape == "auto" else f"{shape:g}"


@dataclass(frozen=True)
class Trial:
    """A candidate in one rung.

    Attributes
    ----------
    n_components : int
    label_shape : float or "auto"
    rung : int
        From 0; only those of the last rung have converged.
    iterations : int
        All that led to the components, in earlier rungs too where it went on from them.
    accuracy : float
        Part of the validation documents whose label was found; micro F1 where documents may have
        several labels.
    standard_error : float
        Of the accuracy.
    macro_accuracy : float
        Mean over labels of the part that was found; macro F1 where documents may have several.
    bound : float
        Lower bound of the log likelihood of a validation document, on average.
    inter_label_sparsity : float
        Of the coefficients of validation documents; (13) of the paper.
    seconds : float
        To fit and to score.
    survived : bool or None
        Whether it went on to the next rung, or reached the last; None while that is open.
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
        """What tells candidates apart."""
        return self.n_components, self.label_shape

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of ``SupervisedVBNMF``."""
        return {"n_components": self.n_components, "label_shape": self.label_shape}

    @property
    def rank(self) -> tuple[float, float, int]:
        """The larger the better: accuracy, then sparsity by label, then fewer components."""
        return self.accuracy, self.inter_label_sparsity, -self.n_components


def best_of(rows: Sequence[Trial]) -> Trial:
    """The most accurate row."""
    return max(rows, key=lambda row: row.rank)


def near(rows: Sequence[Trial]) -> list[Trial]:
    """Rows within one standard error of the most accurate one, which is among them."""
    best = best_of(rows)
    return [row for row in rows if row.accuracy >= best.accuracy - best.standard_error]


def recommended_of(rows: Sequence[Trial]) -> Trial:
    """The fewest components within one standard error of the most accurate row."""
    return min(preferred(rows), key=lambda row: row.n_components)


def preferred(rows: Sequence[Trial]) -> list[Trial]:
    """One row for each number of components that comes within one standard error of the best.

    It is "auto", which is one knob less, and treats rare and common labels alike; or the best of
    them where that does not come as near.
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
    """A recommendation, of all rows and of those in the last rung."""
    best, chosen = best_of(last), recommended_of(last)
    sparsest = max(near(last), key=lambda row: row.inter_label_sparsity)
    n_tried = len({row.candidate for row in rows})
    said = [
        f"Best on {n_validation:,} validation documents: {_named(best)}, {measure} "
        f"{best.accuracy:.3f} ± {best.standard_error:.3f}."
    ]
    if chosen is best:
        smaller = any(row.n_components < best.n_components for row in rows)
        why = ": nothing with fewer components came within one standard error" if smaller else ""
        said.append(f"It is recommended{why}.")
    else:
        fewer = chosen.n_components < best.n_components
        gain = (
            f"with {chosen.n_components} components to read instead of {best.n_components}"
            if fewer
            else "with the default, which goes by the number of documents of each label"
        )
        said.append(
            f"Recommended: {_named(chosen)}, {measure} {chosen.accuracy:.3f}. That is within one "
            f"standard error of the best, {gain}; inter-label sparsity is "
            f"{chosen.inter_label_sparsity:.3f} instead of {best.inter_label_sparsity:.3f}."
        )
    if sparsest.inter_label_sparsity > chosen.inter_label_sparsity + _NOTICEABLE:
        said.append(
            f"As good, and sparser by label: {_named(sparsest)}, inter-label sparsity "
            f"{sparsest.inter_label_sparsity:.3f}, {measure} {sparsest.accuracy:.3f}; take it if "
            "labels should share few components."
        )
    said += _edges(rows, best)
    unsure = 2 * best.standard_error
    said.append(
        f"How sure: {n_validation:,} documents tell the {measure} to about ±{unsure:.3f} (two "
        "standard errors), and settings closer than that are hardly told apart."
    )
    if n_tried > 1:
        said.append(
            f"The best of {n_tried} looks a little better than it is: measure the model that you "
            "keep on documents that took no part in this."
        )
    return " ".join(said)


def _named(row: Trial) -> str:
    return f"{row.n_components} components with label_shape {shown(row.label_shape)}"


def _edges(rows: Sequence[Trial], best: Trial) -> list[str]:
    """Say where the best lies at an end of what was tried, beyond which there may be a better."""
    said = []
    for name in ("n_components", "label_shape"):
        tried = sorted({getattr(row, name) for row in rows} - {"auto"})
        value = getattr(best, name)
        if len(tried) > 1 and value in (tried[0], tried[-1]):
            end = "smallest" if value == tried[0] else "largest"
            said.append(f"The best {name} is the {end} that was tried: try further ones.")
    return said
