# SPDX-License-Identifier: Apache-2.0
"""The program's outputs: they never replace a record, replace another file only on request, and
fail with an error if the disk or the device is full.

usage: hostile_outputs_test.py REGATTA SCHEMA [unittest arguments]
"""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from hostile_support import AT_ONCE_S, SHORT, Hostile, folder_of_runs
from test_support import (REGATTA, fresh_folder, output_of, records_in, regatta, run_tests,
                          small_disk, soon, start_unprivileged, unprivileged_folder)

class Outputs(Hostile):
    def test_never_take_the_place_of_records(self) -> None:
        folder = folder_of_runs()
        records = folder / "records.jsonl"
        before = records.read_bytes()
        shutil.copy(records, folder / "copy.txt")
        for file in (records, folder / "copy.txt"):
            for more in ((), ("--overwrite",)):
                self.assert_refused("export", str(folder), "--format", "csv", "--out", str(file),
                                    *more, says="holds records, which no command replaces")
                self.assert_refused("run", *SHORT, "--trace", str(file), *more, "--out",
                                    str(folder), says="holds records, which no command replaces")
        self.assertEqual(records.read_bytes(), before)
        self.assertEqual((folder / "copy.txt").read_bytes(), before)

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
        names = ("records.jsonl", "simulated.jsonl", "records.damaged", "./x/../Records.JSONL",
                 "link", "new/records.jsonl")
        for command in commands:
            for name in names:
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

    def test_of_a_report_spare_the_figures_of_another(self) -> None:
        command = (REGATTA, "report", str(folder_of_runs()), "--out", str(fresh_folder()))
        subprocess.run(command, check=True, capture_output=True)
        page = Path(command[-1])
        figure = min(page.glob("figures/*.svg"))
        drawn = figure.read_bytes()
        for name in ("index.html", "judgement.json"):
            (page / name).unlink()
        subprocess.run(command, check=True, capture_output=True)  # its own files are replaced
        for name in ("index.html", "judgement.json"):
            (page / name).unlink()
        figure.write_text("mine")
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, rf"(?m)^report.py: {figure} exists and was not drawn by "
                                      r"Regatta; replace it with --overwrite, or move it away\n\Z")
        self.assertEqual(figure.read_text(), "mine")
        subprocess.run([*command, "--overwrite"], check=True, capture_output=True)
        self.assertEqual(figure.read_bytes(), drawn)

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
        """Checks that a matrix has ended with the command to go on."""
        self.assertEqual(done.returncode, 5, done.stdout + done.stderr)
        self.assertRegex(done.stderr, rf"(?m)^regatta: .*{says}\. To go on: regatta matrix .*"
                                      rf"--out {out} --resume\n\Z")

    def end_of_matrix(self, break_it: Callable[[Path], None], says: str) -> None:
        """The end of a matrix of 40 runs; `break_it` changes the folder after the first record."""
        folder = unprivileged_folder()
        file, out = folder / "matrix.toml", folder / "out"
        file.write_text("seeds = 40\n[[race]]\nworkload = 'parabola'\nsteps = 2000\n")
        with start_unprivileged("matrix", str(file), "--out", str(out)) as matrix:
            self.assertTrue(soon(lambda: (out / "records.jsonl").exists() and
                                 records_in(out) != [], AT_ONCE_S))
            break_it(out)
            output, errors = matrix.communicate(timeout=AT_ONCE_S)
        done = subprocess.CompletedProcess(matrix.args, matrix.returncode, output, errors)
        self.assert_ended(done, out, says)

    def test_of_a_matrix_whose_folder_becomes_read_only_end_it(self) -> None:
        def protect(out: Path) -> None:
            (out / "records.jsonl").chmod(0o444)
            out.chmod(0o555)
        self.end_of_matrix(protect, r"cannot append .*: Permission denied; .* [1-3]?\d of 40 runs "
                                    "are kept")

    def test_of_a_matrix_whose_folder_is_removed_end_it(self) -> None:
        def remove(out: Path) -> None:
            out.rename(out.with_name("gone"))
        self.end_of_matrix(remove, "out was removed or replaced, with the records in it; [01] of "
                                   "40 runs are kept")


if __name__ == "__main__":
    run_tests()
