# SPDX-License-Identifier: Apache-2.0
"""Numbers in readable form: suitable units, three digits, separated thousands."""

import math
import re
from collections.abc import Callable, Iterable
from typing import Any

MOST_COUNTS = 5


def time_unit(longest: float) -> tuple[float, str]:
    """Units per second, and the unit's name, for a unit in which `longest` has few digits."""
    if longest < 1e-3:
        return 1e6, "microseconds"
    if longest < 1.0:
        return 1e3, "milliseconds"
    return (1.0, "seconds") if longest < 600 else (1 / 60, "minutes")


def digits_text(value: float) -> str:
    """`2.57`, `25.7`, `257`"""
    places = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:,.{places}f}"


def time_text(seconds: float | None) -> str:
    """`2.57 s`; a dash for an infinite time."""
    if seconds is None or not math.isfinite(seconds):
        return "–"
    if seconds == 0:
        return "0 s"
    for limit, scale, unit in ((1e-6, 1e9, "ns"), (1e-3, 1e6, "µs"), (1.0, 1e3, "ms"),
                               (600.0, 1.0, "s"), (math.inf, 1 / 60, "min")):
        if seconds < limit:
            return f"{digits_text(seconds * scale)} {unit}"
    raise AssertionError("no unit fits")


def span_text(low: float, high: float | None, text: Callable[[float], str]) -> str:
    """`2.64–2.90 ms`: a common unit appears once."""
    ends = [text(low), "never" if high is None else text(high)]
    if ends[0] == ends[1]:
        return ends[0]
    number, _, unit = ends[0].partition(" ")
    same = unit and ends[1].endswith(" " + unit)
    return f"{number}–{ends[1]}" if same or not unit else f"{ends[0]} to {ends[1]}"


def count_text(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def bytes_text(value: float) -> str:
    """`1.65 MB`, in decimal units."""
    for limit, scale, unit in ((1e3, 1.0, "B"), (1e6, 1e3, "kB"), (1e9, 1e6, "MB"),
                               (math.inf, 1e9, "GB")):
        if value < limit:
            return f"{value:,.0f} B" if unit == "B" else f"{digits_text(value / scale)} {unit}"
    raise AssertionError("no unit fits")


def tied(text: str) -> str:
    """The text with non-breaking spaces between numbers and units."""
    return re.sub(r"(?<=\d) (?=(?:%|n?s|[mµ]s|min|[kMG]?B|times)\b|%)", "\u00a0", text)


def metric_text(value: float | None, metric: str) -> str:
    if value is None:
        return "–"
    return f"{value:.1f} %" if metric == "accuracy" else f"{value:.3g}"


def counts_text(values: Iterable[int]) -> str:
    """`64, 128`; only the ends of a long list: `50 to 383`."""
    each = sorted(set(values))
    return ", ".join(f"{one:,}" for one in each) if len(each) <= MOST_COUNTS else (
        f"{each[0]:,} to {each[-1]:,}")


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def listed(names: list[str]) -> str:
    """`a, b and c`; `a, 1 process; b and c` if a name has a comma."""
    comma = "; " if any("," in name for name in names) else ", "
    return " and ".join(filter(None, [comma.join(names[:-1]), *names[-1:]]))


LEAST_TOLD = 1.05  # a lower bound below it says no more than that a cell is slower


def least_text(value: float) -> str:
    """`3.1`, `1.07`, `63`: a lower bound with two digits or two places, rounded down."""
    places = 2 if value < 1.1 else 1 if value < 10 else 0
    return f"{math.floor(value * 10**places + 1e-9) / 10**places:.{places}f}"


def reason_text(why: str, at_least: float | None, first: str) -> str:
    """`at least 3.1× single`, if `single` is the first: why a matrix raced a cell no further."""
    tells = at_least is not None and at_least >= LEAST_TOLD
    return {"slower": f"at least {least_text(at_least)}× {first}" if tells
                      else f"slower than {first}",
            "precise": "known precisely enough", "missed": "misses the target"}[why]


def out_text(round_: int, *reason: Any) -> str:
    """`left out after round 2: at least 3.1× single`. `reason`: as for reason_text()"""
    return f"left out after round {round_}: {reason_text(*reason)}"
