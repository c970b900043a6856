#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The verdicts of a report on committed records, worked out once more from the records by numpy and
SciPy: factors, intervals and p values of each cell against the first.

usage: judgement_scipy_test.py REGATTA SCHEMA
Exits 77 (skipped) where python3-scipy is not installed.
"""

import json
import math
import sys
import unittest
from pathlib import Path
from typing import Any, NamedTuple

try:
    import numpy as np
    from scipy import stats
except ImportError:
    print("skipped: python3-scipy is not installed")
    sys.exit(77)

from test_support import output_of, records_in, run_tests

Json = dict[str, Any]

RESULTS = Path(__file__).resolve().parents[2] / "results/epyc-2-cores"
FOLDERS = (RESULTS / "claims", RESULTS / "quick")
ALPHA = 0.05
FEWEST = 4  # pairs that decide


class Crossing(NamedTuple):
    at: Json
    before: Json | None  # the evaluation before it


def crossing_of(record: Json) -> Crossing:
    """The first evaluation at the target."""
    target = record["target"]
    before = None
    for one in record["evaluations"]:
        reached = (one["metric"] <= target["value"] if target["metric"] == "loss"
                   else one["metric"] >= target["value"])
        if reached:
            return Crossing(one, before)
        before = one
    raise AssertionError("it never reached the target")


def same(a: Json | None, b: Json | None) -> bool:
    if a is None or b is None:
        return a is b
    return a["examples"] == b["examples"] and math.isclose(a["metric"], b["metric"], rel_tol=0.01)


def bounds(run: Json, first: Json) -> tuple[float, float, float]:
    """Logarithms of the ratio of times: as measured, and between which ones it lies."""
    a, b = crossing_of(run), crossing_of(first)
    value = math.log(a.at["training_time_ns"] / b.at["training_time_ns"])
    if same(a.at, b.at) and same(a.before, b.before):
        return value, value, value
    assert a.before and b.before
    return (value, math.log(a.before["training_time_ns"] / b.at["training_time_ns"]),
            math.log(a.at["training_time_ns"] / b.before["training_time_ns"]))


class Verdicts(unittest.TestCase):
    def cells_of(self, judged: Json) -> list[Json]:
        """The first, and those held against it."""
        return [cell for cell in judged["cells"]
                if cell["claims_time"] and cell["typical_seconds"] is not None]

    def test_are_those_of_scipy(self) -> None:
        for folder in FOLDERS:
            with self.subTest(folder=folder.parent.name + "/" + folder.name):
                judgement = json.loads(output_of("report", "--format", "json", str(folder)))
                records = {record["run_id"]: record for record in records_in(folder)}
                workloads = [self.cells_of(judged) for judged in judgement["workloads"]]
                comparisons = sum(min(cell["count"], cells[0]["count"]) >= FEWEST
                                  for cells in workloads for cell in cells[1:])
                self.assertGreaterEqual(comparisons, 10)
                for first, *others in workloads:
                    for cell in others:
                        self.compare(first, cell, records, comparisons)

    def compare(self, first: Json, cell: Json, records: dict[str, Json], count: int) -> None:
        runs = {run["seed"]: records[run["run_id"]] for run in cell["runs"]}
        firsts = {run["seed"]: records[run["run_id"]] for run in first["runs"]}
        said = cell["against_first"]
        if any(record["training_time_to_target_ns"] is None
               for record in (*runs.values(), *firsts.values())):
            self.assertNotIn("time", said)
            return
        seeds = sorted(set(runs) & set(firsts))
        value, low, high = np.array([bounds(runs[seed], firsts[seed]) for seed in seeds]).T
        self.assertAlmostEqual(said["time"], float(np.exp(value.mean())))
        self.assertAlmostEqual(said["time"], said["examples"] * said["each"])
        error = stats.sem(value)
        margin = stats.t.ppf(1 - ALPHA / count / 2, len(seeds) - 1) * error
        self.assertAlmostEqual(said["low"] / float(np.exp(low.mean() - margin)), 1, places=6)
        self.assertAlmostEqual(said["high"] / float(np.exp(high.mean() + margin)), 1, places=6)
        away = max(low.mean(), -high.mean())
        p = min(1.0, 2 * float(stats.t.sf(away / error, len(seeds) - 1)) * count) if away > 0 else 1
        self.assertAlmostEqual(said["p"], p, places=9)
        self.assertEqual(said["standing"] == "slower", p < ALPHA)
        if "slower" != said["standing"]:
            level = 1 / 1.03 < said["low"] and said["high"] < 1.03
            self.assertEqual(said["standing"], "level" if level else "open")


if __name__ == "__main__":
    run_tests()
