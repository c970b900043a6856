# SPDX-License-Identifier: Apache-2.0
"""The oracle of properties_test: one run of the program with limits, findings that hold for
every input, and a folder of files that no input may cost. A sound program has no finding.

REGATTA_EXAMPLES=TIMES gives each property as many times its examples.
"""

import os
import re
import resource
import shutil
import signal
import stat
import subprocess
import threading
import unittest
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from proc_support import processes_with
from test_support import LEFT_LIMIT_S, MARK, REGATTA, SCRATCH, fresh_folder, output_of, skip, soon

try:
    import hypothesis
    from hypothesis import strategies as st
except ImportError:
    skip("python3-hypothesis is not installed")

Draw = Callable[[st.SearchStrategy[Any]], Any]
State = dict[str, tuple[int, bytes]]  # by path: the type of the file, and its bytes

LIMIT_S = 30
ADDRESS_BYTES = 4 << 30
MOST_MEMORY_BYTES = 3 << 29  # no work that is asked for here needs a tenth of it
CODES = range(6)  # harness/cli/program.h
USAGE, RUN_FAILED = 1, 2
VERDICTS = (3, 4)  # of compare
PAGE_BYTES = 4_000  # of a refusal
WARNING = re.compile(rb"records\.jsonl:(\d+): (?:no record: |the same run as )")
REPORT = re.compile(rb"(?:ERROR|WARNING|SUMMARY): \w*Sanitizer|: runtime error: ")
RECORDS, SIMULATED = "records.jsonl", "simulated.jsonl"
KEPT = (RECORDS, SIMULATED, "records.damaged")  # files that grow, and are never replaced
DEVICES = ("zero", "full", "null")
TIMES = int(os.environ.get("REGATTA_EXAMPLES", "1"))


def checked(count: int, known: Sequence[tuple[Any, ...]],
            *inputs: st.SearchStrategy[Any]) -> Callable[[Any], Any]:
    """Tests inputs that once had findings, then `count` inputs that Hypothesis draws."""
    def decorated(test: Any) -> Any:
        test = hypothesis.given(*inputs)(test)
        for one in reversed(known):
            test = hypothesis.example(*one)(test)
        checks = hypothesis.HealthCheck
        return hypothesis.settings(
            max_examples=TIMES * count, deadline=None, derandomize=True, database=None,
            report_multiple_bugs=False, suppress_health_check=(
                checks.too_slow, checks.data_too_large, checks.filter_too_much,
                checks.large_base_example))(test)
    return decorated


class Done(NamedTuple):
    """The end of a program. `code`: exit code, or minus the signal that ended it."""

    code: int
    overdue: bool = False
    stdout: bytes = b""
    stderr: bytes = b""
    memory_bytes: int = 0
    left: int = 0  # processes


def run(words: Sequence[str], folder: Path, stdout: str = "", *, program: str = REGATTA,
        limit_s: float = LIMIT_S) -> Done:
    """The end of the program on these words. `stdout`: the file it goes to; empty: it is kept."""
    mark = uuid.uuid4().hex
    with open(os.memfd_create("stdout"), "w+b") as kept, \
            open(os.memfd_create("stderr"), "w+b") as errors, \
            open(stdout or os.devnull, "wb") as other:
        child = subprocess.Popen([program, *words], cwd=folder, stdin=subprocess.DEVNULL,
                                 stdout=other if stdout else kept, stderr=errors,
                                 env=os.environ | {MARK: mark}, start_new_session=True)
        timer = threading.Timer(limit_s, child.kill)
        timer.start()
        _, status, used = os.wait4(child.pid, 0)
        overdue = timer.finished.is_set()
        timer.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        soon(lambda: not processes_with(MARK, mark), min(LEFT_LIMIT_S, limit_s))
        left = processes_with(MARK, mark)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        kept.seek(0)
        errors.seek(0)
        return Done(child.returncode, overdue, kept.read(), errors.read(), used.ru_maxrss << 10,
                    len(left))


def broken(done: Done) -> list[str]:
    """Findings about the end of any program, whatever its input."""
    refusal = done.stderr if done.code == USAGE else b"regatta: "
    size = sum(len(line) for line in refusal.splitlines()
               if len(line) > PAGE_BYTES or not WARNING.search(line))
    return [finding for is_found, finding in (
        (done.overdue, "still running at the limit of time"),
        (not done.overdue and done.code not in CODES, f"exit code {done.code}"),
        (done.memory_bytes > MOST_MEMORY_BYTES, f"took {done.memory_bytes >> 20} MB"),
        (done.left > 0, f"left {done.left} processes"),
        (REPORT.search(done.stderr), f"a sanitizer's report: {done.stderr[:300]!r}"),
        (not refusal.startswith(b"regatta: "), f"a refusal that begins with {refusal[:40]!r}"),
        (size > PAGE_BYTES, f"a refusal of {size} bytes")) if is_found]


