# SPDX-License-Identifier: Apache-2.0
"""Races every adapter on the parabola by `regatta run --program`, and plants faults that the proof
must name. A framework that is not installed is skipped: installing it takes gigabytes.

usage: ci/contenders/contenders_test.py REGATTA
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import environment as environments

FOLDER = Path(__file__).resolve().parent
REGATTA = str(Path(sys.argv.pop()).resolve()) if len(sys.argv) > 1 else ""
RUN = ("--cores", "1", "--seed", "1", "--steps", "40")
MISSING = {name: problem for name, each in environments.FRAMEWORKS.items()
           if (problem := environments.installed(each)[1])}


def strategies(script: str, names: str) -> dict[tuple[str, str], tuple[str, ...]]:
    return {(script, name): ("--strategy", name) for name in names.split()}


SYNCHRONOUS = {
    ("torch_ddp.py", "all_reduce"): (), ("torch_ddp.py", "compiled"): ("--compile",),
    ("torch_sharded.py", "sharded"): (), ("torch_tensor_parallel.py", "tensor_parallel"): (),
    ("torch_pipeline.py", "1f1b"): ("--microbatches", "2"),
    ("torch_pipeline.py", "gpipe"): ("--microbatches", "5", "--schedule", "gpipe"),
    ("jax_all_reduce.py", "all_reduce"): (),
    **strategies("torch_parameter_server.py", "parameter_server"),
    **strategies("tensorflow_strategies.py", "all_reduce all_reduce+reduce_to_one "
                 "all_reduce+hierarchical_copy central_storage")}
OTHERS = {
    **strategies("torch_ddp.py", "all_reduce+bf16_compress all_reduce+powersgd"),
    **strategies("torch_periodic.py", "local_sgd diloco"),
    **strategies("torch_parameter_server.py", "parameter_server_async"),
    ("tensorflow_parameter_server.py", "parameter_server_async"): ()}


def race(*options: str) -> dict:
    """The record of a run."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([REGATTA, "run", *RUN, *options, "--out", folder], check=False,
                              capture_output=True, text=True, cwd=FOLDER.parents[1])
        records = Path(folder, "records.jsonl")
        if not records.exists():
            raise AssertionError(done.stderr)
        return json.loads(records.read_text())


def contend(script: str, strategy: str, *options: str, workload: str = "parabola",
            workers: int = 2) -> dict:
    command = ["ci/contenders/environment.py", f"ci/contenders/{script}", *options]
    return race("--program", " ".join(command), "--strategy", strategy, "--workload", workload,
                "--workers", str(workers))


def require(test: unittest.TestCase, script: str) -> None:
    name = script.split("_")[0]
    if name in MISSING:
        test.skipTest(f"no {name} ({MISSING[name]}); fix: ci/contenders/environment.py {name}")


class Adapters(unittest.TestCase):
    def test_synchronous_ones_compute_what_single_computes(self) -> None:
        metric = race("--workload", "parabola", "--strategy", "single")["evaluations"][-1]["metric"]
        for (script, name), options in SYNCHRONOUS.items():
            with self.subTest(script=script, name=name):
                require(self, script)
                record = contend(script, name, *options)
                self.assertIsNone(record["failure"])
                self.assertLess(record["proof"]["loss_difference"], 1e-5)
                self.assertAlmostEqual(record["evaluations"][-1]["metric"] / metric, 1, places=4)

    def test_others_have_its_weights_order_and_first_gradient(self) -> None:
        for (script, name), options in OTHERS.items():
            with self.subTest(script=script, name=name):
                require(self, script)
                record = contend(script, name, *options)
                self.assertIsNone(record["failure"])
                self.assertLess(record["proof"]["gradient_difference"], 1e-5)


class PlantedFaults(unittest.TestCase):
    def named(self, fault: str, words: str, workload: str = "parabola", workers: int = 2) -> None:
        with self.subTest(fault=fault):
            require(self, "torch_ddp.py")
            failure = contend("torch_ddp.py", "all_reduce", "--plant", fault, workload=workload,
                              workers=workers)["failure"]
            self.assertIsNotNone(failure)
            self.assertIn("computed something else", json.dumps(failure))
            self.assertIn(words, json.dumps(failure))

    def test_are_named(self) -> None:
        self.named("order", "the order of examples is another")
        self.named("sum", "2 times as large: the gradient is the mean")
        self.named("weight_decay", "its update differs (optimizer, rate, weight decay")
        self.named("group", "the group of its statistics", "resnet9_thin", workers=1)


class EventFiles(unittest.TestCase):
    """TensorBoard's writer comes with TensorFlow's environment."""

    def test_hold_each_run_of_a_folder(self) -> None:
        require(self, "tensorflow_strategies.py")
        records = FOLDER.parents[1] / "results/epyc-zen3-2-cores/contenders"
        with tempfile.TemporaryDirectory() as out:
            subprocess.run([FOLDER / "environment.py", "tensorflow", "plots/event_files.py",
                            records, out], check=True, cwd=FOLDER.parents[1])
            runs = list(Path(out).iterdir())
            self.assertEqual(len(runs), 21)
            events = [next(run.iterdir()).read_bytes() for run in runs]
            self.assertTrue(all(b"metric" in each for each in events))
            # Programs tell no losses but those of the proof.
            self.assertEqual(sum(b"training loss" in each for each in events), 9)


if __name__ == "__main__":
    if set(MISSING) == set(environments.FRAMEWORKS):
        print(f"skipped: no framework is installed ({MISSING['torch']}); fix: ci/contenders/"
              "environment.py torch")
        sys.exit(77)
    unittest.main()
