# SPDX-License-Identifier: Apache-2.0
"""The trend: speed and time to target of each cell by commit, with change points.

A row is a cell, a column a measure. Commits are evenly spaced in the order of their dates, so that
busy days and idle weeks take equal space. Dots are runs, and the line connects the medians of the
commits; a run that missed the target or failed is a cross at the upper edge. A dashed line marks a
change of level (change_points.py, on medians), with its size and p value. Levels of times are
computed from their inverse, which is 0 for a missed target.
"""

import math
import statistics
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timezone
from typing import NamedTuple

from plain_style import plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from axes_style import FAINT, INK, tidy
from change_points import LEVEL, ChangePoint, change_points
from commits import commit_time
from palette import style_of
from judgement import Run, Variant
from labels import labels

ALARM = "#B00020"
MOST_LABELS = 24
MOST_CELLS = 20  # rows of a figure; cells with a change come first
ENOUGH = 11  # fewest commits that can show a change (change_points.py)


class Build(NamedTuple):
    """The build of a run; a build of a dirty checkout sorts after that of the commit itself."""

    made: datetime
    commit: str
    dirty: bool

    @property
    def label(self) -> str:
        return f"{self.made:%Y-%m-%d} {self.commit[:7]}{'+' * self.dirty}"


class Measure(NamedTuple):
    title: str
    unit: str
    lower_is_better: bool
    value: Callable[[Run], float]  # infinite if the target was missed, NaN without a value

    def rate(self, value: float) -> float:
        """Converts a value to a finite rate, where larger is better, and back."""
        if not self.lower_is_better:
            return value
        return 1 / value if value > 0 else math.inf


def _speed(run: Run) -> float:
    return run.examples_per_s if run.status != "failed" and run.examples_per_s > 0 else math.nan


def _time(run: Run) -> float:
    return run.time_to_target if run.claims_time else math.nan


MEASURES = (Measure("training speed", "examples/s", False, _speed),
            Measure("training time to target", "s", True, _time))


def build_of(run: Run) -> Build:
    """The build of a run. If git does not have the commit, its time is the date of the run."""
    made = commit_time(run.commit)
    if made is None:
        try:
            made = datetime.fromisoformat(run.date).replace(tzinfo=timezone.utc)
        except ValueError:
            made = datetime.fromtimestamp(0, timezone.utc)
    return Build(made, run.commit, run.dirty)


def _has_commits(runs: list[Run]) -> bool:
    """Whether the runs belong to more than one commit; a dirty checkout counts as another."""
    return len({(run.commit, run.dirty) for run in runs}) > 1


def _grouped(runs: list[Run], **same: str) -> dict[Variant, list[Run]]:
    """Groups runs by their settings, after the settings in `same` are set to those values."""
    groups: dict[Variant, list[Run]] = {}
    for run in runs:
        groups.setdefault(replace(run.variant, **same), []).append(run)
    return groups


def _by_cell(runs: list[Run]) -> dict[Variant, list[Run]]:
    """Groups runs by cell. Commits that differ in fusion or Winograd's algorithm share a cell,
    unless a commit ran both ways."""
    result: dict[Variant, list[Run]] = {}
    for variant, joined in _grouped(runs, fusion="", winograd="").items():
        ways = {(build_of(run), run.variant.fusion, run.variant.winograd) for run in joined}
        if len(ways) == len({build for build, *_ in ways}):
            result[variant] = joined
        else:  # flags made a commit run both ways
            result |= _grouped(joined)
    return result


def cells_of(runs: list[Run]) -> dict[str, list[Run]]:
    """The runs of each cell that has more than one commit, by the cell's readable name."""
    cells = {}
    for workload in dict.fromkeys(run.workload for run in runs):
        groups = {}
        for variant, own in _by_cell([run for run in runs if run.workload == workload]).items():
            kept = [run for target in dict.fromkeys(run.cell.target for run in own)
                    if _has_commits(of := [run for run in own if run.cell.target == target])
                    for run in of]
            if kept:
                groups[variant] = kept
        for variant, label in labels(groups).items():
            for target in dict.fromkeys(run.cell.target for run in groups[variant]):
                own = [run for run in groups[variant] if run.cell.target == target]
                cells[f"{workload}, {label}, to {own[0].cell.target_metric} {target:g}"] = own
    return cells


