# SPDX-License-Identifier: Apache-2.0
"""Where a worker's step goes: a bar for each cell, cut into compute, exposed communication, waiting
for others, input and update.

Bars show the step's time or, if the times differ too much, shares of the step with the time beside
the bar. Means over all steps of all workers.
"""

import matplotlib

matplotlib.use("Agg")
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

from axes_style import INK, entitle  # noqa: E402
from figure_race import LOG_RATIO  # noqa: E402
from figure_time_to_target import rows_figure, wrapped  # noqa: E402
from labels import labels  # noqa: E402
from records import SPLIT, Run, format_time, group_runs, ranked  # noqa: E402
from selection import MOST_ROWS, fitting, tell  # noqa: E402
from wording import time_unit  # noqa: E402

# Neighbours differ in lightness or by a hatch, for black and white.
LOOKS = {
    "compute": ("#33507A", ""),
    "exposed_communication": ("#D9822B", "////"),
    "wait": ("#F3DC8E", "...."),
    "input": ("#8FBFA8", "\\\\\\\\"),
    "update": ("#8C72AF", ""),
}


def step_parts(runs: list[Run]) -> dict[str, float]:
    """Seconds of a worker's step by part; empty if no worker made a step."""
    steps = sum(run.worker_steps for run in runs)
    if steps == 0:
        return {}
    return {part: sum(run.split.get(part, 0.0) for run in runs) / steps for part in SPLIT}


def _draw_bars(axes: Axes, rows: list[dict[str, float]], scales: list[float]) -> None:
    left = [0.0] * len(rows)
    for part in SPLIT:
        colour, hatch = LOOKS[part]
        widths = [row[part] * scale for row, scale in zip(rows, scales)]
        axes.barh(range(len(rows)), widths, left=left, height=0.66, color=colour, hatch=hatch,
                  edgecolor="white", linewidth=0.6, label=part.replace("_", " "))
        left = [start + width for start, width in zip(left, widths)]


def draw(runs: list[Run]) -> Figure | None:
    """None if no step was split."""
    groups = group_runs(runs)
    names = labels(groups)
    split = {variant for variant, group in groups.items() if sum(step_parts(group).values()) > 0}
    runs, others = fitting((run for run in runs if run.variant in split), MOST_ROWS)
    parts = [(variant, step_parts(group)) for variant, group in ranked(group_runs(runs))]
    if not parts:
        return None
    totals = [sum(split.values()) for _, split in parts]
    as_shares = max(totals) > LOG_RATIO * min(totals)
    scale, unit = time_unit(max(totals))
    figure, axes = rows_figure([wrapped(names[variant]) for variant, _ in parts], 0.7, 0.85)
    scales = [100 / total if as_shares else scale for total in totals]
    _draw_bars(axes, [split for _, split in parts], scales)
    for row, (total, factor) in enumerate(zip(totals, scales)):
        axes.annotate(format_time(total).replace("us", "µs"), (total * factor, row),
                      xytext=(5, 0), textcoords="offset points", va="center", fontsize=9,
                      color=INK)
    axes.set_xlim(0, 100 if as_shares else max(totals) * scale * 1.02)
    axes.set_xlabel("share of a worker's step (%)" if as_shares
                    else f"a worker's step ({unit})")
    entitle(axes, "Where a step's time goes", pad=42)
    figure.legend(*axes.get_legend_handles_labels(), loc="upper left", ncols=3, frameon=False,
                  bbox_to_anchor=(0, 1 - 0.3 / figure.get_figheight()), fontsize=8.5,
                  borderaxespad=0, handlelength=1.6, columnspacing=1.2)
    return tell(figure, {"": others})
