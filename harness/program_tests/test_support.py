# SPDX-License-Identifier: Apache-2.0
"""What tests of whole runs share: starting the program, reading records, finding ranks.

Such a test is started as `NAME_test.py REGATTA SCHEMA [unittest arguments]`. All that it writes is
below one folder, which goes when it ends.
"""

import contextlib
import functools
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import uuid
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Any, NoReturn

REGATTA = str(Path(sys.argv[1]).resolve())
SCRATCH = tempfile.TemporaryDirectory(prefix=f"regatta-{Path(sys.argv[0]).stem}-")
CIFAR_FILES = (*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin")
CIFAR_BYTES = 30_730_000  # of each
LIMIT_S = 300  # of a run that ends by itself
START_LIMIT_S = 30
END_LIMIT_S = 10  # from a death to the failed row
LEFT_LIMIT_S = 15  # to the last process

SKIPPED = 77
MARK = "REGATTA_STARTED_BY_TEST"

NOBODY = 65534  # user and group

PARABOLA = ("--workload", "parabola", "--steps", "200")  # a run of milliseconds


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
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a script's background job ignores it
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    unittest.main(module="__main__", argv=[sys.argv[0], *sys.argv[3:]])


def fresh_folder() -> Path:
    return Path(tempfile.mkdtemp(dir=SCRATCH.name))


@contextlib.contextmanager
def environment_of_its_own() -> Iterator[dict[str, str]]:
    """For programs of which no process may be left soon after the end of the block, nor any that
    they have started on this machine."""
    mark = uuid.uuid4().hex
    yield os.environ | {MARK: mark}
    left = processes_with(MARK, mark)
    if left and not soon(lambda: processes_with(MARK, mark) == [], LEFT_LIMIT_S):
        raise AssertionError(f"processes are left: {processes_with(MARK, mark)}")


def regatta(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """What the program did; stdout and stderr are pipes. It leaves no process behind."""
    with environment_of_its_own() as variables:
        return subprocess.run([REGATTA, *arguments], capture_output=True, text=True,
                              timeout=LIMIT_S, env=variables | environment)


def output_of(*arguments: str) -> str:
    done = regatta(*arguments)
    if done.returncode != 0:
        raise AssertionError(f"{arguments}: exit code {done.returncode}: {done.stderr}")
    return done.stdout


def records_in(folder: Path) -> list[dict[str, Any]]:
    """Whole lines: one that is being written may be seen in part."""
    lines = (folder / "records.jsonl").read_text().splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


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


def write_sparse_cifar10(folder: Path) -> None:
    """All files of the data set with the right sizes, every label 0."""
    folder.mkdir()
    for name in CIFAR_FILES:
        (folder / name).touch()
        os.truncate(folder / name, CIFAR_BYTES)


@contextlib.contextmanager
def small_disk(size: str, *options: str) -> Iterator[Path]:
    """A file system in memory. Skips the test where it cannot be mounted."""
    folder = fresh_folder()
    flags = ",".join((f"size={size}", *options))
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", flags, "tmpfs", str(folder)],
                             capture_output=True, text=True)
    if mounted.returncode != 0:
        raise unittest.SkipTest(f"mounting a small file system: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def unprivileged_folder() -> Path:
    """For programs by start_unprivileged(), which may write there."""
    Path(SCRATCH.name).chmod(0o755)
    folder = fresh_folder()
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
    return folder


def start_unprivileged(*arguments: str) -> subprocess.Popen[str]:
    """The program, to whom the modes of files apply; they do not to root. Skips the test where
    the program is out of another user's reach."""
    drop: dict[str, Any] = {}
    if os.geteuid() == 0:
        drop = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    try:
        return subprocess.Popen([REGATTA, *arguments], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, cwd="/tmp", **drop)
    except PermissionError as error:
        raise unittest.SkipTest(f"as another user: {error}") from error


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


def processes_with(variable: str, value: str) -> list[int]:
    """That were started with it in their environment and are alive."""
    running = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    return [pid for pid in running
            if environment_of(pid).get(variable) == value and is_alive(pid)]


def rank_of(pid: int) -> int | None:
    """Of a process that mpirun has started and that has become this program."""
    try:
        program = os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return None
    rank = environment_of(pid).get("OMPI_COMM_WORLD_RANK")
    return int(rank) if rank is not None and program == REGATTA else None


def path_to_wrapped_mpirun(before: tuple[str, ...] = (), after: tuple[str, ...] = ()) -> str:
    """A PATH with an mpirun that gives rank 1 a command to be run by, and more arguments."""
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


def cpu_seconds(pid: int) -> float:
    """What all threads of the process have used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def sockets_of(pid: int) -> set[str]:
    """Inodes of what the process has open; none when it is gone."""
    found: set[str] = set()
    folder = f"/proc/{pid}/fd"
    with contextlib.suppress(FileNotFoundError):
        for entry in os.listdir(folder):
            with contextlib.suppress(OSError):  # closed meanwhile
                if (name := os.readlink(f"{folder}/{entry}")).startswith("socket:"):
                    found.add(name.removeprefix("socket:[").removesuffix("]"))
    return found


def tcp_sockets() -> set[str]:
    """Inodes of all on this machine that listen or are connected and that a process holds."""
    return {line.split()[9] for table in ("tcp", "tcp6")
            for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]} - {"0"}


def listening_at(pid: int) -> set[str]:
    """Addresses that the process listens at; the kernel writes them in words of this machine."""
    own = sockets_of(pid)
    found: set[str] = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] != "0A" or fields[9] not in own:
                continue
            digits = bytes.fromhex(fields[1].split(":")[0])
            words = [digits[i:i + 4][::-1] for i in range(0, len(digits), 4)]
            address = ip_address(b"".join(words))
            found.add(str(getattr(address, "ipv4_mapped", None) or address))
    return found


def open_ports(pid: int) -> list[int]:
    """That the process listens at, of whatever address."""
    own = sockets_of(pid)
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return [int(line[1].split(":")[1], 16) for line in lines if line[3] == "0A" and line[9] in own]


class Run:
    """A race over processes that is under way; all its ranks are there."""

    def __init__(self, *arguments: str, ranks: int = 2, before: tuple[str, ...] = ()) -> None:
        """`before`: a command to be run by."""
        self.folder = fresh_folder()
        self.scratch = fresh_folder()  # for temporary files
        self.errors = fresh_folder() / "stderr"
        with open(self.errors, "w") as errors:
            self.launcher = subprocess.Popen(
                [*before, REGATTA, "run", *arguments, "--out", str(self.folder)],
                stdout=subprocess.PIPE, stderr=errors, text=True,
                env=os.environ | {"TMPDIR": str(self.scratch)})
        self.ranks: dict[int, int] = {}  # processes
        self.lines: list[str] = []  # that it has printed
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
        """Until the first evaluation has been printed, and a little more."""
        self.await_line("step 0 ")
        time.sleep(0.5)

    def send(self, number: int, *pids: int) -> None:
        """A signal, after a look at what the run holds."""
        for pid in (self.launcher.pid, self.mpirun, *self.ranks.values()):
            self.sockets |= sockets_of(pid) & tcp_sockets()
        for pid in pids:
            os.kill(pid, number)

    def end(self, limit_s: float = END_LIMIT_S) -> dict[str, Any]:
        """The record, which has to be there within the limit, and the launcher soon after it."""
        if not soon(lambda: self.records() != [], limit_s):
            self.launcher.kill()
            raise AssertionError(f"no record within {limit_s} s: {self.said()}")
        self.launcher.wait(timeout=LEFT_LIMIT_S)
        return self.records()[-1]

    def records(self) -> list[dict[str, Any]]:
        return records_in(self.folder) if (self.folder / "records.jsonl").exists() else []

    def processes(self) -> list[int]:
        """Of the run that are alive; ranks, mpirun and whatever they have started, too."""
        launcher = [self.launcher.pid] if is_alive(self.launcher.pid) else []
        return launcher + processes_with("REGATTA_RUN_ID", self.run_id)

    def still_there(self) -> list[str]:
        """Processes, sockets and files. One that ends loses its environment before its sockets."""
        keeper = [self.keeper] if is_alive(self.keeper) else []
        return [f"process {pid}" for pid in self.processes() + keeper] + [
            f"socket {inode}" for inode in self.sockets & tcp_sockets()] + [
            str(path) for path in (*self.memory, *self.scratch.iterdir()) if path.exists()]

    def left(self) -> list[str]:
        """What is still there when all should have gone."""
        soon(lambda: not self.still_there(), LEFT_LIMIT_S)
        return self.still_there()
