# SPDX-License-Identifier: Apache-2.0
"""Races over processes under the thread sanitizer: real ranks, started by mpirun, of a program that
is built with it. No data race occurs in a rank or the coordinator.

usage: thread_sanitizer_test.py REGATTA SCHEMA [unittest arguments]
Exits 77 (skipped) where mpirun is not installed. TSAN_OPTIONS names the suppressions.
"""

import os
import re
import subprocess
import unittest
from pathlib import Path

from test_support import fresh_folder, records_in, regatta, run_tests, skip_without_mpirun

skip_without_mpirun()

REPORTS = 66  # exit code of a process that met a data race
# Milliseconds of training. One thread per worker, because the sanitizer sees no order in OpenMP's
# teams.
PARABOLA = ("--workload", "parabola", "--steps", "20", "--cores", "1")


def start(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A run whose processes each write the sanitizer's reports to a file of their own, and end
    at the first data race."""
    options = (os.environ.get("TSAN_OPTIONS", ""), f"log_path={folder}/log", "verbosity=1",
               f"exitcode={REPORTS}", "halt_on_error=1")
    return regatta("run", *arguments, "--out", str(folder), TSAN_OPTIONS=":".join(options))


def logs_in(folder: Path) -> dict[int, str]:
    """The text of each process's log, but for that of mpirun, which has the line of its fork alone:
    it is not built with the sanitizer."""
    logs = {int(file.suffix[1:]): file.read_text() for file in folder.glob("log.*")}
    return {process: log for process, log in logs.items()
            if not re.fullmatch(r"ThreadSanitizer: forked new process .*\n", log)}


def ranks_in(folder: Path) -> dict[int, int]:
    """The process of each rank, from its own output."""
    logs = "".join(file.read_text() for file in folder.glob("ranks/*/rank*.log"))
    found = re.findall(r"^regatta: rank (\d+) of \d+, process (\d+): ", logs, re.MULTILINE)
    return {int(rank): int(process) for rank, process in found}


class NoRace(unittest.TestCase):
    def check(self, ranks: int, *arguments: str) -> None:
        folder = fresh_folder()
        done = start(folder, *arguments)
        logs = logs_in(folder)
        for process, log in logs.items():
            self.assertNotRegex(log, "(WARNING|ERROR|FATAL): ThreadSanitizer",
                                f"process {process}; exit code {done.returncode}")
            self.assertIn("Running under ThreadSanitizer", log)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        processes = ranks_in(folder)
        self.assertEqual(set(processes), set(range(ranks)))
        self.assertLessEqual(set(processes.values()), set(logs))
        self.assertEqual(len(logs), ranks + 2)  # those of the coordinator and its keeper
        (record,) = records_in(folder)
        self.assertEqual(record["cell"]["processes"], ranks)
        self.assertNotEqual(record["status"], "failed")

    def test_in_a_synchronous_parameter_server_and_its_workers(self) -> None:
        self.check(3, *PARABOLA, "--strategy", "parameter_server", "--workers", "2")

    def test_in_an_asynchronous_parameter_server_and_its_workers(self) -> None:
        self.check(3, *PARABOLA, "--strategy", "parameter_server_async", "--workers", "2",
                   "--staleness-bound", "2")

    def test_in_a_ring_of_processes_with_several_members_each(self) -> None:
        self.check(2, *PARABOLA, "--strategy", "all_reduce", "--workers", "4", "--processes", "2")


if __name__ == "__main__":
    run_tests()
