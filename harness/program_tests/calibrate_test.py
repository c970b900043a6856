# SPDX-License-Identifier: Apache-2.0
"""Tests the measurements of `regatta calibrate`.

usage: calibrate_test.py REGATTA SCHEMA [unittest arguments]
"""

import json
import unittest
from pathlib import Path

from simulated_support import CELL, HOSTS, calibration, messages
from test_support import fresh_folder, output_of, regatta, run_tests, skip_without_mpirun

skip_without_mpirun()


class Calibration(unittest.TestCase):
    def test_has_a_time_for_each_kernel_and_the_costs_of_three_transports(self) -> None:
        made = json.loads(calibration())
        self.assertEqual(made["source"], "regatta calibrate")
        self.assertTrue(any(key.startswith("dense ") for key in made["kernels"]))
        for ns in made["kernels"].values():
            self.assertGreater(ns, 0)
        self.assertEqual(list(made["transports"]),
                         ["in_process", "open_mpi", "open_mpi_sums", "grpc"])
        # No costs are compared: other programs may distort them.
        for transport, ways in made["transports"].items():
            for way in ("on_host", "between_hosts"):
                if way in ways:
                    self.assertGreater(ways[way]["message_ns"], 0, (transport, way))
                    rate = ways[way]["bytes_per_ns"]  # None: long messages took no longer
                    self.assertTrue(rate is None or rate > 0, (transport, way))
                    points = ways[way]["points"]
                    self.assertEqual(points, sorted(points), (transport, way))
                    self.assertEqual(points[0][1], ways[way]["message_ns"], (transport, way))
                    self.assertGreater(points[-1][0], 1e6, (transport, way))
        self.assertGreater(made["transports"]["open_mpi"]["between_hosts"]["message_ns"], 1000)
        self.assertGreater(len(made["step_ns"]), 10)

    def test_measures_what_is_due_in_few_steps_only(self) -> None:
        folder = fresh_folder()
        rare = ("--workload", "parabola", "--strategy", "local_sgd", "--sync-every", "500",
                "--workers", "2", "--processes", "2")
        output_of("calibrate", *rare, "--messages", messages(), "--out",
                  str(folder / "calibration.json"))
        (folder / "cluster.toml").write_text('calibration = "calibration.json"\n' + HOSTS)
        output_of("run", *rare, "--cluster", str(folder / "cluster.toml"), "--steps", "600",
                  "--out", str(folder))
        (line,) = (folder / "simulated.jsonl").read_text().splitlines()
        self.assertEqual(json.loads(line)["step_time_ns"]["count"], 600)

    def test_takes_the_messages_of_a_calibration_that_is_there(self) -> None:
        file, messages_file = fresh_folder() / "calibration.json", Path(messages())
        given = json.loads(calibration())
        # Only hosts of one core each measure these.
        given["transports"]["grpc"]["between_hosts"]["core_points"] = [[64, 9], [4096, 70]]
        messages_file.write_text(json.dumps(given))
        output_of("calibrate", "--workload", "parabola", "--messages", str(messages_file), "--out",
                  str(file))
        made = json.loads(file.read_text())
        for kept in ("source", "git_commit", "transports"):
            self.assertEqual(made[kept], given[kept], kept)
        self.assertNotEqual(made["kernels"], given["kernels"])

    def test_takes_them_from_a_calibration_of_this_machine_alone(self) -> None:
        for change, words in (({"cpu": "another"}, "on 'another'"),
                              ({"git_commit": "0" * 40}, f"of commit '{'0' * 40}'"),
                              ({"source": "a data sheet"}, "by 'a data sheet'")):
            folder = fresh_folder()
            other = folder / "other.json"
            other.write_text(json.dumps(json.loads(calibration()) | change))
            done = regatta("calibrate", "--workload", "parabola", "--messages", str(other),
                           "--out", str(folder / "new" / "calibration.json"))
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1), done.stderr)
            self.assertIn(words, done.stderr)
            self.assertEqual(list(folder.iterdir()), [other])

    def test_takes_or_measures_messages_between_hosts(self) -> None:
        hosts = fresh_folder() / "hosts"
        hosts.write_text("one slots=2\nother slots=2\n")
        done = regatta("calibrate", *CELL, "--messages", messages(), "--hosts", str(hosts),
                       "--listen", "192.0.2.7")
        self.assertEqual(done.returncode, 1)
        self.assertIn("--messages and --hosts", done.stderr)

    def test_between_hosts_needs_an_address_that_they_reach(self) -> None:
        file = fresh_folder() / "mine.json"
        done = regatta("calibrate", *CELL, "--hosts", "two_machines", "--out", str(file))
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1), done.stderr)
        self.assertIn("--hosts needs --listen", done.stderr)
        self.assertFalse(file.exists())

    def test_does_not_replace_a_file(self) -> None:
        file = fresh_folder() / "mine.json"
        file.write_text("mine")
        done = regatta("calibrate", *CELL, "--out", str(file))
        self.assertEqual(done.returncode, 1)
        self.assertIn("--overwrite", done.stderr)
        self.assertEqual(file.read_text(), "mine")


if __name__ == "__main__":
    run_tests()
