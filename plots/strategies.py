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
    """`16 strategies`, or `3 strategies, 1 other program`. Counts names of the table; each part of
    a composition counts, but only once. All pages and figures count strategies in this way."""
    split = [split_program(name) for name in names]
    count = len({part for _, own in split for part in own.split("+") if part})
    programs = len({program for program, _ in split if program})
    text = f"{count} strateg" + ("y" if count == 1 else "ies")
    return text + (f", {programs} other program" + "s" * (programs > 1) if programs else "")


def split_program(strategy: str) -> tuple[str, str]:
    """The program and the strategy in a contender's name: `pytorch`, `all_reduce`. The program is
    empty for Regatta's own runs, and the strategy for a program that named none."""
    program, _, own = strategy.rpartition(" ")
    if any(part not in table() for part in own.split("+")):
        return strategy, ""
    return program, own


def exchanges_of(strategy: str) -> set[str]:
    """The exchange of a strategy, or those of a composition's parts; unknown names are ignored."""
    parts = split_program(strategy)[1].split("+")
    return {table()[part].exchange for part in parts if part in table()}


def is_asynchronous(strategy: str) -> bool:
    return "asynchronous" in exchanges_of(strategy)


def claims_time(strategy: str) -> bool:
    """Whether time to target counts. If replicas exchange nothing, only their speed does, as a
    ceiling."""
    return "nothing" not in exchanges_of(strategy)
