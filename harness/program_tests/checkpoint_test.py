# SPDX-License-Identifier: Apache-2.0
"""Runs that are killed and go on from their checkpoint, compared with uninterrupted runs.

usage: checkpoint_test.py REGATTA SCHEMA [unittest arguments]
Exits 77 (skipped) where python3-jsonschema is not installed.
"""

import os
import random
import shutil
import signal
import time
import unittest
from pathlib import Path
from typing import Any

from checkpoint_support import (BATCH, EVERY, PARABOLA, PARABOLA_EVERY, PARABOLA_STEPS, POINTS,
                                STEPS, THIN_TO_THE_END, Run, counts_in, in_one_piece,
                                record_of, results_of)
from test_support import fresh_folder, record_validator, records_in, run_tests, soon

VALIDATOR = record_validator()

CHECKPOINTED = ("--checkpoint-every", str(EVERY))


def folder_of(file: Path) -> Path:
    """The folder of the run that wrote this checkpoint."""
    return file.parents[2]


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

    def killed(self, *arguments: str, batch: int = BATCH) -> Path:
        """Kills a run. Returns its checkpoint, which is neither the first nor at an evaluation."""
        run = Run(*arguments, *CHECKPOINTED)
        file = run.await_examples(2 * EVERY * batch)
        run.end(signal.SIGKILL)
        self.assertFalse((run.folder / "records.jsonl").read_text())
        return file

    def resumed(self, file: Path, *arguments: str) -> dict[str, Any]:
        counts = counts_in(file)
        record = record_of(*arguments, *CHECKPOINTED, "--resume", str(file.parent),
                           folder=folder_of(file))
        self.check_resumed(record, file, counts)
        return record

    def killed_and_resumed(self, *arguments: str, batch: int = BATCH) -> dict[str, Any]:
        return self.resumed(self.killed(*arguments, batch=batch), *arguments)

    def check_bits(self, *arguments: str) -> None:
        record = self.killed_and_resumed(*arguments)
        self.assertEqual(results_of(record), results_of(in_one_piece(*arguments)))

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
                ("central_storage", "--workers", "2"),
                ("all_reduce+model_parallel", "--workers", "4", "--stages", "2",
                 "--stages-per-process", "1")):
            with self.subTest(strategy=strategy):
                self.check_bits(*THIN_TO_THE_END, "--strategy", strategy, *workers,
                                "--processes", "2")

    @unittest.skipIf(shutil.which("mpirun") is None, "mpirun is not installed")
    def test_resume_parameter_servers_bit_for_bit(self) -> None:
        self.check_bits(*THIN_TO_THE_END, "--strategy", "parameter_server", "--workers", "2",
                        "--servers", "2")

    def test_let_asynchronous_runs_go_on(self) -> None:
        for strategy in ("async_shared", "ad_psgd"):
            record = self.killed_and_resumed(*THIN_TO_THE_END, "--strategy", strategy,
                                             "--workers", "2")
            self.assertGreaterEqual(record["evaluations"][-1]["examples"], STEPS * BATCH)
            self.assertEqual(sum(worker["steps"] for worker in record["workers"]) * BATCH // 2,
                             record["evaluations"][-1]["examples"])

    @unittest.skipIf(shutil.which("mpirun") is None, "mpirun is not installed")
    def test_let_averages_between_ranks_go_on(self) -> None:
        record = self.killed_and_resumed(*THIN_TO_THE_END, "--strategy", "ad_psgd", "--workers",
                                         "2", "--processes", "2")
        steps = [worker["steps"] for worker in record["workers"]
                 if worker["place"].startswith("replica")]
        self.assertEqual(sum(steps) * BATCH // 2, record["evaluations"][-1]["examples"])

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
            if file is None:  # the run ended first
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
        run = Run(*arguments, *CHECKPOINTED)
        file = run.await_examples(EVERY * BATCH)
        children = Path(f"/proc/{run.process.pid}/task").glob("*/children")
        mpirun = [pid for child in children for pid in child.read_text().split()][-1]
        ranks = Path(f"/proc/{mpirun}/task/{mpirun}/children").read_text().split()
        os.kill(int(ranks[-1]), signal.SIGKILL)
        run.process.communicate(timeout=60)
        failure = records_in(run.folder)[0]["failure"]
        self.assertEqual(failure["kind"], "peer_lost")
        self.assertTrue(failure["text"].endswith(f"--resume {file.parent}"), failure)
        record = record_of(*arguments, *CHECKPOINTED, "--resume", str(file.parent),
                           folder=run.folder)
        self.assertEqual(results_of(record), results_of(in_one_piece(*arguments)))

    def test_cost_the_training_clock_nothing(self) -> None:
        record = record_of(*PARABOLA, "--checkpoint-every", "500", folder=fresh_folder())
        self.assertEqual(record["checkpoints"]["written"], PARABOLA_STEPS // 500)
        self.assertGreater(record["full_ns"] - record["training_ns"],
                           record["checkpoints"]["time_ns"] // 2)
        self.assertEqual(in_one_piece(*PARABOLA)["checkpoints"], {"written": 0, "time_ns": 0})
        self.assertIsNone(in_one_piece(*PARABOLA)["resumed"])


if __name__ == "__main__":
    run_tests()
