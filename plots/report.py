#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The page of a report: what `regatta report` has judged, with figures, in one file of HTML.

usage: plots/report.py [--overwrite] JUDGEMENT

JUDGEMENT is the judgement.json that `regatta report` wrote. Writes index.html and figures/ beside
it, or in place of those that it made before. --overwrite: in place of any, but not of records.
"""

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

try:
    import jinja2
    import matplotlib.pyplot as plt
    from markupsafe import Markup
except ImportError as missing:
    sys.exit(f"report.py: the page needs python3-{missing.name}, which /usr/bin/python3 cannot "
             f"import: apt-get install python3-{missing.name}")

from matplotlib.figure import Figure  # noqa: E402

from figure_files import save_figure  # noqa: E402
from graphs import GraphsError, write_pictures  # noqa: E402
from inline_svg import Graphic, colour_rules, colour_variable, inline_svg  # noqa: E402
from page import COLUMNS, Page, page_of  # noqa: E402
from page_claims import Claim  # noqa: E402
from judgement import Run, read_judgement, runs_of  # noqa: E402
from output_files import MARK, new_file, overwrite_in  # noqa: E402
from strategies import PlotsError  # noqa: E402
from what_if import GIGABITS, WORKERS  # noqa: E402

PLOTS = Path(__file__).resolve().parent
# By section: what is drawn for each workload, where its records hold something for it. Each is
# plots/figure_NAME.py; what its picture shows, in a sentence.
RESULT = {
    "time_to_target": "Training time to the target, every run a mark. The bar is the geometric "
                      "mean, or the median where a run missed the target.",
}
WHY = {
    "race": "The target's metric against training time, a line for each strategy, bands over runs; "
            "a mark on the target's line: the mean time of the first evaluation that was there.",
    "time_split": "A worker's step, split into compute, exposed communication, wait, input and "
                  "update.",
    "efficiency": "Examples to the target against time per example; dashed lines join equal times.",
    "scaling": "Examples per second against workers.",
    "bytes": "Bytes on the wire in a step, computed from the graph and counted.",
    "exchanges": "The metric at the end against the bytes that a step sends, where workers "
                 "exchange in some steps only, or approximations.",
    "staleness": "Updates by their staleness: how many versions they missed.",
}

MOST_IN_SHORT = 8  # workloads

# What a claim does not draw again: it would mix workloads, and stands in each one's section.
OF_ONE_WORKLOAD = {"race", "time_split", "efficiency", "scaling"}


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
        save_figure(figure, self.folder, stem, overwrite=self.overwrite)
        self.drawn += 1
        svg = inline_svg(figure, f"f{self.drawn}", description)
        plt.close(figure)
        return Graphic(name, svg, description, f"figures/{stem}.svg")

    def draw_all(self, names: dict[str, str], runs: list[Run], slug: str) -> list[Graphic]:
        drawn = [self.draw(name, runs, f"{slug}-{name}", text) for name, text in names.items()]
        return [graphic for graphic in drawn if graphic is not None]


def by_build(runs: list[Run]) -> list[list[Run]]:
    """By machine and commit, as others do not compare; those with the most runs first."""
    groups: dict[Any, list[Run]] = {}
    for run in runs:
        groups.setdefault((run.cell.machine, run.commit), []).append(run)
    return sorted(groups.values(), key=len, reverse=True)


def picture_claims(claims: list[Claim], runs: list[Run], figures: Figures) -> None:
    """Draws each figure once, from the first build whose runs have data for it."""
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
    """The graphs of all strategies; if they cannot be drawn, one entry whose text says why."""
    try:
        return [Graphic(name, svg, text, "") for name, svg, text in
                write_pictures(folder, overwrite)]
    except GraphsError as error:
        return [Graphic("missing", "", f"Without pictures of graphs: {error}.", "")]


def render(judgement_file: Path, overwrite: bool) -> tuple[Path, Page]:
    judgement = read_judgement(judgement_file)
    runs: list[Run] = []
    figures = Figures(judgement_file.parent / "figures", overwrite)
    page = page_of(judgement, judgement_file.parent)
    for view, judged in zip(page.workloads, judgement["workloads"]):
        own = runs_of([judged])
        runs += own
        view.result = figures.draw_all(RESULT, own, view.slug)
        view.figures = figures.draw_all(WHY, own, view.slug)
    runs += runs_of(judgement["measurements"])
    picture_claims(page.claims, runs, figures)
    page.graphs = graph_pictures(figures.folder, overwrite)
    loader = jinja2.FileSystemLoader(PLOTS)
    environment = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True,
                                     lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    environment.filters["colour"] = colour_variable
    body = environment.get_template("report_body.html.j2").render(
        page=page, columns=COLUMNS, of_one_workload=OF_ONE_WORKLOAD, if_workers=WORKERS,
        if_gigabits=GIGABITS)
    light, dark = colour_rules(body)
    html = environment.get_template("report.html.j2").render(
        page=page, body=Markup(body), light=light, dark=dark, mark=MARK)
    index = judgement_file.parent / "index.html"
    with new_file(index, overwrite) as written:
        written.write_text(html)
    return index, page


def in_short(page: Page) -> list[str]:
    """Summary for the terminal: the first on each workload, by how much and how certainly."""
    lines = []
    for view in page.workloads[:MOST_IN_SHORT]:
        head = view.headline
        first = head.badge
        if head.winners:
            more = [f"{head.more} more"] * bool(head.more)
            names = ", ".join([*(name for name, _ in head.winners), *more])
            first = f"{names}, {head.time} ({head.badge})"
        lines.append(f"{view.title}: {first}")
        lines += [f"  {text}" for text in (view.apart, head.against, head.sure) if text]
    if len(page.workloads) > MOST_IN_SHORT:
        lines.append(f"and {len(page.workloads) - MOST_IN_SHORT} more on the page")
    return [line.replace("\u00a0", " ") for line in lines]


def main(arguments: list[str]) -> int:
    overwrite, named = overwrite_in(arguments)
    if len(named) != 1 or named[0].startswith("-"):
        print(__doc__.strip(), file=sys.stderr)
        return 0 if arguments in (["--help"], ["-h"]) else 1
    try:
        index, page = render(Path(named[0]), overwrite)
    except (PlotsError, OSError, ValueError) as error:
        print(f"report.py: {error}", file=sys.stderr)
        return 1
    print("\n".join([*in_short(page), f"report: {index}"]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
