#!/usr/bin/python3 -Es
# SPDX-License-Identifier: Apache-2.0
"""Draws speed against workers on clusters in virtual time, with a panel for each link.

usage: plots/virtual.py [--overwrite] FOLDER

Reads FOLDER/*/simulated.jsonl, made by ci/virtual_speedup, prints a table, and writes
FOLDER/virtual.svg and FOLDER/virtual.png. Replaces its own earlier files. The table has speeds
relative to one worker, and then speeds with two servers relative to one server. Studies that are
not comparable have their own files: FOLDER/virtual_2 and so on.
"""

from pathlib import Path

from figure_files import save_figure
from figure_virtual import draw_speed
from simulated import Study
from strategies import PlotsError
from virtual_files import run_command, studies_in


PAYS = 1.1  # speed ratio from which a second server counts as worth it


def gains_of_second_server(study: Study, link: int) -> dict[int, float]:
    """Speed of parameter_server with two servers, relative to one server, by workers."""
    speeds = {servers: {point.workers: point.examples_per_s for way, one in enumerate(study.ways)
                        if one.strategy == "parameter_server"
                        and one.variant.option("servers") == servers
                        for point in study.line(way, link)} for servers in (1, 2)}
    return {workers: speeds[2][workers] / speed for workers, speed in speeds[1].items()
            if workers in speeds[2]}


def print_second_server(study: Study) -> None:
    for number, link in enumerate(study.links):
        gains = gains_of_second_server(study, number)
        if not gains:
            continue
        paying = [workers for workers in gains
                  if all(gain >= PAYS for more, gain in gains.items() if more >= workers)]
        print(f"{link.text}: speed with two servers in terms of one: "
              + "  ".join(f"{workers}: {gain:.2f}" for workers, gain in gains.items())
              + (f"; {PAYS:g} from {paying[0]} workers on" if paying else f"; {PAYS:g} nowhere"))


def print_table(study: Study) -> None:
    if study.one_worker is None:
        raise PlotsError("there is no run of one worker to compare with")
    for number, link in enumerate(study.links):
        print(f"{link.text}: speed in terms of one worker's (share of time in communication and "
              "waiting)")
        for way, one in enumerate(study.ways):
            print(f"  {one.label:<34}" + "  ".join(
                f"{point.workers}: {point.examples_per_s / study.one_worker:.2f} "
                f"({100 * (point.share('exposed_communication') + point.waiting):.0f} %)"
                for point in study.line(way, number)))


def draw(folder: Path, overwrite: bool) -> list[Path]:
    files = []
    studies = studies_in(folder, "*/simulated.jsonl", "ci/virtual_speedup")
    for number, study in enumerate(studies, start=1):
        print_table(study)
        print_second_server(study)
        figure = draw_speed(study)
        if figure is None:
            raise PlotsError("there is one number of workers only; fix: simulate several")
        stem = "virtual" if number == 1 else f"virtual_{number}"
        files += save_figure(figure, folder, stem, overwrite=overwrite)
    return files


if __name__ == "__main__":
    run_command(str(__doc__), draw)
