# SPDX-License-Identifier: Apache-2.0
"""Races over processes by a program that was built with the thread sanitizer, which finds nothing:
in servers, workers and the one that starts them.

usage: thread_sanitizer_test.py REGATTA SCHEMA [unittest arguments]
Exits 77 (skipped) where mpirun is not installed. TSAN_OPTIONS names what is suppressed.
"""

import os
import unittest

from test_support import fresh_folder, records_in, regatta, run_tests, skip_without_mpirun

skip_without_mpirun()

PARABOLA = ("--workload", "parabola", "--steps", "60", "--threads", "1", "--workers", "2")
PROCESSES = 4  # two workers, a server, and the launcher


class ThreadSanitizer(unittest.TestCase):
    def reports_of(self, *arguments: str) -> list[str]:
        """What the sanitizer says in each process."""
        folder = fresh_folder()
        options = f"{os.environ.get('TSAN_OPTIONS', '')} verbosity=1 log_path={folder / 'report'}"
        done = regatta("run", *PARABOLA, *arguments, "--out", str(folder), TSAN_OPTIONS=options)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        (record,) = records_in(folder)
        self.assertEqual(record["evaluations"][-1]["examples"], 60 * 50)
        return [file.read_text(errors="replace") for file in sorted(folder.glob("report.*"))]

    def test_finds_no_race_in_servers_and_workers(self) -> None:
        for cell in (("parameter_server",), ("parameter_server_async",),
                     ("parameter_server_async", "--staleness-bound", "1")):
            reports = self.reports_of("--strategy", *cell)
            with self.subTest(cell=cell):
                self.assertEqual(len(reports), PROCESSES)
                for report in reports:
                    self.assertIn("Running under ThreadSanitizer", report)
                    self.assertNotIn("WARNING: ThreadSanitizer", report)


if __name__ == "__main__":
    run_tests()
