# SPDX-License-Identifier: Apache-2.0
"""Tests change points on invented series with and without a change, and the figure on records."""

import contextlib
import io
import itertools
import json
import random
import statistics
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import trend
from change_points import _energies, change_points
from commits import commit_time
from figure_trend import MOST_CELLS, build_of, cells_of, draw
from made_up import made_up_record, made_up_runs
from judgement import Run

ROOT = Path(__file__).resolve().parent.parent
NOISE = 0.02  # standard deviation of the speed between commits, relative


def series(chance: random.Random, levels: list[float]) -> list[float]:
    """One value for each commit: its level, with the noise of a session of the machine."""
    return [level * chance.gauss(1, NOISE) for level in levels]


class ChangePoints(unittest.TestCase):
    def test_are_not_in_series_without_a_change(self) -> None:
        # At p < 0.01, five or more of 100 happen by chance once in 300 times.
        chance = random.Random(1)
        marked = sum(bool(change_points(series(chance, [100.0] * 20))) for _ in range(100))
        self.assertLess(marked, 5)

    def test_are_where_the_level_changes(self) -> None:
        chance = random.Random(2)
        near = 0
        for _ in range(20):
            points = change_points(series(chance, [100.0] * 12 + [90.0] * 8))
            near += any(abs(point.at - 12) <= 1 for point in points)
        self.assertGreaterEqual(near, 19)

    def test_have_the_energy_of_the_formula(self) -> None:
        values = [3.0, 1.0, 4.0, 1.5, 9.0, 2.6]
        before, after = values[:2], values[2:]
        across = statistics.mean(abs(x - y) for x in before for y in after)
        within = [statistics.mean(abs(x - y) for x, y in itertools.combinations(part, 2))
                  for part in (before, after)]
        energies = _energies(np.array([values]))
        self.assertEqual(energies.shape, (1, 3))
        self.assertAlmostEqual(energies[0, 0], 2 * 4 / 6 * (2 * across - sum(within)))

    def test_of_one_series_may_be_several(self) -> None:
        levels = [100.0] * 12 + [80.0] * 12 + [120.0] * 12
        points = change_points(series(random.Random(4), levels))
        self.assertEqual([point.at for point in points], [12, 24])

    def test_need_eleven_commits(self) -> None:
        for commits, found in ((8, 0), (9, 0), (11, 1), (12, 1)):
            levels = [100.0] * (commits // 2) + [50.0] * (commits - commits // 2)
            self.assertEqual(len(change_points(series(random.Random(6), levels))), found)

    def test_are_not_in_what_is_always_the_same(self) -> None:
        for values in ([1.0] * 20, [0.0] * 20, [1.0, 2.0], [1.0], []):
            self.assertEqual(change_points(values), [], values)


def commit_name(number: int) -> str:
    return f"{number:08x}" + "0" * 32


def record(strategy: str, number: int, seed: int, **change: Any) -> dict[str, Any]:
    """The record of a run of an invented commit; each commit has a different day."""
    made = made_up_record("resnet9_thin", strategy, seed, **change)
    made["software"] = {"git_commit": commit_name(number), "dirty": False}
    made["timestamp"] = f"2025-01-{number + 1:02}T12:00:00Z"
    return made


def history(slower_from: int = 99) -> list[dict[str, Any]]:
    """Twenty commits with three runs each; all_reduce takes 50 % longer from `slower_from` on."""
    return [record(strategy, number, 10 * number + seed,
                   pace=1.5 if strategy == "all_reduce" and number >= slower_from else 1.0)
            for number in range(20) for strategy in ("single", "all_reduce")
            for seed in range(3)]


def marks(runs: list[Run]) -> list[str]:
    figure = draw(runs)
    assert figure is not None
    return [text.get_text() for axes in figure.axes for text in axes.texts
            if ", p " in text.get_text()]


class Figure(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.addCleanup(plt.close, "all")
        self.folder = Path(temporary.name)

    def write(self, records: list[dict[str, Any]], name: str = ".") -> Path:
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        (folder / "records.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
        return folder

    def run_trend(self, *arguments: str | Path) -> tuple[int, str]:
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = trend.main([str(argument) for argument in arguments])
        return code, said.getvalue()

    def test_marks_the_commit_that_made_a_cell_slower_and_no_other(self) -> None:
        self.assertEqual(marks(made_up_runs(history())), [])
        speed, time = marks(made_up_runs(history(slower_from=12)))
        self.assertRegex(speed, r"^-3[0-9] %, p 0\.0")
        self.assertRegex(time, r"^\+[45][0-9] %, p 0\.0")

    def test_marks_where_a_target_is_missed_from_then_on(self) -> None:
        records = history()
        for one in records[90:]:  # from the fifteenth commit on
            one.update(status="missed", training_time_to_target_ns=None)
        found = marks(made_up_runs(records))
        self.assertEqual(len(found), 2)
        for text in found:
            self.assertRegex(text, "^missed from here, p 0")

    def test_says_whether_commits_were_enough_and_measured_in_turn(self) -> None:
        def said(records: list[dict[str, Any]]) -> str:
            figure = draw(made_up_runs(records))
            assert figure is not None
            return " ".join(text.get_text() for text in figure.texts)
        self.assertIn("no change of level", said(history()))
        self.assertIn("not measured in turn", said(history()))  # commits differ in their days
        self.assertIn("5 are too few to tell", said(history()[:30]))
        in_turn = [one | {"timestamp": f"2025-02-01T12:00:{at % 3:02}Z"}
                   for at, one in enumerate(history(slower_from=12))]
        self.assertIn("2 changes of level", said(in_turn))
        self.assertNotIn("not measured in turn", said(in_turn))

    def test_of_many_cells_shows_those_with_a_change_first(self) -> None:
        records = history(slower_from=12)
        many = []
        for batch in range(100, 125):
            for one in records:
                if one["cell"]["strategy"] == "single" and one["cell"]["seed"] % 10 == 0:
                    many.append(one | {"cell": one["cell"] | {"global_batch": batch}})
        figure = draw(made_up_runs([*many, *records]))
        assert figure is not None
        self.assertEqual(len(figure.axes), 2 * MOST_CELLS)
        self.assertIn("all_reduce", figure.axes[0].get_title(loc="left"))
        self.assertIn(f"{MOST_CELLS} of 27 cells", figure.texts[-1].get_text())

    def test_joins_commits_that_compute_faster_with_those_before_unless_one_did_both(self) -> None:
        for how in ("fusion", "winograd"):
            records = history()
            for at, one in enumerate(records):
                one["cell"][how] = "on" if at >= 60 else "off"
            self.assertEqual(list(cells_of(made_up_runs(records))),
                             ["resnet9_thin, single, to accuracy 85",
                              "resnet9_thin, all_reduce, to accuracy 85"])
            for seed, used in enumerate(("off", "on")):
                records.append(record("single", 19, 900 + seed))
                records[-1]["cell"][how] = used
            self.assertEqual(len(cells_of(made_up_runs(records))), 3)

    def test_is_none_of_a_single_commit(self) -> None:
        runs = made_up_runs([record("single", 1, seed) for seed in range(3)])
        self.assertIsNone(draw(runs))
        code, said = self.run_trend(self.write([record("single", 1, 1)]))
        self.assertEqual(code, 1)
        self.assertIn("no cell was measured at more than one commit", said)

    def test_orders_commits_by_their_own_dates(self) -> None:
        shown = subprocess.run(["git", "log", "--format=%H", "-2"], cwd=ROOT, capture_output=True,
                               text=True)
        if shown.returncode != 0 or len(shown.stdout.split()) < 2:
            self.skipTest("not a checkout of two commits")
        for commit in shown.stdout.split():
            made = record("single", 1, 1)
            made["software"]["git_commit"] = commit
            self.assertEqual(build_of(*made_up_runs([made])).made, commit_time(commit))
        new, old = (commit_time(commit) for commit in shown.stdout.split())
        assert new is not None and old is not None
        self.assertGreaterEqual(new, old)
        self.assertIsNone(commit_time(commit_name(1)))
        self.assertIsNone(commit_time("--help"))
        (run,) = made_up_runs([record("single", 4, 1)])
        self.assertEqual(f"{build_of(run).made:%F}", "2025-01-05")

    def test_reads_several_folders_of_one_machine(self) -> None:
        first = self.write(history()[:60], "first")
        second = self.write(history()[60:], "second")
        code, said = self.run_trend(first, second)
        self.assertEqual(code, 0, said)
        self.assertIn(b"20 commits by date", (first / "trend.svg").read_bytes())
        self.assertTrue((first / "trend.png").stat().st_size > 10_000)
        other = self.write([record("single", 1, 999, machine={"cpu": "Other", "cores_used": 2})],
                           "other")
        code, said = self.run_trend(first, other)
        self.assertEqual(code, 1)
        self.assertIn("of 2 machines", said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
