# SPDX-License-Identifier: Apache-2.0
"""Races over several processes: real ranks, started by mpirun, compute the same as one process.

usage: processes_test.py REGATTA SCHEMA [unittest arguments]
Exits 77 (skipped) where mpirun or python3-jsonschema is not installed.

Elsewhere: parameters of every strategy (kernels/comm/mpi/processes_of_training_test.cpp), loops
that do not wait for one another (asynchronous_processes_test.py), errors of a rank
(rank_errors_test.py), the death of a process (faults_test.py).
"""

import json
import os
import subprocess
import unittest
from pathlib import Path

from test_support import (PARABOLA, REGATTA, environment_of_its_own, fresh_folder, losses_of,
                          output_of, record_of, record_validator, records_in, regatta, run_tests,
                          skip_without_mpirun)

skip_without_mpirun()
VALIDATOR = record_validator()


class Processes(unittest.TestCase):
    def test_leave_a_record_that_satisfies_the_schema(self) -> None:
        record = record_of(*PARABOLA, "--strategy", "all_reduce", "--workers", "3",
                           "--all-reduce", "ring", "--processes", "2")
        self.assertEqual([error.message for error in VALIDATOR.iter_errors(record)], [])
        self.assertEqual(record["cell"]["processes"], 2)
        self.assertEqual(record["machine"]["link"], "Open MPI")
        self.assertEqual([worker["rank"] for worker in record["workers"]], [0, 0, 1])
        self.assertEqual([worker["place"] for worker in record["workers"]],
                         ["replica0", "replica1", "replica2"])
        self.assertEqual(len(record["graph"]["nodes_per_process"]), 2)
        self.assertEqual(sum(record["graph"]["nodes_per_process"]), record["graph"]["nodes"])

    def test_build_graphs_that_do_not_grow_with_the_workers(self) -> None:
        nodes = {}
        for strategy in ("in_graph", "all_reduce"):
            for workers in ("2", "3", "5"):
                processes = workers if strategy == "all_reduce" else "1"
                record = record_of("--workload", "parabola", "--steps", "1", "--strategy",
                                   strategy, "--workers", workers, "--processes", processes)
                nodes[strategy, workers] = record["graph"]["nodes_per_process"]
                self.assertEqual(len(nodes[strategy, workers]), int(processes))
        self.assertLess(nodes["in_graph", "2"], nodes["in_graph", "3"])
        self.assertLess(nodes["in_graph", "3"], nodes["in_graph", "5"])
        for workers in "235":
            self.assertEqual(set(nodes["all_reduce", workers]), set(nodes["all_reduce", "2"]))

    def test_average_running_statistics_like_one_process(self) -> None:
        cell = ("--workload", "resnet9_thin", "--dataset", "shapes", "--global-batch", "16",
                "--steps", "3", "--strategy", "all_reduce", "--workers", "2", "--width", "8")
        one, several = record_of(*cell), record_of(*cell, "--processes", "2")
        self.assertEqual(several["cell"]["options"]["width"], 8)
        self.assertEqual(losses_of(several), losses_of(one))
        self.assertEqual(several["checksums"], one["checksums"])

    def test_train_a_language_model_like_single(self) -> None:
        cell = ("--workload", "gpt_thin", "--layers", "2", "--width", "24", "--heads", "3",
                "--context", "8", "--global-batch", "11", "--steps", "4", "--cores", "1")
        single = [point["loss"] for point in record_of(*cell)["losses"]]
        for strategy, processes in ((("all_reduce",), 2), (("sharded", "--shard", "parameters"), 3),
                                    (("parameter_server", "--servers", "2"), 2),
                                    (("pipeline",), 2), (("tensor_parallel",), 3),
                                    (("tensor_parallel", "--sequence-parallel", "yes"), 2),
                                    (("context_parallel",), 2), (("context_parallel",), 4),
                                    (("all_reduce+context_parallel", "--shards", "2"), 4),
                                    (("pipeline+tensor_parallel", "--shards", "2"), 4)):
            with self.subTest(strategy=strategy):
                ours = record_of(*cell, "--strategy", *strategy, "--workers", str(processes),
                                 "--processes", str(processes))
                for point, expected in zip(ours["losses"], single, strict=True):
                    self.assertAlmostEqual(point["loss"], expected, places=5)
                graph = ours["graph"]
                self.assertEqual(graph["bytes_per_step_counted"], graph["bytes_per_step_computed"])

    def test_are_two_for_every_strategy_of_the_table(self) -> None:
        for listed in json.loads(output_of("list", "strategies", "--format", "json"))["strategies"]:
            cell = (*PARABOLA, "--strategy", listed["runs_as"], "--workers", "2")
            folder = fresh_folder()
            done = regatta("run", *cell, "--processes", "2", "--out", str(folder))
            with self.subTest(strategy=listed["name"]):
                if done.returncode != 0:
                    self.assertRegex(
                        done.stderr, "runs in one process|runs on one worker|divides sequences")
                    continue
                several = records_in(folder)[0]
                self.assertEqual(several["evaluations"][-1]["examples"], 200 * 50)
                graph = several["graph"]
                if listed["name"] != "ad_psgd":  # its workers meet as they come
                    self.assertEqual(graph["bytes_per_step_counted"],
                                     graph["bytes_per_step_computed"])
                if listed["exchange"] != "asynchronous":
                    one = record_of(*cell, "--processes", "1")
                    self.assertEqual(losses_of(several), losses_of(one))
                    self.assertEqual(several["checksums"], one["checksums"])
                    self.assertEqual(graph["models"], one["graph"]["models"])

    def test_delay_the_worker_that_is_named(self) -> None:
        record = record_of(*PARABOLA, "--strategy", "all_reduce+model_parallel", "--workers", "4",
                           "--stages", "2", "--processes", "2", "--stages-per-process", "1",
                           "--straggler", "1:3")
        slow = [worker["place"] for worker in record["workers"] if worker["straggler_factor"]]
        self.assertEqual(slow, ["replica0.stage1"])

    def test_keep_what_ranks_print(self) -> None:
        folder = fresh_folder()
        done = regatta("run", *PARABOLA, "--strategy", "independent", "--workers", "2",
                       "--processes", "2", "--out", str(folder))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        logs = folder / "ranks" / records_in(folder)[0]["run_id"]
        self.assertRegex((logs / "rank0.log").read_text(), r"^regatta: rank 0 of 2.*replica0\n$")
        self.assertRegex((logs / "rank1.log").read_text(), r"^regatta: rank 1 of 2.*replica1\n$")
        self.assertEqual({path.name for path in logs.iterdir()}, {"rank0.log", "rank1.log"})


