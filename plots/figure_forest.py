# SPDX-License-Identifier: Apache-2.0
"""Who is how fast: a row for each cell, its speed relative to the reference with an interval.

The reference is the fastest cell of `single`, or the first cell if there is none. A small mark is a
run, compared with the reference's run of the same seed; the tick is their geometric mean, the bar
its interval by the test that decides. Runs that missed the target are hollow marks at the left
edge, failed runs crosses. An arrow to the left edge: the cell was left out, because it is slower.
"""

import math

from plain_style import plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from axes_style import FAINT, INK, LOG_RATIO, PLAIN, entitle
from hover import describe
from judgement import Cell, Run, group_runs, ranked
from labels import cell_labels
from palette import style_of
from rows import Rows, rows_beside, rows_figure
from selection import MOST_ROWS, fitting, tell
from wording import out_text, time_text

NEAR = 0.6  # if all speeds exceed this share of the fastest, the axis shows only their range
SIZE = 5.0  # of all marks, in points
EDGE = 0.08  # share of the width for runs without a time


def _value(cell: Cell) -> str:
    """The text at a row's end: its time, or the reason for none."""
    if not cell.claims_time:
        return "speed ceiling, no claim"
    if cell.left_out and cell.left_out.why != "precise":
        return out_text(*cell.left_out, unit="× as slow")
    some = f", {cell.reached} of {cell.count}" if cell.reached < cell.count else ""
    missed = not math.isfinite(cell.seconds_to_target)
    return ("missed" if missed else time_text(cell.seconds_to_target)) + some


def _speed(run: Run, base: float) -> float:
    """Relative to the reference's run of the same seed; to `base`, its mean, if that missed."""
    ratios = run.cell.ratio.runs if run.cell.ratio else {}
    return 1 / ratios.get(run.seed, run.time_to_target / base)


def _set_axis(axes: Axes, speeds: dict[Cell, list[float]], name: str) -> None:
    raced = [one for cell, own in speeds.items() for one in own
             if not (cell.left_out and cell.left_out.why == "slower")] or [1.0]
    low, high = min(raced), max(raced)
    axes.set_xlabel(f"times as fast as {name}")
    axes.xaxis.set_major_locator(MaxNLocator(5))
    middles = sorted(max(own) for own in speeds.values() if own) or [1.0]
    if high > LOG_RATIO * middles[len(middles) // 2]:
        low = min(min(own) for own in speeds.values() if own)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(PLAIN)
        axes.set_xlim(low / (high / low) ** EDGE, high * (high / low) ** 0.05)
        axes.set_xlabel(f"{axes.get_xlabel()} (log scale)")
    elif low > NEAR * high:
        room = max(high - low, 0.02 * high)
        axes.set_xlim(low - 2 * EDGE * room, high + EDGE * room)
    else:
        axes.set_xlim(-EDGE * high, 1.05 * high)


def _draw_runs(rows: Rows, height: float, runs: list[Run], name: str, base: float) -> None:
    colour = style_of(runs[0].variant.strategy).colour
    lost = 0
    for run in runs:
        reached = run.status == "reached"
        marker, face = ("X" if run.status == "failed" else "o"), (colour if reached else "none")
        at, where = _speed(run, base), rows.axes.transData
        if not reached:
            at, where, lost = 0.01 + EDGE * lost / len(runs), rows.axes.get_yaxis_transform(), lost + 1
        (mark,) = rows.axes.plot(at, height, marker=marker, linestyle="", markersize=SIZE,
                                 alpha=0.8, markerfacecolor=face, markeredgewidth=0.7,
                                 markeredgecolor="white" if reached else colour,
                                 transform=where, zorder=4, clip_on=reached,
                                 scalex=False, scaley=False)
        describe(mark, f"{name}, seed {run.seed}: "
                       + (time_text(run.time_to_target) if reached else run.status), name)


def _draw_row(rows: Rows, row: int, cell: Cell, name: str, leader: float) -> None:
    axes, height = rows.axes, row + rows.below
    colour, ratio, out = style_of(cell.variant.strategy).colour, cell.ratio, cell.left_out
    if out and out.why == "slower":
        most = min(leader / (out.at_least or 1),
                   1 / ratio.low if ratio and math.isfinite(ratio.low) else math.inf)
        start = (axes.transData + axes.transAxes.inverted()).transform((most, 0))[0]
        arrow = axes.annotate(
            "", (-0.015, height), (max(start, 0.05), height), xycoords=axes.get_yaxis_transform(),
            arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": 1.6, "shrinkA": 0,
                        "shrinkB": 0}, annotation_clip=False)
        describe(arrow.arrow_patch, f"{name}: {_value(cell)}", name)
        return
    if ratio is None:
        return
    text = f"{name}: {1 / ratio.time:.2f}"
    if math.isfinite(ratio.low) and math.isfinite(ratio.high):
        (bar,) = axes.plot([1 / ratio.high, 1 / ratio.low], [height] * 2, color=colour,
                           linewidth=6, alpha=0.35, solid_capstyle="butt", zorder=2,
                           scalex=False, scaley=False)
        text += f" ({1 / ratio.high:.2f} to {1 / ratio.low:.2f})"
        describe(bar, text, name)
    (tick,) = axes.plot([1 / ratio.time] * 2, [height - rows.half, height + rows.half], color=INK,
                        linewidth=2, solid_capstyle="butt", zorder=3, scalex=False, scaley=False)
    describe(tick, text, name)


