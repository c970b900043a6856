# SPDX-License-Identifier: Apache-2.0
"""Files of checkpoints: one that a killed run left, then bytes of it changed, half of the time with
the checksum made to match, so that what follows it is tried, too. An input is one file, from which
`regatta run --resume` is to go on. harness/checkpoint/checkpoint.h has the format.
"""

import json
import random
import struct
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from . import values
from .folder import RECORDS, lost, state_of
from .oracle import Verdict, broken
from .processes import Done, run
from .subject import LIMIT_S, Subject, Unusable

KIND = "checkpoints"
RUN = ("run", "--workload", "parabola", "--steps", "2000")
EVERY = ("--checkpoint-every", "1")
RESUME = (*RUN, "--resume", "file", "--out", "new")
PROLOGUE_BYTES, WORD_BYTES = 32, 8
FNV_OFFSET, FNV_PRIME = 0xCBF29CE484222325, 0x100000001B3
WORDS = (0, 1, 255, 2**16, 2**31 - 1, 2**31, 2**32, 2**40, 2**62, 2**63 - 1, 2**63, 2**64 - 1)


def fnv1a(content: bytes) -> int:
    value = FNV_OFFSET
    for byte in content:
        value = (value ^ byte) * FNV_PRIME & 0xFFFFFFFFFFFFFFFF
    return value


def sealed(content: bytes) -> bytes:
    """With the checksum of what it now holds, which is not looked at in a file without one."""
    body = content[:-WORD_BYTES]
    return body + struct.pack("<Q", fnv1a(body))


def left_by_a_killed_run(subject: Subject, folder: Path) -> bytes:
    """Throws: Unusable."""
    process = subprocess.Popen([subject.program, *RUN, *EVERY, "--out", str(folder / "killed")],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    deadline = time.monotonic() + LIMIT_S
    try:
        while time.monotonic() < deadline and process.poll() is None:
            found = list((folder / "killed/checkpoints").glob("*/checkpoint"))
            if found:
                break
            time.sleep(0.001)
    finally:
        process.kill()
        process.communicate()
    if process.returncode >= 0:
        raise Unusable(f"regatta {' '.join((*RUN, *EVERY))} ended before it was killed")
    return next((folder / "killed/checkpoints").glob("*/checkpoint")).read_bytes()


def with_word_changed(rng: random.Random, content: bytes) -> bytes:
    """Sizes and counts are words of 8 bytes, at any place."""
    header = struct.unpack_from("<Q", content, 16)[0]
    end = rng.choice((PROLOGUE_BYTES, PROLOGUE_BYTES + header, len(content))) - WORD_BYTES
    at = rng.randrange(max(end, 1))
    word = rng.choice((*WORDS, rng.getrandbits(64)))
    return content[:at] + struct.pack("<Q", word) + content[at + WORD_BYTES:]


def changed(rng: random.Random, content: bytes) -> bytes:
    draw = rng.random()
    if draw < 0.4:
        return with_word_changed(rng, content)
    if draw < 0.8:
        return values.damaged(rng, content)
    if draw < 0.9:
        return content[:rng.randrange(len(content))]
    return rng.choice((b"", b"RGTCKPT\n", content[:PROLOGUE_BYTES], content + content,
                       content + b"\0", b"\0" * len(content), bytes(10_000_000)))


def file(subject: Subject, number: int, whole: bytes) -> tuple[bytes, bool]:
    """And whether its checksum was made to match."""
    rng = values.random_of(subject.seed, KIND, number)
    if rng.random() < 0.03:
        return whole, True
    content = changed(rng, whole)
    if rng.random() < 0.5 and PROLOGUE_BYTES < len(content) < 1_000_000:
        return sealed(content), True
    return content, False


def wrong_work(content: bytes, whole: bytes, done: Done, here: Path) -> list[str]:
    if content == whole and done.code != 0:
        return [f"the checkpoint as it was is refused: {done.stderr[-120:]!r}"]
    if done.code != 0:
        return []
    if content != whole and sealed(content) != content:
        return ["accepted, though its checksum does not match"]
    lines = (here / "new" / RECORDS).read_bytes().splitlines()
    record = json.loads(lines[-1])
    steps = record["evaluations"][-1]["examples"] / record["cell"]["global_batch"]
    if content == whole and steps != int(RUN[-1]):
        return [f"it ended after {steps:g} steps"]
    return []


def judged(subject: Subject, number: int, whole: bytes, here: Path) -> Verdict:
    content, matches = file(subject, number, whole)
    (here / "file").write_bytes(content)
    before = state_of(here)
    done = run([subject.program, *RESUME], here, subject.limit_s)
    wrong = broken(done) + wrong_work(content, whole, done, here)
    wrong += lost(before, state_of(here), overwrite=False)
    said = (f"regatta {' '.join(RESUME)}  # {len(content)} of {len(whole)} bytes, "
            f"checksum {'made to match' if matches else 'as it came'}")
    return Verdict(number, done.accepted, said, tuple(wrong))


def judge(subject: Subject, numbers: Sequence[int], folder: Path) -> list[Verdict]:
    here = folder / KIND
    (here / "new").mkdir(parents=True, exist_ok=True)
    (here / "new" / RECORDS).touch()
    kept = here / "whole"
    if not kept.exists():
        kept.write_bytes(left_by_a_killed_run(subject, folder))
    return [judged(subject, number, kept.read_bytes(), here) for number in numbers]
