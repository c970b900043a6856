# SPDX-License-Identifier: Apache-2.0
"""Races over processes in which one is stopped, and signals to the one that the user has started.

usage: stops_test.py REGATTA SCHEMA [unittest arguments]
Exits 77 (skipped) where mpirun or python3-jsonschema is not installed.
"""

import contextlib
import math
import os
import re
import shutil
import signal
import subprocess
import time
from typing import Any

from fault_support import (CELLS, EVERYBODY_IS_NEEDED, LONG, PLACED, THIN, VALIDATOR, Case, Fault,
                           Outcome, at_once, places_of, start, victim_of)
from proc_support import is_alive
from run_support import END_LIMIT_S, Run, path_to_wrapped_mpirun
from test_support import (LEFT_LIMIT_S, PARABOLA, REGATTA, environment_of_its_own, fresh_folder,
                          record_of, records_in, regatta, run_tests, soon)

STOP_S = 8
SILENCE_S = 5  # until a rank counts as lost
MOMENT_S = 2.5  # half of the silence that makes a rank lost
END_OF_LONG_S = 120
TWO_RANKS = ("--workload", "parabola", *CELLS["all_reduce"], "--workers", "2")
PARABOLA_OF_A_SECOND = (*TWO_RANKS, "--steps", "20000")
PARABOLA_HIT_AT_THE_START = (*TWO_RANKS, "--steps", "5000")
STEPS_OF_A_MOMENT = 10
STEPS_WITHOUT_A_LAUNCHER = 10


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


    def test_that_come_of_a_broken_pipe_end_no_rank(self) -> None:
        run = start("parameter_server", *LONG)
        run.await_training()
        run.send(signal.SIGPIPE, *run.ranks.values())
        time.sleep(MOMENT_S)
        self.assertIsNone(run.launcher.poll(), run.said())
        self.assertTrue(all(is_alive(pid) for pid in run.ranks.values()))
        run.launcher.terminate()
        run.launcher.wait(timeout=END_LIMIT_S)
        self.assertEqual(run.left(), [])

    def test_to_mpirun_fail_the_run_and_are_told(self) -> None:
        def end_by(number: int) -> Run:
            run = start("all_reduce", *LONG)
            run.await_training()
            run.send(number, run.mpirun)
            run.end()
            return run
        for run in at_once(end_by, (signal.SIGTERM, signal.SIGINT)):
            self.assert_failed(run, "^mpirun, which holds the ranks of this run, has ended them "
                                    "without a word after about .*a person or a program ended it")
            self.assertEqual((run.launcher.returncode, run.left()), (2, []))

    def test_that_are_ignored_by_nohup_end_no_run(self) -> None:
        run = Run(*PARABOLA_HIT_AT_THE_START, before=("nohup",))
        run.send(signal.SIGHUP, run.launcher.pid)
        self.assertEqual((run.end(END_OF_LONG_S)["failure"], run.left()), (None, []))


class BeforeJoining(Fault):
    STOPS_ITSELF = ("sh", "-c", "kill -STOP $$; exec \"$@\"", "sh")

    def test_a_rank_or_mpirun_that_is_stopped_fails_the_run(self) -> None:
        folder = fresh_folder()
        mpirun = folder / "mpirun"
        mpirun.write_text(f"#!/bin/sh\nkill -STOP $$\nexec {shutil.which('mpirun')} \"$@\"\n")
        mpirun.chmod(0o755)
        paths = (path_to_wrapped_mpirun(before=self.STOPS_ITSELF), f"{folder}:{os.environ['PATH']}")
        for seconds, done, record in at_once(self.run_with, paths):
            self.assertLess(seconds, SILENCE_S + END_LIMIT_S)
            self.assertEqual((done.returncode, record["status"]), (2, "failed"), done.stderr)
            self.assertRegex(record["failure"]["text"], r"rank [01] .* it or mpirun was stopped "
                             rf"for {SILENCE_S} s before it joined the run")

    def test_mpirun_that_is_stopped_while_ranks_open_mpi_fails_the_run(self) -> None:
        """MPI_Init needs mpirun; at some of these moments ranks wait in it."""
        def stop_after(delay_s: float) -> Run:
            run = Run(*PARABOLA_OF_A_SECOND)
            time.sleep(delay_s)
            run.send(signal.SIGSTOP, run.mpirun)
            return run
        for run in at_once(stop_after, (0.1, 0.3, 0.5)):
            failure = run.end(END_OF_LONG_S)["failure"]
            if failure is not None:
                self.assertRegex(failure["text"], r"it or mpirun was stopped for "
                                 rf"{SILENCE_S} s before it (joined the run|was ready)")
            self.assertEqual(run.left(), [])

    @staticmethod
    def run_with(path: str) -> tuple[float, subprocess.CompletedProcess[str], dict[str, Any]]:
        out = fresh_folder()
        began = time.monotonic()
        done = regatta("run", *PARABOLA, *CELLS["all_reduce"], "--workers", "2", "--out", str(out),
                       PATH=path)
        (record,) = records_in(out)
        return time.monotonic() - began, done, record


