#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the figures of claims on invented records, and the pictures of graphs."""

import contextlib
import io
import json
import os
import re
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock
from xml.etree import ElementTree

import matplotlib.pyplot as plt

import figure_bytes
import figure_graph_size
import figure_jitter
import figure_staleness
import figure_straggler
import graphs
import report
import strategies
from made_up import made_up_failure, made_up_record, made_up_runs
from judgement import Run, group_runs
from output_files import MARK

ROOT = Path(__file__).resolve().parent.parent


def record(strategy: str, seed: int = 1, workload: str = "resnet9_thin", speed: float = 1000,
           **cell: Any) -> dict[str, Any]:
    made = made_up_record(workload, strategy, seed, examples_per_s=speed)
    made["cell"].update(cell)
    return made


def runs_of(*made: dict[str, Any]) -> list[Run]:
    return made_up_runs(made)


SLOW = [{"worker": 1, "factor": 3.0}]


class Drawn(unittest.TestCase):
    def setUp(self) -> None:
        self.addCleanup(plt.close, "all")


class Figures(Drawn):
    def test_are_none_where_records_hold_nothing_for_them(self) -> None:
        single = runs_of(made_up_failure("parabola", "single", 1, 2))
        for figure in (figure_straggler, figure_jitter, figure_staleness, figure_bytes,
                       figure_graph_size):
            self.assertIsNone(figure.draw(single), figure.__name__)
            self.assertIsNone(figure.draw([]), figure.__name__)

    def test_know_the_asynchronous_strategies_of_the_table(self) -> None:
        source = "".join(file.read_text() for file in (ROOT / "strategies").glob("*.cpp"))
        rows = re.findall(r'const Strategy \w+ = {\s*\.name = "(\w+)".*?Exchange::(\w+)', source,
                          flags=re.DOTALL)
        self.assertGreater(len(rows), 5)
        for name, kind in rows:
            self.assertEqual(strategies.is_asynchronous(name), kind == "Asynchronous", name)
            self.assertEqual(strategies.claims_time(name), kind != "Nothing", name)
        self.assertTrue(strategies.is_asynchronous("async_shared+model_parallel"))
        self.assertFalse(strategies.is_asynchronous("gone"))


