"""The style of all drawings with matplotlib: sizes, colours, fonts and names.

Only code that draws imports this module, because it needs matplotlib.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib.style

COLUMN, PAGE = 3.5, 7.0  # inches: width of a column of print, and of its whole page
FONT = 7.0  # points, the smallest size that is legible in print

# The colours of Okabe and Ito, without yellow, which is hard to see on white. Seven colours and
# markers with five line styles give 35 different curves.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
STYLES = ("-", "--", "-.", (0, (4, 1, 1, 1, 1, 1)), ":")
GREY = "#666666"

_STYLE = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # part of matplotlib, so it is always available
    "font.size": FONT,
    "axes.labelsize": FONT + 0.5,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.unicode_minus": True,
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.5,
    "xtick.labelsize": FONT,
    "ytick.labelsize": FONT,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "legend.fontsize": FONT,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "legend.columnspacing": 1.4,
    "lines.linewidth": 1.1,
    "lines.markersize": 3.2,
    "svg.fonttype": "none",
    "svg.hashsalt": "vbnmf",
}

# Fonts for letters that DejaVu Sans lacks, if they are installed. They are used in PNG files only,
# so that SVG files are the same on all machines; viewers of SVG choose fonts themselves.
FURTHER_FONTS = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "Source Han Sans", "Microsoft YaHei", "PingFang SC",
    "Hiragino Sans", "Arial Unicode MS", "Noto Sans Devanagari", "Noto Sans Thai", "Noto Sans",
)  # fmt: skip


@contextmanager
def style(*further_fonts: str) -> Iterator[None]:
    """Use our style instead of the user's settings, which are restored afterwards."""
    fonts = {"font.sans-serif": ["DejaVu Sans", *further_fonts]}
    with matplotlib.style.context(["default", _STYLE | fonts]), warnings.catch_warnings():
        # letters that no font has are shown as boxes, without a warning for each
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        yield


def look(place: int) -> dict[str, Any]:
    """Return the style of a curve from its position among the curves."""
    kinds = {"color": COLOURS, "marker": MARKERS, "linestyle": STYLES}
    return {name: values[place % len(values)] for name, values in kinds.items()}


def text(name: str, longest: int = 64) -> str:
    """Prepare a name for matplotlib: a^λ becomes a formula, other text is shown literally.

    Dollar signs, which begin formulas, are escaped. Control characters, which SVG does not allow,
    are removed. Very long names are cut.
    """
    shown = "".join(letter if letter.isprintable() else " " for letter in name)
    if len(shown) > longest:
        shown = shown[: longest - 1] + "…"
    return shown.replace("$", r"\$").replace("a^λ", r"$a^\lambda$")
