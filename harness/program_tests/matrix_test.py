#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Matrices as users run them: complete, killed at random moments and resumed, invalid.

usage: harness/program_tests/matrix_test.py REGATTA SCHEMA
"""

import functools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
import unittest

from matrix_support import CELLS, RUNS, SMALL, Folder
from proc_support import environment_of, processes_with
from run_support import rank_of
from test_support import (MARK, REGATTA, environment_of_its_own, fresh_folder,
                          records_in, run_tests, soon)

OVER_PROCESSES = """
seeds = 3
[[race]]
workload = "parabola"
strategy = "parameter_server"
workers = 2
steps = 2000
"""


def runs_with_ranks(variables: dict[str, str]) -> set[str]:
    """The ids of runs with ranks, among those that were started with these variables."""
    return {environment_of(pid).get("REGATTA_RUN_ID", "")
            for pid in processes_with(MARK, variables[MARK]) if rank_of(pid) is not None}


@functools.cache
def raced() -> tuple[Folder, subprocess.CompletedProcess[str]]:
    """The small matrix, run once, and its output. Tests must not change its records."""
    folder = Folder()
    return folder, folder.run()


class Matrix(unittest.TestCase):
    def test_races_every_cell_with_every_seed_seeds_outermost(self) -> None:
        folder, ran = raced()
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn(f"{CELLS} cells x 3 seeds = {RUNS} runs", ran.stdout)
        self.assertIn("[12/12] parabola async_shared, 2 workers, seed 3", ran.stdout)
        self.assertIn(f"regatta report {folder.out}", ran.stdout)
        self.assertIn("parabola single (2 workers, steps=2000): strategy 'single'",
                      ran.stdout)  # the reason
        records = records_in(folder.out)
        self.assertEqual(len(records), RUNS)
        seeds = [record["cell"]["seed"] for record in records]
        self.assertEqual(seeds, [1] * CELLS + [2] * CELLS + [3] * CELLS)

    def test_a_dry_run_runs_nothing_and_makes_no_folder(self) -> None:
        folder = Folder()
        ran = folder.run("--dry-run")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn(f"{RUNS} runs left; a cell's first run tells the time of the others\n",
                      ran.stdout)
        self.assertFalse(folder.out.exists())

    def test_a_value_of_several_lines_stays_in_its_line(self) -> None:
        text = '[[race]]\nworkload = ["parabola", """para\nbola\\u001b[2J"""]\nsteps = 2\n'
        folder = Folder(text)
        lines = folder.run("--dry-run").stdout.splitlines()
        rejected = lines[lines.index("cannot run, and why:") + 1]
        self.assertTrue(rejected.startswith("  para\\nbola\\x1b[2J single (1 worker, steps=2): "),
                        rejected)

    def test_a_dry_run_expects_the_time_that_the_first_runs_took(self) -> None:
        folder = Folder()
        self.assertEqual(folder.run("--seeds", "1").returncode, 0)
        self.assertRegex(folder.run("--seeds", "2", "--dry-run").stdout,
                         r"4 runs left, about (?!0\.0 )\d+(\.\d+)? s\n")

    def test_resumed_after_kills_at_random_moments_it_has_every_record_once(self) -> None:
        folder = Folder(SMALL.replace("2000", "15000"))
        generator = random.Random(4)
        for there in (1, 3, 6):
            with subprocess.Popen(folder.command("--resume"), stdout=subprocess.DEVNULL) as matrix:
                while sum(folder.runs().values()) < there:
                    time.sleep(0.01)
                time.sleep(generator.uniform(0, 0.15))
                matrix.kill()
        killed_at = sum(folder.runs().values())
        self.assertGreater(killed_at, 0)
        self.assertLess(killed_at, RUNS)
        ran = folder.run("--resume")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(len(folder.runs()), RUNS)
        self.assertEqual(set(folder.runs().values()), {1})
        again = folder.run("--resume")
        self.assertIn("0 runs left", again.stdout)
        self.assertEqual(sum(folder.runs().values()), RUNS)

    def test_resumed_it_knows_runs_by_their_cells_not_by_their_words(self) -> None:
        first = raced()[0]
        respelled = SMALL.replace("steps = 2000", "fusion = 'on'\nrate_scale = 1\nsteps = 2000")
        for text, left in ((respelled, 0), (SMALL.replace("2000", "2001"), RUNS)):
            folder = Folder(text)
            shutil.copytree(first.out, folder.out)
            self.assertIn(f"\n{left} runs left", folder.run("--dry-run").stdout)

    def test_resumed_while_ranks_outlive_their_launcher_it_has_every_record_once(self) -> None:
        folder = Folder(OVER_PROCESSES)
        generator = random.Random(5)
        met: set[str] = set()
        with environment_of_its_own() as variables:
            for there in (0, 1):
                with subprocess.Popen(folder.command("--resume"), stdout=subprocess.DEVNULL,
                                      env=variables) as matrix:
                    self.assertTrue(soon(lambda: sum(folder.runs().values()) >= there, 60))
                    self.assertTrue(soon(lambda: not runs_with_ranks(variables) <= met, 60))
                    time.sleep(generator.uniform(0, 0.5))
                    met |= runs_with_ranks(variables)
                    matrix.kill()
            ran = folder.run("--resume")
            self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertEqual(list(folder.runs().values()), [1, 1, 1])
        self.assertNotIn("failed", [record["status"] for record in records_in(folder.out)])
        done = {record["run_id"] for record in records_in(folder.out)}
        self.assertGreaterEqual(len(met - done), 1)  # killed with their ranks at work

    def test_an_interrupt_keeps_what_is_done_and_says_how_to_go_on(self) -> None:
        for flags in ([], ["--data-dir", str(fresh_folder()), "--seeds", "4"]):
            folder = Folder(SMALL.replace("2000", "100000"))
            with subprocess.Popen(folder.command(*flags), stdout=subprocess.PIPE,
                                  text=True) as matrix:
                while not folder.runs():
                    time.sleep(0.02)
                matrix.send_signal(signal.SIGINT)
                said = matrix.communicate(timeout=20)[0]
            self.assertEqual(matrix.returncode, 128 + signal.SIGINT)
            (advice,) = re.findall(r"To go on: regatta (matrix .*) --resume\n", said)
            self.assertEqual(sorted(advice.split()),
                             sorted(["matrix", str(folder.file), "--out", str(folder.out), *flags]))
            self.assertGreaterEqual(sum(folder.runs().values()), 1)

    def test_a_folder_that_holds_some_of_it_is_not_run_into_twice(self) -> None:
        folder, first = raced()
        self.assertEqual(first.returncode, 0)
        ran = folder.run()
        self.assertEqual(ran.returncode, 1)
        self.assertIn("--resume", ran.stderr)
        self.assertEqual(sum(folder.runs().values()), RUNS)

    def test_two_at_once_in_one_folder_are_refused(self) -> None:
        folder = Folder(SMALL.replace("2000", "100000"))
        with subprocess.Popen(folder.command(), stdout=subprocess.PIPE, text=True) as first:
            first.stdout.readline()
            second = folder.run("--resume")
            first.send_signal(signal.SIGTERM)
            first.communicate(timeout=20)
        self.assertEqual(second.returncode, 1)
        self.assertIn("another matrix is at work", second.stderr)

    def test_goes_on_after_a_cell_that_fails_and_says_so(self) -> None:
        folder = Folder('seeds = 2\n[[race]]\nworkload = "parabola"\nsteps = 200\n'
                        'rate_scale = [1e30, 1]\n')
        ran = folder.run()
        self.assertEqual(ran.returncode, 2)
        self.assertIn("2 runs failed", ran.stdout)
        self.assertEqual(sum(folder.runs().values()), 4)

    def test_resumed_it_runs_again_what_failed_before_its_first_step(self) -> None:
        folder = Folder('seeds = 1\n[[race]]\nworkload = "parabola"\nstrategy = "all_reduce"\n'
                        'workers = 2\nprocesses = 2\nsteps = 200\nrate_scale = [1, 1e30]\n')
        mpirun = folder.path / "mpirun"
        mpirun.write_text("#!/bin/sh\nexit 1\n")
        mpirun.chmod(0o755)
        path = {"PATH": f"{folder.path}:{os.environ['PATH']}"}
        failed = subprocess.run(folder.command(), capture_output=True, text=True, timeout=60,
                                check=False, env=os.environ | path)
        self.assertIn("2 runs failed", failed.stdout)
        for runs_left in ("2 runs left", "0 runs left"):  # one of them diverges after a step
            self.assertIn(runs_left, folder.run("--resume").stdout)
        states = sorted(record["status"] for record in records_in(folder.out))
        self.assertEqual(states, ["failed", "failed", "failed", "missed"])

    def test_tunes_before_it_races_apart_and_resumes(self) -> None:
        folder = Folder('seeds = 1\ntune_seeds = 1\n[[race]]\nworkload = "parabola"\n'
                        'strategy = ["single", "local_sgd"]\nsteps = 2000\n'
                        '[[tune]]\nstrategy = "local_sgd"\nrate_scale = [1e30, 1, 2]\n')
        dry = folder.run("--dry-run").stdout
        self.assertIn(f"tuning: 3 cells x 1 seeds = 3 runs, into {folder.out}/tuning\n", dry)
        self.assertIn(f"2 cells x 1 seeds = 2 runs, into {folder.out}\n", dry)
        ran = folder.run()
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)  # a trial may diverge
        self.assertEqual([record["cell"]["seed"] for record in records_in(folder.out / "tuning")],
                         [1001] * 3)
        chosen = [record["cell"]["rate_scale"] for record in records_in(folder.out)]
        self.assertIn(chosen, ([1, 1], [1, 2]))
        report = json.loads(subprocess.run(
            (REGATTA, "report", folder.out, "--format", "json"), capture_output=True, text=True,
            timeout=60, check=True).stdout)
        (note,) = report["workloads"][0]["matrices"]
        self.assertRegex(note["tuned"], r"^settings chosen by 3 runs on seeds 1001 \(.*\): "
                         rf"rate-scale={chosen[1]:g} for local_sgd \(1 worker, steps=2000\)$")
        (folder.out / "records.jsonl").write_text("")
        again = folder.run("--resume").stdout
        self.assertIn("3 runs are there already\n0 runs left\n", again)
        self.assertEqual([record["cell"]["rate_scale"] for record in records_in(folder.out)],
                         chosen)

    def test_compared_with_itself_nothing_regressed(self) -> None:
        folder = Folder()
        self.assertEqual(folder.run("--seeds", "8").returncode, 0)
        compare = [REGATTA, "compare", str(folder.out)]
        ran = subprocess.run([*compare, str(folder.out), "--format", "json"], capture_output=True,
                             text=True, timeout=20, check=False)
        cells = json.loads(ran.stdout)
        self.assertEqual(len(cells), CELLS)
        self.assertEqual({cell["speed"]["verdict"] for cell in cells}, {"unchanged"})
        self.assertEqual(ran.returncode, 0)
        row = "| parabola single (1 worker, steps=2000) | 8 → 8 |"
        for form, words in (("text", "unchanged"), ("markdown", row)):
            ran = subprocess.run([*compare, str(folder.out), "--format", form],
                                 capture_output=True, text=True, timeout=20, check=False)
            self.assertIn(words, ran.stdout)
        ran = subprocess.run([*compare, str(folder.path)], capture_output=True, text=True,
                             timeout=20, check=False)
        self.assertEqual(ran.returncode, 1)
        self.assertIn("holds no record", ran.stderr)

    def test_wrong_files_and_flags_are_errors_that_help(self) -> None:
        folder = Folder('[[race]]\nworklaod = "parabola"\n')
        ran = folder.run()
        self.assertEqual(ran.returncode, 1)
        self.assertIn("did you mean 'workload'", ran.stderr)
        for flags, words in ((["nowhere.toml"], "nowhere.toml"), ([], "--tier"),
                             (["--tier", "quik"], "did you mean 'quick'")):
            ran = subprocess.run([REGATTA, "matrix", *flags, "--out", str(folder.out)],
                                 capture_output=True, text=True, timeout=20, check=False)
            self.assertEqual(ran.returncode, 1)
            self.assertIn(words, ran.stderr)
        both = Folder("tune_seeds = [3]\n" + SMALL + "[[tune]]\nrate_scale = [1, 2]\n")
        self.assertIn("seed 3 is of the race and of tuning", both.run("--dry-run").stderr)

    def test_without_its_data_it_can_be_looked_at_but_not_run(self) -> None:
        folder = Folder('[[race]]\nworkload = "resnet9_thin"\ndataset = "cifar10"\nsteps = 4\n')
        nowhere = ("--data-dir", str(folder.path / "none"))
        ran = folder.run("--dry-run", *nowhere)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertIn("  resnet9_thin single (1 worker, dataset=cifar10, steps=4)\n", ran.stdout)
        ran = folder.run(*nowhere)
        self.assertEqual(ran.returncode, 1)
        self.assertIn("ci/fetch_cifar10", ran.stderr)


if __name__ == "__main__":
    run_tests()
