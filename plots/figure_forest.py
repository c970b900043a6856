# SPDX-License-Identifier: Apache-2.0
"""Who takes how long: a row for each cell, its time to the target divided by the reference's.

The reference is the fastest cell of `single`, or the first cell if there is none. A small mark is a
run, compared with the reference's run of the same seed; without such a run it has no mark. The tick
is their geometric mean, the bar its interval by the test that decides. Runs that missed the target
are hollow marks at the right edge, failed runs crosses, runs of other programs diamonds. An arrow
to the right edge: the cell takes far longer, at least as long as where it begins.
"""

import math

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from axes_style import FAINT, INK, PLAIN, entitle
from hover import describe
from judgement import Cell, Run, group_runs, ranked
from labels import cell_labels
from palette import style_of
from rows import LABEL_WIDTH, Rows, rows_beside, rows_figure
from selection import MOST_ROWS, fitting, tell
from strategies import split_program
from wording import reason_text, time_text

BEYOND = 10.0  # so many times the reference's time lie beyond the axis
FAR = 4.0  # the axis is logarithmic if the longest time is this many times the shortest
SIZE = 5.0  # of all marks, in points
MANY = 200  # more marks of a cell are drawn as pixels, not paths
EDGE = 0.08  # share of the width for runs without a time
NOT_RANKED = "exchanges nothing: not ranked"


def _value(cell: Cell, first: str) -> str:
    """The text at a row's end: its time, or the reason for none. `first`: the first cell's name."""
    if not cell.claims_time:
        return NOT_RANKED
    if cell.left_out and cell.left_out.why != "precise":
        return reason_text(*cell.left_out[1:], first)
    some = f", {cell.reached} of {cell.count}" if cell.reached < cell.count else ""
    missed = not math.isfinite(cell.seconds_to_target)
    return ("missed" if missed else time_text(cell.seconds_to_target)) + some


def _is_beyond(cell: Cell) -> bool:
    return (cell.ratio.time > BEYOND if cell.ratio
            else bool(cell.left_out and cell.left_out.why == "slower"))


def _outcome(run: Run) -> str:
    """`reached`, if there is a time; `missed` or `failed`."""
    return ("reached" if math.isfinite(run.time_to_target)
            else "failed" if run.status == "failed" else "missed")


def _times_of(runs: list[Run]) -> dict[int, float]:
    """The reference's times by seed; without a reference, that of the fastest run for each seed."""
    reached = [run for run in runs if _outcome(run) == "reached"]
    times = {run.seed: run.time_to_target for run in reached if run.cell.is_reference}
    return times or {run.seed: min(one.time_to_target for one in reached) for run in reached}


def _ratio(run: Run, base: dict[int, float]) -> float:
    """The run's time divided by the reference's; nan if the reference has none for its seed."""
    return run.time_to_target / base.get(run.seed, math.nan)


def _set_axis(axes: Axes, runs: list[Run], base: dict[int, float], name: str) -> None:
    ratios = [_ratio(run, base) for run in runs if not _is_beyond(run.cell)]
    ratios = [1.0, *(ratio for ratio in ratios if math.isfinite(ratio))]
    low, high = min(ratios), max(ratios)
    axes.set_xlabel(f"times as long as {name}")
    if high > FAR * low:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(PLAIN)
        axes.set_xlim(low / (high / low) ** EDGE, high * (high / low) ** (2 * EDGE))
        axes.set_xlabel(f"{axes.get_xlabel()} (log scale)")
    else:
        room = max(high - low, 0.1 * high)
        axes.xaxis.set_major_locator(MaxNLocator(5))
        axes.set_xlim(low - EDGE * room, high + 2 * EDGE * room)


