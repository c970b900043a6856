# SPDX-License-Identifier: Apache-2.0
"""Code shared by figures of virtual time: lines with a described mark at each point, an axis of
workers, a legend below the figure."""

from collections.abc import Iterable
from typing import NamedTuple

from plain_style import plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from axes_style import INK
from hover import describe
from palette import Style

WIDTH, SIZE = 1.8, 6  # of lines and marks


class Mark(NamedTuple):
    x: float
    y: float
    words: str


def draw_line(axes: Axes, style: Style, marks: list[Mark]) -> None:
    axes.plot([mark.x for mark in marks], [mark.y for mark in marks], color=style.colour,
              linewidth=WIDTH, dashes=style.dash or (None, None), zorder=3)
    for mark in marks:
        (drawn,) = axes.plot(mark.x, mark.y, marker=style.marker, markersize=SIZE,
                             color=style.colour, markeredgecolor="white", linestyle="", zorder=4)
        describe(drawn, mark.words)


def set_workers(axes: Axes, workers: list[int]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(workers, [str(count) for count in workers])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.tick_params(labelbottom=True)
    axes.set_xlabel("workers")


def legend_below(figure: Figure, lines: Iterable[tuple[str, Style]], inches: float = 0,
                 columns: int = 4) -> None:
    """Adds the legend. `inches`: extra distance below a low figure. `columns`: at most."""
    handles = [plt.Line2D([], [], color=style.colour, linewidth=WIDTH, marker=style.marker,
                          markersize=SIZE, markeredgecolor="white",
                          dashes=style.dash or (None, None), label=label)
               for label, style in lines]
    figure.legend(handles=handles, loc="upper center", frameon=False, fontsize=9, labelcolor=INK,
                  bbox_to_anchor=(0.5, (0.02 if len(handles) < 5 else 0.01)
                                  - inches / figure.get_figheight()), handlelength=4,
                  ncols=min(columns, round(figure.get_figwidth() / 3)))
