"""Choose and explain the recommended settings from the results of ``tune``.

The candidates are compared with the one that has the best held-out log-likelihood. A candidate is
as good if

    its log-likelihood is lower by at most one standard error of the paired difference, and
    its accuracy is lower by at most one standard error of the paired difference.

Of these candidates, the ones with the smallest share of glued components remain, which is usually
none. Of these, the one with the fewest components is recommended. ``metrics.ratios`` has the
standard errors.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import isfinite, isnan, nan
from typing import Any, Literal

LabelShape = float | Literal["auto"]
Candidate = tuple[int, LabelShape]


def order(candidate: Candidate) -> tuple[int, float]:
    """Return the sort key of a candidate (n_components, label_shape); "auto" comes first."""
    k, shape = candidate
    return k, 0.0 if shape == "auto" else shape


def shown(shape: LabelShape) -> str:
    """Format a label shape."""
    return shape if shape == "auto" else f"{shape:g}"


@dataclass(frozen=True)
class Trial:
    """Result of a candidate.

    Attributes
    ----------
    n_components : int
        Number of components asked for.
    label_shape : float or "auto"
        Label shape.
    n_found : int
        Number of components of the fitted model, which may differ from the number asked for.
    iterations : int
        Number of iterations of the fit.
    log_likelihood, log_likelihood_error : float
        Log-likelihood of the validation documents per unit of weight, by document completion, and
        its standard error.
    accuracy, accuracy_error : float
        Accuracy on the validation documents, or micro F1 if documents may have several labels, and
        its standard error.
    macro_accuracy : float
        Mean recall over labels; macro F1 if documents may have several labels.
    shared : int
        Number of components that several labels share, but not all, and whose agreement is known.
    agreeing : int
        Number of these whose agreement is at least 0.8: their labels use the same terms of it.
    glued : int
        Number of these whose agreement is below 0.5: two topics under one name.
    measures : dict of str to float
        Other measures of the validation documents by key: those of ``vbnmf.evaluation.MEASURES``
        that ``tune`` prints. NaN if a measure is not defined.
    seconds : float
        Time to fit and to score.
    likelihood_below, likelihood_below_error : float
        How much lower the log-likelihood is than that of the best candidate, and the standard error
        of this paired difference. NaN until all candidates have been fitted.
    accuracy_below, accuracy_below_error : float
        The same for the accuracy, compared with the same candidate. It is negative if the accuracy
        is higher.
    """

    n_components: int
    label_shape: LabelShape
    n_found: int
    iterations: int
    log_likelihood: float
    log_likelihood_error: float
    accuracy: float
    accuracy_error: float
    macro_accuracy: float
    shared: int
    agreeing: int
    glued: int
    measures: dict[str, float]
    seconds: float
    likelihood_below: float = nan
    likelihood_below_error: float = nan
    accuracy_below: float = nan
    accuracy_below_error: float = nan

    @property
    def candidate(self) -> Candidate:
        """Settings that identify the candidate."""
        return self.n_components, self.label_shape

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of ``SupervisedVBNMF``."""
        return {"n_components": self.n_components, "label_shape": self.label_shape}

    def as_row(self) -> dict[str, Any]:
        """Return all values by name, with each measure under its own key."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        at = list(values).index("measures")
        items = list(values.items())
        return dict([*items[:at], *self.measures.items(), *items[at + 1 :]])

    @property
    def is_compared(self) -> bool:
        """Whether the candidate has been compared with the best one."""
        return not isnan(self.likelihood_below)

    @property
    def is_likely(self) -> bool:
        """Whether the log-likelihood is within one standard error of the best."""
        return self.likelihood_below <= self.likelihood_below_error

    @property
    def is_accurate(self) -> bool:
        """Whether the accuracy is not lower by more than one standard error."""
        return self.accuracy_below <= self.accuracy_below_error

    @property
    def glued_share(self) -> float:
        """Share of the shared components that are glued; 0 if none is shared."""
        return self.glued / max(self.shared, 1)

    @property
    def size(self) -> tuple[int, bool, float]:
        """Sort key: fewer components, then "auto" before other label shapes, then likelihood."""
        return self.n_found, self.label_shape != "auto", -self.log_likelihood


def best_of(rows: Sequence[Trial]) -> Trial:
    """Return the row with the best log-likelihood; of equal ones, that with fewest components."""
    return min(rows, key=lambda row: (-row.log_likelihood, *row.size))


def recommended_of(rows: Sequence[Trial]) -> Trial:
    """Return the recommended row: see the top of this file."""
    as_good = [row for row in rows if row.is_likely and row.is_accurate]
    return min(as_good, key=lambda row: (row.glued_share, *row.size))


def words(rows: Sequence[Trial], measure: str, n_validation: int) -> str:
    """Return the recommendation in words.

    Parameters
    ----------
    rows : sequence of Trial
        All candidates, which have been compared.
    measure : str
        Name of the accuracy.
    n_validation : int
        Number of validation documents.
    """
    best, chosen = best_of(rows), recommended_of(rows)
    several_shapes = len({row.label_shape for row in rows}) > 1
    sentences = [
        f"Recommended: {_named(chosen, several_shapes)}{_reason(rows, measure, several_shapes)}."
    ]
    documents = count(n_validation, "validation document")
    on = f"On {documents}, the log-likelihood per unit of weight is"
    if chosen is best:
        likelihood = _with_error(chosen.log_likelihood, chosen.log_likelihood_error)
        accuracy = _with_error(chosen.accuracy, chosen.accuracy_error)
        sentences.append(f"{on} {likelihood}, and the {measure} is {accuracy}.")
    else:
        lower = _with_error(chosen.likelihood_below, chosen.likelihood_below_error)
        change = _with_error(-chosen.accuracy_below, chosen.accuracy_below_error)
        sentences.append(
            f"{on} {chosen.log_likelihood:.3f}, which is lower by {lower}. The {measure} is "
            f"{chosen.accuracy:.3f} instead of {best.accuracy:.3f}, a difference of {change}."
        )
    sentences += [*_glue(chosen), *_edge(rows, chosen)]
    if len(rows) > 1:
        sentences.append(
            "The validation documents were used to choose, so evaluate the final model on other "
            "documents."
        )
    return " ".join(sentences)


def _named(row: Trial, with_shape: bool) -> str:
    asked = "" if row.n_found == row.n_components else f" ({row.n_components} asked for)"
    shape = f" with label_shape {shown(row.label_shape)}" if with_shape else ""
    return f"{count(row.n_found, 'component')}{asked}{shape}"


def _with_error(value: float, error: float) -> str:
    shown_error = f"± {error:.3f}" if isfinite(error) else "(its standard error is not known)"
    return f"{round(value, 3) + 0.0:.3f} {shown_error}"  # + 0.0 turns -0.0 into 0.0


def count(n: int, noun: str) -> str:
    """Format a number of things: "1 document", "2,000 documents"."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def _reason(rows: Sequence[Trial], measure: str, several_shapes: bool) -> str:
    """Return why the row is recommended, as a clause."""
    best, chosen = best_of(rows), recommended_of(rows)
    if len(rows) == 1:
        return ", the only setting that was tried"
    passed_over = [row for row in rows if row.is_likely and row.size < chosen.size]
    conditions = []
    if not all(row.is_accurate for row in passed_over):
        conditions.append(f", without losing more than one standard error of {measure}")
    if any(row.is_accurate for row in passed_over):
        share = "without" if chosen.glued == 0 else "with the smallest share of"
        conditions.append(f", {share} glued components")
    if chosen is best:
        fewer = any(row.n_found < best.n_found for row in rows)
        fewest = f". They are the fewest within one standard error of it{''.join(conditions)}"
        return f", with the best held-out log-likelihood{fewest * fewer}"
    return (
        ", the fewest within one standard error of the best held-out log-likelihood (that of "
        f"{_named(best, several_shapes)}){''.join(conditions)}"
    )


def _glue(chosen: Trial) -> list[str]:
    """Return how many of the shared components are glued."""
    if not chosen.shared:
        return []
    of_shared = f"of {count(chosen.shared, 'component')} that several labels share"
    if not chosen.glued:
        return [f"None {of_shared} is glued (agreement below 0.5)."]
    are = "is" if chosen.glued == 1 else "are"
    return [f"{chosen.glued} {of_shared} {are} glued (agreement below 0.5)."]


def _edge(rows: Sequence[Trial], chosen: Trial) -> list[str]:
    """Return what to try next if the number is the smallest or largest that was tried."""
    tried = sorted({row.n_components for row in rows})
    n = chosen.n_components
    if len(tried) == 1 or tried[0] < n < tried[-1] or n == 1:
        return []
    if n == tried[-1]:
        return [f"{n} is the largest number tried: try larger ones too, up to {2 * n}."]
    return [f"{n} is the smallest number tried: try smaller ones too, down to {n // 2}."]
