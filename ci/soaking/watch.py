# SPDX-License-Identifier: Apache-2.0
"""The processes and files of one run, as they are seen from outside."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from soaking.cells import KEEPER, MPIRUN, PROGRAM

MARK = "REGATTA_SOAK_TRIAL"  # in the environment of all processes of a run
LOOK_S = 0.01
CLEAR_UP_S = 5
MEMORY = "/dev/shm/"


def soon(condition: Callable[[], bool], limit_s: float) -> bool:
    deadline = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(LOOK_S)
    return True


def state_of(pid: int) -> str:
    """R, S, T (stopped), ...; empty: it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return ""


def children_of(pid: int) -> list[int]:
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:  # it has just ended
        return []


def environment_of(pid: int) -> dict[bytes, bytes]:
    try:
        entries = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return {}
    return {name: value for name, _, value in (entry.partition(b"=") for entry in entries)}


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()[:200]
    except OSError:
        return ""


def send(pid: int, number: int, mark: str = "") -> bool:
    """Not to another process that has got the number meanwhile."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if mark and environment_of(pid).get(MARK.encode()) != mark.encode():
            return False
        signal.pidfd_send_signal(handle, number)
        return True
    except OSError:
        return False
    finally:
        os.close(handle)


under_way: set["Watched"] = set()


def end_all() -> None:
    """Runs that are under way, when the soak is interrupted."""
    for run in list(under_way):
        run.kill_all()


class Watched:
    """A run whose output goes to files, in a folder for temporary files of its own."""

    def __init__(self, command: list[str], folder: Path, mark: str) -> None:
        self.folder, self.mark = folder, mark
        self.scratch = folder / "tmp"
        self.scratch.mkdir(exist_ok=True)
        self.memory: set[str] = set()  # files in /dev/shm that it has had
        variables = {MARK: mark, "TMPDIR": str(self.scratch)}
        with open(folder / "stdout", "ab") as output, open(folder / "stderr", "ab") as errors:
            self.program = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output,
                                            stderr=errors, env=os.environ | variables,
                                            start_new_session=True)
        under_way.add(self)

    @property
    def ended(self) -> bool:
        return self.program.poll() is not None

    def said(self, name: str = "stdout") -> str:
        return (self.folder / name).read_text(errors="replace")

    def process(self, role: str) -> int:
        """0: not there (yet)."""
        if role == PROGRAM:
            return self.program.pid
        for pid in children_of(self.program.pid):
            variables = environment_of(pid)
            if role == KEEPER and b"REGATTA_KEEPER" in variables:
                return pid
            if b"REGATTA_RUN_ID" not in variables:
                continue
            if role == MPIRUN:
                return pid
            for child in children_of(pid):
                if environment_of(child).get(b"OMPI_COMM_WORLD_RANK") == role.encode():
                    return child
        return 0

    def processes(self) -> list[int]:
        """All that are alive."""
        pids = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
        return [pid for pid in pids if state_of(pid) not in ("", "Z", "X")
                and environment_of(pid).get(MARK.encode()) == self.mark.encode()]

    def note_memory(self) -> None:
        for mpirun in children_of(self.program.pid):
            for child in children_of(mpirun):
                with contextlib.suppress(OSError):
                    maps = Path(f"/proc/{child}/maps").read_text().splitlines()
                    self.memory.update(line.split(maxsplit=5)[5] for line in maps
                                       if MEMORY in line and "(deleted)" not in line)

    def files_left(self) -> list[str]:
        """Temporary files, and shared memory."""
        left = [str(path.relative_to(self.folder)) for path in sorted(self.scratch.rglob("*"))]
        return left + sorted(name for name in self.memory if os.path.exists(name))

    def kill_all(self) -> None:
        """The program first: then its keeper clears up."""
        if not self.ended:
            self.program.kill()
            soon(lambda: not self.processes(), CLEAR_UP_S)
        while pids := self.processes():
            for pid in pids:
                send(pid, signal.SIGKILL, self.mark)
            time.sleep(LOOK_S)
        self.program.wait()
        under_way.discard(self)
