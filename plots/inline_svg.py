# SPDX-License-Identifier: Apache-2.0
"""Embeds figures in a page as SVG, with the page's fonts, light and dark colours, and unique ids.

Every colour of a figure becomes a variable of the page, with one value for light mode and one for
dark mode. In dark mode greys are inverted and other colours are made light enough to be seen.
"""

import io
import re
from dataclasses import dataclass
from html import escape

import matplotlib
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from hover import with_titles

Rgb = tuple[float, float, float]

DARK_PAPER: Rgb = (0x16 / 255, 0x1A / 255, 0x20 / 255)
DARK_INK: Rgb = (0xE8 / 255, 0xEA / 255, 0xED / 255)
CONTRAST = 3.5  # of a line on a dark page; WCAG requires 3 for graphics
WIDE = 450  # points; a wider figure gets the width of the page, and scrolls on a phone
COLOUR = re.compile(r"(?<=[ :])#[0-9a-f]{6}(?=[;\"])")


@dataclass
class Graphic:
    name: str
    svg: str
    description: str  # caption, and alternative text for screen readers
    file: str  # relative to the page; empty: none


def _luminance(colour: Rgb) -> float:
    """Relative luminance. Source: WCAG 2.1."""
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
                        for part in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _mixed(colour: Rgb, other: Rgb, share: float) -> Rgb:
    red, green, blue = ((1 - share) * a + share * b for a, b in zip(colour, other))
    return red, green, blue


def dark_of(colour: str) -> str:
    """The colour that replaces `colour` in dark mode."""
    rgb = to_rgb(colour)
    if max(rgb) - min(rgb) < 0.05:
        result = _mixed(DARK_INK, DARK_PAPER, sum(rgb) / 3)
    else:
        result, share = rgb, 0.0
        while (_luminance(result) + 0.05) / (_luminance(DARK_PAPER) + 0.05) < CONTRAST:
            share += 0.05
            result = _mixed(rgb, (1.0, 1.0, 1.0), share)
    return matplotlib.colors.to_hex(result)


def colour_variable(colour: str) -> str:
    return f"var(--c-{colour[1:].lower()})"


def colour_rules(page: str) -> tuple[str, str]:
    """CSS declarations of all colour variables that a page uses, for light and dark mode."""
    colours = sorted({*re.findall(r"var\(--c-([0-9a-f]{6})\)", page), "000000"})
    return ("".join(f"--c-{one}:#{one};" for one in colours),
            "".join(f"--c-{one}:{dark_of('#' + one)};" for one in colours))


def inline_svg(figure: Figure, prefix: str, description: str) -> str:
    """The figure as an <svg> element; `prefix` is unique on the page."""
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "regatta"}):
        figure.savefig(buffer, format="svg", bbox_inches="tight", pad_inches=0.12,
                       transparent=True, metadata={"Date": None})
    svg = with_titles(buffer.getvalue())
    svg = svg[svg.index("<svg"):]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(\bid="|xlink:href="#|url\(#)', rf"\g<1>{prefix}-", svg)
    svg = COLOUR.sub(lambda found: colour_variable(found[0]), svg)
    head, body = svg.split(">", 1)
    width = float(re.search(r'viewBox="0 0 ([\d.]+)', head)[1])
    box = re.search(r'viewBox="[^"]*"', head)[0]
    wide = " wide" if width > WIDE else ""
    return (f'<svg class="chart{wide}" role="img" aria-label="{escape(description)}" {box} '
            f'xmlns:xlink="http://www.w3.org/1999/xlink" '
            f'style="--natural:{width * 96 / 72:.0f}px">{body}')
