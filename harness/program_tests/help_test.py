# SPDX-License-Identifier: Apache-2.0
"""Tests --help, with every subcommand, flag and default, and --version.

usage: help_test.py REGATTA SCHEMA [unittest arguments]
"""

import json
import re
import unittest
from pathlib import Path
from typing import Any

from test_support import PARABOLA, fresh_folder, output_of, record_of, run_tests

# Every flag of every subcommand, with the default as --help prints it: CLI11 2.1 as `=1`, CLI11 2.4
# as ` [1]`.
DATA_DIR = "(default: cifar-10-batches-bin for cifar10, shakespeare for text)"
CELL_FLAGS = {
    "--workload": "REQUIRED", "--strategy": "=single", "--workers": "=1",
    "--processes": "(default: 1; a worker each with parameter servers)",
    "--stages": "(default: none)",
    "--global-batch": "(default: the workload's)", "--dtype": "=f32", "--fusion": "=on",
    "--winograd": "=auto",
    "--device": "=cpu", "--cuda-graph": "=auto", "--cudnn-engine": "(default: timed)",
    "--epochs": "(default: the workload's)", "--steps": "(default: --epochs)",
    "--evaluate": "=often",
}
FLAGS = {
    "run": {
        **CELL_FLAGS, "--seed": "=1", "--seeds": "=1",
        "--dataset": "(default: the workload's)",
        "--data-dir": DATA_DIR,
        "--target": "(default: the workload's)",
        "--normalization-group": "(default: the workload's)", "--rate-scale": "=1",
        "--threads": "=0", "--straggler": "(default: none)",
        "--data": "=verified", "--overwrite": "",
        "--trace": "(default: none)", "--round": "(default: none)",
        "--continue-on-loss": "", "--hosts": "(default: this one)",
        "--checkpoint-every": "(default: none)", "--resume": "(default: none)",
        "--cluster": "(default: a real run)", "--virtual": "=time",
        "--listen": "(default: Unix sockets)", "--tls": "(default: no TLS)", "--out": "=out",
    },
    "graph": {**CELL_FLAGS, "--format": "=text", "--out": "(default: none)",
              "--after": "=partition", "--passes": "",
              "--cluster": "(default: their work and bytes only)"},
    "calibrate": {**CELL_FLAGS, "--threads": "=1", "--messages": "(default: none)",
                  "--data-dir": DATA_DIR,
                  "--hosts": "(default: this one)", "--listen": "(default: Unix sockets)",
                  "--out": "=calibration.json", "--overwrite": ""},
    "matrix": {
        "--tier": "", "--seeds": "(default: the matrix' own)", "--out": "=out", "--dry-run": "",
        "--data-dir": DATA_DIR, "--resume": "",
        "--within": "(default: as long as it takes)", "--draw": "",
        "--tune": "", "--decide": "", "--precision": "=5%",
    },
    "report": {"--out": "(default: FOLDER/report; of several folders out/report)",
               "--overwrite": "", "--format": "=page"},
    "compare": {
        "--format": "=text", "--speed-effect": "=0.03", "--convergence-effect": "=0.1",
        "--alpha": "=0.05", "--losses": "=by_seed", "--taken": "=apart",
        "--benchmark-effect": "=0.1", "--looks": "(default: once)",
    },
    "export": {
        "--format": "", "--out": "(default: stdout)", "--overwrite": "", "--author": "",
        "--author-email": "",
        "--cost-per-hour": "(default: none)",
    },
    "list": {"--format": "=text"},
    "doctor": {"--data-dir": DATA_DIR},
}


def shown(default: Any) -> str:
    """The program's text for a default: a number without unneeded decimals."""
    return f"{default:g}" if isinstance(default, float) else str(default)


def option_flags(of: str) -> dict[str, str]:
    """The flags that strategies or workloads declare, with their defaults."""
    flags = {}
    for owner in json.loads(output_of("list", of, "--format", "json"))[of]:
        for one in owner["options"]:
            default = "(default: none)" if one["default"] is None else f"={shown(one['default'])}"
            if of == "workloads":
                default = f"{owner['name']} {shown(one['default'])}"
            flags.setdefault("--" + one["name"].replace("_", "-"), []).append(default)
    return {flag: f"(default: {', '.join(defaults)})" if of == "workloads" else defaults[0]
            for flag, defaults in flags.items()}


class Help(unittest.TestCase):
    def test_names_every_flag_with_its_default(self) -> None:
        options = option_flags("strategies") | option_flags("workloads")
        self.assertGreaterEqual(len(options), 6)
        for subcommand, flags in FLAGS.items():
            if subcommand in ("run", "graph", "calibrate"):
                flags = {**flags, **options}
            text = output_of(subcommand, "--help")
            entries = re.split(r"\n  (?=-)", text)
            by_name = {re.match(r"\S+", entry)[0]: " ".join(entry.split("\n\n")[0].split())
                       for entry in entries[1:]}
            self.assertEqual(set(by_name), {"-h,--help", *flags}, subcommand)
            for flag, default in flags.items():
                bracketed = re.sub("^=(.*)", r" [\1]", default)
                forms = f"{re.escape(default)}|{re.escape(bracketed)}"
                self.assertRegex(by_name[flag], rf"({forms})(\s|$)", subcommand)

    def test_names_every_subcommand(self) -> None:
        self.assertEqual(set(re.findall(r"(?m)^  ([a-z]+)  ", output_of("--help"))), set(FLAGS))

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
            self.assertEqual(sorted(options), sorted(option_flags(of)))
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
