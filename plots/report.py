#!/usr/bin/python3 -Es
# SPDX-License-Identifier: Apache-2.0
"""Makes the page of a report: the judgement of `regatta report`, with figures, in one HTML file.

usage: plots/report.py [--overwrite] JUDGEMENT

JUDGEMENT is the judgement.json that `regatta report` wrote. Writes index.html and figures/ beside
it. Replaces its own earlier files; with --overwrite any file except records. Runs in virtual time
are drawn by the same figures, each with a mark.
"""

import re
import sys
from html import escape
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

try:
    import jinja2
    from plain_style import plt
    from markupsafe import Markup
except ModuleNotFoundError as missing:
    sys.exit(f"report.py: the page needs python3-{missing.name}, which /usr/bin/python3 cannot "
             f"import: apt-get install python3-{missing.name}")
except ImportError as other:
    sys.exit(f"report.py: /usr/bin/python3 cannot import what the page needs: {other}")

from matplotlib.figure import Figure

from figure_files import save_figure
from graphs import GraphsError, write_pictures
from inline_svg import Graphic, colour_rules, colour_variable, inline_svg
from axes_style import FAINT
from page import Page, page_of
from page_cells import COLUMNS, CellRow
from page_claims import Claim
from judgement import Run, read_judgement, runs_of
from output_files import MARK, new_file, overwrite_in
from strategies import PlotsError

PLOTS = Path(__file__).resolve().parent
# The figures of each section, drawn for each workload if its records have data for them: NAME of
# plots/figure_NAME.py, and a sentence that describes the picture.
RESULT = {
    "forest": "Times to the target, divided by those of the strategy below the axis. Dot: a run, "
              "divided by the run with the same seed; tick: their mean; bar: where the true mean "
              "lies (may be cut at the edge); arrow: far longer. “At least” marks a strategy that "
              "was left out early, because it is certainly slower than the first.",
    "race": "The target's metric against training time, median over runs; grey: the other "
            "strategies.",
}
WHY = {
    "time_split": "A worker's step on the training clock: compute, exposed communication, waiting, "
                  "input, update, and what passes between kernels.",
    "memory": "Memory planned for the worker that needs most, by purpose.",
    "scaling": "Examples per second against workers.",
    "bytes": "Bytes on the wire in a step, computed from the graph and counted.",
    "exchanges": "The metric at the end against the bytes that a step sends, where workers "
                 "exchange in some steps only, or approximations.",
    "staleness": "Updates by their staleness: how many versions they missed.",
}

MOST_IN_SHORT = 8  # workloads in the summary on the terminal

# Figures that a claim does not repeat: they would mix workloads, and each workload has its own.
OF_ONE_WORKLOAD = {"forest", "race", "time_split", "scaling"}


class Figures:
    """Draws the figures, writes them to files, and passes them to the page."""

    def __init__(self, folder: Path, overwrite: bool) -> None:
        self.folder = folder
        self.overwrite = overwrite
        self.folder.mkdir(parents=True, exist_ok=True)
        self.drawn = 0

    def draw(self, name: str, runs: list[Run], stem: str, description: str) -> Graphic | None:
        """Draws plots/figure_NAME.py from these runs; None if they have no data for it."""
        if not runs or find_spec(f"figure_{name}") is None:
            return None
        figure: Figure | None = import_module(f"figure_{name}").draw(runs)
        if figure is None:
            return None
        if runs[0].cell.machine.is_virtual:
            figure.text(0, 1.02, "virtual time", color=FAINT, style="italic")
        save_figure(figure, self.folder, stem, overwrite=self.overwrite)
        self.drawn += 1
        svg = inline_svg(figure, f"f{self.drawn}", description)
        plt.close(figure)
        return Graphic(name, svg, description, f"figures/{stem}.svg")

    def draw_all(self, names: dict[str, str], runs: list[Run], slug: str) -> list[Graphic]:
        drawn = [self.draw(name, runs, f"{slug}-{name}", text) for name, text in names.items()]
        return [graphic for graphic in drawn if graphic is not None]


def by_build(runs: list[Run]) -> list[list[Run]]:
    """Groups runs by machine and commit, because others are not comparable; largest group first."""
    groups: dict[Any, list[Run]] = {}
    for run in runs:
        groups.setdefault((run.cell.machine, run.commit), []).append(run)
    return sorted(groups.values(), key=len, reverse=True)


