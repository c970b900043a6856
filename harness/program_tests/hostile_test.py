# SPDX-License-Identifier: Apache-2.0
"""Hostile command lines and files must not end the program by a signal, keep it busy for long, or
make it do other work than requested with exit code 0.

usage: hostile_test.py REGATTA SCHEMA [unittest arguments]
"""

import json
import os
import re
import shlex
import subprocess
import unittest
from pathlib import Path
from typing import Any

from hostile_support import AT_ONCE_S, SHORT, Hostile, folder_of_runs
from test_support import (CIFAR_FILES, REGATTA, fresh_folder, output_of, records_in, regatta,
                          run_tests, start_unprivileged, unprivileged_folder,
                          write_sparse_cifar10)

GENUINE = Path("../shared/data/cifar-10-batches-bin").resolve()


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

    def test_stand_in_the_record_as_a_shell_reads_them(self) -> None:
        folder = fresh_folder() / "it's a $folder"
        arguments = ["run", *SHORT, "--trace", f"{folder}/a trace \"1\".json", "--out", str(folder)]
        folder.mkdir()
        output_of(*arguments)
        (record,) = records_in(folder)
        self.assertEqual(shlex.split(record["command"]), ["regatta", *arguments])

    def test_of_a_matrix_may_have_spaces(self) -> None:
        folder = fresh_folder() / "a folder"
        folder.mkdir()
        file = folder / "a matrix.toml"
        file.write_text("seeds = 2\n[[race]]\nworkload = 'parabola'\nsteps = 5\n")
        output_of("matrix", str(file), "--out", str(folder))
        done = output_of("matrix", str(file), "--out", str(folder), "--resume")
        self.assertIn("2 runs are there already", done)
        self.assertEqual(len(records_in(folder)), 2)


class Data(Hostile):
    CIFAR = ("run", "--workload", "resnet9_thin", "--dataset", "cifar10", "--global-batch", "32",
             "--steps", "1")

    def test_other_than_the_published_are_used_only_where_that_was_asked_for(self) -> None:
        data = fresh_folder() / "cifar"
        write_sparse_cifar10(data)
        command = (*self.CIFAR, "--data-dir", str(data))
        self.assert_refused(*command, says="data_batch_1.bin is another file .*--data unverified")
        record = self.record_of_cifar(data, "--data", "unverified")
        self.assertRegex(record["checksums"]["data"], "^[0-9a-f]{32}$")
        self.assertEqual(record["cell"]["unverified_data"], record["checksums"]["data"])
        doctor = regatta("doctor", "--data-dir", str(data)).stdout
        self.assertRegex(doctor, r"(?m)^.*CIFAR-10.*missing.*6 of 6 files, 0 genuine")

    @unittest.skipUnless(GENUINE.exists(), f"no CIFAR-10 in {GENUINE}")
    def test_for_training_do_not_pass_for_those_of_the_test(self) -> None:
        data = fresh_folder() / "cifar"
        data.mkdir()
        for name in CIFAR_FILES:
            (data / name).symlink_to(GENUINE / name)
        (data / "test_batch.bin").unlink()
        (data / "test_batch.bin").symlink_to(GENUINE / "data_batch_1.bin")
        command = (*self.CIFAR, "--data-dir", str(data))
        self.assert_refused(*command, says="test_batch.bin is another file .*--data unverified")
        (right, wrong) = (self.record_of_cifar(folder, "--data", "unverified")
                          for folder in (GENUINE, data))
        self.assertIsNone(right["cell"]["unverified_data"])
        self.assertEqual(wrong["cell"]["unverified_data"], wrong["checksums"]["data"])
        self.assertNotEqual(wrong["checksums"]["data"], right["checksums"]["data"])

    def record_of_cifar(self, data: Path, *more: str) -> dict[str, Any]:
        out = fresh_folder()
        output_of(*self.CIFAR, "--data-dir", str(data), *more, "--out", str(out))
        (record,) = records_in(out)
        return record

    def test_of_the_program_itself_are_verified_without_a_word(self) -> None:
        (record,) = records_in(folder_of_runs())
        self.assertIsNone(record["cell"]["unverified_data"])
        self.assertRegex(record["checksums"]["data"], "^[0-9a-f]{32}$")
        self.assert_refused("run", *SHORT, "--data", "unverified", says="curve is made by the prog")


