# SPDX-License-Identifier: Apache-2.0
"""Gives marks of a figure titles in the SVG, which browsers show on hover."""

import re
from html import escape
from urllib.parse import quote, unquote

from matplotlib.artist import Artist

PREFIX = "hover:"


def describe(artist: Artist, text: str) -> None:
    """Sets the artist's title for SVG files; other formats have no titles."""
    artist.set_gid(PREFIX + quote(text))


def with_titles(svg: str) -> str:
    """The SVG with a title for each mark that was passed to describe()."""
    return re.sub(rf'<g id="{PREFIX}([^"]*)">',
                  lambda found: f"<g><title>{escape(unquote(found[1]))}</title>", svg)
