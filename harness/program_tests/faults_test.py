# SPDX-License-Identifier: Apache-2.0
"""Races over processes in which one is killed: the messages, and leftovers.

usage: faults_test.py REGATTA SCHEMA [unittest arguments]
Exits 77 (skipped) where mpirun or python3-jsonschema is not installed.

Moments are detected from outside: the ranks' processes exist (start), the first evaluation is
printed (training), the launcher computes again (evaluation). For the moment `end` a rank is stopped
in the last evaluation, so that the run cannot end before the victim dies.
"""

import contextlib
import re
import signal
import time
from typing import Any

from fault_support import (CELLS, EVERYBODY_IS_NEEDED, LONG, PLACED, THIN, Case, Fault, Outcome,
                           at_once, places_of, start, victim_of)
from proc_support import cpu_seconds
from run_support import END_LIMIT_S, START_LIMIT_S, Run, path_to_wrapped_mpirun
from test_support import fresh_folder, records_in, regatta, run_tests, soon

# One thread evaluates, and stragglers sleep, so that each phase is long enough to be hit.
SHORT_STEPS = 4
SHORT = ("--steps", str(SHORT_STEPS), "--cores", "1", "--straggler", "0:20,1:20")
SLEEPY_STEPS = 20
SLEEPY = ("--steps", str(SLEEPY_STEPS), "--straggler", "0:15,1:15")

# Evidence of the moment: the lines printed before the death, one per evaluation, and the record's
# evaluations and steps.
LINES_BEFORE = {"start": 0, "training": 1, "evaluation": 1, "end": 2}
EVALUATIONS = {"start": (0,), "training": (1,), "evaluation": (1, 2), "end": (2,)}
STEPS = {"start": (0,), "training": range(32), "evaluation": (SHORT_STEPS,),
         "end": (SHORT_STEPS,)}
NOTICED_S = 5  # to notice that mpirun is gone, on a loaded machine
KILLED = r"exited on signal 9 \(Killed\)"
# A rank's early death, as first seen: mpirun's report, a broken connection or the rank's absence.
NOTICED = rf"({KILLED}|its connection broke|ended before it joined)"


def await_evaluation(run: Run) -> None:
    """Waits for the evaluation after the first steps: the idle launcher computes again."""
    run.await_line("step 0 ")
    waiting = cpu_seconds(run.launcher.pid)
    assert soon(lambda: cpu_seconds(run.launcher.pid) > waiting + 0.05, START_LIMIT_S)


def hold_in_the_last_evaluation(run: Run, rank: int) -> None:
    """Stops a rank until the last evaluation is printed. It runs for half a second every three:
    evaluating may take a loaded machine longer than a rank may be silent.
    """
    line = f"step {SHORT_STEPS} "
    run.send(signal.SIGSTOP, rank)
    for _ in range(20):
        if soon(lambda: any(line in each for each in run.lines), 3):
            return
        run.send(signal.SIGCONT, rank)
        time.sleep(0.5)
        run.send(signal.SIGSTOP, rank)
    run.await_line(line)


def kill(case: Case) -> Outcome:
    """Kills; tries again if, on a loaded machine, the run ended before it could be stopped."""
    for _ in range(4):
        with contextlib.suppress(ProcessLookupError):
            return kill_once(case)
    return kill_once(case)


def kill_once(case: Case) -> Outcome:
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
        hold_in_the_last_evaluation(run, holder)
    lines = len(run.lines)
    run.send(signal.SIGKILL, victims[case.victim])
    goes_on = "--continue-on-loss" in CELLS[case.cell]  # where mpirun reports no death
    limit_s = END_LIMIT_S * (2 if goes_on else 1)
    if holder != victims[case.victim] and case.moment == "end":
        if case.victim == "mpirun":  # else the last report may come first
            soon(lambda: run.launcher.poll() is not None, NOTICED_S)
        with contextlib.suppress(ProcessLookupError):  # mpirun may have ended it
            run.send(signal.SIGCONT, holder)
    soon(lambda: run.launcher.poll() is not None, limit_s)
    return Outcome(case, run, run.launcher.returncode, lines, run.left())


