# SPDX-License-Identifier: Apache-2.0
"""Whole runs of the program, checked by their outputs: the record, the trace, the lines printed.

usage: end_to_end_test.py REGATTA SCHEMA [unittest arguments]
Exits 77 (skipped) where python3-jsonschema is not installed.
"""

import functools
import re
import shutil
import subprocess
import unittest
from pathlib import Path
from typing import Any, NamedTuple

from test_support import (PARABOLA, REGATTA, fresh_folder, losses_of, output_of, record_of,
                          record_validator, records_in, regatta, run_tests, write_sparse_cifar10)

VALIDATOR = record_validator()

THIN = ("--workload", "resnet9_thin", "--steps", "4", "--global-batch", "32")
WORKLOADS = {"parabola": PARABOLA,
             "resnet9_thin": (*THIN, "--width", "8")}  # half the width: half the time


@functools.cache
def exchange_by_strategy() -> dict[str, str]:
    """The exchange of each strategy, as the program lists it."""
    pattern = r"^  (\w+) +(synchronous|asynchronous|nothing|periodic|compressed) "
    return dict(re.findall(pattern, output_of("list", "strategies"), re.MULTILINE))


def valid_values(strategy: str, flag: str) -> list[str]:
    """The valid values of an option, from the error for an invalid one."""
    error = regatta("graph", "--workload", "parabola", "--strategy", strategy, flag, "?").stderr
    return re.search(r"\(valid: (.*)\)", error)[1].split()


class Cell(NamedTuple):
    """A strategy and the flags that choose its variant."""

    strategy: str
    flags: tuple[str, ...]

    def arguments(self) -> tuple[str, ...]:
        return ("--strategy", self.strategy, *self.flags)

    def is_synchronous(self) -> bool:
        parts = self.strategy.split("+")
        return all(exchange_by_strategy()[part] == "synchronous" for part in parts)


OF_SEQUENCES = ("context_parallel",)  # processes_test.py


@functools.cache
def cells() -> list[Cell]:
    """Every strategy with two workers in all its variants, and compositions."""
    variants = {"all_reduce": "--all-reduce", "async_shared": "--sharing",
                "sharded": "--shard"}
    found = []
    for name, exchange in exchange_by_strategy().items():
        if exchange == "compressed" or name in OF_SEQUENCES:  # only after another strategy
            continue
        workers = () if name == "single" else ("--workers", "2")
        if name.startswith("parameter_server"):
            workers += ("--processes", "1")  # separate processes: processes_test.py
        if name not in variants:
            found.append(Cell(name, workers))
            continue
        for value in valid_values(name, variants[name]):
            if value not in ("mpi", "nccl"):  # processes_test.py, GPUs
                found.append(Cell(name, (*workers, variants[name], value)))
    found.append(Cell("all_reduce+model_parallel", ("--workers", "4", "--stages", "2")))
    found.append(Cell("all_reduce+powersgd", ("--workers", "2", "--rank", "1")))
    found.append(Cell("all_reduce+top_k", ("--workers", "2", "--share", "0.1")))
    found.append(Cell("all_reduce+bf16_compress", ("--workers", "2")))
    return found


def records(workload: str) -> dict[Cell, dict[str, Any]]:
    """The records of all cells. On images, whose evaluations take seconds, only the first cell
    of each kind of exchange, and stages."""
    chosen = cells()
    if workload != "parabola":
        first = {exchange_by_strategy().get(cell.strategy): cell for cell in reversed(cells())}
        chosen = [cell for cell in cells()
                  if cell in first.values() or cell.strategy == "model_parallel"]
    return {cell: record_of(*WORKLOADS[workload], *cell.arguments()) for cell in chosen}


