# SPDX-License-Identifier: Apache-2.0
"""Records of exchanges: lateness, waiting and the stages of pushes at servers; and of the slowdown
of a straggler.

usage: measures_test.py REGATTA SCHEMA [unittest arguments]
Exits 77 (skipped) where mpirun is not installed.
"""

import unittest
from typing import Any

from test_support import PARABOLA, record_of, run_tests, skip_without_mpirun

skip_without_mpirun()

STEPS = 16
# Steps of some 20 ms; the second worker's take eight times as long.
STRAGGLER = ("--workload", "resnet9_thin", "--dataset", "shapes", "--global-batch", "32",
             "--steps", str(STEPS), "--workers", "2", "--straggler", "1:8")


def worker_at(record: dict[str, Any], place: str) -> dict[str, Any]:
    return next(worker for worker in record["workers"] if worker["place"] == place)


class Collectives(unittest.TestCase):
    def check_straggler(self, *arguments: str) -> dict[str, Any]:
        record = record_of(*STRAGGLER, "--strategy", "all_reduce", *arguments)
        quick, slow = (worker_at(record, f"replica{r}") for r in (0, 1))
        self.assertGreater(slow["late_ns"]["p50"], 2 * quick["late_ns"]["p50"])
        self.assertGreater(quick["exchange_wait_ns"]["sum"], slow["exchange_wait_ns"]["sum"])
        for worker in (quick, slow):
            for name in ("late_ns", "exchange_wait_ns"):
                spans = worker[name]
                self.assertEqual(spans["count"] % STEPS, 0)  # one per bucket and step
                self.assertGreater(spans["count"], 0)
                self.assertLessEqual(spans["p50"], spans["p99"])
                self.assertLessEqual(spans["p99"], spans["max"])
                self.assertLessEqual(spans["max"], spans["sum"])
            self.assertIsNone(worker["pushes"])
            self.assertEqual(worker["updates_applied"], STEPS)
        self.assertIsNone(record["graph"]["shard_imbalance"])
        return record

    def test_over_processes_of_one_host_find_that_these_share_a_clock(self) -> None:
        record = self.check_straggler("--processes", "2")
        self.assertEqual(record["clocks"],
                         [{"rank": rank, "offset_ns": 0, "drift_ppb": 0, "error_ns": 0}
                          for rank in (0, 1)])
        self.assertEqual([w["late_uncertainty_ns"] for w in record["workers"]], [0, 0])

    def test_in_one_process_are_told_of_by_one_clock(self) -> None:
        record = self.check_straggler()
        self.assertEqual(record["clocks"], [])
        self.assertEqual([w["late_uncertainty_ns"] for w in record["workers"]], [0, 0])

    def test_are_not_told_of_where_there_are_none(self) -> None:
        for cell in (("--strategy", "single"), ("--strategy", "in_graph", "--workers", "2")):
            for worker in record_of(*PARABOLA, *cell)["workers"]:
                for name in ("late_ns", "late_uncertainty_ns", "exchange_wait_ns", "pushes"):
                    self.assertIsNone(worker[name], (cell, name))
                self.assertEqual(worker["updates_applied"], worker["steps"])


class Stragglers(unittest.TestCase):
    def factor_told(self, cell: tuple[str, ...], factor: float, seed: int) -> float:
        record = record_of("--workload", "parabola", "--steps", "5000", "--workers", "2",
                           "--seed", str(seed), "--straggler", f"1:{factor}", "--strategy", *cell)
        quick, slow = (worker_at(record, f"replica{r}") for r in (0, 1))
        self.assertIsNone(quick["straggler_factor"], cell)
        self.assertEqual(quick["delay_ns"], 0, cell)
        computing_ns = slow["compute_ns"] - slow["delay_ns"]
        self.assertAlmostEqual(slow["straggler_factor"] * computing_ns, slow["compute_ns"],
                               delta=1, msg=cell)
        return float(slow["straggler_factor"])

    def test_tell_their_true_factor(self) -> None:
        for cell in (("all_reduce",), ("in_graph",), ("async_shared",), ("independent",),
                     ("all_reduce", "--processes", "2")):
            for factor in (1.01, 2.0):
                # Other load on the machine during the last delay makes that delay longer.
                told: list[float] = []
                while len(told) < 8 and not any(abs(one / factor - 1) < 0.02 for one in told):
                    told.append(self.factor_told(cell, factor, seed=len(told) + 1))
                self.assertLess(abs(told[-1] / factor - 1), 0.02, (cell, told))


