# SPDX-License-Identifier: Apache-2.0
"""Errors of one rank of several, differences between ranks, and the messages for both.

usage: rank_errors_test.py REGATTA SCHEMA [unittest arguments]
Exits 77 (skipped) where mpirun or python3-jsonschema is not installed.
"""

import contextlib
import re
import unittest

from run_support import path_to_wrapped_mpirun
from test_support import (PARABOLA, fresh_folder, records_in, regatta, run_tests,
                          skip_without_mpirun, write_sparse_cifar10)

skip_without_mpirun()

TWO_RANKS = ("--strategy", "all_reduce", "--workers", "2", "--processes", "2")


class BadInput(unittest.TestCase):
    def refusal(self, *arguments: str, **environment: str) -> str:
        folder = fresh_folder()
        done = regatta("run", *arguments, "--out", str(folder), **environment)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertFalse((folder / "records.jsonl").exists())
        return done.stderr

    def test_is_refused_before_a_rank_starts(self) -> None:
        two = ("--workers", "2", "--processes", "2")
        for arguments, text in (
                (("--strategy", "async_shared", *two),
                 r"'async_shared' keeps its parameters in memory that all workers share, so it "
                 r"runs in one process; fix: leave --processes out"),
                (("--strategy", "ad_psgd+model_parallel", "--workers", "4", "--stages", "2",
                  "--processes", "4"), r"have all of their stages in one; fix: give fewer"),
                (("--processes", "2"), r"--processes is 2, but there is only 1 replica"),
                (("--strategy", "model_parallel", "--workers", "3", "--processes", "4"),
                 r"--processes is 4, but there are only 3 stages of 1 replica"),
                (("--strategy", "all_reduce", "--workers", "2", "--processes", "3"),
                 r"--processes is 3, but there are only 2 replicas"),
                (("--strategy", "all_reduce", "--workers", "2", "--processes", "0"),
                 r"--processes is 0; at least 1"),
                (("--strategy", "all_reduce", *two, "--continue-on-loss"),
                 r"--continue-on-loss is for servers that do without a worker"),
                (("--strategy", "all_reduce", *two, "--hosts", "/dev/null"),
                 r"--hosts needs --listen"),
                (("--strategy", "all_reduce", *two, "--hosts", "/dev/null", "--listen",
                  "127.0.0.1"), r"--listen 127\.0\.0\.1 .*cannot be reached from other"),
                (("--strategy", "all_reduce", *two, "--listen", "203.0.113.1"),
                 r"cannot listen at 203\.0\.113\.1:0: .*no address of this machine; fix: give --l"),
        ):
            with self.subTest(arguments=arguments):
                self.assertRegex(self.refusal(*PARABOLA, *arguments), text)

    def test_is_a_missing_mpirun(self) -> None:
        error = self.refusal(*PARABOLA, *TWO_RANKS, PATH="/nonexistent")
        self.assertRegex(error, r"cannot start mpirun: No such file.*apt-get install openmpi-bin")

    def refusal_of_rank_1(self, workload: tuple[str, ...], before: tuple[str, ...] = (),
                          after: tuple[str, ...] = ()) -> str:
        return self.refusal(*workload, *TWO_RANKS, PATH=path_to_wrapped_mpirun(before, after))

    def test_of_one_rank_shows_both_sides(self) -> None:
        error = self.refusal_of_rank_1(PARABOLA, after=("--seed", "7", "--global-batch", "40"))
        self.assertRegex(error, r"do not agree.*rank 1 \(replica1, process \d+ on \S+\): "
                                r"global_batch \(50 here, 40 there\), "
                                r"seed \(1 here, 7 there\), graph ")
        self.assertNotIn("rank 0", error)

    def test_of_one_rank_may_be_its_dtype_fusion_recipe_and_buckets(self) -> None:
        error = self.refusal_of_rank_1(
            ("--workload", "resnet9_thin", "--dataset", "shapes", "--global-batch", "64"),
            after=("--dtype", "bf16", "--fusion", "off", "--rate-scale", "2", "--bucket-bytes",
                   "65536"))
        self.assertRegex(error, r"do not agree.*rank 1 \(replica1, .*\): "
                                r"options \(.*=4194304, width=16 here, .*=65536, width=16 there\), "
                                r"dtype \(f32 here, bf16 there\), fusion \(on here, off there\), "
                                r"(winograd \(on here, off there\), )?"  # bf16 by AMX
                                r"rate_scale \(1 here, 2 there\), "
                                r"buckets \(1 of .* here, \d+ of .* there\), "
                                r"graph \(\d+ nodes, \w+ here, \d+ nodes, \w+ there\)\n$")
        self.assertNotIn("rank 0", error)

    def test_of_one_rank_may_be_a_byte_of_its_data(self) -> None:
        folders = fresh_folder(), fresh_folder()
        for folder in folders:
            write_sparse_cifar10(folder / "cifar-10-batches-bin")
        with open(folders[1] / "cifar-10-batches-bin/data_batch_3.bin", "r+b") as file:
            file.seek(1_000_000)
            file.write(b"\x01")
        with contextlib.chdir(folders[0]):
            error = self.refusal_of_rank_1(("--workload", "resnet9_thin", "--dataset", "cifar10",
                                            "--data", "unverified"),
                                           before=("env", "-C", str(folders[1])))
        self.assertRegex(error, r"do not agree.*rank 1 .*: data \(50000 examples of cifar10, "
                                r"\w+ here, 50000 examples of cifar10, \w+ there\)\n$")

    def test_of_a_rank_is_told_with_its_rank(self) -> None:
        error = self.refusal_of_rank_1(PARABOLA, after=("--dataset", "shapes"))
        self.assertRegex(error, r"rank 1 .*unknown dataset for workload 'parabola' 'shapes'")

    def test_of_a_rank_is_too_little_memory(self) -> None:
        error = self.refusal_of_rank_1(
            ("--workload", "resnet9", "--dataset", "shapes", "--global-batch", "4096"),
            before=("prlimit", f"--as={2 << 30}"))
        self.assertRegex(error, r"rank 1 .*: (out of|there is not enough) memory.*batch or fewer")


