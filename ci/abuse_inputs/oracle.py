# SPDX-License-Identifier: Apache-2.0
"""What holds for every program that was given an input, whatever the input. Each rule returns what
is wrong, or an empty text.
"""

import re
import shlex
import signal
from collections.abc import Sequence
from typing import NamedTuple

from .processes import Done

CODES = range(6)  # harness/program.h
USAGE = 1
SIGNALLED = 128
PAGE_BYTES = 4_000
MOST_BYTES = 3 << 29  # no work that is asked for here needs a tenth of it
WARNING = re.compile(rb"records\.jsonl:(\d+): (?:no record: |the same run as )")
MOST_WORD = 120
REPORT = re.compile(rb"(?:ERROR|WARNING|SUMMARY): \w*Sanitizer|: runtime error: "
                    rb"|Traceback \(most recent call last\)")


class Verdict(NamedTuple):
    """On one input. `said`: how it is given, in words of the shell. `together`: the numbers of all
    that are needed for what is wrong, if it is not this one alone."""

    number: int
    accepted: bool
    said: str
    wrong: tuple[str, ...]
    together: str = ""


def name_of(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def ends_by_itself(done: Done) -> str:
    if done.overdue:
        return ""
    if done.code < 0:
        return f"ended by {name_of(-done.code)}"
    if done.code >= SIGNALLED:
        return f"exit code {done.code}, as after {name_of(done.code - SIGNALLED)}"
    return "" if done.code in CODES else f"exit code {done.code}, which nothing explains"


def ends_in_time(done: Done) -> str:
    return f"still running after {done.seconds:.0f} s" if done.overdue else ""


def takes_little_memory(done: Done) -> str:
    return f"took {done.memory_bytes >> 20} MB" if done.memory_bytes > MOST_BYTES else ""


def reports_no_fault(done: Done) -> str:
    found = REPORT.search(done.stderr)
    return f"says '{found[0].decode()}'" if found else ""


def says_why(done: Done) -> str:
    """A refusal. Warnings, one a line of a file, do not count to its page."""
    if done.overdue or done.code != USAGE:
        return ""
    if not done.stderr.startswith(b"regatta: "):
        return f"a refusal that begins with {done.stderr[:40]!r}"
    size = sum(len(line) for line in done.stderr.splitlines()
               if len(line) > PAGE_BYTES or not WARNING.search(line))
    return f"a refusal of {size} bytes" if size > PAGE_BYTES else ""


RULES = (ends_by_itself, ends_in_time, takes_little_memory, reports_no_fault, says_why)


def broken(done: Done) -> list[str]:
    return [wrong for rule in RULES if (wrong := rule(done))]


def quoted(words: Sequence[str]) -> str:
    """As one would type it, long words cut."""
    texts = []
    for word in words:
        printable = word.encode(errors="surrogateescape").decode(errors="backslashreplace")
        whole = shlex.quote(printable)
        many = len(word) > MOST_WORD
        texts.append(f"{whole[:20]}...({len(word)} characters)" if many else whole)
    return " ".join(texts)
