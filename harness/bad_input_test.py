# SPDX-License-Identifier: Apache-2.0
"""What the program says to bad input, and that neither it nor a kill costs a record.

usage: bad_input_test.py REGATTA SCHEMA [unittest arguments]

Bad input is answered by exit code 1 and one line on stderr, before anything is written. A run that
fails later has exit code 2 and a record that says why.
"""

import os
import re
import signal
import subprocess
import time
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from test_support import (CIFAR_BYTES, REGATTA, fresh_folder, records_in, regatta, run_tests,
                          write_sparse_cifar10)

SHORT = ("--workload", "parabola", "--steps", "5")
CIFAR_RECORD_BYTES = 3073

PARABOLA = ("--workload", "parabola")
THIN = ("--workload", "resnet9_thin", "--steps", "8", "--global-batch", "32")

# Flags after --workload parabola, and what the error says.
WRONG_FLAGS: list[tuple[str, str]] = [
    # Names
    ("--strategy all_reduse", r"unknown strategy 'all_reduse'; did you mean 'all_reduce'\?"),
    ("--strategy all_reduce+model_paralel --workers 2 --stages 2",
     r"unknown strategy 'model_paralel'; did you mean 'model_parallel'\?"),
    ("--strategy single+", r"unknown strategy ''"),
    ("--dataset kurve", r"unknown dataset .*'kurve'; did you mean 'curve'\?"),
    ("--dataset shapes", r"unknown dataset for workload 'parabola' 'shapes'.*\(valid: curve\)"),
    ("--strategy all_reduce --workers 2 --all-reduce rign",
     r"unknown all_reduce algorithm 'rign'; did you mean 'ring'\?"),
    ("--strategy all_reduce --workers 2 --all-reduce mpi", r"--all-reduce mpi .*--processes 2"),
    ("--sharing relaxt", r"unknown sharing 'relaxt'; did you mean 'relaxed'\?"),
    ("--fusion of", r"unknown fusion 'of'.*\(valid: on off\)"),
    ("--dtype f23", r"unknown dtype 'f23'.*\(valid: f32 bf16\)"),
    ("--dtype bf16", r"unknown dtype for workload 'parabola' 'bf16'.*\(valid: f32\)"),
    ("--device cqu", r"unknown device 'cqu'; did you mean 'cpu'\?"),
    ("--straggle 1:2", r"unknown flag '--straggle'; did you mean '--straggler'\?"),
    ("--steps=5 --worker=2", r"unknown flag '--worker'; did you mean '--workers'\?"),
    ("surplus", r"not expected: surplus"),
    # Workers and stages
    ("--strategy all_reduce --workers 0", r"--workers is 0; at least 1"),
    ("--strategy all_reduce --workers -1", r"--workers is -1; at least 1"),
    ("--strategy all_reduce --workers 51", r"51 workers: a global batch of 50 .* 1 to 50 workers"),
    ("--strategy async_shared --workers 3 --global-batch 2", r"3 workers: .* 1 to 2 workers"),
    ("--workers 2", r"'single' runs on one worker"),
    ("--strategy model_parallel --workers 4", r"4 stages: this model has 3 layers"),
    ("--strategy all_reduce+model_parallel --workers 8 --stages 4", r"4 stages: .* 3 layers"),
    ("--strategy all_reduce+model_parallel --workers 4", r"give --stages a divisor"),
    ("--strategy all_reduce+model_parallel --workers 4 --stages 3", r"give --stages a divisor"),
    ("--strategy all_reduce+model_parallel --workers 4 --stages -2", r"give --stages a divisor"),
    ("--strategy all_reduce --workers 4 --stages 2", r"'all_reduce' needs --workers only"),
    ("--strategy all_reduce+in_graph --workers 2", r"already dealt to replicas"),
    # Servers and backup workers
    ("--strategy all_reduce --workers 2 --backup-workers 1",
     r"--backup-workers is for parameter_server; under strategy 'all_reduce'"),
    ("--strategy parameter_server_async --workers 2 --backup-workers 1",
     r"--backup-workers is for parameter_server; under strategy 'parameter_server_async'"),
    ("--backup-workers 1", r"--backup-workers is for parameter_server"),
    ("--strategy parameter_server --workers 2 --backup-workers -1", r"--backup-workers is -1"),
    ("--strategy parameter_server --workers 2 --backup-workers 1",
     r"--backup-workers 1: .* global batch of 50, .* draw 75 .* the data set has 50"),
    ("--strategy parameter_server --workers 2 --backup-workers 1 --global-batch 31",
     r"31 examples .* equal shares"),
    ("--strategy parameter_server --workers 2 --backup-workers 1 --global-batch 20 "
     "--staleness-bound 1", r"--staleness-bound is for parameter_server_async"),
    ("--strategy parameter_server --workers 2 --continue-on-loss",
     r"--continue-on-loss is for .*--backup-workers"),
    ("--strategy parameter_server --workers 2 --backup-workers 1 --global-batch 20 --servers 2 "
     "--continue-on-loss", r"--continue-on-loss with --backup-workers needs --servers 1"),
    # Stragglers
    ("--straggler 1", r"'1' is not WORKER:FACTOR"),
    ("--straggler 0:fast", r"'0:fast' is not WORKER:FACTOR"),
    ("--straggler 0:2.0x", r"'0:2.0x' is not WORKER:FACTOR"),
    ("--straggler 1:2.0", r"--straggler 1:2: workers are 0 to 0 and factors 1 to"),
    ("--straggler -1:2.0", r"--straggler -1:2: workers are 0 to 0"),
    ("--straggler 0:0.5", r"--straggler 0:0.5: .* factors 1 to"),
    ("--straggler 0:nan", r"--straggler 0:nan: .* factors 1 to"),
    ("--straggler 0:inf", r"--straggler 0:inf: .* factors 1 to"),
    # Length and batch
    ("--steps 0", r"at least one step"),
    ("--steps -5", r"at least one step"),
    ("--steps 99999999999999", r"a run has at most \d+ steps"),
    ("--epochs 0", r"at least one step"),
    ("--epochs nan", r"at least one step"),
    ("--epochs 1e300", r"a run has at most \d+ steps"),
    ("--epochs 1 --steps 1", r"--epochs or --steps, not both"),
    ("--global-batch 0", r"--global-batch is 0; the data set has 50 examples"),
    ("--global-batch 51", r"--global-batch is 51; the data set has 50 examples"),
    # Checkpoints
    ("--checkpoint-every 0", r"--checkpoint-every is 0; at least 1 step"),
    ("--strategy parameter_server_async --workers 2 --continue-on-loss --checkpoint-every 5",
     r"--continue-on-loss excludes --checkpoint-every and --resume"),
    ("--resume nowhere", r"--resume nowhere: No such file .*OUT/checkpoints/RUN_ID"),
    ("--resume /dev/null", r"--resume /dev/null: this is not a file"),
    # Numbers
    ("--workers two", r"--workers = two"),
    ("--workers 2.5", r"--workers = 2\.5"),
    ("--steps many", r"--steps = many"),
    ("--epochs all", r"--epochs = all"),
    ("--seed one", r"--seed: 'one' is not a whole number"),
    ("--seed -1", r"--seed: '-1' is not a whole number"),
    ("--seed 99999999999999999999", r"--seed: .* is not a whole number"),
    ("--target high", r"--target = high"),
    ("--target nan", r"--target is a finite number"),
    ("--rate-scale 0", r"--rate-scale is a finite factor greater than 0"),
    ("--rate-scale inf", r"--rate-scale is a finite factor greater than 0"),
    ("--bucket-bytes -1", r"--bucket-bytes is 0 or more"),
    ("--threads 9999", r"--threads is 9999; this process may use \d+ cores"),
    ("--threads -1", r"--threads is 0 or more"),
    ("--workers 1 --workers 1", r"--workers: At Most 1 required but received 2"),
]


