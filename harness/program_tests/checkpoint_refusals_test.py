# SPDX-License-Identifier: Apache-2.0
"""Checkpoints from which a run cannot go on, and disks that are too small for them.

usage: checkpoint_refusals_test.py REGATTA SCHEMA [unittest arguments]
"""

import os
import signal
import unittest

from checkpoint_support import (PARABOLA, PARABOLA_EVERY, POINTS, Run, in_one_piece, record_of,
                                results_of)
from test_support import fresh_folder, records_in, regatta, run_tests, small_disk


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
                         r"steps \(9 here, 20000 there\).*its own was: "
                         "regatta run --workload parabola --steps 20000")

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
