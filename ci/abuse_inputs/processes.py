# SPDX-License-Identifier: Apache-2.0
"""Runs one program at a time with a limit of time, and says how it ended. Its processes have a
session of their own, which ends with it: when it is overdue, when the worker of ci/abuse is told to
end, and when that one is killed.
"""

import contextlib
import ctypes
import os
import resource
import select
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import NamedTuple

from children import PR_SET_PDEATHSIG, end_session, in_session

ADDRESS_BYTES = 4 << 30  # what asks for more is refused
MEMORY_BYTES = 4 << 30  # what has more is ended, before the machine is at its end
LOOK_S = 0.1
MOST_WAITING = 10  # limits, of time without a core
MOST_OUTPUT_BYTES = 64 << 20
running: set[int] = set()  # sessions


class Done(NamedTuple):
    """How a program ended. `code`: minus the signal that ended it."""

    code: int
    overdue: bool
    seconds: float
    stdout: bytes = b""
    stderr: bytes = b""
    memory_bytes: int = 0

    @property
    def accepted(self) -> bool:
        """What was asked for was done, whatever the verdict."""
        return self.code in (0, 3, 4)


def end_all(_: int, __: FrameType | None) -> None:
    for session in running:
        end_session(session, 0)
    os._exit(1)


def prepare_worker(sanitized: bool) -> None:
    """Once in each process that runs programs. A sanitizer maps terabytes, so it has no limit."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    signal.signal(signal.SIGTERM, end_all)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.set_int_max_str_digits(0)
    if not sanitized:
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_BYTES, ADDRESS_BYTES))


def ends_within(pid: int, limit_s: float) -> bool:
    descriptor = os.pidfd_open(pid)
    poll = select.poll()  # select() takes no descriptor beyond 1023
    poll.register(descriptor, select.POLLIN)
    try:
        return bool(poll.poll(1000 * max(limit_s, 0)))
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def memory_file(name: str) -> Iterator[int]:
    """A descriptor."""
    descriptor = os.memfd_create(name)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def start(command: Sequence[str | Path], folder: Path, stdout: int, stderr: int,
          ) -> subprocess.Popen[bytes]:
    child = subprocess.Popen(list(command), cwd=folder, stdin=subprocess.DEVNULL, stdout=stdout,
                             stderr=stderr, start_new_session=True)
    running.add(child.pid)
    return child


def memory_of(pid: int) -> int:
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def waited_s(session: int) -> float:
    """For a core that others had: the longest of its threads."""
    longest = 0
    for pid in in_session(session):
        for thread in Path(f"/proc/{pid}/task").glob("*/schedstat"):
            with contextlib.suppress(OSError, ValueError, IndexError):  # it has ended
                longest = max(longest, int(thread.read_text().split()[1]))
    return longest * 1e-9


def finish(child: subprocess.Popen[bytes], limit_s: float) -> tuple[bool, int]:
    """Whether it ended within the limit, if not, it is ended; and the most memory it had. On a
    machine with other work the time in which it has no core does not count."""
    begin = monotonic()
    deadline = begin + limit_s
    try:
        while not (ended := ends_within(child.pid, min(LOOK_S, deadline - monotonic()))):
            if monotonic() > deadline:
                deadline = begin + limit_s + min(waited_s(child.pid), MOST_WAITING * limit_s)
            if monotonic() > deadline or memory_of(child.pid) > MEMORY_BYTES:
                end_session(child.pid, 0)
                break
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        return ended or monotonic() < deadline, usage.ru_maxrss << 10
    finally:
        running.discard(child.pid)


def run(command: Sequence[str | Path], folder: Path, limit_s: float, stdout: str = "") -> Done:
    """`stdout`: the file it goes to; empty: it is kept."""
    begin = monotonic()
    with memory_file("stdout") as kept, memory_file("stderr") as errors:
        out = os.open(stdout, os.O_WRONLY) if stdout else kept
        try:
            child = start(command, folder, out, errors)
        finally:
            if stdout:
                os.close(out)
        in_time, memory_bytes = finish(child, limit_s)
        return Done(child.returncode, not in_time, monotonic() - begin,
                    os.pread(kept, MOST_OUTPUT_BYTES, 0), os.pread(errors, MOST_OUTPUT_BYTES, 0),
                    memory_bytes)
