# SPDX-License-Identifier: Apache-2.0
"""Shared by tests of whole runs: starting the program, reading records.

A test is started as `NAME_test.py REGATTA SCHEMA [unittest arguments]`. All its files are in one
folder, which is removed when it ends.
"""

import contextlib
import functools
import gzip
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from proc_support import processes_with

REGATTA = str(Path(sys.argv[1]).resolve())
SCRATCH = tempfile.TemporaryDirectory(prefix=f"regatta-{Path(sys.argv[0]).stem}-")
CIFAR_FILES = (*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin")
CIFAR_BYTES = 30_730_000  # of each file
LIMIT_S = 300  # limit of a run that ends by itself
LEFT_LIMIT_S = 15  # until the last process has ended

SKIPPED = 77
MARK = "REGATTA_STARTED_BY_TEST"

NOBODY = 65534  # user and group

PARABOLA = ("--workload", "parabola", "--steps", "200")  # a run of milliseconds


def skip(reason: str) -> NoReturn:
    """Skips all tests of the file."""
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def skip_without_mpirun() -> None:
    if shutil.which("mpirun") is None:
        skip("mpirun is not installed")


def record_validator() -> Any:
    """A validator for the schema. Skips all tests of the file if jsonschema is not installed."""
    try:
        import jsonschema
    except ImportError:
        skip("python3-jsonschema is not installed")
    return jsonschema.Draft202012Validator(json.loads(Path(sys.argv[2]).read_text()))


def run_tests() -> None:
    """Runs the tests of the file that was started."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a script's background job
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    unittest.main(module="__main__", argv=[sys.argv[0], *sys.argv[3:]],
                  verbosity=2)  # shows the reasons of skips, for ci/skipped


def core_seconds() -> float:
    """The CPU time of all ended children; other processes do not count."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def fresh_folder() -> Path:
    return Path(tempfile.mkdtemp(dir=SCRATCH.name))


@contextlib.contextmanager
def environment_of_its_own() -> Iterator[dict[str, str]]:
    """The environment for programs that, with all they have started on this machine, must have
    ended soon after the block."""
    mark = uuid.uuid4().hex
    yield os.environ | {MARK: mark}
    left = processes_with(MARK, mark)
    if left and not soon(lambda: processes_with(MARK, mark) == [], LEFT_LIMIT_S):
        raise AssertionError(f"processes are left: {processes_with(MARK, mark)}")


def regatta(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs the program. stdout and stderr are pipes; no process may be left."""
    with environment_of_its_own() as variables:
        return subprocess.run([REGATTA, *arguments], capture_output=True, text=True,
                              timeout=LIMIT_S, env=variables | environment)


def output_of(*arguments: str) -> str:
    done = regatta(*arguments)
    if done.returncode != 0:
        raise AssertionError(f"{arguments}: exit code {done.returncode}: {done.stderr}")
    return done.stdout


def record_lines(folder: Path, name: str = "records.jsonl") -> list[str]:
    """The lines of the folder's records, compressed or not, with their ends. Throws: OSError."""
    compressed = folder / f"{name}.gz"
    if compressed.exists():
        return gzip.decompress(compressed.read_bytes()).decode().splitlines(keepends=True)
    return (folder / name).read_text().splitlines(keepends=True)


def records_in(folder: Path) -> list[dict[str, Any]]:
    """The records of whole lines: one that is being written may be seen in part."""
    return [json.loads(line) for line in record_lines(folder) if line.endswith("\n")]


@functools.cache
def record_of(*arguments: str) -> dict[str, Any]:
    """Returns the only record of a run. Equal arguments run only once."""
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
    """A file system in memory. Skips the test if it cannot be mounted."""
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
    """A folder that programs of start_unprivileged() may write to."""
    Path(SCRATCH.name).chmod(0o755)
    folder = fresh_folder()
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
    return folder


def start_unprivileged(*arguments: str) -> subprocess.Popen[str]:
    """Starts the program as a user who, unlike root, is bound by file modes. Skips the test if
    this user cannot execute the program."""
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
    """Waits until the condition holds. False if it does not hold within the limit."""
    deadline = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
