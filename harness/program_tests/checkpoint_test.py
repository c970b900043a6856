# SPDX-License-Identifier: Apache-2.0
"""Runs that are killed and go on from their checkpoint, against runs in one piece.

usage: checkpoint_test.py REGATTA SCHEMA [unittest arguments]
Exits 77 (skipped) where python3-jsonschema is not installed.
"""

import functools
import os
import random
import shutil
import signal
import subprocess
import time
import unittest
from pathlib import Path
from typing import Any

from costs_support import costs_of_sums
from test_support import (REGATTA, fresh_folder, record_validator, records_in, regatta, run_tests,
                          small_disk, soon)

VALIDATOR = record_validator()

BATCH = 32
STEPS = 24
THIN = ("--workload", "resnet9_thin", "--dataset", "shapes", "--global-batch", str(BATCH),
        "--steps", str(STEPS))
THIN_TO_THE_END = (*THIN, "--evaluate", "end")
EVERY = 6
POINTS = 50
PARABOLA_STEPS = 20_000
PARABOLA = ("--workload", "parabola", "--steps", str(PARABOLA_STEPS))
PARABOLA_EVERY = ("--checkpoint-every", "50")


def record_of(*arguments: str, folder: Path) -> dict[str, Any]:
    """The last record of a run that finishes."""
    done = regatta("run", *arguments, "--out", str(folder))
    if done.returncode != 0:
        raise AssertionError(f"{arguments}: exit code {done.returncode}: {done.stderr}")
    return records_in(folder)[-1]


@functools.cache
def in_one_piece(*arguments: str) -> dict[str, Any]:
    return record_of(*arguments, folder=fresh_folder())


def counts_in(file: Path) -> dict[str, int]:
    """The counts with which a checkpoint begins; its lengths have to be the file's."""
    data = file.read_bytes()
    magic, version, header, payload = (data[i:i + 8] for i in range(0, 32, 8))
    if magic != b"RGTCKPT\n" or int.from_bytes(version, "little") != 7:
        raise AssertionError(f"{file} begins with {data[:16]!r}")
    sizes = [int.from_bytes(word, "little") for word in (header, payload)]
    if len(data) != 32 + sum(sizes) + 8:
        raise AssertionError(f"{file} has {len(data)} bytes, not 40 and {sizes}")
    counts: dict[str, int] = {}
    at = 32
    while "time_ns" not in counts:
        begin, end = at + 8, at + 8 + int.from_bytes(data[at:at + 8], "little")
        name, at = data[begin:end].decode(), end
        if name != "checkpoints":  # the fields of that one follow
            counts[name], at = int.from_bytes(data[end:end + 8], "little"), end + 8
    return counts


