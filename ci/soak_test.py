# SPDX-License-Identifier: Apache-2.0
"""ci/soak finds each thing that goes wrong: of a made-up regatta that does it.

usage: ci/soak_test.py
"""

import json
import os
import re
import signal
import tempfile
import threading
import unittest
from pathlib import Path
from typing import Any
from unittest.mock import ANY

from soaking.cells import CELLS, Cell, Fault, Moment, Trial, trial_of
from soaking.summary import line_of, summary_of
from soaking.trial import Judge, Outcome, play

README = Path(__file__).resolve().parent.parent / "README.md"
SCRATCH = tempfile.TemporaryDirectory(prefix="regatta-soak-test-")
STEPS = 4
ENDS_S = 20  # of the made-up run, where nothing ends it

# What it does when it is told to end, by FAULT.
FAKE = """#!/usr/bin/python3
import json, os, pathlib, signal, subprocess, sys, time
words, fault = sys.argv[1:], os.environ["FAULT"]
out = pathlib.Path(words[words.index("--out") + 1])
out.mkdir(exist_ok=True)
checkpoint = out / "checkpoints" / "a" / "checkpoint"
def say(text):
    print("parabola single, 1 worker, seed 1: " + text, flush=True)
def record(status, loss=0.5, end="\\n"):
    failure = {"kind": "diverged" if fault == "reason" else "peer_lost", "text": "a bug"}
    row = {"status": status, "evaluations": [{"loss": loss}],
           "failure": None if status == "missed" else failure}
    with open(out / "records.jsonl", "a") as file:
        file.write(json.dumps(row)[:9 if fault == "torn" else None] + end)
    say(status)
def end(number, _):
    if fault == "ignores": return
    if fault == "file": open(os.environ["TMPDIR"] + "/left", "w").close()
    if fault == "process":
        subprocess.Popen(["sleep", "30"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if fault == "finishes" or fault == "torn": record("missed")
    if fault == "reason": record("failed")
    if fault == "lost": say("missed")
    if fault in ("finishes", "torn", "lost"): sys.exit(0)
    if fault == "reason": sys.exit(2)
    if fault == "code": sys.exit(7)
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGHUP if fault == "signal" else number)
if "--resume" in words:
    if fault == "resumed":
        sys.exit("regatta: no")
    if fault == "resumed_hangs": time.sleep(ENDS_S)
    record("missed", 0.6 if fault == "losses" else 0.5)
    if fault != "keeps":
        checkpoint.unlink(); checkpoint.parent.rmdir(); checkpoint.parent.parent.rmdir()
    sys.exit(0)
if "--checkpoint-every" in words:
    checkpoint.parent.mkdir(parents=True)
    checkpoint.touch()
signal.signal(signal.SIGTERM, end)
say("step 0 of 4  loss 1")
if out.parent.name.startswith("reference"):
    record("missed")
    sys.exit(0)
deadline = time.monotonic() + {"short": 0.6, "slow": 2.5}.get(fault, ENDS_S)
while time.monotonic() < deadline:
    time.sleep(0.5 if fault == "slow" else 0.1)
    if fault == "slow": say("step 1 of 4  loss 1")
record("missed")
""".replace("ENDS_S", str(ENDS_S))


def schema_errors(record: Any) -> list[str]:
    return [] if "evaluations" in record else ["no evaluations"]


def fresh_folder() -> Path:
    return Path(tempfile.mkdtemp(dir=SCRATCH.name))


def outcome_of(fault: str, checkpoint_every: int = 0, hit: Fault | None = None,
               scratch: Path | None = None) -> Outcome:
    """Of a trial with a program that has this fault."""
    program = Path(SCRATCH.name) / "regatta"
    program.write_text(FAKE)
    program.chmod(0o755)
    os.environ["FAULT"] = fault
    judge = Judge(program, scratch or fresh_folder(), schema_errors, {}, threading.Lock(), hang_s=1)
    return play(judge, Trial(1, Cell("made up", "", steps=STEPS), checkpoint_every,
                             Moment("training", 0), hit or Fault("program", signal.SIGTERM)))


