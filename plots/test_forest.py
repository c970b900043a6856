# SPDX-License-Identifier: Apache-2.0
"""Tests the rows and curves of a race, and the sentences of one that was run for a decision."""

import itertools
import unittest
from typing import Any
from urllib.parse import unquote

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.text import Text

import figure_forest
import figure_race
from headline import headline_of, standing_text
from judgement import Run, runs_of
from made_up import (made_up_failure, made_up_judgement, made_up_record, made_up_runs,
                     race_for_a_decision)
from table import render_table
from test_figures import judged, some_records
from wording import least_text

PACES = {"all_reduce": 1.0, "single": 1.3, "in_graph": 6.5, "pipeline": 40.0, "diloco": 1.0}
OUT = {"in_graph": (4, "slower", 5.9), "pipeline": (2, "slower", 31.2),
       "diloco": (3, "missed", None)}


def raced(*records: dict[str, Any], **left_out: tuple[int, str, float | None]) -> list[Run]:
    """The runs of these records, as if their matrix had raced for a decision."""
    (workload,) = made_up_judgement(records)["workloads"]
    race_for_a_decision(workload, **left_out)
    return runs_of([workload])


def five_records() -> list[dict[str, Any]]:
    """Three runs of each strategy of PACES; diloco missed the target."""
    records = [made_up_record("resnet9_thin", strategy, seed, pace=pace)
               for strategy, pace in PACES.items() for seed in (1, 2, 3)]
    for record in records[-3:]:
        record.update(status="missed", training_time_to_target_ns=None)
    return records


