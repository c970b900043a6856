#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests races in a Slurm of two nodes that ci/slurm makes on this machine: their losses equal those
of one process, and jobs that end early leave a failed record and nothing else.

usage: ci/slurm_test.py [-v] [Class.test...] REGATTA
REGATTA may be a wheel's command: VENV/bin/regatta.

Skips (exit code 77) if it is not root, if Slurm or munge is not installed (ci/slurm installs them),
or if network namespaces cannot be made.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

SLURM = Path(__file__).resolve().parent / "slurm"
NEEDED = ("ip", "slurmctld", "slurmd", "srun", "munged", "mpirun")
SKIPPED = 77
INSIDE = "--inside"  # flag of the process that runs on a node
LIMIT_S = 120
A_FEW_STEPS_S = 2
END_S = 20  # from the end of a job until all its processes and files are gone
REGATTA = str(Path(sys.argv.pop()).resolve()) if len(sys.argv) > 1 else ""
PARABOLA = ("--workload", "parabola", "--steps", "100")
LONG = ("--workload", "resnet9_thin", "--steps", "5000", "--strategy", "all_reduce")
OVER_TWO = ("--workers", "2", "--processes", "2")
TWO = ("--strategy", "all_reduce", *OVER_TWO)
SRUN = ("srun", "--mpi=pmix", "-N2")


def soon(condition: Callable[[], bool], limit_s: float) -> bool:
    deadline = time.monotonic() + limit_s
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.1)
    return condition()