class Records(Hostile):
    def lines_of(self, folder: Path) -> list[str]:
        return (folder / "records.jsonl").read_text().splitlines(keepends=True)

    def write(self, lines: list[str]) -> Path:
        folder = fresh_folder()
        (folder / "records.jsonl").write_text("".join(lines))
        return folder

    def test_that_are_there_twice_count_once(self) -> None:
        lines = self.lines_of(folder_of_runs(seeds=3))
        nameless = [re.sub(r'"run_id":"\w+",', "", line) for line in lines]
        for once in (lines, nameless):
            folder, thrice = str(self.write(once)), str(self.write(once * 3))
            for count, *command in (
                    (lambda said: json.loads(said)[0]["head_runs"],
                     "compare", folder, thrice, "--format", "json"),
                    (lambda said: said.count("\n") - 1, "export", thrice, "--format", "csv"),
                    (lambda said: json.loads(said)["measurements"][0]["cells"][0]["count"],
                     "report", folder, thrice, "--format", "json")):
                with self.subTest(command=command[0], named=once is lines):
                    done = regatta(*command)
                    self.assertIn("records.jsonl:4: the same run as line 1; skipped", done.stderr)
                    self.assertEqual(count(done.stdout), 3)

    def test_of_another_schema_end_a_comparison(self) -> None:
        folder = folder_of_runs(seeds=2)
        first, second = self.lines_of(folder)
        other = self.write([first, re.sub(r'"schema":\d+', '"schema":99', second)])
        self.assert_refused("compare", str(folder), str(other), says="records.jsonl:2: schema 99")

    def test_are_lines_that_have_an_end(self) -> None:
        folder = folder_of_runs()
        os.truncate(folder / "records.jsonl", 1 << 30)
        for command in (("report", "--format", "json"), ("export", "--format", "csv"),
                        ("compare", str(folder)),
                        ("matrix", "--tier", "quick", "--dry-run", "--out")):
            self.assert_refused(*command, str(folder), says="records.jsonl:2: the line has more "
                                                            "than the 67108864 bytes that are read")
        child = subprocess.Popen([REGATTA, "report", folder, "--format", "json"],
                                 stderr=subprocess.DEVNULL)
        _, _, used = os.wait4(child.pid, 0)
        child.returncode = 0  # already waited for
        self.assertLess(used.ru_maxrss << 10, 512 << 20)


class Paths(Hostile):
    def commands_with(self, path: str) -> list[tuple[str, ...]]:
        return [("export", path, "--format", "csv"), ("report", path), ("compare", path, path),
                ("matrix", path, "--dry-run"),
                ("run", *SHORT, "--resume", path),
                ("run", *SHORT, "--strategy", "all_reduce", "--workers", "2", "--processes", "2",
                 "--tls", path)]

    def test_that_may_not_be_read_are_named(self) -> None:
        folder = unprivileged_folder()
        (folder / "closed").mkdir(mode=0)
        (folder / "records").mkdir()
        (folder / "records" / "records.jsonl").touch(mode=0)
        (folder / "file").touch(mode=0)
        for name in ("closed", "closed/below", "records", "file"):
            for command in (*self.commands_with(str(folder / name)),
                            ("run", *SHORT, "--out", str(folder / name)),
                            ("run", *SHORT, "--trace", str(folder / name))):
                with self.subTest(command=command), start_unprivileged(*command) as process:
                    _, errors = process.communicate(timeout=AT_ONCE_S)
                    self.assertEqual(process.returncode, 1, errors)
                    self.assertRegex(errors, rf"(?m)^regatta: .*{folder}.*\n\Z")


if __name__ == "__main__":
    run_tests()
