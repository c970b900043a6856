#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`regatta graph` behind each pass: the last one's graph is the one that a race runs.

usage: graph_test.py REGATTA SCHEMA
"""

import re
import unittest

from test_support import output_of, record_of, regatta, run_tests

CELL = ("--workload", "parabola", "--strategy", "sharded", "--workers", "2")
NODE = re.compile(r"(?m)^%\d+ = (\w+)")


def ops_after(name: str) -> list[str]:
    return NODE.findall(output_of("graph", *CELL, "--after", name))


class Graph(unittest.TestCase):
    def test_lists_every_pass_once_with_its_time(self) -> None:
        names = re.findall(r"(?m)^  (\w+) +[\d.]+ ms, \d+ nodes: \w",
                           output_of("graph", *CELL, "--passes"))
        self.assertEqual((names[0], names[-1]), ("build", "partition"))
        self.assertEqual(len(names), len(set(names)))
        error = regatta("graph", *CELL, "--after", "?").stderr
        self.assertIn(f"(valid: {' '.join(names)})", error)

    def test_is_shown_behind_a_pass(self) -> None:
        self.assertNotIn("all_reduce", ops_after("fuse"))
        self.assertEqual(ops_after("strategies").count("all_reduce"), 2 * 4)
        self.assertEqual(ops_after("bucket").count("all_reduce"), 2)
        self.assertEqual(ops_after("share").count("reduce_scatter"), 2)

    def test_is_that_of_the_race_behind_the_last_pass(self) -> None:
        text = output_of("graph", *CELL)
        self.assertEqual(output_of("graph", *CELL, "--after", "partition"), text)
        record = record_of(*CELL, "--steps", "2")
        self.assertEqual(len(NODE.findall(text)), record["graph"]["nodes"])

    def test_names_the_coordinates_between_which_workers_sum_as_records_do(self) -> None:
        cell = ("--workload", "parabola", "--strategy", "all_reduce+tensor_parallel", "--workers",
                "4", "--shards", "2")
        shown = re.findall(r"(?m)^# bytes sent between (.*): \d+, coll", output_of("graph", *cell))
        sums = record_of(*cell, "--steps", "2")["graph"]["all_reduces"]
        self.assertEqual(shown, ["replicas", "shards"])
        self.assertEqual(sorted({each["between"] for each in sums}), shown)


if __name__ == "__main__":
    run_tests()
