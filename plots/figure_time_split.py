# SPDX-License-Identifier: Apache-2.0
"""Parts of a worker's step: a bar for each cell, cut into compute, exposed communication, bubble
(waiting for other stages of the replica), other waiting, input, update, and the rest of the
training clock, which is spent between kernels.

Bars show the step's time or, if the times differ too much, shares of the step; the time is printed
above the bar. All are means over all steps of all workers.
"""

import math
from collections.abc import Container, Iterable

from matplotlib.figure import Figure

from axes_style import LOG_RATIO, entitle
from hover import describe
from labels import cell_labels
from judgement import Run, ranked
from rows import Rows, rows_figure
from selection import MOST_ROWS, fitting, tell
from wording import time_text, time_unit

# Neighbours differ in lightness or hatch, so that black-and-white prints are readable.
LOOKS = {
    "compute": ("#33507A", ""),
    "exposed_communication": ("#D9822B", "////"),
    "bubble": ("#C9CDD2", "xxxx"),
    "wait": ("#F3DC8E", "...."),
    "input": ("#8FBFA8", "\\\\\\\\"),
    "update": ("#8C72AF", ""),
    "between_kernels": ("#E4E4E7", ""),
}
NOT_IN_ALL = ("bubble", "between_kernels")  # for pipelines only; missing in old records


def looks_of(steps: Iterable[dict[str, float]]) -> dict[str, tuple[str, str]]:
    """Colour and hatch of each part that appears in these steps."""
    steps = list(steps)
    return {part: look for part, look in LOOKS.items()
            if part not in NOT_IN_ALL or any(step[part] for step in steps)}


def name_of(part: str, parts: Container[str]) -> str:
    """The name of a part in a legend of `parts`; with bubbles, the two kinds of waiting differ."""
    if "bubble" in parts:
        part = {"bubble": "wait for stages", "wait": "other wait"}.get(part, part)
    return part.replace("_", " ")


def _draw_bars(rows: Rows, parts: list[dict[str, float]], scales: list[float]) -> None:
    left = [0.0] * len(parts)
    looks = looks_of(parts)
    for part, (colour, hatch) in looks.items():
        name = name_of(part, looks)
        widths = [row[part] * scale for row, scale in zip(parts, scales)]
        bars = rows.axes.barh([row + rows.below for row in range(len(parts))], widths, left=left,
                              height=1.8 * rows.half, color=colour, hatch=hatch,
                              edgecolor="white", linewidth=0.6, label=name)
        for bar, row in zip(bars, parts):
            describe(bar, f"{name}: {time_text(row[part])} of {time_text(sum(row.values()))}")
        left = [start + width for start, width in zip(left, widths)]


def draw(runs: list[Run]) -> Figure | None:
    """Draws the figure; None if no step was split."""
    names = cell_labels(run.cell for run in runs)
    runs, others = fitting((run for run in runs if any(run.cell.step_seconds.values())), MOST_ROWS)
    cells = [cell for cell, _ in ranked(runs)]
    if not cells:
        return None
    totals = [sum(cell.step_seconds.values()) for cell in cells]
    as_shares = max(totals) > LOG_RATIO * min(totals)
    scale, unit = time_unit(max(totals))
    above = 0.55 + 0.15 * math.ceil(len(looks_of(cell.step_seconds for cell in cells)) / 3)
    rows = rows_figure([names[cell] for cell in cells], [time_text(total) for total in totals],
                       above)
    figure, axes = rows.figure, rows.axes
    scales = [100 / total if as_shares else scale for total in totals]
    _draw_bars(rows, [cell.step_seconds for cell in cells], scales)
    axes.set_xlim(0, 100 if as_shares else max(totals) * scale * 1.02)
    axes.set_xlabel("share of a worker's step (%)" if as_shares
                    else f"a worker's step ({unit})")
    entitle(axes, "Where a step's time goes", pad=72 * above - 19)
    figure.legend(*axes.get_legend_handles_labels(), loc="upper left", ncols=3, frameon=False,
                  bbox_to_anchor=(0, 1 - 0.3 / figure.get_figheight()), fontsize=8.5,
                  borderaxespad=0, handlelength=1.6, columnspacing=1.2)
    return tell(figure, {"": others})