class Straggler(Drawn):
    def test_compares_each_seed_with_its_own_run(self) -> None:
        runs = runs_of(record("all_reduce", 1), record("all_reduce", 2, speed=2000),
                       record("all_reduce", 1, speed=300, straggler=SLOW),
                       record("all_reduce", 2, speed=700, straggler=SLOW),
                       record("all_reduce", 3, speed=900, straggler=SLOW))
        ((variant, ratios),) = figure_straggler.kept_speed(runs).items()
        self.assertEqual(ratios, [0.3, 0.35])
        self.assertAlmostEqual(figure_straggler.expected(variant), 1 / 3)

    def test_draws_each_ratio_beside_what_is_expected(self) -> None:
        runs = runs_of(*(record(strategy, seed, speed=speed, straggler=slow)
                         for strategy in ("all_reduce", "async_shared") for seed in (1, 2)
                         for speed, slow in ((1000, []), (350, SLOW))))
        (axes,) = figure_straggler.draw(runs).axes
        at = [list(line.get_xdata()) for line in axes.get_lines()]
        self.assertEqual(at.count([0.35, 0.35]), 4)  # both strategies: runs and median
        self.assertIn("worker 1 of 2 takes 3 times", axes.get_title(loc="left"))
        self.assertEqual([text.get_text() for text in axes.get_yticklabels()],
                         ["all_reduce", "async_shared"])

    def test_prints_a_table_and_writes_the_figure(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            made = [record("async_shared"), record("async_shared", speed=650, straggler=SLOW)]
            (Path(folder) / "records.jsonl").write_text("".join(
                json.dumps({**one, "run_id": str(at)}) + "\n" for at, one in enumerate(made)))
            with contextlib.redirect_stdout(io.StringIO()) as out:
                self.assertEqual(figure_straggler.main([folder]), 0)
            self.assertRegex(out.getvalue(), r"async_shared +1:3 +0.65 +0.67 +1\n")
            self.assertTrue((Path(folder) / "straggler.svg").exists())


class Jitter(Drawn):
    def test_averages_the_updates_of_a_batch(self) -> None:
        whole, alone = runs_of(record("all_reduce"), record("async_shared"))
        self.assertEqual(figure_jitter.losses_by_batch(whole), [(at, loss) for at, loss
                                                                in whole.losses])
        halves = figure_jitter.losses_by_batch(alone)
        self.assertEqual(len(halves), len(alone.losses) // 2)
        self.assertAlmostEqual(halves[0][1], (alone.losses[0][1] + alone.losses[1][1]) / 2)

    def test_takes_evaluations_where_losses_were_thinned_out(self) -> None:
        thinned = record("async_shared")
        thinned["losses"] = thinned["losses"][::3]
        figure = figure_jitter.draw(runs_of(record("all_reduce"), thinned))
        notes = [text.get_text() for part in figure.subfigs for axes in part.axes
                 for text in axes.texts]
        self.assertEqual(notes, ["line: mean over a batch", "line: evaluations"])

    def test_takes_runs_of_one_seed_only(self) -> None:
        self.assertIsNone(figure_jitter.draw(runs_of(record("all_reduce", 1),
                                                     record("async_shared", 2))))


class Staleness(Drawn):
    def test_adds_workers_and_runs_and_gathers_the_tail(self) -> None:
        runs = runs_of(record("async_shared", 1), record("async_shared", 2))
        self.assertEqual(runs[0].cell.staleness, (120, 280))
        late = record("async_shared", 3)
        late["workers"] = [{**late["workers"][0], "staleness_histogram": [50] + [0] * 8 + [25, 25]}]
        (axes,) = figure_staleness.draw(runs_of(late)).axes
        self.assertEqual([bar.get_height() for bar in axes.patches], [50, 0, 0, 0, 0, 0, 50])
        self.assertEqual(axes.get_xticklabels()[-1].get_text(), "6 or more")


class Bytes(Drawn):
    def test_draws_computed_and_counted_of_each_cell_once(self) -> None:
        odd = record("parameter_server")
        odd["graph"]["bytes_per_step_counted"] = 1000
        runs = runs_of(odd, record("all_reduce", 1), record("all_reduce", 2),
                       made_up_failure("resnet9_thin", "in_graph", 1, 1))
        (axes,) = figure_bytes.draw(runs).subfigs[0].axes
        self.assertEqual([bar.get_width() for bar in axes.patches], [1280, 1280])
        crosses = sorted(line.get_xdata()[0] for line in axes.get_lines())
        self.assertEqual(crosses, [1000, 1280])

    def test_follows_the_busiest_place_by_workers(self) -> None:
        made = [record("parameter_server", workers=workers) for workers in (2, 4)]
        made[1]["workers"][1]["bytes_sent"] = 30_000
        ((_, line),) = figure_bytes.busiest_by_workers(runs_of(*made)).items()
        self.assertEqual(line, {2: 640, 4: 3000})
        self.assertEqual(len(figure_bytes.draw(runs_of(*made)).subfigs), 2)


class GraphSize(Drawn):
    def test_takes_the_largest_graph_by_workers(self) -> None:
        made = [record("in_graph", workers=workers) for workers in (2, 4)]
        made += [record("all_reduce", workers=workers, processes=workers) for workers in (2, 4)]
        for one in made:
            workers, own = one["cell"]["workers"], one["cell"]["strategy"] == "all_reduce"
            one["graph"]["nodes_per_process"] = [50, 60] if own else [50 * workers]
        lines = figure_graph_size.largest_graphs(runs_of(*made))
        self.assertEqual([(variant.strategy, own, line) for (variant, own), line in lines.items()],
                         [("in_graph", False, {2: 100, 4: 200}),
                          ("all_reduce", True, {2: 60, 4: 60})])
        self.assertEqual(len(group_runs(runs_of(*made))), 4)
        self.assertIsNotNone(figure_graph_size.draw(runs_of(*made)))


class Graphs(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def test_pictures_every_strategy_and_the_single_graph_beside_in_graph(self) -> None:
        runs_of(record("all_reduce"))  # fills the table
        made = graphs.write_pictures(self.folder, overwrite=False)
        self.assertEqual({one.name for one in made}, set(strategies.table()) - {"single"})
        ids: list[str] = []
        for one in made:
            ElementTree.fromstring(one.svg)  # well formed
            file = (self.folder / f"graph_{one.name}.svg").read_text()
            self.assertEqual(file, f"<!-- {MARK} -->\n{one.svg}")
            ElementTree.fromstring(file)
            ids += re.findall(r'id="([^"]*)"', one.svg)
        self.assertEqual(len(ids), len(set(ids)))
        both = next(one.svg for one in made if one.name == "in_graph")
        self.assertIn(">single<", both)
        self.assertIn(">in_graph<", both)
        self.assertEqual(both.count(">loss backward<"), 3)  # one of `single`, one of each replica

    def test_say_which_package_is_missing_and_leave_a_note_in_the_page(self) -> None:
        runs_of(record("all_reduce"))
        with mock.patch.dict(os.environ, {"PATH": str(self.folder)}):
            with self.assertRaisesRegex(graphs.GraphsError, "apt-get install graphviz"):
                graphs.drawn("digraph {}", 1, "nothing")
            (note,) = report.graph_pictures(self.folder, overwrite=False)
        self.assertEqual(note.svg, "")
        self.assertIn("Without pictures of graphs", note.description)
        self.assertIn("apt-get install graphviz", note.description)


if __name__ == "__main__":
    unittest.main()
