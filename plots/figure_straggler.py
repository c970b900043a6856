#!/usr/bin/python3 -Es
# SPDX-License-Identifier: Apache-2.0
"""The cost of a slow worker: the share of its speed that each strategy keeps.

usage: plots/figure_straggler.py [--overwrite] DIR

Reads DIR/records.jsonl, made by results/epyc-2-cores/straggler/make or the tier `claims`, prints a
table, and writes DIR/straggler.svg and DIR/straggler.png. Replaces its own earlier files; with
--overwrite any file except records. A mark compares a run with the run of the same seed without a
straggler. If a step consisted of computing only, a synchronous strategy would keep 1 / factor,
because it waits for the slowest of n workers, and an asynchronous one (n - 1 + 1 / factor) / n,
because it loses only that worker's share.
"""

import statistics
import sys
from dataclasses import replace
from pathlib import Path

from plain_style import plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from figure_files import save_figure
from axes_style import INK, NARROW, entitle
from hover import describe
from labels import labels
from palette import style_of
from judgement import Run, Variant, runs_of
from output_files import run_command
from program import judge
from rows import rows_beside
from selection import MOST_ROWS, fitting, tell
from strategies import claims_time
from wording import plural

Kept = dict[Variant, list[float]]  # by variant with its straggler, one value for each seed


def kept_speed(runs: list[Run]) -> Kept:
    """The share of speed kept, by variant with a straggler; each is compared with its counterpart
    without one. `runs`: of one workload."""
    groups: dict[Variant, list[Run]] = {}
    for run in runs:
        if run.status != "failed" and run.examples_per_s > 0:
            groups.setdefault(run.variant, []).append(run)
    kept: Kept = {}
    for variant, slow in groups.items():
        plain = {(run.seed, run.cell.machine, run.commit): run.examples_per_s
                 for run in groups.get(replace(variant, straggler=""), [])}
        ratios = [run.examples_per_s / plain[key] for run in slow
                  if (key := (run.seed, run.cell.machine, run.commit)) in plain]
        if variant.straggler.count(":") == 1 and ratios:
            kept[variant] = ratios
    return dict(sorted(kept.items(), key=lambda item: (item[0].asynchronous, item[0].strategy)))


def expected(variant: Variant) -> float:
    factor = float(variant.straggler.split(":")[1])
    if not variant.asynchronous and claims_time(variant.strategy):
        return 1 / factor
    return (variant.workers - 1 + 1 / factor) / variant.workers


def table(runs: list[Run]) -> list[str]:
    lines = [f"{'workload':<14} {'strategy':<24} {'slow':>6} {'kept':>6} {'expected':>9} "
             f"{'runs':>5}"]
    for workload in dict.fromkeys(run.workload for run in runs):
        kept = kept_speed([run for run in runs if run.workload == workload])
        names = labels(kept)
        lines += [f"{workload:<14} {names[variant]:<24} {variant.straggler:>6} "
                  f"{statistics.median(ratios):>6.2f} {expected(variant):>9.2f} {len(ratios):>5}"
                  for variant, ratios in kept.items()]
    return lines


def _draw_expectation(axes: Axes, share: float, text: str, side: str) -> None:
    """Draws a line at `share`, with its text on the given side."""
    axes.axvline(share, color=INK, linewidth=1, dashes=(6, 3) if side == "right" else (2, 2),
                 zorder=1)
    axes.annotate(text, (share, 1), xytext=(2 if side == "right" else -2, 3), fontsize=8.5,
                  xycoords=("data", "axes fraction"), textcoords="offset points", color=INK,
                  ha=side)


def _draw_panel(axes: Axes, workload: str, kept: Kept) -> None:
    names = labels(kept)
    for row, (variant, ratios) in enumerate(kept.items()):
        style = style_of(variant.strategy)
        middle = statistics.median(ratios)
        (marks,) = axes.plot(ratios, [row] * len(ratios), linestyle="", marker=style.marker,
                             markersize=7, color=style.colour, zorder=4, markeredgewidth=0.8,
                             markeredgecolor="white")
        describe(marks, f"{names[variant]} keeps {min(ratios):.2f} to {max(ratios):.2f} in "
                        f"{plural(len(ratios), 'run')}, the median is {middle:.2f}", names[variant])
        axes.plot([middle] * 2, [row - 0.34, row + 0.34], color=INK, linewidth=2, zorder=3)
    first = next(iter(kept))
    factor = float(first.straggler.split(":")[1])
    shares = {variant.workers: (variant.workers - 1 + 1 / factor) / variant.workers
              for variant in kept}
    _draw_expectation(axes, 1 / factor, "waits for it", "right")
    for share in shares.values():
        _draw_expectation(axes, share, "loses its share", "left")
    rows_beside(axes, [names[variant] for variant in kept],
                [f"{statistics.median(ratios):.2f}" for ratios in kept.values()])
    axes.set_xlim(0, max(1.05, 1.05 * max(max(ratios) for ratios in kept.values())))
    axes.set_xlabel("share of its speed that it keeps (1 = as fast as without)")
    entitle(axes, f"{workload}: worker {first.straggler.split(':')[0]} of {first.workers} takes "
                  f"{factor:g} times its time", pad=18)


def draw(runs: list[Run]) -> Figure | None:
    """Draws a panel for each workload and straggler; None if no run has a counterpart without."""
    kept = {(workload, variant): ratios
            for workload in dict.fromkeys(run.workload for run in runs)
            for variant, ratios in
            kept_speed([run for run in runs if run.workload == workload]).items()}
    if not kept:
        return None
    shown, others = fitting((run for run in runs if (run.workload, run.variant) in kept), MOST_ROWS,
                            lambda run: (run.workload, run.variant))
    rows_shown = {(run.workload, run.variant) for run in shown}
    panels: dict[tuple[str, str, int], Kept] = {}
    for (workload, variant), ratios in kept.items():
        if (workload, variant) in rows_shown:
            key = (workload, variant.straggler, variant.workers)
            panels.setdefault(key, {})[variant] = ratios
    rows = [len(panel) for panel in panels.values()]
    figure, grid = plt.subplots(len(panels), 1, squeeze=False, layout="constrained",
                                figsize=(NARROW, sum(0.36 * count + 1.5 for count in rows)),
                                height_ratios=[0.36 * count + 1.5 for count in rows])
    figure.get_layout_engine().set(h_pad=0.12)  # keeps titles near their panels
    for axes, ((workload, _, _), panel) in zip(grid[:, 0], panels.items()):
        _draw_panel(axes, workload, panel)
    return tell(figure, {"": others})


def write_figure(folders: list[Path], overwrite: bool) -> list[Path]:
    runs = runs_of(judge(folders)["workloads"])
    print("\n".join(table(runs)))
    if figure := draw(runs):
        return save_figure(figure, folders[0], "straggler", overwrite=overwrite)
    print("no run with a straggler has a sibling without one")
    return []


def main(arguments: list[str]) -> int:
    return run_command(__doc__, arguments, write_figure, most=1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
