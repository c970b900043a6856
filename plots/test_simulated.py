# SPDX-License-Identifier: Apache-2.0
"""Tests the page of runs in virtual time, its figures and sentences, on invented records."""

import contextlib
import io
import json
import re
import tempfile
import unittest
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

import report
import virtual
import virtual_backups
import virtual_staleness
from figure_virtual import draw_each, draw_speed, draw_target
from figure_virtual_split import draw_split
from made_up import made_up_judgement, made_up_record, made_up_simulated
from selection import MOST_LINES
from simulated import Study, studies_of
from simulated_page import StudyView, views_of
from strategies import PlotsError

GBIT = 125e6  # bytes a second


def link(gbit: float | None, latency_us: float = 25) -> dict[str, Any]:
    return {"link_bytes_per_s": gbit and gbit * GBIT, "latency_ns": latency_us * 1e3}


def some_records() -> list[dict[str, Any]]:
    """Records of three strategies on two links."""
    speeds = {1: {"all_reduce": (300, 500, 900), "gossip": (300, 400, 1600),
                  "parameter_server": (None, 800, 800)},
              10: {"all_reduce": (300, 600, 2400), "gossip": (300, 600, 2400),
                   "parameter_server": (None, 610, 2500)}}
    return [made_up_simulated(strategy, workers, speed, hardware=link(gbit))
            for gbit, ways in speeds.items() for strategy, line in ways.items()
            for workers, speed in zip((1, 2, 8), line) if speed]


def study_of(records: list[dict[str, Any]]) -> Study:
    (study,) = studies_of(made_up_judgement(records))
    return study


def trained(strategy: str, workers: int, seconds: float | None) -> dict[str, Any]:
    """A record in virtual time that reaches the target after `seconds`; None: misses it."""
    record = made_up_simulated(strategy, workers, 100.0 * workers)
    record["simulated"]["mode"] = "train"
    record["cell"].update(global_batch=256)
    record["evaluations"] = [{"examples": 1000, "epoch": 1.0, "metric": 91.0 if seconds else 20.0,
                              "loss": 1.0, "training_time_ns": round((seconds or 9) * 1e9)}]
    if seconds:
        record.update(status="reached", training_time_to_target_ns=round(seconds * 1e9),
                      examples_to_target=1000)
    return record


class Studies(unittest.TestCase):
    def setUp(self) -> None:
        self.addCleanup(plt.close, "all")

    def view(self, records: list[dict[str, Any]]) -> StudyView:
        (view,) = views_of([study_of(records)])
        return view

    def test_name_links_and_the_first_of_a_column(self) -> None:
        view = self.view(some_records())
        self.assertEqual([part.link for part in view.what_if],
                         ["1 Gbit/s, 25 µs", "10 Gbit/s, 25 µs"])
        names = [name.label for name, _ in view.what_if[0].rows]
        self.assertEqual(names, ["all_reduce", "gossip", "parameter_server"])
        entries = view.what_if[0].rows[1][1]
        self.assertEqual([(one.speed, one.times) for one in entries],
                         [("300", "× 1"), ("400", "× 1.33"), ("1,600", "× 5.33")])
        self.assertEqual([one.is_best for one in entries], [True, False, True])
        self.assertEqual(view.what_if[0].rows[2][1][0].speed, "")  # one worker has no server
        self.assertIn("32 examples a step for each worker", view.conditions)

    def test_draw_a_panel_for_each_link_and_a_line_for_each_way(self) -> None:
        study = study_of(some_records())
        figure = draw_speed(study)
        self.assertEqual([axes.get_title("left") for axes in figure.axes],
                         [one.text for one in study.links])
        heights = [list(line.get_ydata()) for line in figure.axes[0].get_lines()]
        self.assertIn([300, 400, 1600], heights)
        self.assertIn([300, 2400], heights)  # the ideal line: n times one worker
        heights = [list(line.get_ydata()) for line in draw_each(study).axes[0].get_lines()]
        self.assertIn([300, 200, 200], heights)
        self.assertIsNone(draw_target(study))
        self.assertIsNone(draw_speed(study_of([made_up_simulated("gossip", 2, 100)])))

    def test_split_the_time_into_parts_that_add_up(self) -> None:
        study = study_of(some_records())
        figure = draw_split(study)
        self.assertEqual(len(figure.axes), 3 * 2)
        bars = figure.axes[0].patches
        self.assertEqual(len(bars), 3 * 5)
        self.assertAlmostEqual(sum(bar.get_height() for bar in bars[::3]), 100)
        unsplit = [record | {"workers": []} for record in some_records()]
        self.assertIsNone(draw_split(study_of(unsplit)))

    def test_have_times_to_the_target_where_something_was_learnt(self) -> None:
        records = [trained("all_reduce", 2, 50), trained("all_reduce", 8, 20),
                   trained("async_shared", 2, 40), trained("async_shared", 8, None)]
        view = self.view(records)
        targets = [[one.target for one in entries] for _, entries in view.what_if[0].rows]
        self.assertEqual(targets, [["50.0 s", "20.0 s"], ["40.0 s", "missed"]])
        soonest = [[one.is_soonest for one in entries] for _, entries in view.what_if[0].rows]
        self.assertEqual(soonest, [[False, True], [True, False]])
        self.assertIn("target accuracy 85 %", view.conditions)
        (axes,) = draw_target(study_of(records)).axes
        self.assertIn([50, 20], [list(line.get_ydata()) for line in axes.get_lines()])

    def test_show_some_of_many_ways_and_links_and_say_so(self) -> None:
        records = []
        for number in range(20):
            for workers in (2, 4):
                for gbit in range(1, 13):
                    record = made_up_simulated("local_sgd", workers, 100 + number,
                                               hardware=link(gbit))
                    record["cell"]["options"] = {"sync_every": 2 + number}
                    records.append(record)
        study = study_of(records)
        for draw, links in ((draw_speed, 9), (draw_split, 4)):
            figure = draw(study)
            said = " ".join(text.get_text() for text in figure.texts)
            self.assertIn(f"Shown: {MOST_LINES} of 20 ways, {links} of 12 links", said)
            self.assertLess(figure.get_tightbbox().height, 18)

    def test_name_clusters_of_older_records(self) -> None:
        old = made_up_simulated("gossip", 2, 100)
        del old["simulated"]["hardware"]
        view = self.view([old])
        self.assertEqual(view.what_if[0].link, "cluster 01234567")
        self.assertIn(("their machine", "not recorded"), view.made)

    def test_say_what_waits_and_whose_cores_hosts_share(self) -> None:
        plain = self.view([made_up_simulated("gossip", 2, 100)]).conditions
        self.assertNotIn("wait", plain)
        crowded = self.view([made_up_simulated("gossip", 2, 100, hardware={
            "queue_bytes": 85e3, "machine_cores": 2})]).conditions
        self.assertEqual(crowded, f"{plain} · hosts share 2 cores · a flow keeps 85 kB waiting "
                                  "in front of a full link")


