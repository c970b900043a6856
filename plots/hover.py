# SPDX-License-Identifier: Apache-2.0
"""Gives parts of a figure titles in the SVG, which browsers show on hover, and the names of their
cells, by which the page lights all parts of one."""

import re
from html import escape
from urllib.parse import quote, unquote

from matplotlib.artist import Artist

PREFIX = "hover:"


def describe(artist: Artist, text: str, name: str = "") -> None:
    """Sets the artist's title and its cell's name for SVG files; other formats have neither."""
    artist.set_gid(f"{PREFIX}{quote(name)}:{quote(text)}")


def light(artist: Artist, name: str) -> None:
    """Sets the name of the artist's cell without a title."""
    describe(artist, "", name)


def with_titles(svg: str) -> str:
    """The SVG with the titles and names that describe() was given."""
    def group(found: re.Match[str]) -> str:
        name, text = (escape(unquote(part)) for part in found.groups())
        return ("<g" + f' data-name="{name}"' * bool(name) + ">"
                + f"<title>{text}</title>" * bool(text))

    return re.sub(rf'<g id="{PREFIX}([^":]*):([^"]*)">', group, svg)
