# SPDX-License-Identifier: Apache-2.0
"""A race over processes that may be disturbed: one of some seconds, the losses that it has to have,
its processes, their ports and their memory. Ports of mpirun itself are left alone.
"""

import contextlib
import json
import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from children import in_session

from .folder import RECORDS
from .processes import ends_within, run, start
from .subject import Subject, Unusable

RACE = ("run", "--workload", "parabola")
STRATEGIES = (("--strategy", "parameter_server", "--workers", "2"),
              ("--strategy", "all_reduce", "--workers", "2"))
PROCESSES = ("--processes", "2")
PROBE_STEPS = 2_000
RACE_S = 5  # of training
START_S = 30
END_S = 5  # for the last process
LOOK_S = 0.02
LISTENING = "0A"  # in /proc/net/tcp


def sockets_of(pid: int) -> set[str]:
    """Inodes, and other things that are open."""
    found = set()
    with contextlib.suppress(OSError):
        for entry in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):  # closed meanwhile
                found.add(os.readlink(f"/proc/{pid}/fd/{entry}").removeprefix("socket:[")[:-1])
    return found


def ports_of(pids: Sequence[int]) -> list[int]:
    """That the processes listen at. The table takes long to read."""
    inodes = set().union(*(sockets_of(pid) for pid in pids))
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return [int(line[1].split(":")[1], 16) for line in lines
            if line[3] == LISTENING and line[9] in inodes]


def peak_bytes(pid: int) -> int:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) << 10
    return 0


class Race:
    """One that is under way, and the most memory of each of its processes."""

    def __init__(self, subject: Subject, words: Sequence[str], folder: Path, stdout: int,
                 stderr: int) -> None:
        self.program = str(subject.program)
        self.stdout = stdout
        self.child = start([subject.program, *words], folder, stdout, stderr)
        self.peaks: dict[int, int] = {}
        self.over = False

    def pids(self) -> list[int]:
        """Of the program itself, not of mpirun."""
        found = []
        for pid in in_session(self.child.pid):
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{pid}/exe") == self.program:
                    found.append(pid)
        return found

    def await_training(self) -> bool:
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and not ends_within(self.child.pid, LOOK_S):
            if b"step 0 " in os.pread(self.stdout, 10_000, 0):
                return True
        return False

    def watch(self, calm: dict[int, int]) -> None:
        """The memory of these processes, from now on."""
        self.peaks = dict(calm)
        threading.Thread(target=self.sample, daemon=True).start()

    def sample(self) -> None:
        while not self.over:
            for pid in self.peaks:
                self.peaks[pid] = max(self.peaks[pid], peak_bytes(pid))
            time.sleep(LOOK_S)

    def is_over(self) -> bool:
        return ends_within(self.child.pid, 0)


def ends_all(session: int) -> bool:
    """Soon."""
    deadline = time.monotonic() + END_S
    while in_session(session):
        if time.monotonic() > deadline:
            return False
        time.sleep(LOOK_S)
    return True


def record_in(folder: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((folder / RECORDS).read_bytes().splitlines()[-1])
    return record


def losses_of(record: dict[str, Any]) -> list[float]:
    return [evaluation["loss"] for evaluation in record["evaluations"]]


def alone(subject: Subject, words: Sequence[str], folder: Path) -> dict[str, Any]:
    """The record of an undisturbed run. Throws: Unusable."""
    folder.mkdir(parents=True, exist_ok=True)
    done = run([subject.program, *words, "--out", "."], folder, START_S + 2 * subject.limit_s)
    if done.code != 0:
        raise Unusable(f"regatta {' '.join(words)}: exit code {done.code}: {done.stderr[-300:]!r}")
    return record_in(folder)


def race_of(subject: Subject, number: int, here: Path) -> tuple[list[str], list[float]]:
    """One of some seconds, and the losses that it has to have, which processes do not change."""
    strategy = STRATEGIES[number % len(STRATEGIES)]
    kept = here / f"alone_{number % len(STRATEGIES)}.json"
    if not kept.exists():
        probe = alone(subject, (*RACE, *strategy, *PROCESSES, "--steps", str(PROBE_STEPS)), here)
        steps = max(PROBE_STEPS, round(RACE_S * 1e9 * PROBE_STEPS / probe["training_ns"]))
        words = (*RACE, *strategy, "--steps", str(steps))
        losses = losses_of(alone(subject, (*words, "--processes", "1"), here))
        kept.write_text(json.dumps([words, losses]))
    words, losses = json.loads(kept.read_text())
    return words, losses
