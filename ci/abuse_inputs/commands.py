# SPDX-License-Identifier: Apache-2.0
"""Command lines: a sensible one, then up to three things wrong with it. Where they run, files lie
about that may not be lost. An input is one command line.
"""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from . import known, values
from .asked import REAL, WHOLE, Folder, read, why_to_refuse, wrong_work
from .folder import ABSOLUTE, Treasures, devices_lost, lost
from .oracle import Verdict, broken, quoted
from .processes import run
from .subject import CALIBRATED, Flag, Subject

KIND = "commands"
SERVED = "parameter_server"  # with processes of their own, which take a second to start
RARE = 100  # of as many lines one may take seconds
ATTEMPTS = 50
# Where `regatta calibrate`, which measures for seconds, cannot write.
CLOSED = {"notes.txt", "g/trace.json", "g/old.csv", "g/records.jsonl", "new/records.jsonl", "link",
          "empty/link", "new/simulated.jsonl", "h/records.damaged", "g", "h", "out", "loop",
          "loop/x", "notes.txt/below", *ABSOLUTE}
FEW_SEEDS, MOST_SEEDS = 5, 1_000
EXPORTS = ("dawnbench", "mllog", "gbench", "github", "bmf", "csv")


class Line(NamedTuple):
    words: list[str]
    stdout: str  # where it goes; empty: it is kept

    @property
    def said(self) -> str:
        return f"regatta {quoted(self.words)}" + (f" > {self.stdout}" if self.stdout else "")


def cell(rng: random.Random, subject: Subject, rare: bool) -> list[str]:
    strategy = rng.choice(subject.strategies)
    if rng.random() < 0.05:
        strategy = "all_reduce+model_parallel"
    words = ["--workload", "parabola", "--strategy", strategy, "--steps", str(rng.randrange(1, 9))]
    if strategy == "single":
        return words
    workers = "4" if "+" in strategy else str(rng.choice((1, 2, 2, 3)))
    words += ["--workers", workers, *([] if rare else ["--processes", "1"])]
    return words + ["--stages", "2"] if "+" in strategy else words


def sensible(rng: random.Random, subject: Subject, rare: bool) -> list[str]:
    kind = rng.random()
    if kind < 0.04 and subject.calibration:
        words = rng.choice((["run"], ["run", "--virtual", "train"],
                            ["graph", "--format", "chakra"]))
        return [*words, *CALIBRATED, "--cluster", "cluster.toml", "--out", "new"]
    if kind < 0.07:
        return ["calibrate", *cell(rng, subject, rare), "--out",
                "new/calibration.json" if rare else rng.choice(sorted(CLOSED))]
    if kind < 0.5:
        words = ["run", *cell(rng, subject, rare), "--out", rng.choice(("g", "new", "with spaces"))]
        return words + (["--seeds", rng.choice("123")] if rng.random() < 0.1 else [])
    if kind < 0.7:
        words = ["graph", *cell(rng, subject, rare), "--format"]
        return words + rng.choice((["text"], ["dot"], ["chakra", "--out", "new"]))
    if kind < 0.8:
        words = ["export", rng.choice(("g", "h")), "--format", rng.choice(EXPORTS)]
        return words + rng.choice(([], ["--out", "new"], ["--author", "me", "--out", "new/new"]))
    if kind < 0.87:
        return ["compare", rng.choice(("g", "bench.json")), rng.choice(("h", "bench.json")),
                *rng.choice(([], ["--format", "json"], ["--speed-effect", "0.1"]))]
    if kind < 0.92:
        return ["report", "g", *rng.choice(([], ["h"])), "--format", "json"]
    if kind < 0.96:
        return ["matrix", "matrix.toml", "--dry-run", "--out", rng.choice(("g", "h"))]
    if kind < 0.98:
        return ["list", *rng.choice(([], ["workloads"], ["strategies"])),
                *rng.choice(([], ["--format", "json"]))]
    return rng.choice((["doctor", "--data-dir", "g"], ["--version"], ["--help"], ["run", "--help"],
                       ["matrix", "matrix.toml", "--seeds", "1", "--out", "new"]))


def value_of(rng: random.Random, flag: Flag, subject: Subject) -> str:
    if flag.takes in ("INT", "UINT", "FLOAT"):
        return values.number(rng) if rng.random() < 0.95 else values.text(rng)
    draw = rng.random()
    if draw < 0.1:
        return ""
    if draw < (0.8 if flag.is_path else 0.2):
        return values.path(rng)
    if draw < 0.85:
        return rng.choice(subject.words + subject.strategies)
    return values.text(rng) if draw < 0.95 else values.number(rng)


