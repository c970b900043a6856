# SPDX-License-Identifier: Apache-2.0
"""Races over processes in which one is killed or stopped: what is said, what is left.

usage: faults_test.py REGATTA SCHEMA [unittest arguments]
Exits 77 (skipped) where mpirun or python3-jsonschema is not installed.

Moments are found from outside: the ranks' processes are there (start), the first evaluation is
printed (training), the launcher computes again (evaluation); at the end a rank that was stopped in
the last evaluation keeps the run from ending before the victim dies.
"""

import contextlib
import re
import signal
import time
import unittest
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

from test_support import (END_LIMIT_S, START_LIMIT_S, Run, cpu_seconds, fresh_folder, is_alive,
                          path_to_wrapped_mpirun, record_validator, records_in, regatta, run_tests,
                          skip_without_mpirun, soon)

skip_without_mpirun()
VALIDATOR = record_validator()

AT_A_TIME = 4  # runs that mostly wait
THIN = ("--workload", "resnet9_thin", "--dataset", "shapes", "--global-batch", "32", "--workers",
        "2")
LONG = ("--steps", "100000", "--straggler", "0:20,1:20")  # a signal meets a step of some 0.4 s
SHORT = ("--steps", "8")
WORKERS = ("replica0", "replica1")
CELLS: dict[str, tuple[str, ...]] = {
    "all_reduce": ("--strategy", "all_reduce", "--processes", "2"),
    "parameter_server": ("--strategy", "parameter_server"),
    "parameter_server_async": ("--strategy", "parameter_server_async"),
    "going on": ("--strategy", "parameter_server_async", "--continue-on-loss"),
}
STOP_S = 15

# What proves the moment: lines printed before the death, one an evaluation, and the record's
# evaluations and steps.
LINES_BEFORE = {"start": 0, "training": 1, "evaluation": 1, "end": 2}
EVALUATIONS = {"start": (0,), "training": (1,), "evaluation": (1, 2), "end": (2,)}
STEPS = {"start": (0,), "training": range(32), "evaluation": (8,), "end": (8,)}
KILLED = r"exited on signal 9 \(Killed\)"


def places_of(cell: str) -> tuple[str, ...]:
    """By rank."""
    return WORKERS if cell == "all_reduce" else ("server0", *WORKERS)


def start(cell: str, *arguments: str) -> Run:
    return Run(*THIN, *CELLS[cell], *arguments, ranks=len(places_of(cell)))


class Case(NamedTuple):
    """Who is killed in which run and when."""

    cell: str
    victim: str  # launcher, mpirun, or a rank's place
    moment: str


def victim_of(case: Case, run: Run) -> str:
    """As a message names it; a rank that has only just started may be known by its number alone."""
    if case.victim == "mpirun":
        return "mpirun, which holds the ranks"
    rank = places_of(case.cell).index(case.victim)
    process = rf"(, process {run.ranks[rank]} on \S+)" + "?" * (case.moment == "start")
    return rf"rank {rank} \({case.victim}(, server0\.replica\d)*{process}\)"


@dataclass
class Outcome:
    case: Case
    run: Run
    exit_code: int | None  # None: it had not ended in time
    lines_before: int  # that were printed before the death
    left: list[str]


def await_evaluation(run: Run) -> None:
    """The one after the first steps: the launcher, which has waited for ranks, computes."""
    run.await_line("step 0 ")
    waiting = cpu_seconds(run.launcher.pid)
    assert soon(lambda: cpu_seconds(run.launcher.pid) > waiting + 0.05, START_LIMIT_S)


def kill(case: Case) -> Outcome:
    run = start(case.cell, *(SHORT if case.moment in ("evaluation", "end") else LONG))
    places = places_of(case.cell)
    victims = {"launcher": run.launcher.pid, "mpirun": run.mpirun,
               **{place: run.ranks[rank] for rank, place in enumerate(places)}}
    holder = victims[case.victim if case.victim in places else places[-1]]
    if case.moment == "training":
        run.await_training()
    if case.moment in ("evaluation", "end"):
        await_evaluation(run)
    if case.moment == "end":
        run.send(signal.SIGSTOP, holder)
        run.await_line("step 8 ")
    lines = len(run.lines)
    run.send(signal.SIGKILL, victims[case.victim])
    if holder != victims[case.victim] and case.moment == "end":
        run.send(signal.SIGCONT, holder)
    soon(lambda: run.launcher.poll() is not None, END_LIMIT_S)
    return Outcome(case, run, run.launcher.returncode, lines, run.left())


