# SPDX-License-Identifier: Apache-2.0
"""Races over processes in which one is stopped, and signals to the one that the user has started.

usage: stops_test.py REGATTA SCHEMA [unittest arguments]
Exits 77 (skipped) where mpirun or python3-jsonschema is not installed.
"""

import signal
import time

from fault_support import (CELLS, EVERYBODY_IS_NEEDED, LONG, PLACED, Case, Fault, Outcome, at_once,
                           places_of, start, victim_of)
from proc_support import is_alive
from run_support import END_LIMIT_S, Run
from test_support import run_tests, soon

MOMENT_S = 2.5
END_OF_LONG_S = 120
TWO_RANKS = ("--workload", "parabola", *CELLS["all_reduce"], "--workers", "2")
PARABOLA_HIT_AT_THE_START = (*TWO_RANKS, "--steps", "5000")


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


class Keeper(Fault):
    def test_that_is_killed_or_stopped_ends_no_run(self) -> None:
        def hit(number: int) -> Run:
            run = Run(*PARABOLA_HIT_AT_THE_START)
            run.send(number, run.keeper)
            return run
        for run in at_once(hit, (signal.SIGKILL, signal.SIGSTOP)):
            self.assertEqual((run.end(END_OF_LONG_S)["failure"], run.left()), (None, []))


class Stop(Fault):
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


if __name__ == "__main__":
    run_tests()