def picture_claims(claims: list[Claim], runs: list[Run], figures: Figures) -> None:
    """Draws each figure once, from the first build that has data for it."""
    shown: dict[str, str] = {}
    builds = by_build(runs)
    for claim in claims:
        if not claim.figure or claim.figure in OF_ONE_WORKLOAD:
            continue
        if claim.figure in shown:
            claim.see = shown[claim.figure]
            continue
        for build in builds:
            claim.graphic = figures.draw(claim.figure, build, f"claim-{claim.name}", claim.because)
            if claim.graphic:
                shown[claim.figure] = claim.name
                break


def graph_pictures(folder: Path, overwrite: bool) -> list[Graphic]:
    """The graphs of all strategies; if they cannot be drawn, one entry that states the reason."""
    try:
        return [Graphic(name, svg, text, "") for name, svg, text in
                write_pictures(folder, overwrite)]
    except GraphsError as error:
        return [Graphic("missing", "", f"Without pictures of graphs: {error}.", "")]


def with_names(text: str, cells: list[CellRow]) -> Markup:
    """The text with an element around each cell's name, which lights it in all figures."""
    names = sorted((re.escape(escape(cell.label)) for cell in cells), key=len, reverse=True)
    return Markup(re.sub(rf"\b({'|'.join(names)})\b(?!\w)", r'<span data-name="\1">\1</span>',
                         escape(text)))


def write_page(file: Path, overwrite: bool, page: Page) -> None:
    loader = jinja2.FileSystemLoader(PLOTS)
    environment = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True,
                                     lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    environment.filters["colour"] = colour_variable
    environment.filters["named"] = with_names
    body = environment.get_template("report_body.html.j2").render(
        page=page, columns=COLUMNS, of_one_workload=OF_ONE_WORKLOAD)
    light, dark = colour_rules(body)
    html = environment.get_template("report.html.j2").render(
        page=page, body=Markup(body), light=light, dark=dark, mark=MARK)
    with new_file(file, overwrite) as written:
        written.write_text(html)


def render(judgement_file: Path, overwrite: bool) -> list[str]:
    """Writes the page; returns lines to print on the terminal."""
    judgement = read_judgement(judgement_file)
    index = judgement_file.with_name("index.html")
    figures = Figures(index.with_name("figures"), overwrite)
    page = page_of(judgement, index.parent)
    for view, judged in zip(page.workloads, judgement["workloads"] + judgement["virtual_time"]):
        own = runs_of([judged])
        view.result = figures.draw_all(RESULT, own, view.slug)
        view.figures = figures.draw_all(WHY, own, view.slug)
    for view, judged in zip(page.measurements, judgement["measurements"]):
        view.figures = figures.draw_all({"memory": WHY["memory"]}, runs_of([judged]), view.slug)
    real = runs_of(judgement["workloads"] + judgement["measurements"])
    picture_claims(page.claims, real, figures)
    page.graphs = graph_pictures(figures.folder, overwrite)
    write_page(index, overwrite, page)
    return [*in_short(page), f"report: {index}"]


def in_short(page: Page) -> list[str]:
    """Summary for the terminal: the answer on each workload, and its certainty."""
    lines = []
    for view in page.workloads[:MOST_IN_SHORT]:
        head = view.headline
        lines.append(f"{view.title}: {head.lead} ({head.badge})")
        steps = [f"to go on ({left}): {command}" for left, command in head.to_go_on]
        lines += [f"  {text}" for text in (view.apart, head.sure, *steps, view.missed) if text]
    if len(page.workloads) > MOST_IN_SHORT:
        lines.append(f"and {len(page.workloads) - MOST_IN_SHORT} more on the page")
    return [line.replace("\u00a0", " ") for line in lines]


def main(arguments: list[str]) -> int:
    overwrite, named = overwrite_in(arguments)
    if len(named) != 1 or named[0].startswith("-"):
        print(__doc__.strip(), file=sys.stderr)
        return 0 if arguments in (["--help"], ["-h"]) else 1
    try:
        said = render(Path(named[0]), overwrite)
    except (PlotsError, OSError, ValueError) as error:
        print(f"report.py: {error}", file=sys.stderr)
        return 1
    print("\n".join(said))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
