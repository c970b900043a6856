#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Matrices with a time limit, and matrices that draw their figure as they grow.

usage: harness/program_tests/matrix_within_test.py REGATTA SCHEMA
"""

import contextlib
import json
import os
import re
import subprocess
import time
import unittest
from pathlib import Path

from matrix_support import CELLS, RUNS, SMALL, Folder
from proc_support import children_of
from test_support import REGATTA, records_in, run_tests

# Runs of tenths of a second; pauses for evaluation would take most of them.
LONG = SMALL.replace("steps = 2000", 'steps = 100000\nevaluate = "end"')
STARTS_S = 60  # until the program and its runs start, on a loaded machine


def seeds_of(folder: Folder) -> dict[str, list[int]]:
    """The seeds of each strategy, in the order of their runs."""
    seeds: dict[str, list[int]] = {}
    for record in records_in(folder.out):
        seeds.setdefault(record["cell"]["strategy"], []).append(record["cell"]["seed"])
    return seeds


class Within(unittest.TestCase):
    def test_it_ends_in_time_and_goes_on_by_the_command_it_names(self) -> None:
        folder = Folder(LONG.replace("100000", "300000"))  # 12 runs take 4 s on a fast machine
        started = time.monotonic()
        ran = folder.run("--seeds", "3", "--within", "2s")
        took = time.monotonic() - started
        self.assertEqual(ran.returncode, 0, ran.stderr)
        seeds = seeds_of(folder)
        there = sum(map(len, seeds.values()))
        self.assertGreater(there, 0)
        self.assertLess(there, RUNS)
        longest = max(record["setup_ns"] + record["warmup_ns"] + record["full_ns"]
                      for record in records_in(folder.out)) / 1e9
        self.assertLess(took, 2 + longest + STARTS_S)
        self.assertRegex(ran.stdout, r"stopped after \d+ s, as --within 2s asks; "
                                     rf"{there} runs? are kept")
        for own in seeds.values():
            self.assertEqual(own, list(range(1, len(own) + 1)))  # seed after seed
        (advice,) = re.findall(r"to go on: regatta (matrix .*) --resume\n", ran.stdout)
        self.assertEqual(advice, f"matrix {folder.file} --seeds 3 --out {folder.out} --decide")
        report = subprocess.run((REGATTA, "report", folder.out, "--format", "json"), timeout=60,
                                capture_output=True, text=True, check=True).stdout
        (note,) = json.loads(report)["workloads"][0]["matrices"]
        self.assertEqual((note["missing"], note["command"]),
                         (CELLS - len(seeds), f"regatta {advice} --resume"))
        again = folder.run("--resume", "--seeds", "3", "--within", "10min")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertNotIn("stopped", again.stdout)
        self.assertEqual(set(folder.runs().values()), {1})
        self.assertEqual(len(seeds_of(folder)), CELLS)
        for command in folder.runs():  # a run has no budget
            self.assertNotIn("--within", command)

    def test_each_cell_has_its_first_run_before_others_have_their_second(self) -> None:
        folder = Folder(LONG)
        self.assertEqual(folder.run("--seeds", "1").returncode, 0)
        lines = (folder.out / "records.jsonl").read_text().splitlines(keepends=True)
        (folder.out / "records.jsonl").write_text("".join(lines[:-1]))  # async_shared has none
        ran = folder.run("--resume", "--seeds", "3", "--within", "90s")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        first = records_in(folder.out)[len(lines) - 1]["cell"]
        self.assertEqual((first["strategy"], first["seed"]), ("async_shared", 1))

    def test_a_run_that_would_end_after_the_time_limit_is_skipped(self) -> None:
        folder = Folder(LONG)
        self.assertEqual(folder.run("--seeds", "1").returncode, 0)
        records = records_in(folder.out)
        self.assertEqual(records[-1]["cell"]["strategy"], "async_shared")
        records[-1]["full_ns"] = 10**12  # its next run may take 1,000 s, too
        (folder.out / "records.jsonl").write_text(
            "".join(json.dumps(record) + "\n" for record in records))
        (note,) = json.loads((folder.out / "matrix.json").read_text()).values()
        self.assertEqual(note["command"],
                         f"regatta matrix {folder.file} --out {folder.out} --decide --resume")
        ran = folder.run("--decide", "--resume", "--seeds", "3", "--within", "100s")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        seeds = seeds_of(folder)
        self.assertEqual(seeds.pop("async_shared"), [1])
        self.assertTrue(any(len(own) > 1 for own in seeds.values()), seeds)
        self.assertIn("\nto go on: ", ran.stdout)  # it is needed

    def test_a_failed_run_counts_although_the_time_is_up(self) -> None:
        folder = Folder('[[race]]\nworkload = "parabola"\nsteps = 500000\n'
                        'rate_scale = [1e30, 1]\n')
        ran = folder.run("--within", "1s")
        self.assertEqual(ran.returncode, 2, ran.stdout + ran.stderr)
        self.assertIn("stopped after", ran.stdout)
        self.assertIn("runs failed", ran.stdout)

    def test_an_interrupt_names_the_time_again(self) -> None:
        folder = Folder(LONG)
        with subprocess.Popen(folder.command("--within", "1h"), stdout=subprocess.PIPE,
                              text=True) as matrix:
            while not folder.runs():
                time.sleep(0.02)
            matrix.terminate()
            said = matrix.communicate(timeout=20)[0]
        self.assertIn(f"--out {folder.out} --decide --within 1h --resume\n", said)


class Decide(unittest.TestCase):
    def test_it_leaves_out_a_cell_that_is_slower_beyond_doubt(self) -> None:
        folder = Folder('[[race]]\nworkload = "parabola"\nworkers = 2\n'
                        'strategy = ["all_reduce", "parameter_server"]\n')
        ran = folder.run("--decide", "--seeds", "10")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        records = records_in(folder.out)
        self.assertEqual({record["round"]["precision"] for record in records}, {0.05})
        self.assertLess(len(records), 20)
        report = subprocess.run((REGATTA, "report", folder.out, "--format", "json"), timeout=60,
                                capture_output=True, text=True, check=True).stdout
        (race,) = json.loads(report)["workloads"]
        self.assertTrue(race["decision"]["decided"])
        self.assertEqual(race["cells"][1]["against_first"]["standing"], "slower")
        self.assertGreater(race["cells"][1]["against_first"]["low"], 1)
        self.assertIn("parabola: all_reduce is first", ran.stdout)
        self.assertIn("first, decided in ", ran.stdout)
        again = folder.run("--decide", "--seeds", "10", "--resume")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(len(records_in(folder.out)), len(records))  # nothing is left to decide


def commands_of_children(pid: int) -> list[str]:
    lines = []
    for child in children_of(pid):
        with contextlib.suppress(OSError):  # the child has ended
            lines.append(Path(f"/proc/{child}/cmdline").read_text().replace("\0", " "))
    return lines


class Draw(unittest.TestCase):
    def test_the_figure_grows_while_no_run_is_under_way(self) -> None:
        folder = Folder(LONG.replace("seeds = 3", "seeds = 200"))
        figure, met = folder.out / "race.svg", set()
        with subprocess.Popen(folder.command("--draw"), stdout=subprocess.PIPE,
                              text=True) as matrix:
            give_up = time.monotonic() + 60
            while not figure.exists() and time.monotonic() < give_up:
                children = commands_of_children(matrix.pid)
                self.assertLessEqual(len(children), 1, children)
                met |= {word for line in children for word in ("race.py", " run ") if word in line}
                time.sleep(0.005)
            self.assertIsNone(matrix.poll())
            self.assertIn("</svg>", figure.read_text())  # the whole of it
            matrix.terminate()
            said = matrix.communicate(timeout=20)[0]
        self.assertEqual(met, {"race.py", " run "})
        self.assertIn(f"{figure} is drawn again and again between the runs\n", said)

    def test_the_figure_is_of_all_runs_in_the_end(self) -> None:
        folder = Folder()
        ran = folder.run("--draw")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertNotIn("was not drawn", ran.stdout)
        figure = (folder.out / "race.svg").read_bytes()
        race = Path(__file__).parents[2] / "plots" / "race.py"
        subprocess.run([race, folder.out], check=True, capture_output=True, timeout=60,
                       env=os.environ | {"REGATTA": REGATTA})
        self.assertEqual((folder.out / "race.svg").read_bytes(), figure)

    def test_what_it_cannot_draw_ends_nothing(self) -> None:
        folder = Folder()
        (folder.out / "race.svg").mkdir(parents=True)
        ran = folder.run("--draw", "--seeds", "1")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertRegex(ran.stdout, rf"{folder.out}/race.svg was not drawn: race.py: .*race.svg")
        self.assertEqual(len(folder.runs()), CELLS)


if __name__ == "__main__":
    run_tests()
