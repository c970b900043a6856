# SPDX-License-Identifier: Apache-2.0
"""Races over several processes whose loops do not wait for one another, or for all: staleness,
bytes sent, the cost of a slow loop, and backup workers.

usage: asynchronous_processes_test.py REGATTA SCHEMA [unittest arguments]
Exits 77 (skipped) where mpirun or python3-jsonschema is not installed.
"""

import itertools
import unittest
from typing import Any

from test_support import PARABOLA, record_of, record_validator, run_tests, skip_without_mpirun

skip_without_mpirun()
VALIDATOR = record_validator()


class AveragesBetween(unittest.TestCase):
    def test_with_a_drawn_peer(self) -> None:
        """Averages travel between processes, or are in memory if the peer is in the same
        process."""
        cell = ("--workload", "parabola", "--steps", "1000", "--strategy", "ad_psgd")
        for workers, processes, batch in ((2, 2, 50), (3, 3, 49), (4, 2, 50)):
            with self.subTest(workers=workers, processes=processes):
                record = record_of(*cell, "--workers", str(workers), "--processes", str(processes),
                                   "--global-batch", str(batch))
                self.assertEqual([error.message for error in VALIDATOR.iter_errors(record)], [])
                self.assertEqual(record["graph"]["models"], 1)
                self.assertEqual(record["machine"]["link"], "Open MPI")
                seen = [one["metric"] for one in record["evaluations"]]
                self.assertLess(seen[-1], seen[0] / 4)
                replicas = [one for one in record["workers"] if one["place"].startswith("replica")]
                self.assertEqual(len(replicas), workers)
                self.assertGreater(min(one["steps"] for one in replicas), 0)
                for active in replicas[::2]:  # which know only their own averages
                    self.assertEqual(len(active["staleness_histogram"]), 1)

    def test_send_what_the_graph_says(self) -> None:
        record = record_of(*PARABOLA, "--strategy", "ad_psgd", "--workers", "2", "--processes", "2")
        by_place = {one["place"]: one for one in record["workers"]}
        steps = by_place["replica0"]["steps"]
        self.assertEqual(by_place["replica0"]["bytes_sent"], steps * 64)
        self.assertEqual(by_place["replica0"]["bytes_received"], steps * 64)
        self.assertEqual(by_place["peer1.replica0"]["bytes_sent"], steps * 64)
        self.assertEqual(by_place["replica1"]["bytes_sent"], by_place["replica1"]["steps"] * 4)
        self.assertEqual(by_place["replica1"]["steps"] + steps, 2 * 200)

    def test_leave_a_slow_one_behind(self) -> None:
        for slow, fast in ("01", "10"):
            record = record_of("--workload", "resnet9_thin", "--dataset", "shapes",
                               "--global-batch", "16", "--steps", "30", "--strategy", "ad_psgd",
                               "--workers", "2", "--processes", "2", "--straggler", f"{slow}:8")
            by_place = {one["place"]: one for one in record["workers"]}
            steps = [by_place[f"replica{r}"]["steps"] for r in "01"]
            self.assertEqual(sum(steps), 60)
            self.assertGreater(steps[int(fast)], 2 * steps[int(slow)])
            if slow == "1":  # averages arrive while it computes
                self.assertGreater(sum(by_place["replica1"]["staleness_histogram"][2:]), 0)


class AsynchronousServers(unittest.TestCase):
    def test_measure_staleness(self) -> None:
        for servers in ("1", "2"):
            record = record_of("--workload", "parabola", "--steps", "1000", "--strategy",
                               "parameter_server_async", "--workers", "2", "--servers", servers)
            with self.subTest(servers=servers):
                self.assertEqual(record["evaluations"][-1]["examples"], 1000 * 50)
                updates = [sum(w["staleness_histogram"]) for w in record["workers"]]
                # Weight and bias of two layers; each worker's step is half a batch. Servers may
                # hold a variable in parts.
                self.assertGreaterEqual(sum(updates), 2 * 1000 * 4)
                steps = [w["steps"] for w in record["workers"] if "server" not in w["place"]]
                self.assertEqual(sum(steps), 2 * 1000)
                self.assertGreater(min(steps), 0)

    def test_that_are_bounded_let_no_worker_run_away(self) -> None:
        cell = ("--workload", "parabola", "--steps", "300", "--strategy",
                "parameter_server_async", "--workers", "2", "--straggler", "1:50")
        for servers, bound in itertools.product(("1", "2"), (0, 1, 4)):
            with self.subTest(servers=servers, bound=bound):
                bounded = record_of(*cell, "--staleness-bound", str(bound), "--servers", servers)
                steps = [w["steps"] for w in bounded["workers"] if "server" not in w["place"]]
                # A worker's clock is its current step: one more than it has completed.
                self.assertLessEqual(abs(steps[0] - steps[1]), bound + 1)
                self.assertEqual(bounded["cell"]["options"]["staleness_bound"], bound)


UNEVEN = ("--workload", "parabola", "--global-batch", "31", "--steps", "300", "--strategy",
          "parameter_server", "--workers", "2", "--backup-workers", "1")
SHARES = {"replica0": 16, "replica1": 15, "replica2": 16}


def pushes(record: dict[str, Any]) -> dict[str, tuple[int, int, int]]:
    """Returns each worker's steps, applied updates and dropped updates."""
    steps = {one["place"]: one["steps"] for one in record["workers"]}
    return {f"replica{one['replica']}": (steps.get(f"replica{one['replica']}", one["steps"]),
                                         one["updates_applied"], one["updates_dropped"])
            for one in record["workers"] if one["place"].split(".")[0] == "server0"}


class BackupWorkers(unittest.TestCase):
    def test_count_the_examples_of_who_came_first_where_shares_are_uneven(self) -> None:
        for more in (("--servers", "2"), ("--processes", "1")):
            record = record_of(*UNEVEN, *more)
            with self.subTest(more=more):
                self.assertEqual([error.message for error in VALIDATOR.iter_errors(record)], [])
                examples = record["evaluations"][-1]["examples"]
                self.assertIn(examples - 300 * 31, range(32))
                counted = pushes(record)
                self.assertEqual(examples, sum(applied * SHARES[worker]
                                               for worker, (_, applied, _) in counted.items()))
                self.assertEqual(sorted(counted), sorted(SHARES))
                for worker, (taken, applied, dropped) in counted.items():
                    self.assertEqual(taken, applied + dropped, worker)
                steps, half = divmod(sum(applied for _, applied, _ in counted.values()), 2)
                self.assertEqual(half, 0)
                self.assertEqual((record["step_examples"]["count"], record["step_examples"]["sum"]),
                                 (steps, examples))
                self.assertLessEqual({record["step_examples"][end] for end in ("min", "max")},
                                     {31, 32})


if __name__ == "__main__":
    run_tests()
