# SPDX-License-Identifier: Apache-2.0
"""The cost of exchanging less: the metric at the end against the bytes sent in a step.

A mark is the median of a cell; its line spans the runs. Bytes are summed over all workers and
averaged over steps. Drawn for workloads with periodic or compressed strategies.
"""

import math

from plain_style import plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, NullLocator

from axes_style import NARROW, entitle, legend_below, tidy
from hover import describe
from judgement import Cell, Run, group_runs
from labels import cell_labels
from palette import styles_of
from selection import fitting, tell
from strategies import exchanges_of
from wording import bytes_text

LESS = {"periodic", "compressed"}
MOST = 18  # cells shown of a workload
BYTES = EngFormatter(unit="B")


def _has_point(run: Run) -> bool:
    return math.isfinite(run.cell.metric) and bool(run.evaluations) and run.status != "failed"


def _draw_cell(axes: Axes, cell: Cell, runs: list[Run], name: str, style: object) -> None:
    ends = [run.evaluations[-1].metric for run in runs]
    at = cell.bytes_counted
    axes.plot([at, at], [min(ends), max(ends)], color=style.colour, linewidth=1.6, alpha=0.6)
    (mark,) = axes.plot(at, cell.metric, marker=style.marker, color=style.colour, linestyle="",
                        markersize=8, markeredgecolor="white", zorder=4, label=name)
    describe(mark, f"{name}: {cell.metric:.4g} at the end, {min(ends):.4g} to {max(ends):.4g}, "
                   f"{bytes_text(at)} a step", name)


def _draw_panel(axes: Axes, workload: str, runs: list[Run]) -> None:
    groups = group_runs(runs)
    names = cell_labels(groups)
    sent = [cell.bytes_counted for cell in groups if cell.bytes_counted > 0]
    axes.set_xscale("symlog", linthresh=min(sent) / 2, linscale=0.4)
    cells = sorted(groups, key=lambda cell: (cell.variant.strategy, -cell.bytes_counted))
    for cell, style in zip(cells, styles_of(cell.variant.strategy for cell in cells)):
        _draw_cell(axes, cell, groups[cell], names[cell], style)
    axes.set_xlim(-min(sent) / 6, max(sent) * 2)
    powers = range(math.floor(math.log10(min(sent))), math.ceil(math.log10(max(sent))) + 1)
    axes.set_xticks([0, *(10.0**power for power in powers if 10**power >= min(sent))])
    axes.xaxis.set_major_formatter(BYTES)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("sent in a step, all workers (log scale)")
    metric = cells[0].target_metric
    axes.set_ylabel("accuracy at the end (%)" if metric == "accuracy" else f"{metric} at the end")
    entitle(axes, f"{workload}: exchanging less")
    legend_below(axes, *axes.get_legend_handles_labels())
    tidy(axes)


def draw(runs: list[Run]) -> Figure | None:
    """Draws a panel for each workload with periodic or compressed exchanges; None without one."""
    panels, others = [], {}
    for workload in dict.fromkeys(run.workload for run in runs):
        own = [run for run in runs if run.workload == workload and _has_point(run)]
        if not any(LESS & set(exchanges_of(run.variant.strategy)) for run in own):
            continue
        shown, others[workload] = fitting(own, MOST)
        if any(run.cell.bytes_counted > 0 for run in shown):
            panels.append((workload, shown))
    if not panels:
        return None
    figure, grid = plt.subplots(len(panels), 1, squeeze=False, gridspec_kw={"hspace": 1.6},
                                figsize=(NARROW, 3.6 * len(panels)))
    for axes, (workload, shown) in zip(grid[:, 0], panels):
        _draw_panel(axes, workload, shown)
    return tell(figure, others)