class Record(unittest.TestCase):
    def test_of_every_strategy_satisfies_the_schema(self) -> None:
        for workload in WORKLOADS:
            for cell, record in records(workload).items():
                with self.subTest(workload=workload, cell=cell):
                    self.assertEqual([e.message for e in VALIDATOR.iter_errors(record)], [])

    def test_says_what_each_worker_was_planned_to_take(self) -> None:
        for workload in WORKLOADS:
            for cell, record in records(workload).items():
                with self.subTest(workload=workload, cell=cell):
                    self.assertEqual(
                        sum(worker["planned_bytes"] for worker in record["workers"]),
                        record["memory"]["planned_bytes"])

    def test_relates_the_speed_to_the_peak_of_the_cores(self) -> None:
        record = record_of(*THIN, "--winograd", "off")
        use = record["utilization"]
        self.assertEqual(use["peak_of"], "measured")
        self.assertGreater(use["mfu"], 0)
        self.assertLess(use["mfu"], 1.2)
        each = record["model_flops_per_step"] / record["cell"]["global_batch"]
        self.assertAlmostEqual(use["mfu"] * use["peak_flops_per_s"] /
                               (each * record["examples_per_s"]), 1)
        self.assertIsNone(record_of(*PARABOLA)["utilization"])  # too few operations in a step

    def test_counts_the_models_operations_and_not_the_strategys(self) -> None:
        for workload in WORKLOADS:
            flops = {record["model_flops_per_step"] for record in records(workload).values()}
            self.assertEqual(len(flops), 1)

    def test_says_what_each_process_held(self) -> None:
        for workload in WORKLOADS:
            for cell, record in records(workload).items():
                with self.subTest(workload=workload, cell=cell):
                    workers = record["workers"]
                    held = {worker["process_peak_bytes"] for worker in workers}
                    self.assertGreaterEqual(
                        sum(held), sum(worker["planned_bytes"] for worker in workers))
                    self.assertLessEqual(max(held), record["memory"]["peak_rss_bytes"])

    def test_says_what_was_asked_for(self) -> None:
        for workload in WORKLOADS:
            for cell, record in records(workload).items():
                with self.subTest(workload=workload, cell=cell):
                    asked = dict(zip(cell.flags[::2], cell.flags[1::2]))
                    written = record["cell"]
                    self.assertEqual(written["workload"], workload)
                    self.assertEqual(written["strategy"], cell.strategy)
                    self.assertEqual(written["workers"], int(asked.get("--workers", 1)))
                    for option in ("all_reduce", "sharing"):
                        flag = "--" + option.replace("_", "-")
                        if flag in asked:
                            self.assertEqual(written["options"][option], asked[flag])
                    self.assertIn(cell.strategy, record["command"].split())

    def test_counts_every_example_once(self) -> None:
        for workload, examples in {"parabola": 200 * 50, "resnet9_thin": 4 * 32}.items():
            for cell, record in records(workload).items():
                with self.subTest(workload=workload, cell=cell):
                    self.assertNotEqual(record["status"], "failed")
                    self.assertEqual(record["evaluations"][-1]["examples"], examples)

    def test_has_a_clock_of_training_and_the_one_evaluation_at_the_end(self) -> None:
        record = record_of("--workload", "airbench94", "--dataset", "shapes", "--steps", "1",
                           "--global-batch", "128", "--target", "0", "--evaluate", "end")
        first, last = record["evaluations"]
        self.assertEqual(record["cell"]["evaluate"], "end")
        self.assertEqual(first["result_time_ns"], 0)
        self.assertGreater(record["data_weights_ns"], 1_000_000)  # filters from 5,000 images
        least = record["data_weights_ns"] + last["training_time_ns"]
        self.assertGreater(last["result_time_ns"], least)
        self.assertLess(last["result_time_ns"],
                        least + last["full_time_ns"] - last["training_time_ns"])
        self.assertEqual(record["result_time_to_target_ns"], last["result_time_ns"])

    def test_of_independent_replicas_is_of_all_of_them_and_the_same_in_every_run(self) -> None:
        for workload, flags in WORKLOADS.items():
            cell = (*flags, "--strategy", "independent", "--workers", "2")
            first, second = record_of(*cell), record_of(*cell, "--straggler", "1:3")
            for record in (first, second):
                self.assertEqual(record["graph"]["models"], 2, workload)
                self.assertEqual(len({worker["steps"] for worker in record["workers"]}), 1)
            self.assertEqual(losses_of(first), losses_of(second), workload)
            self.assertEqual([sample["loss"] for sample in first["losses"]],
                             [sample["loss"] for sample in second["losses"]], workload)

    def test_has_the_same_first_weights_and_data_for_every_strategy(self) -> None:
        for workload in WORKLOADS:
            expected = record_of(*WORKLOADS[workload], "--strategy", "single")["checksums"]
            for cell, record in records(workload).items():
                with self.subTest(workload=workload, cell=cell):
                    got = record["checksums"]
                    self.assertEqual(got["initial_weights"], expected["initial_weights"])
                    self.assertEqual(got["data"], expected["data"])
                    self.assertRegex(got["data_order"], "^[0-9a-f]{16}$")

    def test_of_a_synchronous_strategy_consumed_the_same_in_the_same_order(self) -> None:
        for workload in WORKLOADS:
            expected = record_of(*WORKLOADS[workload], "--strategy", "single")["checksums"]
            for cell, record in records(workload).items():
                if cell.is_synchronous():
                    with self.subTest(workload=workload, cell=cell):
                        self.assertEqual(record["checksums"], expected)

    def test_tells_orders_of_another_batch_apart(self) -> None:
        orders = [record_of("--workload", "parabola", "--global-batch", batch, "--epochs",
                            epochs)["checksums"]["data_order"]
                  for batch, epochs in (("16", "3"), ("50", "2.5"), ("50", "2"))]
        self.assertEqual(len(set(orders)), 3, orders)

    def test_has_other_first_weights_and_order_for_another_seed(self) -> None:
        for workload, flags in WORKLOADS.items():
            first = record_of(*flags, "--strategy", "single")["checksums"]
            other = record_of(*flags, "--strategy", "single", "--seed", "2")["checksums"]
            for name in ("initial_weights", "data_order"):
                self.assertNotEqual(first[name], other[name], (workload, name))

    def test_has_the_norm_of_the_parameters_that_were_judged(self) -> None:
        for workload in WORKLOADS:
            expected = [evaluation["parameter_norm"] for evaluation in record_of(
                *WORKLOADS[workload], "--strategy", "single")["evaluations"]]
            self.assertGreater(expected[0], 0)
            self.assertNotEqual(expected[-1], expected[0])
            for cell, record in records(workload).items():
                norms = [evaluation["parameter_norm"] for evaluation in record["evaluations"]]
                with self.subTest(workload=workload, cell=cell):
                    self.assertEqual(norms[0], expected[0])  # the first weights are equal
                    if cell.is_synchronous():
                        self.assertAlmostEqual(norms[-1] / expected[-1], 1, delta=1e-4)

    def test_has_the_loss_of_each_of_the_first_steps_and_then_of_some(self) -> None:
        losses = record_of("--workload", "parabola", "--steps", "2000")["losses"]
        examples = [sample["examples"] for sample in losses]
        self.assertEqual([after - before for before, after in zip(examples[:16], examples[1:16])],
                         [50] * 15)
        self.assertEqual({after - before for before, after in zip(examples[20:], examples[21:])},
                         {300})

    def test_counts_the_bytes_that_the_graph_predicts(self) -> None:
        for workload in WORKLOADS:
            for cell, record in records(workload).items():
                if not cell.is_synchronous():
                    continue
                with self.subTest(workload=workload, cell=cell):
                    graph = record["graph"]
                    self.assertEqual(graph["bytes_per_step_counted"],
                                     graph["bytes_per_step_computed"])
                    self.assertEqual(graph["bytes_per_step_computed"] == 0,
                                     cell.strategy == "single")

