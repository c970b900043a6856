# SPDX-License-Identifier: Apache-2.0
"""Tests figures and sentences of the report on invented records, and cases that have none."""

import math
import re
import unittest
from typing import Any
from urllib.parse import quote

import matplotlib.pyplot as plt

import figure_bytes
import figure_exchanges
import figure_forest
import figure_graph_size
import figure_memory
import figure_race
import figure_scaling
import figure_staleness
import figure_straggler
import figure_time_split
from curves import draw_curves
from headline import factors_text, headline_of, standing_text, why_of
from inline_svg import colour_rules, inline_svg
from made_up import made_up_judgement, made_up_record, made_up_runs, made_up_simulated
from judgement import Run
from judgement import runs_of as judged_runs
from selection import MOST_ROWS, fitting
from wording import bytes_text, counts_text, time_text

MODULES = (figure_race, figure_forest, figure_time_split)


def runs_of(*records: dict[str, Any]) -> list[Run]:
    return made_up_runs(records)


def some_records() -> list[dict[str, Any]]:
    return [made_up_record("resnet9_thin", strategy, seed)
            for strategy in ("single", "all_reduce", "async_shared", "independent")
            for seed in (1, 2, 3)]


def some_runs() -> list[Run]:
    return runs_of(*some_records())


def with_workers(strategy: str, workers: int, speed: float) -> dict[str, Any]:
    record = made_up_record("resnet9_thin", strategy, 1, examples_per_s=speed)
    record["cell"]["workers"] = workers
    return record


