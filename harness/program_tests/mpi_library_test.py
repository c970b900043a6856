# SPDX-License-Identifier: Apache-2.0
"""The MPI library that the program loads when it runs: Open MPI's, MPICH's, or none; and libraries
that do not fit.

usage: mpi_library_test.py REGATTA SCHEMA [unittest arguments]
Exits 77 (skipped) where mpirun is not installed. Tests of MPICH need Debian's package mpich; tests
without a library hide those of the system in a mount namespace, which needs root.
"""

import os
import platform
import shutil
import subprocess
import unittest
from pathlib import Path

from test_support import (PARABOLA, REGATTA, environment_of_its_own, fresh_folder, losses_of,
                          record_of, records_in, regatta, run_tests, skip_without_mpirun)

skip_without_mpirun()

TWO = (*PARABOLA, "--strategy", "all_reduce", "--workers", "2", "--processes", "2")
LIBRARIES = Path(f"/usr/lib/{platform.machine()}-linux-gnu")
HIDE = """set -e
mount -t tmpfs none "$0" && mkdir "$0/upper" "$0/work"
mount -t overlay none -o "lowerdir=$1,upperdir=$0/upper,workdir=$0/work" "$1"
cd "$1" && rm -f $2 && cd / && shift 2 && exec "$@"
"""
with_mpich = unittest.skipIf(shutil.which("mpirun.mpich") is None, "mpich is not installed")


def path_first(folder: Path) -> str:
    return f"{folder}:{os.environ['PATH']}"


def mpich_first() -> str:
    """A PATH in which mpirun is MPICH's."""
    folder = fresh_folder()
    (folder / "mpirun").symlink_to("/usr/bin/mpiexec.hydra")
    (folder / "hydra_pmi_proxy").symlink_to("/usr/bin/hydra_pmi_proxy")
    return path_first(folder)


def prefix_with(*libraries: str) -> str:
    """Returns a PATH whose first mpirun has `libraries` beside it, none of them an MPI."""
    prefix = fresh_folder()
    for folder in ("bin", "lib"):
        (prefix / folder).mkdir()
    (prefix / "bin/mpirun").write_text("#!/bin/sh\necho 'mpirun (Open MPI) 4.1.4'\n")
    (prefix / "bin/mpirun").chmod(0o755)
    for name in libraries:
        shutil.copy(LIBRARIES / "libz.so.1", prefix / "lib" / name)
    return path_first(prefix / "bin")


def mpi_row(said: str) -> str:
    return said[said.index("\nMPI library"):said.index("\nmpirun")]


@unittest.skipIf(shutil.which("readelf") is None, "readelf is not installed")
class Program(unittest.TestCase):
    def test_is_linked_to_no_mpi(self) -> None:
        needed = subprocess.run(["readelf", "-d", REGATTA], capture_output=True, text=True,
                                check=True).stdout
        self.assertIn("libgrpc", needed)
        self.assertNotIn("libmpi", needed)