def _series(runs: list[Run], measure: Measure) -> dict[Build, list[float]]:
    series: dict[Build, list[float]] = {}
    for run in runs:
        value = measure.value(run)
        if not math.isnan(value):
            series.setdefault(build_of(run), []).append(value)
    return dict(sorted(series.items()))


def _mark(axes: Axes, point: ChangePoint, at: float, measure: Measure) -> None:
    """Draws a dashed line where the level changes: bold and red if it becomes worse."""
    worse = point.after < point.before
    colour = ALARM if worse else INK
    axes.axvline(at, color=colour, linewidth=1.2, dashes=(4, 2))
    if min(point.before, point.after) > 0:
        ratio = measure.rate(point.after) / measure.rate(point.before)
        change = f"{100 * (ratio - 1):+.0f} %"
    else:
        change = "missed from here" if worse else "reached from here"
    late = at > sum(axes.get_xlim()) / 2  # the text is left of the line
    axes.annotate(f"{change}, p {point.p:.2g}", (at, 1), xytext=(-3 if late else 3, 2), fontsize=8,
                  color=colour, ha="right" if late else "left", textcoords="offset points",
                  xycoords=("data", "axes fraction"), fontweight="bold" if worse else "normal")


def _set_range(axes: Axes, values: list[float]) -> None:
    """Sets an axis range around the values that is wide enough to make noise of 1 % look small."""
    finite = [value for value in values if math.isfinite(value)]
    if finite:
        room = 0.1 * statistics.median(finite)
        axes.set_ylim(max(0, min(finite) - room), max(finite) + room)


def _middles(series: dict[Build, list[float]]) -> list[float]:
    return [statistics.median(values) for values in series.values()]


def changes_of(runs: list[Run], measure: Measure) -> list[ChangePoint]:
    return change_points([measure.rate(middle) for middle in _middles(_series(runs, measure))])


def _draw_series(axes: Axes, series: dict[Build, list[float]], positions: dict[Build, int],
                 measure: Measure, strategy: str, points: list[ChangePoint]) -> None:
    style = style_of(strategy)
    some_reached = any(math.isfinite(value) for values in series.values() for value in values)
    _set_range(axes, [value for values in series.values() for value in values])
    for build, values in series.items():
        x = positions[build]
        reached = [value for value in values if math.isfinite(value)]
        axes.plot([x] * len(reached), reached, "o", color=style.colour, markersize=3, alpha=0.55)
        if len(reached) < len(values) and some_reached:
            axes.plot(x, 0.94, "x", color=style.colour, markersize=6, clip_on=False,
                      transform=axes.get_xaxis_transform())
    middles = _middles(series)
    axes.plot([positions[build] for build in series],
              [middle if math.isfinite(middle) else math.nan for middle in middles],
              color=style.colour, linewidth=1.6)
    builds = list(series)
    for point in points:
        between = (positions[builds[point.at - 1]] + positions[builds[point.at]]) / 2
        _mark(axes, point, between, measure)


