# SPDX-License-Identifier: Apache-2.0
"""The program's tables of strategies and of a cell's fields, from the judgement that was read
last."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple


class PlotsError(Exception):
    """A figure cannot be made; the text is one line with the reason and the remedy."""


class Strategy(NamedTuple):
    name: str
    summary: str
    exchange: str  # nothing, synchronous, compressed, periodic or asynchronous
    processes: str  # one, places, workers, or workers and servers
    colour: str
    graph: str  # of a small step, in Graphviz' DOT


class CellField(NamedTuple):
    varies: bool  # between compared cells
    label: tuple[str, ...]  # words beside a value: singular and plural for a count, a name, or none


_rows: dict[str, Strategy] = {}
_fields: dict[str, CellField] = {}


def use_table(rows: Iterable[dict[str, Any]], fields: Mapping[str, dict[str, Any]]) -> None:
    _rows.clear()
    _rows.update((row["name"], Strategy(**row)) for row in rows)
    _fields.clear()
    _fields.update((name, CellField(field["varies"], tuple(field["label"])))
                   for name, field in fields.items())


def cell_fields() -> dict[str, CellField]:
    """The fields of a cell by name, in the record's order; empty before a judgement was read."""
    return _fields


def table() -> dict[str, Strategy]:
    """The strategies by name, in the program's order; empty before a judgement was read."""
    return _rows


def strategies_text(names: Iterable[str]) -> str:
    """`16 strategies`. Counts names of the table; each part of a composition counts, but only once.
    All pages and figures count strategies in this way."""
    count = len({part for name in names for part in name.split("+")})
    return f"{count} strateg" + ("y" if count == 1 else "ies")


def exchanges_of(strategy: str) -> set[str]:
    """The exchange of a strategy, or those of a composition's parts; unknown names are ignored."""
    return {table()[part].exchange for part in strategy.split("+") if part in table()}


def is_asynchronous(strategy: str) -> bool:
    return "asynchronous" in exchanges_of(strategy)


def claims_time(strategy: str) -> bool:
    """Whether time to target counts. If replicas exchange nothing, only their speed does, as a
    ceiling."""
    return "nothing" not in exchanges_of(strategy)