def words(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def job_ids() -> list[str]:
    return words("squeue", "--noheader", "--format=%i").split()


def left_by_open_mpi() -> list[str]:
    """Open MPI's files of the two nodes, which have the host in their names."""
    places = ((Path("/dev/shm"), "*.n[12].*"), (Path("/tmp"), "ompi.n[12].*/*"),
              (Path("/tmp"), "regatta-*/ompi.n[12].*"))
    return [str(path) for folder, names in places for path in folder.glob(names)]


def processes(having: str = "") -> list[int]:
    """Processes of regatta in this Slurm that have an environment variable beginning so."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # the process has just ended
            variables = (entry / "environ").read_text(errors="replace").split("\0")
            ours = f"SLURM_CONF={os.environ['SLURM_CONF']}" in variables
            if ours and Path(os.readlink(entry / "exe")).name == "regatta":  # a wheel's, too
                found += [int(entry.name)] * any(each.startswith(having) for each in variables)
    return found


class Slurm(unittest.TestCase):
    def setUp(self) -> None:
        self.out = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.addCleanup(subprocess.run, ["scancel", "--user=root"], check=True)

    @contextlib.contextmanager
    def nothing_left(self) -> Iterator[None]:
        yield
        self.assertTrue(soon(lambda: job_ids() == [] and processes() == [], END_S),
                        (job_ids(), processes()))
        self.assertEqual(left_by_open_mpi(), [])

    def run_command(self, *command: str) -> subprocess.CompletedProcess[str]:
        with self.nothing_left():
            return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S,
                                  check=False)

    def records(self) -> list[dict[str, Any]]:
        file = self.out / "records.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def race(self, launcher: tuple[str, ...], *flags: str) -> dict[str, Any]:
        done = self.run_command(*launcher, REGATTA, "run", *PARABOLA, *flags, "--out",
                                str(self.out))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return self.records()[-1]

    def assert_like_one_process(self, record: dict[str, Any], *flags: str) -> None:
        alone = self.race((), *flags)
        self.assertEqual(record["evaluations"][-1]["loss"], alone["evaluations"][-1]["loss"])

    @staticmethod
    def hosts(record: dict[str, Any]) -> dict[str, str]:
        return {worker["place"]: worker["host"] for worker in record["workers"]}

    def job_script(self, *arguments: str) -> str:
        script = self.out / "job.sh"
        script.write_text(f"#!/bin/sh\nexec {REGATTA} {' '.join(arguments)}\n")
        return str(script)


class ThreeWays(Slurm):
    def test_srun(self) -> None:
        record = self.race((*SRUN, "-n2"), *TWO)
        self.assertEqual(self.hosts(record), {"replica0": "n1", "replica1": "n2"})
        self.assert_like_one_process(record, "--strategy", "all_reduce", "--workers", "2")

    def test_srun_of_servers_whose_traffic_crosses_nodes(self) -> None:
        servers = ("--strategy", "parameter_server", "--workers", "2")
        record = self.race((*SRUN, "-n3"), *servers)
        self.assertEqual(set(self.hosts(record).values()), {"n1", "n2"})
        self.assert_like_one_process(record, "--strategy", "central_storage", "--workers", "2")

    def test_salloc_and_mpirun_that_regatta_starts(self) -> None:
        record = self.race(("salloc", "-N2", "-n2"), *TWO)
        self.assertEqual(self.hosts(record), {"replica0": "n1", "replica1": "n2"})
        self.assert_like_one_process(record, "--strategy", "all_reduce", "--workers", "2")

    def test_salloc_and_mpirun_that_starts_regatta(self) -> None:
        mpirun = ("salloc", "-N2", "-n2", "mpirun", "--allow-run-as-root", "--bind-to", "none")
        record = self.race(mpirun, *TWO)
        self.assertEqual(self.hosts(record), {"replica0": "n1", "replica1": "n2"})

    def test_sbatch_of_a_matrix_whose_cells_fit_or_say_why_not(self) -> None:
        matrix = self.out / "matrix.toml"
        matrix.write_text('seeds = 1\n[[race]]\nworkload = "parabola"\nsteps = 100\n'
                          'strategy = "all_reduce"\nworkers = 4\nprocesses = [1, 2, 4]\n')
        said = self.out / "said"
        done = self.run_command("sbatch", "--wait", "-N2", "-n2", f"--output={said}",
                                self.job_script("matrix", str(matrix), "--out", str(self.out)))
        self.assertEqual(done.returncode, 0, said.read_text())
        self.assertRegex(said.read_text(), r"cannot run, and why:\n.*processes=4.*it has 4 "
                         r"processes, but Slurm's job \d+ has room for 2; fix: --ntasks=4")
        self.assertEqual([record["cell"]["processes"] for record in self.records()], [1, 2])
        first, second = self.records()
        self.assertEqual(set(self.hosts(second).values()), {"n1", "n2"})
        self.assertEqual(second["evaluations"][-1]["loss"], first["evaluations"][-1]["loss"])


class Refusals(Slurm):
    def refused(self, *launcher: str, flags: tuple[str, ...] = ()) -> str:
        began = time.monotonic()
        done = self.run_command(*launcher, REGATTA, "run", *PARABOLA, *TWO, *flags, "--out",
                                str(self.out))
        self.assertNotEqual(done.returncode, 0)
        self.assertLess(time.monotonic() - began, 10)
        self.assertEqual(self.records(), [])
        return done.stdout + done.stderr

    def test_of_another_number_of_tasks(self) -> None:
        said = self.refused(*SRUN, "-n4")
        self.assertEqual(said.count("srun has started 4 processes, but this run has 2"), 1, said)

    def test_of_tasks_without_pmix(self) -> None:
        self.assertIn("fix: srun --mpi=pmix", self.refused("srun", "-N2", "-n2"))

    def test_of_an_allocation_that_is_too_small(self) -> None:
        self.assertRegex(self.refused("salloc", "-N1", "-n1"),
                         r"it has 2 processes, but Slurm's job \d+ has room for 1")

    def test_by_the_coordinator_alone_sends_the_others_away(self) -> None:
        said = self.refused(*SRUN, "-n2", flags=("--trace", str(self.out / "none" / "trace")))
        self.assertEqual(said.count("regatta: "), 1, said)

    def test_of_a_matrix_in_several_tasks(self) -> None:
        done = self.run_command(*SRUN, "-n2", REGATTA, "matrix", "--tier", "quick", "--out",
                                str(self.out))
        self.assertIn("has started 2 processes, but a matrix is one", done.stderr)


class Ends(Slurm):
    def started(self, *command: str) -> subprocess.Popen[str]:
        """Starts a run and waits until it trains."""
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 text=True)
        assert child.stdout is not None
        for line in child.stdout:
            if "step 0 of" in line:
                time.sleep(A_FEW_STEPS_S)
                return child
        raise AssertionError(f"{command} ended with {child.wait()} before it trained")

    def assert_cancelled(self, why: str) -> None:
        (record,) = self.records()
        self.assertEqual((record["status"], record["failure"]["kind"]), ("failed", "cancelled"))
        self.assertRegex(record["failure"]["text"], why)

    def test_by_scancel_of_srun(self) -> None:
        with self.nothing_left():
            child = self.started(*SRUN, "-n4", REGATTA, "run", *LONG, "--workers", "4",
                                 "--processes", "4", "--out", str(self.out))
            subprocess.run(["scancel", *job_ids()], check=True)
            child.communicate(timeout=END_S)
        self.assert_cancelled(r"Slurm's job \d+ was cancelled; fix: ")
        (record,) = self.records()
        hosts = set(self.hosts(record).values())  # only of ranks that still reported
        self.assertIn(hosts, ({"n1"}, {"n2"}, {"n1", "n2"}))

    def test_by_scancel_of_salloc(self) -> None:
        with self.nothing_left():
            child = self.started("salloc", "-N2", "-n2", REGATTA, "run", *LONG, *OVER_TWO, "--out",
                                 str(self.out))
            subprocess.run(["scancel", *job_ids()], check=True)
            child.communicate(timeout=END_S)
        self.assert_cancelled(r"Slurm's job \d+ was cancelled; fix: ")

    def test_by_a_time_limit_of_a_matrix_which_may_go_on_later(self) -> None:
        matrix = self.out / "matrix.toml"
        matrix.write_text('seeds = 1\n[[race]]\nstrategy = "all_reduce"\nworkers = 2\n'
                          'workload = "parabola"\nprocesses = 1\nsteps = 100\n[[race]]\n'
                          'workload = "resnet9_thin"\nworkers = 2\nprocesses = 2\n'
                          'strategy = "all_reduce"\nsteps = 5000\n')
        script = self.job_script("matrix", str(matrix), "--out", str(self.out))
        said = self.out / "said"
        with self.nothing_left():
            job = words("sbatch", "--parsable", "-N2", "-n2", f"--output={said}", script).strip()
            self.assertTrue(soon(lambda: any(self.out.glob("ranks/*/rank1.log")), LIMIT_S))
            time.sleep(2 * A_FEW_STEPS_S)
            subprocess.run(["scontrol", "update", f"JobId={job}", "EndTime=now"], check=True)
            self.assertTrue(soon(lambda: job_ids() == [], LIMIT_S))
        first, second = self.records()
        self.assertEqual(first["status"], "missed")
        self.assertEqual((second["status"], second["failure"]["kind"]), ("failed", "cancelled"))
        self.assertRegex(second["failure"]["text"],
                         rf"the time limit of Slurm's job {job} was reached; fix: ")
        self.assertRegex(said.read_text(), "interrupted; 1 of 2 runs are kept. To go on: ")
        done = self.run_command(REGATTA, "matrix", str(matrix), "--out", str(self.out), "--dry-run")
        self.assertIn("1 runs are there already\n1 runs left", done.stdout)

    def test_of_a_rank_that_is_killed(self) -> None:
        with self.nothing_left():
            child = self.started(*SRUN, "-n2", REGATTA, "run", *LONG, *OVER_TWO, "--out",
                                 str(self.out))
            (member,) = processes("SLURMD_NODENAME=n2")
            os.kill(member, signal.SIGKILL)
            child.communicate(timeout=END_S)
        (record,) = self.records()
        self.assertEqual(record["failure"]["kind"], "peer_lost")
        self.assertRegex(record["failure"]["text"], r"rank 1 \(replica1, process \d+ on n2\) was "
                         "lost after about")


def main() -> int:
    missing = [program for program in NEEDED if shutil.which(program) is None]
    if os.geteuid() != 0 or missing:
        why = f"{', '.join(missing)} not installed (ci/slurm true installs Slurm and munge)"
        if not missing:
            why = "network namespaces need root"
        print(f"skipped: {why}")
        return SKIPPED
    tried = subprocess.run(["unshare", "--net", "--uts", "--mount", "true"], capture_output=True,
                           text=True, check=False)
    if tried.returncode != 0:
        print(f"skipped: this container may not make namespaces: {tried.stderr.strip()}")
        return SKIPPED
    command = [str(SLURM), sys.executable, __file__, INSIDE, *sys.argv[1:], REGATTA]
    with subprocess.Popen(command) as slurm:
        code = slurm.wait()
    left = [name for name in words("ip", "netns", "list").split() if f"rg{slurm.pid}n" in name]
    left += [str(path) for path in Path("/tmp").glob(f"regatta-slurm.{slurm.pid}.*")]
    if left:
        print(f"ci/slurm has left {', '.join(left)}")
        return 1
    return code


if __name__ == "__main__":
    if INSIDE not in sys.argv:
        sys.exit(main())
    sys.argv.remove(INSIDE)
    unittest.main()
