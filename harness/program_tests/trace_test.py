#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The files of --trace: timelines of all processes of a run in one file, which Perfetto reads
without loss.

usage: trace_test.py REGATTA SCHEMA [unittest arguments]

Perfetto's rules are those of its importer (json_trace_tokenizer.cc, slice_tracker.cc): a slice has
a time and a duration, which become whole nanoseconds; slices of one thread nest or are disjoint,
and one that begins inside another and ends after it is dropped.
"""

import json
import math
import shutil
import unittest
from pathlib import Path
from typing import Any, NamedTuple

from test_support import (PARABOLA, fresh_folder, record_of, regatta, run_tests,
                          skip_without_mpirun)

skip_without_mpirun()

STRATEGIES = ("all_reduce", "in_graph", "async_shared", "parameter_server")


class Slice(NamedTuple):
    begin: int  # nanoseconds
    end: int
    name: str
    category: str
    step: int


class Timeline:
    """A trace as Perfetto reads it."""

    def __init__(self, file: Path) -> None:
        self.slices: dict[tuple[int, int], list[Slice]] = {}  # by process and thread
        self.processes: dict[int, str] = {}
        self.threads: dict[tuple[int, int], str] = {}
        for event in json.loads(file.read_text())["traceEvents"]:
            self.add(event)

    def add(self, event: dict[str, Any]) -> None:
        thread = (event["pid"], event["tid"])
        if event["ph"] == "X":
            begin, duration = nanoseconds(event["ts"]), nanoseconds(event["dur"])
            self.slices.setdefault(thread, []).append(Slice(
                begin, begin + duration, event["name"], event["cat"], event["args"]["step"]))
        elif event["name"] == "process_name":
            if thread[0] in self.processes:
                raise AssertionError(f"process {thread[0]} has two names")
            self.processes[thread[0]] = event["args"]["name"]
        elif event["name"] == "thread_name":
            if any(tid == thread[1] for _, tid in self.threads):
                raise AssertionError(f"two threads have the number {thread[1]}")
            self.threads[thread] = event["args"]["name"]
        elif event["ph"] != "M":
            raise AssertionError(f"unknown event: {event}")

    def all(self) -> list[Slice]:
        return [each for slices in self.slices.values() for each in slices]

    def dropped(self) -> list[str]:
        """Returns the slices that Perfetto would drop because they overlap."""
        found = []
        for thread, slices in self.slices.items():
            open_ends: list[int] = []
            for each in sorted(slices, key=lambda one: (one.begin, -one.end)):
                while open_ends and open_ends[-1] <= each.begin:
                    open_ends.pop()
                if open_ends and each.end > open_ends[-1]:
                    found.append(f"{self.threads.get(thread)}: {each} begins before "
                                 f"{open_ends[-1]}")
                else:
                    open_ends.append(each.end)
        return found


def nanoseconds(microseconds: float) -> int:
    """Converts a number with at most three decimals."""
    exact = microseconds * 1000
    if not math.isclose(exact, round(exact), abs_tol=1e-3):
        raise AssertionError(f"{microseconds} us is no whole number of nanoseconds")
    return round(exact)


class Trace(unittest.TestCase):
    def traced(self, *arguments: str) -> tuple[Timeline, dict[str, Any]]:
        folder = fresh_folder()
        record = record_of(*PARABOLA, *arguments, "--trace", str(folder / "trace.json"))
        self.assertEqual([path.name for path in folder.iterdir()], ["trace.json"])
        return Timeline(folder / "trace.json"), record

    def assert_taken_whole(self, timeline: Timeline, ranks: int) -> None:
        self.assertEqual(timeline.dropped(), [])
        self.assertGreaterEqual(min(each.end - each.begin for each in timeline.all()), 0)
        self.assertEqual(min(each.begin for each in timeline.all()), 0)
        self.assertEqual(set(timeline.processes), set(range(ranks)))
        self.assertEqual(set(timeline.threads), set(timeline.slices))
        for rank, name in timeline.processes.items():
            self.assertRegex(name, rf"^rank {rank}: \w+")

    def test_of_one_process_is_taken_whole(self) -> None:
        for strategy in STRATEGIES:
            for more in ((), ("--straggler", "1:2")):
                with self.subTest(strategy=strategy, more=more):
                    timeline, record = self.traced("--strategy", strategy, "--workers", "2",
                                                   "--processes", "1", *more)
                    self.assert_taken_whole(timeline, 1)
                    places = [worker["place"] for worker in record["workers"]]
                    self.assertLessEqual(set(places), set(timeline.threads.values()))
                    for slices in timeline.slices.values():
                        steps = {each.step for each in slices}
                        self.assertEqual(steps, set(range(len(steps))))
                        self.assertTrue(len(steps) == 200 or strategy == "async_shared", steps)

    def test_shows_computation_and_communication(self) -> None:
        for strategy in ("all_reduce", "in_graph"):
            timeline, _ = self.traced("--strategy", strategy, "--workers", "2")
            self.assertLessEqual({"compute", "communication"},
                                 {each.category for each in timeline.all()}, strategy)

    def test_of_several_processes_is_one_file_by_one_clock(self) -> None:
        timeline, _ = self.traced("--strategy", "all_reduce", "--workers", "2", "--processes", "2")
        self.assert_taken_whole(timeline, 2)
        sums: dict[tuple[int, str], dict[int, Slice]] = {}  # by step and name, then by rank
        for (rank, _), slices in timeline.slices.items():
            self.assertEqual({each.step for each in slices}, set(range(200)))
            for each in slices:
                if each.name.startswith("all_reduce"):
                    sums.setdefault((each.step, each.name), {})[rank] = each
        self.assertGreaterEqual(len(sums), 200)
        self.assertTrue(all(name.endswith(" between replicas") for _, name in sums))
        for key, of_rank in sums.items():  # no rank has a sum before the other has given its part
            self.assertEqual(set(of_rank), {0, 1}, key)
            self.assertLess(max(each.begin for each in of_rank.values()),
                            min(each.end for each in of_rank.values()), key)

    def test_of_servers_has_them_as_processes(self) -> None:
        timeline, _ = self.traced("--strategy", "parameter_server", "--workers", "2")
        self.assert_taken_whole(timeline, 3)
        self.assertIn("server", timeline.processes[0])
        pulls = {rank: min(each.end for thread, slices in timeline.slices.items()
                           for each in slices if thread[0] == rank and each.step == 100)
                 for rank in range(3)}
        last = {rank: min(each.begin for thread, slices in timeline.slices.items()
                          for each in slices if thread[0] == rank and each.step == 102)
                for rank in range(3)}
        # A worker two steps ahead of another has pulled parameters without that one's latest push.
        self.assertLess(max(pulls.values()), min(last.values()))

    def test_of_a_failed_run_has_what_was_done(self) -> None:
        folder = fresh_folder()
        for processes in (1, 2):
            file = folder / f"{processes}.json"
            done = regatta("run", *PARABOLA, "--strategy", "all_reduce", "--workers", "2",
                           "--processes", str(processes), "--rate-scale", "1e30", "--trace",
                           str(file), "--out", str(folder))
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assert_taken_whole(Timeline(file), processes)

    def test_is_taken_whole_by_trace_processor(self) -> None:
        try:
            from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig
        except ImportError:
            self.skipTest("perfetto (PyPI) is not installed")
        shell = next((found for name in ("trace_processor_shell", "trace_processor")
                      if (found := shutil.which(name))), None)
        if shell is None:
            self.skipTest("perfetto's trace_processor_shell is not in PATH")
        folder = fresh_folder()
        file = folder / "trace.json"
        record_of(*PARABOLA, "--strategy", "all_reduce", "--workers", "2", "--processes", "2",
                  "--trace", str(file))
        with TraceProcessor(trace=str(file),
                            config=TraceProcessorConfig(bin_path=shell)) as processor:
            errors = [f"{row.name}: {row.value}" for row in processor.query(
                "select name, value from stats where severity = 'error' and value > 0")]
            self.assertEqual(errors, [])
            (row,) = processor.query("select count(*) as slices from slice")
            self.assertEqual(row.slices, len(Timeline(file).all()))


if __name__ == "__main__":
    run_tests()
