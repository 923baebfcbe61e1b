"""Summarise the runs of ``sweep``: means over seeds, tables, the picture, and required results."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import measure, splits
from benchmarks.classifiers import METHODS

Row = dict[str, Any]

METRICS = {
    "accuracy": "accuracy",
    "macro_accuracy": "macro accuracy",
    "calibration_error": "calibration error",
    "inter_label_sparsity": "inter-label sparsity",
    "coherence": "NPMI by documents",
    "seconds_train": "seconds to train",
    "seconds_predict": "seconds to predict",
}
OURS = "vbnmf"


def summarise(rows: Sequence[Row]) -> list[Row]:
    """Average rows over seeds; "spread" has the lowest and highest accuracy."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(key_of(row)[:3], []).append(row)
    found = []
    for group in groups.values():
        summary = dict(group[0]) | {"runs": len(group)}
        for name in METRICS:
            values = [row[name] for row in group if row[name] is not None]
            summary[name] = float(np.mean(values)) if values else None
        accuracies = [row["accuracy"] for row in group]
        found.append(summary | {"spread": (min(accuracies), max(accuracies))})
    return found


def report(rows: Sequence[Row], machine: str, source: str | Path = "wheel") -> str:
    """Return Markdown: a table of means for each corpus, and the table of required results."""
    summaries = summarise(rows)
    parts = [f"{machine}; mean (least–most) over seeds"]
    for corpus in dict.fromkeys(row["corpus"] for row in rows):
        lines = [_line(s) for s in summaries if s["corpus"] == corpus]
        about = splits.load(corpus, 0, source)
        parts.append(f"### {corpus}: {about}\n\n" + measure.markdown(lines))
    if told := list(musts(summaries)):
        parts.append("### What must hold\n\n" + measure.markdown(told))
    return "\n\n".join(parts)


def draw(rows: Sequence[Row], path: Path) -> None:
    """Draw accuracy over components and over seconds to train, a column for each corpus."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    from vbnmf.report.drawing import COLOURS, MARKERS

    summaries = summarise(rows)
    corpora = list(dict.fromkeys(row["corpus"] for row in rows))
    figure = Figure(figsize=(max(7.0, 4.0 * len(corpora)), 8.0), layout="constrained")
    axes = figure.subplots(2, len(corpora), squeeze=False, sharey="col")
    shown: dict[str, Any] = {}
    for (place, method), (column, corpus) in product(enumerate(METHODS), enumerate(corpora)):
        found = [s for s in summaries if (s["corpus"], s["method"]) == (corpus, method.key)]
        if not found:
            continue
        ours = method.key == OURS
        colour = "#B00000" if ours else COLOURS[place % len(COLOURS)]
        marker = MARKERS[(place + place // len(COLOURS)) % len(MARKERS)]  # a pair of its own
        accuracies = [s["accuracy"] for s in found]
        spread = np.abs(np.array([s["spread"] for s in found]).T - accuracies)
        for axis, name in zip(axes[:, column], ("components", "seconds_train"), strict=True):
            if found[0][name] is None:  # it reads all terms: a level to compare with
                axis.axhline(accuracies[0], color=colour, ls=":", lw=1.2)
                continue
            shown[method.name] = axis.errorbar(
                [s[name] for s in found], accuracies, spread, color=colour,
                marker=marker, lw=2.2 if ours else 1, ms=9 if ours else 6, zorder=3 if ours else 2,
            )  # fmt: skip
    names = ("components (dotted: none, all terms)", "seconds to train")
    for (row, column), axis in np.ndenumerate(axes):
        axis.set(xscale="log", xlabel=names[row], title="" if row else corpora[column])
        axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if row == 0 else (1,)))
        axis.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.grid(color="#e3e3e3", lw=0.5)
        axis.set_axisbelow(True)
        axis.set_ylabel("" if column else "accuracy on the test part")
    figure.legend(
        shown.values(), shown.keys(), loc="outside lower center", frameon=False, fontsize=8,
        ncols=2 if len(corpora) == 1 else 4,
    )  # fmt: skip
    figure.savefig(path, dpi=150)


def _line(summary: Row) -> dict[str, object]:
    """Return a row of the table of a corpus."""
    least, most = summary["spread"]
    shown: dict[str, object] = {
        "method": next(m.name for m in METHODS if m.key == summary["method"]),
        "components": summary["components"],
        "validation": f"{summary['validation']:.4f}",
    }
    for name, title in METRICS.items():
        digits = 2 if name.startswith("seconds") else 3 + name.endswith("accuracy")
        value = summary[name]
        shown[title] = "–" if value is None else f"{value:.{digits}f}"
    if summary["runs"] > 1:
        shown["accuracy"] = f"{shown['accuracy']} ({least:.4f}–{most:.4f})"
    return shown | {"runs": summary["runs"], "parameters": in_words(summary["parameters"])}


def musts(summaries: Sequence[Row]) -> Iterator[dict[str, object]]:
    """Compare the runs with the required results, as far as rows are available."""

    def best(corpus: str, method: str, K: int | None = None) -> Row | None:
        """Return the summary of a method, the best on validation documents if there are several."""
        some = [s for s in summaries if (s["corpus"], s["method"]) == (corpus, method)]
        some = [s for s in some if (s["K"] <= 200 if K is None else s["K"] == K)]
        return max(some, key=lambda s: s["validation"], default=None)

    def line(
        what: str, measured: float, sign: str, must: float, want: float | None
    ) -> dict[str, object]:
        def holds(target: float) -> str:
            return "yes" if (measured >= target if sign == "≥" else measured <= target) else "no"

        return {
            "what": what,
            "measured": f"{measured:.4f}",
            "must": f"{sign} {must:.4g}",
            "holds": holds(must),
            "want": "–" if want is None else f"{sign} {want:.4g}",
            "reached": "–" if want is None else holds(want),
        }

    news, thin = "20newsgroups", "thinned"
    ours, ours20, svm = best(news, OURS), best(news, OURS, 20), best(news, "svm")
    if protocol := best(news, "paper"):
        yield line("the paper's protocol: accuracy", protocol["accuracy"], "≥", 0.7418, 0.78)
    if ours20:
        yield line("K = 20: accuracy", ours20["accuracy"], "≥", 0.82, 0.835)
    for key in ("llda", "llda-100"):
        if ours20 and (llda := best(news, key)):
            name = "labelled LDA" + ("" if key == "llda" else " of 100 iterations")
            gain = ours20["accuracy"] - llda["accuracy"]
            yield line(f"K = 20: accuracy above {name}", gain, "≥", 0.03, None)
            part = ours20["seconds_train"] / llda["seconds_train"]
            yield line(f"K = 20: seconds to train ÷ those of {name}", part, "≤", 0.5, 0.2)
    if ours:
        level = svm["accuracy"] if svm else None
        yield line(f"K ≤ 200 (K = {ours['K']}): accuracy", ours["accuracy"], "≥", 0.83, level)
    if (ours := best(thin, OURS)) and (svm := best(thin, "svm")):
        for name, must, want in (("accuracy", 0.04, 0.01), ("macro_accuracy", 0.08, 0.03)):
            what = f"thinned (K = {ours['K']}): {METRICS[name]} below the linear SVM's"
            yield line(what, svm[name] - ours[name], "≤", must, want)


def in_words(parameters: str) -> str:
    """Format parameters from JSON for a table."""
    return ", ".join(f"{name} = {value}" for name, value in json.loads(parameters).items()) or "–"


def key_of(row: Row) -> tuple[str, str, int, int]:
    """Return the key that identifies a row."""
    return row["corpus"], row["method"], row["K"], row["seed"]
