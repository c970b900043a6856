# SPDX-License-Identifier: Apache-2.0
"""What a command line asks for, read with no help from the program: words, flags, decimal numbers.
A line that says a thing twice, or nothing, or a number in no way that people read one, has to be
refused; what is accepted has to be what was asked for, by the record and by the output.
"""

import json
import math
import os
import re
import shlex
from pathlib import Path
from typing import Any, NamedTuple

from .folder import RECORDS, SIMULATED, State
from .processes import Done
from .subject import Subject

WHOLE = re.compile(r"[+-]?[0-9]+")
REAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
FRACTION = re.compile(r"--(?:alpha|[a-z-]+-effect)")  # of flags that are a part of something
HELP = {"--help", "--version"}
SHORT_HELP = "-h"  # and what is written behind it
FLAGS_END = "--"
SEEDS = {"--seed", "--seeds"}
RUN_FAILED = 2
UNTOLD = {"auto"}  # values that the record answers by another


class Folder(NamedTuple):
    """In which the command line was tried: `here`, below `root`, and all that is below it."""

    root: Path
    here: Path
    before: State
    after: State


class Asked(NamedTuple):
    """`flags`: in their order, with their values. `others`: words that are no flags."""

    subcommand: str
    flags: list[tuple[str, str]]
    others: list[str]

    def values(self, flag: str) -> list[str]:
        return [value for name, value in self.flags if name == flag]

    def has(self, flag: str) -> bool:
        return bool(self.values(flag))

    @property
    def is_help(self) -> bool:
        """Also of no words, to which the program says how to begin."""
        return self == Asked("", [], []) or any(name in HELP for name, _ in self.flags)


def read(words: list[str], subject: Subject) -> Asked:
    name = words[0] if words else ""
    known = subject.subcommands[name].flags if name in subject.subcommands else {}
    asked = Asked(name, [], [])
    rest = list(words[1:] if known else words)
    while rest:
        word = rest.pop(0)
        flag, equals, value = word.partition("=")
        if word == FLAGS_END:
            asked.others.extend(rest)
            break
        if word.startswith(SHORT_HELP):
            asked.flags.append(("--help", ""))
        elif not word.startswith("--"):
            asked.others.append(word)
        elif equals or flag not in known or not known[flag].takes:
            asked.flags.append((flag, value))
        else:
            asked.flags.append((flag, rest.pop(0) if rest else ""))
    return asked


def why_to_refuse(asked: Asked, subject: Subject) -> str:
    """Empty: it may be accepted."""
    if asked.subcommand not in subject.subcommands:
        return "there is no such subcommand"
    known = subject.subcommands[asked.subcommand]
    if len(asked.others) > known.others:
        return f"{len(asked.others)} words that are no flags"
    if "" in asked.others:
        return "an empty word"
    seen = set()
    for flag, value in asked.flags:
        if flag not in known.flags:
            return "an unknown flag"
        if flag in seen:
            return f"{flag} is there twice"
        seen.add(flag)
        if not known.flags[flag].takes:
            continue
        if value == "":
            return f"{flag} is empty"
        if value.startswith("--"):
            return f"{flag} has a flag for a value"
        if wrong := why_no_number(flag, value, known.flags[flag].takes):
            return wrong
    return ""


def why_no_number(flag: str, value: str, takes: str) -> str:
    shown = value if len(value) < 30 else f"{value[:30]}..."
    if takes in ("INT", "UINT") and not WHOLE.fullmatch(value):
        return f"{flag} {shown!r} is no whole decimal number"
    if takes != "FLOAT":
        return ""
    if not REAL.fullmatch(value) or not math.isfinite(float(value)):
        return f"{flag} {shown!r} is no finite decimal number"
    if FRACTION.fullmatch(flag) and float(value) <= 0:
        return f"{flag} {shown} is not greater than 0"
    return ""


def stragglers(text: str) -> list[dict[str, float]] | None:
    """By worker, as in a record."""
    parts = [part.partition(":") for part in text.split(",")]
    if not all(WHOLE.fullmatch(worker) and REAL.fullmatch(factor) for worker, _, factor in parts):
        return None
    return sorted(({"worker": int(worker), "factor": float(factor)} for worker, _, factor in parts),
                  key=lambda one: one["worker"])


def same(value: str, recorded: Any) -> bool:
    if isinstance(recorded, bool) or value in UNTOLD:
        return True
    if recorded is None:  # it has no part in this run
        return value == "off"
    if isinstance(recorded, int) and WHOLE.fullmatch(value):
        return int(value) == recorded
    if isinstance(recorded, (int, float)):
        return bool(REAL.fullmatch(value)) and float(value) == recorded
    if isinstance(recorded, list):
        return stragglers(value) == recorded
    return value == recorded


def fields_of(record: dict[str, Any]) -> dict[str, Any]:
    """By the flag that sets them."""
    cell = dict(record["cell"])
    fields = {**cell.pop("options"), **cell, "target": record["target"]["value"]}
    if "servers" in fields:
        fields.pop("processes")  # which counts those of the servers
    return {"--" + name.replace("_", "-"): value for name, value in fields.items()}


