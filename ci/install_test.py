#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that an installed program works without the source tree, and that the .deb has the same.

usage: ci/install_test.py CMAKE CPACK BUILD_FOLDER

Skips (exit code 77) if dpkg-deb, file or dpkg-shlibdeps, which make the .deb, is not installed.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SKIPPED = 77
CMAKE, CPACK, BUILD = sys.argv[1:4]
SOURCES = Path(__file__).resolve().parent.parent
WORK = tempfile.TemporaryDirectory(prefix="regatta-install-test-")
MARK = "the mark of this installation"


def call(*command: str | Path, cwd: str | Path = WORK.name) -> str:
    """Runs a command and returns its output."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False,
                          cwd=cwd)
    if done.returncode != 0:
        raise AssertionError(f"{command}: exit code {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def out_of_reach(*command: str | Path) -> tuple[str | Path, ...]:
    """The command, run with an empty file system over the sources and their build."""
    hide = 'mount -t tmpfs none "$1" && shift && exec "$@"'
    user = () if os.geteuid() == 0 else ("--map-root-user",)
    return ("unshare", *user, "--mount", "sh", "-c", hide, "sh", SOURCES, *command)


def can_hide() -> bool:
    return subprocess.run(out_of_reach("true"), capture_output=True, check=False).returncode == 0


class Installed(unittest.TestCase):
    """Tests an installation by `cmake --install` in a folder with a blank in its name."""

    prefix = Path(WORK.name) / "a prefix"
    program = prefix / "bin/regatta"
    files = prefix / "share/regatta"

    @classmethod
    def setUpClass(cls) -> None:
        call(CMAKE, "--install", BUILD, "--prefix", str(cls.prefix))
        page = cls.files / "plots/report.html.j2"
        page.write_text(page.read_text() + f"<!-- {MARK} -->")

    def test_holds_what_it_reads_and_no_tests(self) -> None:
        held = {str(path.relative_to(self.files)) for path in self.files.rglob("*")
                if path.is_file()}
        needed = {"results/schema.json", "plots/report.py", "plots/report.js", "plots/report.css",
                  "plots/race.py", "ci/fetch_cifar10", "ci/fetch_text",
                  "ci/make_certificates", "ci/contenders/regatta_contender.py",
                  "ci/contenders/regatta_contender.h"}
        self.assertLessEqual(needed, held)
        self.assertEqual([name for name in held if "test" in name or "pycache" in name], [])
        for script in ("plots/race.py", "plots/trend.py", "ci/fetch_cifar10"):
            self.assertTrue(os.access(self.files / script, os.X_OK), script)

    def race_and_report(self, *wrapper: str | Path) -> str:
        """Makes two runs and a report; returns the report's page."""
        out = tempfile.mkdtemp(dir=WORK.name)
        for strategy, workers in (("single", "1"), ("all_reduce", "2")):
            call(*wrapper, self.program, "run", "--workload", "parabola", "--strategy", strategy,
                 "--workers", workers, "--steps", "20", "--out", out)
        call(*wrapper, self.program, "report", out, "--out", f"{out}/report")
        call(*wrapper, self.files / "plots/race.py", out)
        return (Path(out) / "report/index.html").read_text()

    def test_races_and_reports_by_its_own_files(self) -> None:
        self.assertIn(MARK, self.race_and_report())

    @unittest.skipUnless(can_hide(), "this machine lets no file system be mounted")
    def test_races_and_reports_without_the_source_tree(self) -> None:
        self.assertIn(MARK, self.race_and_report(*out_of_reach()))

    def test_names_its_own_script_for_missing_data(self) -> None:
        said = call(self.program, "doctor")
        self.assertIn(f"fix: {self.files}/ci/fetch_cifar10 ", said)

    def test_says_what_its_files_lack(self) -> None:
        cut = Path(WORK.name) / "cut"
        shutil.copytree(self.prefix, cut)
        (cut / "share/regatta/plots/report.py").unlink()
        done = subprocess.run([cut / "bin/regatta", "report", WORK.name, "--out", cut / "report"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, f"^regatta: .*neither {cut}/share/regatta nor .*\\n$")


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.said = call(CPACK, "--config", f"{BUILD}/CPackConfig.cmake", "-B", WORK.name)
        (cls.package,) = Path(WORK.name).glob("*.deb")

    def test_holds_what_is_installed(self) -> None:
        folder = Path(WORK.name) / "unpacked"
        call("dpkg-deb", "--extract", self.package, folder)
        prefix = Path(WORK.name) / "beside"
        call(CMAKE, "--install", BUILD, "--prefix", str(prefix))
        installed = {path.relative_to(prefix) for path in prefix.rglob("*")}
        packed = {path.relative_to(folder / "usr") for path in (folder / "usr").rglob("*")}
        self.assertEqual(packed, installed)
        self.assertIn("oneDNN", call(folder / "usr/bin/regatta", "--version"))

    def test_declares_what_the_program_needs(self) -> None:
        said = call("dpkg-deb", "--field", self.package, "Depends")
        depends = {entry.split(" ")[0] for entry in said.strip().split(", ")}
        for name in ("openmpi-bin", "python3-jinja2", "python3-matplotlib", "python3-numpy"):
            self.assertIn(name, depends)
        for library in ("libdnnl", "libgrpc++", "libfmt", "libhwloc", "libstdc++"):
            self.assertTrue(any(name.startswith(library) for name in depends), (library, depends))

    def test_says_what_it_was_built_for(self) -> None:
        said = call("dpkg-deb", "--field", self.package, "Description")
        (arch,) = re.findall(r"REGATTA_ARCH:STRING=(\S+)", (Path(BUILD) / "CMakeCache.txt")
                             .read_text())
        self.assertIn(f"-march={arch}", said)
        self.assertTrue(self.package.name.endswith(f"_{arch}.deb"))


if __name__ == "__main__":
    for tool in ("dpkg-deb", "dpkg-shlibdeps", "file"):
        if shutil.which(tool) is None:
            print(f"skipped: {tool} is not installed: apt-get install dpkg dpkg-dev file")
            sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1])