def set_flag(rng: random.Random, words: list[str], subject: Subject) -> None:
    """To a value that may be odd, in one of the two forms; in the place of the former value, if it
    has one."""
    known = subject.subcommands.get(words[0] if words else "")
    if known is None:
        words.append(values.text(rng))
        return
    flags = list(known.flags.values())
    paths = [flag for flag in flags if flag.is_path]
    flag = rng.choice(paths if paths and rng.random() < 0.3 else flags)
    if flag.takes == "":
        words.append(flag.name if rng.random() < 0.95 else f"{flag.name}={values.text(rng)}")
        return
    value = value_of(rng, flag, subject)
    if flag.name in words[:-1]:
        at = words.index(flag.name)
        words[at:at + 2] = []
    words += [f"{flag.name}={value}"] if rng.random() < 0.4 else [flag.name, value]


def make_wrong(rng: random.Random, words: list[str], subject: Subject) -> None:
    draw, at = rng.random(), rng.randrange(len(words))
    flags = [i for i, word in enumerate(words[:-1]) if word.startswith("--")]
    if draw < 0.6:
        set_flag(rng, words, subject)
    elif draw < 0.68 and flags:  # twice
        again = rng.choice(flags)
        words += [words[again], rng.choice((words[again + 1], "1", ""))]
    elif draw < 0.76:
        words[at] = values.misspelt(rng, words[at])
    elif draw < 0.82:
        del words[at]
    elif draw < 0.88:
        words.insert(at, values.text(rng))
    elif draw < 0.96:
        others = [i for i, word in enumerate(words) if i > 0 and not word.startswith("--")]
        if others:
            words[rng.choice(others)] = values.path(rng)
    else:
        other = rng.randrange(len(words))
        words[at], words[other] = words[other], words[at]


def may_be_large(text: str) -> bool:
    """Whether it may be read as a number above one."""
    if REAL.fullmatch(text):
        return abs(float(text)) > 1
    return any(letter.isdigit() for letter in text)


def takes_long(words: list[str], subject: Subject) -> bool:
    """Work that is sound but not for here, such as a tier of a matrix or a page with figures."""
    asked = read(words, subject)
    rest = [value for _, value in asked.flags] + asked.others
    if asked.subcommand == "matrix":
        small = not asked.has("--tier") and not asked.has("--draw")
        dry = ("--dry-run", "") in asked.flags
        return not dry and not (small and asked.values("--seeds") == ["1"])
    if asked.subcommand == "report":
        return "json" not in asked.values("--format")
    if asked.subcommand == "calibrate":
        is_closed = set(asked.values("--out")) & CLOSED and not asked.has("--overwrite")
        return not (is_closed or why_to_refuse(asked, subject))
    if asked.subcommand not in ("run", "graph"):
        return False
    if any(WHOLE.fullmatch(seeds) and FEW_SEEDS < int(seeds) <= MOST_SEEDS
           for seeds in asked.values("--seeds")):
        return True
    others = set(subject.workloads) - {"parabola"}
    if any(word.strip() in others for word in rest) and asked.subcommand == "run":
        return True
    processes = asked.values("--processes")
    served = any(SERVED in word for word in rest) and processes != ["1"]
    return asked.subcommand == "run" and (served or any(map(may_be_large, processes)))


def leads_out(words: list[str]) -> bool:
    """Of the folder, to what is not ours to lose."""
    values_too = [part for word in words for part in (word, word.partition("=")[2])]
    return any(part.startswith("/") and part not in ABSOLUTE for part in values_too)


def fits(words: list[str], subject: Subject, rare: bool) -> bool:
    if leads_out(words):
        return False
    if not takes_long(words, subject):
        return True
    asked = read(words, subject)
    if not rare or asked.subcommand == "matrix":
        return False
    if asked.subcommand != "run":
        return True
    parabola = asked.values("--workload") == ["parabola"] and asked.others == []
    counts = [value for flag in ("--workers", "--processes", "--servers", "--backup-workers")
              for value in asked.values(flag)]
    return parabola and all(value in ("1", "2", "3") for value in counts)


def drawn(subject: Subject, number: int) -> Line:
    if number < len(known.COMMANDS):
        words, stdout = known.COMMANDS[number]
        return Line(list(words), stdout)
    rng = values.random_of(subject.seed, KIND, number)
    rare = number % RARE == 0
    for _ in range(ATTEMPTS):
        words = sensible(rng, subject, rare)
        for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 3))):
            make_wrong(rng, words, subject)
            words = words or ["run"]
        if fits(words, subject, rare):
            return Line(words, known.FULL if rng.random() < 0.05 else "")
    return Line(["list"], "")


def judged(subject: Subject, number: int, treasures: Treasures) -> Verdict:
    line = drawn(subject, number)
    before = treasures.ready()
    done = run([subject.program, *line.words], treasures.here, subject.limit_s, line.stdout)
    after = treasures.after()
    folder = Folder(treasures.root, treasures.here, before, after)
    wrong = broken(done) + wrong_work(line.words, subject, done, line.stdout, folder)
    wrong += lost(before, after, overwrite="--overwrite" in line.words) + devices_lost()
    return Verdict(number, done.accepted, line.said, tuple(wrong))


def judge(subject: Subject, numbers: Sequence[int], folder: Path) -> list[Verdict]:
    treasures = Treasures(folder / KIND, subject.records, subject.calibration)
    return [judged(subject, number, treasures) for number in numbers]
