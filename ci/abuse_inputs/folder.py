# SPDX-License-Identifier: Apache-2.0
"""The folder in which a command line is tried. It is full of what may not be lost, and of what a
path may lead to: records, other files, folders, links in a circle, a FIFO, devices.
"""

import os
import shutil
import stat
from pathlib import Path

RECORDS = "records.jsonl"
SIMULATED = "simulated.jsonl"
KEPT = (RECORDS, SIMULATED, "records.damaged")  # what may grow, and nothing else
DEVICES = ("zero", "full", "null")
# Where nothing can be written, whoever asks. No other absolute path may be tried.
ABSOLUTE = ("/proc/regatta", "/proc/nonesuch/x")
# Relative to the folder; made by Treasures.
PATHS = ("g", "h", "out", "empty", "with spaces", "g/records.jsonl", "g/trace.json", "g/old.csv",
         "notes.txt", "matrix.toml", "cluster.toml", "calibration.json", "bench.json", "deep.json",
         "loop", "loop/x", "fifo", "link",
         "dangling", "zero", "full", "null", "records_is_a_folder", "records_is_a_fifo",
         "records_is_zero", "g/simulated.jsonl", "new/simulated.jsonl",
         "h/records.damaged", "empty/link", "new/RECORDS.jsonl", "notes.txt/below", "new",
         "new/deeper",
         ".", "..", "./g/", "../here/g",
         "-", "~", "$HOME", "*", "new\nline", "'quoted'", '"quoted"', "a,b", "[g]", "name\udcff",
         "ünïcode", "n" * 300, "n/" * 2100, "n" * 100_000, *ABSOLUTE)
MATRIX = """seeds = 1
[[race]]
workload = "parabola"
steps = 2
strategy = ["single", "async_shared"]
"""
BENCH = """{"context": {"executable": "./bench"}, "benchmarks": [
{"name": "BM_Add/1", "run_name": "BM_Add/1", "run_type": "iteration", "real_time": 2.0,
 "cpu_time": 2.0, "time_unit": "ns"}]}
"""
CLUSTER = """calibration = "calibration.json"
[[host]]
count = 2
processes = 1
"""
DEPTH = 100_000

Entry = tuple[str, bytes]  # what it is, and its bytes or what it links to
State = dict[str, Entry]


def state_of(root: Path, most_bytes: int = 1 << 40) -> State:
    """All below it, by path. Follows no link and opens nothing but files, of no more bytes."""
    state: State = {}
    folders = [(str(root), "")]
    while folders:
        path, prefix = folders.pop()
        for entry in os.scandir(path):
            name = prefix + entry.name
            if entry.is_symlink():
                state[name] = ("link", os.fsencode(os.readlink(entry.path)))
            elif entry.is_dir(follow_symlinks=False):
                state[name] = ("folder", b"")
                folders.append((entry.path, name + "/"))
            elif entry.is_file(follow_symlinks=False):
                if entry.stat(follow_symlinks=False).st_size > most_bytes:
                    state[name] = ("large file", b"")
                    continue
                with open(entry.path, "rb") as file:
                    state[name] = ("file", file.read())
            else:
                state[name] = ("special file", b"")
    return state


def is_records(name: str) -> bool:
    return name.rpartition("/")[2] in KEPT


def lost(before: State, after: State, overwrite: bool) -> list[str]:
    """What is gone or changed. Records may grow; other files may be replaced if that was asked."""
    found = []
    for name, (kind, content) in before.items():
        now = after.get(name)
        if now == (kind, content):
            continue
        if now is None:
            found.append(f"{name} is gone")
        elif now[0] != kind and not (overwrite and kind == "link"):
            found.append(f"{name}, a {kind}, has become a {now[0]}")
        elif is_records(name):
            if not now[1].startswith(content):
                found.append(f"the records of {name} are lost")
        elif not overwrite:
            found.append(f"{name} is changed")
    return found


def devices_lost() -> list[str]:
    return [f"/dev/{name} is no device any more" for name in DEVICES
            if not stat.S_ISCHR(os.lstat(f"/dev/{name}").st_mode)]


class Treasures:
    """A folder `here` below `root` to be the working directory; made anew when something in it has
    changed."""

    def __init__(self, root: Path, records: bytes, calibration: bytes = b"") -> None:
        self.root = root
        self.here = root / "here"
        self.records = records
        self.calibration = calibration
        self.before: State = {}

    def ready(self) -> State:
        """What is there now, before an input."""
        if not self.before:
            shutil.rmtree(self.root, ignore_errors=True)
            self.make()
            self.before = state_of(self.root)
        return self.before

    def after(self) -> State:
        """What is there after an input."""
        state = state_of(self.root)
        if state != self.before:
            self.before = {}
        return state

    def make(self) -> None:
        for folder in ("g", "h", "out", "empty", "with spaces", "records_is_a_folder/" + RECORDS,
                       "records_is_a_fifo", "records_is_zero"):
            (self.here / folder).mkdir(parents=True)
        for folder in ("g", "h", "out", "with spaces"):
            (self.here / folder / RECORDS).write_bytes(self.records)
        (self.here / "g" / SIMULATED).touch()
        (self.here / "h" / KEPT[2]).write_text("{\n")
        for name, text in (("g/trace.json", "[]\n"), ("g/old.csv", "a,b\r\n"),
                           ("notes.txt", "do not lose me\n"), ("matrix.toml", MATRIX),
                           ("bench.json", BENCH), ("deep.json", "[" * DEPTH),
                           ("cluster.toml", CLUSTER)):
            (self.here / name).write_text(text)
        (self.here / "calibration.json").write_bytes(self.calibration)
        for name, target in (("loop", "loop"), ("link", "g/" + RECORDS), ("dangling", "nowhere"),
                             ("records_is_zero/" + RECORDS, "/dev/zero"), ("empty/link", RECORDS),
                             *((name, f"/dev/{name}") for name in DEVICES)):
            (self.here / name).symlink_to(target)
        os.mkfifo(self.here / "fifo")
        os.mkfifo(self.here / "records_is_a_fifo" / RECORDS)
