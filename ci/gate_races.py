# SPDX-License-Identifier: Apache-2.0
"""Runs the races of ci/gate.toml with several builds in turn.

All builds run an entry before the next entry starts: base first for odd seeds, head first for even
ones (A-B-B-A), so that drift of the machine affects all sides equally. A round leaves one
folder for each side, as input of `regatta compare`.
"""

import random
import time
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from children import Children
from gate_builds import Refused

RUN_LIMIT_S = 120
SIDES = ("base", "head")
USAGE, RUN_FAILED = 1, 2  # exit codes of regatta
LONGEST_DETOUR = 64


class Crashed(Exception):
    """A program ended without leaving a result."""


@dataclass(frozen=True)
class Race:
    flags: str

    @property
    def source(self) -> str:
        """The name for `regatta compare`: without folders, which may differ between sides."""
        words = self.flags.split()
        folders = [at for at, word in enumerate(words) if word == "--data-dir"]
        return " ".join(word for at, word in enumerate(words)
                        if at not in folders and at - 1 not in folders)

    def arguments(self, seed: int, out: Path) -> list[str]:
        """The arguments of `regatta run`. The length of the folder's name is made to depend on seed
        and side, because it changes the memory layout: for a step of a microsecond that alone
        changes the time by up to a tenth, reproducibly (Mytkowicz et al., "Producing wrong data
        without doing anything obviously wrong!", 2009)."""
        detour = "./" * random.Random(f"{seed} {out.name}").randrange(LONGEST_DETOUR)
        return ["run", *self.flags.split(), "--seed", str(seed), "--out", f"{out}/{detour}"]


@dataclass(frozen=True)
class Gate:
    seeds: int
    compare: tuple[str, ...]  # flags of regatta compare
    entries: tuple[Race, ...]


def read_gate(path: Path) -> Gate:
    """Reads the gate file. Throws: Refused, which describes the error in the file."""
    try:
        table = tomllib.loads(path.read_text())
        gate = Gate(seeds=table.pop("seeds"), compare=tuple(table.pop("compare", "").split()),
                    entries=tuple(Race(**entry) for entry in table.pop("race", [])))
    except (OSError, KeyError, TypeError, tomllib.TOMLDecodeError) as error:
        raise Refused(f"{path}: {error}; ci/gate.toml shows what it holds") from error
    if table or not gate.entries:
        raise Refused(f"{path}: unknown keys {sorted(table)}" if table else
                      f"{path} has no [[race]]")
    return gate


class Round:
    """One round of races. `programs`: the folder of each side's programs."""

    def __init__(self, programs: dict[str, Path], children: Children, folder: Path,
                 say: Callable[[str], None]) -> None:
        self.programs, self.children, self.folder, self.say = programs, children, folder, say
        self.log = folder / "log"
        self.runs = 0
        self.unknown: set[tuple[str, str]] = set()  # sides, and entries that they lack
        for side in programs:
            (folder / side).mkdir(parents=True)

    def run(self, entries: Sequence[Race], seeds: Sequence[int]) -> None:
        """Runs each entry with each seed on all sides. Throws: Crashed, Interrupted."""
        begin = time.monotonic()
        sides = list(self.programs)
        for index, seed in enumerate(seeds, 1):
            for entry in entries:
                for side in sides if seed % 2 == 1 else reversed(sides):
                    self.run_one(entry, side, seed)
            left = (time.monotonic() - begin) / index * (len(seeds) - index)
            self.say(f"{self.folder.name}: seed {seed}, {left:.0f} s to seed {seeds[-1]}")

    def run_one(self, entry: Race, side: str, seed: int) -> None:
        if (side, entry.source) in self.unknown:
            return
        program = self.programs[side] / "regatta"
        arguments = entry.arguments(seed, self.folder / side)
        self.runs += 1
        code = self.children.run([program, *arguments], self.log, RUN_LIMIT_S)
        if code == USAGE:
            self.leave_out(entry, side, self.last_line())
        elif code not in (0, RUN_FAILED):  # a failed run has a record
            raise Crashed(f"{side}: {program} {' '.join(arguments)}: exit code {code}, "
                          f"{self.last_line()}; see {self.log}")

    def leave_out(self, entry: Race, side: str, why: str) -> None:
        """Skips an entry that one side cannot run; the comparison shows it as missing."""
        self.unknown.add((side, entry.source))
        self.say(f"{side} cannot run {entry.source}: {why}")

    def last_line(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines()
        return lines[-1] if lines else "nothing said"
