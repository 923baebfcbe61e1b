"""Draw the pictures of docs/guide/model.md from forty short notes about tea, coffee and cocoa.

Run: python examples/modelpictures.py docs/images     (needs matplotlib: pip install "vbnmf[plot]")
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from vbnmf import SupervisedVBNMF

LABELS = np.array(["tea", "coffee", "cocoa"])
TOPICS = ["leaf kettle green steep", "bean roast espresso crema", "sweet milk powder warm"]
WORDS = " ".join([*TOPICS, "cup drink hot morning"]).split()
NAMES = ["leaf kettle", "bean roast", "sweet milk", "cup drink"]
INK, BLUE, ORANGE = "#444444", "#2c6fbb", "#c8641e"


def draw(rng, n):
    """Return notes drawn from four components, the last of which all labels share."""
    T = np.kron(np.eye(4), [0.4, 0.3, 0.2, 0.1]) + 0.002
    means = np.hstack([np.eye(3) * 12, np.full((3, 1), 6)])
    y = np.sort(rng.integers(0, 3, n))
    return rng.poisson(rng.exponential(means[y] + 0.1) @ T), y


def image(ax, values, title, rows, columns):
    """Draw a matrix as shades of blue."""
    ax.imshow(values, cmap="Blues", aspect="auto", vmin=0, vmax=np.quantile(values, 0.98) or 1)
    ax.set_title(title, fontsize=9, color=INK)
    ax.set_yticks(range(len(rows)), rows, fontsize=7)
    ax.set_xticks(range(len(columns)), columns, fontsize=7, rotation=90)
    ax.tick_params(length=0, colors=INK)


def factors(X, y, model, V, path):
    """Draw X ≈ V T."""
    widths = {"width_ratios": [16, 2, 4, 5, 16], "wspace": 0}
    figure, axes = plt.subplots(1, 5, figsize=(9, 4), gridspec_kw=widths)
    left, equal, middle, times, right = axes
    for ax, sign, x in ((equal, "≈", 0.5), (times, "×", 0.15)):
        ax.text(x, 0.5, sign, fontsize=18, color=INK, ha="center", va="center")
        ax.axis("off")
    image(left, X, "X: notes × words", [], WORDS)
    image(middle, V, "V: coefficients", [], NAMES)
    image(right, model.components_, "T: components × words", NAMES, WORDS)
    for at in np.flatnonzero(np.diff(y)) + 0.5:
        left.axhline(at, color=ORANGE, lw=1)
        middle.axhline(at, color=ORANGE, lw=1)
    for label in range(3):
        where = np.flatnonzero(y == label).mean()
        left.text(-0.9, where, LABELS[label], ha="right", va="center", fontsize=8, color=ORANGE)
    figure.savefig(path, dpi=150, bbox_inches="tight")


def labels(model, path):
    """Draw how much each label uses each component."""
    figure, axes = plt.subplots(1, 3, figsize=(8, 2.2), sharey=True)
    for ax, label, values in zip(axes, model.classes_, model.label_activations_, strict=True):
        ax.barh(NAMES[::-1], values[::-1], color=BLUE)
        ax.set_title(label, fontsize=10, color=ORANGE)
        ax.tick_params(length=0, labelsize=8, colors=INK)
        ax.spines[["top", "right"]].set_visible(False)
    axes[1].set_xlabel("mean coefficient", fontsize=8, color=INK)
    figure.savefig(path, dpi=150, bbox_inches="tight")


def uncertainty(rng, path):
    """Draw the same component after few and after many notes, with intervals."""
    figure, axes = plt.subplots(1, 2, figsize=(8, 2.4), sharey=True, sharex=True)
    for ax, n in zip(axes, (15, 600), strict=True):
        X, y = draw(rng, n)
        model = fitted(X, y)
        k = ordered(model)[0]
        low, high = model.component_interval(0.9)
        total = model.components_[k].sum()
        mean, low, high = (a[k][:6] / total for a in (model.components_, low, high))
        ax.barh(WORDS[:6][::-1], mean[::-1], color=BLUE, alpha=0.5)
        ax.errorbar(mean[::-1], range(6), xerr=[(mean - low)[::-1], (high - mean)[::-1]],
                    fmt="none", ecolor=INK, lw=1)  # fmt: skip
        ax.set_title(f"after {n} notes", fontsize=10, color=INK)
        ax.tick_params(length=0, labelsize=8, colors=INK)
        ax.spines[["top", "right"]].set_visible(False)
    figure.supxlabel("part of the component, and its 90 % interval", fontsize=8, color=INK, y=-0.08)
    figure.savefig(path, dpi=150, bbox_inches="tight")


def fitted(X, y):
    """Return a model of four components."""
    return SupervisedVBNMF(4, init="random", scopes="all", label_shape=1, n_init=5,
                           random_state=0).fit(X, LABELS[y])  # fmt: skip


def ordered(model):
    """Return the components in the order of NAMES."""
    first = [0, 4, 8, 12]
    return [int(np.argmax(model.components_[:, w] / model.components_.sum(axis=1))) for w in first]


def main(folder):
    """Draw all pictures."""
    rng = np.random.default_rng(3)
    X, y = draw(rng, 40)
    model = fitted(X, y)
    order = ordered(model)
    V = model.transform(X)[:, order]
    shown = _Shown(model, order)
    factors(X, y, shown, V, folder / "model-factors.png")
    labels(shown, folder / "model-labels.png")
    uncertainty(rng, folder / "model-uncertainty.png")


class _Shown:
    """A model with its components and labels in the order of the pictures."""

    def __init__(self, model, order):
        rows = [list(model.classes_).index(label) for label in LABELS]
        self.classes_ = LABELS
        self.components_ = model.components_[order]
        self.label_activations_ = model.label_activations_[rows][:, order]


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
