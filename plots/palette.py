# SPDX-License-Identifier: Apache-2.0
"""One colour and one dash pattern for each strategy, the same in every figure; a strategy's further
lines are shades of its colour.

Colours are those of Okabe and Ito and of Paul Tol, chosen to stay apart for colour-blind readers;
the dash patterns tell lines apart in black and white.
Source: https://jfly.uni-koeln.de/color/, https://personal.sron.nl/~pault/
"""

import itertools
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from matplotlib.colors import to_hex, to_rgb

from strategies import table

Dash = tuple[float, ...]


class Style(NamedTuple):
    colour: str
    dash: Dash  # lengths on and off, in line widths; empty is solid
    marker: str | tuple[int, int, int]  # filled, as its edge is white; corners, 1: star, angle


# Dashes and markers of the table's strategies, in its order. The colours are the table's.
LOOKS: tuple[tuple[Dash, str | tuple[int, int, int]], ...] = (
    ((), "o"), ((1, 3), "H"), ((3, 1.2), "^"), ((6, 1.5, 1.2, 1.5), "v"), ((6, 1.5), "s"),
    ((4, 1.2, 4, 3), "<"), ((2, 2.5), ">"), ((1.2, 1.2), "D"), ((8, 3), "P"),
    ((2, 1, 2, 3), "X"), ((7, 2, 7, 4), "*"), ((1, 1.5, 3, 1.5), (7, 1, 0)),
    ((9, 1.5, 3, 1.5), (9, 0, 0)), ((5, 2, 1, 2, 1, 2), (10, 1, 0)),
    ((2, 2, 6, 2), (12, 1, 0)), ((4, 1, 1, 1, 1, 4), (8, 0, 0)), ((3, 3, 6, 3), (9, 1, 0)),
    ((2, 4, 2, 1), (5, 1, 0)), ((1.5, 3, 4, 3), (5, 0, 36)),
)
# For compositions, further strategies of the table, and a strategy's further lines.
SPARE = (Style("#5B2A86", (6, 1.5, 1.2, 1.5, 1.2, 1.5), "p"),
         Style("#882255", (10, 2, 2, 2), "d"), Style("#0000FF", (3, 3), "h"),
         Style("#6F4E37", (5, 1, 1, 1, 1, 1, 1, 1), "8"), Style("#4477DD", (12, 3), (4, 1, 45)),
         Style("#EE3377", (1, 1, 6, 1), (4, 1, 0)), Style("#BB9955", (2, 1), (3, 1, 0)),
         Style("#33CCAA", (8, 1, 1, 1), (6, 1, 0)), Style("#771111", (5, 5), (5, 1, 180)),
         Style("#114477", (1, 2, 4, 2), (3, 1, 180)), Style("#667700", (7, 1), (8, 1, 0)),
         Style("#EE9999", (3, 1, 1, 1), (7, 0, 0)))


def styles() -> dict[str, Style]:
    """Of the strategies of the table, by name."""
    spare = itertools.cycle((style.dash, style.marker) for style in SPARE)
    looks = itertools.chain(LOOKS, spare)
    return {name: Style(row.colour, *look) for (name, row), look in zip(table().items(), looks)}


def style_of(strategy: str) -> Style:
    """Always the same for a name."""
    if strategy in styles():
        return styles()[strategy]
    return SPARE[sum(strategy.encode()) % len(SPARE)]


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
    spare = iter(SPARE)
    seen: Counter[str] = Counter()
    chosen = []
    for strategy in strategies:
        style = style_of(strategy)
        if seen[strategy] > 0:
            look = next(spare)
            style = Style(shade(style.colour, seen[strategy]), look.dash, look.marker)
        chosen.append(style)
        seen[strategy] += 1
    return chosen
