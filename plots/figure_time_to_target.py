# SPDX-License-Identifier: Apache-2.0
"""Time to target: one mark for each run, a bar at the geometric mean, one row for each cell.

Runs that missed the target are hollow marks in a column on the right, and failed ones are crosses
beside them. Then the bar is at the median, which can lie there, too.
"""

import math
import random
import textwrap

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

from axes_style import FAINT, INK, entitle, tidy_rows  # noqa: E402
from figure_race import LOG_RATIO, NARROW, PLAIN  # noqa: E402
from palette import Style, styles_of  # noqa: E402
from labels import cell_labels  # noqa: E402
from judgement import Cell, Run, ranked  # noqa: E402
from selection import MOST_ROWS, fitting, tell  # noqa: E402
from wording import time_text, time_unit  # noqa: E402

LABEL_WIDTH = 24  # characters
NEAR = 0.6  # of the slowest time: where all are within it, their differences fill the axis
MANY = 200  # runs of a cell from which on marks are pixels, not paths


def wrapped(label: str) -> str:
    """A long name broken after commas into several lines."""
    tied = label.replace(" ", "\u00a0").replace(",\u00a0", ", ")
    lines = textwrap.wrap(tied, LABEL_WIDTH, break_on_hyphens=False)
    return "\n".join(lines).replace("\u00a0", " ")


def rows_figure(names: list[str], right: float, above: float) -> tuple[Figure, Axes]:
    """A figure with a row for each name, the first on top, and room for text in inches."""
    lines = max(name.count("\n") + 1 for name in names)
    height = (0.21 + 0.14 * lines) * len(names) + above + 0.55
    figure, axes = plt.subplots(figsize=(NARROW, height))
    longest = max(len(line) for name in names for line in name.split("\n"))
    figure.subplots_adjust(left=(0.078 * longest + 0.12) / NARROW, right=1 - right / NARROW,
                           top=1 - above / height, bottom=0.55 / height)
    axes.set_yticks(range(len(names)), names, fontsize=9.5, color=INK)
    axes.set_ylim(len(names) - 0.45, -0.55)
    tidy_rows(axes)
    return figure, axes


def _offsets(count: int) -> list[float]:
    """Heights at which marks of one row do not hide each other, without randomness."""
    if count == 1:
        return [0.0]
    chance = random.Random(count)
    return [chance.uniform(-0.24, 0.24) for _ in range(count)]


def _draw_row(axes: Axes, row: int, runs: list[Run], style: Style, scale: float,
              edge: float) -> None:
    many = len(runs) > MANY
    heights = [row + offset for offset in _offsets(len(runs))]
    looks = {"reached": (style.marker, style.colour, "white"),
             "missed": (style.marker, "none", style.colour),
             "failed": ("X", style.colour, style.colour)}
    for status, (marker, face, edge_colour) in looks.items():
        own = [(run.time_to_target * scale if status == "reached" else edge, height)
               for run, height in zip(runs, heights) if run.status == status]
        if own:
            axes.plot(*zip(*own), marker=marker, linestyle="", markersize=3 if many else 6.5,
                      alpha=0.5 if many else 0.85, markerfacecolor=face,
                      markeredgecolor=edge_colour, markeredgewidth=0.8, clip_on=False, zorder=4,
                      rasterized=many)
    middle = runs[0].cell.seconds_to_target
    at = middle * scale if math.isfinite(middle) else edge
    axes.plot([at, at], [row - 0.38, row + 0.38], color=INK, linewidth=2.2,
              solid_capstyle="butt", zorder=3, clip_on=False)


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
        return f"{time_text(cell.seconds_to_target)},  {count}"
    return f"missed, {count}"


def draw(runs: list[Run]) -> Figure | None:
    """None if no run reached the target."""
    runs = [run for run in runs if run.claims_time]
    names = cell_labels(run.cell for run in runs)
    runs, others = fitting(runs, MOST_ROWS)
    rows = ranked(runs)
    reached = [run.time_to_target for run in runs if math.isfinite(run.time_to_target)]
    if not reached:
        return None
    scale, unit = time_unit(max(reached))
    figure, axes = rows_figure([wrapped(names[cell]) for cell, _ in rows], 1.15, 0.4)
    _set_axis(axes, [time * scale for time in reached], unit)
    low, high = axes.get_xlim()
    edge = high * (high / low) ** 0.06 if axes.get_xscale() == "log" else high + 0.06 * (high - low)
    for row, ((cell, group), style) in enumerate(
            zip(rows, styles_of(cell.variant.strategy for cell, _ in rows))):
        _draw_row(axes, row, group, style, scale, edge)
        axes.annotate(_value(cell), (1, row), xytext=(20, 0), va="center", fontsize=9,
                      xycoords=("axes fraction", "data"), textcoords="offset points", color=INK)
    if len(reached) < len(runs):
        axes.annotate("hollow: missed", (1, 0), xytext=(20, -6), va="top", fontsize=8,
                      color=FAINT, xycoords="axes fraction", textcoords="offset points")
    entitle(axes, "Every run, and the mean")
    return tell(figure, {"": others})
