# SPDX-License-Identifier: Apache-2.0
"""One fault: a run is started, hit, watched to its end, judged, and resumed from its checkpoint."""

import contextlib
import json
import re
import shutil
import signal
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from soaking.cells import MPIRUN, PROGRAM, Cell, Trial
from soaking.watch import Watched, command_of, send, soon, state_of

HANG_S = 15.0  # from what was last done to a run, or what it last said of its progress, to its end
UNDISTURBED_S = 90
LEFT_S = 5  # from the end of the program to that of its processes, and of their files
GOOD, RUN_FAILED = 0, 2
BLAMED = ("peer_lost", "timeout")
BUGS = re.compile(r"terminate called|an error of Regatta itself|[Aa]ssert|AddressSanitizer|"
                  r"ThreadSanitizer|bug")


class Outcome(NamedTuple):
    """`end`: finished, failed, a signal's name, or missed: the run was over before its moment.
    `findings`: what went wrong, each a sort and words."""

    trial: Trial
    end: str
    seconds: float = 0  # from the last thing done to the end of the program
    resumed: bool = False
    findings: tuple[tuple[str, str], ...] = ()


class Judge(NamedTuple):
    """What all trials share."""

    regatta: Path
    scratch: Path
    schema_errors: Callable[[Any], list[str]]
    references: dict[str, list[float]]
    lock: threading.Lock
    hang_s: float = HANG_S


def arguments_of(judge: Judge, cell: Cell, folder: Path, every: int = 0) -> list[str]:
    words = [str(judge.regatta), "run", *cell.flags, "--out", str(folder / "out")]
    return words + (["--checkpoint-every", str(every)] if every else [])


def begun(run: Watched, after: str, steps: int) -> bool:
    texts = {"start": "", "training": ": step 0 of ", "end": f": step {steps} of {steps} "}
    return texts[after] in run.said()


def progress_of(run: Watched) -> int:
    return run.said().count(": step ")


def ends(run: Watched, limit_s: float, heard_at: float) -> bool:
    """False: since `heard_at` it has gone on for `limit_s` without a line of progress, or for
    UNDISTURBED_S in all. A run on a busy machine takes its time, but gets on."""
    lines = progress_of(run)
    last = heard_at + max(limit_s, UNDISTURBED_S)
    while not soon(lambda: run.ended, 0.2):
        run.note_memory()
        now = time.monotonic()
        if progress_of(run) != lines:
            lines, heard_at = progress_of(run), now
        if now > min(heard_at + limit_s, last):
            return False
    return True


