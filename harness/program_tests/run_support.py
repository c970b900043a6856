# SPDX-License-Identifier: Apache-2.0
"""Races over processes in progress: their ranks, the resources they hold, and leftovers."""

import os
import shlex
import shutil
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

from proc_support import (children_of, environment_of, is_alive, open_sockets, processes_with,
                          sockets_of)
from test_support import LEFT_LIMIT_S, REGATTA, fresh_folder, records_in, soon

START_LIMIT_S = 30
END_LIMIT_S = 10  # from a death to the failed row


def rank_of(pid: int) -> int | None:
    """The rank of a process that mpirun has started; None until it runs this program."""
    try:
        program = os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return None
    rank = environment_of(pid).get("OMPI_COMM_WORLD_RANK")
    return int(rank) if rank is not None and program == REGATTA else None


def path_to_wrapped_mpirun(before: tuple[str, ...] = (), after: tuple[str, ...] = ()) -> str:
    """A PATH whose mpirun prefixes the command of rank 1 with `before` and appends `after`."""
    folder = fresh_folder()
    rank = folder / "rank"
    rank.write_text(f"""#!/bin/sh
[ "$OMPI_COMM_WORLD_RANK" = 1 ] || exec "$@"
exec {shlex.join(before)} "$@" {shlex.join(after)}
""")
    rank.chmod(0o755)
    wrapper = folder / "mpirun"
    wrapper.write_text(f"""#!/usr/bin/python3
import os, sys
at = sys.argv.index("-np") + 2
os.execv("{shutil.which('mpirun')}", ["mpirun", *sys.argv[1:at], "{rank}", *sys.argv[at:]])
""")
    wrapper.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


class Run:
    """A race over processes in progress; all its ranks exist."""

    def __init__(self, *arguments: str, ranks: int = 2, before: tuple[str, ...] = ()) -> None:
        """`before`: a command that runs the program."""
        self.folder = fresh_folder()
        self.scratch = fresh_folder()  # for temporary files
        self.errors = fresh_folder() / "stderr"
        with open(self.errors, "w") as errors:
            self.launcher = subprocess.Popen(
                [*before, REGATTA, "run", *arguments, "--out", str(self.folder)],
                stdout=subprocess.PIPE, stderr=errors, text=True,
                env=os.environ | {"TMPDIR": str(self.scratch)})
        self.ranks: dict[int, int] = {}  # processes
        self.lines: list[str] = []  # printed so far
        threading.Thread(target=self.read_lines, daemon=True).start()
        if not soon(lambda: self.find_ranks() == ranks, START_LIMIT_S):
            self.launcher.kill()
            raise AssertionError(f"no {ranks} ranks: {self.said()}")
        (self.mpirun,) = self.find_mpirun()
        variables = environment_of(self.mpirun)
        self.run_id = variables["REGATTA_RUN_ID"]
        memory = variables.get("OMPI_MCA_btl_vader_backing_directory")  # not with other hosts
        self.memory = [Path(memory)] if memory else []
        (self.keeper,) = set(children_of(self.launcher.pid)) - {self.mpirun}
        self.sockets: set[str] = set()

    def read_lines(self) -> None:
        assert self.launcher.stdout is not None
        with self.launcher.stdout as stdout:
            for line in stdout:
                self.lines.append(line)

    def said(self) -> str:
        return "".join(self.lines) + self.errors.read_text()

    def find_mpirun(self) -> list[int]:
        return [pid for pid in children_of(self.launcher.pid)
                if "REGATTA_RUN_ID" in environment_of(pid)]

    def find_ranks(self) -> int:
        for mpirun in self.find_mpirun():
            for pid in children_of(mpirun):
                rank = rank_of(pid)
                if rank is not None:
                    self.ranks[rank] = pid
        return len(self.ranks)

    def await_line(self, text: str, limit_s: float = START_LIMIT_S) -> None:
        if not soon(lambda: any(text in line for line in self.lines), limit_s):
            self.launcher.kill()
            raise AssertionError(f"no '{text}' within {limit_s} s: {self.said()}")

    def await_training(self) -> None:
        """Waits until the first evaluation has been printed, and a little longer."""
        self.await_line("step 0 ")
        time.sleep(0.5)

    def send(self, number: int, *pids: int) -> None:
        """Sends a signal, after noting the sockets of the run."""
        for pid in (self.launcher.pid, self.mpirun, *self.ranks.values()):
            self.sockets |= sockets_of(pid) & open_sockets()
        self.sockets -= sockets_of(os.getpid())  # inherited ones
        for pid in pids:
            os.kill(pid, number)

    def end(self, limit_s: float = END_LIMIT_S) -> dict[str, Any]:
        """Returns the record, which must come within the limit; soon after it the launcher must
        end."""
        if not soon(lambda: self.records() != [], limit_s):
            self.launcher.kill()
            raise AssertionError(f"no record within {limit_s} s: {self.said()}")
        self.launcher.wait(timeout=LEFT_LIMIT_S)
        return self.records()[-1]

    def records(self) -> list[dict[str, Any]]:
        return records_in(self.folder) if (self.folder / "records.jsonl").exists() else []

    def processes(self) -> list[int]:
        """The living processes of the run, including mpirun, ranks and whatever they have
        started."""
        launcher = [self.launcher.pid] if is_alive(self.launcher.pid) else []
        return launcher + processes_with("REGATTA_RUN_ID", self.run_id)

    def still_there(self) -> list[str]:
        """Remaining processes, sockets and files. A process that ends loses its environment
        first."""
        keeper = [self.keeper] if is_alive(self.keeper) else []
        return [f"process {pid}" for pid in self.processes() + keeper] + [
            f"socket {inode}" for inode in self.sockets & open_sockets()] + [
            str(path) for path in (*self.memory, *self.scratch.iterdir()) if path.exists()]

    def left(self) -> list[str]:
        """Leftovers after the time in which everything should have ended."""
        soon(lambda: not self.still_there(), LEFT_LIMIT_S)
        return self.still_there()