class Run:
    """A race that leaves checkpoints."""

    def __init__(self, *arguments: str, folder: Path | None = None) -> None:
        self.folder = folder or fresh_folder()
        self.process = subprocess.Popen([REGATTA, "run", *arguments, "--out", str(self.folder)],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def checkpoint(self) -> Path | None:
        found = list((self.folder / "checkpoints").glob("*/checkpoint"))
        return found[0] if found else None

    def examples(self) -> int:
        """That the checkpoint holds; -1: there is none yet, or none any more."""
        file = self.checkpoint()
        try:
            return -1 if file is None else counts_in(file)["examples"]
        except FileNotFoundError:
            return -1

    def await_examples(self, examples: int) -> Path:
        if not soon(lambda: self.examples() >= examples or self.process.poll() is not None, 120):
            self.process.kill()
        file = self.checkpoint()
        if self.process.poll() is not None or file is None:
            raise AssertionError(f"no checkpoint: {self.process.communicate()}")
        return file

    def end(self, number: int) -> str:
        """By a signal; what it said on stderr."""
        self.process.send_signal(number)
        errors: str = self.process.communicate(timeout=60)[1]
        if self.process.returncode != -number:
            raise AssertionError(f"exit code {self.process.returncode}: {errors}")
        return errors


def results_of(record: dict[str, Any]) -> dict[str, Any]:
    """What does not depend on time."""
    evaluations = [{key: value for key, value in evaluation.items() if not key.endswith("_ns")}
                   for evaluation in record["evaluations"]]
    steps = {worker["place"]: worker["steps"] for worker in record["workers"]}
    arrivals = {worker["place"]: worker["late_ns"] and worker["late_ns"]["count"]
                for worker in record["workers"]}
    return {"evaluations": evaluations, "losses": record["losses"], "steps": steps,
            "arrivals": arrivals,
            "checksums": record["checksums"], "status": record["status"],
            "bytes": record["graph"]["bytes_per_step_counted"],
            "step_count": record["step_time_ns"]["count"],
            "examples_to_target": record["examples_to_target"]}


class Checkpoints(unittest.TestCase):
    def check_resumed(self, record: dict[str, Any], file: Path, counts: dict[str, int]) -> None:
        errors = VALIDATOR.iter_errors(record)
        self.assertEqual([error.message for error in errors], [])
        self.assertEqual(record["resumed"], {"run_id": file.parent.name, "from": str(file.parent),
                                             "examples": counts["examples"]})
        self.assertGreater(record["training_ns"], counts["training_ns"])
        self.assertGreater(record["full_ns"], counts["full_ns"])
        times = [evaluation["training_time_ns"] for evaluation in record["evaluations"]]
        self.assertEqual(times, sorted(times))
        self.assertGreater(record["checkpoints"]["written"], counts["written"])
        self.assertGreater(record["checkpoints"]["time_ns"], 0)
        self.assertFalse(file.parent.exists(), "a finished run removes its checkpoints")

    def killed_and_resumed(self, *arguments: str, batch: int = BATCH) -> dict[str, Any]:
        """Killed at a checkpoint that is neither the first nor at an evaluation."""
        every = ("--checkpoint-every", str(EVERY))
        run = Run(*arguments, *every)
        file = run.await_examples(2 * EVERY * batch)
        run.end(signal.SIGKILL)
        self.assertFalse((run.folder / "records.jsonl").read_text())
        counts = counts_in(file)
        record = record_of(*arguments, *every, "--resume", str(file.parent), folder=run.folder)
        self.check_resumed(record, file, counts)
        return record

    def check_bits(self, *arguments: str) -> None:
        record = self.killed_and_resumed(*arguments)
        self.assertEqual(results_of(record), results_of(in_one_piece(*arguments)))

    def test_resume_single_bit_for_bit(self) -> None:
        self.check_bits(*THIN)

    def test_resume_all_reduce_bit_for_bit(self) -> None:
        self.check_bits(*THIN, "--strategy", "all_reduce", "--workers", "2")

    def test_resume_sums_as_they_were_picked(self) -> None:
        picks = ("--strategy", "all_reduce", "--workers", "3", "--all-reduce", "auto", "--costs")
        costs = costs_of_sums("double_tree", 3, 1)
        self.check_bits(*THIN_TO_THE_END, *picks, str(costs))
        run = Run(*THIN_TO_THE_END, *picks, str(costs), "--checkpoint-every", str(EVERY))
        file = run.await_examples(2 * EVERY * BATCH)
        run.end(signal.SIGKILL)
        costs.write_text(costs_of_sums("reduce_to_one", 3, 1).read_text())
        done = regatta("run", *THIN_TO_THE_END, *picks, str(costs), "--checkpoint-every",
                       str(EVERY), "--resume", str(file.parent), "--out", str(run.folder))
        self.assertEqual(done.returncode, 1)
        self.assertIn("the checkpoint is of another run than the one asked for: graph", done.stderr)
        self.assertTrue(file.exists())

    def test_resume_stages_of_replicas_bit_for_bit(self) -> None:
        self.check_bits(*THIN_TO_THE_END, "--strategy", "all_reduce+model_parallel",
                        "--workers", "4", "--stages", "2")

    @unittest.skipIf(shutil.which("mpirun") is None, "mpirun is not installed")
    def test_resume_all_reduce_over_ranks_bit_for_bit(self) -> None:
        self.check_bits(*THIN_TO_THE_END, "--strategy", "all_reduce", "--workers", "2",
                        "--processes", "2")

    @unittest.skipIf(shutil.which("mpirun") is None, "mpirun is not installed")
    def test_resume_shares_over_ranks_bit_for_bit(self) -> None:
        self.check_bits(*THIN_TO_THE_END, "--strategy", "sharded", "--workers", "3", "--shard",
                        "parameters", "--processes", "2")

    @unittest.skipIf(shutil.which("mpirun") is None, "mpirun is not installed")
    def test_resume_places_over_ranks_bit_for_bit(self) -> None:
        for strategy, *workers in (
                ("in_graph", "--workers", "2"), ("central_storage", "--workers", "2"),
                ("model_parallel", "--workers", "3"), ("tensor_parallel", "--workers", "2"),
                ("all_reduce+model_parallel", "--workers", "4", "--stages", "2",
                 "--stages-per-process", "1")):
            with self.subTest(strategy=strategy):
                self.check_bits(*THIN_TO_THE_END, "--strategy", strategy, *workers,
                                "--processes", "2")

    @unittest.skipIf(shutil.which("mpirun") is None, "mpirun is not installed")
    def test_resume_parameter_servers_bit_for_bit(self) -> None:
        self.check_bits(*THIN_TO_THE_END, "--strategy", "parameter_server", "--workers", "2",
                        "--servers", "2")

    def test_resume_bf16_bit_for_bit(self) -> None:
        tiny = regatta("run", *THIN[:-1], "1", "--dtype", "bf16", "--out", str(fresh_folder()))
        if tiny.returncode == 1 and "bf16 only with AVX-512" in tiny.stderr:
            raise unittest.SkipTest("this processor has no bf16")
        self.check_bits(*THIN_TO_THE_END, "--dtype", "bf16")

    def test_let_asynchronous_runs_go_on(self) -> None:
        for strategy in ("async_shared", "ad_psgd"):
            record = self.killed_and_resumed(*THIN_TO_THE_END, "--strategy", strategy,
                                             "--workers", "2")
            self.assertGreaterEqual(record["evaluations"][-1]["examples"], STEPS * BATCH)
            self.assertEqual(sum(worker["steps"] for worker in record["workers"]) * BATCH // 2,
                             record["evaluations"][-1]["examples"])

    @unittest.skipIf(shutil.which("mpirun") is None, "mpirun is not installed")
    def test_let_asynchronous_servers_go_on_within_their_bound(self) -> None:
        record = self.killed_and_resumed(*THIN_TO_THE_END, "--strategy", "parameter_server_async",
                                         "--workers", "2", "--staleness-bound", "1")
        steps = [worker["steps"] for worker in record["workers"]
                 if worker["place"].startswith("replica")]
        self.assertEqual(sum(steps) * BATCH // 2, record["evaluations"][-1]["examples"])
        self.assertLessEqual(abs(steps[0] - steps[1]), 2)

    @unittest.skipIf(shutil.which("mpirun") is None, "mpirun is not installed")
    def test_let_backup_workers_go_on(self) -> None:
        # Three groups of 8 are dealt to two workers as 16 and 8.
        for batch, shares, most, more in ((BATCH, (16, 16, 16), 0, ("--servers", "2")),
                                          (24, (16, 8, 16), 31, ("--processes", "1"))):
            thin = tuple(str(batch) if word == str(BATCH) else word for word in THIN_TO_THE_END)
            record = self.killed_and_resumed(*thin, "--strategy", "parameter_server", "--workers",
                                             "2", "--backup-workers", "1", *more, batch=batch)
            with self.subTest(more=more):
                examples = record["evaluations"][-1]["examples"]
                self.assertIn(examples - STEPS * batch, range(most + 1))
                servers = [worker for worker in record["workers"]
                           if worker["place"].startswith("server0")]
                self.assertEqual(sum(shares[one["replica"]] * one["updates_applied"]
                                     for one in servers), examples)
                self.assertEqual(record["step_examples"]["sum"], examples)
                self.assertEqual(record["step_examples"]["count"] * 2,
                                 sum(one["updates_applied"] for one in servers))
                steps = sum(worker["steps"] for worker in record["workers"]
                            if worker["place"].startswith("replica"))
                self.assertEqual(steps, sum(one["updates_applied"] + one["updates_dropped"]
                                            for one in servers))

    def test_survive_kills_at_any_moment(self) -> None:
        folder = fresh_folder()
        resume: tuple[str, ...] = ()
        moments = random.Random(5)
        for _ in range(12):
            run = Run(*PARABOLA, *PARABOLA_EVERY, *resume, folder=folder)
            before = run.examples()
            if not soon(lambda: run.examples() > before or run.process.poll() is not None, 60):
                run.process.kill()
            time.sleep(moments.uniform(0, 0.1))
            run.process.kill()
            run.process.communicate()
            file = run.checkpoint()
            if file is None:  # it was faster
                break
            resume = ("--resume", str(file.parent))
        else:
            record_of(*PARABOLA, *PARABOLA_EVERY, *resume, folder=folder)
        self.assertTrue(resume)
        record = records_in(folder)[-1]
        self.assertEqual(results_of(record), results_of(in_one_piece(*PARABOLA)))

    def test_end_with_a_word_when_interrupted(self) -> None:
        run = Run(*PARABOLA, *PARABOLA_EVERY)
        file = run.await_examples(50 * POINTS)
        errors = run.end(signal.SIGINT)
        self.assertIn(f"the run is interrupted; to go on from the last checkpoint, give the same "
                      f"flags and --resume {file.parent}\n", errors)
        record = record_of(*PARABOLA, "--resume", str(file.parent), folder=run.folder)
        self.assertEqual(results_of(record), results_of(in_one_piece(*PARABOLA)))
        self.assertFalse(file.exists(), "also without further checkpoints")

    @unittest.skipIf(shutil.which("mpirun") is None, "mpirun is not installed")
    def test_are_named_by_the_record_of_a_run_that_lost_a_rank(self) -> None:
        arguments = (*THIN_TO_THE_END, "--strategy", "all_reduce", "--workers", "2",
                     "--processes", "2")
        every = ("--checkpoint-every", str(EVERY))
        run = Run(*arguments, *every)
        file = run.await_examples(EVERY * BATCH)
        children = Path(f"/proc/{run.process.pid}/task").glob("*/children")
        mpirun = [pid for child in children for pid in child.read_text().split()][0]
        ranks = Path(f"/proc/{mpirun}/task/{mpirun}/children").read_text().split()
        os.kill(int(ranks[-1]), signal.SIGKILL)
        run.process.communicate(timeout=60)
        failure = records_in(run.folder)[0]["failure"]
        self.assertEqual(failure["kind"], "peer_lost")
        self.assertTrue(failure["text"].endswith(f"--resume {file.parent}"), failure)
        record = record_of(*arguments, *every, "--resume", str(file.parent), folder=run.folder)
        self.assertEqual(results_of(record), results_of(in_one_piece(*arguments)))

    def test_cost_the_training_clock_nothing(self) -> None:
        record = record_of(*PARABOLA, "--checkpoint-every", "500", folder=fresh_folder())
        self.assertEqual(record["checkpoints"]["written"], PARABOLA_STEPS // 500)
        self.assertGreater(record["full_ns"] - record["training_ns"],
                           record["checkpoints"]["time_ns"] // 2)
        self.assertEqual(in_one_piece(*PARABOLA)["checkpoints"], {"written": 0, "time_ns": 0})
        self.assertIsNone(in_one_piece(*PARABOLA)["resumed"])


class Refusals(unittest.TestCase):
    def setUp(self) -> None:
        self.run_ = Run(*PARABOLA, *PARABOLA_EVERY)
        self.file = self.run_.await_examples(POINTS)
        self.run_.end(signal.SIGKILL)

    def refused(self, *arguments: str) -> str:
        done = regatta("run", *arguments, "--out", str(self.run_.folder))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual((self.run_.folder / "records.jsonl").read_text(), "")
        self.assertTrue(self.file.exists())
        return done.stderr

    def test_of_another_run_show_both_sides(self) -> None:
        resume = ("--resume", str(self.file.parent))
        self.assertRegex(self.refused(*PARABOLA, "--seed", "2", *resume),
                         r"of another run than the one asked for: seed \(2 here, 1 there\)")
        two = ("--strategy", "all_reduce", "--workers", "2")
        self.assertIn("workers (2 here, 1 there)", self.refused(*PARABOLA, *two, *resume))
        self.assertIn("target (0.01 here, 0.05 there)",
                      self.refused(*PARABOLA, "--target", "0.01", *resume))
        self.assertRegex(self.refused("--workload", "parabola", "--steps", "9", *resume),
                         r"recipe \(.*its own was: regatta run --workload parabola --steps 20000")

    def test_of_what_is_no_checkpoint(self) -> None:
        data = self.file.read_bytes()
        other = self.run_.folder / "other"
        for content, words in ((b"garbage", "this is no checkpoint of Regatta"),
                               (data[:len(data) // 2], "damaged checkpoint"),
                               (data[:-20] + b"\0" * 20, "its checksum does not match")):
            other.write_bytes(content)
            self.assertIn(words, self.refused(*PARABOLA, "--resume", str(other)))
        self.assertIn("No such file", self.refused(*PARABOLA, "--resume", "nowhere"))

    def test_of_a_checkpoint_that_another_run_goes_on_from(self) -> None:
        resume = (*PARABOLA, *PARABOLA_EVERY, "--resume", str(self.file.parent))
        before = self.run_.examples()
        other = Run(*resume, folder=self.run_.folder)
        other.await_examples(before + 1)
        os.kill(other.process.pid, signal.SIGSTOP)
        try:
            self.assertIn("another run writes its checkpoints to", self.refused(*resume))
        finally:
            other.end(signal.SIGKILL)


class Disks(unittest.TestCase):
    def test_that_cannot_be_written_to_end_the_run_before_it_trains(self) -> None:
        folder = fresh_folder()
        (folder / "checkpoints").write_text("in the way")
        done = regatta("run", *PARABOLA, *PARABOLA_EVERY, "--out", str(folder))
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"cannot write a checkpoint to .*: Not a directory; .*--out")
        self.assertEqual((folder / "records.jsonl").read_text(), "")

    def test_without_room_for_two_end_the_run_before_it_trains(self) -> None:
        with small_disk("8k") as disk:
            (disk / "filler").write_bytes(b"x" * 4096)
            done = regatta("run", *PARABOLA, *PARABOLA_EVERY, "--out", str(disk))
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertRegex(done.stderr, "cannot write a checkpoint to .*room")
            self.assertFalse((disk / "checkpoints").exists())

    def test_that_fill_up_cost_no_record(self) -> None:
        with small_disk("200k") as disk:
            done = regatta("run", *PARABOLA, *PARABOLA_EVERY, "--out", str(disk))
            self.assertEqual(done.returncode, 2, done.stderr)
            record = records_in(disk)[0]
            self.assertEqual((record["status"], record["failure"]["kind"]), ("failed", "io"))
            self.assertRegex(record["failure"]["text"],
                             r"No space left on device; fix: make room .* --resume .*/checkpoints/")
            folder = next((disk / "checkpoints").iterdir())
            whole = record_of(*PARABOLA, *PARABOLA_EVERY, "--resume", str(folder),
                              folder=fresh_folder())
            self.assertEqual(results_of(whole), results_of(in_one_piece(*PARABOLA)))
            self.assertTrue(folder.exists(), "another folder's checkpoints are left alone")


if __name__ == "__main__":
    run_tests()
