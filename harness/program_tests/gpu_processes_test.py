# SPDX-License-Identifier: Apache-2.0
"""Workers on GPUs in several processes, on emulated GPUs: values between processes pass through
pinned memory of the host, and a run has the losses of one process. On images, whose evaluations
take minutes there, the parameters in a checkpoint are compared.

usage: gpu_processes_test.py REGATTA_REHEARSAL SCHEMA [unittest arguments]
Exits 77 (skipped) where mpirun is not installed.
"""

import signal
import unittest

from checkpoint_support import Run, counts_in, payload_of
from test_support import losses_of, record_of, run_tests, skip_without_mpirun

skip_without_mpirun()

PARABOLA_ON_GPUS = ("--workload", "parabola", "--steps", "50", "--device", "cuda", "--cuda-graph",
                    "off")
BATCH = 16
STEPS = 2  # to the checkpoint, and as many after it
# In bf16, as in ci/gpu; the rehearsal in ci/gpu_test.sh only begins that race.
IMAGES = ("--workload", "resnet9_thin", "--dataset", "shapes", "--dtype", "bf16", "--global-batch",
          str(BATCH), "--steps", str(2 * STEPS), "--checkpoint-every", str(STEPS), "--evaluate",
          "end", "--device", "cuda", "--cuda-graph", "off")
# The host adds in one order, wherever the replicas are.
SUMS = ("--all-reduce", "reduce_to_one")


def parameters_after_steps(*arguments: str) -> list[int]:
    """The bits of all stages' parameters and of the state of optimizers and normalisations,
    sorted because their order differs in several processes. The run ends before it is evaluated
    again."""
    run = Run(*arguments)
    file = run.await_examples(STEPS * BATCH)
    run.end(signal.SIGTERM)
    if counts_in(file)["examples"] != STEPS * BATCH:
        raise AssertionError(f"{file} is of {counts_in(file)['examples']} examples")
    return sorted(memoryview(payload_of(file)).cast("I"))


class OverTwoProcesses(unittest.TestCase):
    def check(self, *cell: str) -> None:
        self.assertEqual(losses_of(record_of(*cell, "--workers", "2", "--processes", "2")),
                         losses_of(record_of(*cell, "--workers", "2")))

    def test_values_of_places_have_the_bits_of_one_process(self) -> None:
        for strategy in ("in_graph", "central_storage", "model_parallel"):
            with self.subTest(strategy):
                self.check(*PARABOLA_ON_GPUS, "--strategy", strategy)

    def test_values_of_every_schedule_have_the_bits_of_one_process(self) -> None:
        for schedule in ("gpipe", "1f1b", "interleaved", "zero_bubble"):
            with self.subTest(schedule):
                self.check(*PARABOLA_ON_GPUS, "--strategy", "pipeline", "--schedule", schedule)

    def test_shares_and_sums_have_the_bits_of_one_process(self) -> None:
        for shard in ("optimizer", "gradients", "parameters"):
            with self.subTest(shard):
                self.check(*PARABOLA_ON_GPUS, "--strategy", "sharded", "--shard", shard)
        self.check(*PARABOLA_ON_GPUS, "--strategy", "all_reduce", *SUMS)

    def test_activations_and_gradients_of_images_have_the_bits_of_one_process(self) -> None:
        stages = (*IMAGES, "--strategy", "pipeline", "--microbatches", "2", "--workers", "2")
        two = parameters_after_steps(*stages, "--processes", "2")
        self.assertGreater(len(set(two)), 100_000)
        self.assertTrue(two == parameters_after_steps(*stages), "other bits than of one process")


if __name__ == "__main__":
    run_tests()
