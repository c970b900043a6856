# SPDX-License-Identifier: Apache-2.0
"""Tests the DataFrames of a committed folder of records; exit code 77: skipped without pandas."""

import gzip
import json
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import data_frame
except ModuleNotFoundError as missing:
    print(f"skipped: {missing}; apt-get install python3-pandas")
    sys.exit(77)

FOLDER = Path(__file__).parents[1] / "results/epyc-zen4-2-cores/quick"


class DataFrames(unittest.TestCase):
    def setUp(self) -> None:
        with gzip.open(FOLDER / "records.jsonl.gz", "rt", encoding="utf-8") as lines:
            self.records = [json.loads(line) for line in lines]

    def test_has_a_row_for_each_run(self) -> None:
        frame = data_frame.runs(FOLDER)
        self.assertEqual(list(frame["run_id"]), [each["run_id"] for each in self.records])
        self.assertEqual(list(frame["cell.seed"]), [each["cell"]["seed"] for each in self.records])
        of_one = frame[(frame["cell.strategy"] == "single")
                       & (frame["cell.workload"] == "parabola")]
        times = [each["training_time_to_target_ns"] for each in self.records
                 if (each["cell"]["strategy"], each["cell"]["workload"]) == ("single", "parabola")]
        self.assertGreater(len(times), 1)
        self.assertEqual(list(of_one["training_time_to_target_ns"]), times)

    def test_has_a_row_for_each_evaluation(self) -> None:
        frame = data_frame.evaluations(FOLDER)
        self.assertEqual(len(frame), sum(len(each["evaluations"]) for each in self.records))
        last = self.records[-1]
        of_last = frame[frame["run_id"] == last["run_id"]]
        self.assertEqual(list(of_last["loss"]), [each["loss"] for each in last["evaluations"]])
        self.assertEqual(set(of_last["cell.strategy"]), {last["cell"]["strategy"]})

    def test_names_what_is_missing(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(FileNotFoundError, "has none of records.jsonl"):
                data_frame.runs(folder)


if __name__ == "__main__":
    unittest.main()