class Figures(unittest.TestCase):
    def setUp(self) -> None:
        self.addCleanup(plt.close, "all")

    def test_draw_nothing_where_the_records_hold_nothing_for_them(self) -> None:
        early = runs_of({"cell": {"workload": "parabola", "strategy": "single"},
                         "status": "failed"})
        for module in (*MODULES, figure_scaling):
            self.assertIsNone(module.draw(early), module.__name__)
        self.assertIsNone(figure_scaling.draw(some_runs()))  # each has one number of workers

    def test_show_what_exchanging_less_costs(self) -> None:
        self.assertIsNone(figure_exchanges.draw(some_runs()))  # all exchange in every step or never
        rare = made_up_record("resnet9_thin", "local_sgd", 1)
        rare["graph"]["bytes_per_step_counted"] = 320
        rare["evaluations"][-1]["metric"] = 71.5
        (axes,) = figure_exchanges.draw([*some_runs(), *runs_of(rare)]).axes
        marks = {line.get_label(): (line.get_xdata()[0], line.get_ydata()[0])
                 for line in axes.get_lines() if not line.get_label().startswith("_")}
        self.assertEqual(marks["local_sgd"], (320, 71.5))
        self.assertGreater(marks["all_reduce"][0], 320)
        self.assertEqual(set(marks), {"local_sgd", "all_reduce", "single", "independent",
                                      "async_shared"})

    def test_split_a_step_into_parts_that_add_up(self) -> None:
        runs = some_runs()
        (axes,) = figure_time_split.draw(runs).axes
        self.assertEqual(len(axes.patches), 4 * 5)
        self.assertEqual(axes.get_xlabel(), "a worker's step (microseconds)")
        self.assertAlmostEqual(sum(bar.get_width() for bar in axes.patches[::4]), 0.1)
        stages = made_up_record("parabola", "pipeline", 1, workers=[
            {"compute_ns": 800, "wait_ns": 200, "bubble_ns": 150, "steps": 10}], training_ns=1100)
        figure = figure_time_split.draw(runs_of(stages))
        self.assertEqual([text.get_text() for text in figure.legends[0].get_texts()],
                         ["compute", "exposed communication", "wait for stages", "other wait",
                          "input", "update", "between kernels"])
        (axes,) = figure.axes
        self.assertEqual([round(1000 * bar.get_width()) for bar in axes.patches],
                         [80, 0, 15, 5, 0, 0, 10])
        slow = made_up_record("resnet9_thin", "in_graph", 1, workers=[
            {"compute_ns": 10**6, "wait_ns": 10**6, "steps": 10}])
        (axes,) = figure_time_split.draw([*runs, *runs_of(slow)]).axes
        self.assertEqual(axes.get_xlabel(), "share of a worker's step (%)")

    def test_show_the_memory_of_the_worker_that_needs_most(self) -> None:
        self.assertIsNone(figure_memory.draw(some_runs()))  # records before version 14
        small = {"planned_bytes": 1000, "parameter_bytes": 400, "slot_bytes": 100,
                 "activation_bytes": 300, "gradient_bytes": 150}
        large = {**small, "planned_bytes": 5000, "activation_bytes": 4200}
        figure = figure_memory.draw(runs_of(
            made_up_record("gpt_thin", "pipeline", 1, workers=[small, large]),
            made_up_record("gpt_thin", "sharded", 1, workers=[small, small])))
        (axes,) = figure.axes
        self.assertEqual([bar.get_width() for bar in axes.patches],  # by purpose, the least first
                         [400, 400, 100, 100, 150, 150, 300, 4200, 50, 150])
        self.assertEqual([text.get_text() for text in figure.legends[0].get_texts()],
                         ["parameters", "slots", "gradients", "activations", "others"])

    def test_scale_against_an_ideal_line_and_name_the_ceiling(self) -> None:
        runs = runs_of(with_workers("single", 1, 90.0), with_workers("independent", 2, 99.0),
                       *(with_workers("all_reduce", n, 50.0 * n) | {"tokens_per_example": 64}
                         for n in (1, 2, 4)))
        (axes,) = figure_scaling.draw(runs).axes
        said = " ".join(str(line.get_gid()) for line in axes.get_lines())
        self.assertIn(quote(": 200 examples/s (200 to 200), 12,800 tokens/s"), said)
        self.assertEqual(said.count(quote("tokens/s")), 3)
        lines = {line.get_label(): list(line.get_ydata()) for line in axes.get_lines()}
        self.assertEqual(lines["all_reduce"], [50, 100, 200])
        self.assertEqual(set(lines["ideal: single on as many cores"]), {90.0})
        self.assertIn("independent (ceiling)", lines)

    def test_scale_in_virtual_time_on_each_cluster_with_shares_of_one_size(self) -> None:
        records = [made_up_simulated("all_reduce", n, gbit * 90.0 * n ** 0.5,
                                     hardware={"link_bytes_per_s": gbit * 125e6})
                   for gbit in (1, 10) for n in (1, 4, 16)]
        judged = made_up_judgement(records)
        self.assertEqual(judged["workloads"], [])
        self.assertEqual([one["machine"]["cpu"].split(",")[0] for one in judged["virtual_time"]],
                         ["links of 1000 Mbit/s", "links of 10000 Mbit/s"])
        (axes,) = figure_scaling.draw(judged_runs(judged["virtual_time"][:1])).axes
        lines = {line.get_label(): list(line.get_ydata()) for line in axes.get_lines()}
        self.assertEqual(lines["all_reduce"], [90, 180, 360])
        self.assertEqual(lines["ideal: n times one worker"], [90, 360, 1440])
        self.assertEqual((axes.get_xscale(), axes.get_yscale()), ("log", "log"))

    def test_say_on_hover_what_a_mark_shows(self) -> None:
        for module, title in ((figure_forest, "all_reduce, seed 2: "),
                              (figure_time_split, "compute: "),
                              (figure_race, "all_reduce: ")):
            with self.subTest(module=module.__name__):
                svg = inline_svg(module.draw(some_runs()), "f1", "")
                said = re.findall(r"<title>([^<]*)</title>", svg)
                self.assertTrue(any(text.startswith(title) for text in said), said)
                self.assertFalse("hover:" in svg)
                self.assertIn('<g data-name="all_reduce">', svg)  # its name, beside or below

    def test_leave_workers_that_share_a_gpu_out_of_scaling(self) -> None:
        records = [with_workers("all_reduce", n, 100.0 * n) for n in (1, 2)]
        self.assertIsNotNone(figure_scaling.draw(runs_of(*records)))
        records[1]["cell"]["shared_gpu"] = True
        self.assertIsNone(figure_scaling.draw(runs_of(*records)))

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

