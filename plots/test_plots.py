# SPDX-License-Identifier: Apache-2.0
"""Tests reader, table and figure on invented records, including damaged ones."""

import contextlib
import io
import json
import math
import os
import tempfile
import unittest
import unittest.mock
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

import curves
import race
from figure_race import draw_race, footer
from judgement import group_runs, variant_of
from judgement import runs_of as runs_of_workloads
from labels import cell_labels, labels, workers_text
from made_up import made_up_failure, made_up_judgement, made_up_record, made_up_runs
from page import page_of
from page_cells import COLUMNS
from palette import style_of, styles
from program import judge
from strategies import PlotsError, strategies_text
from table import format_time, render_table

ROOT = Path(__file__).resolve().parent.parent


class InFolder(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.addCleanup(plt.close, "all")
        self.folder = Path(temporary.name)

    def write(self, text: str) -> None:
        (self.folder / "records.jsonl").write_text(text)

    def read(self) -> list[Any]:
        return runs_of_workloads(judge([self.folder])["workloads"])


def line(*arguments: Any, **change: Any) -> str:
    return json.dumps(made_up_record(*arguments, **change)) + "\n"


class Reader(InFolder):
    def test_passes_on_what_the_program_says_of_a_line_that_is_no_record(self) -> None:
        whole = line("parabola", "single", 1)
        self.write(whole + whole[:len(whole) // 2])
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(len(self.read()), 1)
        self.assertRegex(said.getvalue(), "records.jsonl:2: no record: .* cut short; skipped")

    def test_does_without_fields_that_are_missing(self) -> None:
        self.write('{"cell": {"workload": "parabola", "strategy": "single"}, "status": "missed"}\n')
        (run,) = self.read()
        self.assertTrue(math.isinf(run.time_to_target))
        self.assertEqual(run.evaluations, ())
        draw_race([run])
        render_table([run])

    def test_says_what_to_do_without_the_program(self) -> None:
        for name, said in ((str(self.folder / "gone"), "cannot start .*/gone: No such file"),
                           ("/bin/false", "ended with exit code 1")):
            with unittest.mock.patch.dict(os.environ, {"REGATTA": name}):
                with self.assertRaisesRegex(PlotsError, said):
                    self.read()


def runs_of(*records: dict[str, Any]) -> list[Any]:
    return made_up_runs(records)


class Statistics(unittest.TestCase):
    def test_words_workers_and_strategies_in_one_way(self) -> None:
        self.assertEqual(workers_text([("a", 2, 1)]), "2 workers × 1 thread")
        self.assertEqual(workers_text(("a", n, 8 // n) for n in (1, 2, 4, 8)),
                         "1, 2, 4, 8 workers × 1, 2, 4, 8 threads")
        runs_of(made_up_record("parabola", "single", 1))  # for the table of strategies
        names = ["single", "all_reduce+pipeline", "single", "all_reduce+top_k"]
        self.assertEqual(strategies_text(names), "4 strategies")
        self.assertEqual(strategies_text([*names, "torch single", "torch sharded", "my.py"]),
                         "5 strategies, 2 other programs")

    def test_names_only_what_differs(self) -> None:
        runs = runs_of(made_up_record("parabola", "single", 1),
                       made_up_record("parabola", "all_reduce", 1))
        self.assertEqual(list(cell_labels(group_runs(runs)).values()), ["single", "all_reduce"])
        ring, mean = (made_up_record("parabola", "all_reduce", 1) for _ in range(2))
        ring["cell"].update(options={"all_reduce": "ring"}, workers=4)
        mean["cell"].update(options={"all_reduce": "reduce_to_one"},
                            straggler=[{"worker": 1, "factor": 3.0}])
        self.assertEqual(list(cell_labels(group_runs(runs_of(ring, mean))).values()),
                         ["all_reduce, 4 workers, ring, no straggler",
                          "all_reduce, 2 workers, reduce_to_one, straggler 1:3"])

    def test_tells_cells_apart_by_a_field_that_it_does_not_know(self) -> None:
        (run,) = runs_of(made_up_record("parabola", "single", 1))
        cell = {"workload": "parabola", "strategy": "single", "workers": 1, "options": {},
                "dataset": "curve", "global_batch": 50, "device": "cpu", "dtype": "f32",
                "cuda_graph": None, "cudnn_engine": None, "fusion": "off", "winograd": "off",
                "processes": 1, "stages": 1, "normalization_group": None, "rate_scale": 1.0,
                "oversubscribed": False, "shared_gpu": False, "gpus": None, "straggler": [],
                "steps": None, "epochs": None, "evaluate": "often", "threads_per_worker": 1}
        self.assertEqual(variant_of(cell), run.variant)
        cold, warm = (variant_of({**cell, "warmup_steps": steps}) for steps in (0, 200))
        self.assertEqual(labels([cold, warm]), {cold: "single, warmup steps 0",
                                                warm: "single, warmup steps 200"})

    def test_tells_how_many_gpus_workers_share(self) -> None:
        records = [made_up_record("parabola", "in_graph", 1) for _ in range(3)]
        for record, gpus in zip(records, (1, 2, 4)):
            record["cell"].update(workers=4, gpus=gpus, shared_gpu=gpus < 4)
        self.assertEqual(list(cell_labels(group_runs(runs_of(*records))).values()),
                         ["in_graph, shared GPU", "in_graph, 2 shared GPUs", "in_graph"])

    def test_shows_tokens_and_utilisation_where_they_are_known(self) -> None:
        records = [made_up_record("parabola", "single", seed) for seed in (1, 2)]
        plain = render_table(runs_of(*records))
        for record in records:
            record.update(examples_per_s=5_000, tokens_per_example=64, bits_per_byte=1.8,
                          utilization={"mfu": 0.415, "peak_flops_per_s": 1e12,
                                       "peak_of": "measured"})
            record["evaluations"][-1]["metric"] = 1.25
        runs = runs_of(*records)
        self.assertRegex(render_table(runs),
                         r"single +5,000 +320,000 +41\.5 % +1\.25, 1\.8 bits/byte")
        self.assertNotRegex(plain, "tokens/s|MFU|bits")
        values = page_of(made_up_judgement(records), Path()).workloads[0].cells[0].values
        shown = {key: (value.text, value.note) for (key, _), value in zip(COLUMNS, values)}
        self.assertEqual(shown["example"], ("200 µs", "320,000 tokens/s"))
        self.assertEqual(page_of(made_up_judgement(records), Path()).workloads[0].cells[0].mfu,
                         "41.5 %")
        self.assertEqual(shown["metric"], ("1.25", "1.8 bits per byte"))

    def test_formats_times(self) -> None:
        self.assertEqual([format_time(value) for value in (3.2e-6, 0.0123, 4.567, 123.4, math.inf)],
                         ["3.20 us", "12.3 ms", "4.57 s", "123 s", "-"])


class Outputs(InFolder):
    def run_race(self, *arguments: str) -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = race.main([*arguments])
        return code, out.getvalue(), err.getvalue()

    def test_writes_figure_and_table(self) -> None:
        workloads = ("parabola", "resnet9_thin")
        self.write("".join(line(workload, strategy, seed) for workload in workloads
                           for strategy in styles() for seed in (1, 2, 3)))
        code, out, err = self.run_race(str(self.folder))
        self.assertEqual((code, err), (0, ""))
        for strategy in styles():
            self.assertEqual(out.count(f"\n{strategy} "), 4, strategy)  # two workloads, two tables
        self.assertTrue(out.isascii())
        self.assertEqual((self.folder / "race.png").read_bytes()[:4], b"\x89PNG")
        self.assertIn("<svg", (self.folder / "race.svg").read_text())
        answers = race.answers_on(judge([self.folder])["workloads"])
        self.assertRegex(answers["parabola"], r"^(sure|too few runs|less than).*: \w+ (leads|is)")
        figure = draw_race(self.read(), answers)
        self.assertLessEqual(set(answers.values()), {text.get_text() for text in figure.texts})

    def test_shows_learning_first_and_each_strategy_also_one_that_missed(self) -> None:
        records = [made_up_record(workload, strategy, 1, threads=2 - (strategy != "single"))
                   for workload in ("parabola", "resnet9_thin") for strategy in styles()]
        slow = next(one for one in records if one["cell"]["strategy"] == "diloco"
                    and one["cell"]["workload"] == "resnet9_thin")
        slow.update(status="missed", training_time_to_target_ns=None, examples_to_target=None)
        self.write("".join(json.dumps(record) + "\n" for record in records))
        figure = draw_race(self.read())
        said = [text.get_text() for text in figure.texts]
        self.assertEqual([text for text in said if ": " in text and "threads" not in text][:2],
                         ["resnet9_thin: learning up to the target",
                          "parabola: what a step costs"])
        rows = figure.axes[0]
        names = [text.get_text() for text in rows.get_yticklabels()]
        self.assertCountEqual(names, styles())
        (missed,) = (line for line in rows.get_lines() if line.get_markerfacecolor() == "none")
        self.assertEqual((missed.get_ydata()[0], missed.get_markeredgecolor()),
                         (names.index("diloco"), style_of("diloco").colour))
        self.assertTrue(any("2 workers × 1 thread; single: 1 worker × 2 threads" in text
                            for text in said))
        self.assertIn(f"Who reaches the target first? {len(styles())} strategies", said)
        self.assertRegex(render_table(self.read()), r"\nsingle +1 x 2 ")

    def test_draws_a_figure_that_grows_and_nothing_else(self) -> None:
        self.write(line("parabola", "single", 1))
        self.assertEqual(self.run_race("--growing", str(self.folder)), (0, "", ""))
        first = (self.folder / "race.svg").read_bytes()
        self.write(line("parabola", "single", 1) + line("parabola", "in_graph", 1))
        self.assertEqual(self.run_race("--growing", str(self.folder)), (0, "", ""))
        self.assertNotEqual((self.folder / "race.svg").read_bytes(), first)
        self.assertEqual({file.name for file in self.folder.iterdir()},
                         {"race.svg", "records.jsonl"})
        self.assertEqual(self.run_race("--growing")[0], 1)

    def test_replaces_its_own_figures_and_others_only_if_asked(self) -> None:
        self.write(line("parabola", "single", 1))
        self.run_race(str(self.folder))
        own = {file.name: file.read_bytes() for file in self.folder.iterdir()}
        for name in ("race.svg", "race.png"):
            file = self.folder / name
            file.write_text("of another")
            for flags in ((), ("--growing",))[:1 + (name == "race.svg")]:
                code, _, said = self.run_race(*flags, str(self.folder))
                self.assertEqual(code, 1)
                self.assertEqual(said, f"race.py: {file} exists and was not drawn by Regatta; "
                                       "replace it with --overwrite, or move it away\n")
            self.assertEqual(file.read_text(), "of another")
            self.assertEqual(self.run_race("--overwrite", str(self.folder))[0], 0)
            self.assertEqual({one.name: one.read_bytes() for one in self.folder.iterdir()}, own)

    def test_replaces_neither_records_nor_what_is_no_file(self) -> None:
        self.write(line("parabola", "single", 1))
        figure = self.folder / "race.svg"
        figure.write_text(line("parabola", "single", 2))
        self.assertIn("holds records", self.run_race("--overwrite", str(self.folder))[2])
        figure.unlink()
        os.mkfifo(figure)
        self.assertIn("is no regular file", self.run_race("--overwrite", str(self.folder))[2])
        self.assertEqual({one.name for one in self.folder.iterdir()}, {"race.svg", "records.jsonl"})

    def test_says_in_one_line_what_is_wrong(self) -> None:
        code, out, err = self.run_race(str(self.folder / "nothing"))
        self.assertEqual((code, out, err.count("\n")), (1, "", 1))
        self.assertEqual(self.run_race()[0], 1)

    def test_fits_80_columns(self) -> None:
        text = render_table(runs_of(made_up_record("resnet9_thin", "single", 1),
                                    made_up_record("resnet9_thin", "parameter_server_async", 1)))
        self.assertLessEqual(max(map(len, text.splitlines())), 80)

    def test_marks_failed_runs_and_tells_why(self) -> None:
        runs = runs_of(made_up_record("parabola", "single", 1),
                       made_up_failure("parabola", "single", 2, 3),
                       made_up_failure("parabola", "all_reduce", 1, 0))
        figure = draw_race(runs)
        crosses = [one for one in figure.axes[0].get_lines() if one.get_marker() == "X"]
        self.assertEqual(len(crosses), 2)
        text = render_table(runs)
        self.assertIn("1 of 2, 1 failed", text)
        self.assertIn("failed: all_reduce, seed 1: step 70: the loss is not finite", text)

    def test_warns_of_different_machines(self) -> None:
        here = made_up_record("parabola", "single", 1)
        there = made_up_record("parabola", "single", 2, machine={"cpu": "Other", "cores_used": 4})
        self.assertNotIn("not comparable", footer(runs_of(here)))
        self.assertIn("not comparable", footer(runs_of(here, there)))


class Curves(InFolder):
    def test_counts_where_a_single_run_lies_within_the_others(self) -> None:
        bf16 = [line("airbench94", "single", seed,
                     cell={**made_up_record("airbench94", "single", seed)["cell"],
                           "dtype": "bf16"}) for seed in (1, 2, 3)]
        inside, outside = (made_up_record("airbench94", "single", seed) for seed in (2, 9))
        inside["run_id"] = "f32"
        outside["evaluations"] = [{**one, "metric": 200.0} for one in outside["evaluations"]]
        self.write("".join(bf16) + json.dumps(inside) + "\n")
        self.assertIn("metric within the 3 runs of single, bf16 at 13 of 13 evaluations",
                      curves.inside(group_runs(self.read()))[0])
        self.write("".join(bf16) + json.dumps(outside) + "\n")
        self.assertIn(" at 0 of 13 evaluations", curves.inside(group_runs(self.read()))[0])

    def test_draws_a_line_for_each_element_type_and_refuses_two_workloads(self) -> None:
        self.write(line("airbench94", "single", 1) + line("airbench94", "all_reduce", 1))
        figure = curves.draw_curves(self.read())
        self.assertEqual([len(axes.lines) for axes in figure.axes], [2, 2])
        self.write(line("airbench94", "single", 1) + line("parabola", "single", 1))
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            self.assertEqual(curves.main([str(self.folder)]), 1)
        self.assertIn("several workloads", errors.getvalue())


if __name__ == "__main__":
    unittest.main()
