# SPDX-License-Identifier: Apache-2.0
"""Tests of ci/published_check: tables read as they were published, rows that contradict themselves
are refused, and small rows are predicted.

usage: published_test.py REGATTA [unittest arguments]
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from published_rows import (Row, Table, WrongTable, cluster_text, predict, read_table,
                            simulate)

ROOT = pathlib.Path(__file__).parent.parent
TABLES = sorted((ROOT / "harness/simulate/published").glob("*.toml"))
SHAPE = {"width": 1024, "heads": 8, "layers": 4, "context": 512, "vocabulary": 1024}


class Tables(unittest.TestCase):
    def test_all_rows_have_degrees_that_multiply(self) -> None:
        self.assertGreater(len(TABLES), 5)
        for path in TABLES:
            table = read_table(path)
            if path.stem == "zero_bubble":
                continue
            for row in table.rows:
                with self.subTest(table=path.stem, row=row.number):
                    degrees = row.get("shards", 1) * row.get("stages", 1) * row.replicas
                    self.assertEqual(degrees, row["devices"])
                    self.assertEqual(row.batch, row.get("batch", row.batch))
                    self.assertGreater(row.published_s, 0)
            self.assertLess(max(table.fitted, default=0), len(table.rows))
            for row in table.rows + table.untimed:
                if row.get("stages", 1) > 1:
                    self.assertIn(sum(row.stage_parts) // row["layers"], (4, 6))

    def test_a_table_has_the_published_number_of_rows(self) -> None:
        rows = {path.stem: len(read_table(path).rows) for path in TABLES}
        self.assertEqual(rows["vtrain"], 109)
        self.assertEqual(rows["megatron_table_1"], 10)
        self.assertEqual(rows["zero_bubble"], 12)
        sweep = read_table(ROOT / "harness/simulate/published/aleph_alpha.toml")
        self.assertEqual((len(sweep.rows), len(sweep.untimed)), (132, 326))

    def test_layers_are_split_evenly(self) -> None:
        deep = {"block": "llama", "stages": 4, "layers": 10}
        self.assertEqual(Row(0, deep).stage_parts, [13, 18, 18, 16])  # and a head with its norm
        self.assertEqual(Row(0, deep | {"stages": 3}).stage_parts, [19, 24, 22])

    def test_flops_convert_back_to_the_published_share(self) -> None:
        # arXiv:2104.04473: 137 TFLOP/s is 44 % of 312, and 1T on 3,072 devices 502 PFLOP/s in all
        table = read_table(ROOT / "harness/simulate/published/megatron_table_1.toml")
        last = table.rows[-1]
        self.assertAlmostEqual(last.hardware_flops / last.published_s / 1e15, 502, delta=2)

    def test_degrees_that_do_not_multiply_are_refused(self) -> None:
        with self.assertRaisesRegex(WrongTable, "row 3: 6 shards and stages do not divide 8"):
            _ = Row(3, SHAPE | {"shards": 2, "stages": 3, "devices": 8}).replicas
        with self.assertRaisesRegex(WrongTable, "row 3: 4 replicas of microbatches of 3 do not"):
            _ = Row(3, SHAPE | {"devices": 4, "batch": 16, "micro": 3}).microbatches
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "short.toml"
            path.write_text('[table]\ncolumns = ["a", "b"]\nrows = [[1, 2], [1]]\n')
            with self.assertRaisesRegex(WrongTable, "short.toml, row 1: 1 values.*2 columns"):
                read_table(path)


class Check(unittest.TestCase):
    def run_check(self, *flags: str) -> str:
        done = subprocess.run([str(ROOT / "ci/published_check"), *flags], capture_output=True,
                              text=True, env=os.environ | {"REGATTA": REGATTA}, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_a_row_on_one_device_is_predicted(self) -> None:
        out = self.run_check("--tables", "dlperf_v100", "--rows", "3", "--seed", "2")
        self.assertRegex(out, r"rows: median [\d.]+%.*nine in ten")

    def test_a_long_step_is_two_short_ones_and_their_difference(self) -> None:
        cluster = {"device": "a100_80gb", "inside": "nvlink3", "per_host": 4, "attention": "flash",
                   "communication": "blocking"}
        row = Row(0, SHAPE | {"stages": 2, "devices": 4, "batch": 64, "micro": 1,
                              "schedule": "1f1b", "seconds": 1})
        self.assertEqual(row.simulated, [5, 8])
        whole = simulate(REGATTA, cluster, row, 32, 60)
        made = predict(REGATTA, Table("", {"cluster": cluster}, [row], []), row, 60)
        self.assertAlmostEqual(made.seconds / whole.seconds, 1, delta=1e-4)
        self.assertAlmostEqual(made.memory_gib / whole.memory_gib, 1, delta=0.01)

    def test_a_cluster_has_the_hosts_of_the_row(self) -> None:
        text = cluster_text({"device": "x", "per_host": 8}, 12, "y")
        self.assertEqual(text, '[devices]\ndevice = "y"\nper_host = 8\n[[host]]\ncount = 2\n')


if __name__ == "__main__":
    REGATTA = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
