# SPDX-License-Identifier: Apache-2.0
"""Hostile command lines, files and disks: the program ends by no signal, says what is wrong, and
replaces no record, and another file only on request.

usage: hostile_test.py REGATTA SCHEMA [unittest arguments]
"""

import os
import subprocess
import unittest
from pathlib import Path

from test_support import (REGATTA, fresh_folder, output_of, records_in, regatta, run_tests,
                          small_disk, soon, start_unprivileged, unprivileged_folder,
                          write_sparse_cifar10)

SHORT = ("--workload", "parabola", "--steps", "5")
TWO_RANKS = ("--strategy", "all_reduce", "--workers", "2", "--processes", "2")
AT_ONCE_S = 10


def folder_of_runs() -> Path:
    folder = fresh_folder()
    output_of("run", *SHORT, "--out", str(folder))
    return folder


class Hostile(unittest.TestCase):
    def assert_refused(self, *arguments: str, says: str) -> None:
        """Checks for exit code 1 at once, with `says` in the last line."""
        with self.subTest(arguments=" ".join(arguments)[:200]):
            done = subprocess.run([REGATTA, *arguments], capture_output=True, text=True,
                                  timeout=AT_ONCE_S)
            self.assertEqual(done.returncode, 1, done.stderr[:2000])
            self.assertRegex(done.stderr, rf"(?m)^regatta: .*{says}.*\n\Z")


class ControlCharacters(Hostile):
    """Control characters in names, files and records do not reach the terminal."""

    def assert_plain(self, *arguments: str, shows: str) -> None:
        with self.subTest(arguments=arguments):
            done = subprocess.run([REGATTA, *arguments], capture_output=True, timeout=60)
            said = done.stdout + done.stderr
            self.assertNotRegex(said, rb"[\0-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]")
            self.assertIn(shows.encode(), said)

    def test_of_arguments_and_files(self) -> None:
        folder = fresh_folder()
        (folder / "matrix.toml").write_text("[[race]]\nworkload = 'parabola'\n"
                                            '"\\u001b[31mworkers" = 2\n')
        (folder / "cluster.toml").write_text('"\\u009b2J" = 1\n')
        red = "\x1b[31m"
        self.assert_plain("run", "--workload", f"para{red}bola", shows=r"para\x1b[31mbola")
        self.assert_plain("run", *SHORT, "--straggler", red, shows=r"\x1b[31m")
        self.assert_plain("run", *SHORT, "--out", str(folder / f"a{red}"), shows=r"a\x1b[31m")
        self.assert_plain("export", f"{red}\x07", "--format", "csv", shows=r"\x1b[31m\x07")
        self.assert_plain("matrix", str(folder / "matrix.toml"), "--dry-run", shows=r"\x1b[31mw")
        self.assert_plain("run", *SHORT, "--cluster", str(folder / "cluster.toml"),
                          shows=r"\x9b2J")

    def test_of_records(self) -> None:
        good, bad = folder_of_runs(), fresh_folder()
        line = (good / "records.jsonl").read_text()
        line = line.replace('"workload":"parabola"', '"workload":"para\\u001b[31mbola"')
        (bad / "records.jsonl").write_text(line + '{"schema":7,"\\u001b[2J":1}\n')
        shown = r"para\x1b[31mbola"
        self.assert_plain("compare", str(bad), str(good), shows=shown)
        self.assert_plain("compare", str(good), str(bad), "--format", "markdown", shows=shown)
        self.assert_plain("report", str(bad), "--format", "json", shows="para")
        self.assert_plain("export", str(bad), "--format", "github", "--out",
                          str(fresh_folder() / "new"), shows=shown)
        self.assert_plain("matrix", "--tier", "quick", "--dry-run", "--out", str(bad), shows="runs")


class Values(Hostile):
    def test_of_looks_ascend(self) -> None:
        for looks, wrong in (("0", "0"), ("3,3", "3"), ("3,,4", ""), ("a", "a"), ("3 4", "3 4")):
            self.assert_refused("compare", "a", "b", "--looks", looks, says=f"'{wrong}' is")


