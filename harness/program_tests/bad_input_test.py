# SPDX-License-Identifier: Apache-2.0
"""Tests the program's errors for bad input.

usage: bad_input_test.py REGATTA SCHEMA [unittest arguments]

Bad input gives exit code 1 and one line on stderr, before anything is written. A run that fails
later has exit code 2 and a record with the reason.
"""

import re
import subprocess
import unittest
from typing import Any

from test_support import fresh_folder, output_of, records_in, regatta, run_tests
from wrong_flags import WRONG_FLAGS

SHORT = ("--workload", "parabola", "--steps", "5")

NO_CUDA = "this build has no CUDA" in output_of("list", "devices")

PARABOLA = ("--workload", "parabola")
THIN = ("--workload", "resnet9_thin", "--steps", "8", "--global-batch", "32")


class BadInput(unittest.TestCase):
    def assert_refused(self, done: subprocess.CompletedProcess[str], expected: str) -> None:
        """Checks for exit code 1 and one line on stderr."""
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertRegex(done.stderr, rf"^regatta: .*{expected}")

    def assert_run_refused(self, flags: tuple[str, ...], expected: str) -> None:
        """Checks that a run is refused, and that nothing is printed or written."""
        out = fresh_folder() / "out"
        with self.subTest(flags=" ".join(flags)):
            done = regatta("run", *flags, "--out", str(out))
            self.assert_refused(done, expected)
            self.assertEqual(done.stdout, "")
            self.assertFalse(out.exists(), list(out.iterdir()) if out.exists() else "")


class CommandLine(BadInput):
    def test_of_nothing(self) -> None:
        self.assert_refused(regatta("run"), "--workload is required")

    def test_of_unknown_subcommands(self) -> None:
        self.assert_refused(regatta("grpah"), r"unknown subcommand 'grpah'; did you mean 'graph'\?")
        self.assert_refused(regatta("race", *SHORT), "unknown subcommand 'race'")
        self.assert_refused(regatta("--versoin"),
                            r"unknown flag '--versoin'; did you mean '--version'\?")

    def test_of_unknown_values_of_other_subcommands(self) -> None:
        self.assert_refused(regatta("list", "strategie"), r"did you mean 'strategies'\?")
        self.assert_refused(regatta("graph", *PARABOLA, "--format", "dott"),
                            r"unknown format 'dott'; did you mean 'dot'\?")
        self.assert_refused(regatta("graph", *PARABOLA, "--after", "fues"),
                            r"unknown pass 'fues'; did you mean 'fuse'\? "
                            r"\(valid: build fuse .* partition\)")
        self.assert_refused(regatta("graph", *PARABOLA, "--workers", "2"), "runs on one worker")
        self.assert_refused(regatta("graph", "--workload", "resnet9", "--global-batch", "33"),
                            r"groups of \d+ examples")
        self.assert_refused(regatta("doctor", "--data-dri", "x"), r"did you mean '--data-dir'\?")

    def test_of_unknown_workload(self) -> None:
        self.assert_run_refused(("--workload", "parabla"),
                                r"unknown workload 'parabla'; did you mean 'parabola'\?")

    def test_of_wrong_flags(self) -> None:
        for flags, expected in WRONG_FLAGS:
            words = (*PARABOLA, *flags.split())
            if not NO_CUDA or "--device cuda" not in flags:
                self.assert_run_refused(words, expected)
                continue
            self.assert_run_refused(words, "this build has no CUDA: .*--device cpu")
            if "--straggler" not in flags and "--trace" not in flags:  # flags that only runs have
                self.assert_refused(regatta("graph", *words), expected)

    def test_of_more_workers_than_groups(self) -> None:
        self.assert_run_refused(
            ("--workload", "resnet9_thin", "--global-batch", "32", "--strategy", "all_reduce",
             "--workers", "17"), r"17 workers: .* normalisation groups of \d+ .* 1 to \d+ workers")


class Bf16(BadInput):
    def test_where_onednn_may_use_avx2_only_names_the_way_out(self) -> None:
        done = regatta("run", *THIN, "--dtype", "bf16", "--out", str(fresh_folder()),
                       ONEDNN_MAX_CPU_ISA="AVX2")
        self.assert_refused(done, "oneDNN: .*AVX-512.*--dtype f32")


