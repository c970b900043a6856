# SPDX-License-Identifier: Apache-2.0
"""Figures of the report on made-up records: what they show, and when there is nothing to show."""

import math
import re
import unittest
from typing import Any

import matplotlib.pyplot as plt

import figure_efficiency
import figure_race
import figure_scaling
import figure_time_split
import figure_time_to_target
from figure_time_split import step_parts
from inline_svg import colour_rules, dark_of, inline_svg
from made_up import made_up_failure, made_up_record
from records import Run, parse_run
from wording import bytes_text, longer_text, time_text

MODULES = (figure_race, figure_time_to_target, figure_time_split, figure_efficiency)


def runs_of(*records: dict[str, Any]) -> list[Run]:
    return [parse_run(record) for record in records]


def some_runs(**change: Any) -> list[Run]:
    return runs_of(*(made_up_record("resnet9_thin", strategy, seed, **change)
                     for strategy in ("single", "all_reduce", "async_shared", "independent")
                     for seed in (1, 2, 3)))


def with_workers(strategy: str, workers: int, speed: float) -> dict[str, Any]:
    record = made_up_record("resnet9_thin", strategy, 1, examples_per_s=speed)
    record["cell"]["workers"] = workers
    return record


class Figures(unittest.TestCase):
    def setUp(self) -> None:
        self.addCleanup(plt.close, "all")

    def test_have_a_title_and_units_on_every_axis(self) -> None:
        scaling = runs_of(*(with_workers("all_reduce", n, 100.0 * n) for n in (1, 2, 4)))
        drawn = [module.draw(some_runs()) for module in MODULES] + [figure_scaling.draw(scaling)]
        for figure in drawn:
            (axes,) = figure.axes
            self.assertTrue(axes.get_title(loc="left"))
            self.assertRegex(axes.get_xlabel(), r"\(.+\)|workers")

    def test_draw_nothing_where_the_records_hold_nothing_for_them(self) -> None:
        early = runs_of({"cell": {"workload": "parabola", "strategy": "single"},
                         "status": "failed"})
        for module in (*MODULES, figure_scaling):
            self.assertIsNone(module.draw(early), module.__name__)
        self.assertIsNone(figure_scaling.draw(some_runs()))  # one number of workers each

    def test_show_every_run_missed_and_failed_ones_too(self) -> None:
        runs = [*some_runs(), *runs_of(made_up_failure("resnet9_thin", "single", 4, 2))]
        (axes,) = figure_time_to_target.draw(runs).axes
        marks = [line for line in axes.get_lines() if line.get_linestyle() == "None"]
        self.assertEqual(sum(len(line.get_xdata()) for line in marks), 10)  # not `independent`
        self.assertEqual([line.get_marker() for line in marks].count("X"), 1)
        bars = [line for line in axes.get_lines() if line.get_linestyle() == "-"]
        self.assertEqual(len(bars), 3)

    def test_split_a_step_into_parts_that_add_up(self) -> None:
        runs = some_runs()
        parts = step_parts(runs)
        whole = sum(sum(run.split.values()) for run in runs) / sum(run.worker_steps for run in runs)
        self.assertAlmostEqual(sum(parts.values()), whole)
        (axes,) = figure_time_split.draw(runs).axes
        self.assertEqual(len(axes.patches), 4 * 5)
        self.assertEqual(axes.get_xlabel(), "a worker's step (microseconds)")
        slow = [parse_run(made_up_record("resnet9_thin", "in_graph", 1, workers=[
            {"compute_ns": 1e6, "wait_ns": 1e6, "steps": 10}]))]
        (axes,) = figure_time_split.draw([*runs, *slow]).axes
        self.assertEqual(axes.get_xlabel(), "share of a worker's step (%)")

    def test_scale_against_an_ideal_line_and_name_the_ceiling(self) -> None:
        runs = runs_of(with_workers("single", 1, 90.0), with_workers("independent", 2, 99.0),
                       *(with_workers("all_reduce", n, 50.0 * n) for n in (1, 2, 4)))
        (axes,) = figure_scaling.draw(runs).axes
        lines = {line.get_label(): list(line.get_ydata()) for line in axes.get_lines()}
        self.assertEqual(lines["all_reduce"], [50, 100, 200])
        self.assertEqual(set(lines["ideal: single on as many cores"]), {90.0})
        self.assertIn("independent (ceiling)", lines)

    def test_survive_as_part_of_a_page(self) -> None:
        svg = inline_svg(figure_time_split.draw(some_runs()), "f7", 'a "figure" & more')
        self.assertIn('aria-label="a &quot;figure&quot; &amp; more"', svg)
        self.assertEqual([name for name in re.findall(r' id="([^"]+)"', svg)
                          if not name.startswith("f7-")], [])
        self.assertNotRegex(svg, r"(fill|stroke): #")
        light, dark = colour_rules(svg)
        for name in re.findall(r"var\((--c-\w+)\)", svg):
            self.assertIn(name + ":", light)
            self.assertIn(name + ":", dark)

    def test_have_colours_that_show_on_dark_paper(self) -> None:
        self.assertGreater(int(dark_of("#000000")[1:3], 16), 200)
        self.assertLess(int(dark_of("#ffffff")[1:3], 16), 40)
        self.assertNotEqual(dark_of("#5b2a86"), "#5b2a86")
        self.assertEqual(dark_of("#e69f00"), "#e69f00")


class Wording(unittest.TestCase):
    def test_uses_the_unit_that_suits(self) -> None:
        self.assertEqual([time_text(value) for value in (None, math.inf, 8e-7, 0.0123, 4.567, 700)],
                         ["–", "–", "800 ns", "12.3 ms", "4.57 s", "11.7 min"])
        self.assertEqual([bytes_text(value) for value in (50, 1_650_000)], ["50 B", "1.65 MB"])
        self.assertEqual([longer_text(value) for value in (1.056, 2.4)],
                         ["5.6 % longer", "2.40 times as long"])


if __name__ == "__main__":
    unittest.main()
