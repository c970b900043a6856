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
from labels import cell_labels
from judgement import Run, ranked
from rows import rows_figure, stack
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
    looks = looks_of(cell.step_seconds for cell in cells)
    above = 0.55 + 0.15 * math.ceil(len(looks) / 3)
    rows = rows_figure([names[cell] for cell in cells], [time_text(total) for total in totals],
                       above)
    scales = [100 / total if as_shares else scale for total in totals]
    times = {name_of(part, looks): [cell.step_seconds[part] for cell in cells] for part in looks}
    stack(rows, dict(zip(times, looks.values())),
          {name: [part * scale for part, scale in zip(parts, scales)]
           for name, parts in times.items()},
          {name: [f"{name}: {time_text(part)} of {time_text(total)}"
                  for part, total in zip(parts, totals)] for name, parts in times.items()})
    rows.axes.set_xlim(0, 100 if as_shares else max(totals) * scale * 1.02)
    rows.axes.set_xlabel("share of a worker's step (%)" if as_shares
                    else f"a worker's step ({unit})")
    entitle(rows.axes, "Where a step's time goes", pad=72 * above - 19)
    return tell(rows.figure, {"": others})
