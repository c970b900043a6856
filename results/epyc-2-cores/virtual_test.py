#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests simulation_check/make, and a script that makes and draws records in virtual time.

usage: results/epyc-2-cores/virtual_test.py REGATTA

Skips (exit code 77) without mpirun, which calibration starts.
"""

import functools
import importlib.machinery
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

REGATTA = str(Path(sys.argv.pop()).resolve()) if len(sys.argv) > 1 else ""
ROOT = Path(__file__).resolve().parents[0]
SPEEDUP = ROOT / "speedup"
CHECK = ROOT / "simulation_check/make"
BUILD = str(Path(REGATTA).parents[1])
SKIPPED = 77
LIMIT_S = 200


def output_of(*command: str) -> str:
    ran = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False,
                         env=os.environ | {"REGATTA": REGATTA})
    if ran.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: {ran.stdout}{ran.stderr}")
    return ran.stdout


class Speedup(unittest.TestCase):
    def test_is_calibrated_simulated_and_drawn(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            output_of(str(SPEEDUP / "make"), "--workload", "parabola", "--share", "5",
                      "--workers", "1", "2", "4", "--gbit", "0.1", "10", "--ways", "ring", "server",
                      "--steps", "10", "--build", BUILD, "--out", name)
            lines = (folder / "gbit_0.1" / "simulated.jsonl").read_text().splitlines()
            cells = [json.loads(line)["cell"] for line in lines]
            self.assertEqual([(cell["strategy"], cell["workers"]) for cell in cells],
                             [("all_reduce", 1), ("all_reduce", 2), ("all_reduce", 4),
                              ("parameter_server", 2), ("parameter_server", 4)])
            table = output_of(str(SPEEDUP / "draw"), name)
            self.assertRegex(table, r"gbit_0.1:(.|\n)* all_reduce, 1 worker, .* 1.00 \(")
            self.assertRegex(table, r"gbit_10:(.|\n)* parameter_server, 2 workers, ")
            drawn = (folder / "virtual.svg").read_text()
            self.assertIn("parameter_server, 4 workers: ", drawn)


HAS_HOSTS = os.geteuid() == 0 and shutil.which("ip") is not None


@functools.cache
def checked() -> tuple[str, dict[str, Any]]:
    """The output of simulation_check/make, and its last calibration of messages: between two hosts
    of ci/hosts, over a link of 2 ms."""
    with tempfile.TemporaryDirectory() as folder:
        said = output_of(str(CHECK), "--workload", "parabola", "--steps",
                         "10", "--rounds", "1", "--mbit", "10", "--delay-ms", "20", "--ways",
                         "ring", "in_graph", "server", "--build", BUILD, "--out", folder)
        return said, json.loads((Path(folder) / "transports.json").read_text())


class Calibration(unittest.TestCase):
    @unittest.skipIf(not HAS_HOSTS, "network namespaces need root and iproute2")
    def test_measures_messages_between_hosts(self) -> None:
        made = checked()[1]
        self.assertEqual(made["source"], "regatta calibrate")
        transports = made["transports"]
        for name in ("open_mpi", "grpc"):  # a link of 2 ms
            message_ns = transports[name]["between_hosts"]["message_ns"]
            self.assertGreater(message_ns, 2e6, name)
            self.assertLess(message_ns, 10e6, name)
        self.assertLess(transports["grpc"]["on_host"]["message_ns"], 2e6)


class Check(unittest.TestCase):
    @unittest.skipIf(not HAS_HOSTS, "network namespaces need root and iproute2")
    def test_holds_virtual_steps_against_real_ones(self) -> None:
        said = checked()[0]
        steps = re.findall(r"(?m)^(\w+) +10 +20 +([\d.]+) +([\d.]+) ", said)
        self.assertEqual([name for name, _, _ in steps], ["ring", "in_graph", "server"])
        for name, real, virtual in steps:  # each crosses links of 20 ms twice
            self.assertGreater(float(real), 38, name)
            self.assertAlmostEqual(float(virtual) / 40, 1, delta=0.1, msg=name)
        self.assertRegex(said, r"order of 3 ways .*Kendall's tau -?[\d.]+")

    @unittest.skipIf(not HAS_HOSTS, "network namespaces need root and iproute2")
    def test_measures_bytes_that_a_flow_keeps_in_front_of_a_full_link(self) -> None:
        queue_kb = float(output_of(str(CHECK.with_name("link_queue")), "--mbit", "200",
                                   "--messages", "3"))  # of 4 MB
        self.assertGreater(queue_kb, 10)
        self.assertLess(queue_kb, 1000)

    def test_knows_kendalls_tau(self) -> None:
        loader = importlib.machinery.SourceFileLoader("check", str(CHECK))
        spec = importlib.util.spec_from_loader("check", loader)
        check = importlib.util.module_from_spec(spec)
        loader.exec_module(check)
        self.assertEqual(check.kendall([1, 2, 3], [10, 20, 30]), 1)
        self.assertEqual(check.kendall([1, 2, 3], [30, 20, 10]), -1)
        self.assertAlmostEqual(check.kendall([1, 2, 3], [20, 10, 30]), 1 / 3)


if __name__ == "__main__":
    if shutil.which("mpirun") is None:
        print("skipped: mpirun is not installed")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