class Play:
    """Of one trial."""

    def __init__(self, judge: Judge, trial: Trial) -> None:
        self.judge, self.trial = judge, trial
        self.folder = judge.scratch / f"trial{trial.number}"
        self.folder.mkdir()
        self.found: list[tuple[str, str]] = []
        command = arguments_of(judge, trial.cell, self.folder, trial.checkpoint_every)
        self.run = Watched(command, self.folder, uuid.uuid4().hex)

    def find(self, sort: str, words: str) -> None:
        self.found.append((sort, words))

    def hit(self) -> bool:
        """False: the run was over before."""
        moment, fault, run = self.trial.moment, self.trial.fault, self.run
        soon(lambda: run.ended or begun(run, moment.after, self.trial.cell.steps), UNDISTURBED_S)
        time.sleep(moment.delay_s)
        soon(lambda: run.ended or run.process(fault.victim) > 0, UNDISTURBED_S)
        if run.ended:
            return False
        run.note_memory()
        victim = run.process(fault.victim)
        if not send(victim, fault.number, run.mark):
            return False
        self.acted_at = time.monotonic()
        if fault.then:
            soon(lambda: run.ended, fault.after_s)
            if fault.then == "continue":
                send(victim, signal.SIGCONT, run.mark)
            else:
                send(run.program.pid, signal.Signals[fault.then], run.mark)
            if fault.then != "continue" or fault.victim == PROGRAM:
                self.acted_at = time.monotonic()
        return True

    def watch(self) -> None:
        """To the end; notes what hangs and what is left."""
        run = self.run
        ended = ends(run, self.judge.hang_s, self.acted_at)
        self.seconds = time.monotonic() - self.acted_at
        if not ended:
            processes = ", ".join(f"{pid} {state_of(pid)} {command_of(pid)}"
                                  for pid in run.processes())
            self.find("hang", f"still there after {self.seconds:.0f} s: {processes}")
        elif not soon(lambda: not run.processes(), LEFT_S):
            processes = [f"{pid} {state_of(pid)} {command_of(pid)}" for pid in run.processes()]
            self.find("process left", "; ".join(processes))
        run.kill_all()
        if not self.found and not soon(lambda: not run.files_left(), LEFT_S):
            self.find("file left", ", ".join(run.files_left()[:3]))
        for name in run.memory:
            with contextlib.suppress(OSError):
                Path(name).unlink()

    def records(self) -> list[Any]:
        """All that are whole; notes the others."""
        file = self.folder / "out" / "records.jsonl"
        lines = file.read_text().splitlines(keepends=True) if file.exists() else []
        records = []
        for line in lines:
            try:
                records.append(json.loads(line))
            except ValueError:
                self.find("torn record", line[:80])
                continue
            if not line.endswith("\n"):
                self.find("torn record", "no newline")
            for error in self.judge.schema_errors(records[-1]):
                self.find("torn record", f"the schema says: {error}")
        return records

    def judge_end(self) -> str:
        """In words."""
        code, records, said = self.run.program.returncode, self.records(), self.run.said()
        own = (self.trial.fault.number, getattr(signal, self.trial.fault.then, 0))
        concluded = re.search(r"(?m)^parabola.*: (reached|missed|failed)\b|^resnet.*: "
                              r"(reached|missed|failed)\b", said)
        if code in (GOOD, RUN_FAILED) or concluded:
            if len(records) != 1:
                self.find("lost record", f"exit code {code}, {len(records)} records")
                return "?"
        if code < 0:
            hit = self.trial.fault.victim == PROGRAM or self.trial.fault.then.startswith("SIG")
            if not hit or -code not in own:
                self.find("wrong exit code", f"ended by {signal.Signals(-code).name}")
            return signal.Signals(-code).name
        if code not in (GOOD, RUN_FAILED) or (records[0]["status"] == "failed") != (code != GOOD):
            self.find("wrong exit code", f"{code}: {self.run.said('stderr')[-300:]}")
            return "?"
        if code == RUN_FAILED:
            self.judge_reason(records[0]["failure"])
        return "failed" if code == RUN_FAILED else "finished"

    def judge_reason(self, failure: dict[str, str]) -> None:
        """A failed row names who was hit."""
        text, victim = failure["text"], self.trial.fault.victim
        if failure["kind"] not in BLAMED or BUGS.search(text):
            self.find("wrong reason", f"{failure['kind']}: {text}")
        elif victim == MPIRUN and "mpirun" not in text:
            self.find("another is blamed", text)
        elif victim.isdigit() and not re.search(rf"\brank {victim}\b", text):
            self.find("another is blamed", text)

    def judge_files(self, end: str) -> Path | None:
        """The checkpoint that is there, if the run may go on from it."""
        expected = {"records.jsonl", "ranks"} | (set() if end == "finished" else {"checkpoints"})
        out = self.folder / "out"
        there = {path.name for path in out.iterdir()} if out.exists() else set()
        if there - expected:
            self.find("file left", ", ".join(there - expected))
        checkpoints = list((out / "checkpoints").glob("*/checkpoint"))
        return checkpoints[0].parent if checkpoints and end != "finished" else None

    def resume(self, checkpoint: Path) -> None:
        before = len(self.records())
        trial, out = self.trial, self.folder / "out"
        command = arguments_of(self.judge, trial.cell, self.folder, trial.checkpoint_every)
        run = Watched([*command, "--resume", str(checkpoint)], self.folder, uuid.uuid4().hex)
        if not ends(run, self.judge.hang_s, time.monotonic()):
            self.find("hang", "of the resumed run")
        run.kill_all()
        records = self.records()
        if run.program.returncode != GOOD or len(records) != before + 1:
            self.find("not resumed", f"exit code {run.program.returncode}: "
                                     f"{run.said('stderr')[-300:]}{run.said()[-300:]}")
            return
        losses = [evaluation["loss"] for evaluation in records[-1]["evaluations"]]
        if trial.cell.synchronous and losses != reference(self.judge, trial.cell):
            self.find("other losses", "than a run in one piece has")
        if (out / "checkpoints").exists() or run.files_left():
            self.find("file left", f"by the resumed run: {run.files_left()[:3]}")

    def outcome(self) -> Outcome:
        try:
            if not self.hit():
                self.run.program.wait(UNDISTURBED_S)
                return Outcome(self.trial, "missed")
            self.watch()
            if any(sort == "hang" for sort, _ in self.found):
                return self.done("hang")
            end = self.judge_end()
            checkpoint = self.judge_files(end)
            if checkpoint is not None:
                self.resume(checkpoint)
            if BUGS.search(self.run.said("stderr")):
                self.find("says of itself", self.run.said("stderr")[-300:])
            return self.done(end, checkpoint is not None)
        finally:
            self.run.kill_all()

    def done(self, end: str, resumed: bool = False) -> Outcome:
        return Outcome(self.trial, end, round(self.seconds, 2), resumed, tuple(self.found))


def reference(judge: Judge, cell: Cell) -> list[float]:
    """The losses of a run in one piece."""
    with judge.lock:
        key = " ".join(cell.flags)
        if key not in judge.references:
            folder = judge.scratch / f"reference{len(judge.references)}"
            folder.mkdir()
            run = Watched(arguments_of(judge, cell, folder), folder, uuid.uuid4().hex)
            soon(lambda: run.ended, UNDISTURBED_S)
            run.kill_all()
            record = json.loads((folder / "out" / "records.jsonl").read_text())
            judge.references[key] = [evaluation["loss"]
                                           for evaluation in record["evaluations"]]
        return judge.references[key]


def play(judge: Judge, trial: Trial) -> Outcome:
    """Keeps the folder of a trial with findings."""
    one = Play(judge, trial)
    outcome = one.outcome()
    if not outcome.findings:
        shutil.rmtree(one.folder)
    return outcome


