# SPDX-License-Identifier: Apache-2.0
"""What tests of whole runs share: starting the program, reading records, finding ranks.

Such a test is started as `NAME_test.py REGATTA SCHEMA [unittest arguments]`. All that it writes is
below one folder, which goes when it ends.
"""

import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

REGATTA = str(Path(sys.argv[1]).resolve())
SCRATCH = tempfile.TemporaryDirectory(prefix=f"regatta-{Path(sys.argv[0]).stem}-")
LIMIT_S = 300  # of a run that ends by itself
START_LIMIT_S = 30
END_LIMIT_S = 10  # from a death to the failed row
LEFT_LIMIT_S = 15  # to the last process

SKIPPED = 77


def skip(reason: str) -> NoReturn:
    """All tests of the file."""
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def skip_without_mpirun() -> None:
    if shutil.which("mpirun") is None:
        skip("mpirun is not installed")


def record_validator() -> Any:
    """Of the schema. Skips all tests of the file where jsonschema is not installed."""
    try:
        import jsonschema
    except ImportError:
        skip("python3-jsonschema is not installed")
    return jsonschema.Draft202012Validator(json.loads(Path(sys.argv[2]).read_text()))


def run_tests() -> None:
    """Of the file that was started."""
    unittest.main(module="__main__", argv=[sys.argv[0], *sys.argv[3:]])


def fresh_folder() -> Path:
    return Path(tempfile.mkdtemp(dir=SCRATCH.name))


def regatta(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """What the program did; stdout and stderr are pipes."""
    return subprocess.run([REGATTA, *arguments], capture_output=True, text=True, timeout=LIMIT_S,
                          env=os.environ | environment)


def output_of(*arguments: str) -> str:
    done = regatta(*arguments)
    if done.returncode != 0:
        raise AssertionError(f"{arguments}: exit code {done.returncode}: {done.stderr}")
    return done.stdout


def records_in(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]


@functools.cache
def record_of(*arguments: str) -> dict[str, Any]:
    """The one record of a run. The same arguments run once."""
    folder = fresh_folder()
    output_of("run", *arguments, "--out", str(folder))
    (record,) = records_in(folder)
    logs = {"ranks"} if record["cell"]["processes"] > 1 else set()
    left = {path.name for path in folder.iterdir()}
    if left != {"records.jsonl"} | logs:
        raise AssertionError(f"{arguments}: leaves {left}")
    return record


def losses_of(record: dict[str, Any]) -> list[float]:
    return [evaluation["loss"] for evaluation in record["evaluations"]]


def soon(condition: Callable[[], bool], limit_s: float) -> bool:
    """Whether the condition holds within the limit."""
    deadline = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def children_of(pid: int) -> list[int]:
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:  # it has just ended
        return []


def is_alive(pid: int) -> bool:
    """Zombies are not: they hold nothing."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def environment_of(pid: int) -> dict[str, str]:
    """What the process was started with; empty when it is gone or somebody else's."""
    try:
        entries = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return {}
    return dict(entry.split("=", 1) for entry in entries if "=" in entry)


def rank_of(pid: int) -> int | None:
    """Of a process that mpirun has started and that has become this program."""
    try:
        program = os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return None
    rank = environment_of(pid).get("OMPI_COMM_WORLD_RANK")
    return int(rank) if rank is not None and program == REGATTA else None


class Run:
    """A race over processes that is under way; all its ranks are there."""

    def __init__(self, *arguments: str, ranks: int = 2) -> None:
        self.folder = fresh_folder()
        self.launcher = subprocess.Popen([REGATTA, "run", *arguments, "--out", str(self.folder)],
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.ranks: dict[int, int] = {}  # processes
        if not soon(lambda: self.find_ranks() == ranks, START_LIMIT_S):
            self.launcher.kill()
            raise AssertionError(f"no {ranks} ranks: {self.launcher.communicate()}")
        (self.mpirun,) = children_of(self.launcher.pid)

    def find_ranks(self) -> int:
        for mpirun in children_of(self.launcher.pid):
            for pid in children_of(mpirun):
                rank = rank_of(pid)
                if rank is not None:
                    self.ranks[rank] = pid
        return len(self.ranks)

    def await_training(self) -> None:
        """Until the first evaluation has been printed, and a little more."""
        assert self.launcher.stdout is not None
        self.launcher.stdout.readline()
        time.sleep(0.5)

    def end(self, limit_s: float = END_LIMIT_S) -> dict[str, Any]:
        """The record, which has to be there within the limit, and the launcher soon after it."""
        file = self.folder / "records.jsonl"
        if not soon(lambda: file.exists() and file.stat().st_size > 0, limit_s):
            self.launcher.kill()
            raise AssertionError(f"no record within {limit_s} s: {self.launcher.communicate()}")
        self.launcher.wait(timeout=LEFT_LIMIT_S)
        self.launcher.communicate()
        return records_in(self.folder)[-1]

    def left(self) -> list[int]:
        """Processes that still run after a time in which all should have ended."""
        pids = [*self.ranks.values(), self.mpirun, self.launcher.pid]
        soon(lambda: not any(is_alive(pid) for pid in pids), LEFT_LIMIT_S)
        return [pid for pid in pids if is_alive(pid)]
