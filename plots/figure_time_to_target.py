# SPDX-License-Identifier: Apache-2.0
"""Time to target: one mark for each run, a bar at the geometric mean, one row for each cell.

Runs that missed the target are hollow marks in a column on the right; failed runs are crosses in
the same column. A cell with such runs has its bar at the median, which may be in that column.
"""

import math
import textwrap
from typing import NamedTuple

from plain_style import plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from axes_style import FAINT, INK, entitle, tidy_rows
from hover import describe
from figure_race import LOG_RATIO, NARROW, PLAIN
from palette import Style, styles_of
from labels import cell_labels
from judgement import Cell, Run, ranked
from selection import MOST_ROWS, fitting, tell
from wording import time_text, time_unit

LABEL_WIDTH = 24  # characters
LINE, MARKS, GAP = 0.15, 0.18, 0.06  # inches of a row: a line of its name, its marks, spacing
MOST_IN_LINE = 56  # characters of a name and its value
NEAR = 0.6  # if all times exceed this share of the slowest, the axis shows only their range
MANY = 200  # marks of a cell with more runs are drawn as pixels, not paths


def wrapped(label: str, width: int = LABEL_WIDTH) -> str:
    """The label, broken after commas into lines of `width` characters."""
    tied = label.replace(" ", "\u00a0").replace(",\u00a0", ", ")
    lines = textwrap.wrap(tied, width, break_on_hyphens=False)
    return "\n".join(lines).replace("\u00a0", " ")


class Rows(NamedTuple):
    """A figure with a row for each name, the first on top. The name and the value of a row share a
    line; its marks are below them and use the whole width."""

    figure: Figure
    axes: Axes
    below: float  # distance from a row's number to the middle of its marks, in rows
    half: float  # half the height of the marks


def rows_figure(names: list[str], values: list[str], above: float) -> Rows:
    """Makes an empty figure with these rows. `above`: inches of space above the rows."""
    room = MOST_IN_LINE - max(map(len, values))
    wrapped_names = [wrapped(name, room) for name in names]
    lines = max(name.count("\n") + 1 for name in wrapped_names)
    row_height = 2 * GAP + LINE * lines + MARKS
    height = row_height * len(names) + above + 0.55
    figure, axes = plt.subplots(figsize=(NARROW, height))
    figure.subplots_adjust(left=0.12 / NARROW, right=1 - 0.12 / NARROW,
                           top=1 - above / height, bottom=0.55 / height)
    axes.set_ylim(len(names) - 0.5, -0.5)
    for row, (name, value) in enumerate(zip(wrapped_names, values)):
        for at, text, side in ((0, name, "left"), (1, value, "right")):
            axes.annotate(text, (at, row - 0.5 + GAP / row_height), ha=side, va="top",
                          xycoords=("axes fraction", "data"), fontsize=9, color=INK)
    tidy_rows(axes)
    axes.set_yticks([])
    middle = GAP + MARKS / 2  # inches above the row's end
    return Rows(figure, axes, 0.5 - middle / row_height, MARKS / 2 / row_height)


def _offsets(count: int) -> list[float]:
    """Heights that keep marks of one row apart, in units of `Rows.half`: evenly spaced from -0.5 to
    0.5, so that no mark lies outside."""
    return [at / (count - 1) - 0.5 for at in range(count)] if count > 1 else [0.0]


def _draw_mark(axes: Axes, run: Run, at: tuple[float, float], style: Style) -> None:
    marker, face, edge = {"reached": (style.marker, style.colour, "white"),
                          "missed": (style.marker, "none", style.colour),
                          "failed": ("X", style.colour, style.colour)}[run.status]
    (mark,) = axes.plot(*at, marker=marker, linestyle="", markersize=6.5, alpha=0.85,
                        markerfacecolor=face, markeredgecolor=edge, markeredgewidth=0.8,
                        clip_on=False, zorder=4)
    outcome = time_text(run.time_to_target) if run.status == "reached" else run.status
    describe(mark, f"{run.variant.strategy}, seed {run.seed}: {outcome}")


def _draw_row(rows: Rows, row: int, runs: list[Run], style: Style, scale: float,
              edge: float) -> None:
    axes, centre = rows.axes, row + rows.below
    places = [(run.time_to_target * scale if run.status == "reached" else edge,
               centre + offset * rows.half) for run, offset in zip(runs, _offsets(len(runs)))]
    if len(runs) > MANY:
        axes.plot(*zip(*places), marker=style.marker, linestyle="", markersize=3, alpha=0.5,
                  markerfacecolor=style.colour, markeredgewidth=0, clip_on=False, zorder=4,
                  rasterized=True)
    else:
        for run, at in zip(runs, places):
            _draw_mark(axes, run, at, style)
    middle = runs[0].cell.seconds_to_target
    at = middle * scale if math.isfinite(middle) else edge
    (bar,) = axes.plot([at, at], [centre - rows.half, centre + rows.half], color=INK,
                       linewidth=2.2, solid_capstyle="butt", zorder=3, clip_on=False)
    describe(bar, f"{runs[0].variant.strategy}: {_value(runs[0].cell)}")


def _set_axis(axes: Axes, times: list[float], unit: str) -> None:
    label = f"training time to target ({unit}"
    low, high = min(times), max(times)
    if high > LOG_RATIO * low > 0:
        axes.set_xscale("log")
        axes.set_xlim(low / 1.3, high * 1.3)
        axes.xaxis.set_major_formatter(PLAIN)
        axes.set_xlabel(f"{label}, log scale)")
    elif low > NEAR * high:
        room = max(high - low, 0.02 * high)
        axes.set_xlim(low - 0.25 * room, high + 0.1 * room)
        axes.set_xlabel(f"{label}; axis not from 0)")
    else:
        axes.set_xlim(0, high * 1.06)
        axes.set_xlabel(f"{label})")


def _value(cell: Cell) -> str:
    count = f"{cell.reached} of {cell.count}"
    if math.isfinite(cell.seconds_to_target):
        return f"{time_text(cell.seconds_to_target)}, {count}"
    return f"missed, {count}"


def draw(runs: list[Run]) -> Figure | None:
    """Draws the figure; None if no run reached the target."""
    runs = [run for run in runs if run.claims_time]
    names = cell_labels(run.cell for run in runs)
    runs, others = fitting(runs, MOST_ROWS)
    rows = ranked(runs)
    reached = [run.time_to_target for run in runs if math.isfinite(run.time_to_target)]
    if not reached:
        return None
    scale, unit = time_unit(max(reached))
    drawn = rows_figure([names[cell] for cell, _ in rows], [_value(cell) for cell, _ in rows], 0.4)
    axes = drawn.axes
    _set_axis(axes, [time * scale for time in reached], unit)
    low, high = axes.get_xlim()
    edge = high
    if len(reached) < len(runs):  # adds a column for runs without a time
        logarithmic = axes.get_xscale() == "log"
        edge = high * (high / low) ** 0.05 if logarithmic else high + 0.05 * (high - low)
        axes.set_xlim(low, high * (high / low) ** 0.08 if logarithmic
                      else high + 0.08 * (high - low))
        axes.annotate("hollow: missed the target", (1, 1), xytext=(0, 6), ha="right", fontsize=9,
                      color=FAINT, xycoords="axes fraction", textcoords="offset points")
    for row, ((cell, group), style) in enumerate(
            zip(rows, styles_of(cell.variant.strategy for cell, _ in rows))):
        _draw_row(drawn, row, group, style, scale, edge)
    entitle(axes, "Every run, and the mean")
    return tell(drawn.figure, {"": others})
