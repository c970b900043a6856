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
from figure_virtual import draw_each, draw_speed, draw_target
from figure_virtual_split import draw_split
from made_up import made_up_judgement, made_up_record, made_up_simulated
from selection import MOST_LINES
from simulated import Study, studies_of
from simulated_page import StudyView, views_of

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


if __name__ == "__main__":
    unittest.main()