def _draw_runs(axes: Axes, height: float, runs: list[Run], name: str,
               base: dict[int, float]) -> None:
    colour = style_of(runs[0].variant.strategy).colour
    shape = "D" if split_program(runs[0].variant.strategy)[0] else "o"
    for status in dict.fromkeys(map(_outcome, runs)):
        reached = status == "reached"
        own = [run for run in runs if _outcome(run) == status
               and (not reached or math.isfinite(_ratio(run, base)))]
        many = len(own) > MANY
        for at, group in enumerate([own] if many else [[run] for run in own]):
            places = [_ratio(run, base) for run in group] if reached else [
                0.99 - EDGE * (at / max(4, len(own)) + 0.5 * (status == "failed"))] * len(group)
            (marks,) = axes.plot(
                places, [height] * len(group), marker="X" if status == "failed" else shape,
                linestyle="", markersize=SIZE, markerfacecolor=colour if reached else "none",
                markeredgecolor="white" if reached else colour, markeredgewidth=0.7,
                transform=axes.transData if reached else axes.get_yaxis_transform(), alpha=0.8,
                zorder=4, clip_on=reached, rasterized=many, scalex=False, scaley=False)
            result = time_text(group[0].time_to_target) if reached else status
            describe(marks, f"{name}, {len(group)} runs" if many
                     else f"{name}, seed {group[0].seed}: {result}", name)


def _draw_ratio(rows: Rows, height: float, cell: Cell, name: str, value: str) -> None:
    """Draws the mean and its interval; beyond the axis, an arrow from the lower end."""
    axes, colour = rows.axes, style_of(cell.variant.strategy).colour
    ratio = cell.ratio
    if _is_beyond(cell):
        low = ratio.low if ratio and ratio.low > 0 else axes.get_xlim()[1]
        start = (axes.transData + axes.transAxes.inverted()).transform((low, 0))[0]
        start = min(max(start, 0), 0.95)
        arrow = axes.annotate(
            "", (1.015, height), (start, height), xycoords=axes.get_yaxis_transform(),
            arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": 1.6, "shrinkA": 0,
                        "shrinkB": 0}, annotation_clip=False)
        describe(arrow.arrow_patch, f"{name}: {value}", name)
        return
    if ratio is None:
        return
    text = f"{name}: {ratio.time:.2f}"
    if math.isfinite(ratio.low) and math.isfinite(ratio.high):
        (bar,) = axes.plot([ratio.low, ratio.high], [height] * 2, color=colour,
                           linewidth=6, alpha=0.35, solid_capstyle="butt", zorder=2,
                           scalex=False, scaley=False)
        text += f" ({ratio.low:.2f} to {ratio.high:.2f})"
        describe(bar, text, name)
    (tick,) = axes.plot([ratio.time] * 2, [height - rows.half, height + rows.half], color=INK,
                        linewidth=2, solid_capstyle="butt", zorder=3, scalex=False, scaley=False)
    describe(tick, text, name)


def draw_forest(runs: list[Run], names: dict[Cell, str], beside: Axes | None = None) -> Figure:
    """Draws one workload into the wide axes `beside`, or into a narrow figure of its own."""
    cells = ranked(runs)
    first = names[cells[0][0]]
    first = first if len(first) <= LABEL_WIDTH else "the first"
    values = [_value(cell, first) for cell, _ in cells]
    texts = [names[cell] for cell, _ in cells], values
    rows = rows_beside(beside, *texts) if beside else rows_figure(*texts, 0.4)
    axes = rows.axes
    reference = next((names[cell] for cell, _ in cells if cell.is_reference), "the fastest run")
    raced = [run for run in runs if run.claims_time]
    base = _times_of(raced)
    _set_axis(axes, raced, base, reference)
    for row, (cell, own) in enumerate(cells):
        middle = row + rows.below
        axes.vlines(1, middle - 1.25 * rows.half, row + 0.5, color=INK, linewidth=0.9, zorder=1)
        axes.axhline(row - 0.5, color=INK, alpha=0.12, linewidth=0.6, zorder=0)
        if cell.claims_time:
            _draw_ratio(rows, middle, cell, names[cell], values[row])
            _draw_runs(axes, middle, own, names[cell], base)
    kinds = set(map(_outcome, raced))
    marks = ["○ missed"] * ("missed" in kinds) + ["× failed"] * ("failed" in kinds)
    axes.set_xlabel("; ".join([axes.get_xlabel(), *marks]))
    entitle(axes, "Further left is faster")
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
