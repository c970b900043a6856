# SPDX-License-Identifier: Apache-2.0
"""Where a worker's step goes: a bar for each cell, cut into compute, exposed communication, bubble
(a stage waits for other stages of its replica), waiting for others, input and update.

Bars show the step's time or, if the times differ too much, shares of the step; the time stands
above the bar. Means over all steps of all workers.
"""

from collections.abc import Iterable

from matplotlib.figure import Figure  # noqa: E402

from axes_style import entitle  # noqa: E402
from hover import describe  # noqa: E402
from figure_race import LOG_RATIO  # noqa: E402
from figure_time_to_target import Rows, rows_figure  # noqa: E402
from labels import cell_labels  # noqa: E402
from judgement import Run, ranked  # noqa: E402
from selection import MOST_ROWS, fitting, tell  # noqa: E402
from wording import time_text, time_unit  # noqa: E402

# Neighbours differ in lightness or by a hatch, for black and white.
LOOKS = {
    "compute": ("#33507A", ""),
    "exposed_communication": ("#D9822B", "////"),
    "bubble": ("#C9CDD2", "xxxx"),
    "wait": ("#F3DC8E", "...."),
    "input": ("#8FBFA8", "\\\\\\\\"),
    "update": ("#8C72AF", ""),
}


def looks_of(steps: Iterable[dict[str, float]]) -> dict[str, tuple[str, str]]:
    """Of the parts that these steps are drawn with: bubbles are pipelines' alone."""
    bubbles = any(step["bubble"] for step in steps)
    return {part: look for part, look in LOOKS.items() if part != "bubble" or bubbles}


def _draw_bars(rows: Rows, parts: list[dict[str, float]], scales: list[float]) -> None:
    left = [0.0] * len(parts)
    for part, (colour, hatch) in looks_of(parts).items():
        name = part.replace("_", " ")
        widths = [row[part] * scale for row, scale in zip(parts, scales)]
        bars = rows.axes.barh([row + rows.below for row in range(len(parts))], widths, left=left,
                              height=1.8 * rows.half, color=colour, hatch=hatch,
                              edgecolor="white", linewidth=0.6, label=name)
        for bar, row in zip(bars, parts):
            describe(bar, f"{name}: {time_text(row[part])} of {time_text(sum(row.values()))}")
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
    rows = rows_figure([names[cell] for cell in cells], [time_text(total) for total in totals],
                       0.85)
    figure, axes = rows.figure, rows.axes
    scales = [100 / total if as_shares else scale for total in totals]
    _draw_bars(rows, [cell.step_seconds for cell in cells], scales)
    axes.set_xlim(0, 100 if as_shares else max(totals) * scale * 1.02)
    axes.set_xlabel("share of a worker's step (%)" if as_shares
                    else f"a worker's step ({unit})")
    entitle(axes, "Where a step's time goes", pad=42)
    figure.legend(*axes.get_legend_handles_labels(), loc="upper left", ncols=3, frameon=False,
                  bbox_to_anchor=(0, 1 - 0.3 / figure.get_figheight()), fontsize=8.5,
                  borderaxespad=0, handlelength=1.6, columnspacing=1.2)
    return tell(figure, {"": others})
