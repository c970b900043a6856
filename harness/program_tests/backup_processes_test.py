# SPDX-License-Identifier: Apache-2.0
"""Backup workers over real processes: counts add up, a straggler holds no worker back, deaths.

usage: backup_processes_test.py REGATTA SCHEMA [unittest arguments]
Exits 77 (skipped) where mpirun or python3-jsonschema is not installed.
"""

import signal
import unittest
from typing import Any

from run_support import Run
from test_support import record_of, record_validator, run_tests, skip_without_mpirun, soon

skip_without_mpirun()
VALIDATOR = record_validator()

BATCH = 30
PARABOLA = ("--workload", "parabola", "--global-batch", str(BATCH), "--steps", "300",
            "--strategy", "parameter_server", "--workers", "2", "--backup-workers", "1")
UNEVEN = tuple("31" if word == str(BATCH) else word for word in PARABOLA)
SHARES = {"replica0": 16, "replica1": 15, "replica2": 16}
LONG_STEPS = 1500
UNEVEN_FOR_LONG = (*(str(LONG_STEPS) if word == "300" else word for word in UNEVEN),
                   "--straggler", "0:100,1:100,2:100")  # stragglers sleep
THIN = ("--workload", "resnet9_thin", "--dataset", "shapes", "--global-batch", "32",
        "--strategy", "parameter_server", "--workers", "2", "--backup-workers", "1")
SLEEPY = ("--straggler", "0:10,1:10,2:10")  # steps that take long, mostly asleep


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

    def test_stand_in_a_record_that_satisfies_the_schema(self) -> None:
        record = record_of(*PARABOLA)
        self.assertEqual([error.message for error in VALIDATOR.iter_errors(record)], [])
        cell = record["cell"]
        self.assertEqual((cell["workers"], cell["options"]["backup_workers"], cell["processes"]),
                         (2, 1, 4))
        self.assertEqual(record["step_examples"],
                         {"count": 300, "sum": 300 * BATCH, "min": BATCH, "max": BATCH})
        self.assertEqual({worker["place"]: worker["rank"] for worker in record["workers"]
                          if worker["place"].startswith("replica")},
                         {"replica0": 1, "replica1": 2, "replica2": 3})

    def test_leave_a_straggler_behind(self) -> None:
        record = record_of(*THIN, "--steps", "30", "--straggler", "2:6")
        self.check_counts(record, 30)
        _, applied, dropped = pushes(record)["replica2"]
        self.assertGreater(dropped, 0)
        self.assertLess(applied, 15)

    def record_without(self, rank: int, *arguments: str, ranks: int) -> dict[str, Any]:
        """The record of a run that ends well although `rank`, of replica 1, is killed."""
        run = Run(*arguments, "--continue-on-loss", ranks=ranks)
        run.await_training()
        run.send(signal.SIGKILL, run.ranks[rank])
        record = run.end(limit_s=90)
        self.assertIn(record["status"], ("missed", "reached"), record["failure"])
        (lost,) = record["lost_processes"]
        self.assertRegex(lost, rf"^rank {rank} \(replica1, .*was lost")
        self.assertEqual(run.left(), [])
        return record

    def test_go_on_without_one_that_dies(self) -> None:
        record = self.record_without(2, *THIN, "--steps", "20", *SLEEPY, ranks=4)
        self.assertEqual(record["evaluations"][-1]["examples"], 20 * 32)

    def test_go_on_without_one_that_dies_with_several_servers(self) -> None:
        record = self.record_without(3, *UNEVEN_FOR_LONG, "--servers", "2", ranks=5)
        self.assertEqual([error.message for error in VALIDATOR.iter_errors(record)], [])
        examples = record["evaluations"][-1]["examples"]
        self.assertIn(examples - LONG_STEPS * 31, range(32))
        self.assertEqual(record["step_examples"]["sum"], examples)
        self.assertEqual(examples, sum(applied * SHARES[worker] for worker, (_, applied, _)
                                       in pushes(record).items()))

    def test_end_when_fewer_are_left_than_a_step_needs(self) -> None:
        run = Run(*THIN, "--steps", "100000", *SLEEPY, "--continue-on-loss", ranks=4)
        run.await_training()
        run.send(signal.SIGKILL, run.ranks[1])
        log = run.folder / "ranks"
        self.assertTrue(soon(lambda: any("goes on without process 1" in file.read_text()
                                         for file in log.rglob("rank0.log")), 10))
        run.send(signal.SIGKILL, run.ranks[3])
        record = run.end()
        self.assertEqual((record["status"], record["failure"]["kind"]), ("failed", "peer_lost"))
        self.assertRegex(record["failure"]["text"],
                         r"was lost .*; 1 of 3 workers left, but a step needs 2$")
        self.assertEqual(run.left(), [])

    def test_end_with_one_that_dies_where_they_may_not_go_on(self) -> None:
        run = Run(*THIN, "--steps", "100000", *SLEEPY, ranks=4)
        run.await_training()
        run.send(signal.SIGKILL, run.ranks[3])
        record = run.end()
        self.assertRegex(record["failure"]["text"], r"rank 3 \(replica2, .*was lost")
        self.assertEqual(run.left(), [])


if __name__ == "__main__":
    run_tests()