class Data(Hostile):
    def test_other_than_the_published_are_used_only_where_that_was_asked_for(self) -> None:
        data = fresh_folder() / "cifar"
        write_sparse_cifar10(data)
        command = ("run", "--workload", "resnet9_thin", "--dataset", "cifar10", "--global-batch",
                   "32", "--steps", "1", "--data-dir", str(data))
        self.assert_refused(*command, says="data_batch_1.bin is another file .*--data unverified")
        out = fresh_folder()
        output_of(*command, "--data", "unverified", "--out", str(out))
        (record,) = records_in(out)
        self.assertRegex(record["checksums"]["data"], "^[0-9a-f]{32}$")
        self.assertEqual(record["cell"]["unverified_data"], record["checksums"]["data"])
        doctor = regatta("doctor", "--data-dir", str(data)).stdout
        self.assertRegex(doctor, r"(?m)^.*CIFAR-10.*missing.*6 of 6 files, 0 genuine")


class Records(Hostile):
    def test_are_lines_that_have_an_end(self) -> None:
        folder = folder_of_runs()
        os.truncate(folder / "records.jsonl", 1 << 30)
        for command in (("report", "--format", "json"), ("matrix", "--tier", "quick", "--dry-run",
                                                         "--out")):
            self.assert_refused(*command, str(folder), says="records.jsonl:2: the line has more "
                                                            "than the 67108864 bytes that are read")


class Paths(Hostile):
    def test_that_may_not_be_read_are_named(self) -> None:
        folder = unprivileged_folder()
        (folder / "closed").mkdir(mode=0)
        (folder / "records").mkdir()
        (folder / "records" / "records.jsonl").touch(mode=0)
        (folder / "file").touch(mode=0)
        for name in ("closed", "closed/below", "records", "file"):
            path = str(folder / name)
            for command in (("export", path, "--format", "csv"), ("compare", path, path),
                            ("matrix", path, "--dry-run"), ("run", *SHORT, "--resume", path),
                            ("run", *SHORT, *TWO_RANKS, "--tls", path),
                            ("run", *SHORT, "--out", path), ("run", *SHORT, "--trace", path)):
                with self.subTest(command=command), start_unprivileged(*command) as process:
                    _, errors = process.communicate(timeout=AT_ONCE_S)
                    self.assertEqual(process.returncode, 1, errors)
                    self.assertRegex(errors, rf"(?m)^regatta: .*{folder}.*\n\Z")