def kill_before_it_begins(case: Case) -> Outcome:
    """Kills; tries again at the start if, on a loaded machine, the run had already begun."""
    for _ in range(5):
        outcome = kill(case)
        if case.moment != "start" or outcome.exit_code is not None:
            break
        outcome.run.launcher.kill()
        outcome.run.launcher.wait()
    return outcome


def said_of(case: Case, run: Run) -> str:
    who = victim_of(case, run)
    text = f"{who}.*{KILLED}.*; .*memory ran out"
    if case.moment != "start" or case.victim == "mpirun":
        return text
    # mpirun ends all ranks silently if one ends before mpirun has set up its own side of it.
    return f"{text}|{who}.*{NOTICED}|who had not joined: .*{who}"


class Kill9(Fault):
    def check(self, moment: str, *more: Case) -> None:
        """Kills each victim at one moment per cell, so that three cells cover three moments."""
        cells = len(EVERYBODY_IS_NEEDED)
        first = list(LINES_BEFORE).index(moment)
        cases = [Case(EVERYBODY_IS_NEEDED[(first + turn) % cells], victim, moment)
                 for turn, victim in enumerate(("launcher", "mpirun", "", "replica1"))]
        cases = [case._replace(victim=case.victim or places_of(case.cell)[0]) for case in cases]
        for outcome in at_once(kill, [*cases, *more]):
            with self.subTest(case=outcome.case):
                self.check_outcome(outcome)

    def check_outcome(self, outcome: Outcome) -> None:
        case, run = outcome.case, outcome.run
        self.assertEqual(outcome.left, [])
        self.assertEqual(outcome.lines_before, LINES_BEFORE[case.moment])
        if case.victim == "launcher":
            self.assertEqual((outcome.exit_code, run.records()), (-signal.SIGKILL, []))
            return
        self.assertEqual(outcome.exit_code, 2)
        record = self.assert_failed(run, said_of(case, run))
        steps = re.search(r"after about (\d+) steps", record["failure"]["text"])
        if case.moment != "start":
            self.assertIsNotNone(steps, record["failure"]["text"])
        if steps is not None:
            self.assertIn(int(steps[1]), STEPS[case.moment])
        self.assertIn(len(record["evaluations"]), EVALUATIONS[case.moment])
        if case.moment == "training" and case.victim != "mpirun":
            self.assert_shows_the_end_of(places_of(case.cell).index(case.victim), run)

    def assert_shows_the_end_of(self, rank: int, run: Run) -> None:
        """Checks that the rank's only line is shown, and no other rank's."""
        (file,) = (run.folder / "ranks").rglob(f"rank{rank}.log")
        shown = [line for line in run.lines if line.startswith("rank ")]
        self.assertEqual(shown, [f"rank {rank}, {file}: {line}\n"
                                 for line in file.read_text().splitlines()])
        self.assertRegex(shown[0], f"regatta: rank {rank} of ")

    def test_at_the_start_ends_the_run(self) -> None:
        self.check("start")

    def test_in_a_step_ends_the_run(self) -> None:
        self.check("training", Case("two servers", "server1", "training"),
                       *(Case(cell, victim, "training") for cell in PLACED
                         for victim in places_of(cell)))

    def test_in_an_evaluation_ends_the_run(self) -> None:
        self.check("evaluation")

    def test_during_the_last_report_ends_the_run(self) -> None:
        self.check("end")

    def test_is_noticed_before_a_long_evaluation_has_ended(self) -> None:
        run = Run("--workload", "resnet9", "--dataset", "shapes", "--global-batch", "64",
                  "--workers", "2", *CELLS["all_reduce"], "--steps", "1")
        run.await_line("step 0 ", 120)
        await_evaluation(run)
        run.send(signal.SIGKILL, run.ranks[1])
        run.end(limit_s=30)  # the evaluator checks for losses once per batch
        self.assert_failed(run, r"^in the evaluation after 1 steps of training, rank 1 .*was lost")
        self.assertEqual(run.left(), [])

    def test_of_a_worker_is_survived_by_a_run_that_may_go_on(self) -> None:
        cases = [Case("going on", "replica1", "evaluation"), Case("going on", "replica1", "end"),
                 Case("backup worker", "replica1", "end")]
        for outcome in at_once(kill, cases):
            with self.subTest(case=outcome.case):
                (record,) = outcome.run.records()
                self.assert_survived(record, steps=SHORT_STEPS)
                self.assertEqual((outcome.exit_code, outcome.left), (0, []))

    def assert_survived(self, record: dict[str, Any], steps: int) -> None:
        self.assertIn(record["status"], ("missed", "reached"), record["failure"])
        self.assertEqual(record["evaluations"][-1]["examples"], steps * 32)
        self.assertNotIn("replica1", [worker["place"] for worker in record["workers"]])
        (lost,) = record["lost_processes"]
        self.assertRegex(lost, r"^rank \d \(replica1, .*was lost")

    def test_of_a_worker_in_a_step_is_survived_by_a_run_that_may_go_on(self) -> None:
        def lose_one(cell: str, servers: int, workers: int) -> Run:
            run = Run(*THIN, *CELLS[cell], "--servers", str(servers), *SLEEPY,
                      ranks=servers + workers)
            run.await_training()
            run.send(signal.SIGKILL, run.ranks[servers + 1])
            run.end(limit_s=60)
            return run
        for run in at_once(lambda case: lose_one(*case),
                           (("going on", 2, 2), ("backup worker", 1, 3))):
            (record,) = run.records()
            with self.subTest(command=record["command"]):
                self.assert_survived(record, steps=SLEEPY_STEPS)
                self.assertEqual(run.left(), [])

    def test_of_a_server_or_before_all_are_ready_ends_a_run_that_may_go_on(self) -> None:
        cases = (Case("going on", "server0", "training"), Case("going on", "replica1", "start"),
                 Case("backup worker", "replica1", "start"))
        for outcome in at_once(kill_before_it_begins, cases):
            with self.subTest(case=outcome.case):
                who = victim_of(outcome.case, outcome.run)
                self.assert_failed(outcome.run, f"{who} was lost.*{NOTICED}")
                self.assertEqual((outcome.exit_code, outcome.left), (2, []))

    def test_before_a_rank_joins_ends_the_run_and_shows_what_the_rank_said(self) -> None:
        path = path_to_wrapped_mpirun(
            before=("sh", "-c", "for n in 1 2 3 4 5 6 7; do echo word $n; done; kill -9 $$"))
        rank = r"rank 1 \(replica0\)"
        for cell, words, limit_s in (
                ("parameter_server",
                 f"who had not joined: {rank}|{rank}.*{NOTICED}", END_LIMIT_S),
                ("going on", f"{rank}.*{NOTICED}", 2 * END_LIMIT_S)):  # mpirun is silent there
            folder = fresh_folder()
            begin = time.monotonic()
            done = regatta("run", *THIN, *CELLS[cell], "--out", str(folder), PATH=path)
            with self.subTest(cell=cell):
                self.assertLess(time.monotonic() - begin, limit_s)
                self.assertEqual((done.returncode, done.stderr), (2, ""))
                (record,) = records_in(folder)
                self.assertRegex(record["failure"]["text"], words)
                file = folder / "ranks" / record["run_id"] / "rank1.log"
                shown = [line for line in done.stdout.splitlines() if line.startswith("rank 1, ")]
                self.assertEqual(shown, [f"rank 1, {file}: word {n}" for n in range(3, 8)])


if __name__ == "__main__":
    run_tests()