def other_work(asked: Asked, words: list[str], record: dict[str, Any]) -> list[str]:
    """What the record has otherwise than the words."""
    fields = fields_of(record)
    found = [f"{flag} {value!r}, but the record says {fields[flag]!r}"
             for flag, value in asked.flags if flag in fields and not same(value, fields[flag])]
    command = str(record["command"])
    try:
        whole = shlex.split(command) == ["regatta", *words]
    except ValueError:
        whole = False
    if not whole and not any("\udc80" <= letter <= "\udcff" for letter in "".join(words)):
        found.append("the record's command is another than the one that was given")
    if asked.has("--steps") and record["status"] != "failed" and record["evaluations"]:
        batch, steps = record["cell"]["global_batch"], int(asked.values("--steps")[0])
        if record["evaluations"][-1]["examples"] < batch * steps:
            found.append("fewer steps than asked for")
    return found


def wrong_records(asked: Asked, words: list[str], lines: list[bytes]) -> list[str]:
    """Of the runs of a command, one a seed."""
    seeds = int(asked.values("--seeds")[0]) if asked.has("--seeds") else 1
    if len(lines) != seeds:
        return [f"{len(lines)} lines were added for {seeds} seeds"]
    try:
        records = [json.loads(line) for line in lines]
    except ValueError as error:
        return [f"{len(lines)} lines were added: {str(error)[:80]}"]
    if seeds == 1:
        return other_work(asked, words, records[0])
    first = int(asked.values("--seed")[0]) if asked.has("--seed") else 1
    found = []
    for seed, record in enumerate(records, start=first):
        one, rest = of_one_seed(asked, words, seed)
        found += other_work(one, rest, record)
    return found


def of_one_seed(asked: Asked, words: list[str], seed: int) -> tuple[Asked, list[str]]:
    """What the command would be for a run of it."""
    left, waits = [], False
    for word in words:
        flag, equals, _ = word.partition("=")
        if not waits and flag not in SEEDS:
            left.append(word)
        waits = not waits and flag in SEEDS and not equals
    flags = [(name, value) for name, value in asked.flags if name not in SEEDS]
    return (asked._replace(flags=[*flags, ("--seed", str(seed))]), [*left, "--seed", str(seed)])


def outside(asked: Asked, words: list[str], file: Path) -> list[str]:
    """Records of a file outside of the folder, where nothing is kept from before; it goes."""
    try:
        lines = file.read_bytes().splitlines()
        file.unlink()
    except OSError as error:
        return [f"no record in {file}: {error}"]
    return wrong_records(asked, words, lines)


def wrong_run(asked: Asked, words: list[str], folder: Folder) -> list[str]:
    """Of a run that ended with a record, it says."""
    out = (asked.values("--out") or ["out"])[0]
    kept = SIMULATED if asked.has("--cluster") else RECORDS
    file = os.path.realpath(folder.here / out / kept)
    name = os.path.relpath(file, folder.root)
    if name.startswith("../"):
        return outside(asked, words, Path(file))
    kind, content = folder.after.get(name, ("", b""))
    if kind != "file":
        instead = f"a {kind}" if kind else "not there"
        return [f"no record was added to {file[:80]}, which is {instead}"]
    former = folder.before.get(name, ("", b""))[1]
    lines = [line for line in content.removeprefix(former).splitlines() if line]
    return wrong_records(asked, words, lines)


def wrong_calibration(asked: Asked, words: list[str], folder: Folder) -> list[str]:
    out = (asked.values("--out") or ["calibration.json"])[0]
    try:
        made = json.loads((folder.here / out).read_bytes())
        if made["kernels"] and shlex.split(made["command"]) == ["regatta", *words]:
            return []
        return ["a calibration of another command, or of nothing"]
    except (OSError, ValueError, KeyError) as error:
        return [f"no calibration in {out[:80]}: {str(error)[:80]}"]


def prints(asked: Asked) -> bool:
    """Whether its product is what it prints."""
    if asked.subcommand == "export":
        return not asked.has("--out")
    if asked.subcommand == "report":
        return "json" in asked.values("--format")
    if asked.subcommand == "matrix":
        return asked.has("--dry-run")
    if asked.subcommand == "graph":
        return "chakra" not in asked.values("--format")
    return asked.is_help or asked.subcommand != "run"


def wrong_work(words: list[str], subject: Subject, done: Done, stdout: str,
               folder: Folder) -> list[str]:
    """Exit code 0 with other work than asked for. `stdout`: where it went; empty: it was kept."""
    asked = read(words, subject)
    if not done.accepted and done.code != RUN_FAILED:
        return []
    if done.code in (3, 4) and asked.subcommand != "compare":
        return [f"exit code {done.code}, which is a verdict of compare"]
    wrong = "" if asked.is_help else why_to_refuse(asked, subject)
    if wrong:
        return [f"accepted, though {wrong}"]
    if done.accepted and prints(asked):
        if stdout:
            return [f"exit code {done.code}, though {stdout} takes nothing"]
        if not done.stdout:
            return ["exit code 0 with nothing said"]
    if asked.subcommand == "run" and not asked.is_help:
        return wrong_run(asked, words, folder)
    if asked.subcommand == "calibrate" and not asked.is_help:
        return wrong_calibration(asked, words, folder)
    return []
