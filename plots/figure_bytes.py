# SPDX-License-Identifier: Apache-2.0
"""Bytes on the wire, computed from the graph and counted by transports: in total, and per place.

A bar shows the bytes that all places together send in a step, computed from the graph; a cross
shows the mean that the transports counted. If records have several numbers of workers, a second
panel shows the bytes that the busiest place sends in a step: the server, the device that reduces,
or the busiest worker of a ring.
"""

import math
from dataclasses import replace

from plain_style import plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from axes_style import INK, NARROW, entitle, tidy
from hover import describe
from palette import style_of, styles_of
from judgement import Run, Variant, group_runs
from labels import labels
from rows import height_beside, rows_beside
from selection import MOST_LINES, MOST_ROWS, fitting, tell
from wording import bytes_text

SHORT = 20  # characters; a legend of names up to this long has two columns
BYTES = EngFormatter(unit="B")
Lines = dict[Variant, dict[int, float]]  # bytes by number of workers


def sends(run: Run) -> bool:
    return run.status != "failed" and run.cell.bytes_computed > 0 and not run.variant.straggler


def _row_of(run: Run) -> Variant:
    """The variant without settings that do not change the bytes sent."""
    return replace(run.variant, length="", oversubscribed=False, shared_gpu=False, shared_gpus=None)


def _line_of(run: Run) -> Variant:
    return replace(_row_of(run), workers=0, processes=1)


def sending(runs: list[Run]) -> dict[Variant, Run]:
    """One run of each cell that sends anything and has no straggler; all its runs send the same."""
    first: dict[Variant, Run] = {}
    for run in filter(sends, runs):
        first.setdefault(_row_of(run), run)
    return first


def busiest_by_workers(runs: list[Run]) -> Lines:
    """Bytes that the busiest place sends. A line joins cells that differ only in workers."""
    lines: Lines = {}
    for run in sending(runs).values():
        if not run.variant.asynchronous and math.isfinite(run.busiest_bytes):
            lines.setdefault(_line_of(run), {}).setdefault(run.variant.workers, run.busiest_bytes)
    return {variant: line for variant, line in lines.items() if len(line) > 1}


def _draw_totals(axes: Axes, workload: str, cells: dict[Variant, Run],
                 names: dict[Variant, str]) -> None:
    ordered = sorted(cells.items(), key=lambda item: -item[1].cell.bytes_computed)
    for row, (variant, run) in enumerate(ordered):
        (bar,) = axes.barh(row, run.cell.bytes_computed, height=0.62, alpha=0.55,
                           color=style_of(variant.strategy).colour)
        describe(bar, f"{names[variant]}: computed {bytes_text(run.cell.bytes_computed)}, "
                      f"counted {bytes_text(run.cell.bytes_counted)}", names[variant])
        axes.plot(run.cell.bytes_counted, row, marker="x", color=INK, markersize=7,
                  markeredgewidth=1.6, linestyle="")
    rows_beside(axes, [names[variant] for variant, _ in ordered],
                [BYTES(float(f"{run.cell.bytes_computed:.3g}")) for _, run in ordered])
    axes.set_xlim(0, 1.05 * max(max(run.cell.bytes_computed, run.cell.bytes_counted)
                                for run in cells.values()))
    axes.xaxis.set_major_formatter(BYTES)
    axes.set_xlabel("sent in a step, all places\n(bar: computed, cross: counted)", fontsize=9)
    entitle(axes, f"{workload}: bytes on the wire")


def _draw_busiest(axes: Axes, workload: str, lines: Lines, names: dict[Variant, str]) -> None:
    for (variant, line), style in zip(lines.items(), styles_of(one.strategy for one in lines)):
        at = sorted(line)
        axes.plot(at, [line[workers] for workers in at], color=style.colour, linewidth=2,
                  dashes=style.dash or (None, None), marker=style.marker, markersize=7,
                  markeredgecolor="white", label=names[variant])
    axes.set_xticks(sorted({workers for line in lines.values() for workers in line}))
    axes.set_ylim(0, None)
    axes.yaxis.set_major_formatter(BYTES)
    axes.set_xlabel("workers")
    axes.set_ylabel("sent in a step")
    entitle(axes, f"{workload}: what the busiest place sends")
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.2), ncols=_columns(lines, names),
                frameon=False, fontsize=9, borderaxespad=0, handlelength=3)
    tidy(axes)


def _columns(lines: Lines, names: dict[Variant, str]) -> int:
    return 2 if max(len(names[variant]) for variant in lines) <= SHORT else 1


def draw(runs: list[Run]) -> Figure | None:
    """Draws one or two panels for each workload; None if no run sends anything."""
    panels, others = [], {}
    for workload in dict.fromkeys(run.workload for run in runs):
        own = [run for run in runs if run.workload == workload]
        usual = _usual_workers(own)
        of_usual = [run for run in own if run.variant.workers == usual and sends(run)]
        shown, others[f"{workload}, bars"] = fitting(of_usual, MOST_ROWS, _row_of)
        if shown:
            names = labels(sending(of_usual))
            height = height_beside({names[_row_of(run)] for run in shown}) + 1.2
            panels.append((height, _draw_totals, workload, sending(shown), names))
        names = labels(busiest_by_workers(own))
        shown, others[f"{workload}, lines"] = fitting(
            (run for run in own if sends(run) and _line_of(run) in names), MOST_LINES, _line_of)
        if shown:
            lines = busiest_by_workers(shown)
            height = 2.9 + 0.2 * len(lines) / _columns(lines, names)
            panels.append((height, _draw_busiest, workload, lines, names))
    if not panels:
        return None
    heights = [height for height, *_ in panels]
    figure = plt.figure(figsize=(NARROW, sum(heights)), layout="constrained")
    parts = figure.subfigures(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
    for part, (_, drawn, *what) in zip(parts, panels):  # each with its own margin
        drawn(part.subplots(), *what)
    return tell(figure, others)


def _usual_workers(runs: list[Run]) -> int:
    """The most frequent number of workers among cells with several workers; 1 if there are none."""
    counts = [cell.variant.workers for cell in group_runs(runs) if cell.variant.workers > 1]
    return max(sorted(set(counts)), key=counts.count, default=1)
