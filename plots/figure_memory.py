# SPDX-License-Identifier: Apache-2.0
"""Memory planned for the worker that needs most: a bar for each cell, cut by purpose."""

from matplotlib.figure import Figure

from axes_style import entitle
from figure_bytes import BYTES
from judgement import Run, Variant
from labels import labels
from rows import rows_figure, stack
from selection import MOST_ROWS, fitting, tell
from wording import bytes_text

# Neighbours differ in lightness or hatch, so that black-and-white prints are readable.
LOOKS = {
    "parameters": ("#33507A", ""),
    "slots": ("#8C72AF", "...."),
    "gradients": ("#D9822B", "////"),
    "activations": ("#8FBFA8", ""),
    "others": ("#E4E4E7", ""),
}


def draw(runs: list[Run]) -> Figure | None:
    """Draws the figure, the least memory first; None if no record tells purposes."""
    runs, others = fitting((run for run in runs if run.memory), MOST_ROWS)
    cells: dict[Variant, Run] = {}
    for run in runs:
        cells.setdefault(run.variant, run)  # all runs of a cell plan the same
    if not cells:
        return None
    names = labels(cells)
    cells = dict(sorted(cells.items(), key=lambda item: sum(item[1].memory.values())))
    totals = [sum(run.memory.values()) for run in cells.values()]
    above = 0.85
    rows = rows_figure([names[variant] for variant in cells], [bytes_text(one) for one in totals],
                       above)
    widths = {purpose: [run.memory[purpose] for run in cells.values()] for purpose in LOOKS}
    stack(rows, LOOKS, widths,
          {purpose: [f"{purpose}: {bytes_text(part)} of {bytes_text(total)}"
                     for part, total in zip(parts, totals)] for purpose, parts in widths.items()})
    rows.axes.set_xlim(0, max(totals) * 1.02)
    rows.axes.locator_params(axis="x", nbins=5)
    rows.axes.xaxis.set_major_formatter(BYTES)
    rows.axes.set_xlabel("planned for a worker's step")
    entitle(rows.axes, "Where a worker's memory goes", pad=72 * above - 19)
    return tell(rows.figure, {"": others})
