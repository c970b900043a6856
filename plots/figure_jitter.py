# SPDX-License-Identifier: Apache-2.0
"""Loss by examples of a synchronous strategy and the asynchronous ones, for one seed.

A dot is the recorded loss of one update. A synchronous update uses a whole batch, an asynchronous
one only a worker's share of it, so asynchronous dots scatter more for that reason alone. A line is
the mean over as many dots as a batch has. If a record holds only some of its losses, the line shows
the evaluations instead.
"""

import statistics

from plain_style import plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from axes_style import FAINT, INK, PLAIN, tidy
from palette import style_of
from judgement import Run


def losses_by_batch(run: Run) -> list[tuple[float, float]]:
    """Examples and mean loss of each batch; empty if the record lacks the loss of some updates."""
    if len(run.losses) != run.updates or not run.evaluations or not run.variant.global_batch:
        return []
    batches = run.evaluations[-1].examples / run.variant.global_batch
    each = max(1, round(run.updates / batches)) if batches else 1
    return [(run.losses[i][0], statistics.fmean(loss for _, loss in run.losses[i:i + each]))
            for i in range(0, len(run.losses) - each + 1, each)]


def chosen(runs: list[Run]) -> list[Run]:
    """One synchronous run, then one of each asynchronous strategy with equal seed and workers."""
    plain = [run for run in runs if not run.variant.straggler and run.status != "failed"
             and run.losses and run.variant.option("staleness_bound") is None]
    alone = [run for run in plain if run.variant.asynchronous]
    # The first synchronous run represents all: their losses are the same.
    for run in plain:
        if run.variant.asynchronous or not run.claims_time:
            continue
        same = [other for other in alone if other.seed == run.seed
                and (other.commit, other.cell.machine) == (run.commit, run.cell.machine)
                and all(getattr(other.variant, name) == getattr(run.variant, name)
                        for name in ("workers", "dtype", "dataset", "global_batch", "length"))]
        if same:
            return [run, *{other.variant.strategy: other for other in same}.values()]
    return []


def _draw_run(axes: Axes, run: Run) -> None:
    style = style_of(run.variant.strategy)
    axes.plot(*zip(*run.losses), linestyle="", marker="o", markersize=2.2, color=style.colour,
              alpha=0.45, markeredgewidth=0, rasterized=len(run.losses) > 2000)
    line = losses_by_batch(run)
    seen = bool(line)
    if not seen:
        line = [(one.examples, one.loss) for one in run.evaluations]
    axes.plot(*zip(*line), color=INK, linewidth=1.2, zorder=4)
    kind = "asynchronous" if run.variant.asynchronous else "synchronous"
    axes.set_title(f"{run.variant.strategy}\n{kind}", fontsize=9.5, color=INK, loc="left")
    axes.annotate("line: mean over a batch" if seen else "line: evaluations", (1, 1),
                  xytext=(-2, -2), xycoords="axes fraction", textcoords="offset points",
                  ha="right", va="top", fontsize=7.5, color=FAINT)
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda value, position: f"{value / 1000:g}k" if value else "0"))
    tidy(axes, labelsize=8.5)


def draw(runs: list[Run]) -> Figure | None:
    """Draws a row for each workload; None if none has both kinds of strategies with one seed."""
    rows = {workload: chosen([run for run in runs if run.workload == workload])
            for workload in dict.fromkeys(run.workload for run in runs)}
    rows = {workload: picked for workload, picked in rows.items() if picked}
    if not rows:
        return None
    columns = max(len(picked) for picked in rows.values())
    figure = plt.figure(figsize=(max(5.8, 2.2 * columns), 2.7 * len(rows)), layout="constrained")
    parts = figure.subfigures(len(rows), 1, squeeze=False)[:, 0]
    for part, (workload, picked) in zip(parts, rows.items()):
        part.suptitle(f"{workload}, seed {picked[0].seed}: loss of each update", x=0.01, ha="left",
                      fontsize=11, fontweight="bold", color=INK)
        grid = part.subplots(1, columns, sharey=True, squeeze=False)[0]
        for axes, run in zip(grid, picked):
            _draw_run(axes, run)
        for axes in grid[len(picked):]:
            axes.set_visible(False)
        losses = [loss for run in picked for _, loss in run.losses]
        if max(losses) > 10 * min(losses) > 0:
            grid[0].set_yscale("log")
            grid[0].yaxis.set_major_formatter(PLAIN)
            grid[0].yaxis.set_minor_formatter("")
        grid[0].set_ylabel("loss" + " (log scale)" * (grid[0].get_yscale() == "log"), color=INK)
        part.supxlabel("examples seen", fontsize=9.5, color=INK)
    return figure
