# SPDX-License-Identifier: Apache-2.0
"""Races of the language model on text of one's own, and inputs that it refuses.

usage: language_test.py REGATTA SCHEMA [unittest arguments]
"""

import unittest
from pathlib import Path

from test_support import fresh_folder, record_of, record_validator, regatta, run_tests

VALIDATOR = record_validator()
SMALL = ("--workload", "gpt_thin", "--layers", "1", "--width", "16", "--heads", "2",
         "--context", "8", "--steps", "3")


def text_of(size: int) -> Path:
    folder = fresh_folder()
    (folder / "a.txt").write_bytes(bytes(range(97, 123)) * (size // 26 + 1))
    (folder / ".part").write_bytes(b"\0" * 100)  # hidden, so it is not read
    return folder


class Language(unittest.TestCase):
    def test_model_trains_on_text_and_is_evaluated_on_all_its_blocks(self) -> None:
        # 3016 bytes: 2714 for training, 302 for validation, which are 37 blocks.
        folder = text_of(3000)
        record = record_of(*SMALL, "--dataset", "text", "--data-dir", str(folder))
        self.assertEqual([error.message for error in VALIDATOR.iter_errors(record)], [])
        self.assertEqual(record["tokens_per_example"], 8)
        last = record["evaluations"][-1]["loss"]
        self.assertTrue(3 < last < 5.6, last)  # ln 256 = 5.545
        self.assertAlmostEqual(record["bits_per_byte"], last / 0.6931, places=2)
        self.assertEqual(record["cell"]["options"]["context"], 8)
        self.assertEqual(record["target"]["value"], 1.98)

    def test_of_either_block_and_optimizer_trains(self) -> None:
        for option in (("--block", "llama"), ("--optimizer", "sgd")):
            with self.subTest(option=option):
                record = record_of(*SMALL, *option)
                self.assertLess(record["evaluations"][-1]["loss"], 5.6)

    def test_refuses_bad_input_in_one_line(self) -> None:
        text = str(text_of(3000))
        for wrong, words in (
                (("--heads", "3"), "heads divide the width"),
                (("--vocabulary", "8"), "pairs has 16 symbols"),
                (("--dataset", "text", "--data-dir", str(fresh_folder())), "no file in"),
                (("--workload", "gpt_small", "--dataset", "text", "--data-dir", text,
                  "--global-batch", "8"),
                 "no target of gpt_small was measured on data set 'text'; fix: give --target"),
                (("--dataset", "text", "--data-dir", str(text_of(10))), "smaller context"),
                (("--dataset", "text", "--data-dir", text, "--vocabulary", "99"), "vocabulary"),
                (("--dataset", "text", "--data-dir", text, "--context", "4000"),
                 "smaller context")):
            with self.subTest(wrong=wrong):
                workload = () if "--workload" in wrong else ("--workload", "gpt_thin")
                done = regatta("run", *workload, "--width", "16", "--steps", "3", *wrong)
                self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
                self.assertIn(words, done.stderr)
                self.assertNotEqual(done.returncode, 0)


if __name__ == "__main__":
    run_tests()
