# SPDX-License-Identifier: Apache-2.0
"""What once went wrong: the first inputs of their kinds, whatever the seed. A comment says what the
program did with it, and with those below.
"""

import re

from . import http2

RUN = ("run", "--workload", "parabola", "--steps", "3", "--out", "g")
EXPORT = ("export", "g", "--format", "csv")
COMPARE = ("compare", "g", "h")
FULL = "/dev/full"
LONG = "n" * 100_000
DEEP = 100_000
MANY = 20_000
CANCEL = b"\0\0\0\x08"

# Words, and where stdout goes.
COMMANDS: tuple[tuple[tuple[str, ...], str], ...] = (
    ((*EXPORT, "--out", "g/records.jsonl"), ""),  # the records were gone
    ((*RUN, "--trace", "g/records.jsonl"), ""),
    ((*RUN, "--trace", "link"), ""),
    ((*EXPORT, "--out", "notes.txt"), ""),  # replaced without being asked
    ((*RUN, "--trace", "notes.txt"), ""),
    ((*RUN, "--trace=", "notes.txt"), ""),
    ((*RUN, "--trace", ""), ""),  # counted as not given
    ((*RUN, "--processes", ""), ""),
    ((*RUN, "--target="), ""),
    (("run", "--workload", "parabola", "--steps", "", "--out", "g"), ""),
    (("run", "--workload", "parabola", "--steps", "010", "--out", "g"), ""),  # eight steps
    (("run", "--workload", "parabola", "--steps", "0x10", "--out", "g"), ""),
    ((*RUN, "--strategy", "async_shared", "--workers", "2", "--staleness-bound", "9" * 40), ""),
    ((*RUN, "--strategy", "pipeline", "--workers", "4294967296"), ""),  # gigabytes
    (("graph", "--workload", "parabola", "--strategy", "local_sgd", "--sync-every", "4294967296"),
     ""),  # looked at each of so many steps
    (("run", "--workload", "parabola", "--steps", "3", "--out", "with spaces"), ""),  # its command
    ((*COMPARE, "--speed-effect", "inf"), ""),  # no slowdown is found
    ((*COMPARE, "--speed-effect", "nan"), ""),
    ((*COMPARE, "--speed-effect", "0"), ""),
    ((*COMPARE, "--alpha", "-1"), ""),
    ((*RUN, "--resume", "loop/x"), ""),  # SIGABRT
    ((*RUN, "--resume", LONG), ""),
    ((*EXPORT[:3], "mllog", "--author", "me", "--out", "loop"), ""),
    (("compare", "loop/x", "h"), ""),
    (("compare", LONG, "h"), ""),
    (("report", "g", "--format", "json"), FULL),
    ((*EXPORT, "--out", "fifo"), ""),  # waited for a reader for ever
    ((*RUN, "--trace", "fifo"), ""),
    (("matrix", "fifo", "--dry-run"), ""),
    (("report", "records_is_a_fifo", "--format", "json"), ""),
    (("run", "--workload", "parabola", "--steps", "3", "--out", "records_is_a_fifo"), ""),
    (("matrix", "zero", "--dry-run"), ""),  # all memory
    (("report", "records_is_zero", "--format", "json"), ""),
    (("list",), FULL), (("doctor", "--data-dir", "g"), FULL), (("--version",), FULL),  # exit code 0
    (("graph", "--workload", "parabola"), FULL), (COMPARE, FULL),
    (("matrix", "matrix.toml", "--dry-run", "--out", "g"), FULL),
)

RACE = "[[race]]\nworkload = 'parabola'\n"
HUNDRED = str(list(range(1, 101)))
MATRICES = (
    "seeds = 9223372036854775807\n" + RACE,  # SIGABRT
    "seeds = 100000000\n" + RACE,  # all memory
    RACE + ".".join("a" * 50_000) + " = 1\n",  # SIGSEGV
    RACE + f"steps = {HUNDRED}\ntarget = {HUNDRED}\n",  # ten thousand cells
    RACE + f"steps = {HUNDRED}\ntarget = {HUNDRED}\nrate_scale = {HUNDRED}\n",  # minutes
    RACE + "".join(f"{key} = {HUNDRED}\n" for key in ("steps", "target", "rate_scale", "workers")),
    RACE + "strategy = ['single', 'all_reduce']\n[[exclude]]\nstrategy = 'all_reduse'\n",
)


def records(whole: bytes) -> list[bytes]:
    """SIGSEGV where a message quotes the schema."""
    return [re.sub(rb'"schema":\d+', b'"schema":' + nested, whole)
            for nested in (b"[" * DEEP + b"]" * DEEP, b'{"a":' * DEEP + b"1" + b"}" * DEEP)]


def frames() -> list[bytes]:
    """Hundreds of MB: calls taken back at once, calls that stay open. A header without an end."""
    blocks = [http2.call(method, []) for method in http2.METHODS[:2]]
    calls = [[http2.frame(http2.HEADERS, http2.END_HEADERS, one, block)
              for one in range(1, 2 * MANY, 2)] for block in blocks]
    resets = [http2.frame(http2.RST_STREAM, 0, one, CANCEL) for one in range(1, 2 * MANY, 2)]
    taken_back = [b"".join(call + reset for call, reset in zip(each, resets)) for each in calls]
    part = http2.literal(b"x", b"y" * 1000)
    endless = (http2.frame(http2.HEADERS, 0, 1, blocks[0])
               + http2.frame(http2.CONTINUATION, 0, 1, part * 10) * 2000)
    return [*taken_back, b"".join(calls[1]), endless]
