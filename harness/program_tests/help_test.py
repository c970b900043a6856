# SPDX-License-Identifier: Apache-2.0
"""Tests --help, with every subcommand and default, and --version.

usage: help_test.py REGATTA SCHEMA [unittest arguments]
"""

import json
import re
import unittest
from pathlib import Path

from test_support import PARABOLA, fresh_folder, output_of, record_of, run_tests

SUBCOMMANDS = ("run", "matrix", "report", "compare", "export", "list", "graph", "calibrate",
               "plan", "dump", "doctor")
# CLI11 2.1 prints a default as `=1`, CLI11 2.4 as ` [1]`.
DEFAULT = re.compile(r"--\S+ [A-Z]+(=\S| \[| REQUIRED| Excludes: file)|.*\(default: .+\)$")
WITHOUT_DEFAULT = {"--author", "--author-email"}  # needed by some formats


def option_flags(of: str) -> list[str]:
    """The flags that strategies or workloads declare."""
    listed = json.loads(output_of("list", of, "--format", "json"))[of]
    return sorted({"--" + one["name"].replace("_", "-")
                   for owner in listed for one in owner["options"]})


class Help(unittest.TestCase):
    def test_names_the_default_of_every_flag_that_has_a_value(self) -> None:
        for subcommand in SUBCOMMANDS:
            entries = re.split(r"\n  (?=--)", output_of(subcommand, "--help"))[1:]
            for entry in (" ".join(entry.split("\n\n")[0].split()) for entry in entries):
                if re.match(r"--\S+ (TEXT|U?INT|FLOAT)", entry) is None:
                    continue
                with self.subTest(subcommand=subcommand, flag=entry):
                    if entry.split()[0] not in WITHOUT_DEFAULT:
                        self.assertRegex(entry, DEFAULT)

    def test_names_every_subcommand(self) -> None:
        self.assertEqual(set(re.findall(r"(?m)^  ([a-z]+)  ", output_of("--help"))),
                         set(SUBCOMMANDS))

    def test_names_the_flag_that_tells_the_version(self) -> None:
        self.assertRegex(output_of("--help"), r"(?m)^  --version +version, commit and libraries")

    def test_has_the_flags_of_a_run_in_groups(self) -> None:
        text = output_of("run", "--help")
        groups: dict[str, list[str]] = {}
        for line in text.split("Examples:")[0].splitlines():
            if title := re.match(r"(\S.*):$", line):
                groups[title[1]] = []
            elif flag := re.match(r"  (--[a-z-]+)", line):
                groups[list(groups)[-1]].append(flag[1])
        self.assertEqual(groups.pop("Options"), [])  # --help
        self.assertEqual(groups["What races"],
                         ["--workload", "--strategy", "--workers", "--stages", "--seed",
                          "--seeds"])
        for of in ("strategies", "workloads"):
            options = [flag for title, flags in groups.items()
                       if title.startswith(f"Options of {of}") for flag in flags]
            self.assertEqual(sorted(options), option_flags(of))
        self.assertEqual(groups["Output"][0], "--out")
        self.assertGreaterEqual(len(groups), 6)
        graph = set(re.findall(r"(?m)^(\S.*):$", output_of("graph", "--help"))) - {"Options"}
        self.assertLessEqual(graph, set(groups))


class Tiers(unittest.TestCase):
    def test_are_listed_as_a_matrix_runs_them(self) -> None:
        listed = json.loads(output_of("list", "tiers", "--format", "json"))["tiers"]
        text = output_of("list", "tiers")
        self.assertIn("--tier", output_of("matrix", "--help"))
        for tier in listed:
            self.assertIn(tier["name"], output_of("matrix", "--help"))
            cells, seeds = len(tier["cells"]), len(tier["seeds"])
            self.assertIn(f"{cells} cells x {seeds} seeds = {cells * seeds} runs", text)
        self.assertEqual({tier["name"] for tier in listed},
                         {"quick", "standard", "full", "claims"})
        planned = output_of("matrix", "--tier", "quick", "--dry-run", "--out", str(fresh_folder()))
        quick = next(tier for tier in listed if tier["name"] == "quick")
        self.assertIn(f"{len(quick['cells'])} cells", planned)


class Version(unittest.TestCase):
    def test_is_a_line_that_says_what_records_say(self) -> None:
        line = output_of("--version")
        self.assertEqual(line.count("\n"), 1)
        version = re.search(r"project\(regatta VERSION (\S+)", Path("CMakeLists.txt").read_text())
        self.assertTrue(line.startswith(f"regatta {version[1]}, commit "), line)
        software = record_of(*PARABOLA)["software"]
        for field in ("git_commit", "compiler", "onednn", "open_mpi", "grpc"):
            self.assertIn(software[field], line)
        self.assertIn(f"CUDA {software['cuda'] or 'none'}", line)
        self.assertEqual(" with uncommitted changes;" in line, software["dirty"])
        self.assertTrue(output_of("doctor").startswith(line))


class Readme(unittest.TestCase):
    def test_has_the_names_of_the_tables(self) -> None:
        text = Path("README.md").read_text()
        listed = json.loads(output_of("list", "--format", "json"))

        def rows_below(heading: str) -> list[list[str]]:
            part = text.split(f"\n## {heading}\n")[1].split("\n## ")[0]
            rows = [line.strip("|").split("|") for line in part.split("\n") if line[:1] == "|"]
            return [[cell.strip() for cell in row] for row in rows[2:]]

        exchanges = {"nothing": "no exchange"}
        self.assertEqual([row[:3] for row in rows_below("Strategies")],
                         [[one["name"], one["term"],
                           exchanges.get(one["exchange"], one["exchange"])]
                          for one in listed["strategies"]],
                         "fix: README.md, Strategies: a row for each, as regatta list has them")
        self.assertEqual([row[0] for row in rows_below("Workloads")],
                         [one["name"] for one in listed["workloads"]])


if __name__ == "__main__":
    run_tests()
