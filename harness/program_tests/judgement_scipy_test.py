#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The verdicts of a report on committed records, recomputed from the records by numpy and SciPy:
factors, intervals and p values of each cell against the first.

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
    """Logarithms of the ratio of times: as measured, and its lower and upper bounds."""
    a, b = crossing_of(run), crossing_of(first)
    value = math.log(a.at["training_time_ns"] / b.at["training_time_ns"])
    if same(a.at, b.at) and same(a.before, b.before):
        return value, value, value
    assert a.before and b.before
    return (value, math.log(a.before["training_time_ns"] / b.at["training_time_ns"]),
            math.log(a.at["training_time_ns"] / b.before["training_time_ns"]))


def variance_of(values: np.ndarray) -> float:
    """Returns the variance, divided by the ratio of the median of such variances to their mean."""
    freedom = len(values) - 1
    return float(np.var(values, ddof=1)) / (1 - 2 / (9 * freedom)) ** 3


class Verdicts(unittest.TestCase):
    def cells_of(self, judged: Json) -> list[Json]:
        """Returns the first cell and the cells that are compared with it."""
        return [cell for cell in judged["cells"]
                if cell["claims_time"] and cell["typical_seconds"] is not None]

    def test_are_those_of_scipy(self) -> None:
        for folder in FOLDERS:
            with self.subTest(folder=folder.parent.name + "/" + folder.name):
                judgement = json.loads(output_of("report", "--format", "json", str(folder)))
                records = {record["run_id"]: record for record in records_in(folder)}
                workloads = [self.cells_of(judged) for judged in judgement["workloads"]]
                self.assertGreaterEqual(sum(len(cells) - 1 for cells in workloads), 10)
                for first, *others in workloads:
                    self.compare(first, others, records, ALPHA / len(workloads))

    def compare(self, first: Json, others: list[Json], records: dict[str, Json],
                alpha: float) -> None:
        """Checks all pairs of a workload, which share `alpha`; each spread is moderated by the
        others."""
        paired: list[tuple[Json, np.ndarray]] = []
        for cell in others:
            runs, firsts = ({run["seed"]: records[run["run_id"]] for run in each["runs"]}
                            for each in (cell, first))
            if any(record["training_time_to_target_ns"] is None
                   for record in (*runs.values(), *firsts.values())):
                self.assertNotIn("time", cell["against_first"])
                continue
            seeds = sorted(set(runs) & set(firsts))
            paired.append((cell, np.array([bounds(runs[seed], firsts[seed])
                                           for seed in seeds]).T))
        if len(paired) < len(others):
            alpha /= 2  # the other half is for the test of ranks
        for cell, logarithms in paired:
            variances = [variance_of(values) for other, (values, *_) in paired if other is not cell]
            self.check(cell["against_first"], logarithms, variances, (alpha, len(others) + 1))

    def check(self, said: Json, logarithms: np.ndarray, others: list[float],
              family: tuple[float, int]) -> None:
        value, low, high = logarithms
        own = len(value) - 1
        borrowed = min(4, 2 * own, len(others) * own)
        variance = np.var(value, ddof=1)
        if borrowed:
            pooled = (borrowed * np.median(others) + own * variance) / (borrowed + own)
            variance = max(variance, pooled)
        self.assertAlmostEqual(said["time"], float(np.exp(value.mean())))
        self.assertAlmostEqual(said["time"], said["examples"] * said["each"])
        error = math.sqrt(variance / len(value) / 2)
        alpha, cells = family
        of_range = stats.studentized_range(cells, own + borrowed)
        margin = of_range.ppf(1 - alpha) * error
        self.assertAlmostEqual(said["low"] / float(np.exp(low.mean() - margin)), 1, places=4)
        self.assertAlmostEqual(said["high"] / float(np.exp(high.mean() + margin)), 1, places=4)
        away = max(low.mean(), -high.mean())
        p = min(1.0, float(of_range.sf(away / error)) * ALPHA / alpha) if away > 0 else 1
        self.assertAlmostEqual(said["p"], p, places=5)
        self.assertEqual(said["standing"] == "slower", p < ALPHA)
        if "slower" != said["standing"]:
            level = 1 / 1.03 < said["low"] and said["high"] < 1.03
            self.assertEqual(said["standing"], "level" if level else "open")


if __name__ == "__main__":
    run_tests()
