# SPDX-License-Identifier: Apache-2.0
"""Gives each strategy one colour and one dash pattern, the same in every figure. Further lines of a
strategy are shades of its colour.

Colours come from Okabe and Ito and from Paul Tol; colour-blind readers can distinguish them. Dash
patterns distinguish lines in black and white: dash_of() makes one from a strategy's number in the
table of strategies, so they never run out. Markers repeat after len(MARKERS) strategies.
Source: https://jfly.uni-koeln.de/color/, https://personal.sron.nl/~pault/
"""

import itertools
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from matplotlib.colors import to_hex, to_rgb

from strategies import split_program, table

Dash = tuple[float, ...]
Marker = str | tuple[int, int, int]


class Style(NamedTuple):
    colour: str
    dash: Dash  # lengths on and off, in line widths; empty is solid
    marker: Marker  # a filled one, because edges are white; or corners, 0, angle


MARKERS: tuple[Marker, ...] = ("o", "H", "^", "v", "s", "<", ">", "D", "P", "X", "p", "d",
                               (5, 0, 180), (4, 0, 22), "8")  # filled: shows its colour
MARKS = (1.2, 3.5, 7.5)  # dot, dash, long dash, in line widths
BETWEEN, AFTER = 1.4, 3.5  # gaps between marks; after a pattern
# Colours of compositions, and of a strategy's further lines in curves.
SPARE = ("#5B2A86", "#882255", "#0000FF", "#6F4E37", "#4477DD", "#EE3377", "#BB9955", "#33CCAA",
         "#771111", "#114477", "#667700", "#EE9999")


def dash_of(number: int) -> Dash:
    """The dash pattern of a number: its digits become marks, as in Morse code. 0: solid."""
    marks: list[float] = []
    while number > 0:
        number, digit = divmod(number - 1, len(MARKS))
        marks[:0] = [MARKS[digit], BETWEEN]
    return (*marks[:-1], AFTER) if marks else ()


def styled(colour: str, number: int) -> Style:
    """The style of this number; styles of different numbers differ in their dashes."""
    return Style(colour, dash_of(number), MARKERS[number % len(MARKERS)])


def styles() -> dict[str, Style]:
    """The styles of the strategies in the table, by name. The table declares their colours."""
    return {name: styled(row.colour, at) for at, (name, row) in enumerate(table().items())}


def style_of(strategy: str) -> Style:
    """The style of a strategy, composition or program, which depends on its name only."""
    program, own = split_program(strategy)
    if program and own:  # a shade of the same strategy's colour
        number = sum(program.encode()) % len(SPARE)
        return styled(shade(style_of(own).colour, 1 + number % 2), len(table()) + number)
    if strategy in styles():
        return styles()[strategy]
    spare = sum(strategy.encode()) % len(SPARE)
    return styled(SPARE[spare], len(table()) + spare)


def shade(colour: str, number: int) -> str:
    """A shade of the same hue: darker for 1, lighter for 2, darker still for 3, and so on. Dark
    colours only become lighter."""
    dark = max(to_rgb(colour)) < 0.3
    share = 1 - 0.72 ** (number if dark else (number + 1) // 2)
    towards = 1.0 if dark or number % 2 == 0 else 0.0
    return to_hex([part + share * (towards - part) for part in to_rgb(colour)])


def styles_of(strategies: Iterable[str]) -> list[Style]:
    """The styles of the lines in one panel. A strategy's second line, for example in another dtype,
    is a shade of its colour with another dash and marker.

    If there are too many lines, each has its strategy's style: their names are beside them.
    """
    strategies = list(strategies)
    if len(strategies) - len(set(strategies)) > len(SPARE):
        return [style_of(strategy) for strategy in strategies]
    number = itertools.count(len(table()) + len(SPARE))
    seen: Counter[str] = Counter()
    chosen = []
    for strategy in strategies:
        style = style_of(strategy)
        if seen[strategy] > 0:
            style = styled(shade(style.colour, seen[strategy]), next(number))
        chosen.append(style)
        seen[strategy] += 1
    return chosen
