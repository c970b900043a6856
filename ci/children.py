# SPDX-License-Identifier: Apache-2.0
"""Runs the child programs of a script one after the other, and ends them with the script.

Each child has its own session, so that Ctrl-C reaches only the script. A signal to the script (INT,
TERM, HUP) is passed on as TERM; processes of the session that remain after a grace period are
killed. If the script itself is killed, the kernel sends TERM to its child. Only for the main
thread.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

PR_SET_PDEATHSIG = 1
GRACE_S = 10
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(Exception):
    """Raised on the signal `number`, after all children have ended."""

    def __init__(self, number: int) -> None:
        super().__init__(f"interrupted by {signal.Signals(number).name}")
        self.number = number


class Overdue(Exception):
    """A program exceeded its time limit and was ended."""


def session_of(pid: int) -> int:
    """The session of a process; 0 if it has ended or is a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0
    return 0 if fields[0] == "Z" else int(fields[3])


def in_session(session: int) -> list[int]:
    pids = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    return [pid for pid in pids if session_of(pid) == session]


def end_session(session: int, grace_s: float) -> None:
    """Waits for the session's processes to end, then kills the rest."""
    deadline = time.monotonic() + grace_s
    while in_session(session) and time.monotonic() < deadline:
        time.sleep(0.05)
    while left := in_session(session):
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


class Children:
    """Runs one child at a time. `received`: the signal that this script received; 0: none."""

    def __init__(self) -> None:
        self.received = 0
        self.overdue = False
        self.stopping = False
        self.pid = 0
        self.grace_s = 0.0
        self.parent = os.getpid()
        self.libc = ctypes.CDLL(None)
        for number in (*SIGNALS, signal.SIGALRM):
            signal.signal(number, self.hear)

    def hear(self, number: int, _: FrameType | None) -> None:
        if number != signal.SIGALRM:
            self.received = number
        elif not self.stopping:
            self.overdue = True
        self.stop()

    def stop(self) -> None:
        """Asks the child to end; kills it on the second call or after the grace period."""
        if self.pid == 0:
            return
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            os.killpg(self.pid, signal.SIGKILL if self.stopping else signal.SIGTERM)
        self.stopping = True
        signal.setitimer(signal.ITIMER_REAL, self.grace_s)

    def prepare(self) -> None:
        """Runs in the child: makes it end with the script."""
        self.libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != self.parent:
            os._exit(1)

    def check(self) -> None:
        """Throws: Interrupted, if a signal was received."""
        if self.received:
            raise Interrupted(self.received)

    def run(self, command: Sequence[str | Path], log: Path, limit_s: float, *,
            folder: Path | None = None, output: Path | None = None,
            environment: dict[str, str] | None = None, grace_s: float = GRACE_S) -> int:
        """Runs a program. Returns its exit code, or minus the signal that ended it. Appends its
        output to `log`, except stdout if `output` is given. Throws: Interrupted, Overdue, or
        OSError if it cannot be started."""
        self.check()
        with open(log, "ab") as errors, open(output or os.devnull, "wb") as printed:
            child = subprocess.Popen([str(word) for word in command], cwd=folder,
                                     stdin=subprocess.DEVNULL, stderr=errors,
                                     stdout=printed if output else errors,
                                     env=os.environ | (environment or {}),
                                     start_new_session=True, preexec_fn=self.prepare)
        self.stopping, self.overdue, self.grace_s = False, False, grace_s
        self.pid = child.pid
        signal.setitimer(signal.ITIMER_REAL, limit_s)
        if self.received:  # while `pid` was still 0
            self.stop()
        code = child.wait()
        signal.setitimer(signal.ITIMER_REAL, 0)
        self.pid = 0
        if self.stopping:
            end_session(child.pid, grace_s)
        self.check()
        if self.overdue:
            raise Overdue(f"{command[0]} took longer than {limit_s:g} s and was ended")
        return code