class ParameterServers(unittest.TestCase):
    def test_tell_which_push_came_late_and_how_long_they_waited(self) -> None:
        record = record_of(*STRAGGLER, "--strategy", "parameter_server")
        quick, slow = (worker_at(record, f"replica{r}") for r in (0, 1))
        server = worker_at(record, "server0")
        self.assertEqual(slow["late_ns"]["count"], STEPS)
        self.assertGreater(slow["late_ns"]["p50"], 2 * quick["late_ns"]["p50"])
        barrier = server["pushes"]["barrier_ns"]
        self.assertEqual(barrier["count"], STEPS)
        # One of the two was first in each step.
        self.assertEqual(barrier["sum"], slow["late_ns"]["sum"] + quick["late_ns"]["sum"])
        self.assertGreaterEqual(server["pushes"]["queue_ns"]["count"], 2 * STEPS)
        self.assertEqual(server["pushes"]["wire_ns"]["count"],
                         server["pushes"]["queue_ns"]["count"])
        self.assertGreater(server["update_ns"], 0)
        self.assertEqual([w["updates_applied"] for w in (quick, slow, server)],
                         [STEPS, STEPS, 2 * STEPS])
        self.assertIsNone(quick["pushes"])
        self.assertIsNone(server["late_ns"])
        self.assertIsNone(server["late_uncertainty_ns"])
        self.assertEqual(slow["late_uncertainty_ns"], 0)  # by the server's clock
        self.assertEqual(record["clocks"], [])
        self.assertIsNone(server["age_ns"])

    def test_that_wait_for_no_other_tell_how_old_what_an_update_is_of_has_become(self) -> None:
        record = record_of(*STRAGGLER, "--strategy", "parameter_server_async")
        quick, slow = (worker_at(record, place) for place in ("server0", "server0.replica1"))
        self.assertGreater(slow["age_ns"]["p50"], 2 * quick["age_ns"]["p50"])
        self.assertLess(slow["age_ns"]["max"], record["training_ns"])
        for server in (quick, slow):
            self.assertEqual(server["age_ns"]["count"], sum(server["staleness_histogram"]))
        self.assertIsNone(worker_at(record, "replica0")["age_ns"])

    def test_that_wait_for_no_other_have_no_barrier(self) -> None:
        record = record_of(*PARABOLA, "--strategy", "parameter_server_async", "--workers", "2")
        workers = [worker_at(record, f"replica{r}") for r in (0, 1)]
        self.assertEqual([w["updates_applied"] for w in workers], [w["steps"] for w in workers])
        self.assertEqual([w["late_ns"] for w in workers], [None, None])
        for worker, place in zip(workers, ("server0", "server0.replica1"), strict=True):
            server = worker_at(record, place)
            self.assertEqual(server["pushes"]["barrier_ns"]["count"], 0)
            self.assertEqual(server["updates_applied"], worker["updates_applied"])

    def test_count_at_each_what_the_formula_says(self) -> None:
        # Weight and bias of two layers, dealt to two servers: 10 and 6 floats.
        record = record_of(*PARABOLA, "--strategy", "parameter_server", "--workers", "3",
                           "--servers", "2")
        self.assertEqual(record["graph"]["shard_imbalance"], 1.25)
        for place, floats in (("server0", 10), ("server1", 6)):
            server = worker_at(record, place)
            for name in ("bytes_sent", "bytes_received"):
                self.assertEqual(server[name], 3 * floats * 4 * 200, (place, name))
        for replica in range(3):
            worker = worker_at(record, f"replica{replica}")
            self.assertEqual(worker["bytes_sent"], 16 * 4 * 200)
            self.assertEqual(worker["updates_applied"], 200)


if __name__ == "__main__":
    run_tests()