class Divergence(unittest.TestCase):
    def failure_of(self, *arguments: str) -> str:
        """The text of the failed row; the row must have the measurements of all ranks."""
        folder = fresh_folder()
        done = regatta("run", *arguments, "--out", str(folder))
        self.assertEqual((done.returncode, done.stderr), (2, ""))
        (record,) = records_in(folder)
        self.assertEqual((record["status"], record["failure"]["kind"]), ("failed", "diverged"))
        ranks = {worker["rank"] for worker in record["workers"]}
        self.assertEqual(ranks, set(range(record["cell"]["processes"])))
        return record["failure"]["text"]

    def test_of_one_rank_long_before_the_other_names_rank_step_and_tensor(self) -> None:
        for first in (0, 1):  # the other rank is in its first step when this one has taken many
            text = self.failure_of("--workload", "resnet9_thin", "--dataset", "shapes",
                                   "--global-batch", "32", "--steps", "100", "--rate-scale", "1e9",
                                   "--strategy", "independent", "--workers", "2", "--processes",
                                   "2", "--straggler", f"{1 - first}:60")
            with self.subTest(first=first):
                self.assertRegex(text, rf"^rank {first} \(replica{first}, process \d+ on \S+\): "
                                       r"(the loss|a gradient) is not finite at step [1-7] on "
                                       rf"replica{first}(; the first tensor that is not finite)?: "
                                       r"(variable \S+|the output of \w+ in layer \S+)$")

    def test_of_the_loss_of_one_rank_alone_says_what_one_process_says(self) -> None:
        """With these weights and this rate the first update makes outputs whose squares
        overflow, but only for points right of zero. Worker 1 has these, and is last."""
        cell = (*PARABOLA, "--seed", "6", "--rate-scale", "1e21", "--workers", "2", "--straggler",
                "1:1000")
        for strategy, rank in (("all_reduce", 1), ("parameter_server", 2)):
            one = self.failure_of(*cell, "--strategy", strategy, "--processes", "1")
            self.assertRegex(one, "^the loss is not finite at step 1 on replica1; the first tensor "
                                  "that is not finite: the output of mean_squared_error in layer "
                                  "loss$")
            several = self.failure_of(*cell, "--strategy", strategy, "--processes", "2")
            with self.subTest(strategy=strategy):
                self.assertRegex(several, rf"^rank {rank} \(replica1, process \d+ on \S+\): "
                                          f"{re.escape(one)}$")


if __name__ == "__main__":
    run_tests()
