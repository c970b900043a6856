# SPDX-License-Identifier: Apache-2.0
"""Figures with a row for each name, the first on top: the name, what is drawn, and a value."""

import textwrap
from collections.abc import Iterable
from typing import NamedTuple

from plain_style import plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from axes_style import INK, NARROW, tidy_rows
from hover import describe, light

LABEL_WIDTH = 24  # characters
LINE, MARKS, GAP = 0.15, 0.14, 0.03  # inches of a row: a line of its name, its marks, spacing
MOST_IN_LINE = 56  # characters of a name and its value


def wrapped(label: str, width: int = LABEL_WIDTH) -> str:
    """The label, broken after commas into lines of `width` characters."""
    tied = label.replace(" ", "\u00a0").replace(",\u00a0", ", ")
    lines = textwrap.wrap(tied, width, break_on_hyphens=False, break_long_words=False)
    return "\n".join(lines).replace("\u00a0", " ")


class Rows(NamedTuple):
    """Axes with a row for each name."""

    figure: Figure
    axes: Axes
    below: float  # distance from a row's number to the middle of its marks, in rows
    half: float  # half the height of the marks


def stack(rows: Rows, looks: dict[str, tuple[str, str]], widths: dict[str, list[float]],
          texts: dict[str, list[str]]) -> None:
    """Draws a bar for each row, cut into parts, and their legend. `looks`: colour and hatch of each
    part; `widths` and `texts`: of each part, its width and its hover text in each row."""
    left = [0.0] * len(next(iter(widths.values())))
    for part, (colour, hatch) in looks.items():
        bars = rows.axes.barh([row + rows.below for row in range(len(left))], widths[part],
                              left=left, height=1.8 * rows.half, color=colour, hatch=hatch,
                              edgecolor="white", linewidth=0.6, label=part)
        for bar, text in zip(bars, texts[part]):
            describe(bar, text)
        left = [start + width for start, width in zip(left, widths[part])]
    rows.figure.legend(*rows.axes.get_legend_handles_labels(), loc="upper left", ncols=3,
                       frameon=False, bbox_to_anchor=(0, 1 - 0.3 / rows.figure.get_figheight()),
                       fontsize=8.5, borderaxespad=0, handlelength=1.6, columnspacing=1.2)


def height_beside(names: Iterable[str]) -> float:
    """The inches that rows with these names need beside one another."""
    lines = [wrapped(name).count("\n") + 1 for name in names]
    return len(lines) * (LINE * max(lines) + 0.085)


def rows_beside(axes: Axes, names: list[str], values: list[str]) -> Rows:
    """Gives wide axes these rows: names on the left of the marks, values on the right."""
    tidy_rows(axes)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_yticks(range(len(names)), [wrapped(name) for name in names], fontsize=9)
    for row, (name, value) in enumerate(zip(names, values)):
        light(axes.get_yticklabels()[row], name)
        light(axes.annotate(value, (1, row), xytext=(8, 0), xycoords=("axes fraction", "data"),
                            textcoords="offset points", va="center", fontsize=9, color=INK), name)
    return Rows(axes.get_figure(), axes, 0.0, 0.3)


def rows_figure(names: list[str], values: list[str], above: float) -> Rows:
    """Makes an empty figure with these rows. `above`: inches of space above the rows. The name and
    the value of a row share a line; its marks are below them and use the whole width."""
    wrapped_names = [wrapped(name, MOST_IN_LINE - len(value)) for name, value in zip(names, values)]
    lines = max(name.count("\n") + 1 for name in wrapped_names)
    row_height = 2 * GAP + LINE * lines + MARKS
    height = row_height * len(names) + above + 0.55
    figure, axes = plt.subplots(figsize=(NARROW, height))
    figure.subplots_adjust(left=0.05 / NARROW, right=1 - 0.05 / NARROW,
                           top=1 - above / height, bottom=0.55 / height)
    axes.set_ylim(len(names) - 0.5, -0.5)
    for row, (name, shown, value) in enumerate(zip(names, wrapped_names, values)):
        for at, text, side in ((0, shown, "left"), (1, value, "right")):
            light(axes.annotate(text, (at, row - 0.5 + GAP / row_height), ha=side, va="top",
                                xycoords=("axes fraction", "data"), fontsize=9 - 0.5 * at,
                                color=INK), name)
    tidy_rows(axes)
    axes.set_yticks([])
    middle = GAP + MARKS / 2  # inches above the row's end
    return Rows(figure, axes, 0.5 - middle / row_height, MARKS / 2 / row_height)