def _dress(axes: Axes, positions: dict[Build, int], measure: Measure) -> None:
    axes.set_xlim(-0.5, len(positions) - 0.5)
    every = -(-len(positions) // MOST_LABELS)
    shown = list(positions.items())[::every]
    axes.set_xticks([x for _, x in shown], [build.label for build, _ in shown], rotation=60,
                    ha="right", rotation_mode="anchor", fontsize=7.5)
    axes.set_ylabel(measure.unit, fontsize=8.5)
    axes.yaxis.set_major_formatter(EngFormatter(unit="s" if measure.unit == "s" else ""))
    tidy(axes, labelsize=7.5)


def taken_in_turn(runs: list[Run]) -> bool:
    """Whether all commits were measured during one common period."""
    began: dict[Build, list[str]] = {}
    for run in runs:
        began.setdefault(build_of(run), []).append(run.began)
    return max(map(min, began.values())) <= min(map(max, began.values()))


def _title(builds: int, changes: int) -> str:
    if builds < ENOUGH:
        return f"Speed by commit: {builds} are too few to tell a change from chance"
    return "Speed by commit: " + (f"{changes} change{'s' * (changes != 1)} of level" if changes
                                  else "no change of level")


def _footer(runs: list[Run], builds: int, changes: int) -> str:
    machine = sorted({f"{run.cell.machine.cpu}, {run.cell.machine.cores} cores" for run in runs})
    unknown = {run.commit[:7] for run in runs if commit_time(run.commit) is None}
    text = (f"Dots: runs; line: medians of commits; crosses: runs that missed or failed. {changes} "
            f"change{'s' * (changes != 1)} of level (E-divisive on medians, p < {LEVEL} each); "
            f"fewer than {ENOUGH} commits cannot show one.\n{'; '.join(machine)}. {builds} commits "
            "by date; +: with uncommitted changes.")
    if not taken_in_turn(runs):
        text += (" Commits were not measured in turn:\na machine that was slower one day looks "
                 "like a slower commit (ci/history measures in turn).")
    if unknown:
        text += f" By the day of the run, as git does not know them: {', '.join(sorted(unknown))}."
    return text


def draw(runs: list[Run]) -> Figure | None:
    """Draws the runs, which are of one machine; None if no cell has more than one commit."""
    cells = cells_of(runs)
    if not cells:
        return None
    own = [run for group in cells.values() for run in group]
    points = {name: [changes_of(group, measure) for measure in MEASURES]
              for name, group in cells.items()}
    changes = sum(len(found) for each in points.values() for found in each)
    names = sorted(cells, key=lambda name: not any(points[name]))[:MOST_CELLS]
    positions = {build: x for x, build in enumerate(sorted({build_of(run) for run in own}))}
    height = 1.55 * len(names) + 2.7
    figure, grid = plt.subplots(len(names), len(MEASURES), figsize=(11, height), squeeze=False,
                                sharex=True)
    for row, name in zip(grid, names):
        group = cells[name]
        row[0].set_title(name, loc="left", fontsize=9.5, fontweight="bold", color=INK, pad=17)
        for axes, measure, found in zip(row, MEASURES, points[name]):
            series = _series(group, measure)
            _dress(axes, positions, measure)
            _draw_series(axes, series, positions, measure, group[0].variant.strategy, found)
            if not any(math.isfinite(value) for values in series.values() for value in values):
                axes.text(0.5, 0.5, "no run got there" if series else "no claim",
                          transform=axes.transAxes, color=FAINT, ha="center")
                axes.set_yticks([])
    for axes in grid[-1]:
        axes.set_xlabel("commit, by its date", fontsize=8.5)
    for axes, measure in zip(grid[0], MEASURES):
        axes.annotate(f"{measure.title} ({measure.unit})", (0, 1), xytext=(0, 34), fontsize=10.5,
                      xycoords="axes fraction", textcoords="offset points", color=INK)
    figure.subplots_adjust(left=0.07, right=0.98, top=1 - 1.25 / height, bottom=1.75 / height,
                           hspace=0.55, wspace=0.16)
    figure.text(0.02, 1 - 0.15 / height, _title(len(positions), changes), fontsize=16,
                fontweight="bold", color=INK, va="top")
    footer = _footer(own, len(positions), changes)
    if len(names) < len(cells):
        footer += f"\nShown: {len(names)} of {len(cells):,} cells, those with a change first."
    figure.text(0.02, 0.1 / height, footer, fontsize=8.5, color=FAINT, va="bottom",
                linespacing=1.5)
    return figure