class Pages(unittest.TestCase):
    def made(self, records: list[dict[str, Any]]) -> dict[str, str]:
        """The files of the pages by name, and the printed output."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "judgement.json").write_text(json.dumps(made_up_judgement(records)))
            with contextlib.redirect_stdout(io.StringIO()) as said:
                self.assertEqual(report.main([str(folder / "judgement.json")]), 0)
            return {"said": said.getvalue(),
                    **{page.name: page.read_text() for page in folder.glob("*.html")}}

    def test_stand_apart_from_real_runs_and_say_what_they_are(self) -> None:
        real = [made_up_record("resnet9_thin", "single", 1)]
        made = self.made([*real, *some_records()])
        self.assertEqual(set(made), {"said", "index.html", "simulated.html"})
        self.assertIn('href="simulated.html"', made["index.html"])
        self.assertNotIn("gossip", re.sub(r'<section id="graphs">.*?</section>', "",
                                          made["index.html"], flags=re.DOTALL))
        page = made["simulated.html"]
        self.assertIn("computed from measured costs, nothing here was run", page)
        self.assertIn('href="index.html"', page)
        for told in ("regatta calibrate", "A CPU", "fedcba9876543210",
                     "regatta run --strategy gossip --workers 8"):
            self.assertIn(told, page)
        self.assertIn("simulated.html", made["said"])

    def test_of_simulated_runs_alone_are_the_index(self) -> None:
        made = self.made(some_records())
        self.assertEqual(set(made), {"said", "index.html"})
        self.assertIn("What if the cluster were another?", made["index.html"])
        self.assertNotIn('href="index.html"', made["index.html"])

    def test_of_real_runs_alone_say_nothing_of_virtual_time(self) -> None:
        made = self.made([made_up_record("resnet9_thin", "single", 1)])
        self.assertEqual(set(made), {"said", "index.html"})
        self.assertNotIn("virtual", made["index.html"])

    def test_the_table_for_the_terminal_is_in_terms_of_one_worker(self) -> None:
        with contextlib.redirect_stdout(io.StringIO()) as said:
            virtual.print_table(study_of(some_records()))
        self.assertRegex(said.getvalue(), r"1 Gbit/s, 25 µs: speed(.|\n)*"
                         r"gossip +1: 1.00 \(17 %\)  2: 1.33 \(17 %\)  8: 5.33")


class SecondServer(unittest.TestCase):
    def test_pays_from_where_no_larger_number_of_workers_is_below(self) -> None:
        records = []
        for servers, speeds in {1: (100, 100, 100, 100), 2: (120, 105, 110, 190)}.items():
            for workers, speed in zip((2, 4, 8, 16), speeds):
                records.append(made_up_simulated("parameter_server", workers, speed))
                records[-1]["cell"]["options"] = {"servers": servers}
        with contextlib.redirect_stdout(io.StringIO()) as said:
            virtual.print_second_server(study_of(records))
            virtual.print_second_server(study_of(some_records()))
        self.assertEqual(said.getvalue(), "10 Gbit/s, 25 µs: speed with two servers in terms of "
                         "one: 2: 1.20  4: 1.05  8: 1.10  16: 1.90; 1.1 from 8 workers on\n")


class Backups(unittest.TestCase):
    """Eight machines. SPEEDS: examples/s by spread and number of backups."""

    SPEEDS = {0.2: {0: 800, 1: 840, 2: 750}, 0.8: {0: 400, 1: 560, 2: 600}}

    def setUp(self) -> None:
        self.addCleanup(plt.close, "all")

    def lines(self, *without: int) -> list[virtual_backups.Line]:
        records = []
        for spread, speeds in self.SPEEDS.items():
            for backups in speeds.keys() - set(without):
                record = made_up_simulated("parameter_server", 8 - backups, speeds[backups],
                                           hardware={"compute_times": "log_normal",
                                                     "spread": spread})
                record["cell"]["options"] = {"backup_workers": backups}
                records.append(record)
        studies = studies_of(made_up_judgement(records))
        return sorted((virtual_backups.line_of(study) for study in studies),
                      key=lambda line: line.spread)

    def test_shorten_steps_whose_batch_is_the_workers(self) -> None:
        narrow, wide = self.lines()
        self.assertEqual([part.backups for part in narrow.parts], [0, 1, 2])
        self.assertEqual([line.best.backups for line in (narrow, wide)], [1, 2])
        self.assertAlmostEqual(wide.parts[0].mean_step, 8 * 32 / 400)
        self.assertAlmostEqual(wide.parts[2].mean_step, 6 * 32 / 600)

    def test_are_drawn_with_the_best_number_marked(self) -> None:
        steps, speeds = virtual_backups.figure_of(self.lines()).axes
        heights = [list(line.get_ydata()) for line in steps.get_lines()]
        self.assertIn([1, 0.625, 0.5], [[round(one, 12) for one in line] for line in heights])
        ringed = [list(map(round, (*line.get_xdata(), *line.get_ydata())))
                  for line in speeds.get_lines() if line.get_markerfacecolor() == "none"]
        self.assertEqual(ringed, [[1, 840], [2, 600]])

    def test_need_a_run_without_them(self) -> None:
        with self.assertRaisesRegex(PlotsError, "--backups 0"):
            self.lines(0)


class Staleness(unittest.TestCase):
    def setUp(self) -> None:
        self.addCleanup(plt.close, "all")

    def records(self) -> list[dict[str, Any]]:
        """Records like those of ci/virtual_staleness: rates depend on the number of workers, and
        runs of 8 workers without a bound diverge."""
        records = []
        for workers in (1, 2, 8):
            for strategy, bound in (("all_reduce", None), ("async_shared", None),
                                    ("async_shared", 0)):
                record = trained(strategy, workers, None)
                record["cell"].update(processes=1, rate_scale=0.5 * workers, steps=64 // workers,
                                      global_batch=8 * workers)
                record["cell"]["options"] = {} if bound is None else {"staleness_bound": bound}
                if (strategy, workers, bound) == ("async_shared", 8, None):
                    record.update(status="failed", evaluations=[], failure={
                        "kind": "diverged", "text": "step 7: the loss is not finite"})
                records.append(record)
        return records

    def test_is_a_line_for_each_way_over_studies_of_other_rates(self) -> None:
        records = self.records()
        whole = made_up_judgement(records[:1])["simulated"][0]["ways"][0]["cell"]
        records = [{**record, "run_id": str(at), "cell": {**whole, **record["cell"]}}
                   for at, record in enumerate(records)]
        with tempfile.TemporaryDirectory() as name:
            file = Path(name) / "simulated.jsonl"
            lines_twice = [json.dumps(record) + "\n" for record in records] * 2
            file.write_text("".join(lines_twice) + lines_twice[0][:-9])
            studies = studies_of(made_up_judgement(records))
            lines = virtual_staleness.lines_of(studies, virtual_staleness.diverged_in(file))
        self.assertEqual([line.label for line in lines],
                         ["all_reduce", "async_shared, no staleness bound",
                          "async_shared, staleness bound 0"])
        free = lines[1].outcomes
        self.assertEqual([(one.workers, one.metric, one.diverged) for one in free],
                         [(1, 20, 0), (2, 20, 0), (8, None, 1)])
        self.assertAlmostEqual(free[1].staleness or 0, 0.7)
        stale, ends = virtual_staleness.figure_of(lines, "accuracy").axes
        self.assertIn([0.7, 0.7], [[round(one, 12) for one in line.get_ydata()]
                                   for line in stale.get_lines()])
        crosses = [line for line in ends.get_lines() if line.get_marker() == "x"]
        self.assertEqual([list(line.get_ydata()) for line in crosses], [[0]])
        with contextlib.redirect_stdout(io.StringIO()) as said:
            virtual_staleness.print_table(lines, "accuracy")
        self.assertRegex(said.getvalue(), r"no staleness bound +1: 20.0 \(0.7\) .* 8: diverged\n")


if __name__ == "__main__":
    unittest.main()
