# SPDX-License-Identifier: Apache-2.0
"""What may stand where a number, a name or a path belongs, and how an input draws it. No valid
number among these makes a run of the parabola last: steps are few, or more than a run may have.
"""

import random
import string

from .folder import PATHS

LONG = 100_000
NUMBERS = ("0", "-0", "+1", "-1", "010", "-010", "0010", "08", "0x10", "0b11", "0o17", "1e1",
           "1e999", "-1e999", "1e-999", "inf", "-inf", "INF", "infinity", "nan", "-nan", "NaN",
           "nan(1)", "1.5", "1,5", "1.", ".5", "1_0", "1'0", " 1", "1 ", "1\n", "\t1", "1 2", "1x",
           "0x", "--", "٣", "１", "½", "true", "on", "2147483647", "2147483648", "4294967296",
           "9223372036854775807", "9223372036854775808", "-9223372036854775808",
           "-9223372036854775809", "18446744073709551615", "18446744073709551616", "9" * 400,
           "0" * 400 + "2", "1" * LONG, "0." + "0" * 400 + "1", "0x1p3", "1e5000000000")
TEXTS = (" ", "  ", "\n", "\t", "a b", "'", '"', "\\", "$(true)", "`true`", ";", "|", "a=b", "=",
         "-", "--", "---", "{}", "[]", "[a,b]", "%s%n", "%", "\x1b[31m", "\x7f", "\udcff\udcfe",
         "é", "日本", "\u202e", "\ufeff", "None", "null", "off", "ON", "1", "@file", "../..",
         "x" * 300, "x" * LONG, "é" * 40_000, "+", "a+b", "single+single", "all_reduce+", "0:1",
         "0:1,0:2", "0:1:2", "0:1,", ",", ":", "1:1e999", "0:nan", "1:", ":1", "127.0.0.1",
         "0.0.0.0", "::1", "256.1.1.1", "1s", "0s", "-1s", "1e9h", "5fortnights", "1min 5s")
INSERTS = (b"\0", b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r", b"\t", b" ", b'"',
           b"\\", b"{", b"}", b"[", b"]", b",", b":", b"#", b"=", b"'", b"0", b"-", b"\x1b",
           b"\x7f", b"\\u0000", b"\\ud800", b"1e999", b"null", b"/*", b"\xf4\x90\x80\x80")


def random_of(seed: int, kind: str, number: int) -> random.Random:
    """The same for the same input, whatever else is tried."""
    return random.Random(f"{seed} {kind} {number}")


def number(rng: random.Random) -> str:
    draw = rng.random()
    if draw < 0.25:
        return str(rng.randrange(6))
    if draw < 0.3:
        return f"{rng.uniform(0, 3):.3g}"
    return rng.choice(NUMBERS)


def text(rng: random.Random) -> str:
    if rng.random() < 0.2:
        return "".join(rng.choice(string.printable) for _ in range(rng.randrange(1, 12)))
    return rng.choice(TEXTS)


def path(rng: random.Random) -> str:
    return rng.choice(PATHS)


def misspelt(rng: random.Random, word: str) -> str:
    """One letter too few, too many, or another."""
    if not word:
        return "x"
    at = rng.randrange(len(word))
    letter = rng.choice(string.ascii_lowercase + "-_=. ")
    return rng.choice((word[:at] + word[at + 1:], word[:at] + letter + word[at:],
                       word[:at] + letter + word[at + 1:], word[:at], word + letter))


def damaged(rng: random.Random, content: bytes, inserts: tuple[bytes, ...] = INSERTS) -> bytes:
    """One to three changes of bytes; no new line."""
    for _ in range(rng.choice((1, 1, 2, 3))):
        at = rng.randrange(len(content) + 1)
        end = min(len(content), at + rng.choice((1, 2, 8, 100)))
        kind = rng.randrange(5)
        if kind == 0:
            content = content[:at] + rng.choice(inserts) + content[at:]
        elif kind == 1:
            content = content[:at] + rng.choice(inserts) + content[end:]
        elif kind == 2:
            content = content[:at] + content[end:]
        elif kind == 3:
            content = content[:end] + content[at:]
        elif at < len(content):
            flipped = content[at] ^ (1 << rng.randrange(8))
            content = content[:at] + bytes([flipped]) + content[at + 1:]
    return content