class ClearedUp(Fault):
    """The keeper cleans up, whichever other process is killed or stopped."""

    def test_when_mpirun_is_stopped_and_the_launcher_interrupted_or_killed(self) -> None:
        def end_by(number: int) -> tuple[int, Run]:
            run = start("all_reduce", *LONG)
            run.await_training()
            run.send(signal.SIGSTOP, run.mpirun)
            run.send(number, run.launcher.pid)
            soon(lambda: run.launcher.poll() is not None, END_LIMIT_S)
            return number, run
        for number, run in at_once(end_by, (signal.SIGINT, signal.SIGKILL)):
            with self.subTest(signal=number):
                self.assertEqual((run.launcher.returncode, run.left()), (-number, []))

    def test_when_the_launcher_is_killed_before_there_are_ranks(self) -> None:
        for delay_s in (0.0, 0.0, 0.003, 0.01, 0.03):  # after its first temporary file
            scratch = fresh_folder()
            with environment_of_its_own() as variables, open(os.devnull, "w") as nowhere:
                launcher = subprocess.Popen(
                    [REGATTA, "run", *PARABOLA_OF_A_SECOND, "--out", str(fresh_folder())],
                    stdout=nowhere, stderr=nowhere, env=variables | {"TMPDIR": str(scratch)})
                while not list(scratch.iterdir()) and launcher.poll() is None:
                    pass
                time.sleep(delay_s)
                launcher.kill()
                self.assertEqual(launcher.wait(), -signal.SIGKILL)
            self.assertTrue(soon(lambda: not list(scratch.iterdir()), LEFT_LIMIT_S), delay_s)

    def test_when_mpirun_is_killed_beside_a_rank_that_is_stopped(self) -> None:
        run = start("all_reduce", *LONG)
        run.await_training()
        run.send(signal.SIGSTOP, run.ranks[1])
        run.send(signal.SIGKILL, run.mpirun)
        self.assertEqual(run.end()["status"], "failed")
        self.assertEqual(run.left(), [])

    def test_when_the_keeper_itself_is_killed_or_stopped(self) -> None:
        def hit(number: int) -> Run:
            run = Run(*PARABOLA_HIT_AT_THE_START)
            run.send(number, run.keeper)
            return run
        for run in at_once(hit, (signal.SIGKILL, signal.SIGSTOP)):
            self.assertEqual((run.end(END_OF_LONG_S)["failure"], run.left()), (None, []))