STRATEGIES = ("single", "all_reduce", "in_graph", "parameter_server_async", "independent")
TALLEST, WIDEST = 18, 14  # inches


def thousand_cells() -> list[Run]:
    """One run for each cell of one workload: cells differ in strategy, batch, workers and
    straggler."""
    records = []
    for strategy in STRATEGIES:
        for number in range(100):
            record = made_up_record("parabola", strategy, 1, losses=[], pace=1 + number / 100)
            record["cell"]["global_batch"] = 50 + number // 2
            record["cell"]["workers"] = 2 + number // 2 % 2
            if number % 2:
                record["cell"]["straggler"] = [{"worker": 1, "factor": 2.0}]
            records.append(record)
    # The counterparts without a straggler, and a second number of workers for each line.
    records += [{**record, "cell": {**record["cell"], "workers": 5 - record["cell"]["workers"]}}
                for record in records]
    return runs_of(*records)


class ThousandCells(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.addClassCleanup(plt.close, "all")
        cls.runs = thousand_cells()

    def test_leave_figures_that_can_be_read_and_say_what_is_not_shown(self) -> None:
        modules = (*MODULES, figure_scaling, figure_staleness, figure_straggler, figure_bytes,
                   figure_graph_size)
        for draw in (*(module.draw for module in modules), figure_race.draw_race, draw_curves):
            figure = draw(self.runs)
            with self.subTest(figure=draw.__module__):
                drawn = figure.get_tightbbox()
                self.assertLess(drawn.height, TALLEST)
                self.assertLess(drawn.width, WIDEST)
                said = " ".join(text.get_text() for text in figure.texts)
                self.assertRegex(said, r"Shown: \d+ of [\d,]+ cells")
                self.assertIn("The tables have all", said)

    def test_show_the_first_of_each_strategy_and_as_many_of_each_as_there_is_room_for(self) -> None:
        runs = [run for run in self.runs if run.claims_time]
        shown, said = fitting(runs, MOST_ROWS)
        self.assertEqual(said, f"{MOST_ROWS} of 800 cells")
        counts = [sum(run.variant.strategy == strategy for run in shown)
                  for strategy in STRATEGIES if strategy != "independent"]
        self.assertEqual(counts, [MOST_ROWS // 4] * 4)
        for strategy in STRATEGIES[:4]:
            times = sorted(run.time_to_target for run in runs if run.variant.strategy == strategy)
            self.assertEqual(sorted(run.time_to_target for run in shown
                                    if run.variant.strategy == strategy), times[:MOST_ROWS // 4])

def judged(certainty: str, *cells: tuple[str, float | None, float]) -> Any:
    """The part of a judgement that headlines use. `cells`: standing, median, factor of each."""
    rows = [{"cell": {"strategy": "single"}, "count": 5, "reached": 5, "claims_time": True,
             "against_first": {"standing": standing, "p": 0.01, "pairs": 5, "time": factor,
                               "examples": factor / 0.8, "each": 0.8, "low": factor - 0.1,
                               "high": factor + 0.1},
             "left_out": None, "against_single": None, "typical_seconds": median,
             "seconds_per_example": {"median": 1e-3}, "metric": {"median": 55.0},
             "step_seconds": {"compute": 3, "exposed_communication": 1, "bubble": 0,
                              "wait": 0}}
            for standing, median, factor in cells]
    return {"target": {"metric": "accuracy", "value": 60.0}, "cells": rows, "matrices": [],
            "decision": None, "certainty": certainty}


class Headlines(unittest.TestCase):
    def test_answer_in_one_sentence_with_the_certainty_beside_it(self) -> None:
        sure = judged("sure", ("first", 3.0, 1.0), ("slower", 6.0, 2.0))
        headline = headline_of(sure, ["a", "b"])
        self.assertEqual((headline.lead.replace("\u00a0", " "), headline.badge, headline.to_go_on),
                         ("a is first; b, the next, takes 2.00 (1.90 to 2.10) times as long as a; "
                          "b certainly takes at least 1.9 times as long as a", "sure", []))
        self.assertIn("5 runs each, compared seed by seed. With 95\u00a0%", headline.sure)
        why = why_of(sure, ["a", "b"])
        self.assertIn("needed 2.50\u00a0times the examples and 0.80\u00a0times the time for "
                      "each, so 2.00\u00a0times the time", why)
        self.assertIn("Exchange and waiting take 25\u00a0%", why)
        self.assertEqual(factors_text(sure["cells"][1]), "2.00 = 2.50 × 0.80")
        self.assertEqual(standing_text(sure["cells"][1], "a"), "slower (1.90 to 2.10)")
        late = judged("sure", ("first", 3.0, 1.0), ("missed", None, 1.0))
        del late["cells"][1]["against_first"]["time"]
        self.assertEqual(headline_of(late, ["a", "b"]).lead, "a is first")

    def test_name_all_that_cannot_be_told_apart(self) -> None:
        open_ = judged("open", ("first", 3.0, 1.0), ("open", 3.1, 1.03), ("slower", 6.0, 2.0))
        headline = headline_of(open_, ["a", "b", "c"])
        self.assertEqual((headline.short, headline.badge),
                         ("the fastest of 3 is one of 2: a and b", "too few runs to say which"))
        self.assertEqual(headline.lead.replace("\u00a0", " "),
                         "the fastest of 3 is one of 2: a and b; a leads; b, the next, takes 1.03 "
                         "(0.93 to 1.13) times as long as a; c certainly takes at least 1.9 times "
                         "as long as a")
        many = judged("open", *[("first" if i == 0 else "open", 3.0, 1.0) for i in range(9)])
        for against in open_["cells"][1]["against_first"], judged(
                "open", ("first", 3.0, 1.0), ("open", 3.1, 1.03))["cells"][1]["against_first"]:
            cell = {"against_first": against, "left_out": None}
            self.assertTrue(standing_text(cell, "a").startswith("not decided ("))
            against.update(low=1e-3, high=230236293.0)  # too wide to be useful
            self.assertEqual(standing_text(cell, "a"), "not decided")
        self.assertEqual(why_of(many, list("abcdefghi")), "")

    def test_say_what_is_missing(self) -> None:
        cut = judged("open", ("first", 3.0, 1.0), ("open", 6.0, 2.0))
        self.assertEqual(headline_of(cut, ["a", "b"]).to_go_on, [])
        rests = {24: "regatta matrix --tier quick --resume",
                 0: "regatta matrix --tier quick --decide --resume"}
        cut["matrices"] = [{"missing": missing, "seconds": 700.0, "tuned": "", "command": command}
                           for missing, command in rests.items()]
        self.assertEqual(headline_of(cut, ["a", "b"]).to_go_on,
                         [("24 runs, about 11.7 min", rests[24]),
                          ("until it is decided", rests[0])])
        alone = headline_of(judged("alone", ("first", 3.0, 1.0)), ["a"])
        self.assertEqual(alone.lead.replace("\u00a0", " "), "a reached accuracy 60 % in 3.00 s")
        missed = headline_of(judged("not_reached", ("missed", None, 1.0)), ["a"])
        self.assertIn("No cell reached accuracy 60\u00a0% in the median", missed.lead)
        never = judged("not_reached", ("missed", None, 1.0)) | {"matrices": cut["matrices"]}
        self.assertEqual([command for _, command in headline_of(never, ["a"]).to_go_on],
                         [rests[24]])


class Wording(unittest.TestCase):
    def test_uses_the_unit_that_suits(self) -> None:
        times = (None, math.inf, 0, 8e-7, 0.0123, 4.567, 700)
        self.assertEqual([time_text(value) for value in times],
                         ["–", "–", "0 s", "800 ns", "12.3 ms", "4.57 s", "11.7 min"])
        self.assertEqual([bytes_text(value) for value in (50, 1_650_000)], ["50 B", "1.65 MB"])
        self.assertEqual([counts_text(values) for values in ([64, 128, 64], range(50, 1001))],
                         ["64, 128", "50 to 1,000"])


if __name__ == "__main__":
    unittest.main()
