# SPDX-License-Identifier: Apache-2.0
"""Backup workers over real processes: counts add up.

usage: backup_processes_test.py REGATTA SCHEMA [unittest arguments]
Exits 77 (skipped) where mpirun or python3-jsonschema is not installed.
"""

import unittest
from typing import Any

from test_support import record_of, record_validator, run_tests, skip_without_mpirun

skip_without_mpirun()
VALIDATOR = record_validator()

BATCH = 30
PARABOLA = ("--workload", "parabola", "--global-batch", str(BATCH), "--steps", "300",
            "--strategy", "parameter_server", "--workers", "2", "--backup-workers", "1")
UNEVEN = tuple("31" if word == str(BATCH) else word for word in PARABOLA)
SHARES = {"replica0": 16, "replica1": 15, "replica2": 16}


def pushes(record: dict[str, Any]) -> dict[str, tuple[int, int, int]]:
    """Steps, applied updates and dropped updates of each worker."""
    steps = {one["place"]: one["steps"] for one in record["workers"]}
    return {f"replica{one['replica']}": (steps.get(f"replica{one['replica']}", one["steps"]),
                                         one["updates_applied"], one["updates_dropped"])
            for one in record["workers"] if one["place"].split(".")[0] == "server0"}


class BackupWorkers(unittest.TestCase):
    def check_counts(self, record: dict[str, Any], steps: int) -> None:
        counted = pushes(record)
        self.assertEqual(sorted(counted), ["replica0", "replica1", "replica2"])
        for worker, (taken, applied, dropped) in counted.items():
            self.assertEqual(taken, applied + dropped, worker)
        self.assertEqual(sum(applied for _, applied, _ in counted.values()), 2 * steps)

    def test_apply_as_many_pushes_as_a_step_needs_and_drop_the_others(self) -> None:
        for more in ((), ("--servers", "2"), ("--processes", "2"), ("--processes", "1"),
                     ("--processes", "1", "--servers", "2")):
            record = record_of(*PARABOLA, *more)
            with self.subTest(more=more):
                self.assertEqual(record["evaluations"][-1]["examples"], 300 * BATCH)
                self.check_counts(record, 300)
                self.assertEqual(record["lost_updates"], 0)
                self.assertEqual(record["step_examples"],
                                 {"count": 300, "sum": 300 * BATCH, "min": BATCH, "max": BATCH})

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
                steps = sum(applied for _, applied, _ in counted.values()) // 2
                self.check_counts(record, steps)
                self.assertEqual((record["step_examples"]["count"], record["step_examples"]["sum"]),
                                 (steps, examples))
                self.assertLessEqual({record["step_examples"][end] for end in ("min", "max")},
                                     {31, 32})


if __name__ == "__main__":
    run_tests()
