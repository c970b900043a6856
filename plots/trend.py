#!/usr/bin/python3 -Es
# SPDX-License-Identifier: Apache-2.0
"""Speed and time to target of each cell by commit, with change points.

usage: plots/trend.py [--overwrite] DIR...

Draws the folders' records, which are of one machine, as `regatta report` evaluates them: writes
trend.svg and trend.png into the first folder. Replaces its own earlier files; with --overwrite any
file except records.
"""

import sys
from pathlib import Path

from figure_files import save_figure
from figure_trend import draw
from judgement import Run, runs_of
from output_files import run_command
from program import judge
from strategies import PlotsError


def runs_of_one_machine(folders: list[Path]) -> list[Run]:
    """Reads the runs of the folders. Throws: PlotsError if they are of several machines, because
    such times do not form one series."""
    runs = runs_of(judge(folders)["workloads"])
    machines = sorted({run.cell.machine.text for run in runs})
    if len(machines) > 1:
        raise PlotsError(f"the folders are of {len(machines)} machines ({'; '.join(machines)}); "
                           "one at a time")
    return runs


def write_figure(folders: list[Path], overwrite: bool) -> list[Path]:
    figure = draw(runs_of_one_machine(folders))
    if figure is None:
        raise PlotsError("no cell was measured at more than one commit; name folders of several")
    return save_figure(figure, folders[0], "trend", overwrite=overwrite)


def main(arguments: list[str]) -> int:
    return run_command(__doc__, arguments, write_figure)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
