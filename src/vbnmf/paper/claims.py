"""Compare the claims of the paper with the table of results.

The verdict on a claim is confirmed, not confirmed, or not measured if rows are missing. The numbers
behind the verdict are stored with it. The rules were fixed before the results were known. Tests
check that each claim can be confirmed and can fail.
"""

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from math import isnan

from vbnmf.paper.result_tables import NAMES, ResultTable, number
from vbnmf.paper.results import (
    ResultRow,
    choose_peak,
    choose_validated,
    distinct,
    guarded,
    rank_correlation,
    rows_of,
    spread,
    where,
)
from vbnmf.paper.specification import METHODS, Specification

CONFIRMED, REFUTED, UNKNOWN = "confirmed", "not confirmed", "not measured"
SIGNS = {CONFIRMED: "✓", REFUTED: "✗", UNKNOWN: "–"}

GOOD_PREDICTOR = 0.5
"""Minimum rank correlation with which inter-label sparsity predicts accuracy."""

MODERATE = 0.7
"""Inter-label sparsity is moderate below this value; the paper shows a value of 0.58."""


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, the verdict, and the numbers behind the verdict."""

    key: str
    text: str
    verdict: str
    evidence: str


def all_claims(rows: list[ResultRow], specification: Specification) -> list[Claim]:
    """Return all claims in the order of the paper."""
    return [
        order_of_methods(rows),
        order_of_methods(rows, validated=True),
        sparsity_predicts(rows),
        sparsity_predicts_tighter(rows, specification),
        one_knob(rows),
        extreme_breaks(rows),
        moderate_without_labels(rows),
        free_shape_impedes(rows),
    ]


def claims_table(claims: list[Claim]) -> ResultTable:
    """Return the claims with their verdicts as a table."""
    counts = Counter(claim.verdict for claim in claims)
    verdicts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in SIGNS if counts[verdict])
    return ResultTable(
        "claims",
        "The paper's claims",
        f"Verdicts on {len(claims)} claims by our data: {verdicts}.",
        ["verdict", "the paper's claim", "our data"],
        [
            [f"{SIGNS[claim.verdict]} {claim.verdict}", claim.text, claim.evidence]
            for claim in claims
        ],
    )


def order_of_methods(rows: list[ResultRow], *, validated: bool = False) -> Claim:
    """Check that with k-NN, supervised is better than PCA, and PCA better than unsupervised."""
    choose = choose_validated if validated else choose_peak
    how = "selected on validation documents" if validated else "selected on the test split"
    text = (
        "With k-NN, supervised vbNMF is more accurate than PCA, and PCA is more accurate than "
        f"unsupervised vbNMF (parameters {how})."
    )
    key = "order-validated" if validated else "order"
    means = {}
    for method in METHODS:
        choice = choose(rows, method)
        if choice is not None and (found := rows_of(rows, choice)):
            means[method] = spread(found, "micro").mean
    evidence = ", ".join(f"{NAMES[m]} {number(v)}" for m, v in means.items())
    if len(means) < len(METHODS):
        return Claim(key, text, UNKNOWN, evidence)
    holds = means["supervised"] > means["pca"] > means["unsupervised"]
    return Claim(key, text, _verdict(holds), f"Mean accuracy on the test split: {evidence}.")


def sparsity_predicts(rows: list[ResultRow]) -> Claim:
    """Check that inter-label sparsity predicts accuracy over all supervised decompositions."""
    text = "Inter-label sparsity predicts accuracy over all supervised decompositions."
    found = guarded(rows, method="supervised", fold="test")
    r = rank_correlation(found, "inter_label_sparsity", "micro")
    if isnan(r):
        return Claim("predicts", text, UNKNOWN, "")
    evidence = f"Rank correlation {r:.2f} over {len(found)} runs; required: {GOOD_PREDICTOR}."
    return Claim("predicts", text, _verdict(r >= GOOD_PREDICTOR), evidence)


def sparsity_predicts_tighter(rows: list[ResultRow], specification: Specification) -> Claim:
    """Check that the correlation is stronger with more dimensions."""
    text = "This relation is tighter with more dimensions."
    found = guarded(rows, method="supervised", fold="test")
    correlations = {}
    for d in specification.figures.hull_dimensions:
        r = rank_correlation(where(found, dimension=d), "inter_label_sparsity", "micro")
        if not isnan(r):
            correlations[d] = r
    evidence = ", ".join(f"{r:.2f} (K = {d})" for d, r in correlations.items())
    if len(correlations) < 2:
        return Claim("tighter", text, UNKNOWN, evidence)
    in_order = [correlations[d] for d in sorted(correlations)]
    rising = all(a < b for a, b in pairwise(in_order))
    return Claim("tighter", text, _verdict(rising), f"Rank correlations: {evidence}.")


def one_knob(rows: list[ResultRow]) -> Claim:
    """Check that inter-label sparsity grows with a^λ up to its peak, at every dimension."""
    text = "Inter-label sparsity grows with log a^λ at every dimension."
    curves = _curves(rows)
    if not curves:
        return Claim("knob", text, UNKNOWN, "")
    holds, parts = True, []
    for d, curve in curves.items():
        top = max(curve, key=lambda a: curve[a])
        rise = [curve[a] for a in curve if a <= top]
        # a decrease of less than 0.005 is noise from the random starts
        growing = len(rise) > 1 and all(
            later > earlier - 0.005 for earlier, later in pairwise(rise)
        )
        holds = holds and growing
        parts.append(f"{rise[0]:.3f} to {rise[-1]:.3f} at a^λ = {top:g} (K = {d})")
    return Claim("knob", text, _verdict(holds), f"Growth: {'; '.join(parts)}.")


def extreme_breaks(rows: list[ResultRow]) -> Claim:
    """Check that inter-label sparsity at the largest a^λ is below its peak."""
    text = "At extreme values of a^λ, inter-label sparsity falls."
    curves = _curves(rows)
    if not curves:
        return Claim("break", text, UNKNOWN, "")
    falls = {d: (max(c.values()), c[max(c)]) for d, c in curves.items()}
    holds = all(last < top - 0.05 for top, last in falls.values())
    last_a = max(max(c) for c in curves.values())
    evidence = "; ".join(f"{top:.3f} to {last:.3f} (K = {d})" for d, (top, last) in falls.items())
    return Claim("break", text, _verdict(holds), f"From the peak to a^λ = {last_a:g}: {evidence}.")


def moderate_without_labels(rows: list[ResultRow]) -> Claim:
    """Check that unsupervised inter-label sparsity is moderate, except at the smallest shape."""
    text = (
        "Unsupervised inter-label sparsity stays moderate, somewhat higher only with very strong "
        "sparsity."
    )
    found = guarded(rows, method="unsupervised", fold="test")
    means = {
        (d, a): spread(at, "inter_label_sparsity").mean
        for d in distinct(found, "dimension")
        for a in distinct(found, "parameter")
        if (at := where(found, dimension=d, parameter=a))
    }
    if not means:
        return Claim("moderate", text, UNKNOWN, "")
    (d, a), most = max(means.items(), key=lambda item: item[1])
    smallest = min(shape for _, shape in means)
    middle = sorted(means.values())[len(means) // 2]
    holds = all(s < MODERATE for (_, shape), s in means.items() if shape > smallest)
    evidence = (
        f"Median over the grid {middle:.3f}, highest {most:.3f} (K = {d}, shape {a:g}); required: "
        f"less than {MODERATE}, except at the smallest shape."
    )
    return Claim("moderate", text, _verdict(holds), evidence)


def free_shape_impedes(rows: list[ResultRow]) -> Claim:
    """Check that a freely learned shape of T falls below one and makes coefficients less sparse."""
    text = "Learning T's shape freely makes T sparse and impedes sparse coefficients."
    fixed, free, shapes = [], [], []
    for row in where(rows, fold="test", term_shape="free"):
        same = {name: row[name] for name in ("method", "dimension", "parameter", "seed")}
        if pair := guarded(rows, fold="test", **same):
            free.append(row["sparsity"])
            fixed.append(pair[0]["sparsity"])
            shapes.append(row["learned_term_shape"])
    if not free:
        return Claim("free", text, UNKNOWN, "")
    less = sum(a < b for a, b in zip(free, fixed, strict=True))
    holds = max(shapes) < 1 and sum(free) < sum(fixed)
    evidence = (
        f"The learned shape is {min(shapes):.3f} to {max(shapes):.3f}. The coefficients are less "
        f"sparse than with a fixed shape in {less} of {len(free)} pairs of runs; mean sparsity "
        f"{sum(free) / len(free):.3f}, with a fixed shape {sum(fixed) / len(fixed):.3f}."
    )
    return Claim("free", text, _verdict(holds), evidence)


def _curves(rows: list[ResultRow]) -> dict[int, dict[float, float]]:
    """Return mean inter-label sparsity by a^λ, for each dimension with at least two values."""
    found = guarded(rows, method="supervised", fold="test")
    curves = {}
    for d in distinct(found, "dimension"):
        at = where(found, dimension=d)
        curves[d] = {
            a: spread(where(at, parameter=a), "inter_label_sparsity").mean
            for a in distinct(at, "parameter")
        }
    return {d: curve for d, curve in curves.items() if len(curve) > 1}


def _verdict(holds: bool) -> str:
    return CONFIRMED if holds else REFUTED
