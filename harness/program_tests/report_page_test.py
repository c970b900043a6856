#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The page of a report in a browser: it sorts, filters, fits a phone, and logs no error.

usage: harness/program_tests/report_page_test.py REGATTA SCHEMA
"""

import functools
import json
import re
import unittest
from pathlib import Path

from test_browser import Browser, browser, find_chromium
from test_support import fresh_folder, output_of, record_lines, records_in, run_tests, skip

RECORDS = Path("results/xeon-no-amx-2-cores/quick")
CLAIMS = Path("results/epyc-2-cores/claims")
CLAIM_SEEDS = (1, 2)  # two of five, so that figures of all claims take half of the time
WORKLOADS, STRATEGIES = 2, 9
CELLS, FOLDED = 300, 40


BROWSERS: list[Browser] = []


def setUpModule() -> None:
    """Starts one browser for all pages."""
    BROWSERS.append(unittest.enterModuleContext(browser()))


@functools.cache
def report_of(records: Path) -> Path:
    folder = fresh_folder()
    output_of("report", str(records), "--out", str(folder))
    return folder / "index.html"


class Opened(unittest.TestCase):
    """A page for `records` in a browser, which is checked for errors after each test."""

    chromium: Browser
    index: Path
    records: Path

    @classmethod
    def setUpClass(cls) -> None:
        cls.index = report_of(cls.records)
        cls.chromium = BROWSERS[0]

    def setUp(self) -> None:
        self.chromium.resize(1280, 900)
        self.chromium.prefer("light")
        self.chromium.open(self.index)

    def tearDown(self) -> None:
        self.assertEqual(self.chromium.errors, [])

    def too_wide(self) -> list[str]:
        """The elements that reach beyond the right edge."""
        return self.chromium.ask(
            "[...document.querySelectorAll('body *')].filter(e => !e.closest('.scroll') && "
            "e.getBoundingClientRect().right > innerWidth + 1)"
            ".slice(0, 3).map(e => e.outerHTML.slice(0, 90))")

    def strategies(self) -> list[str]:
        return self.chromium.ask(
            "[...document.querySelectorAll('#board tr.row:not([hidden])')].filter("
            "row => row.offsetParent).map(row => row.dataset.strategy)")

    def check_fits_screens_of_all_widths_and_paper(self) -> None:
        for width in (360, 390, 768, 1110, 1190, 1280, 1920):
            self.chromium.resize(width, 900)
            self.assertEqual(self.too_wide(), [], width)
        self.chromium.resize(718, 1000)  # A4 without margins
        self.chromium.prefer("light", media="print")
        self.assertEqual(self.too_wide(), [])

    def check_references(self) -> None:
        """Checks that ids are unique and that all references in figures resolve."""
        self.assertEqual(self.chromium.ask(
            "(() => { const ids = [...document.querySelectorAll('[id]')].map(e => e.id);"
            "return ids.filter((id, i) => ids.indexOf(id) !== i); })()"), [])
        self.assertEqual(self.chromium.ask(
            "[...document.querySelectorAll('use')].map(e => e.getAttribute('xlink:href'))"
            ".filter(ref => !document.getElementById(ref.slice(1)))"), [])


class Page(Opened):
    @classmethod
    def setUpClass(cls) -> None:
        cls.records = RECORDS
        super().setUpClass()

    def test_fits_screens_of_all_widths_and_paper(self) -> None:
        self.check_fits_screens_of_all_widths_and_paper()

    def test_ids_are_unique_and_what_figures_refer_to_is_there(self) -> None:
        self.check_references()

    def column(self, key: str) -> list[list[float]]:
        """The sort keys of a column, a list per workload; empty values are left out."""
        return self.chromium.ask(
            "[...document.querySelectorAll('#board tbody')].map(body => [...body.querySelectorAll("
            f"'tr.row td.{key}')].map(td => td.dataset.sort).filter(text => text).map(Number))")

    def sorted_by(self) -> list[str]:
        return self.chromium.ask("[...document.querySelectorAll('#board th[aria-sort]')].map("
                                 "th => th.dataset.key + ' ' + th.getAttribute('aria-sort'))")

    def test_opens_ranked(self) -> None:
        self.assertEqual(len(self.strategies()), WORKLOADS * STRATEGIES)
        times = self.column("time")
        self.assertEqual(len(times), WORKLOADS)
        for of_workload in times:
            self.assertEqual(len(of_workload), STRATEGIES - 1)  # `independent` makes no claim
            self.assertEqual(of_workload, sorted(of_workload))

    def test_sorts_by_click_within_each_workload_both_ways(self) -> None:
        for key in ("examples", "example", "metric", "time"):
            self.chromium.click(f"th[data-key={key}] button")
            self.assertEqual(self.sorted_by(), [f"{key} ascending"])
            values = self.column(key)
            self.assertEqual(values, [sorted(one) for one in values])
            self.chromium.click(f"th[data-key={key}] button")
            self.assertEqual(self.sorted_by(), [f"{key} descending"])
            self.assertEqual(self.column(key), [sorted(one, reverse=True) for one in values])
        self.assertEqual(self.strategies()[STRATEGIES - 1], "independent")  # last: it has no time
        self.chromium.click("th[data-key=strategy] button")
        names = self.strategies()[:STRATEGIES]
        self.assertEqual(names, sorted(names))

    def test_filters_by_the_text_of_strategies(self) -> None:
        self.chromium.click("#filter")
        self.chromium.type("Server")
        self.assertEqual(set(self.strategies()), {"parameter_server", "parameter_server_async"})
        shown = "document.getElementById('shown').textContent"
        self.assertEqual(self.chromium.ask(shown), "4 of 18 cells")
        self.chromium.type(" async")
        self.assertEqual(set(self.strategies()), {"parameter_server_async"})
        self.chromium.type("zzz")
        self.assertEqual(self.strategies(), [])
        self.assertEqual(self.chromium.ask(shown), "0 of 18 cells")

    def test_lights_a_strategy_in_every_figure_and_table_under_the_pointer(self) -> None:
        self.chromium.hover("#board [data-name=all_reduce]")
        lit = self.chromium.ask("[...document.querySelectorAll('.lit')].map(e => e.dataset.name)")
        self.assertEqual(set(lit), {"all_reduce"})
        for place in ("#board", "#why table", ".card figure:nth-of-type(1) svg", ".card div svg"):
            self.assertTrue(self.chromium.ask(f"!!document.querySelector('{place} .lit')"), place)
        dimmed = "document.querySelector('.card svg [data-name=single]')"
        self.assertEqual(self.chromium.ask(f"getComputedStyle({dimmed}).opacity < 1"), True)
        self.chromium.hover("h1")
        self.assertEqual(self.chromium.ask("document.querySelectorAll('.lit, .lights').length"), 0)

    def test_is_dark_where_the_reader_wants_it_dark(self) -> None:
        paper = "getComputedStyle(document.body).backgroundColor"
        line = "getComputedStyle(document.querySelector('.chart')).fill"
        light = [self.chromium.ask(paper), self.chromium.ask(line)]
        self.chromium.prefer("dark")
        dark = [self.chromium.ask(paper), self.chromium.ask(line)]
        self.assertEqual(light, ["rgb(255, 255, 255)", "rgb(0, 0, 0)"])
        self.assertEqual(dark, ["rgb(22, 26, 32)", "rgb(232, 234, 237)"])
        self.chromium.prefer("dark", media="print")
        self.assertEqual(self.chromium.ask(paper), "rgb(255, 255, 255)")

class OfManyCells(Opened):
    """Records of one workload with more cells than a figure shows."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.records = fresh_folder()
        shapes = records_in(RECORDS)
        shapes = [one for one in shapes if one["cell"]["workload"] == "parabola"
                  and one["cell"]["seed"] == 1]
        with open(cls.records / "records.jsonl", "w") as file:
            for number in range(CELLS):
                one = shapes[number % len(shapes)]
                cell = one["cell"] | {"global_batch": 50 + number // len(shapes)}
                print(json.dumps(one | {"cell": cell, "run_id": f"{number:032x}", "losses": []}),
                      file=file)
        super().setUpClass()

    def test_has_figures_of_some_and_tables_of_all(self) -> None:
        notes = ("[...document.querySelectorAll('.chart')].map(chart => "
                 "[chart.textContent, chart.getBoundingClientRect().height])")
        tall = 0
        for text, height in self.chromium.ask(notes):
            self.assertLess(height, 2000)
            tall += bool(re.search(r"Shown: \d+ of [\d,]+ cells", text))
        self.assertGreaterEqual(tall, 4)
        self.assertEqual(self.chromium.ask("document.querySelectorAll('#board tr.row').length"),
                         CELLS)

    def test_folds_its_leaderboard_until_all_is_asked_for(self) -> None:
        rows = "document.querySelectorAll('#board tr.row:not([hidden])').length"
        shown = "document.getElementById('shown').textContent"
        self.assertEqual(self.chromium.ask(rows), FOLDED)
        self.assertEqual(self.chromium.ask(shown), f"{CELLS} of {CELLS} cells, {FOLDED} shown")
        self.chromium.click("#unfold")
        self.assertEqual(self.chromium.ask(rows), CELLS)
        self.assertEqual(self.chromium.ask(shown), f"{CELLS} of {CELLS} cells")
        self.assertTrue(self.chromium.ask("document.getElementById('unfold').hidden"))

    def test_finds_rows_that_are_folded(self) -> None:
        self.chromium.click("#filter")
        self.chromium.type("in_graph batch 80")
        self.assertEqual(self.strategies(), ["in_graph, batch 80"])


class OfClaims(Opened):
    @classmethod
    def setUpClass(cls) -> None:
        few = fresh_folder()
        lines = [line for line in record_lines(CLAIMS)
                 if json.loads(line)["cell"]["seed"] in CLAIM_SEEDS]
        (few / "records.jsonl").write_text("".join(lines))
        cls.records = few
        super().setUpClass()

    def test_fits_screens_of_all_widths_and_paper(self) -> None:
        self.check_fits_screens_of_all_widths_and_paper()

    def test_ids_are_unique_and_what_figures_refer_to_is_there(self) -> None:
        self.check_references()

    def pictures_in(self, section: str) -> list[str]:
        """Names of the figures in a section that show something on the screen."""
        return self.chromium.ask(
            f"[...document.querySelectorAll('{section} figure')].filter(figure => {{"
            "const box = figure.querySelector('svg')?.getBoundingClientRect();"
            "return box && box.width > 100 && box.height > 50 &&"
            "figure.querySelectorAll('svg path').length > 5; })"
            ".map(figure => figure.querySelector('.scroll').getAttribute('aria-label')"
            ".replace('figure: ', ''))")

    def test_shows_the_figures_of_claims(self) -> None:
        self.assertEqual(set(self.pictures_in("#claims")),
                         {"straggler", "jitter", "staleness", "bytes", "graph_size"})


if find_chromium() is None:
    skip("chromium is not installed: apt-get install chromium")
if __name__ == "__main__":
    run_tests()