@contextmanager
def small_disk(size: str, *options: str) -> Iterator[Path]:
    """A file system in memory. Skips the test where it cannot be mounted."""
    folder = fresh_folder()
    flags = ",".join((f"size={size}", *options))
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", flags, "tmpfs", str(folder)],
                             capture_output=True, text=True)
    if mounted.returncode != 0:
        raise unittest.SkipTest(f"mounting a small file system: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


class BadInput(unittest.TestCase):
    def assert_refused(self, done: subprocess.CompletedProcess[str], expected: str) -> None:
        """Exit code 1 and one line on stderr."""
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertRegex(done.stderr, rf"^regatta: .*{expected}")

    def assert_run_refused(self, flags: tuple[str, ...], expected: str) -> None:
        """And nothing printed, nothing written."""
        out = fresh_folder() / "out"
        with self.subTest(flags=" ".join(flags)):
            done = regatta("run", *flags, "--out", str(out))
            self.assert_refused(done, expected)
            self.assertEqual(done.stdout, "")
            self.assertFalse(out.exists(), list(out.iterdir()) if out.exists() else "")


class CommandLine(BadInput):
    def test_of_nothing(self) -> None:
        self.assert_refused(regatta(),
                            "a subcommand is required .*run matrix report compare list graph")
        self.assert_refused(regatta("run"), "--workload is required")

    def test_of_unknown_subcommands(self) -> None:
        self.assert_refused(regatta("grpah"), r"unknown subcommand 'grpah'; did you mean 'graph'\?")
        self.assert_refused(regatta("race", *SHORT), "unknown subcommand 'race'")
        self.assert_refused(regatta("--versoin"), "unknown flag '--versoin'")

    def test_of_unknown_values_of_other_subcommands(self) -> None:
        self.assert_refused(regatta("list", "strategie"), r"did you mean 'strategies'\?")
        self.assert_refused(regatta("graph", *PARABOLA, "--format", "dott"),
                            r"unknown format 'dott'; did you mean 'dot'\?")
        self.assert_refused(regatta("graph", *PARABOLA, "--workers", "2"), "runs on one worker")
        self.assert_refused(regatta("graph", "--workload", "resnet9", "--global-batch", "33"),
                            r"groups of \d+ examples")
        self.assert_refused(regatta("doctor", "--data-dri", "x"), r"did you mean '--data-dir'\?")

    def test_of_unknown_workload(self) -> None:
        self.assert_run_refused(("--workload", "parabla"),
                                r"unknown workload 'parabla'; did you mean 'parabola'\?")

    def test_of_wrong_flags(self) -> None:
        for flags, expected in WRONG_FLAGS:
            self.assert_run_refused((*PARABOLA, *flags.split()), expected)

    def test_of_a_batch_that_is_not_whole_groups(self) -> None:
        self.assert_run_refused(
            ("--workload", "resnet9_thin", "--global-batch", "33"),
            r"--global-batch is 33; .* groups of \d+ examples, so it is a multiple of \d+")

    def test_of_more_workers_than_groups(self) -> None:
        self.assert_run_refused(
            ("--workload", "resnet9_thin", "--global-batch", "32", "--strategy", "all_reduce",
             "--workers", "17"), r"17 workers: .* normalisation groups of \d+ .* 1 to \d+ workers")


class Bf16(BadInput):
    def test_where_onednn_may_use_avx2_only_names_the_way_out(self) -> None:
        done = regatta("run", *THIN, "--dtype", "bf16", "--out", str(fresh_folder()),
                       ONEDNN_MAX_CPU_ISA="AVX2")
        self.assert_refused(done, "oneDNN: .*AVX-512.*--dtype f32")


class Cifar10(BadInput):
    def folder(self) -> Path:
        folder = fresh_folder() / "cifar"
        write_sparse_cifar10(folder)
        return folder

    def assert_data_refused(self, folder: Path, expected: str) -> None:
        self.assert_run_refused(
            ("--workload", "resnet9_thin", "--dataset", "cifar10", "--data-dir", str(folder)),
            expected + ".*ci/fetch_cifar10.*--dataset shapes")

    def test_without_a_folder(self) -> None:
        self.assert_data_refused(fresh_folder() / "none", "there is no folder")

    def test_without_a_file(self) -> None:
        for name in ("data_batch_3.bin", "test_batch.bin"):
            folder = self.folder()
            (folder / name).unlink()
            self.assert_data_refused(folder, f"{name} is missing")

    def test_with_a_truncated_file(self) -> None:
        folder = self.folder()
        os.truncate(folder / "data_batch_2.bin", CIFAR_BYTES - 1)
        self.assert_data_refused(folder, "data_batch_2.bin is truncated: 30729999 bytes instead of")

    def test_with_an_over_long_file(self) -> None:
        folder = self.folder()
        os.truncate(folder / "data_batch_5.bin", CIFAR_BYTES + CIFAR_RECORD_BYTES)
        self.assert_data_refused(folder, "data_batch_5.bin is too long: 30733073 bytes instead of")

    def test_with_a_mislabelled_file(self) -> None:
        folder = self.folder()
        with open(folder / "data_batch_1.bin", "r+b") as file:
            file.seek(7 * CIFAR_RECORD_BYTES)
            file.write(b"\x0a")
        self.assert_data_refused(folder, "data_batch_1.bin is mislabelled: record 7 has label 10")


class OutputFolder(BadInput):
    def test_below_a_file(self) -> None:
        file = fresh_folder() / "file"
        file.write_text("kept")
        done = regatta("run", *SHORT, "--out", str(file / "out"))
        self.assert_refused(done, f"folder {file}/out: Not a directory; .*--out")
        self.assertEqual((done.stdout, file.read_text()), ("", "kept"))

    def test_that_the_system_refuses(self) -> None:
        done = regatta("run", *SHORT, "--out", "/proc/regatta")
        self.assert_refused(done, "cannot create the output folder /proc/regatta: .*--out")
        self.assertEqual(done.stdout, "")

    def test_on_a_read_only_disk(self) -> None:
        with small_disk("64k", "ro") as disk:
            done = regatta("run", *SHORT, "--out", str(disk))
            self.assert_refused(done, "records.jsonl: Read-only file system; .*--out")
            self.assertEqual(done.stdout, "")

    def test_on_a_full_disk_keeps_the_records(self) -> None:
        with small_disk("64k") as disk:
            file = disk / "records.jsonl"
            self.assertEqual(regatta("run", *SHORT, "--out", str(disk)).returncode, 0)
            first = file.read_bytes()
            with self.assertRaises(OSError), open(disk / "filler", "wb", buffering=0) as filler:
                while filler.write(bytes(1024)):
                    pass
            for _ in range(3):  # what is left of a page takes a record or a part of one
                done = regatta("run", *SHORT, "--out", str(disk))
                if done.returncode != 0:
                    break
                first = file.read_bytes()
            self.assert_refused(done, "cannot append to .*records already in it are whole, .*--out")
            self.assertEqual(file.read_bytes(), first)
            (disk / "filler").unlink()
            self.assertEqual(regatta("run", *SHORT, "--out", str(disk)).returncode, 0)
            self.assertEqual(file.read_bytes()[: len(first)], first)
            self.assertEqual(file.read_bytes().count(b"\n"), first.count(b"\n") + 1)


class TraceFile(BadInput):
    def test_that_cannot_be_written_stops_the_run_before_it_starts(self) -> None:
        self.assert_run_refused((*SHORT, "--trace", str(fresh_folder() / "none" / "trace.json")),
                                "cannot write the trace to .*No such file.*--trace")
        self.assert_run_refused((*SHORT, "--trace", str(fresh_folder())),
                                "cannot write the trace to .*Is a directory.*--trace")

    def test_on_a_full_disk_does_not_cost_the_record(self) -> None:
        out = fresh_folder()
        done = regatta("run", *SHORT, "--trace", "/dev/full", "--out", str(out))
        self.assert_refused(done, "/dev/full is incomplete.*the record is kept.*--trace")
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
        """The step and the first tensor, by strategy."""
        found = {}
        for strategy in ("single", "all_reduce", "in_graph", "async_shared"):
            workers = () if strategy == "single" else ("--workers", "2")
            record = self.record_of(*workload, "--rate-scale", "1e9", "--strategy", strategy,
                                    *workers)
            text = record["failure"]["text"]
            named = re.fullmatch(
                r"the loss is not finite at step (\d+) on replica\d+; the first tensor that is not "
                r"finite: (variable \S+|the output of \w+ in layer \S+)", text)
            self.assertIsNotNone(named, text)
            self.assertGreater(record["training_ns"], 0)
            self.assertEqual(len(record["evaluations"]), 1)  # that of the first weights
            found[strategy] = (int(named[1]), named[2])
        return found

    def test_of_the_parabola_names_step_and_tensor(self) -> None:
        found = self.failures(PARABOLA)
        step, tensor = found["single"]
        self.assertLess(step, 8)
        self.assertRegex(tensor, r"^(variable (hidden|output)\.|the output of)")
        self.assertEqual(found["all_reduce"], found["single"])
        self.assertEqual(found["in_graph"], found["single"])

    def test_of_resnet9_thin_names_step_and_tensor(self) -> None:
        found = self.failures(THIN)
        self.assertEqual(found["all_reduce"], found["single"])
        self.assertEqual(found["in_graph"], found["single"])
        for step, tensor in found.values():
            self.assertLess(step, 8)
            self.assertNotIn("mean_squared_error", tensor)

    def test_seen_by_the_evaluation_says_so(self) -> None:
        diverges = self.record_of(*PARABOLA, "--rate-scale", "1e9")["failure"]["text"]
        steps = re.search(r"at step (\d+)", diverges)[1]  # after as many steps it is too late
        record = self.record_of(*PARABOLA, "--steps", steps, "--rate-scale", "1e9")
        self.assertRegex(record["failure"]["text"],
                         f"^in the evaluation after {steps} steps of training, .*first tensor")


class Kill(unittest.TestCase):
    def test_during_a_run_leaves_the_records_whole(self) -> None:
        out = fresh_folder()
        file = out / "records.jsonl"
        self.assertEqual(regatta("run", *SHORT, "--out", str(out)).returncode, 0)
        first = file.read_bytes()
        long_run = [REGATTA, "run", *PARABOLA, "--steps", "3000000", "--out", str(out)]
        with subprocess.Popen(long_run, stdout=subprocess.PIPE, text=True) as running:
            self.assertIn("step 0", running.stdout.readline())
            time.sleep(0.2)
            running.kill()
        self.assertEqual(running.returncode, -signal.SIGKILL)
        self.assertEqual(file.read_bytes(), first)
        self.assertEqual(regatta("run", *SHORT, "--out", str(out)).returncode, 0)
        self.assertEqual(file.read_bytes()[: len(first)], first)
        self.assertEqual(file.read_bytes().count(b"\n"), 2)

    def test_at_any_moment_leaves_only_whole_lines(self) -> None:
        out = fresh_folder()
        for delay_ms in range(0, 60, 4):
            with subprocess.Popen([REGATTA, "run", *SHORT, "--out", str(out)],
                                  stdout=subprocess.DEVNULL) as running:
                time.sleep(delay_ms * 1e-3)
                running.kill()
        self.assertEqual(regatta("run", *SHORT, "--out", str(out)).returncode, 0)
        self.assertTrue((out / "records.jsonl").read_text().endswith("\n"))
        for record in records_in(out):
            self.assertEqual(record["cell"]["workload"], "parabola")


if __name__ == "__main__":
    run_tests()
