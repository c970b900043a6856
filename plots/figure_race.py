# SPDX-License-Identifier: Apache-2.0
"""The race: the target's metric against training time, one panel for each workload.

A line is the median over the runs (seeds) of a strategy. All runs are evaluated at the same counts
of examples; for each count, x is the median training time and y the median metric. The band spans
all runs. A mark on the target line is the time to target: the geometric mean of the runs, or their
median if a run missed the target. Lines exclude failed runs; a cross shows where a failed run
ended, a hollow mark the end of the line of a cell that missed the target.
"""

import math
import textwrap

from plain_style import plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from hover import describe
from axes_style import FAINT, INK, entitle, tidy
from palette import Style, styles_of
from judgement import Cell, Run, group_runs, ranked
from labels import cell_labels, workers_text
from selection import MOST_LINES, fitting, tell
from strategies import strategies_text
from wording import counts_text, time_text, time_unit

# The time axis is logarithmic if the slowest line takes this many times as long as the fastest.
LOG_RATIO = 8.0
PLAIN = FuncFormatter(lambda value, position: f"{value:g}")
SHOWS = {"learning": "learning up to the target", "step_cost": "what a step costs"}
ENTRY = 0.235  # inches of a line of the legend
NARROW = 4.2  # inches: readable on a phone; two fit side by side on a desktop


def _entry(label: str, cell: Cell) -> str:
    """The text of a legend entry, with the cell's time to target or the reason for none."""
    if not cell.claims_time:
        return f"{label}: speed ceiling, no claim"
    time = (time_text(cell.seconds_to_target) if math.isfinite(cell.seconds_to_target)
            else "missed")
    return f"{label}: {time}, {cell.reached} of {cell.count} runs"


def _draw_failures(axes: Axes, runs: list[Run], scale: float, colour: str) -> int:
    failed = [run for run in runs if run.status == "failed"]
    for run in failed:
        if run.evaluations:
            last = run.evaluations[-1]
            time = max(last.training_time * scale, axes.get_xlim()[0])
            axes.plot(time, last.metric, marker="X", color=colour,
                      markersize=10, markeredgecolor="white", zorder=6, clip_on=False)
        else:  # it was never evaluated: at the left edge, at half height
            axes.plot(0, 0.5, marker="X", color=colour, markersize=10, markeredgecolor="white",
                      transform=axes.transAxes, zorder=6, clip_on=False)
    return len(failed)


def _draw_cell(axes: Axes, cell: Cell, runs: list[Run], scale: float, label: str,
               style: Style) -> Line2D:
    times = [point.training_time * scale for point in cell.curve]
    if axes.get_xscale() == "log":  # cannot show the evaluation at time 0
        times = [time if time > 0 else math.nan for time in times]
    axes.fill_between(times, [point.low for point in cell.curve],
                      [point.high for point in cell.curve], color=style.colour, alpha=0.18,
                      linewidth=0)
    line = Line2D(times, [point.metric for point in cell.curve], color=style.colour, linewidth=2.0,
                  dashes=style.dash or (None, None), label=_entry(label, cell))
    axes.add_line(line)
    describe(line, line.get_label())
    reached = math.isfinite(cell.seconds_to_target)
    face, edge = (style.colour, "white") if reached else ("white", style.colour)
    if cell.claims_time and (reached or cell.curve):
        at = ((cell.seconds_to_target * scale, cell.target) if reached
              else (times[-1], cell.curve[-1].metric))
        (mark,) = axes.plot(*at, marker=style.marker, color=face, markersize=8,
                            markeredgecolor=edge, markeredgewidth=0.9, zorder=5)
        describe(mark, line.get_label())
    failed = _draw_failures(axes, runs, scale, style.colour)
    if failed:
        line.set_label(f"{line.get_label()}, {failed} failed (x)")
    return Line2D([], [], color=style.colour, linewidth=2.0, dashes=style.dash or (None, None),
                  marker=style.marker if cell.claims_time else "", markersize=7,
                  markerfacecolor=face, markeredgecolor=edge,
                  label=line.get_label())


