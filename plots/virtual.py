#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Speed against workers on clusters of virtual time, a panel for each link.

usage: plots/virtual.py [--overwrite] FOLDER

Reads FOLDER/*/simulated.jsonl, as ci/virtual_speedup makes them; prints a table; writes
FOLDER/virtual.svg and FOLDER/virtual.png, or in place of those that it drew before. Speed in the
table is in terms of one worker's. What runs do not compare stands in FOLDER/virtual_2 and so on.
"""

from pathlib import Path

from figure_files import save_figure
from figure_virtual import draw_speed
from simulated import Study
from strategies import PlotsError
from virtual_files import run_command, studies_in


def print_table(study: Study) -> None:
    if study.one_worker is None:
        raise PlotsError("there is no run of one worker to compare with")
    for number, link in enumerate(study.links):
        print(f"{link.text}: speed in terms of one worker's (share of time in communication and "
              "waiting)")
        for way, one in enumerate(study.ways):
            print(f"  {one.label:<34}" + "  ".join(
                f"{point.workers}: {point.examples_per_s / study.one_worker:.2f} "
                f"({100 * (point.share('exposed_communication') + point.share('wait')):.0f} %)"
                for point in study.line(way, number)))


def draw(folder: Path, overwrite: bool) -> list[Path]:
    files = []
    studies = studies_in(folder, "*/simulated.jsonl", "ci/virtual_speedup")
    for number, study in enumerate(studies, start=1):
        print_table(study)
        figure = draw_speed(study)
        if figure is None:
            raise PlotsError("there is one number of workers only; fix: simulate several")
        stem = "virtual" if number == 1 else f"virtual_{number}"
        files += save_figure(figure, folder, stem, overwrite=overwrite)
    return files


if __name__ == "__main__":
    run_command(str(__doc__), draw)
