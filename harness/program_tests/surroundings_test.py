# SPDX-License-Identifier: Apache-2.0
"""Surroundings in which a run is correct, or which it refuses: variables of OpenMP, a limit of CPU
time, a replaced program file, process 1, a foreign mpirun, no ssh, an old processor, a closed
standard output.

usage: surroundings_test.py REGATTA SCHEMA [unittest arguments]
Exits 77 (skipped) where mpirun is not installed.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from proc_support import children_of
from test_support import (PARABOLA, REGATTA, environment_of_its_own, fresh_folder, losses_of,
                          records_in, regatta, run_tests, skip_without_mpirun, soon)

skip_without_mpirun()

LIMIT_S = 60  # of a run that would hang
IMAGES = ("--workload", "resnet9_thin", "--steps", "2", "--global-batch", "32")
TWO_RANKS = ("--strategy", "all_reduce", "--workers", "2", "--processes", "2")
GROUPS = Path("/sys/fs/cgroup")
CORES = len(os.sched_getaffinity(0))


def run_in(*command: str, **environment: str) -> tuple[subprocess.CompletedProcess[str], Path]:
    """Runs a command followed by the arguments of a run. Returns its result and the folder of
    its records."""
    folder = fresh_folder()
    with environment_of_its_own() as variables:
        done = subprocess.run([*command, "--out", str(folder)], capture_output=True, text=True,
                              timeout=LIMIT_S, env=variables | environment)
    return done, folder


def record_in(*command: str, **environment: str) -> dict[str, Any]:
    done, folder = run_in(*command, **environment)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.returncode}: {done.stdout}{done.stderr}")
    (record,) = records_in(folder)
    return record


@contextlib.contextmanager
def control_group(controller: str, **limits: str) -> Iterator[str]:
    """A shell command that enters a new control group. Skips the test if none can be made."""
    above = GROUPS / controller if (GROUPS / controller).is_dir() else GROUPS
    group = above / f"regatta-{os.getpid()}"
    try:
        group.mkdir()
        for name, limit in limits.items():
            (group / f"{controller}.{name}").write_text(limit)
    except OSError as error:
        with contextlib.suppress(OSError):
            group.rmdir()
        raise unittest.SkipTest(f"a control group of {controller}: {error}") from error
    try:
        yield f"echo $$ > {group}/cgroup.procs"
    finally:
        soon(lambda: not (group / "cgroup.procs").read_text(), LIMIT_S)
        group.rmdir()


def in_shell(first: str) -> tuple[str, ...]:
    """Returns a command that runs `first` in a shell and then executes a run."""
    return ("bash", "-c", f'{first} && exec "$0" "$@"', REGATTA, "run")


@unittest.skipIf(CORES < 2, "this process has one core")
class OpenMp(unittest.TestCase):
    def test_teams_are_whole(self) -> None:
        """With a smaller team than planned, a kernel would hang or compute wrong values."""
        run = (REGATTA, "run", *IMAGES, "--cores", "2")
        losses = losses_of(record_in(*run))
        for name, value in (("OMP_DYNAMIC", "true"), ("OMP_MAX_ACTIVE_LEVELS", "0")):
            with self.subTest(name=name):
                record = record_in(*run, **{name: value})
                self.assertEqual(losses_of(record), losses)
                self.assertEqual(record["environment"][name], value)

    def test_a_limit_of_threads_is_refused(self) -> None:
        run = (REGATTA, "run", *IMAGES, "--cores")
        done, _ = run_in(*run, "2", OMP_THREAD_LIMIT="1")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "gives a worker 1 of its 2 threads because OMP_THREAD_LIMIT")
        record_in(*run, "1", OMP_THREAD_LIMIT="1")

    def test_binding_leaves_the_cores(self) -> None:
        for name, value in (("OMP_PROC_BIND", "true"), ("OMP_PLACES", "cores"),
                            ("GOMP_CPU_AFFINITY", "0-1")):
            for run in ((REGATTA, "run", *PARABOLA), (REGATTA, "run", *PARABOLA, *TWO_RANKS)):
                with self.subTest(name=name, run=run):
                    record = record_in(*run, **{name: value})
                    self.assertEqual(record["machine"]["cores_available"], CORES)
                    self.assertFalse(record["cell"]["oversubscribed"])
                    self.assertEqual(record["environment"][name], value)
        core = str(min(os.sched_getaffinity(0)))
        record = record_in("taskset", "-c", core, REGATTA, "run", *PARABOLA, OMP_PROC_BIND="true")
        self.assertEqual(record["machine"]["cores_available"], 1)


class Limits(unittest.TestCase):
    def test_of_cpu_time_are_followed(self) -> None:
        for quota, oversubscribed in ((60_000, True), (150_000, False)):
            version_1 = (GROUPS / "cpu").is_dir()
            limit = {"cfs_quota_us": f"{quota}"} if version_1 else {"max": f"{quota} 100000"}
            with self.subTest(quota=quota), control_group("cpu", **limit) as enter:
                record = record_in(*in_shell(enter), *PARABOLA)
                machine = record["machine"]
                self.assertEqual((machine["cpu_quota"], machine["cores_used"],
                                  record["cell"]["oversubscribed"]),
                                 (quota / 100_000, 1, oversubscribed))


class Program(unittest.TestCase):
    def test_goes_on_when_its_file_is_replaced(self) -> None:
        folder = fresh_folder()
        program = shutil.copy(REGATTA, fresh_folder())
        with environment_of_its_own() as variables, subprocess.Popen(
                [program, "run", *PARABOLA, *TWO_RANKS, "--seeds", "3", "--out", str(folder)],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                env=variables) as run:
            self.assertTrue(soon((folder / "records.jsonl").exists, LIMIT_S))
            os.unlink(program)
            Path(program).write_text("#!/bin/false\n")
            said, _ = run.communicate(timeout=LIMIT_S)
        self.assertEqual(run.returncode, 0, said)
        self.assertEqual(len(records_in(folder)), 3)

    def test_as_process_1_ends_by_signals(self) -> None:
        command = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
        tried = subprocess.run([*command, "true"], capture_output=True, text=True)
        if tried.returncode != 0:
            self.skipTest(f"unshare: {tried.stderr.strip()}")
        run = ("run", "--workload", "parabola", "--steps", "100000000", "--out",
               str(fresh_folder()))
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number=number), subprocess.Popen(
                    [*command, REGATTA, *run], stdout=subprocess.PIPE, text=True) as outer:
                assert outer.stdout is not None
                while "step 0 " not in outer.stdout.readline():
                    pass
                os.kill(children_of(outer.pid)[0], number)
                try:
                    self.assertEqual(outer.wait(timeout=10), 128 + number)
                finally:
                    outer.kill()

    def test_says_whose_mpirun_it_is(self) -> None:
        folder = fresh_folder()
        foreign = folder / "mpirun"
        foreign.write_text("#!/bin/sh\n[ $1 = --version ] && echo HYDRA build details: && exit\n"
                           "echo unrecognized argument oversubscribe; exit 255\n")
        foreign.chmod(0o755)
        path = f"{folder}:{os.environ['PATH']}"
        words = "is not Open MPI's, which is the MPI library here: it says 'HYDRA build details:'"
        self.assertIn(words, regatta("doctor", PATH=path).stdout)
        done, _ = run_in(REGATTA, "run", *PARABOLA, *TWO_RANKS, PATH=path)
        self.assertEqual(done.returncode, 1)
        self.assertIn(words, done.stderr)

    def test_needs_no_ssh_on_one_host(self) -> None:
        folder = fresh_folder()
        (folder / "mpirun").symlink_to(shutil.which("mpirun") or "")
        record = record_in(REGATTA, "run", *PARABOLA, *TWO_RANKS, PATH=str(folder))
        self.assertNotEqual(record["status"], "failed")

    @unittest.skipIf(shutil.which("qemu-x86_64") is None, "qemu-user is not installed")
    def test_says_which_instructions_a_processor_lacks(self) -> None:
        done = subprocess.run(["qemu-x86_64", "-cpu", "core2duo", REGATTA, "--version"],
                              capture_output=True, text=True, timeout=LIMIT_S, check=False)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"^regatta: .*, which this processor lacks; fix: .*\n$")

    def test_says_that_its_output_is_closed(self) -> None:
        done, folder = run_in("sh", "-c", 'exec "$0" "$@" >&-', REGATTA, "run", *PARABOLA,
                              *TWO_RANKS)
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot write to standard output", done.stderr)
        (record,) = records_in(folder)
        self.assertNotEqual(record["status"], "failed")


if __name__ == "__main__":
    run_tests()