class Race(unittest.TestCase):
    def setUp(self) -> None:
        self.addCleanup(plt.close, "all")

    def test_show_every_run_missed_and_failed_ones_too(self) -> None:
        missed = made_up_record("resnet9_thin", "all_reduce", 4)
        missed.update(status="missed", training_time_to_target_ns=None)
        runs = raced(*some_records(), made_up_failure("resnet9_thin", "single", 4, 2), missed)
        (axes,) = figure_forest.draw(runs).axes
        marks = [line for line in axes.get_lines() if line.get_linestyle() == "None"]
        self.assertEqual(len(marks), 11)  # without `independent`
        self.assertEqual(len({mark.get_markersize() for mark in marks}), 1)
        self.assertEqual([mark.get_marker() for mark in marks].count("X"), 1)
        lost = [mark for mark in marks if mark.get_markerfacecolor() == "none"]
        self.assertEqual(len(lost), 2)
        for mark in lost:  # at the right edge, in the axes' own units
            self.assertGreater(mark.get_xdata()[0], 1 - 2 * figure_forest.EDGE)
            self.assertEqual(mark.get_transform(), axes.get_yaxis_transform())
        self.assertEqual(len({mark.get_ydata()[0] for mark in marks}), 3)  # one line for each cell
        self.assertEqual(axes.get_xlabel(), "times as long as single; ○ missed; × failed")

    def test_compare_each_run_with_its_partner_and_draw_the_interval(self) -> None:
        runs = raced(*some_records(), made_up_record("resnet9_thin", "all_reduce", 4))
        times = {(run.variant.strategy, run.seed): run.time_to_target for run in runs}
        cell = next(run.cell for run in runs if run.variant.strategy == "all_reduce")
        (axes,) = figure_forest.draw(runs).axes
        own = [line for line in axes.get_lines()
               if (line.get_gid() or "").startswith("hover:all_reduce")]
        *marks, = (line for line in own if line.get_linestyle() == "None")
        self.assertEqual([mark.get_xdata()[0] for mark in marks],  # `single` has no seed 4
                         [times["all_reduce", seed] / times["single", seed] for seed in (1, 2, 3)])
        bar, tick = (line for line in own if line not in marks)
        self.assertEqual(list(tick.get_xdata()), [cell.ratio.time] * 2)
        self.assertEqual(list(bar.get_xdata()), [cell.ratio.low, cell.ratio.high])

    def test_have_a_reference_and_no_interval_after_one_run_each(self) -> None:
        runs = made_up_runs(five_records()[::3])
        (axes,) = figure_forest.draw(runs).axes
        self.assertEqual(axes.get_xlabel(), "times as long as single (log scale); ○ missed")
        whole = [line for line in axes.get_lines() if line.get_linewidth() == 6]
        self.assertEqual(whole, [])

    def test_say_why_cells_were_left_out_with_arrows_to_the_edge_for_those_far_off(self) -> None:
        figure = figure_forest.draw(raced(*five_records(), **OUT))
        (axes,) = figure.axes
        arrows = {unquote(text.arrow_patch.get_gid()): text for text in axes.texts
                  if text.arrow_patch and text.arrow_patch.get_gid()}
        (title,) = arrows
        self.assertEqual(title,
                         "hover:pipeline:pipeline: at least 31× all_reduce")
        (x, _), (start, _) = arrows[title].xy, arrows[title].xyann
        self.assertGreater(x, 1)  # beyond the edge
        self.assertGreater(start, 0.5)
        said = [text.get_text() for text in axes.texts]
        self.assertIn("misses the target", said)
        self.assertIn("at least 5.9× all_reduce", said)  # near: without an arrow
        names = [text for text in said if text in PACES]
        self.assertEqual(names, ["all_reduce", "single", "in_graph", "pipeline", "diloco"])

    def test_of_the_terminal_say_why_a_cell_was_left_out(self) -> None:
        text = render_table(raced(*five_records(), **OUT))
        self.assertIn("\n  pipeline: left out after round 2: at least 31x all_reduce\n", text)

    def test_of_the_race_name_at_most_five_curves_at_their_ends(self) -> None:
        records = [made_up_record("resnet9_thin", strategy, 1, pace=1 + place / 10)
                   for place, strategy in enumerate(
                       ("all_reduce", "in_graph", "sharded", "single", "gossip", "pipeline"))]
        lost = made_up_record("resnet9_thin", "diloco", 1)
        lost.update(status="missed", training_time_to_target_ns=None)
        figure = figure_race.draw(raced(*records, lost))
        (axes,) = figure.axes
        named = [text.get_text() for text in axes.texts if text.arrow_patch]
        self.assertCountEqual(named, ["all_reduce", "in_graph", "single", "pipeline", "diloco"])
        self.assertEqual(axes.get_legend(), None)
        grey = [line for line in axes.get_lines() if line.get_color() == figure_race.GREY]
        self.assertEqual({unquote(line.get_gid()).split(":")[1] for line in grey},
                         {"sharded", "gossip"})

    def test_write_no_text_over_another(self) -> None:
        lost = made_up_record("resnet9_thin", "parameter_server_async", 4)
        lost.update(status="missed", training_time_to_target_ns=None)
        decided = raced(*five_records(), **OUT)
        for draw, runs in ((figure_forest.draw, raced(*some_records(), lost)),
                           (figure_forest.draw, decided), (figure_race.draw, decided),
                           (figure_race.draw, raced(*some_records())),
                           (figure_race.draw_race, decided)):
            self.expect_texts_apart(draw(runs))

    def expect_texts_apart(self, figure: Figure) -> None:
        renderer = figure.canvas.get_renderer()
        figure.draw(renderer)
        undrawn = {label for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)
                   for at, label in zip(axis.get_ticklocs(), axis.get_ticklabels())
                   if not min(axis.get_view_interval()) <= at <= max(axis.get_view_interval())}
        boxes = [(text.get_text(), Text.get_window_extent(text, renderer))
                 for text in figure.findobj(Text)
                 if text.get_text() and text.get_visible() and text not in undrawn]
        for (one, box), (other, other_box) in itertools.combinations(boxes, 2):
            self.assertFalse(box.overlaps(other_box), (one, other))


def decision(decided: bool, *cells: tuple[str, float, tuple[int, str, float | None] | None],
             reference: int = 1) -> Any:
    """The part of a judgement that headlines use. `cells`: standing, factor on the first's time,
    and why it was left out; `reference`: the cell of `single`."""
    made = judged("open", *((standing, 3.0 * factor, factor) for standing, factor, _ in cells))
    made["decision"] = {"rounds": 7, "decided": decided, "precision": 0.05}
    for at, (cell, (_, factor, out)) in enumerate(zip(made["cells"], cells)):
        ratio, around = factor / cells[reference][1], 1.0 if at == reference else 1.1
        cell["cell"] = {"strategy": "abcdefgh"[at]}
        cell["left_out"] = out and dict(zip(("round", "why", "at_least"), out))
        cell["against_single"] = {"time": ratio, "low": ratio / around, "high": ratio * around}
    return made


