# SPDX-License-Identifier: Apache-2.0
"""Tests that every axis of every figure has a label with its unit, every panel a title, and every
strategy a look of its own."""

import colorsys
import functools
import importlib
import itertools
import math
import re
import unittest
import unittest.mock
from pathlib import Path
from typing import Any

import matplotlib.colors
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from curves import draw_curves
from figure_race import draw_race
from made_up import made_up_record, made_up_runs
from palette import style_of, styles, styles_of
from strategies import table
from test_trend import history

STRATEGIES = ("single", "in_graph", "all_reduce", "async_shared", "independent",
              "local_sgd")
# An axis says its unit: in brackets, or by the thing that it counts. Ticks with units of their own
# and names of strategies need none.
UNIT = (r"\((micro|milli)?(seconds|minutes|hours)|\(%\)|^(workers|nodes|epoch|examples seen|loss)"
        r"|^sent in a step|per second|% of updates|^commit, by its date|examples/s|times as long"
        r"|^planned for|\(1 = |\(versions missed\)|\bs\b|accuracy at the end|loss at the end")
FIGURES = sorted({path.stem for path in Path(__file__).resolve().parent.glob("figure_*.py")}
                 - {"figure_files"}) + ["race", "curves"]


def some_records(workload: str) -> list[dict[str, Any]]:
    """Records with several seeds and numbers of workers, and a straggler: data for every figure."""
    made = []
    for strategy in STRATEGIES:
        for seed in (1, 2, 3):
            made.append(made_up_record(workload, strategy, seed))
            if strategy == "single":
                continue
            made.append(made_up_record(workload, strategy, seed, examples_per_s=300))
            made[-1]["cell"]["straggler"] = [{"worker": 1, "factor": 3.0}]
        if strategy != "single":
            made.append(made_up_record(workload, strategy, 1))
            made[-1]["cell"]["workers"] = 4
            made[-1]["graph"]["nodes_per_process"] = [200]
            made[-1]["workers"][1]["bytes_sent"] = 30_000
    for number, record in enumerate(made):
        for worker in record["workers"]:
            worker.update(planned_bytes=9000, parameter_bytes=2000, slot_bytes=1000,
                          activation_bytes=4000, gradient_bytes=1500)
        record["run_id"] = str(number)
    return made


@functools.cache
def drawn(name: str) -> list[Figure | None]:
    """The figure `name` for each of two workloads; their scales and units differ."""
    if name == "figure_trend":
        return [importlib.import_module(name).draw(made_up_runs(history()))]
    runs = [made_up_runs(some_records(workload)) for workload in ("parabola", "resnet9_thin")]
    draw = {"race": draw_race, "curves": draw_curves}.get(name)
    return [(draw or importlib.import_module(name).draw)(one) for one in runs]


def label(axes: Axes, direction: str) -> str:
    """The label of an axis, of one that shares its scale, or of the whole figure."""
    shared = getattr(axes, f"get_shared_{direction}_axes")().get_siblings(axes)
    own = [getattr(one, f"get_{direction}label")() for one in (axes, *shared)]
    of_all = getattr(axes.figure, f"_sup{direction}label")
    return next(filter(None, [*own, of_all.get_text() if of_all else ""]), "")


def ticks(axes: Axes, direction: str) -> list[str]:
    axes.get_figure().canvas.draw()
    return [text.get_text() for text in getattr(axes, f"get_{direction}ticklabels")()]


def rows_are_names(axes: Axes) -> bool:
    """Whether each tick, or each text above a row, begins with the name of a strategy."""
    named = ticks(axes, "y") or [text.get_text() for text in axes.texts if text.get_ha() == "left"]
    return len(named) > 1 and all(re.match("|".join(STRATEGIES), text) for text in named)


class Figures(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.addClassCleanup(plt.close, "all")
        cls.enterClassContext(plt.rc_context({"figure.max_open_warning": 0}))

    def panels(self, name: str) -> list[Axes]:
        figures = drawn(name)
        self.assertNotIn(None, figures)
        return [axes for figure in figures if figure for axes in figure.axes if axes.get_visible()]

    def test_say_what_each_axis_shows_and_its_unit(self) -> None:
        for name in FIGURES:
            for axes in self.panels(name):
                with self.subTest(figure=name):
                    self.assertRegex(label(axes, "x"), UNIT)
                    if not rows_are_names(axes):
                        self.assertRegex(label(axes, "y"), UNIT)

    def test_of_bytes_have_their_unit_at_the_ticks(self) -> None:
        panels = self.panels("figure_bytes")
        of_rows = [rows_are_names(axes) for axes in panels]
        self.assertEqual((of_rows.count(True), of_rows.count(False)), (2, 2))
        for axes, rows in zip(panels, of_rows):
            numbers = [text for text in ticks(axes, "x" if rows else "y") if text]
            self.assertTrue(any(re.search(r"^[1-9].*B$", text) for text in numbers), numbers)

    def test_have_titles(self) -> None:
        for name in FIGURES:
            for figure in drawn(name):
                with self.subTest(figure=name):
                    titles = [axes.get_title(loc="left") for axes in figure.axes]
                    self.assertTrue(any(titles), titles)


class Palette(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        made_up_runs([made_up_record("parabola", "single", 1)])  # fills the table

    def test_tells_any_number_of_strategies_apart_in_black_and_white(self) -> None:
        self.assertEqual(list(styles()), list(table()))
        more = {f"strategy{at}": next(iter(table().values())) for at in range(100)}
        with unittest.mock.patch.dict(table(), more):
            looks = [*styles().values(), *styles_of(["single"] * 10)[1:]]
            self.assertEqual(len({look.dash for look in looks}), len(looks))
            for one, next_one in itertools.pairwise(looks):
                self.assertNotEqual(one.marker, next_one.marker)

    def test_knows_colours_that_differ(self) -> None:
        for one, other in itertools.combinations(table().values(), 2):
            apart = math.dist(*(matplotlib.colors.to_rgb(row.colour) for row in (one, other)))
            self.assertGreater(apart, 0.15, f"declare another colour in strategies/{other.name}"
                                            f".cpp: it looks like that of {one.name}")

    def test_gives_a_new_name_the_same_style_each_time(self) -> None:
        self.assertEqual(style_of("a+b"), style_of("a+b"))

    def test_tells_two_lines_of_one_strategy_apart(self) -> None:
        first, other, second = styles_of(["single", "all_reduce", "single"])
        self.assertEqual((first, other), (style_of("single"), style_of("all_reduce")))
        self.assertNotEqual(second, first)

    def test_gives_all_lines_of_a_strategy_its_hue(self) -> None:
        for name in ("all_reduce", "single"):
            hues = {round(colorsys.rgb_to_hsv(*matplotlib.colors.to_rgb(style.colour))[0], 1)
                    for style in styles_of([name] * 6)}
            self.assertEqual(len(hues), 1, name)
            self.assertEqual(len({style.colour for style in styles_of([name] * 6)}), 6)


if __name__ == "__main__":
    unittest.main()
