#!/usr/bin/python3 -Es
# SPDX-License-Identifier: Apache-2.0
"""Loss and metric by epoch, to see whether a change meant for speed also changes learning.

usage: plots/curves.py [--overwrite] DIR...

Draws the folders' records, as `regatta report` evaluates them (one workload), into curves.svg and
curves.png in the first folder. Replaces its own earlier files; with --overwrite any file except
records. For each line with a single run, prints at how many evaluations that run lies within the
range of the line with the most runs.
"""

import sys
from pathlib import Path

from plain_style import plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter

from figure_files import save_figure
from axes_style import FAINT, INK, PLAIN, tidy
from figure_race import footer
from palette import SPARE, style_of
from judgement import Cell, Run, group_runs, runs_of
from labels import cell_labels
from output_files import run_command
from program import judge
from selection import MOST_LINES, fitting, tell
from strategies import PlotsError


def _points(runs: list[Run], name: str) -> dict[int, list[float]]:
    """The runs' values of `name`, by number of examples, at evaluations that all runs have."""
    values: dict[int, list[float]] = {}
    for run in runs:
        for one in run.evaluations:
            values.setdefault(one.examples, []).append(getattr(one, name))
    return {at: all_of for at, all_of in sorted(values.items()) if len(all_of) == len(runs)}


def _draw_line(axes: Axes, runs: list[Run], name: str, label: str, colour: str) -> None:
    points = _points(runs, name)
    epochs = [next(one.epoch for one in runs[0].evaluations if one.examples == at)
              for at in points]
    axes.fill_between(epochs, [min(values) for values in points.values()],
                      [max(values) for values in points.values()], color=colour, alpha=0.2,
                      linewidth=0)
    middle = [sorted(values)[len(values) // 2] for values in points.values()]
    axes.plot(epochs, middle, color=colour, linewidth=2, marker="o", markersize=4,
              label=f"{label}, {len(runs)} run{'s' * (len(runs) > 1)}")


def draw_curves(runs: list[Run]) -> Figure:
    """Draws two panels, metric above loss; the caller saves and closes the figure."""
    names = cell_labels(group_runs(runs))
    runs, others = fitting(runs, MOST_LINES)
    groups = group_runs(runs)
    figure, (above, below) = plt.subplots(2, 1, figsize=(9, 8), sharex=True)
    colours = [style_of(runs[0].variant.strategy).colour, "#D55E00", *SPARE]
    for (cell, group), colour in zip(groups.items(), colours):
        _draw_line(above, group, "metric", names[cell], colour)
        _draw_line(below, group, "loss", names[cell], colour)
    above.set_ylabel("loss" if runs[0].cell.lower_is_better else "accuracy (%)")
    below.set_ylabel("loss in evaluation (log scale)")
    below.set_yscale("log")
    below.yaxis.set_major_formatter(PLAIN)
    below.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(1.5, 0.5)))
    below.set_xlabel("epoch")
    above.legend(frameon=False)
    above.set_title(f"{runs[0].workload}: the same curves?", loc="left", fontweight="bold",
                    color=INK)
    for axes in (above, below):
        tidy(axes)
    figure.text(0.02, 0.03, f"Bands: lowest to highest. {footer(runs)}", fontsize=8, color=FAINT,
                va="top")
    return tell(figure, {"": others})


def inside(groups: dict[Cell, list[Run]]) -> list[str]:
    """For each line with one run, a sentence: at how many evaluations the run lies within the range
    of the line with the most runs."""
    names = cell_labels(groups)
    widest = max(groups, key=lambda cell: len(groups[cell]))
    lines = []
    for cell, runs in groups.items():
        if cell == widest or len(runs) > 1:
            continue
        for name in ("metric", "loss"):
            others, own = _points(groups[widest], name), _points(runs, name)
            shared = [at for at in own if at in others]
            hits = sum(min(others[at]) <= own[at][0] <= max(others[at]) for at in shared)
            lines.append(f"{names[cell]}: {name} within the {len(groups[widest])} runs of "
                         f"{names[widest]} at {hits} of {len(shared)} evaluations")
    return lines


def write_figure(folders: list[Path], overwrite: bool) -> list[Path]:
    runs = runs_of(judge(folders)["workloads"])
    if len({run.workload for run in runs}) > 1:
        raise PlotsError("the folders hold several workloads; one at a time")
    print("\n".join(inside(group_runs(runs))))
    return save_figure(draw_curves(runs), folders[0], "curves", overwrite=overwrite)


def main(arguments: list[str]) -> int:
    return run_command(__doc__, arguments, write_figure)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
