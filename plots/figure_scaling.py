# SPDX-License-Identifier: Apache-2.0
"""Examples per second against workers: a line for each strategy, medians over runs.

`independent`, which exchanges nothing, is the ceiling. The ideal line is the speed per core of
`single` times the number of cores; on one machine it is flat. A bar is the confidence interval of
the median. Runs with workers that share a GPU are omitted. A cluster in virtual time has a core for
each worker; where the batch grows with the workers, a line has one batch per worker.
"""

import math
from collections.abc import Callable
from dataclasses import replace

from plain_style import plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator, StrMethodFormatter

from axes_style import INK, NARROW, entitle, legend_below, tidy
from hover import describe
from palette import Style, styles_of
from labels import labels
from judgement import Cell, Run, Variant, speed, tokens_per_s
from selection import MOST_LINES, fitting, tell
from strategies import claims_time
from wording import plural

Line = dict[int, Cell]  # by workers

LOG_RATIO = 16  # of numbers of workers, from which on both axes are logarithmic


def _line_of(run: Run) -> Variant:
    """Key of a line: equal for cells that differ only in workers."""
    return replace(run.variant, workers=0, processes=1, oversubscribed=False)


def _share_of(run: Run) -> Variant:
    """Key of a line whose batch grows in proportion to the workers."""
    return replace(_line_of(run), global_batch=run.variant.global_batch // run.variant.workers)


def _key(runs: list[Run]) -> Callable[[Run], Variant]:
    """The key that makes fewer lines."""
    return min(_line_of, _share_of, key=lambda key: len({key(run) for run in runs}))


def _lines(runs: list[Run]) -> dict[Variant, Line]:
    lines: dict[Variant, Line] = {}
    key = _key(runs)
    for run in runs:
        lines.setdefault(key(run), {}).setdefault(run.variant.workers, run.cell)
    return lines


def _draw_ideal(axes: Axes, lines: dict[Variant, Line]) -> None:
    singles = [cell for variant, line in lines.items() for workers, cell in line.items()
               if variant.strategy == "single" or (cell.machine.is_virtual and workers == 1)]
    if not singles:
        return
    per_core = max(speed(cell) / max(1, cell.machine.cores) for cell in singles)
    cores = {workers: workers if cell.machine.is_virtual else max(1, cell.machine.cores)
             for line in lines.values() for workers, cell in line.items()}
    at = sorted(cores)
    axes.plot(at, [per_core * cores[workers] for workers in at], color=INK, linewidth=1,
              dashes=(6, 3), zorder=1, label="ideal: n times one worker"
              if singles[0].machine.is_virtual else "ideal: single on as many cores")


def _draw_mark(axes: Axes, workers: int, cell: Cell, style: Style) -> None:
    hollow = cell.variant.oversubscribed
    (mark,) = axes.plot(workers, speed(cell), marker=style.marker, markersize=7, linestyle="",
                        color=style.colour, markerfacecolor="white" if hollow else style.colour,
                        markeredgecolor=style.colour if hollow else "white", zorder=4)
    low, high = cell.speed_interval
    text = f"{cell.variant.strategy}, {plural(workers, 'worker')}: {speed(cell):,.0f} examples/s"
    tokens = tokens_per_s(cell)
    if math.isfinite(low) and math.isfinite(high):
        axes.vlines(workers, low, high, color=style.colour, linewidth=1.4, zorder=3)
        text += f" ({low:,.0f} to {high:,.0f})"
    if math.isfinite(tokens):
        text += f", {tokens:,.0f} tokens/s"
    describe(mark, text)


def draw(runs: list[Run]) -> Figure | None:
    """Draws the figure; None if no strategy ran with several numbers of workers."""
    runs = [run for run in runs if math.isfinite(run.cell.seconds_per_example)
            and not run.variant.shared_gpu]
    if not any(len(line) > 1 for line in _lines(runs).values()):
        return None
    figure, axes = plt.subplots(figsize=(NARROW, 3.6))
    handles, others = draw_lines(axes, runs)
    legend_below(axes, handles, [handle.get_label() for handle in handles])
    return tell(figure, {"": others})


def draw_lines(axes: Axes, runs: list[Run]) -> tuple[list[Line2D], str]:
    """Draws one panel; returns the entries of its legend, and a note such as `10 of 20 cells`."""
    names = labels(_lines(runs))
    runs, others = fitting(runs, MOST_LINES, _key(runs))
    lines = _lines(runs)
    _draw_ideal(axes, lines)
    handles = axes.get_lines()[:]
    for (variant, line), style in zip(lines.items(),
                                      styles_of(variant.strategy for variant in lines)):
        at = sorted(line)
        ceiling = "" if claims_time(variant.strategy) else " (ceiling)"
        axes.plot(at, [speed(line[workers]) for workers in at], color=style.colour,
                  dashes=style.dash or (None, None), linewidth=2, label=names[variant] + ceiling)
        for workers in at:
            _draw_mark(axes, workers, line[workers], style)
        handles.append(Line2D([], [], color=style.colour, dashes=style.dash or (None, None),
                              marker=style.marker, markersize=7, markeredgecolor="white",
                              linewidth=2, label=names[variant] + ceiling))
    at = sorted({workers for line in lines.values() for workers in line})
    if at[-1] >= LOG_RATIO * at[0]:
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        axes.set_ylim(0, None)
    axes.set_xticks(at, [str(workers) for workers in at])
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.set_xlabel("workers")
    axes.set_ylabel("examples per second")
    entitle(axes, "Speed by workers")
    if any(cell.variant.oversubscribed for line in lines.values() for cell in line.values()):
        handles.append(Line2D([], [], color=INK, marker="o", markersize=7, linestyle="",
                              markerfacecolor="white", label="hollow: more workers than cores"))
    tidy(axes)
    return handles, others
