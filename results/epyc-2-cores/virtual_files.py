# SPDX-License-Identifier: Apache-2.0
"""Shared code of the scripts `draw` here, which draw a folder of virtual time."""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from plain_style import plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from axes_style import INK
from hover import describe
from program import judge
from output_files import overwrite_in
from palette import Style
from strategies import PlotsError

WIDTH, SIZE = 1.8, 6  # of lines and marks


class Mark(NamedTuple):
    x: float
    y: float
    words: str


def judged_in(folder: Path, pattern: str, script: str) -> dict[str, list[Any]]:
    """The judged workloads in virtual time by the name of their folder, from the records that
    `script` made in `folder`. Throws: PlotsError."""
    files = sorted((*folder.glob(pattern), *folder.glob(f"{pattern}.gz")))
    if not files:
        raise PlotsError(f"{folder} has no {pattern}; fix: {script} --out {folder}")
    return {file.parent.name: judge([file.parent])["virtual_time"] for file in files}


def draw_line(axes: Axes, style: Style, marks: list[Mark]) -> None:
    axes.plot([mark.x for mark in marks], [mark.y for mark in marks], color=style.colour,
              linewidth=WIDTH, dashes=style.dash or (None, None), zorder=3)
    for mark in marks:
        (drawn,) = axes.plot(mark.x, mark.y, marker=style.marker, markersize=SIZE,
                             color=style.colour, markeredgecolor="white", linestyle="", zorder=4)
        describe(drawn, mark.words)


def legend_below(figure: Figure, lines: Iterable[tuple[str, Style]], columns: int = 4) -> None:
    handles = [plt.Line2D([], [], color=style.colour, linewidth=WIDTH, marker=style.marker,
                          markersize=SIZE, markeredgecolor="white",
                          dashes=style.dash or (None, None), label=label)
               for label, style in lines]
    figure.legend(handles=handles, loc="upper center", frameon=False, fontsize=9, labelcolor=INK,
                  bbox_to_anchor=(0.5, -0.02), handlelength=4, ncols=columns)


def run_command(about: str, draw: Callable[[Path, bool], list[Path]]) -> None:
    """Runs a command. `about`: its module docstring, which has its usage. `draw`: gets the folder
    and whether to replace files that plots/ did not draw; returns the files that it wrote."""
    try:
        overwrite, folders = overwrite_in(sys.argv[1:])
        if len(folders) != 1 or folders[0].startswith("-"):
            raise PlotsError(about.split("\n\n")[1])
        for file in draw(Path(folders[0]), overwrite):
            print(file)
    except (PlotsError, OSError) as error:
        sys.exit(f"{Path(sys.argv[0]).stem}: {error}")
