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
from headline import headline_of
from judgement import Json, runs_of
from output_files import run_command
from page import cell_labels
from program import judge
from table import render_table


def answers_on(workloads: list[Json]) -> dict[str, str]:
    """Who is first on each workload, and whether that is decided."""
    answers: dict[str, str] = {}
    for judged in workloads:
        head, name = headline_of(judged, cell_labels(judged)), judged["workload"]
        answers[name] = "; ".join(filter(None, [answers.get(name), f"{head.badge}: {head.short}"]))
    return answers


def write_figure(folders: list[Path], overwrite: bool) -> list[Path]:
    """Draws the race of a folder into that folder and prints its table; returns the files."""
    workloads = judge(folders)["workloads"]
    runs = runs_of(workloads)
    print(render_table(runs), end="\n\n")
    return save_figure(draw_race(runs, answers_on(workloads)), folders[0], "race",
                       overwrite=overwrite)


def write_growing_figure(folders: list[Path], _: bool) -> list[Path]:
    """Draws the runs that a folder has so far."""
    with contextlib.redirect_stderr(io.StringIO()):  # the matrix has printed these
        workloads = judge(folders)["workloads"]
    save_figure(draw_race(runs_of(workloads), answers_on(workloads)), folders[0], "race", ["svg"])
    return []


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--growing"]:
        return run_command(__doc__, arguments[1:], write_growing_figure, most=1)
    return run_command(__doc__, arguments, write_figure, most=1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
