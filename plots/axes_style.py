# SPDX-License-Identifier: Apache-2.0
"""The common style of all axes: ink, a faint grid behind the data, few lines."""

from typing import Literal

from matplotlib.axes import Axes

INK, FAINT, GRID = "#222222", "#666666", "#E4E4E4"


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
