# SPDX-License-Identifier: Apache-2.0
"""Staleness: the number of versions missed by the updates of each asynchronous strategy.

An update misses the versions made between reading its parameters and applying its gradient. Counts
cover all workers and seeds; the last column counts that many missed versions or more.
"""

from plain_style import plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from axes_style import INK, NARROW, tidy
from hover import describe
from palette import Style, style_of
from labels import cell_labels
from judgement import Run, group_runs
from selection import fitting, tell

MOST = 6  # missed versions with a column of their own
MOST_PANELS = 10  # cells shown of a workload


def _draw_row(axes: Axes, label: str, counts: tuple[int, ...], style: Style) -> None:
    whole = sum(counts)
    shares = [100 * count / whole for count in counts]
    if len(shares) > MOST:
        shares = shares[:MOST] + [sum(shares[MOST:])]
    bars = axes.bar(range(len(shares)), shares, width=0.8, color=style.colour)
    for missed, share in enumerate(shares):
        describe(bars[missed], f"{share:.2f} % of {whole:,} updates missed "
                               f"{missed}{' or more' * (missed == MOST)} versions")
        if share >= 0.05:
            axes.annotate(f"{share:.0f}" if share >= 1 else f"{share:.1f}", (missed, share),
                          xytext=(0, 1.5), textcoords="offset points", ha="center", fontsize=8,
                          color=INK)
    mean = sum(missed * count for missed, count in enumerate(counts)) / whole
    axes.set_title(f"{label}: mean {mean:.2f}, most {len(counts) - 1}", loc="left", fontsize=9.5,
                   color=INK)
    axes.set_ylim(0, 118)
    axes.set_yticks([0, 50, 100])
    axes.set_ylabel("% of updates", fontsize=8.5, color=INK)
    tidy(axes, "y", labelsize=8.5)


def draw(runs: list[Run]) -> Figure | None:
    """Draws a row for each workload and cell that counted staleness; None if there is none."""
    rows, others = [], {}
    for workload in dict.fromkeys(run.workload for run in runs):
        own = [run for run in runs if run.workload == workload and any(run.cell.staleness)]
        names = cell_labels(group_runs(own))
        own, others[workload] = fitting(own, MOST_PANELS)
        rows += [(f"{workload}, {names[cell]}", cell.staleness, style_of(cell.variant.strategy))
                 for cell in group_runs(own)]
    if not rows:
        return None
    figure, grid = plt.subplots(len(rows), 1, squeeze=False, sharex=True, layout="constrained",
                                figsize=(NARROW, 1.25 * len(rows) + 0.9))
    figure.suptitle("Update staleness", x=0.01, ha="left", fontsize=11,
                    fontweight="bold", color=INK)
    for axes, (label, counts, style) in zip(grid[:, 0], rows):
        _draw_row(axes, label, counts, style)
    columns = min(MOST + 1, max(len(counts) for _, counts, _ in rows))
    names = [str(missed) for missed in range(columns)]
    if any(len(counts) > MOST + 1 for _, counts, _ in rows):
        names[-1] += " or more"
    grid[-1, 0].set_xticks(range(columns), names)
    grid[-1, 0].set_xlim(-0.6, columns - 0.4)
    grid[-1, 0].set_xlabel("update staleness (versions missed)", color=INK)
    return tell(figure, others)
