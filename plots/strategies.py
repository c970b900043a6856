# SPDX-License-Identifier: Apache-2.0
"""The program's table of strategies, as the judgement that was read last has it."""

from collections.abc import Iterable
from typing import Any, NamedTuple


class PlotsError(Exception):
    """No figure; the text is one line that says why and what to do."""


class Strategy(NamedTuple):
    name: str
    summary: str
    exchange: str  # nothing, synchronous, compressed, periodic or asynchronous
    processes: str  # one, places, workers, or workers and servers
    colour: str
    graph: str  # of a step of the parabola, in Graphviz' DOT


_rows: dict[str, Strategy] = {}


def use_table(rows: Iterable[dict[str, Any]]) -> None:
    _rows.clear()
    _rows.update((row["name"], Strategy(**row)) for row in rows)


def table() -> dict[str, Strategy]:
    """By name, in the program's order; empty before a judgement was read."""
    return _rows


def strategies_text(names: Iterable[str]) -> str:
    """`16 strategies`: the one way to count them, by the table's names, each part of a composition
    once. All else that is counted are cells."""
    count = len({part for name in names for part in name.split("+")})
    return f"{count} strateg" + ("y" if count == 1 else "ies")


def exchanges_of(strategy: str) -> set[str]:
    """Of a strategy or the parts of a composition; nothing of a name that the program lacks."""
    return {table()[part].exchange for part in strategy.split("+") if part in table()}


def is_asynchronous(strategy: str) -> bool:
    return "asynchronous" in exchanges_of(strategy)


def claims_time(strategy: str) -> bool:
    """Replicas that exchange nothing are a ceiling on speed; their time to a target is no claim."""
    return "nothing" not in exchanges_of(strategy)
