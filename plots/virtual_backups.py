#!/usr/bin/python3 -Es
# SPDX-License-Identifier: Apache-2.0
"""Draws the worth of backup workers in virtual time: step time and examples per second against the
number of backups among the machines, with a line for each spread of compute times.

usage: plots/virtual_backups.py [--overwrite] FOLDER

Reads FOLDER/spread_*/simulated.jsonl, made by ci/virtual_backups, prints a table, and writes
FOLDER/backups.svg and FOLDER/backups.png. Replaces its own earlier files. The mean step time is
the number of examples in a step divided by examples per second.
"""

from pathlib import Path
from typing import NamedTuple

from plain_style import plt
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter

from axes_style import INK, entitle, tidy
from figure_files import save_figure
from palette import styles_of
from simulated import Study
from strategies import PlotsError
from virtual_axes import Mark, draw_line, legend_below
from virtual_files import run_command, studies_in
from wording import count_text, plural, time_text

PANELS = (8.6, 3.7)  # inches


class Part(NamedTuple):
    backups: int
    machines: int
    mean_step: float  # seconds
    examples_per_s: float


class Line(NamedTuple):
    spread: float
    parts: list[Part]  # by number of backups

    @property
    def best(self) -> Part:
        return max(self.parts, key=lambda part: part.examples_per_s)

    def words(self, part: Part) -> str:
        return (f"spread {self.spread:g}, {plural(part.backups, 'backup')} of {part.machines} "
                f"machines: a step of {time_text(part.mean_step)} in the mean, "
                f"{count_text(part.examples_per_s)} examples/s")


def line_of(study: Study) -> Line:
    parts = []
    for point in study.points:
        backups = int(study.ways[point.way].variant.option("backup_workers") or 0)
        parts.append(Part(backups, point.workers + backups,
                          point.global_batch / point.examples_per_s, point.examples_per_s))
    parts.sort()
    if parts[0].backups or len({part.machines for part in parts}) > 1 or study.hardware is None:
        raise PlotsError("steps are held against those of as many machines without a backup, and "
                         "there are none; fix: ci/virtual_backups --backups 0 ...")
    return Line(study.hardware["spread"], parts)


def print_table(lines: list[Line]) -> None:
    for line in lines:
        print(f"spread {line.spread:g}, {line.parts[0].machines} machines: mean step in terms of "
              "that without backups (examples/s)")
        print("  " + "  ".join(f"{part.backups}: {part.mean_step / line.parts[0].mean_step:.2f} "
                               f"({count_text(part.examples_per_s)})" for part in line.parts)
              + f"; best with {line.best.backups}")


def _mark_best(axes: Axes, part: Part) -> None:
    axes.plot(part.backups, part.examples_per_s, marker="o", markersize=12, markerfacecolor="none",
              markeredgecolor=INK, markeredgewidth=1, linestyle="", zorder=5)


def figure_of(lines: list[Line]) -> Figure:
    figure, (steps, speeds) = plt.subplots(1, 2, figsize=PANELS)
    figure.subplots_adjust(wspace=0.27)
    styles = sorted(styles_of(["parameter_server"] * len(lines)),
                    key=lambda style: -sum(to_rgb(style.colour)))  # wider spreads get darker lines
    for line, style in zip(lines, styles):
        whole = line.parts[0].mean_step
        draw_line(steps, style, [Mark(part.backups, part.mean_step / whole, line.words(part))
                                 for part in line.parts])
        draw_line(speeds, style, [Mark(part.backups, part.examples_per_s, line.words(part))
                                  for part in line.parts])
        _mark_best(speeds, line.best)
    for axes in (steps, speeds):
        axes.set_ylim(0, 1.08 * axes.dataLim.y1)
        axes.set_xticks(sorted({part.backups for line in lines for part in line.parts}))
        axes.set_xlabel(f"backups among {lines[0].parts[0].machines} machines")
        tidy(axes)
    entitle(steps, "Mean step (1: without backups)")
    entitle(speeds, "Examples applied per second")
    speeds.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    legend_below(figure, [(f"spread {line.spread:g}, best with {line.best.backups}", style)
                          for line, style in zip(lines, styles)], inches=0.12)
    return figure


def draw(folder: Path, overwrite: bool) -> list[Path]:
    studies = studies_in(folder, "spread_*/simulated.jsonl", "ci/virtual_backups")
    lines = sorted((line_of(study) for study in studies), key=lambda line: line.spread)
    print_table(lines)
    return save_figure(figure_of(lines), folder, "backups", overwrite=overwrite)


if __name__ == "__main__":
    run_command(str(__doc__), draw)
