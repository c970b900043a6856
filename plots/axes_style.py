# SPDX-License-Identifier: Apache-2.0
"""The common style of all axes: ink, a faint grid behind the data, few lines, legends below."""

import textwrap
from collections.abc import Iterable
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from hover import light

INK, FAINT, GRID = "#222222", "#666666", "#E4E4E4"
# An axis is logarithmic if its largest value is this many times the others.
LOG_RATIO = 8.0
PLAIN = FuncFormatter(lambda value, position: f"{value:g}")
NARROW = 4.2  # inches: readable on a phone; two fit side by side on a desktop


def tidy(axes: Axes, grid: Literal["both", "x", "y"] = "both",
         labelsize: float | None = None) -> None:
    """Applies the style. `grid`: the axis that gets grid lines at its ticks."""
    axes.grid(axis=grid, color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=FAINT)
    if labelsize is not None:
        axes.tick_params(labelsize=labelsize)


def tidy_rows(axes: Axes) -> None:
    """Styles a figure that has a row for each name: names in ink, no line beside them."""
    tidy(axes, "x")
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0, labelcolor=INK)


def entitle(axes: Axes, title: str, pad: float | None = None) -> None:
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold", color=INK, pad=pad)


def legend_below(axes: Axes, entries: Iterable[Line2D], names: list[str]) -> None:
    """Adds a legend below the figure, in two columns if the names are short."""
    entries = list(entries)
    legend = axes.legend(
        entries, [textwrap.fill(name, 50, break_on_hyphens=False) for name in names],
        loc="upper left", bbox_to_anchor=(-0.14, -0.18),
        ncols=2 if max(map(len, names)) <= 24 else 1,
        frameon=False, fontsize=9, borderaxespad=0, columnspacing=1,
        handlelength=3.6 if any(len(entry.get_xdata()) != 1 for entry in entries) else 1.2)
    for text, name in zip(legend.get_texts(), names):
        light(text, name)