class Library(unittest.TestCase):
    def doctor(self, words: str, **environment: str) -> None:
        self.assertIn(words, " ".join(mpi_row(regatta("doctor", **environment).stdout).split()))

    def refused(self, words: str, **environment: str) -> None:
        done = regatta("run", *TWO, **environment)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, words)
        self.assertEqual(done.stderr.count("\n"), 1)

    def test_is_that_of_mpirun_in_path(self) -> None:
        self.doctor("libmpi.so.40, because the mpirun in PATH")

    @with_mpich
    def test_of_mpich_computes_the_same(self) -> None:
        path = mpich_first()
        self.doctor("libmpich.so.12, because the mpirun in PATH", PATH=path)
        self.doctor(f"not {LIBRARIES}/libmpi.so.40", PATH=path)
        out = fresh_folder()
        done = regatta("run", *TWO, "--out", str(out), PATH=path)
        self.assertEqual(done.returncode, 0, done.stderr)
        (record,) = records_in(out)
        self.assertEqual(record["software"]["open_mpi"].split()[0], "MPICH")
        self.assertEqual(record["machine"]["link"], "MPICH")
        self.assertEqual(losses_of(record), losses_of(record_of(*TWO)))

    @with_mpich
    def test_of_mpich_sums_and_probes(self) -> None:
        program = Path(REGATTA).with_name("mpi_transport_test")
        if not program.exists():
            self.skipTest(f"{program} is not built")
        done = subprocess.run(["mpirun.mpich", "-n", "2", program], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("SendsChunksBetweenHosts", done.stdout)

    @with_mpich
    def test_of_mpich_leaves_the_start_to_regatta(self) -> None:
        with environment_of_its_own() as variables:
            done = subprocess.run(["mpirun.mpich", "-n", "2", REGATTA, "run", *TWO],
                                  capture_output=True, text=True, env=variables)
        self.assertIn("MPICH's mpirun has started this process; fix: start regatta", done.stderr)

    def test_with_another_interface_is_named(self) -> None:
        for name, kind, symbol in (("libmpi.so.40", "Open MPI", "ompi_mpi_comm_world"),
                                   ("libmpi.so.12", "MPICH", "MPI_Init_thread")):
            with self.subTest(name=name):
                path = prefix_with(name)
                words = f"{name} does not have the binary interface of {kind}: it lacks {symbol}"
                self.doctor(words, PATH=path)
                self.refused(words + "; fix: put the mpirun", PATH=path)
                self.assertEqual(regatta("run", *PARABOLA, PATH=path).returncode, 0)

    def test_for_another_processor_is_named(self) -> None:
        path = prefix_with("libmpi.so.40")
        with open(Path(path.partition(":")[0]) / "../lib/libmpi.so.40", "r+b") as library:
            library.seek(18)  # e_machine
            library.write(b"\xf3\x00")  # RISC-V
        self.refused(r"cannot load MPI: /\S+/libmpi.so.40 is not for this processor; fix: ",
                     PATH=path)

    def test_one_of_two_beside_mpirun_is_not_guessed(self) -> None:
        self.refused("two MPIs lie beside the mpirun in PATH: .*so.40, .*libmpi.so.12; fix: ",
                     PATH=prefix_with("libmpi.so.40", "libmpi.so.12"))

    def said_without(self, libraries: str, *arguments: str, **environment: str) -> str:
        if os.geteuid() != 0 or not LIBRARIES.is_dir():
            self.skipTest("needs root and Debian's folders")
        with environment_of_its_own() as variables:
            done = subprocess.run(
                ["/usr/bin/unshare", "-m", "/bin/sh", "-c", HIDE, str(fresh_folder()),
                 str(LIBRARIES), libraries, REGATTA, *arguments], capture_output=True, text=True,
                env=variables | {"PATH": "/usr/bin:/bin"} | environment)
        if "mount: " in done.stderr:
            self.skipTest(done.stderr.strip())
        return done.stdout + done.stderr

    def test_is_not_needed_by_one_process(self) -> None:
        everything = "libmpi.so.* libmpich.so.*"
        self.assertIn("; record in", self.said_without(everything, "run", *PARABOLA))
        for starter, words in (({}, r"the mpirun in PATH, \S+, belongs to Open MPI"),
                               ({"PMI_RANK": "0", "MPI_LOCALRANKID": "0"},
                                "MPICH's mpirun has started this process")):
            with self.subTest(starter=starter):
                said = self.said_without(everything, "run", *TWO, **starter)
                self.assertRegex(said, words + r", but its library, \S+.*, is not here; fix: put ")

    @with_mpich
    def test_of_another_kind_than_mpirun_is_not_taken(self) -> None:
        said = mpi_row(self.said_without("libmpi.so.*", "doctor"))
        self.assertRegex(said, r"belongs to Open\s+MPI, but its\s+library.*not .*libmpich.so.12")


run_tests()
