# SPDX-License-Identifier: Apache-2.0
"""Parts of a worker's time on clusters in virtual time: shares of a step against workers, with a
row of panels for each way to train and a column for each link."""

from plain_style import plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from axes_style import FAINT, INK, tidy
from figure_time_split import looks_of, name_of
from figure_time_to_target import wrapped
from hover import describe
from simulated import Point, Study
from wording import plural, time_text

MOST_LINKS = 4
PANEL = (2.9, 0.82)  # inches


def _draw_bars(axes: Axes, study: Study, points: list[Point]) -> None:
    places = [study.workers.index(point.workers) for point in points]
    bottom = [0.0] * len(points)
    looks = looks_of(point.parts for point in study.points)
    for part, (colour, hatch) in looks.items():
        heights = [100 * point.share(part) for point in points]
        bars = axes.bar(places, heights, bottom=bottom, width=0.86, color=colour, hatch=hatch,
                        edgecolor="white", linewidth=0.5)
        for bar, point in zip(bars, points):
            describe(bar, f"{study.ways[point.way].label}, {plural(point.workers, 'worker')} at "
                          f"{study.links[point.link].text}: {name_of(part, looks)} "
                          f"{100 * point.share(part):.0f} % of "
                          f"{time_text(sum(point.parts.values()))}")
        bottom = [low + height for low, height in zip(bottom, heights)]


def draw_split(study: Study) -> Figure | None:
    """Draws the figure; None if no step was split, or if no link has two points to compare."""
    split = [point for point in study.points if sum(point.parts.values()) > 0]
    if len(split) < 2 or len({point.link for point in split}) == len(split):
        return None
    links = study.shown_links(MOST_LINKS)
    ways = [way for way in study.shown if any(study.line(way, link) for link in links)]
    figure, grid = plt.subplots(len(ways), len(links), sharex=True, sharey=True, squeeze=False,
                                figsize=(PANEL[0] * len(links) + 1.6, PANEL[1] * len(ways) + 1))
    figure.subplots_adjust(hspace=0.22, wspace=0.06)
    for row, way in zip(grid, ways):
        for axes, link in zip(row, links):
            _draw_bars(axes, study, study.line(way, link))
            tidy(axes, "y", labelsize=8)
            axes.set_ylim(0, 100)
            axes.set_yticks([0, 50, 100], ["0", "50", "100 %"])
            axes.set_xticks(range(len(study.workers)), [str(one) for one in study.workers])
        row[0].set_ylabel(wrapped(study.ways[way].label), rotation=0, ha="right", va="center",
                          labelpad=8, color=INK, fontsize=9)
    for axes, link in zip(grid[0], links):
        axes.set_title(study.links[link].text, loc="left", fontsize=10, fontweight="bold",
                       color=INK)
    for axes in grid[-1]:
        axes.set_xlabel("workers", fontsize=9)
    looks = looks_of(point.parts for point in study.points)
    handles = [Patch(facecolor=colour, hatch=hatch, edgecolor="white",
                     label=name_of(part, looks)) for part, (colour, hatch) in looks.items()]
    figure.legend(handles=handles, loc="lower left", bbox_to_anchor=(0.12, 0.93), ncols=len(looks),
                  frameon=False, fontsize=9, labelcolor=INK)
    figure.text(0.12, 0, study.note(len(links)), fontsize=8.5, color=FAINT)
    return figure