class Outputs(Hostile):
    def test_of_all_commands_never_have_the_name_of_records(self) -> None:
        folder, here = str(folder_of_runs()), fresh_folder()
        (here / "link").symlink_to("records.jsonl")
        matrix = fresh_folder() / "matrix.toml"
        matrix.write_text("[[race]]\nworkload = 'parabola'\nsteps = 5\n")
        commands = (("run", *SHORT, "--out", str(here), "--trace"), ("run", *SHORT, "--out"),
                    ("matrix", str(matrix), "--seeds", "1", "--out"), ("report", folder, "--out"),
                    ("export", folder, "--format", "csv", "--out"),
                    ("export", folder, "--format", "github", "--out"),
                    ("calibrate", *SHORT[:2], "--out"),
                    ("graph", *SHORT[:2], "--format", "chakra", "--out"))
        for command in commands:
            for name in ("records.jsonl", "link"):
                self.assert_refused(*command, str(here / name),
                                    says="is the name of a file of records")
        self.assertEqual([path.name for path in here.iterdir()], ["link"])

    def test_take_the_place_of_another_file_only_where_that_was_asked_for(self) -> None:
        folder = folder_of_runs()
        file = folder / "mine.txt"
        for command in (("export", str(folder), "--format", "csv", "--out", str(file)),
                        ("run", *SHORT, "--out", str(folder), "--trace", str(file))):
            file.write_text("mine")
            self.assert_refused(*command, says=f"{file} exists; replace it with --overwrite, or ")
            self.assertEqual(file.read_text(), "mine")
            output_of(*command, "--overwrite")
            self.assertNotEqual(file.read_text(), "mine")
            self.assertEqual(sorted(path.name for path in folder.iterdir()),
                             ["mine.txt", "records.jsonl"])

    def test_that_are_none_cannot_be_replaced(self) -> None:
        folder = str(folder_of_runs())
        for more in (("csv",), ("github", "--out", folder)):
            self.assert_refused("export", folder, "--overwrite", "--format", *more,
                                says="--overwrite replaces the one file of --out")
        self.assert_refused("report", folder, "--format", "json", "--overwrite",
                            says="--overwrite replaces a page, and --format json writes none")

    def test_of_a_report_spare_the_page_of_another(self) -> None:
        folder, page = folder_of_runs(), fresh_folder()
        (page / "index.html").write_text("mine")
        self.assert_refused("report", str(folder), "--out", str(page),
                            says="index.html exists; replace it with --overwrite")
        self.assertEqual([path.name for path in page.iterdir()], ["index.html"])

    def test_to_a_full_device_fail_the_command(self) -> None:
        folder = folder_of_runs()
        file = fresh_folder() / "matrix.toml"
        file.write_text("[[race]]\nworkload = 'parabola'\nsteps = 5\n")
        for command in (("list",), ("doctor",), ("--help",), ("graph", *SHORT[:2]),
                        ("compare", str(folder), str(folder)), ("matrix", str(file), "--dry-run"),
                        ("export", str(folder), "--format", "csv"),
                        ("report", str(folder), "--format", "json")):
            with self.subTest(command=command), open("/dev/full", "w") as full:
                done = subprocess.run([REGATTA, *command], stdout=full, stderr=subprocess.PIPE,
                                      text=True, cwd=fresh_folder())
                self.assertNotEqual(done.returncode, 0)
                self.assertRegex(done.stderr, "^regatta: cannot write to ")

    def test_of_a_matrix_whose_disk_is_full_end_it(self) -> None:
        file = fresh_folder() / "matrix.toml"
        file.write_text("seeds = 40\n[[race]]\nworkload = 'parabola'\nsteps = 5\n")
        with small_disk("64k") as disk:
            done = regatta("matrix", str(file), "--out", str(disk))
            kept = len(records_in(disk))
            self.assertLess(kept, 40)
            self.assert_ended(done, disk, f"cannot append .*; {kept} of 40 runs are kept")

    def assert_ended(self, done: subprocess.CompletedProcess[str], out: Path, says: str) -> None:
        """Checks that a matrix has ended by printing the command that continues it."""
        self.assertEqual(done.returncode, 5, done.stdout + done.stderr)
        self.assertRegex(done.stderr, rf"(?m)^regatta: .*{says}\. To go on: regatta matrix .*"
                                      rf"--out {out} --resume\n\Z")

    def test_of_a_matrix_whose_folder_is_removed_end_it(self) -> None:
        folder = fresh_folder()
        file, out = folder / "matrix.toml", folder / "out"
        file.write_text("seeds = 40\n[[race]]\nworkload = 'parabola'\nsteps = 2000\n")
        with subprocess.Popen([REGATTA, "matrix", str(file), "--out", str(out)], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as matrix:
            self.assertTrue(soon(lambda: (out / "records.jsonl").exists() and
                                 records_in(out) != [], AT_ONCE_S))
            out.rename(out.with_name("gone"))
            output, errors = matrix.communicate(timeout=AT_ONCE_S)
        self.assert_ended(subprocess.CompletedProcess(matrix.args, matrix.returncode, output,
                                                      errors), out,
                          "out was removed or replaced, with the records in it; [01] of 40 runs "
                          "are kept")


if __name__ == "__main__":
    run_tests()
