#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Speed against workers on clusters of virtual time, a panel for each link.

usage: plots/virtual.py [--overwrite] FOLDER

Reads FOLDER/*/simulated.jsonl, as ci/virtual_speedup makes them; prints a table; writes
FOLDER/virtual.svg and FOLDER/virtual.png, or in place of those that it drew before. Speed in the
table is in terms of one worker's. What runs do not compare stands in FOLDER/virtual_2 and so on.
"""

import sys
from pathlib import Path

from figure_files import save_figure
from figure_virtual import draw_speed
from judgement import judge
from output_files import overwrite_in
from simulated import Study, studies_of
from strategies import PlotsError


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


def main(arguments: list[str]) -> None:
    overwrite, folders = overwrite_in(arguments)
    if len(folders) != 1:
        raise PlotsError(str(__doc__).split("\n\n")[1])
    folder = Path(folders[0])
    files = sorted(folder.glob("*/simulated.jsonl"))
    if not files:
        raise PlotsError(f"{folder} has no */simulated.jsonl; fix: ci/virtual_speedup --out "
                         f"{folder}")
    for number, study in enumerate(studies_of(judge(file.parent for file in files)), start=1):
        print_table(study)
        figure = draw_speed(study)
        if figure is None:
            raise PlotsError("there is one number of workers only; fix: simulate several")
        stem = "virtual" if number == 1 else f"virtual_{number}"
        for file in save_figure(figure, folder, stem, overwrite=overwrite):
            print(file)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (PlotsError, OSError) as error:
        sys.exit(f"virtual: {error}")
