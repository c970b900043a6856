# SPDX-License-Identifier: Apache-2.0
"""Clusters in virtual time: examples per second, in total and per worker, or the time to the
target, against workers. There is a panel for each link and a line for each way to train.

The dashed line is one worker's speed times the number of workers.
"""

import math
from collections.abc import Callable

from plain_style import plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from axes_style import FAINT, entitle, tidy
from simulated import Point, Study
from virtual_axes import Mark, draw_line, legend_below, set_workers
from wording import plural, time_text

COLUMNS = 3
MOST_LINKS = 9
PANEL = (4.1, 3.6)  # inches
PLAIN = FuncFormatter(lambda value, position: f"{value:,.6g}")
Value = Callable[[Point], float | None]


def _words(study: Study, point: Point) -> str:
    text = (f"{study.ways[point.way].label}, {plural(point.workers, 'worker')} at "
            f"{study.links[point.link].text}: {point.examples_per_s:,.0f} examples/s")
    if study.one_worker:
        text += f", {point.examples_per_s / study.one_worker:.3g} times one worker's"
    if point.seconds_to_target:
        text += f", {time_text(point.seconds_to_target)} to the target"
    return (f"{text}; communication {100 * point.share('exposed_communication'):.0f} %, waiting "
            f"{100 * point.waiting:.0f} %")


def _draw_way(axes: Axes, study: Study, points: list[Point], value: Value) -> None:
    draw_line(axes, study.ways[points[0].way].style,
              [Mark(point.workers, height, _words(study, point)) for point in points
               if (height := value(point))])


def _draw_ideal(axes: Axes, study: Study, heights: tuple[float, float], name: str) -> None:
    """Draws the ideal line. `heights`: at one worker and at the largest number of workers."""
    most = max(study.workers)
    axes.plot((1, most), heights, color=FAINT, linewidth=1, dashes=(2, 2), zorder=1)
    axes.annotate(name, (most, heights[1]), xytext=(-6, 2), ha="right", fontsize=8.5,
                  textcoords="offset points", color=FAINT)


def _set_heights_logarithmic(axes: Axes) -> None:
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(PLAIN)


def _grid(study: Study, value: Value, ylabel: str) -> Figure | None:
    """Draws a panel for each link; None if fewer than two numbers of workers have a value."""
    drawn = [point for point in study.points if point.way in study.shown and value(point)]
    if len({point.workers for point in drawn}) < 2:
        return None
    links = [link for link in study.shown_links(MOST_LINKS)
             if any(point.link == link for point in drawn)]
    columns = min(len(links), 2 if len(links) == 4 else COLUMNS)
    rows = math.ceil(len(links) / columns)
    figure, grid = plt.subplots(rows, columns, squeeze=False, sharex=True, sharey=True,
                                figsize=(PANEL[0] * columns, PANEL[1] * rows + 0.3))
    figure.subplots_adjust(wspace=0.08, hspace=0.3)
    panels = list(grid.flat)
    for axes, link in zip(panels, links):
        for way in study.shown:
            if points := study.line(way, link):
                _draw_way(axes, study, points, value)
        set_workers(axes, study.workers)
        entitle(axes, study.links[link].text)
        tidy(axes)
    for axes in panels[len(links):]:
        axes.remove()
    for row in grid[:, 0]:
        row.set_ylabel(ylabel)
    ways = {point.way for point in drawn}
    legend_below(figure, [(way.label, way.style) for number, way in enumerate(study.ways)
                          if number in ways])
    figure.text(0.02, 0.99, study.note(len(links)), fontsize=8.5, color=FAINT)
    return figure


def draw_speed(study: Study) -> Figure | None:
    figure = _grid(study, lambda point: point.examples_per_s, "examples per second")
    for axes in figure.axes if figure else ():
        _set_heights_logarithmic(axes)
        if study.one_worker:
            _draw_ideal(axes, study, (study.one_worker, study.one_worker * max(study.workers)),
                        "n times one worker")
    return figure


def draw_each(study: Study) -> Figure | None:
    """Draws speed per worker on a linear scale, which shows the cost of waiting and exchanges."""
    figure = _grid(study, lambda point: point.examples_per_s / point.workers,
                   "examples per second of each worker")
    for axes in figure.axes if figure else ():
        axes.set_ylim(0, None)
        if study.one_worker:
            _draw_ideal(axes, study, (study.one_worker, study.one_worker), "one worker")
    return figure


def draw_target(study: Study) -> Figure | None:
    """Draws the time to the target; None if fewer than two numbers of workers reached it."""
    figure = _grid(study, lambda point: point.seconds_to_target, "time to the target (s)")
    for axes in figure.axes if figure else ():
        _set_heights_logarithmic(axes)
    return figure