class Decisions(unittest.TestCase):
    def lead(self, made: Any) -> str:
        headline = headline_of(made, list("abcdefgh"[:len(made["cells"])]))
        for text in (headline.lead, headline.badge, headline.sure,
                     *(standing_text(cell, "a") for cell in made["cells"] if cell["left_out"])):
            self.assertNotRegex(text, "too few|not enough")
        self.assertEqual(headline.badge,
                         f"{'' if made['decision']['decided'] else 'not '}decided after 7 rounds")
        return headline.lead.replace("\u00a0", " ")

    def test_lead_with_who_is_first_and_who_is_certainly_slower(self) -> None:
        slower = [("slower", 1.3 + at, (2, "slower", 1.19 + at)) for at in range(4)]
        self.assertEqual(
            self.lead(decision(True, ("first", 1.0, None), *slower)),
            "a is first, taking 0.77 (0.70 to 0.85) times as long as b; 4 strategies certainly "
            "take at least 1.1 times as long as a")
        self.assertEqual(
            self.lead(decision(True, ("first", 1.0, None), slower[0], reference=0)),
            "a is first; b, the next, takes 1.30 (1.20 to 1.40) times as long as a; b certainly "
            "takes at least 1.1 times as long as a")

    def test_lead_with_a_group_that_shares_first_place(self) -> None:
        made = decision(True, ("first", 1.0, None), ("open", 1.01, (5, "precise", None)),
                        ("level", 1.02, None), ("slower", 3.4, (2, "slower", 3.12)))
        self.assertEqual(self.lead(made),
                         "a, b and c share first place, none taking more than 1.12 times as long "
                         "as a; d certainly takes at least 3.1 times as long as a")
        many = decision(True, *[("first" if at == 0 else "open", 1.0, None) for at in range(8)])
        self.assertTrue(self.lead(many).startswith("a, b, c, d, e and 3 more share first place"))

    def test_say_what_is_open_if_the_time_was_up(self) -> None:
        made = decision(False, ("first", 1.0, None), ("open", 1.1, None),
                        ("open", 1.2, (3, "missed", None)), ("slower", 3.4, (2, "slower", 3.12)))
        self.assertEqual(self.lead(made),
                         "the fastest of 4 is one of 2: a and b; a leads, taking 0.91 (0.83 to "
                         "1.00) times as long as b; d certainly takes at least 3.1 times as long "
                         "as a")

    def test_say_how_to_go_on_until_it_is_decided(self) -> None:
        command = "regatta matrix --tier quick --out out --decide --resume"
        for decided, steps in ((True, []), (False, [("until it is decided", command)])):
            made = decision(decided, ("first", 1.0, None), ("open", 1.1, None))
            made["matrices"] = [{"missing": 0, "seconds": 0.0, "tuned": "", "command": command}]
            self.assertEqual(headline_of(made, ["a", "b"]).to_go_on, steps)
            made["matrices"][0]["missing"] = 14
            headline = headline_of(made, ["a", "b"])
            self.assertTrue(headline.lead.endswith("; not raced: 14 others"), headline.lead)
            self.assertEqual(headline.to_go_on, steps or [("with the others", command)])

    def test_say_why_a_cell_was_left_out(self) -> None:
        made = decision(True, ("first", 1.0, None), ("slower", 3.4, (2, "slower", 3.19)),
                        ("open", 1.0, (4, "precise", None)), ("missed", 1.0, (3, "missed", None)))
        self.assertEqual([standing_text(cell, "a") for cell in made["cells"]],
                         ["first (0.90 to 1.10)",
                          "left out after round 2: at least 3.1× a",
                          "left out after round 4: known precisely enough",
                          "left out after round 3: misses the target"])

    def test_rounds_lower_bounds_down(self) -> None:
        self.assertEqual([least_text(value) for value in (1.009, 1.099, 1.1, 3.19, 86.9)],
                         ["1.00", "1.09", "1.1", "3.1", "86"])


if __name__ == "__main__":
    unittest.main()
