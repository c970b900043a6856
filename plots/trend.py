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
from judgement import Run, judge, runs_of
from output_files import overwrite_in
from strategies import PlotsError


def runs_of_one_machine(folders: list[Path]) -> list[Run]:
    """Reads the runs of the folders. Throws: PlotsError if they are of several machines, because
    such times do not form one series."""
    runs = runs_of(judge(folders)["workloads"])
    machines = sorted({" ".join([f"{cpu}, {cores} cores", *gpus])
                       for cpu, cores, gpus in {run.cell.machine for run in runs}})
    if len(machines) > 1:
        raise PlotsError(f"the folders are of {len(machines)} machines ({'; '.join(machines)}); "
                           "one at a time")
    return runs


def main(arguments: list[str]) -> int:
    overwrite, named = overwrite_in(arguments)
    if not named or named[0].startswith("-"):
        print(__doc__.strip(), file=sys.stderr)
        return 0 if arguments in (["--help"], ["-h"]) else 1
    folders = [Path(argument) for argument in named]
    try:
        figure = draw(runs_of_one_machine(folders))
        if figure is None:
            raise PlotsError("no cell was measured at more than one commit; name folders of "
                               "several")
        files = save_figure(figure, folders[0], "trend", overwrite=overwrite)
    except (PlotsError, OSError) as error:
        print(f"trend.py: {error}", file=sys.stderr)
        return 1
    print(f"figure: {files[0]} and {files[1]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
