# SPDX-License-Identifier: Apache-2.0
"""Selects the cells of a figure if there are too many, and adds a note about the omission.

No strategy is omitted. Each keeps the cells that reached the target first, the same number for
each if there is room, so that a figure of a thousand cells is as readable as one of ten. Tables on
the page and on the terminal contain the omitted cells.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable

from matplotlib.figure import Figure

from axes_style import FAINT
from judgement import Run, by_rank

MOST_ROWS = 20  # cells in a figure with a row for each
MOST_LINES = 12  # cells in a figure with a line or mark, and a legend entry, for each
GAP = 0.08  # inches between a figure and the words below it


def _soonest(runs: list[Run]) -> tuple[bool, float]:
    """The sort key of the best-ranked cell among these runs."""
    return min(by_rank(run.cell) for run in runs)


def _kept(groups: dict[Hashable, list[Run]], most: int) -> set[Hashable]:
    """The keys to keep: the first cell of each strategy, then the second of each, and so on."""
    places: list[tuple[int, Hashable]] = []
    seen: Counter[str] = Counter()
    for key in sorted(groups, key=lambda key: _soonest(groups[key])):
        strategy = groups[key][0].variant.strategy
        places.append((seen[strategy], key))
        seen[strategy] += 1
    places.sort(key=lambda place: place[0])
    return {key for _, key in places[:most]}


def fitting(runs: Iterable[Run], most: int,
            key: Callable[[Run], Hashable] = lambda run: run.cell) -> tuple[list[Run], str]:
    """The runs of at most `most` cells, in their order, and a note such as `10 of 20 cells`, empty
    if all fit. A `key` that joins several cells selects lines instead."""
    groups: dict[Hashable, list[Run]] = {}
    runs = list(runs)
    for run in runs:
        groups.setdefault(key(run), []).append(run)
    most = max(most, len({run.variant.strategy for run in runs}))
    if len(groups) <= most:
        return runs, ""
    kept = _kept(groups, most)
    return [run for run in runs if key(run) in kept], f"{most:,} of {len(groups):,} cells"


def tell(figure: Figure, counts: dict[str, str]) -> Figure:
    """Adds the notes of fitting() below the figure, if there are any. `counts`: notes by panel."""
    shown = [f"{count} ({panel})" if panel else count for panel, count in counts.items() if count]
    if shown:
        text = (f"Shown: {', '.join(shown)}; of each strategy\nthose that reached the target "
                "first. The tables have all of them.")
        figure.draw_without_rendering()  # computes the layout
        drawn = figure.get_tightbbox()
        width, height = figure.get_size_inches()
        figure.text(max(drawn.x0, 0) / width, (drawn.y0 - GAP) / height, text, fontsize=8.5,
                    color=FAINT, va="top", linespacing=1.4)
    return figure
