# SPDX-License-Identifier: Apache-2.0
"""One colour and one dash pattern for each strategy, the same in every figure; a strategy's further
lines are shades of its colour.

Colours are those of Okabe and Ito and of Paul Tol, chosen to stay apart for colour-blind readers;
the dash patterns tell lines apart in black and white, each by its number in the table of strategies
(dash_of), so that there is one for any number of them. Markers return after some.
Source: https://jfly.uni-koeln.de/color/, https://personal.sron.nl/~pault/
"""

import itertools
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from matplotlib.colors import to_hex, to_rgb

from strategies import table

Dash = tuple[float, ...]
Marker = str | tuple[int, int, int]


class Style(NamedTuple):
    colour: str
    dash: Dash  # lengths on and off, in line widths; empty is solid
    marker: Marker  # filled, as its edge is white; or corners, 0, angle


MARKERS: tuple[Marker, ...] = ("o", "H", "^", "v", "s", "<", ">", "D", "P", "X", "p", "d",
                               (5, 0, 180), (4, 0, 22), "8")  # solid: small ones keep their colour
MARKS = (1.2, 3.5, 7.5)  # dot, dash, long dash, in line widths
BETWEEN, AFTER = 1.4, 3.5  # marks of a pattern; before it begins again
# Of compositions, and of a strategy's further lines in curves.
SPARE = ("#5B2A86", "#882255", "#0000FF", "#6F4E37", "#4477DD", "#EE3377", "#BB9955", "#33CCAA",
         "#771111", "#114477", "#667700", "#EE9999")


def dash_of(number: int) -> Dash:
    """The number's own pattern, as in Morse code: its digits are marks. Solid for 0."""
    marks: list[float] = []
    while number > 0:
        number, digit = divmod(number - 1, len(MARKS))
        marks[:0] = [MARKS[digit], BETWEEN]
    return (*marks[:-1], AFTER) if marks else ()


def styled(colour: str, number: int) -> Style:
    """The look of this number: any two differ in their dashes."""
    return Style(colour, dash_of(number), MARKERS[number % len(MARKERS)])


def styles() -> dict[str, Style]:
    """Of the strategies of the table, by name: their colours are declared there."""
    return {name: styled(row.colour, at) for at, (name, row) in enumerate(table().items())}


def style_of(strategy: str) -> Style:
    """Always the same for a name."""
    if strategy in styles():
        return styles()[strategy]
    spare = sum(strategy.encode()) % len(SPARE)
    return styled(SPARE[spare], len(table()) + spare)


def shade(colour: str, number: int) -> str:
    """Of one hue: darker, lighter, darker still, and so on; a dark colour only gets lighter."""
    dark = max(to_rgb(colour)) < 0.3
    share = 1 - 0.72 ** (number if dark else (number + 1) // 2)
    towards = 1.0 if dark or number % 2 == 0 else 0.0
    return to_hex([part + share * (towards - part) for part in to_rgb(colour)])


def styles_of(strategies: Iterable[str]) -> list[Style]:
    """Of the lines of one panel: a strategy's second line, as in another dtype, is a shade of its
    colour with another dash and marker.

    Of more rows than there are looks, each has that of its strategy: their names stand beside them.
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
