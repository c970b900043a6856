#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Speed against workers on clusters of virtual time, a panel for each bandwidth.

usage: plots/virtual.py [--overwrite] FOLDER

Reads FOLDER/*/simulated.jsonl and the cluster.toml beside each, as ci/virtual_speedup makes them;
prints a table; writes FOLDER/virtual.svg and FOLDER/virtual.png, or in place of those that it drew
before. Speed is in terms of one worker's, which is that of all_reduce with one.
"""

import json
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

from axes_style import FAINT, INK, entitle, tidy  # noqa: E402
from figure_files import save_figure  # noqa: E402
from hover import describe  # noqa: E402
from judgement import list_strategies  # noqa: E402
from output_files import overwrite_in  # noqa: E402
from palette import shade, style_of  # noqa: E402
from strategies import PlotsError  # noqa: E402


class Point(NamedTuple):
    strategy: str
    name: str  # with what distinguishes it
    workers: int
    examples_per_s: float
    communication: float  # shares of a worker's time
    waiting: float


def _name(cell: dict, usual: dict) -> str:
    options = [f"{name}={value}" for name, value in sorted(cell["options"].items())
               if value != usual.get(name)]
    return " ".join([cell["strategy"], *options])


def _point(record: dict, usual: dict) -> Point:
    workers = [each for each in record["workers"] if not each["place"].startswith("server")]
    spans = {field: sum(each[field] for each in workers)
             for field in ("compute_ns", "exposed_communication_ns", "wait_ns", "input_ns",
                           "update_ns")}
    whole = sum(spans.values())
    cell = record["cell"]
    return Point(cell["strategy"], _name(cell, usual), cell["workers"], record["examples_per_s"],
                 spans["exposed_communication_ns"] / whole, spans["wait_ns"] / whole)


def read(folder: Path) -> dict[float, list[Point]]:
    """By Gbit/s."""
    usual = list_strategies()
    panels: dict[float, list[Point]] = {}
    for file in folder.glob("*/simulated.jsonl"):
        cluster = tomllib.loads((file.parent / "cluster.toml").read_text())
        panels[cluster["host"][0]["gbit_per_s"]] = [
            _point(json.loads(line), usual) for line in file.read_text().splitlines()]
    if not panels:
        raise PlotsError(f"{folder} has no */simulated.jsonl; fix: ci/virtual_speedup --out "
                         f"{folder}")
    return dict(sorted(panels.items()))


def one_worker(points: list[Point]) -> float:
    """Examples/s."""
    alone = [point.examples_per_s for point in points
             if point.workers == 1 and point.name == "all_reduce"]
    if not alone:
        raise PlotsError("there is no all_reduce of one worker to compare with")
    return alone[0]


def lines_of(points: list[Point]) -> dict[str, list[Point]]:
    names = dict.fromkeys(point.name for point in points)
    return {name: sorted((p for p in points if p.name == name), key=lambda p: p.workers)
            for name in names}


def print_table(panels: dict[float, list[Point]]) -> None:
    for gbit, points in panels.items():
        alone = one_worker(points)
        print(f"{gbit:g} Gbit/s: speed in terms of one worker's (share of time in communication "
              "and waiting)")
        for name, line in lines_of(points).items():
            print(f"  {name:<34}" + "  ".join(
                f"{point.workers}: {point.examples_per_s / alone:.2f} "
                f"({100 * (point.communication + point.waiting):.0f} %)" for point in line))


def _draw_panel(axes: Axes, gbit: float, points: list[Point]) -> None:
    alone = one_worker(points)
    counts = sorted({point.workers for point in points})
    axes.plot(counts, counts, color=FAINT, linewidth=1, dashes=(2, 2), zorder=1)
    axes.annotate("n times", (counts[-1], counts[-1]), xytext=(-4, 2), ha="right",
                  textcoords="offset points", fontsize=8.5, color=FAINT)
    seen: dict[str, int] = {}
    for name, line in lines_of(points).items():
        style = style_of(line[0].strategy)
        number = seen.setdefault(line[0].strategy, 0)
        seen[line[0].strategy] += 1
        colour = shade(style.colour, number)
        speeds = [point.examples_per_s / alone for point in line]
        axes.plot([point.workers for point in line], speeds, color=colour, linewidth=1.8,
                  dashes=style.dash or (None, None), label=name, zorder=3)
        for point, speed in zip(line, speeds):
            (mark,) = axes.plot(point.workers, speed, marker=style.marker, color=colour,
                                markersize=6, markeredgecolor="white", linestyle="", zorder=4)
            describe(mark, f"{name}, {point.workers} workers at {gbit:g} Gbit/s: {speed:.3g} times "
                           f"one worker, {point.examples_per_s:,.0f} examples/s; communication "
                           f"{100 * point.communication:.0f} %, waiting "
                           f"{100 * point.waiting:.0f} %")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_xticks(counts, [str(count) for count in counts])
    axes.set_yticks(counts, [str(count) for count in counts])
    axes.set_ylim(min(0.9, *(p.examples_per_s / alone for p in points)), counts[-1] * 1.3)
    axes.set_xlabel("workers, a host each")
    entitle(axes, f"{gbit:g} Gbit/s")
    tidy(axes)


def draw(panels: dict[float, list[Point]]) -> Figure:
    figure, grid = plt.subplots(1, len(panels), figsize=(4.1 * len(panels), 4), sharey=True,
                                squeeze=False)
    for axes, (gbit, points) in zip(grid[0], panels.items()):
        _draw_panel(axes, gbit, points)
    grid[0][0].set_ylabel("speed, times one worker's")
    handles, names = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, names, loc="upper center", bbox_to_anchor=(0.5, -0.01), ncols=4,
                  frameon=False, fontsize=9, labelcolor=INK, handlelength=4)
    return figure


def main(arguments: list[str]) -> None:
    overwrite, folders = overwrite_in(arguments)
    if len(folders) != 1:
        raise PlotsError(str(__doc__).split("\n\n")[1])
    panels = read(Path(folders[0]))
    print_table(panels)
    for file in save_figure(draw(panels), Path(folders[0]), "virtual", overwrite=overwrite):
        print(file)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (PlotsError, OSError) as error:
        sys.exit(f"virtual: {error}")
