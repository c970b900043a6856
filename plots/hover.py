# SPDX-License-Identifier: Apache-2.0
"""Marks that say in words what they show: a title of the SVG, which browsers show on hover."""

import re
from html import escape
from urllib.parse import quote, unquote

from matplotlib.artist import Artist

PREFIX = "hover:"


def describe(artist: Artist, text: str) -> None:
    """The text becomes the artist's title in an SVG; other formats do not have it."""
    artist.set_gid(PREFIX + quote(text))


def with_titles(svg: str) -> str:
    """The SVG with a title for each mark that describe() was given."""
    return re.sub(rf'<g id="{PREFIX}([^"]*)">',
                  lambda found: f"<g><title>{escape(unquote(found[1]))}</title>", svg)