class AsyncShared(unittest.TestCase):
    STEPS = {"relaxed": 800_000, "locked": 100_000}  # 700 ms: all get cores on a busy machine

    def long_run(self, sharing: str) -> dict[str, Any]:
        return record_of("--workload", "parabola", "--steps", str(self.STEPS[sharing]),
                         "--strategy", "async_shared", "--workers", "2", "--sharing", sharing,
                         "--evaluate", "end")  # a pause every 20 steps would take ten times as long

    def test_has_a_staleness_histogram_of_every_update(self) -> None:
        variables = 4  # weight and bias of two layers
        for sharing in ("relaxed", "locked"):
            record = self.long_run(sharing)
            updates = [sum(w["staleness_histogram"]) for w in record["workers"]]
            self.assertEqual(sum(updates), 2 * self.STEPS[sharing] * variables)
            self.assertGreater(max(len(w["staleness_histogram"]) for w in record["workers"]), 1)
            self.assertIn(record["lost_updates"], (0,) if sharing == "locked" else range(10**9))

    def test_lets_every_replica_work(self) -> None:
        steps = [w["steps"] for w in self.long_run("relaxed")["workers"]]
        self.assertEqual(sum(steps), 2 * self.STEPS["relaxed"])
        self.assertGreater(min(steps), sum(steps) // 20, steps)


class Records(unittest.TestCase):
    def test_of_several_seeds_are_those_of_runs_alone(self) -> None:
        together = fresh_folder()
        output_of("run", *PARABOLA, "--seeds=3", "--seed", "4", "--out", str(together))
        records = records_in(together)
        self.assertEqual([record["cell"]["seed"] for record in records], [4, 5, 6])
        for record in records:
            seed = str(record["cell"]["seed"])
            alone = record_of(*PARABOLA, "--seed", seed)
            self.assertEqual(losses_of(record), losses_of(alone))
            self.assertEqual(record["checksums"], alone["checksums"])
            self.assertEqual(record["command"].split()[-2:], ["--seed", seed])
            self.assertNotIn("--seeds", record["command"])

class Commands(unittest.TestCase):
    def test_list_and_doctor_succeed(self) -> None:
        text = output_of("list")
        for name in (*WORKLOADS, *exchange_by_strategy(), "devices"):
            self.assertIn(name, text)
        self.assertIn(output_of("list", "strategies"), text)
        self.assertIn(output_of("list", "tiers"), text)
        self.assertIn("oneDNN", output_of("doctor"))

    def test_doctor_measures_the_element_types_that_the_processor_computes(self) -> None:
        roofline = output_of("doctor", "--roofline")
        measured = r"(?m)^{} +\d+\.\d +\d+\.\d$"
        for row in ("f32 GFLOP/s", "memory GB/s"):
            self.assertRegex(roofline, measured.format(row))
        computes = "avx512f" in Path("/proc/cpuinfo").read_text().split()
        missing = r"(?m)^bf16 GFLOP/s +- +-  not on this processor$"
        self.assertRegex(roofline, measured.format("bf16 GFLOP/s") if computes else missing)

    def test_verdicts_fit_80_columns(self) -> None:
        quick = "results/xeon-no-amx-2-cores/quick"
        text = regatta("compare", quick, f"{quick}_killed").stdout
        for line in text.splitlines():
            self.assertLessEqual(len(line), 80, line)
        self.assertIn("not enough data", text)

    def test_to_reproduce_a_run_name_a_folder_of_data_only_where_it_reads_one(self) -> None:
        data = ("--data-dir", "/nowhere")
        self.assertNotIn("--data-dir", record_of(*PARABOLA, *data)["command"])
        folder = fresh_folder()
        write_sparse_cifar10(folder / "cifar")
        used = ("--data-dir", str(folder / "cifar"), "--dataset", "cifar10", "--data", "unverified")
        output_of("run", *THIN, "--width", "4", *used, "--out", str(folder))
        self.assertIn(f"--data-dir {folder}/cifar ", records_in(folder)[0]["command"])

    def test_graph_counts_what_the_record_counts(self) -> None:
        flags = ("--workload", "parabola", "--strategy", "in_graph", "--workers", "3")
        text = output_of("graph", *flags)
        nodes = int(re.search(r"(?m)^# (\d+) nodes", text)[1])
        record = record_of("--workload", "parabola", "--steps", "1", "--strategy", "in_graph",
                           "--workers", "3")
        self.assertEqual(nodes, record["graph"]["nodes"])
        sent = sum(int(n) for n in re.findall(r"(?m)^# \S+ sends (\d+) bytes", text))
        self.assertEqual(sent, record["graph"]["bytes_per_step_computed"])

    def test_graph_of_many_workers_takes_seconds_of_the_processor(self) -> None:
        cell = ("--workload", "resnet9_thin", "--strategy", "gossip", "--workers", "125",
                "--global-batch", "4096")
        shown = subprocess.run(["bash", "-c", 'ulimit -t 20; exec "$0" graph "$@"', REGATTA, *cell],
                               capture_output=True, text=True)
        self.assertEqual(shown.returncode, 0)
        self.assertEqual(shown.stdout.count("bytes in one\n"), 125)

    def test_graphviz_accepts_the_graph(self) -> None:
        if shutil.which("dot") is None:
            self.skipTest("graphviz is not installed")
        for cell in cells():
            text = output_of("graph", "--workload", "parabola", *cell.arguments(),
                             "--format", "dot")
            drawn = subprocess.run(["dot", "-Tplain"], input=text, capture_output=True, text=True)
            with self.subTest(cell=cell):
                self.assertEqual((drawn.returncode, drawn.stderr), (0, ""))
                self.assertIn("\nedge ", drawn.stdout)


if __name__ == "__main__":
    run_tests()