def _draw_target(axes: Axes, cell: Cell) -> None:
    unit = "" if cell.lower_is_better else " %"
    axes.axhline(cell.target, color=INK, linewidth=0.9, zorder=1)
    axes.annotate(f"target {cell.target:g}{unit}", (0, cell.target), xytext=(5, 4),
                  xycoords=("axes fraction", "data"), textcoords="offset points", fontsize=9,
                  color=INK)


def _times_shown(runs: list[Run]) -> tuple[list[list[float]], list[float]]:
    """The seconds of each cell's line, without 0, and the seconds of all marks and failures. Lines
    are medians, so that a single slow run hardly stretches the axis."""
    cells = {run.cell for run in runs}
    lines = [[point.training_time for point in cell.curve if point.training_time > 0]
             for cell in cells]
    marks = [run.evaluations[-1].training_time for run in runs
             if run.status == "failed" and run.evaluations]
    marks += [cell.seconds_to_target for cell in cells
              if cell.claims_time and math.isfinite(cell.seconds_to_target)]
    return [line for line in lines if line], [time for time in marks if time > 0]


def _set_time_axis(axes: Axes, runs: list[Run]) -> float:
    """Fits the time axis to the lines and marks. Returns the number of axis units in a second."""
    lines, marks = _times_shown(runs)
    ends = [max(line) for line in lines]
    last = max([*ends, *marks], default=1.0)
    scale, unit = time_unit(last)
    if ends and max(ends) > LOG_RATIO * min(ends):
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(PLAIN)
        axes.set_xlim(min([*map(min, lines), *marks]) * scale / 1.1, last * scale * 1.1)
        axes.set_xlabel(f"training time ({unit}, log scale; without evaluations)")
    else:
        axes.set_xlim(0, last * scale * 1.02)
        axes.set_xlabel(f"training time ({unit}; without evaluations)")
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


def draw_panel(axes: Axes, workload: str, runs: list[Run],
               names: dict[Cell, str]) -> list[Line2D]:
    """Draws one workload: lines, bands, target, failures.

    Returns the entries for the legend, ranked.
    """
    _set_metric_axis(axes, runs)
    scale = _set_time_axis(axes, runs)
    for target in {run.cell.target: run.cell for run in runs}.values():
        _draw_target(axes, target)
    lines = ranked(runs)
    styles = styles_of(cell.variant.strategy for cell, _ in lines)
    entries = [_draw_cell(axes, cell, group, scale, names[cell], style)
               for (cell, group), style in zip(lines, styles)]
    axes.margins(y=0.1)  # room for the target's label
    axes.autoscale_view(scalex=False)
    axes.legend(handles=entries, loc="upper left", bbox_to_anchor=(1.02, 1.0), frameon=False,
                fontsize=9.5, handlelength=4.2, labelspacing=0.75, borderaxespad=0,
                title="training time to target", title_fontsize=9.5,
                alignment="left")
    axes.set_title(f"{workload}: {SHOWS[runs[0].cell.shows]}", loc="left", fontsize=13,
                   fontweight="bold", color=INK, pad=22)
    axes.text(0, 1.025, _conditions(runs), transform=axes.transAxes, fontsize=9.5, color=FAINT)
    tidy(axes)
    return entries


def _conditions(runs: list[Run]) -> str:
    dataset = ", ".join(sorted({run.variant.dataset for run in runs} - {""}))
    batch = counts_text(run.variant.global_batch for run in runs)
    workers = workers_text((run.variant.strategy, run.variant.workers, run.cell.threads)
                           for run in runs)
    return f"{dataset}, global batch {batch}, {workers}"


MARKS = ("Marks: training time to target, geometric mean of the runs; the median where one missed "
         "it; hollow: missed.")


