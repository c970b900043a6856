# SPDX-License-Identifier: Apache-2.0
"""The program that is tried: its flags by its own --help, its names by its own list, records that
it wrote, so that a new flag or strategy is tried without a word here.
"""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

LIMIT_S = 60
RECORDED = (("--steps", "3"), ("--steps", "3", "--seed", "2"),
            ("--steps", "60", "--strategy", "async_shared", "--workers", "2"))
# A cell whose kernels are measured once, and how many processes it has.
CALIBRATED = ("--workload", "parabola", "--strategy", "all_reduce", "--workers", "2", "--processes",
              "2")
CALIBRATED_PROCESSES = 2
SUBCOMMAND = re.compile(r"(?m)^  ([a-z]+)  ")
FLAG = re.compile(r"^(?:-\w,)?(--[\w-]+)(?: ([A-Z]+)\b)?")
PATH = re.compile(r"file|folder|checkpoint|TOML", re.IGNORECASE)
POSITIONAL = re.compile(r"(?m)^  ([a-z]+) [A-Z]+\b(.*)$")
MANY = 1_000


class Flag(NamedTuple):
    """`takes`: INT, UINT, FLOAT or TEXT as --help says; empty: no value."""

    name: str
    takes: str
    is_path: bool


class Subcommand(NamedTuple):
    """`others`: how many words it takes that are no flags."""

    flags: dict[str, Flag]
    others: int


class Subject(NamedTuple):
    program: Path
    seed: int
    limit_s: float
    sanitized: bool
    subcommands: dict[str, Subcommand]
    workloads: tuple[str, ...]
    strategies: tuple[str, ...]
    words: tuple[str, ...]  # that options and flags may be set to
    records: bytes
    calibration: bytes = b""  # empty: none was asked for, or there is no mpirun


class Unusable(Exception):
    """The program does not do what it has to do before it can be tried."""


def output_of(program: Path, *words: str) -> str:
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=LIMIT_S,
                          check=False)
    if done.returncode != 0:
        raise Unusable(f"{program.name} {' '.join(words)}: exit code {done.returncode}: "
                       f"{done.stderr.strip()}")
    return done.stdout


def subcommand_in(text: str) -> Subcommand:
    """Of its --help. An entry may go on in the next line, which begins further right."""
    flags = {}
    for entry in re.split(r"\n  (?=-)", text)[1:]:
        if found := FLAG.match(entry):
            takes = found[2] or ""
            flags[found[1]] = Flag(found[1], takes, takes == "TEXT" and bool(PATH.search(entry)))
    positionals = text.partition("\nPositionals:\n")[2].partition("\nOptions:\n")[0]
    others = sum(MANY if "..." in rest else 1 for _, rest in POSITIONAL.findall(positionals))
    return Subcommand(flags, others)


def is_sanitized(program: Path) -> bool:
    code = program.read_bytes()
    return any(name in code for name in (b"__asan_init", b"__tsan_init"))


def made_records(program: Path, scratch: Path) -> bytes:
    out = scratch / "made"
    for flags in RECORDED:
        output_of(program, "run", "--workload", "parabola", *flags, "--out", str(out))
    return (out / "records.jsonl").read_bytes()


def made_calibration(program: Path, scratch: Path) -> bytes:
    out = scratch / "calibration.json"
    output_of(program, "calibrate", *CALIBRATED, "--out", str(out))
    return out.read_bytes()


def subject_of(program: Path, seed: int, limit_s: float, scratch: Path,
               calibrates: bool) -> Subject:
    """Throws: Unusable."""
    names = SUBCOMMAND.findall(output_of(program, "--help"))
    subcommands = {name: subcommand_in(output_of(program, name, "--help")) for name in names}
    listed = json.loads(output_of(program, "list", "--format", "json"))
    options = [option for strategy in listed["strategies"] for option in strategy["options"]]
    words = {word for option in options for word in option.get("words", ())}
    words |= {word for one in listed["workloads"] for word in one["data_sets"]}
    words |= {"f32", "bf16", "on", "off", "auto", "cpu", "cuda", "timed", "heuristic", "text",
              "dot", "json", "unverified"}
    return Subject(program=program, seed=seed, limit_s=limit_s, sanitized=is_sanitized(program),
                   subcommands=subcommands, words=tuple(sorted(words)),
                   workloads=tuple(one["name"] for one in listed["workloads"]),
                   strategies=tuple(one["name"] for one in listed["strategies"]),
                   records=made_records(program, scratch),
                   calibration=(made_calibration(program, scratch)
                                if calibrates and shutil.which("mpirun") else b""))
