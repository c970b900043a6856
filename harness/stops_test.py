# SPDX-License-Identifier: Apache-2.0
"""Races over processes in which one is stopped, and signals to the one that the user started.

usage: stops_test.py REGATTA SCHEMA [unittest arguments]
Exits 77 (skipped) where mpirun or python3-jsonschema is not installed.
"""

import contextlib
import re
import signal
import time

from fault_support import CELLS, LONG, Case, Fault, Outcome, at_once, places_of, start, victim_of
from test_support import END_LIMIT_S, LEFT_LIMIT_S, Run, is_alive, run_tests, soon

STOP_S = 15


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
        run = start("all_reduce", "--steps", "60", "--straggler", "0:5,1:5")
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
        self.assertTrue(soon(lambda: not is_alive(run.ranks[2]), LEFT_LIMIT_S))
        self.assertIsNone(run.launcher.poll())
        (log,) = (run.folder / "ranks").rglob("rank2.log")  # which its words reach by mpirun
        words = re.compile(r"this rank ends: rank 2 .*said nothing for 5 s")
        self.assertTrue(soon(lambda: words.search(log.read_text()) is not None, 5),
                        log.read_text())
        run.send(signal.SIGTERM, run.launcher.pid)
        self.assertEqual(run.left(), [])


if __name__ == "__main__":
    run_tests()
