# SPDX-License-Identifier: Apache-2.0
"""Draws with Graphviz the graph that each strategy makes of a small step."""

import re
import shutil
import subprocess
from html import escape
from pathlib import Path
from typing import NamedTuple

from output_files import MARK, new_file
from strategies import PlotsError, table

BASELINE = "single"  # drawn beside the graph of a strategy that keeps it whole
BESIDE = "in_graph"


class Picture(NamedTuple):
    name: str
    svg: str  # an <svg> element
    text: str  # a sentence that describes the picture


class GraphsError(PlotsError):
    """Pictures cannot be drawn; the text is one line with the reason and the remedy."""


def beside(left: str, right: str) -> str:
    """Joins two graphs into one, each in a frame with its name."""
    def framed(dot: str, name: str, prefix: str) -> str:
        inner = dot[dot.index("{") + 1:dot.rindex("}")]
        inner = re.sub(r"\bb(\d+)\b(?=( ->|;| \[))", rf"{prefix}\1", inner)
        inner = re.sub(r"cluster_(\d+)", rf"cluster_{prefix}_\1", inner)
        return (f"subgraph cluster_{prefix} {{\n  label=\"{name}\"; fontsize=16; "
                f"style=rounded; color=\"#222222\";\n{inner}\n}}\n")

    return ("digraph both {\n" + framed(left, BASELINE, "s")
            + framed(right, BESIDE, "g") + "}\n")


def drawn(dot: str, number: int, text: str) -> str:
    """Draws a graph as an <svg> element for the page; `number` makes its ids unique."""
    if shutil.which("dot") is None:
        raise GraphsError("pictures of graphs need Graphviz, which is not installed: "
                          "apt-get install graphviz")
    try:
        svg = subprocess.run(["dot", "-Tsvg"], input=dot, capture_output=True, text=True,
                             check=True, timeout=60).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise GraphsError(f"dot could not draw: {getattr(error, 'stderr', error)}") from error
    svg = re.sub(r"<title>.*?</title>\n?|<!--.*?-->\n?", "", svg[svg.index("<svg"):],
                 flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="g{number}-', svg)
    head, body = svg.split(">", 1)
    points = re.search(r'width="(\d+)pt"', head)
    pixels = round(int(points[1]) * 96 / 72) if points else 800
    head = re.sub(r'(width|height)="\d+pt"\s*', "", head)
    return (head.replace("<svg", f'<svg class="chart" role="img" aria-label="{escape(text)}" '
                         f'style="--natural:{pixels}px"', 1) + ">" + body)


def pictures() -> list[Picture]:
    """Draws the graph of each strategy in the table. Throws: GraphsError."""
    made = []
    rows = table()
    for number, row in enumerate(row for row in rows.values() if row.name != BASELINE):
        dot = row.graph
        text = row.summary[0].upper() + row.summary[1:] + "."
        if row.name == BESIDE:
            dot = beside(rows[BASELINE].graph, dot)
            text = f"The step as the workload wrote it, and {row.name}: {row.summary}."
        made.append(Picture(row.name, drawn(dot, number, text), text))
    return made


def write_pictures(folder: Path, overwrite: bool) -> list[Picture]:
    """Writes each picture to FOLDER/graph_NAME.svg; returns them. Throws: PlotsError, OSError."""
    made = pictures()
    folder.mkdir(parents=True, exist_ok=True)
    for picture in made:
        with new_file(folder / f"graph_{picture.name}.svg", overwrite) as file:
            file.write_text(f"<!-- {MARK} -->\n{picture.svg}")
    return made
