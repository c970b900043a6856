#!/usr/bin/python3 -Es
# SPDX-License-Identifier: Apache-2.0
"""Draws the cost of staleness in virtual time: the mean number of versions that an update missed,
and the accuracy at the end, against workers, with a line for each way to train.

usage: plots/virtual_staleness.py [--overwrite] FOLDER

Reads FOLDER/simulated.jsonl, made by ci/virtual_staleness, prints a table, and writes
FOLDER/staleness.svg and FOLDER/staleness.png. Replaces its own earlier files. A run that diverged
has no accuracy and is a cross at the bottom. Records count 63 or more missed versions as 63, so
means near 63 are too low.
"""

import contextlib
import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from plain_style import plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter

from axes_style import FAINT, entitle, tidy
from figure_files import save_figure
from hover import describe
from judgement import Variant, variant_of
from labels import labels
from palette import Style, styles_of
from simulated import Study
from strategies import PlotsError, is_asynchronous
from virtual_axes import Mark, draw_line, legend_below, set_workers
from virtual_files import run_command, studies_in
from wording import metric_text, plural

PANELS = (8.6, 3.7)  # inches


class Outcome(NamedTuple):
    workers: int
    staleness: float | None  # mean
    metric: float | None
    diverged: int  # number of runs that diverged


class Line(NamedTuple):
    label: str
    style: Style
    is_asynchronous: bool
    outcomes: list[Outcome]  # by number of workers

    def words(self, one: Outcome, metric: str) -> str:
        text = f"{self.label}, {plural(one.workers, 'worker')}: {metric} " \
               f"{metric_text(one.metric, metric)} at the end"
        if one.diverged:
            text += f", {plural(one.diverged, 'run')} diverged"
        return text + (f", {one.staleness:.2f} versions missed" if one.staleness else "")


def _way(variant: Variant) -> Variant:
    """The variant without settings that vary with workers: processes, batch, length and rate."""
    return replace(variant, workers=0, processes=0, global_batch=0, length="", rate_scale=1.0)


def diverged_in(file: Path) -> list[tuple[Variant, int]]:
    """Way and number of workers of each run that diverged; the judgement of virtual time omits
    them. Like there, a run with two lines counts once."""
    records: dict[str, Any] = {}
    compressed = file.with_name(f"{file.name}.gz")
    text = (gzip.decompress(compressed.read_bytes()).decode() if compressed.exists()
            else file.read_text())
    for line in text.split("\n"):
        with contextlib.suppress(ValueError, RecursionError, AttributeError):  # judge() warns
            one = json.loads(line)
            records.setdefault(one.get("run_id") or line, one)
    cells = [one["cell"] for one in records.values() if one["status"] == "failed"
             and one["failure"]["kind"] == "diverged"]
    return [(_way(variant_of(cell)), cell["workers"]) for cell in cells]


def lines_of(studies: list[Study], diverged: list[tuple[Variant, int]]) -> list[Line]:
    """The lines of the figure. Points of one line come from several studies, because the rate
    depends on the number of workers."""
    points = {(_way(study.ways[point.way].variant), point.workers): point
              for study in studies for point in study.points}
    keys = {*points, *diverged}
    names = labels(sorted({way for way, _ in keys}, key=lambda way: (
        is_asynchronous(way.strategy), way.strategy, way.options)))
    lines = []
    for (way, label), style in zip(names.items(), styles_of(way.strategy for way in names)):
        outcomes = []
        for workers in sorted(count for one, count in keys if one == way):
            point = points.get((way, workers))
            stale = point.staleness["mean"] if point and point.staleness else None
            outcomes.append(Outcome(workers, stale, point.metric if point else None,
                                    diverged.count((way, workers))))
        lines.append(Line(label, style, is_asynchronous(way.strategy), outcomes))
    return lines


def print_table(lines: list[Line], metric: str) -> None:
    print(f"workers: {metric} at the end (mean versions missed)")
    width = max(len(line.label) for line in lines)
    for line in lines:
        print(f"  {line.label:<{width}}  " + "  ".join(
            f"{one.workers}: {'diverged' if one.metric is None else f'{one.metric:.1f}'}"
            + (f" ({one.staleness:.1f})" if line.is_asynchronous and one.staleness is not None
               else "") for one in line.outcomes))


def _draw_diverged(axes: Axes, lines: list[Line], metric: str) -> None:
    """Draws crosses at the lower axis; those of different lines are side by side."""
    for number, line in enumerate(lines):
        for one in line.outcomes:
            if one.diverged:
                x = one.workers * 2 ** (0.12 * (number - (len(lines) - 1) / 2))
                (cross,) = axes.plot(x, 0, marker="x", markersize=7, markeredgewidth=2,
                                     color=line.style.colour, clip_on=False, zorder=5,
                                     linestyle="")
                describe(cross, line.words(one, metric))
    if any(one.diverged for line in lines for one in line.outcomes):
        axes.annotate("× diverged", (1, 0), xycoords="axes fraction", xytext=(-2, 8), ha="right",
                      textcoords="offset points", fontsize=8.5, color=FAINT)


def _set_versions_logarithmic(axes: Axes, workers: list[int]) -> None:
    """Makes the axis logarithmic and adds the versions missed if each other worker updated once
    while one computes."""
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    counts = [count for count in workers if count > 1]
    axes.plot(counts, [count - 1 for count in counts], color=FAINT, linewidth=1, dashes=(2, 2),
              zorder=1)
    if counts:
        axes.annotate("workers - 1", (counts[-1], counts[-1] - 1), xytext=(-10, 2), ha="right",
                      textcoords="offset points", fontsize=8.5, color=FAINT)


def figure_of(lines: list[Line], metric: str) -> Figure:
    figure, (stale, ends) = plt.subplots(1, 2, figsize=PANELS)
    figure.subplots_adjust(wspace=0.2)
    for line in lines:
        if line.is_asynchronous:
            draw_line(stale, line.style, [Mark(one.workers, one.staleness, line.words(one, metric))
                                          for one in line.outcomes if one.staleness])
        draw_line(ends, line.style, [Mark(one.workers, one.metric, line.words(one, metric))
                                     for one in line.outcomes if one.metric is not None])
    _draw_diverged(ends, lines, metric)
    workers = sorted({one.workers for line in lines for one in line.outcomes})
    for axes in (stale, ends):
        set_workers(axes, workers)
        tidy(axes)
    ends.set_ylim(0, None)
    _set_versions_logarithmic(stale, workers)
    entitle(stale, "Versions missed, mean")
    entitle(ends, f"{metric.capitalize()} at the end" + (" (%)" if metric == "accuracy" else ""))
    legend_below(figure, [(line.label, line.style) for line in lines], inches=0.12,
                 columns=2)
    return figure


def draw(folder: Path, overwrite: bool) -> list[Path]:
    studies = studies_in(folder, "simulated.jsonl", "ci/virtual_staleness")
    if not studies or not all(study.learns for study in studies):
        raise PlotsError("no run trained; fix: regatta run --virtual train ...")
    metric = studies[0].target["metric"]
    lines = lines_of(studies, diverged_in(folder / "simulated.jsonl"))
    print_table(lines, metric)
    return save_figure(figure_of(lines, metric), folder, "staleness", overwrite=overwrite)


if __name__ == "__main__":
    run_command(str(__doc__), draw)