def found(fault: str, checkpoint_every: int = 0) -> list[str]:
    return [sort for sort, _ in outcome_of(fault, checkpoint_every).findings]


class Trials(unittest.TestCase):
    def test_of_sound_programs_find_nothing(self) -> None:
        for fault, end in (("none", "SIGTERM"), ("finishes", "finished")):
            outcome = outcome_of(fault)
            self.assertEqual((outcome.end, outcome.findings), (end, ()))

    def test_find_what_goes_wrong(self) -> None:
        for fault, sort in (("ignores", "hang"), ("file", "file left"),
                            ("process", "process left"), ("torn", "torn record"),
                            ("lost", "lost record"), ("code", "wrong exit code"),
                            ("signal", "wrong exit code"), ("reason", "wrong reason")):
            with self.subTest(fault=fault):
                self.assertIn(sort, found(fault))

    def test_go_on_from_checkpoints(self) -> None:
        outcome = outcome_of("none", checkpoint_every=1)
        self.assertEqual((outcome.resumed, outcome.findings), (True, ()))
        for fault, sort in (("resumed", "not resumed"), ("losses", "other losses"),
                            ("keeps", "file left")):
            with self.subTest(fault=fault):
                self.assertEqual(found(fault, checkpoint_every=1), [sort])
        self.assertIn("hang", found("resumed_hangs", checkpoint_every=1))

    def test_continue_what_they_stop(self) -> None:
        stop = Fault("program", signal.SIGSTOP)
        self.assertEqual([sort for sort, _ in outcome_of("short", hit=stop).findings], ["hang"])
        stop = stop._replace(then="continue", after_s=0.5)
        self.assertEqual(outcome_of("short", hit=stop)[1:], ("finished", ANY, False, ()))

    def test_have_patience_while_there_is_progress(self) -> None:
        stop = Fault("program", signal.SIGSTOP, "continue", 0.1)
        self.assertEqual(outcome_of("slow", hit=stop)[1:], ("finished", ANY, False, ()))

    def test_keep_the_folder_of_a_finding_only(self) -> None:
        for fault, kept in (("none", []), ("code", ["trial1"])):
            scratch = fresh_folder()
            outcome_of(fault, scratch=scratch)
            self.assertEqual([path.name for path in scratch.iterdir()], kept)

    def test_follow_from_the_seed_and_the_number(self) -> None:
        trials = [trial_of(1, number) for number in range(3000)]
        self.assertEqual(trials, [trial_of(1, number) for number in range(3000)])
        self.assertNotEqual(trials, [trial_of(2, number) for number in range(3000)])
        self.assertEqual({trial.cell.name for trial in trials}, {cell.name for cell in CELLS})
        for trial in trials:
            if trial.fault.victim == "program" and trial.fault.stops:
                self.assertEqual(trial.fault.then, "continue")
            self.assertTrue(not trial.checkpoint_every or trial.cell.checkpoints)

    def test_race_every_strategy_over_processes(self) -> None:
        table = README.read_text().split("## Strategies")[1].split("\n\n")[1]
        names = set(re.findall(r"(?m)^\| (\w+) \|", table)) - {"name"}
        raced = {name for cell in CELLS if cell.ranks
                 for name in re.findall(r"--strategy (\S+)", cell.arguments)[0].split("+")}
        self.assertEqual(names - raced, {"single", "async_shared"})


class Summaries(unittest.TestCase):
    def test_count_runs_and_findings(self) -> None:
        trial = trial_of(1, 1)
        outcomes = [Outcome(trial, "missed"), Outcome(trial, "finished", 1.5),
                    Outcome(trial, "hang", 15, findings=(("hang", "a"), ("hang", "b")))]
        lines = [json.loads(json.dumps(line_of(outcome))) for outcome in outcomes]
        text = summary_of(lines)
        self.assertIn("2 faults in 3 runs (1 had ended before their moment)", text)
        self.assertRegex(text, r"(?m)^hang +1$")
        self.assertRegex(text, r"(?m)^torn record +0$")


if __name__ == "__main__":
    unittest.main()
