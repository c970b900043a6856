# SPDX-License-Identifier: Apache-2.0
"""Shared by tests of races in which a rank is killed or stopped: the races, the ranks that can be
hit, and the checks of a failed row.
"""

import unittest
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

from run_support import Run
from test_support import record_validator, skip_without_mpirun

skip_without_mpirun()
VALIDATOR = record_validator()

AT_A_TIME = 6  # runs at a time; they mostly wait
THIN = ("--workload", "resnet9_thin", "--dataset", "shapes", "--global-batch", "32", "--workers",
        "2")
LONG = ("--steps", "100000", "--straggler", "0:20,1:20")  # a signal meets a step of some 0.4 s
WORKERS = ("replica0", "replica1")
CELLS: dict[str, tuple[str, ...]] = {
    "all_reduce": ("--strategy", "all_reduce", "--processes", "2"),
    "in_graph": ("--strategy", "in_graph", "--processes", "2"),
    "stages": ("--strategy", "model_parallel", "--processes", "2"),
    "parameter_server": ("--strategy", "parameter_server"),
    "two servers": ("--strategy", "parameter_server", "--servers", "2"),
    "parameter_server_async": ("--strategy", "parameter_server_async"),
    "going on": ("--strategy", "parameter_server_async", "--continue-on-loss"),
    "backup worker": ("--strategy", "parameter_server", "--backup-workers", "1",
                      "--continue-on-loss"),
}
PLACED = ("in_graph", "stages")  # values travel by send and receive
EVERYBODY_IS_NEEDED = ("all_reduce", "parameter_server", "parameter_server_async")


def places_of(cell: str) -> tuple[str, ...]:
    """The place of each rank."""
    if cell == "stages":
        return ("replica0", "replica0.stage1")
    servers = {"all_reduce": (), "in_graph": (),
               "two servers": ("server0", "server1")}.get(cell, ("server0",))
    return servers + WORKERS + ("replica2",) * (cell == "backup worker")


def start(cell: str, *arguments: str) -> Run:
    return Run(*THIN, *CELLS[cell], *arguments, ranks=len(places_of(cell)))


class Case(NamedTuple):
    """The victim, run and moment of a kill."""

    cell: str
    victim: str  # launcher, mpirun, or a rank's place
    moment: str


def victim_of(case: Case, run: Run) -> str:
    """The victim's name in messages; a rank that has only just started may be known by number
    only."""
    if case.victim == "mpirun":
        return "mpirun, which holds the ranks"
    rank = places_of(case.cell).index(case.victim)
    process = rf"(, process {run.ranks[rank]} on \S+)" + "?" * (case.moment == "start")
    return rf"rank {rank} \({case.victim}(, server\d\.replica\d)*{process}\)"


@dataclass
class Outcome:
    case: Case
    run: Run
    exit_code: int | None  # None: not ended in time
    lines_before: int  # printed before the death
    left: list[str]


def at_once(play: Callable[[Any], Any], cases: Iterable[Any]) -> Iterable[Any]:
    """Runs all cases, several at a time, and yields the outcomes in order."""
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        yield from pool.map(play, cases)


class Fault(unittest.TestCase):
    def assert_failed(self, run: Run, text: str) -> dict[str, Any]:
        """Checks for one complete record, a failed row, and for an empty stderr."""
        (record,) = run.records()
        self.assertEqual([error.message for error in VALIDATOR.iter_errors(record)], [])
        self.assertEqual((record["status"], record["failure"]["kind"]), ("failed", "peer_lost"))
        self.assertRegex(record["failure"]["text"], text)
        self.assertIn(record["failure"]["text"], run.lines[-1])
        self.assertEqual(run.errors.read_text(), "")
        return record