def state_of(root: Path) -> State:
    """Everything below the folder. Follows no link, and opens only files."""
    state: State = {}
    for folder, folders, files in os.walk(root):
        for path in (os.path.join(folder, name) for name in (*folders, *files)):
            mode = os.lstat(path).st_mode
            state[os.path.relpath(path, root)] = (stat.S_IFMT(mode), (
                os.fsencode(os.readlink(path)) if stat.S_ISLNK(mode) else
                Path(path).read_bytes() if stat.S_ISREG(mode) else b""))
    return state


def lost(before: State, after: State, *, overwrite: bool = False) -> list[str]:
    """Findings about files. Records may grow; other files may be replaced if that was requested."""
    found = [f"/dev/{name} is no device any more" for name in DEVICES
             if not stat.S_ISCHR(os.lstat(f"/dev/{name}").st_mode)]
    for name, (kind, content) in before.items():
        now = after.get(name)
        if now is None:
            found.append(f"{name} is gone")
        elif now[0] != kind and not (overwrite and stat.S_ISLNK(kind)):
            found.append(f"{name} is of another type")
        elif name.rpartition("/")[2] in KEPT and not now[1].startswith(content):
            found.append(f"the records of {name} are lost")
        elif name.rpartition("/")[2] not in KEPT and not overwrite and now[1] != content:
            found.append(f"{name} is changed")
    return found


OUT = fresh_folder()
output_of("run", *"--workload parabola --steps 60 --seeds 2 --out".split(), str(OUT))
RECORDED = (OUT / RECORDS).read_bytes()
TREASURES = {
    **{f"{folder}/{RECORDS}": RECORDED for folder in ("g", "h", "out", "with spaces")},
    "g/" + SIMULATED: b"", "h/records.damaged": b"{\n", "g/trace.json": b"[]\n",
    "g/old.csv": b"a,b\r\n", "notes.txt": b"do not lose me\n", "deep.json": b"[" * 100_000,
    "matrix.toml": b"seeds = 1\n[[race]]\nworkload = 'parabola'\nsteps = [2, 3]\n",
    "cluster.toml": b'calibration = "nonesuch"\n[[host]]\ncount = 2\n',
    f"records_is_a_folder/{RECORDS}/file": b"", f"records_is_zero/{RECORDS}": "/dev/zero",
    "loop": "loop", "link": "g/" + RECORDS, "dangling": "nowhere", "empty/link": RECORDS,
    **{name: f"/dev/{name}" for name in DEVICES}}  # texts: where links lead


class Property(unittest.TestCase):
    """An input is tried in the folder `here`, which is full of files that may not be lost, and of
    links, FIFOs and devices that a path may lead to."""

    root = Path(SCRATCH.name) / "root"
    here = root / "here"
    before: State = {}
    after: State = {}

    def fill(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        for name, content in TREASURES.items():
            path = self.here / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(content) if isinstance(content, str) else path.write_bytes(content)
        os.mkfifo(self.here / "fifo")
        (self.here / "records_is_a_fifo").mkdir()
        os.mkfifo(self.here / "records_is_a_fifo" / RECORDS)

    def added(self, file: str) -> list[bytes]:
        """The lines that the program has added to a file, which links may lead to."""
        name = str((self.here / file).resolve().relative_to(self.root.resolve()))
        before, after = (state.get(name, (0, b""))[1] for state in (self.before, self.after))
        return after.removeprefix(before).splitlines()

    def tried(self, words: Sequence[str], stdout: str) -> Done:
        """Runs the program; checks that it is sound and destroys no file. Returns its end."""
        self.fill()
        self.before = state_of(self.root)
        done = run(words, self.here, stdout)
        self.after = state_of(self.root)
        self.assertEqual([], broken(done) + lost(self.before, self.after,
                                                 overwrite="--overwrite" in words))
        return done


# Limits of this process and its children, so that the machine survives. A sanitizer maps terabytes.
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
if b"__asan_init" not in Path(REGATTA).read_bytes():
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_BYTES, hard))
hypothesis.configuration.set_hypothesis_home_dir(SCRATCH.name)
