#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that a program built for extensions its processor lacks prints a line and exits with 1.

usage: processor_check_test.py PROGRAM_FOR_THIS_PROCESSOR PROGRAM_FOR_ONE_THAT_IS_NOT
"""

import shutil
import subprocess
import sys
import unittest

PROGRAM, TOO_MUCH = sys.argv.pop(1), sys.argv.pop(1)
EMULATOR = "qemu-x86_64"
OLD = "Conroe"  # of 2006: it has less than x86-64-v2


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


class ProcessorCheck(unittest.TestCase):
    def test_lets_a_program_run_whose_processor_has_all_that_it_needs(self) -> None:
        done = run(PROGRAM)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "ran\n", ""))

    def test_ends_one_whose_processor_lacks_something_before_its_constructors(self) -> None:
        done = run(TOO_MUCH)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(
            done.stderr,
            "regatta: this processor lacks no_such_extension, avx10000; this program was built for "
            "x86-64-v9. To build one for this processor: cmake --preset release "
            "-D REGATTA_ARCH=native && cmake --build --preset release\n")

    @unittest.skipUnless(shutil.which(EMULATOR), f"{EMULATOR} is not installed")
    def test_ends_one_on_a_processor_of_2006(self) -> None:
        done = run(EMULATOR, "-cpu", OLD, PROGRAM)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(
            done.stderr,
            r"\Aregatta: this processor lacks ([\w.]+, )*popcnt.*; this program was built for \S+"
            r"\. To build one for this processor: cmake .*\n\Z")


if __name__ == "__main__":
    unittest.main()