class Stop(Fault):
    """A stop for longer than the silence: SIGSTOP, then SIGCONT."""

    def test_of_a_rank_fails_the_run(self) -> None:
        def stop(case: Case) -> Outcome:
            run = start(case.cell, *LONG)
            run.await_training()
            rank = places_of(case.cell).index(case.victim)
            run.send(signal.SIGSTOP, run.ranks[rank])
            soon(lambda: run.launcher.poll() is not None, 2 * END_LIMIT_S)
            return Outcome(case, run, run.launcher.returncode, 1, run.left())
        cases = [Case(cell, victim, "training") for cell in EVERYBODY_IS_NEEDED
                 for victim in (places_of(cell)[0], "replica1")]
        cases += [Case(cell, places_of(cell)[1], "training") for cell in PLACED]
        cases.append(Case("going on", "server0", "training"))
        for outcome in at_once(stop, cases):
            with self.subTest(case=outcome.case):
                who = victim_of(outcome.case, outcome.run)
                self.assert_failed(outcome.run, f"{who} was lost.*has said nothing for 5 s")
                self.assertEqual((outcome.exit_code, outcome.left), (2, []))

    def test_of_a_rank_for_a_moment_does_no_harm(self) -> None:
        def stop(case: Case) -> Outcome:
            run = start(case.cell, "--steps", str(STEPS_OF_A_MOMENT), "--straggler", "0:20,1:20")
            run.await_training()
            rank = run.ranks[places_of(case.cell).index(case.victim)]
            run.send(signal.SIGSTOP, rank)
            time.sleep(MOMENT_S)
            self.assertIsNone(run.launcher.poll(), run.said())
            run.send(signal.SIGCONT, rank)
            run.end(END_OF_LONG_S)
            return Outcome(case, run, run.launcher.returncode, 1, run.left())
        cases = (Case("all_reduce", "replica1", "training"),
                 Case("parameter_server", "server0", "training"),
                 Case("parameter_server", "replica1", "training"),
                 Case("going on", "replica1", "training"))
        for outcome in at_once(stop, cases):
            with self.subTest(case=outcome.case):
                record = self.assert_finished(outcome, STEPS_OF_A_MOMENT)
                self.assertEqual(record["lost_processes"], [])

    def test_for_long_ends_no_run_that_can_do_without_the_stopped(self) -> None:
        """Stops launcher and mpirun, which compute nothing, and workers that the run can lose:
        these are informed when they are continued, and end."""
        steps = {"all_reduce": STEPS_WITHOUT_A_LAUNCHER, **steps_that_outlast_a_stop()}

        def stop(case: Case) -> Outcome:
            run = start(case.cell, "--steps", str(steps[case.cell]), *sleepy_workers(case.cell))
            run.await_training()
            pids = {"launcher": run.launcher.pid, "mpirun": run.mpirun,
                    "replica1": run.ranks.get(2)}
            run.send(signal.SIGSTOP, pids[case.victim])
            time.sleep(STOP_S)
            if case.victim == "replica1":
                self.assertIsNone(run.launcher.poll(), run.said())
            with contextlib.suppress(ProcessLookupError):  # the run has ended without mpirun
                run.send(signal.SIGCONT, pids[case.victim])
            if case.victim == "replica1":
                self.await_farewell(run)
            run.end(END_OF_LONG_S)
            return Outcome(case, run, run.launcher.returncode, 1, run.left())
        cases = (Case("all_reduce", "launcher", "training"),
                 Case("all_reduce", "mpirun", "training"),
                 Case("going on", "replica1", "training"),
                 Case("backup worker", "replica1", "training"))
        for outcome in at_once(stop, cases):
            with self.subTest(case=outcome.case):
                record = self.assert_finished(outcome, steps[outcome.case.cell])
                if outcome.case.victim != "replica1":
                    self.assertEqual(record["lost_processes"], [])
                    continue
                (lost,) = record["lost_processes"]
                self.assertRegex(lost, r"^rank 2 \(replica1, .*has said nothing for 5 s")

    def await_farewell(self, run: Run) -> None:
        """Checks that the stopped worker is informed of its loss, and ends."""
        self.assertTrue(soon(lambda: not is_alive(run.ranks[2]), LEFT_LIMIT_S))
        (log,) = (run.folder / "ranks").rglob("rank2.log")  # written by mpirun
        words = re.compile(r"this rank ends: rank 2 .*said nothing for 5 s")
        self.assertTrue(soon(lambda: words.search(log.read_text()) is not None, 5),
                        log.read_text())

    def assert_finished(self, outcome: Outcome, steps: int) -> dict[str, Any]:
        """Checks for an outcome with one complete record and no leftovers."""
        (record,) = outcome.run.records()
        self.assertEqual([error.message for error in VALIDATOR.iter_errors(record)], [])
        self.assertIn(record["status"], ("missed", "reached"), record["failure"])
        self.assertEqual(record["evaluations"][-1]["examples"], steps * 32)
        self.assertEqual((outcome.exit_code, outcome.left), (0, []))
        self.assertEqual(outcome.run.errors.read_text(), "")
        return record


def sleepy_workers(cell: str) -> tuple[str, str]:
    workers = [place for place in places_of(cell) if place.startswith("replica")]
    return "--straggler", ",".join(f"{worker}:50" for worker in range(len(workers)))


def steps_that_outlast_a_stop() -> dict[str, int]:
    """Steps for runs that go on without one worker: for twice the duration of a stop, at this
    machine's pace in a few steps."""
    few = 3
    record = record_of(*THIN, *CELLS["going on"], "--steps", str(few), *sleepy_workers("going on"))
    step_s = record["training_ns"] * 1e-9 / few  # for two workers, each at a step at the same time
    steps = math.ceil(2 * STOP_S / step_s)
    return {"going on": math.ceil(steps / 2), "backup worker": steps}  # by one worker, or by two


if __name__ == "__main__":
    run_tests()
