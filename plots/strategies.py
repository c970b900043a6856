# SPDX-License-Identifier: Apache-2.0
"""The table of strategies, as the program has it: `regatta list strategies --format json`."""

import functools
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
INSTALLED = Path(__file__).resolve().parents[3] / "bin/regatta"  # from share/regatta/plots


class PlotsError(Exception):
    """No figure; the text is one line that says why and what to do."""


class Strategy(NamedTuple):
    name: str
    summary: str
    exchange: str  # nothing, synchronous or asynchronous
    colour: str


@functools.cache
def find_program() -> str:
    """$REGATTA, the program that started this script, the one built last, or that of the PATH.

    Throws: PlotsError.
    """
    if named := os.environ.get("REGATTA"):
        return named
    built = [one for one in (ROOT / f"build/{preset}/bin/regatta"
                             for preset in ("release", "debug")) if one.exists()]
    candidates = sorted(built, key=lambda one: one.stat().st_mtime, reverse=True)
    candidates.append(INSTALLED)
    try:
        started_by = Path(os.readlink(f"/proc/{os.getppid()}/exe"))
        candidates[:0] = [started_by] if started_by.name == "regatta" else []
    except OSError:
        pass
    found = next((str(one) for one in candidates if one.exists()), shutil.which("regatta"))
    if found is None:
        raise PlotsError("figures need the program, for its table of strategies; build it "
                         "(ci/race) or name it in the variable REGATTA")
    return found


@functools.cache
def table() -> dict[str, Strategy]:
    """By name, in the program's order. Throws: PlotsError."""
    command = [find_program(), "list", "strategies", "--format", "json"]
    try:
        printed = subprocess.run(command, capture_output=True, text=True, check=True,
                                 timeout=60).stdout
        rows = json.loads(printed)["strategies"]
    except (OSError, subprocess.SubprocessError, ValueError, KeyError) as error:
        raise PlotsError(f"{' '.join(command)} does not print the table of strategies: {error}; "
                         "build the program again (ci/race)") from error
    return {row["name"]: Strategy(*(row[field] for field in Strategy._fields)) for row in rows}


def exchanges_of(strategy: str) -> set[str]:
    """Of a strategy or the parts of a composition; nothing of a name that the program lacks."""
    return {table()[part].exchange for part in strategy.split("+") if part in table()}


def is_asynchronous(strategy: str) -> bool:
    return "asynchronous" in exchanges_of(strategy)


def claims_time(strategy: str) -> bool:
    """Replicas that exchange nothing are a ceiling on speed; their time to a target is no claim."""
    return "nothing" not in exchanges_of(strategy)
