#!/usr/bin/python3 -Es
# SPDX-License-Identifier: Apache-2.0
"""Draws the race of a folder as a figure and a table.

usage: plots/race.py [--growing | --overwrite] DIR

Draws DIR/records.jsonl, as `regatta report` evaluates it: prints a table and writes DIR/race.svg
and DIR/race.png. Replaces its own earlier files; with --overwrite any file except records.
--growing only writes DIR/race.svg, for a matrix that draws it between its runs.
"""

import contextlib
import io
import sys
from pathlib import Path

from figure_files import save_figure
from figure_race import draw_race
from judgement import judge, runs_of
from output_files import overwrite_in
from strategies import PlotsError
from table import render_table


def write_figure(folder: Path, overwrite: bool) -> list[Path]:
    """Draws the race of `folder` into that folder and prints its table; returns the files."""
    runs = runs_of(judge([folder])["workloads"])
    print(render_table(runs))
    return save_figure(draw_race(runs), folder, "race", overwrite=overwrite)


def write_growing_figure(folder: Path) -> None:
    """Draws the runs that `folder` has so far."""
    with contextlib.redirect_stderr(io.StringIO()):  # the matrix has printed these
        runs = runs_of(judge([folder])["workloads"])
    save_figure(draw_race(runs), folder, "race", ["svg"])


def main(arguments: list[str]) -> int:
    growing = arguments[:1] == ["--growing"]
    overwrite, folders = overwrite_in(arguments[growing:])
    if len(folders) != 1 or folders[0].startswith("-") or (growing and overwrite):
        print(__doc__.strip(), file=sys.stderr)
        return 0 if arguments in (["--help"], ["-h"]) else 1
    try:
        if growing:
            write_growing_figure(Path(folders[0]))
            return 0
        files = write_figure(Path(folders[0]), overwrite)
    except (PlotsError, OSError) as error:
        print(f"race.py: {error}", file=sys.stderr)
        return 1
    print(f"\nfigure: {files[0]} and {files[1]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
