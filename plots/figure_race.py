# SPDX-License-Identifier: Apache-2.0
"""The race: the target's metric against training time.

A line is the median over the runs (seeds) of a cell. All runs are evaluated at the same counts of
examples; for each count, x is the median training time and y the median metric. At most five cells
that tell the story have a colour and a name at the end of their line; the others are grey. Lines of
other programs are dashed.
"""

import math
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from plain_style import plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from axes_style import FAINT, INK, LOG_RATIO, NARROW, PLAIN, entitle, tidy
from figure_forest import NOT_RANKED, draw_forest
from hover import describe, light
from judgement import Cell, Run, group_runs, ranked
from labels import cell_labels, workers_text
from palette import style_of
from rows import height_beside
from selection import MOST_ROWS, fitting, tell
from strategies import split_program, strategies_text
from wording import counts_text, time_text, time_unit

SHOWS = {"learning": "learning up to the target", "step_cost": "what a step costs"}
NAME = 12.0  # points of height for a name
GREY = "#BBBBBB"
BESIDE = 1.76  # inches above and below the rows of a workload


def told(cells: Iterable[Cell]) -> list[Cell]:
    """The cells that tell the story: the first two, the reference, the slowest that reached the
    target, and the last that missed it."""
    raced = [cell for cell in cells if cell.claims_time and cell.curve]
    reached = [cell for cell in raced if math.isfinite(cell.seconds_to_target)]
    missed = [cell for cell in raced if not math.isfinite(cell.seconds_to_target)]
    references = [cell for cell in reached if cell.is_reference]
    return list(dict.fromkeys([*reached[:2], *references[:1], *reached[-1:], *missed[-1:]]))


def _draw_cell(axes: Axes, cell: Cell, scale: float, name: str, is_told: bool) -> None:
    times = [point.training_time * scale for point in cell.curve]
    if axes.get_xscale() == "log":  # cannot show the evaluation at time 0
        times = [time if time > 0 else math.nan for time in times]
    colour = style_of(cell.variant.strategy).colour if is_told else GREY
    (line,) = axes.plot(times, [point.metric for point in cell.curve], color=colour,
                        linewidth=2.2 if is_told else 1.0, zorder=3 if is_told else 2,
                        linestyle="--" if split_program(cell.variant.strategy)[0] else "-")
    reached = math.isfinite(cell.seconds_to_target) and cell.claims_time
    describe(line, f"{name}: " + (time_text(cell.seconds_to_target) if reached else "missed"
                                  if cell.claims_time else NOT_RANKED), name)


def _name_ends(axes: Axes, cells: list[Cell], scale: float, names: dict[Cell, str]) -> None:
    """Writes names beside the axes, as close to the ends of their lines as they have room. Lines
    that end early have the outer names, so that the thin lines to the names do not cross."""
    ends = {cell: (cell.curve[-1].training_time * scale, cell.curve[-1].metric) for cell in cells}
    to_axes = axes.transData + axes.transAxes.inverted()
    places = {cell: to_axes.transform(end) for cell, end in ends.items()}
    lean = 0.3 if cells and cells[0].lower_is_better else -0.3
    order = sorted(cells, key=lambda cell: -places[cell][1] - lean * places[cell][0])
    step = NAME / 72 / (axes.get_position().height * axes.get_figure().get_figheight())
    heights: list[float] = []
    for at, cell in enumerate(order):
        highest = heights[-1] - step if heights else 1.0
        heights.append(min(highest, max(places[cell][1], (len(order) - 1 - at) * step)))
    for cell, height in zip(order, heights):
        colour = style_of(cell.variant.strategy).colour
        written = axes.annotate(
            names[cell], ends[cell], xytext=(1.05, height), textcoords="axes fraction",
            va="center", fontsize=9, color=INK, annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 1.2, "alpha": 0.8,
                        "shrinkA": 1, "shrinkB": 0, "relpos": (0, 0.5)})
        light(written, names[cell])
        light(written.arrow_patch, names[cell])


def _draw_target(axes: Axes, cell: Cell) -> None:
    unit = "" if cell.lower_is_better else " %"
    axes.axhline(cell.target, color=INK, linewidth=0.9, zorder=1)
    axes.annotate(f"target {cell.target:g}{unit}", (0, cell.target), xytext=(5, 4),
                  xycoords=("axes fraction", "data"), textcoords="offset points", fontsize=9,
                  color=INK)


def _set_time_axis(axes: Axes, cells: Iterable[Cell]) -> float:
    """Fits the time axis to the lines, which are medians, so that a single slow run hardly
    stretches it. Returns the number of axis units in a second."""
    lines = [line for cell in cells
             if (line := [point.training_time for point in cell.curve if point.training_time > 0])]
    ends = [max(line) for line in lines] or [1.0]
    scale, unit = time_unit(max(ends))
    if max(ends) > LOG_RATIO * min(ends):
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(PLAIN)
        axes.set_xlim(min(map(min, lines)) * scale / 1.1, max(ends) * scale * 1.1)
        axes.set_xlabel(f"training time ({unit}, log scale)")
    else:
        axes.set_xlim(0, max(ends) * scale * 1.02)
        axes.set_xlabel(f"training time ({unit})")
    return scale