def at_once(play: Callable[[Any], Any], cases: Iterable[Any]) -> Iterable[Any]:
    """What comes of each case."""
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        yield from pool.map(play, cases)


class Fault(unittest.TestCase):
    def assert_failed(self, run: Run, text: str) -> dict[str, Any]:
        """A failed row, alone and whole, and nothing on stderr."""
        (record,) = run.records()
        self.assertEqual([error.message for error in VALIDATOR.iter_errors(record)], [])
        self.assertEqual((record["status"], record["failure"]["kind"]), ("failed", "peer_lost"))
        self.assertRegex(record["failure"]["text"], text)
        self.assertIn(record["failure"]["text"], run.lines[-1])
        self.assertEqual(run.errors.read_text(), "")
        return record


class Kill9(Fault):
    def check_all(self, moment: str) -> None:
        cases = [Case(cell, victim, moment) for cell in CELLS if cell != "going on"
                 for victim in ("launcher", "mpirun", places_of(cell)[0], "replica1")]
        for outcome in at_once(kill, cases):
            with self.subTest(case=outcome.case):
                self.check(outcome)

    def check(self, outcome: Outcome) -> None:
        case, run = outcome.case, outcome.run
        self.assertEqual(outcome.left, [])
        self.assertEqual(outcome.lines_before, LINES_BEFORE[case.moment])
        if case.victim == "launcher":
            self.assertEqual((outcome.exit_code, run.records()), (-signal.SIGKILL, []))
            return
        self.assertEqual(outcome.exit_code, 2)
        record = self.assert_failed(run, f"{victim_of(case, run)}.*{KILLED}.*; .*memory ran out")
        steps = re.search(r"after about (\d+) steps", record["failure"]["text"])
        self.assertIsNotNone(steps, record["failure"]["text"])
        self.assertIn(int(steps[1]), STEPS[case.moment])
        self.assertIn(len(record["evaluations"]), EVALUATIONS[case.moment])

    def test_at_the_start_ends_the_run(self) -> None:
        self.check_all("start")

    def test_in_a_step_ends_the_run(self) -> None:
        self.check_all("training")

    def test_in_an_evaluation_ends_the_run(self) -> None:
        self.check_all("evaluation")

    def test_during_the_last_report_ends_the_run(self) -> None:
        self.check_all("end")

    def test_is_noticed_before_a_long_evaluation_has_ended(self) -> None:
        run = Run("--workload", "resnet9", "--dataset", "shapes", "--global-batch", "64",
                  "--workers", "2", *CELLS["all_reduce"], "--steps", "1")
        await_evaluation(run)
        run.send(signal.SIGKILL, run.ranks[1])
        run.end()
        self.assert_failed(run, r"^in the evaluation after 1 steps of training, rank 1 .*was lost")
        self.assertEqual(run.left(), [])

    def test_of_a_worker_is_survived_by_a_run_that_may_go_on(self) -> None:
        cases = [Case("going on", "replica1", moment) for moment in ("evaluation", "end")]
        for outcome in at_once(kill, cases):
            with self.subTest(case=outcome.case):
                (record,) = outcome.run.records()
                self.assert_survived(record, steps=8)
                self.assertEqual((outcome.exit_code, outcome.left), (0, []))

    def assert_survived(self, record: dict[str, Any], steps: int) -> None:
        self.assertIn(record["status"], ("missed", "reached"), record["failure"])
        self.assertEqual(record["evaluations"][-1]["examples"], steps * 32)
        self.assertNotIn("replica1", [worker["place"] for worker in record["workers"]])
        (lost,) = record["lost_processes"]
        self.assertRegex(lost, r"^rank \d \(replica1, .*was lost")

    def test_of_a_worker_in_a_step_is_survived_by_a_run_that_may_go_on(self) -> None:
        for servers in (1, 2):
            run = Run(*THIN, *CELLS["going on"], "--servers", str(servers), "--steps", "60",
                      ranks=servers + 2)
            run.await_training()
            run.send(signal.SIGKILL, run.ranks[servers + 1])
            with self.subTest(servers=servers):
                self.assert_survived(run.end(limit_s=60), steps=60)
                self.assertEqual(run.left(), [])

    def test_of_a_server_or_before_all_are_ready_ends_a_run_that_may_go_on(self) -> None:
        cases = (Case("going on", "server0", "training"), Case("going on", "replica1", "start"))
        for outcome in at_once(kill, cases):
            with self.subTest(case=outcome.case):
                who = victim_of(outcome.case, outcome.run)
                self.assert_failed(outcome.run, f"{who} was lost.*its connection broke")
                self.assertEqual((outcome.exit_code, outcome.left), (2, []))

    def test_before_a_rank_joins_ends_the_run(self) -> None:
        path = path_to_wrapped_mpirun(before=("sh", "-c", "kill -9 $$"))
        rank = r"rank 1 \(replica0\)"
        for cell, words in (("parameter_server", f"who had not joined: {rank}"),
                            ("going on", f"{rank}.*ended before it joined")):
            folder = fresh_folder()
            begin = time.monotonic()
            done = regatta("run", *THIN, *CELLS[cell], "--out", str(folder), PATH=path)
            with self.subTest(cell=cell):
                self.assertLess(time.monotonic() - begin, END_LIMIT_S)
                self.assertEqual((done.returncode, done.stderr), (2, ""))
                (record,) = records_in(folder)
                self.assertRegex(record["failure"]["text"], words)


