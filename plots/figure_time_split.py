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
from labels import cell_labels  # noqa: E402
from judgement import Run, ranked  # noqa: E402
from selection import MOST_ROWS, fitting, tell  # noqa: E402
from wording import time_text, time_unit  # noqa: E402

# Neighbours differ in lightness or by a hatch, for black and white.
LOOKS = {
    "compute": ("#33507A", ""),
    "exposed_communication": ("#D9822B", "////"),
    "wait": ("#F3DC8E", "...."),
    "input": ("#8FBFA8", "\\\\\\\\"),
    "update": ("#8C72AF", ""),
}


def _draw_bars(axes: Axes, rows: list[dict[str, float]], scales: list[float]) -> None:
    left = [0.0] * len(rows)
    for part, (colour, hatch) in LOOKS.items():
        widths = [row[part] * scale for row, scale in zip(rows, scales)]
        axes.barh(range(len(rows)), widths, left=left, height=0.66, color=colour, hatch=hatch,
                  edgecolor="white", linewidth=0.6, label=part.replace("_", " "))
        left = [start + width for start, width in zip(left, widths)]


def draw(runs: list[Run]) -> Figure | None:
    """None if no step was split."""
    names = cell_labels(run.cell for run in runs)
    runs, others = fitting((run for run in runs if any(run.cell.step_seconds.values())), MOST_ROWS)
    cells = [cell for cell, _ in ranked(runs)]
    if not cells:
        return None
    totals = [sum(cell.step_seconds.values()) for cell in cells]
    as_shares = max(totals) > LOG_RATIO * min(totals)
    scale, unit = time_unit(max(totals))
    figure, axes = rows_figure([wrapped(names[cell]) for cell in cells], 0.7, 0.85)
    scales = [100 / total if as_shares else scale for total in totals]
    _draw_bars(axes, [cell.step_seconds for cell in cells], scales)
    for row, (total, factor) in enumerate(zip(totals, scales)):
        axes.annotate(time_text(total), (total * factor, row),
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