class Cuda(BadInput):
    def test_where_there_is_none_says_what_is_missing_and_what_to_do(self) -> None:
        line = next(line for line in regatta("list", "devices").stdout.splitlines()
                    if line.startswith("  cuda "))
        if "not here: " not in line:
            self.skipTest("this machine has a GPU")
        missing = line.partition("not here: ")[2]
        self.assertRegex(missing, r"(driver|no CUDA|no GPU).*--device cpu")
        self.assert_run_refused((*SHORT, "--device", "cuda"), re.escape(missing))
        self.assert_run_refused((*SHORT, "--device", "cuda", "--strategy", "all_reduce",
                                 "--workers", "2", "--processes", "2"), re.escape(missing))

    def test_ring_is_refused_where_the_environment_wants_another_algorithm(self) -> None:
        if NO_CUDA:
            self.skipTest("this build has no CUDA")
        flags = ("--device", "cuda", "--strategy", "all_reduce", "--workers", "2",
                 "--processes", "2")
        done = regatta("run", *SHORT, *flags, "--out", str(fresh_folder()), NCCL_ALGO="Tree")
        self.assert_refused(done, "--all-reduce ring, but NCCL_ALGO is 'Tree'.*--all-reduce nccl")


class OutputFolder(BadInput):
    def test_below_a_file(self) -> None:
        file = fresh_folder() / "file"
        file.write_text("kept")
        done = regatta("run", *SHORT, "--out", str(file / "out"))
        self.assert_refused(done, f"folder {file}/out: Not a directory; .*--out")
        self.assertEqual((done.stdout, file.read_text()), ("", "kept"))

    def test_that_the_system_refuses(self) -> None:
        done = regatta("run", *SHORT, "--out", "/proc/regatta")
        self.assert_refused(done, "cannot create the folder /proc/regatta: .*--out")
        self.assertEqual(done.stdout, "")


class TraceFile(BadInput):
    def test_that_cannot_be_written_stops_the_run_before_it_starts(self) -> None:
        self.assert_run_refused((*SHORT, "--trace", str(fresh_folder() / "none" / "trace.json")),
                                "cannot write .*: No such file.*--trace")
        self.assert_run_refused((*SHORT, "--trace", str(fresh_folder())),
                                "cannot write .*: it is a directory; .*--trace")


    def test_on_a_full_disk_does_not_cost_the_record(self) -> None:
        out = fresh_folder()
        done = regatta("run", *SHORT, "--trace", "/dev/full", "--out", str(out))
        self.assert_refused(done, "/dev/full: No space.*incomplete; .*--trace; the record is kept")
        (record,) = records_in(out)
        self.assertEqual(record["status"], "missed")


class DivergedRun(unittest.TestCase):
    def record_of(self, *flags: str) -> dict[str, Any]:
        out = fresh_folder()
        done = regatta("run", *flags, "--out", str(out))
        self.assertEqual((done.returncode, done.stderr), (2, ""))
        (record,) = records_in(out)
        self.assertEqual((record["status"], record["failure"]["kind"]), ("failed", "diverged"))
        self.assertIn(record["failure"]["text"], done.stdout)
        return record

    def failures(self, workload: tuple[str, ...]) -> dict[str, tuple[int, str]]:
        """Returns the step and the first tensor that each strategy's failure names."""
        found = {}
        for strategy in ("single", "all_reduce", "in_graph", "async_shared", "ad_psgd"):
            workers = () if strategy == "single" else ("--workers", "2")
            record = self.record_of(*workload, "--rate-scale", "1e9", "--strategy", strategy,
                                    *workers)
            text = record["failure"]["text"]
            named = re.fullmatch(
                r"(?:the loss|a gradient) is not finite at step (\d+) on replica\d+(?:; the first "
                r"tensor that is not finite)?: (variable \S+|the output of \w+ in layer \S+)", text)
            self.assertIsNotNone(named, text)
            self.assertGreater(record["training_ns"], 0)
            self.assertEqual(len(record["evaluations"]), 1)  # with the first weights
            found[strategy] = (int(named[1]), named[2])
        return found

    def test_of_the_parabola_names_step_and_tensor(self) -> None:
        found = self.failures(PARABOLA)
        step, tensor = found["single"]
        self.assertLess(step, 8)
        self.assertRegex(tensor, r"^(variable (hidden|output)\.|the output of)")
        self.assertEqual(found["all_reduce"], found["single"])
        self.assertEqual(found["in_graph"], found["single"])

    def test_seen_by_the_evaluation_says_so(self) -> None:
        diverges = self.record_of(*PARABOLA, "--rate-scale", "1e9")["failure"]["text"]
        steps = re.search(r"at step (\d+)", diverges)[1]  # the step that fails in training
        record = self.record_of(*PARABOLA, "--steps", steps, "--rate-scale", "1e9")
        self.assertRegex(record["failure"]["text"],
                         f"^in the evaluation after {steps} steps of training, .*first tensor")


if __name__ == "__main__":
    run_tests()