def footer(runs: list[Run], marks: str = MARKS) -> str:
    """The footer of the figure: machine, date and source of the numbers."""
    counts = {len({run.seed for run in group}) for workload in {run.workload for run in runs}
              for group in group_runs(run for run in runs if run.workload == workload).values()}
    seeds = f"{min(counts)} to {max(counts)}" if len(counts) > 1 else str(max(counts))
    machines = sorted({run.cell.machine.text for run in runs})
    commits = sorted({run.commit[:10] + (" with changes" if run.dirty else "") for run in runs})
    dates = sorted({run.date for run in runs})
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    text = (f"Lines: median over {seeds} seed{'s' * (seeds != '1')}; bands: lowest to highest. "
            f"{marks}\n{'; '.join(machines)}. {when}. Commit {', '.join(commits)}.")
    if len(machines) > 1:
        text += " Different machines: times are not comparable."
    return text


def draw_race(runs: list[Run]) -> Figure:
    """Draws the whole figure; the caller saves and closes it."""
    workloads = list(dict.fromkeys(run.workload for run in runs))
    shown = {workload: fitting((run for run in runs if run.workload == workload), MOST_LINES)
             for workload in workloads}
    lines = max(len(group_runs(own)) for own, _ in shown.values())
    heights = max(3.9, (lines + 2) * ENTRY + 1.1) * len(workloads) + 1.5
    figure, grid = plt.subplots(len(workloads), 1, figsize=(11, heights), squeeze=False)
    for axes, workload in zip(grid[:, 0], workloads):
        own = [run for run in runs if run.workload == workload]
        draw_panel(axes, workload, shown[workload][0], cell_labels(group_runs(own)))
    figure.subplots_adjust(left=0.075, right=0.62, top=1 - 1.15 / heights, bottom=1.15 / heights,
                           hspace=1.4 / max(2.6, lines * ENTRY))
    strategies = strategies_text(run.variant.strategy for run in runs)
    figure.text(0.02, 1 - 0.3 / heights, f"Who reaches the target first? {strategies}",
                fontsize=16, fontweight="bold", color=INK, va="top")
    figure.text(0.02, 0.14 / heights, footer(runs), fontsize=8.5, color=FAINT, va="bottom",
                linespacing=1.5)
    return tell(figure, {workload: note for workload, (_, note) in shown.items()})


def legend_below(axes: Axes, entries: list[Line2D], names: list[str]) -> None:
    """Adds a legend below the figure, in two columns if the names are short."""
    short = max(map(len, names)) <= 24
    axes.legend(entries, [textwrap.fill(name, 50, break_on_hyphens=False) for name in names],
                loc="upper left", bbox_to_anchor=(-0.14, -0.18), ncols=2 if short else 1,
                frameon=False, fontsize=9, borderaxespad=0, columnspacing=1,
                handlelength=3.6 if any(len(entry.get_xdata()) != 1 for entry in entries) else 1.2)


def draw(runs: list[Run]) -> Figure | None:
    """Draws the race of one workload for the report; None if no run was evaluated during training,
    or if all runs were too short to show more than their beginning and end."""
    if not any(one.training_time > 0 for run in runs for one in run.evaluations):
        return None
    if all(len(run.evaluations) <= 2 and not math.isfinite(run.time_to_target) for run in runs):
        return None
    figure, axes = plt.subplots(figsize=(NARROW, 3.6))
    names = cell_labels(group_runs(runs))
    runs, others = fitting(runs, MOST_LINES)
    entries = draw_panel(axes, runs[0].workload, runs, names)
    axes.set_xlabel(axes.get_xlabel().replace("; without evaluations", ""))  # stated on the page
    axes.texts[-1].set_text("")  # stated on the page, too
    entitle(axes, "The race")
    legend_below(axes, entries, [names[cell] for cell, _ in ranked(runs)])
    return tell(figure, {"": others})
