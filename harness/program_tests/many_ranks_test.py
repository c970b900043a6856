# SPDX-License-Identifier: Apache-2.0
"""Many more ranks than cores: they start, agree, train and end.

usage: many_ranks_test.py REGATTA SCHEMA [unittest arguments]
Exits 77 (skipped) where mpirun or python3-jsonschema is not installed.
"""

import unittest

from run_support import START_LIMIT_S
from test_support import losses_of, record_of, record_validator, run_tests, skip_without_mpirun

skip_without_mpirun()
VALIDATOR = record_validator()
RANKS = 16
PARABOLA = ("--workload", "parabola", "--workers", str(RANKS), "--steps", "20")


class ManyRanks(unittest.TestCase):
    def check(self, *arguments: str, processes: int) -> None:
        record = record_of(*PARABOLA, *arguments)
        self.assertEqual([error.message for error in VALIDATOR.iter_errors(record)], [])
        self.assertEqual(record["cell"]["processes"], processes)
        self.assertLess(record["setup_ns"] * 1e-9, START_LIMIT_S)

    def test_reduce_as_the_workers_of_one_process_do(self) -> None:
        flags = ("--strategy", "all_reduce", "--processes", str(RANKS))
        self.check(*flags, processes=RANKS)
        alone = record_of(*PARABOLA, "--strategy", "all_reduce")
        self.assertEqual(losses_of(record_of(*PARABOLA, *flags)), losses_of(alone))

    def test_hold_a_stage_each(self) -> None:
        """64 ranks of 32 replicas: the parabola's batch has 50 examples."""
        staged = ("--workload", "parabola", "--strategy", "all_reduce+model_parallel",
                  "--workers", "64", "--stages", "2", "--steps", "20")
        record = record_of(*staged, "--processes", "64", "--stages-per-process", "1")
        self.assertEqual({worker["rank"] for worker in record["workers"]}, set(range(64)))
        self.assertLess(record["setup_ns"] * 1e-9, START_LIMIT_S)
        self.assertEqual(losses_of(record), losses_of(record_of(*staged)))

    def test_push_to_servers(self) -> None:
        for strategy in ("parameter_server", "parameter_server_async"):
            self.check("--strategy", strategy, "--servers", "2", processes=RANKS + 2)


if __name__ == "__main__":
    run_tests()