def _set_metric_axis(axes: Axes, runs: list[Run]) -> None:
    metrics = [one.metric for run in runs for one in run.evaluations]
    if runs[0].cell.lower_is_better:
        axes.set_ylabel("loss")
        if metrics and max(metrics) > 10 * min(metrics) > 0:
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(PLAIN)
            axes.set_ylabel("loss (log scale)")
    else:
        axes.set_ylabel("accuracy (%)")


def draw_panel(axes: Axes, runs: list[Run], names: dict[Cell, str]) -> None:
    """Draws one workload: the target, lines, bands and names."""
    cells = [cell for cell, _ in ranked(runs)]
    _set_metric_axis(axes, runs)
    scale = _set_time_axis(axes, cells)
    for target in {cell.target: cell for cell in cells}.values():
        _draw_target(axes, target)
    story = told(cells)
    for cell in cells:
        _draw_cell(axes, cell, scale, names[cell], cell in story)
    axes.margins(y=0.1)  # room for the target's label
    axes.autoscale_view(scalex=False)
    _name_ends(axes, story, scale, names)
    entitle(axes, f"{cells[0].target_metric.capitalize()} over time")
    tidy(axes)


def _conditions(runs: list[Run]) -> str:
    dataset = ", ".join(sorted({run.variant.dataset for run in runs} - {""}))
    batch = counts_text(run.variant.global_batch for run in runs)
    workers = workers_text((run.variant.strategy, run.variant.workers, run.cell.threads)
                           for run in runs)
    return f"{dataset}, global batch {batch}, {workers}"


def footer(runs: list[Run]) -> str:
    """The footer of the figure: lines, machine, date and source of the numbers."""
    counts = {len({run.seed for run in group}) for workload in {run.workload for run in runs}
              for group in group_runs(run for run in runs if run.workload == workload).values()}
    seeds = f"{min(counts)} to {max(counts)}" if len(counts) > 1 else str(max(counts))
    machines = sorted({run.cell.machine.text for run in runs})
    commits = sorted({run.commit[:10] + (" with changes" if run.dirty else "") for run in runs})
    dates = sorted({run.date for run in runs})
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    text = (f"Lines: median over {seeds} seed{'s' * (seeds != '1')}. "
            f"{'; '.join(machines)}. {when}. Commit {', '.join(commits)}.")
    if len(machines) > 1:
        text += " Different machines: times are not comparable."
    return text


def draw_race(runs: list[Run], answers: Mapping[str, str] = MappingProxyType({})) -> Figure:
    """Draws each workload's rows and, beside them, its curves; the caller saves and closes it.
    `answers`: who is first, by workload."""
    names: dict[Cell, str] = {}
    shown: dict[str, tuple[list[Run], str]] = {}
    for workload in dict.fromkeys(run.workload for run in runs):
        every = [run for run in runs if run.workload == workload]
        names |= cell_labels(group_runs(every))
        shown[workload] = fitting(every, MOST_ROWS)
    heights = [max(2.0, height_beside(names[cell] for cell in group_runs(own)))
               for own, _ in shown.values()]
    whole = sum(heights) + BESIDE * len(shown) + 0.9
    figure = plt.figure(figsize=(11, whole))
    top = whole - 0.55
    for (workload, (own, _)), height in zip(shown.items(), heights):
        bottom = top - 1.16 - height
        left, right = (figure.add_axes((at / 11, bottom / whole, width / 11, height / whole))
                       for at, width in ((1.75, 2.2), (7.3, 2.3)))
        figure.text(0.02, (top - 0.12) / whole, f"{workload}: {SHOWS[own[0].cell.shows]}",
                    fontsize=13, fontweight="bold", color=INK, va="top")
        figure.text(0.02, (top - 0.37) / whole, answers.get(workload, ""), fontsize=10.5,
                    color=INK, va="top")
        figure.text(0.02, (top - 0.58) / whole, _conditions(own), fontsize=9.5, color=FAINT,
                    va="top")
        draw_forest(own, names, left)
        draw_panel(right, own, names)
        top = bottom - BESIDE + 1.16
    strategies = strategies_text(run.variant.strategy for run in runs)
    figure.text(0.02, 1 - 0.1 / whole, f"Who reaches the target first? {strategies}",
                fontsize=16, fontweight="bold", color=INK, va="top")
    marks = ("Marks: runs, compared with the run of the same seed (none if that has no time); "
             "ticks: their means; bars: intervals,\n"
             f"cut at the edge; arrows: beyond it. {footer(runs)}")
    figure.text(0.02, 0.1 / whole, marks, fontsize=8.5, color=FAINT, va="bottom", linespacing=1.5)
    return tell(figure, {workload: note for workload, (_, note) in shown.items()})


def draw(runs: list[Run]) -> Figure | None:
    """Draws the race of one workload for the report; None if no run was evaluated during training,
    or if all runs were too short to show more than their beginning and end."""
    if not any(one.training_time > 0 for run in runs for one in run.evaluations):
        return None
    if all(len(run.evaluations) <= 2 and not math.isfinite(run.time_to_target) for run in runs):
        return None
    names = cell_labels(group_runs(runs))
    runs, others = fitting(runs, MOST_ROWS)
    figure, axes = plt.subplots(figsize=(NARROW, 4.2))
    figure.subplots_adjust(right=0.66)
    draw_panel(axes, runs, names)
    return tell(figure, {"": others})
