# SPDX-License-Identifier: Apache-2.0
"""Who is how fast: a row for each cell, its speed relative to the reference with an interval.

The reference is the fastest cell of `single`, or the first cell if there is none. A small mark is a
run, compared with the reference's run of the same seed; the tick is their geometric mean, the bar
its interval by the test that decides. Runs that missed the target are hollow marks at the left
edge, failed runs crosses. An arrow to the left edge: the cell was left out, because it is slower.
"""

import math

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
MANY = 200  # more marks of a cell are drawn as pixels, not paths
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


def _outcome(run: Run) -> str:
    """`reached`, if there is a time; `missed` or `failed`."""
    return ("reached" if math.isfinite(run.time_to_target)
            else "failed" if run.status == "failed" else "missed")


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


def _draw_runs(axes: Axes, height: float, runs: list[Run], name: str, base: float) -> None:
    colour = style_of(runs[0].variant.strategy).colour
    for status in dict.fromkeys(map(_outcome, runs)):
        own, reached = [run for run in runs if _outcome(run) == status], status == "reached"
        many = len(own) > MANY
        for at, group in enumerate([own] if many else [[run] for run in own]):
            places = [_speed(run, base) for run in group] if reached else [
                0.01 + EDGE * (at / max(4, len(own)) + 0.5 * (status == "failed"))] * len(group)
            (marks,) = axes.plot(
                places, [height] * len(group), marker="X" if status == "failed" else "o",
                linestyle="", markersize=SIZE, markerfacecolor=colour if reached else "none",
                markeredgecolor="white" if reached else colour, markeredgewidth=0.7,
                transform=axes.transData if reached else axes.get_yaxis_transform(), alpha=0.8,
                zorder=4, clip_on=reached, rasterized=many, scalex=False, scaley=False)
            result = time_text(group[0].time_to_target) if reached else status
            describe(marks, f"{name}, {len(group)} runs" if many
                     else f"{name}, seed {group[0].seed}: {result}", name)


def _draw_ratio(rows: Rows, height: float, cell: Cell, name: str, leader: float) -> None:
    """Draws the mean and its interval; for a cell that was left out as slower, an arrow from its
    highest speed."""
    axes, colour = rows.axes, style_of(cell.variant.strategy).colour
    ratio, out = cell.ratio, cell.left_out
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


def draw_forest(runs: list[Run], names: dict[Cell, str], beside: Axes | None = None) -> Figure:
    """Draws one workload into the wide axes `beside`, or into a narrow figure of its own."""
    cells = ranked(runs)
    texts = [names[cell] for cell, _ in cells], [_value(cell) for cell, _ in cells]
    rows = rows_beside(beside, *texts) if beside else rows_figure(*texts, 0.4)
    axes = rows.axes
    reference = next((cell for cell, _ in cells if cell.is_reference), None)
    base = (reference.seconds_to_target if reference else
            min((run.time_to_target for run in runs if _outcome(run) == "reached"), default=1.0))
    speeds = {cell: [_speed(run, base) for run in own if _outcome(run) == "reached"]
              for cell, own in cells if cell.claims_time}
    _set_axis(axes, speeds, names[reference] if reference else "the fastest run")
    leader = 1 / cells[0][0].ratio.time if cells[0][0].ratio else 1.0
    for row, (cell, own) in enumerate(cells):
        middle = row + rows.below
        axes.vlines(1, middle - 1.25 * rows.half, row + 0.5, color=INK, linewidth=0.9, zorder=1)
        axes.axhline(row - 0.5, color=INK, alpha=0.12, linewidth=0.6, zorder=0)
        if cell.claims_time:
            _draw_ratio(rows, middle, cell, names[cell], leader)
            _draw_runs(axes, middle, own, names[cell], base)
    kinds = {_outcome(run) for run in runs if run.claims_time}
    marks = ["○ missed"] * ("missed" in kinds) + ["× failed"] * ("failed" in kinds)
    axes.set_xlabel("; ".join([axes.get_xlabel(), *marks]))
    entitle(axes, "Further right is faster")
    axes.annotate("time to target", (1, 1), xytext=(8 if beside else 0, 6), fontsize=9,
                  ha="left" if beside else "right", color=FAINT, xycoords="axes fraction",
                  textcoords="offset points")
    return rows.figure


def draw(runs: list[Run]) -> Figure | None:
    """Draws the figure for the report; None if no run reached the target."""
    if not any(run.claims_time and _outcome(run) == "reached" for run in runs):
        return None
    names = cell_labels(group_runs(runs))
    runs, others = fitting(runs, MOST_ROWS)
    return tell(draw_forest(runs, names), {"": others})
