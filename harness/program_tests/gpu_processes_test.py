# SPDX-License-Identifier: Apache-2.0
"""Workers on GPUs in several processes: what crosses the border between them passes through pinned
memory of the host, and a run has the losses of one process. On emulated GPUs.

usage: gpu_processes_test.py REGATTA_REHEARSAL SCHEMA [unittest arguments]
Exits 77 (skipped) where mpirun is not installed.
"""

import unittest

from test_support import PARABOLA, losses_of, record_of, run_tests, skip_without_mpirun

skip_without_mpirun()

PARABOLA_ON_GPUS = (*PARABOLA, "--device", "cuda", "--cuda-graph", "off")
IMAGES = ("--workload", "resnet9_thin", "--dataset", "shapes", "--global-batch", "16", "--steps",
          "2", "--evaluate", "end", "--device", "cuda", "--cuda-graph", "off")
# The host adds, in one order wherever the replicas are.
SUMS = ("--all-reduce", "reduce_to_one")


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
        self.check(*IMAGES, "--strategy", "pipeline", "--microbatches", "2")


if __name__ == "__main__":
    run_tests()