class Allocation(unittest.TestCase):
    """Runs in an existing allocation: the user has started the processes by mpirun."""

    def start(self, folder: Path, processes: int,
              *arguments: str) -> subprocess.CompletedProcess[str]:
        root = ("--allow-run-as-root",) if os.geteuid() == 0 else ()
        with environment_of_its_own() as variables:
            return subprocess.run(["mpirun", *root, "--oversubscribe", "--bind-to", "none", "-np",
                                   str(processes), REGATTA, "run", *PARABOLA, *arguments, "--out",
                                   str(folder)], capture_output=True, text=True, timeout=120,
                                  env=variables)

    def test_is_joined(self) -> None:
        for strategy, processes in (("all_reduce", 2), ("parameter_server", 3)):
            cell = ("--strategy", strategy, "--workers", "2")
            folder = fresh_folder()
            done = self.start(folder, processes, *cell, "--processes", "2")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            records = records_in(folder)
            self.assertEqual(len(records), 1)
            expected = record_of(*PARABOLA, *cell, "--processes", "1")
            self.assertEqual(losses_of(records[0]), losses_of(expected))

    def test_of_another_size_is_refused(self) -> None:
        folder = fresh_folder()
        done = self.start(folder, 3, "--strategy", "all_reduce", "--workers", "2", "--processes",
                          "2")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("mpirun has started 3 processes, but this run has 2", done.stderr)
        self.assertFalse((folder / "records.jsonl").exists())


class ParameterServers(unittest.TestCase):
    def test_have_a_process_each_as_have_the_workers(self) -> None:
        record = record_of(*PARABOLA, "--strategy", "parameter_server", "--workers", "2",
                           "--servers", "2")
        ranks = {worker["place"]: worker["rank"] for worker in record["workers"]}
        self.assertEqual(ranks, {"server0": 0, "server1": 1, "replica0": 2, "replica1": 3})
        self.assertEqual(record["machine"]["link"], "gRPC")


if __name__ == "__main__":
    run_tests()
