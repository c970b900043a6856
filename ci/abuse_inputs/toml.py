# SPDX-License-Identifier: Apache-2.0
"""Matrix files as the harness documents them (harness/matrix/matrix_plan.h), read by Python's own
TOML: how many cells and seeds a file asks for, or why it has to be refused.
"""

import itertools
import math
import tomllib
from collections.abc import Iterator
from typing import Any, NamedTuple

TOP = {"seeds", "race", "exclude"}
USUAL_SEEDS = 5
MOST_CELLS = MOST_SEEDS = 1_000  # limits of the program, as are those of a file
MOST_BYTES, MOST_LINE = 65_536, 4_096
MOST_DOTS = 1_000  # in a line: a key of many parts takes Python more memory than there is
# Flags of a seed, of a folder or without a value, which are no keys.
NO_KEYS = {"help", "seed", "seeds", "cluster", "virtual", "data_dir", "out", "trace", "overwrite",
           "resume", "checkpoint_every", "continue_on_loss"}


class Refused(Exception):
    """The file has to be refused."""


class Unsure(Exception):
    """The file may be accepted or refused."""


class Size(NamedTuple):
    """Cells of the whole cross product, without those that are excluded or there twice."""

    cells: int
    seeds: int


def seeds_of(value: Any) -> int:
    if isinstance(value, list):
        if not value or any(type(one) is not int or one < 0 for one in value):
            raise Refused("a list of seeds with what is no seed")
        if len(set(value)) < len(value):
            raise Unsure
        return len(value)
    if type(value) is not int or value < 1:
        raise Refused("seeds is no number of at least 1")
    if value > MOST_SEEDS:
        raise Refused(f"more than {MOST_SEEDS} seeds")
    return value


def text_of(value: Any) -> str:
    if isinstance(value, str):
        if value == "":
            raise Refused("an empty value")
        return value
    if type(value) is int:
        return str(value)
    if isinstance(value, float):
        raise Unsure  # whose text is not for us to say
    raise Refused("a value that is neither text nor number")


def values_of(value: Any) -> list[str]:
    if not isinstance(value, list):
        return [text_of(value)]
    if not value:
        raise Refused("an empty list")
    return [text_of(one) for one in value]


def blocks_of(table: dict[str, Any], name: str, flags: set[str]) -> list[dict[str, list[str]]]:
    blocks = table.get(name, [])
    if blocks == [] and name in table:
        raise Unsure
    if not isinstance(blocks, list) or not all(isinstance(each, dict) for each in blocks):
        raise Refused(f"{name} is no list of tables")
    for key in (key for block in blocks for key in block):
        flag = key.replace("-", "_")
        if flag not in flags or flag in NO_KEYS:
            raise Refused(f"an unknown key {key[:40]!r}")
        if flag != key:
            raise Unsure
    return [{key: values_of(value) for key, value in block.items()} for block in blocks]


def cells_of(block: dict[str, list[str]]) -> Iterator[tuple[tuple[str, str], ...]]:
    for chosen in itertools.product(*block.values()):
        yield tuple(zip(block, chosen))


def excluded(cell: tuple[tuple[str, str], ...], block: dict[str, list[str]]) -> bool:
    values = dict(cell)
    return all(values.get(key) in wanted for key, wanted in block.items())


def size_of(table: dict[str, Any], flags: set[str]) -> Size:
    if unknown := set(table) - TOP:
        raise Refused(f"an unknown key {min(unknown)[:40]!r}")
    seeds = seeds_of(table.get("seeds", USUAL_SEEDS))
    races = blocks_of(table, "race", flags)
    excludes = blocks_of(table, "exclude", flags)
    if sum(math.prod(len(values) for values in block.values()) for block in races) > MOST_CELLS:
        raise Refused(f"more than {MOST_CELLS} cells")
    all_cells = {cell for block in races for cell in cells_of(block)}
    for block in excludes:
        used = {pair for cell in all_cells if excluded(cell, block) for pair in cell}
        if any((key, value) not in used for key, values in block.items() for value in values):
            raise Refused("an [[exclude]] with a value that excludes nothing")
    kept = [cell for cell in all_cells if not any(excluded(cell, block) for block in excludes)]
    if not kept:
        raise Refused("no cell")
    return Size(len(kept), seeds)


def require_words(value: Any) -> None:
    """TOML has integers of 64 bits."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            require_words(one)
    elif isinstance(value, int) and not -2**63 <= value < 2**63:
        raise Refused("an integer beyond 64 bits")


def read(content: bytes, flags: set[str]) -> Size:
    """`flags`: of `regatta run`, as keys. Throws: Refused, Unsure."""
    if len(content) > MOST_BYTES or any(len(line) > MOST_LINE for line in content.split(b"\n")):
        raise Refused("a file or a line that is too long")
    if any(line.count(b".") > MOST_DOTS for line in content.splitlines()):
        raise Unsure
    try:
        table = tomllib.loads(content.decode("utf-8-sig"))
        require_words(table)
    except RecursionError:
        raise Unsure from None
    except ValueError as error:
        raise Refused(f"it is no TOML: {error}") from None
    return size_of(table, flags)
