# SPDX-License-Identifier: Apache-2.0
"""Statistical and hardware efficiency: examples to the target against time per example.

Both axes are logarithmic, so their product, the time to the target, is constant along each slanting
line: closer to the lower left corner is faster. A mark is the median of a cell.
"""

import math
import re

from plain_style import plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from axes_style import FAINT, NARROW, entitle, legend_below, tidy
from hover import describe
from palette import styles_of
from judgement import Cell, Run, ranked
from labels import cell_labels
from selection import MOST_LINES, fitting, tell
from wording import time_text, time_unit

ROOM = 1.25  # the axis ends at the outermost mark times or divided by this


def _has_point(cell: Cell) -> bool:
    return (cell.claims_time and math.isfinite(cell.seconds_per_example)
            and math.isfinite(cell.examples_to_target) and cell.examples_to_target > 0)


def _limits(values: list[float]) -> tuple[float, float]:
    """Axis limits that span at least a factor of four, so that equal values look equal."""
    low, high = min(values) / ROOM, max(values) * ROOM
    widen = max(1.0, math.sqrt(4 / (high / low)))
    return low / widen, high * widen


def _draw_equal_times(axes: Axes, scale: float) -> None:
    """Draws lines of equal time to the target, at a few round times."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    first, last = left * low / scale, right * high / scale
    powers = range(math.floor(math.log10(first)), math.ceil(math.log10(last)) + 1)
    steps = (1, 2, 5) if last / first < 50 else (1,)
    for seconds in (step * 10.0**power for power in powers for step in steps):
        if not first < seconds < last:
            continue
        axes.plot([left, right], [seconds * scale / left, seconds * scale / right],
                  color=FAINT, linewidth=0.7, dashes=(4, 4), zorder=1, scaley=False, scalex=False)
        at = min(high, seconds * scale / left)
        if at < low * (high / low) ** 0.1:  # its label would overlap the axis labels
            continue
        axes.annotate(re.sub(r"\.0+ ", " ", time_text(seconds)),
                      (seconds * scale / at, at),
                      xytext=(3, -3), textcoords="offset points", va="top", fontsize=8,
                      color=FAINT, annotation_clip=True)


def _draw_points(axes: Axes, cells: list[Cell], scale: float, names: dict[Cell, str]) -> None:
    for cell, style in zip(cells, styles_of(cell.variant.strategy for cell in cells)):
        (mark,) = axes.plot(cell.seconds_per_example * scale, cell.examples_to_target,
                            marker=style.marker, color=style.colour, linestyle="", markersize=9,
                            markeredgecolor="white", zorder=4, label=names[cell])
        describe(mark, f"{names[cell]}: {cell.examples_to_target:,.0f} examples, "
                       f"{time_text(cell.seconds_per_example)} each", names[cell])


def draw(runs: list[Run]) -> Figure | None:
    """Draws the figure; None if fewer than two cells reached the target."""
    names = cell_labels({run.cell: None for run in runs if run.claims_time})
    runs, others = fitting((run for run in runs if _has_point(run.cell)), MOST_LINES)
    cells = [cell for cell, _ in ranked(runs)]
    if len(cells) < 2:
        return None
    scale, unit = time_unit(max(cell.seconds_per_example for cell in cells))
    figure, axes = plt.subplots(figsize=(NARROW, 3.6))
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(*_limits([cell.seconds_per_example * scale for cell in cells]))
    axes.set_ylim(*_limits([cell.examples_to_target for cell in cells]))
    _draw_equal_times(axes, scale)
    _draw_points(axes, cells, scale, names)
    for axis, places in ((axes.xaxis, "g"), (axes.yaxis, ",.0f")):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda value, _, places=places:
                                               f"{value:{places}}"))
    axes.set_xlabel(f"time per example ({unit}, log scale)")
    axes.set_ylabel("examples to target (log scale)")
    entitle(axes, "Examples needed × time for each")
    legend_below(axes, *axes.get_legend_handles_labels())
    tidy(axes)
    return tell(figure, {"": others})
