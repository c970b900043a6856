# SPDX-License-Identifier: Apache-2.0
"""Number of nodes in a process's largest graph, by workers. A graph of all replicas grows with
their number; a graph for each process does not."""

from dataclasses import replace

from plain_style import plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from axes_style import INK, NARROW, entitle, tidy
from palette import styles_of
from labels import labels
from judgement import Run, Variant
from selection import MOST_LINES, fitting, tell

Lines = dict[tuple[Variant, bool], dict[int, int]]  # nodes by workers; True: one process a worker


def _line_of(run: Run) -> tuple[Variant, bool]:
    same = replace(run.variant, workers=0, processes=1, options=(), straggler="",
                   oversubscribed=False, shared_gpu=False, shared_gpus=None, length="")
    return same, run.variant.processes >= run.variant.workers > 1


def largest_graphs(runs: list[Run]) -> Lines:
    """The largest graphs by line and number of workers; only lines with several numbers."""
    lines: Lines = {}
    for run in runs:
        if run.nodes_per_process and run.variant.strategy != "single":
            lines.setdefault(_line_of(run), {})[run.variant.workers] = max(run.nodes_per_process)
    return {key: line for key, line in lines.items() if len(line) > 1}


def _draw_panel(axes: Axes, workload: str, lines: Lines, names: dict[Variant, str]) -> None:
    marked: list[int] = []
    apart = 0.04 * max(max(line.values()) for line in lines.values())
    for ((variant, own), line), style in zip(
            lines.items(), styles_of(variant.strategy for variant, _ in lines)):
        at = sorted(line)
        where = "a graph for each process" if own else "one graph"
        axes.plot(at, [line[workers] for workers in at], color=style.colour, linewidth=2,
                  dashes=style.dash or (None, None), marker=style.marker, markersize=7,
                  markeredgecolor="white", label=f"{names[variant]}: {where}")
        last = line[at[-1]]
        if all(abs(last - other) > apart for other in marked):  # else labels overlap
            axes.annotate(f"{last:,}", (at[-1], last), xytext=(7, 0), va="center",
                          textcoords="offset points", fontsize=9, color=INK)
            marked.append(last)
    axes.set_xticks(sorted({workers for line in lines.values() for workers in line}))
    axes.set_ylim(0, None)
    axes.margins(x=0.12)
    axes.set_xlabel("workers")
    axes.set_ylabel("nodes")
    entitle(axes, f"{workload}: the largest graph that a process holds")
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.18), ncols=1, frameon=False, fontsize=9,
                borderaxespad=0, handlelength=3)
    tidy(axes)


def draw(runs: list[Run]) -> Figure | None:
    """Draws a panel for each workload with several numbers of workers; None if there is none."""
    panels: dict[str, tuple[Lines, dict[Variant, str]]] = {}
    others = {}
    for workload in dict.fromkeys(run.workload for run in runs):
        own = [run for run in runs if run.workload == workload]
        lines = largest_graphs(own)
        shown, others[workload] = fitting((run for run in own if _line_of(run) in lines),
                                          MOST_LINES, _line_of)
        if lines:
            panels[workload] = largest_graphs(shown), labels({variant for variant, _ in lines})
    if not panels:
        return None
    heights = [2.9 + 0.2 * len(lines) for lines, _ in panels.values()]
    figure, grid = plt.subplots(len(panels), 1, squeeze=False, layout="constrained",
                                figsize=(NARROW, sum(heights)), height_ratios=heights)
    figure.get_layout_engine().set(h_pad=0.12)  # keeps titles near their panels
    for axes, (workload, panel) in zip(grid[:, 0], panels.items()):
        _draw_panel(axes, workload, *panel)
    return tell(figure, others)
