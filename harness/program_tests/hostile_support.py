# SPDX-License-Identifier: Apache-2.0
"""Shared by tests of hostile inputs: short runs, and commands that are refused at once."""

import subprocess
import unittest
from pathlib import Path

from test_support import REGATTA, fresh_folder, output_of

SHORT = ("--workload", "parabola", "--steps", "5")
AT_ONCE_S = 10


def folder_of_runs(*flags: str, seeds: int = 1) -> Path:
    folder = fresh_folder()
    for seed in range(1, seeds + 1):
        output_of("run", *SHORT, *flags, "--seed", str(seed), "--out", str(folder))
    return folder


class Hostile(unittest.TestCase):
    def assert_refused(self, *arguments: str, says: str) -> None:
        """Checks for exit code 1 at once, with `says` in the last line."""
        with self.subTest(arguments=" ".join(arguments)[:200]):
            done = subprocess.run([REGATTA, *arguments], capture_output=True, text=True,
                                  timeout=AT_ONCE_S)
            self.assertEqual(done.returncode, 1, done.stderr[:2000])
            self.assertRegex(done.stderr, rf"(?m)^regatta: .*{says}.*\n\Z")