def values_of(runs: list[Run]) -> list[str]:
    """The texts at the ends of rows."""
    return [_value(cell) for cell, _ in ranked(runs)]


def draw_rows(rows: Rows, runs: list[Run], names: dict[Cell, str]) -> None:
    """Draws one workload into its rows."""
    cells = ranked(runs)
    reference = next((cell for cell, _ in cells if cell.is_reference), None)
    times = [run.time_to_target for run in runs if run.claims_time]
    base = reference.seconds_to_target if reference else min(times, default=1.0)
    speeds = {cell: [_speed(run, base) for run in own if run.status == "reached"]
              for cell, own in cells if cell.claims_time}
    _set_axis(rows.axes, speeds, names[reference] if reference else "the fastest run")
    leader = 1 / cells[0][0].ratio.time if cells[0][0].ratio else 1.0
    for row, (cell, own) in enumerate(cells):
        middle = row + rows.below
        rows.axes.vlines(1, middle - 1.6 * rows.half, middle + 1.6 * rows.half, color=INK,
                         linewidth=0.9, zorder=1)
        if row:
            rows.axes.axhline(row - 0.5, color=INK, alpha=0.12, linewidth=0.6, zorder=0)
        if cell.claims_time:
            _draw_row(rows, row, cell, names[cell], leader)
            _draw_runs(rows, middle, own, names[cell], base)
    kinds = {run.status for run in runs if run.claims_time} - {"reached"}
    marks = [text for kind, text in (("missed", "○ missed"), ("failed", "× failed"))
             if kind in kinds]
    rows.axes.set_xlabel("; ".join([rows.axes.get_xlabel(), *marks]))
    entitle(rows.axes, "Further right is faster")
    right = rows.below == 0
    rows.axes.annotate("time to target", (1, 1), xytext=(8 * right, 6), fontsize=9, color=FAINT,
                       ha="left" if right else "right", xycoords="axes fraction",
                       textcoords="offset points")


def draw_beside(axes: Axes, runs: list[Run], names: dict[Cell, str]) -> None:
    """Draws one workload into wide axes."""
    rows = rows_beside(axes, [names[cell] for cell, _ in ranked(runs)], values_of(runs))
    draw_rows(rows, runs, names)


def draw(runs: list[Run]) -> Figure | None:
    """Draws the figure for the report; None if no run reached the target."""
    if not any(run.claims_time and run.status == "reached" for run in runs):
        return None
    names = cell_labels(group_runs(runs))
    runs, others = fitting(runs, MOST_ROWS)
    rows = rows_figure([names[cell] for cell, _ in ranked(runs)], values_of(runs), 0.4)
    draw_rows(rows, runs, names)
    return tell(rows.figure, {"": others})
