# SPDX-License-Identifier: Apache-2.0
"""Folders of CIFAR-10 whose files are holes of the right size, then something wrong with one of
them. An input is one folder, shown by `regatta doctor` or trained on for a step.
"""

import os
import random
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from . import values
from .folder import RECORDS
from .oracle import Verdict, broken, quoted
from .processes import Done, run
from .subject import Subject

KIND = "data"
NAMES = (*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin")
RECORD_BYTES = 3073
FILE_BYTES = 10_000 * RECORD_BYTES
DATA = "cifar"
RUN = ("run", "--workload", "resnet9_thin", "--dataset", "cifar10", "--steps", "1",
       "--global-batch", "32", "--out", "new", "--data-dir", DATA)
SOUND = 0.05  # of folders have nothing wrong, and are trained on
TRAINING = 4  # as long a limit for those, for 20,000 evaluations take seconds
UNVERIFIED = ("--data", "unverified")  # allows what was not published
LENGTHS = (0, 1, RECORD_BYTES, FILE_BYTES - RECORD_BYTES, FILE_BYTES - 1, FILE_BYTES + 1,
           FILE_BYTES + RECORD_BYTES, 10 * FILE_BYTES, 1 << 40)
WHOLE = re.compile(rb"(\d+) of 6 files")


class Wrong(NamedTuple):
    """What is wrong with one file; empty: nothing."""

    name: str
    what: str

    def __str__(self) -> str:
        return f"{self.name} {self.what}" if self.what else "six files of zeros"


def spoilt(rng: random.Random, folder: Path) -> Wrong:
    name = rng.choice(NAMES)
    file = folder / name
    what = rng.choice(("length", "label", "gone", "folder", "fifo", "zero", "loop", "dangling"))
    if rng.random() < SOUND:
        return Wrong(name, "")
    if what == "length":
        length = rng.choice(LENGTHS)
        os.truncate(file, length)
        return Wrong(name, f"has {length} bytes")
    if what == "label":
        record, label = rng.randrange(10_000), rng.choice((10, 127, 128, 255))
        with open(file, "r+b") as content:
            content.seek(record * RECORD_BYTES)
            content.write(bytes([label]))
        return Wrong(name, f"has label {label} in record {record}")
    file.unlink()
    if what == "folder":
        file.mkdir()
    elif what == "fifo":
        os.mkfifo(file)
    elif what != "gone":
        file.symlink_to({"zero": "/dev/zero", "loop": file.name, "dangling": "nowhere"}[what])
    return Wrong(name, f"is a {what}" if what != "gone" else "is gone")


def made(rng: random.Random, here: Path) -> Wrong:
    shutil.rmtree(here, ignore_errors=True)
    folder = here / DATA
    folder.mkdir(parents=True)
    for name in NAMES:
        (folder / name).touch()
        os.truncate(folder / name, FILE_BYTES)
    return spoilt(rng, folder)


def wrong_work(wrong: Wrong, done: Done, here: Path, words: tuple[str, ...],
               subject: Subject) -> list[str]:
    found = WHOLE.search(done.stdout)
    if words[0] == "doctor" and done.code == 0:
        expected = 6 if wrong.what == "" or "label" in wrong.what else 5
        if found is None or int(found[1]) != expected:
            return [f"doctor says '{found[0].decode() if found else ''}', {expected} are whole"]
        return []
    has_record = (here / "new" / RECORDS).exists() and (here / "new" / RECORDS).stat().st_size > 0
    if done.code != 0:
        return ["a refusal with a record"] if has_record else []
    verifies = "--data" in subject.subcommands["run"].flags and UNVERIFIED[0] not in words
    if wrong.what or verifies:
        return [f"trained on files that are not CIFAR-10: {wrong}"]
    return [] if has_record else ["exit code 0 without a record"]


def judged(subject: Subject, number: int, here: Path) -> Verdict:
    rng = values.random_of(subject.seed, KIND, number)
    wrong = made(rng, here)
    words: tuple[str, ...] = ("doctor", "--data-dir", DATA)
    if rng.random() < 0.7:
        may = "--data" in subject.subcommands["run"].flags and rng.random() < 0.6
        words = (*RUN, *(UNVERIFIED if may else ()))
    limit_s = subject.limit_s * (1 if wrong.what else TRAINING)
    done = run([subject.program, *words], here, limit_s)
    found = broken(done) + wrong_work(wrong, done, here, words, subject)
    missing = [name for name in NAMES if name != wrong.name and not (here / DATA / name).is_file()]
    found += [f"{name} is gone" for name in missing]
    return Verdict(number, done.accepted, f"regatta {quoted(words)}  # {wrong}", tuple(found))


def judge(subject: Subject, numbers: Sequence[int], folder: Path) -> list[Verdict]:
    return [judged(subject, number, folder / KIND) for number in numbers]