class OtherSignals(Fault):
    def test_to_the_launcher_end_all_ranks(self) -> None:
        def end_by(number: int) -> tuple[int, Run]:
            run = start("all_reduce", *LONG)
            run.await_training()
            run.send(number, run.launcher.pid)
            soon(lambda: run.launcher.poll() is not None, END_LIMIT_S)
            return number, run
        for number, run in at_once(end_by, (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)):
            with self.subTest(signal=number):
                self.assertEqual((run.launcher.returncode, run.left()), (-number, []))


class Stop(Fault):
    """For 15 s: SIGSTOP, then SIGCONT."""

    def test_of_a_rank_fails_the_run(self) -> None:
        def stop(case: Case) -> Outcome:
            run = start(case.cell, *LONG)
            run.await_training()
            rank = places_of(case.cell).index(case.victim)
            run.send(signal.SIGSTOP, run.ranks[rank])
            soon(lambda: run.launcher.poll() is not None, 2 * END_LIMIT_S)
            return Outcome(case, run, run.launcher.returncode, 1, run.left())
        cases = [Case(cell, victim, "training") for cell in CELLS
                 for victim in (places_of(cell)[0], "replica1")
                 if (cell, victim) != ("going on", "replica1")]
        for outcome in at_once(stop, cases):
            with self.subTest(case=outcome.case):
                who = victim_of(outcome.case, outcome.run)
                self.assert_failed(outcome.run, f"{who} was lost.*has said nothing for 5 s")
                self.assertEqual((outcome.exit_code, outcome.left), (2, []))

    def test_of_a_rank_for_a_moment_does_no_harm(self) -> None:
        run = start("all_reduce", "--steps", "60")
        run.await_training()
        run.send(signal.SIGSTOP, run.ranks[1])
        time.sleep(2.5)
        run.send(signal.SIGCONT, run.ranks[1])
        self.assertIn(run.end(limit_s=60)["status"], ("missed", "reached"))
        self.assertEqual(run.left(), [])

    def test_of_launcher_or_mpirun_does_no_harm(self) -> None:
        def stop(victim: str) -> tuple[str, Run]:
            run = start("all_reduce", "--steps", "24", "--straggler", "0:20,1:20")
            run.await_training()
            pid = run.launcher.pid if victim == "launcher" else run.mpirun
            run.send(signal.SIGSTOP, pid)
            time.sleep(STOP_S)
            with contextlib.suppress(ProcessLookupError):  # it has ended without mpirun
                run.send(signal.SIGCONT, pid)
            return victim, run
        for victim, run in at_once(stop, ("launcher", "mpirun")):
            with self.subTest(victim=victim):
                self.assertIn(run.end(limit_s=60)["status"], ("missed", "reached"))
                self.assertEqual((run.launcher.returncode, run.left()), (0, []))

    def test_is_told_to_a_worker_that_the_run_goes_on_without(self) -> None:
        run = start("going on", *LONG)
        run.await_training()
        run.send(signal.SIGSTOP, run.ranks[2])
        time.sleep(STOP_S)
        run.send(signal.SIGCONT, run.ranks[2])
        self.assertTrue(soon(lambda: not is_alive(run.ranks[2]), 5))
        self.assertIsNone(run.launcher.poll())
        (log,) = (run.folder / "ranks").rglob("rank2.log")
        self.assertRegex(log.read_text(), r"this rank ends: rank 2 .*said nothing for 5 s")
        run.send(signal.SIGTERM, run.launcher.pid)
        self.assertEqual(run.left(), [])


if __name__ == "__main__":
    run_tests()
