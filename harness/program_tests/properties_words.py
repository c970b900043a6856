# SPDX-License-Identifier: Apache-2.0
"""Command lines: the flags that --help names, lines that are drawn from them, and the meaning of a
line, read with no help from the program. A line with a flag twice, without its value, or with a
number in no way that people write one, has to be refused; a record has to agree with its line.
"""

import json
import math
import re
import shlex
import string
from typing import Any, NamedTuple

from properties_support import RUN_FAILED, VERDICTS, Done, Draw
from test_support import output_of

from hypothesis import assume, strategies as st  # properties_support skips where it is missing

ABSOLUTE = ("/proc/regatta", "/proc/nonesuch/x")  # no file can be made there
PATHS = ("g", "h", "out", "empty", "with spaces", "g/records.jsonl", "g/trace.json", "g/old.csv",
         "notes.txt", "matrix.toml", "cluster.toml", "deep.json", "loop", "loop/x",
         "fifo", "link", "dangling", "zero", "full", "null", "new", "new/deeper", "empty/link",
         "records_is_a_folder", "records_is_a_fifo", "records_is_zero", "g/simulated.jsonl",
         "new/simulated.jsonl", "h/records.damaged", "new/RECORDS.jsonl", "notes.txt/below", ".",
         "..", "./g/", "../here/g", "-", "~", "$HOME", "*", "new\nline", "'quoted'", '"quoted"',
         "a,b", "[g]", "name\udcff", "ünïcode", "n" * 300, "n/" * 2100, "n" * 100_000, *ABSOLUTE)
# No valid number makes a run of the parabola last: steps are few, or more than a run may have.
NUMBERS = ("-0", "+1", "-1", "010", "08", "0x10", "0b11", "1e1", "1e999", "-1e999", "1e-999", "inf",
           "nan", "-nan", "nan(1)", "0.3", "1.5", "1,5", "1.", ".5", "1_0", " 1", "1 ", "1\n", "1x",
           "٣", "１", "½", "true", "2147483647", "2147483648", "4294967296", "9223372036854775807",
           "9223372036854775808", "18446744073709551616", "9" * 400, "0" * 400 + "2",
           "1" * 100_000, "0." + "0" * 400 + "1", "0x1p3", "1e5000000000")
TEXTS = (" ", "\n", "a b", "'", '"', "\\", "$(true)", "a=b", "=", "-", "--", "---", "{}", "%s%n",
         "\x1b[31m", "\udcff\udcfe", "日本", "\u202e", "\ufeff", "off", "ON", "@file", "x" * 100_000,
         "bf16", "cuda", "timed", "json", "unverified",
         "+", "single+single", "all_reduce+", "0:1", "0:1,0:2", "0:1:2", "0:1,", ",", "1:1e999",
         "0:nan", "127.0.0.1", "::1", "256.1.1.1", "1s", "-1s", "1e9h", "5fortnights", "1min 5s")
OTHERS = {"export": 1, "compare": 2, "matrix": 1, "list": 1, "report": 1000}  # words, but for flags
WHOLE = re.compile(r"[+-]?[0-9]+")
REAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
FRACTION = re.compile(r"--(?:alpha|[a-z-]+-effect)")  # of flags that are above 0
FLAG = re.compile(r"\n  (?:-\w,)?(--[\w-]+)(?: ([A-Z]+)\b)?")
# The flags of each subcommand, with the types of their values in --help; empty: there is none.
# A drawn --program would be executed.
FLAGS = {name: {flag: takes for flag, takes in FLAG.findall(output_of(name, "--help"))
                if flag != "--program"}
         for name in re.findall(r"(?m)^  ([a-z]+)  ", output_of("--help"))}
STRATEGIES = tuple(one["runs_as"] for one in
                   json.loads(output_of("list", "--format", "json"))["strategies"]
                   if one["trains"] == "all")
numbers = st.integers(0, 5).map(str) | st.sampled_from(NUMBERS)
paths = st.sampled_from(PATHS)
texts = st.one_of(st.sampled_from(TEXTS), st.sampled_from(STRATEGIES),
                  st.text(sorted(set(string.printable) - {"/"}), min_size=1, max_size=11))


def line(*parts: str | tuple[str, ...] | st.SearchStrategy[list[str]]) -> st.SearchStrategy[Any]:
    """Words one after the other; of a tuple one."""
    drawn = [part if isinstance(part, st.SearchStrategy) else
             st.sampled_from((part,) if isinstance(part, str) else part).map(shlex.split)
             for part in parts]
    return st.tuples(*drawn).map(lambda lists: [word for words in lists for word in words])


cells = st.sampled_from((*STRATEGIES, "all_reduce+model_parallel")).flatmap(lambda strategy: line(
    f"--workload parabola --strategy {strategy} --steps", tuple("12345678"),
    "" if strategy == "single" else
    "--workers 4 --stages 2 --processes 1" if "+model" in strategy else
    ("--workers 2 --processes 1", "--workers 3 --processes 1")))
sound_lines = st.one_of(
    line("run", cells, "--out", ("g", "new", "'with spaces'")),
    line("run", cells, "--out g", ("--seeds 2", "--seeds 3 --seed 7")),
    line("graph", cells, "--format", ("text", "dot")),
    line("export", ("g", "h"), "--format", (
        "gbench", "bmf", "csv", "github --out new", "mllog --author me --out new/new")),
    line("compare g h", ("", "--format json", "--speed-effect 0.1")),
    line("report g", ("", "h"), "--format json"),
    line("matrix matrix.toml --dry-run --out", ("g", "h")),
    line("list", ("", "workloads", "strategies"), ("", "--format json")),
    line(("doctor --data-dir g", "--version", "--help", "matrix matrix.toml --seeds 1 --out new",
          "run --help", "graph --workload parabola --format chakra --out new")))


@st.composite
def spoilt(draw: Draw, words: list[str]) -> list[str]:
    """The words with one that is wrong, or only odd."""
    if draw(st.booleans()) and words[0] in FLAGS:
        name, takes = draw(st.sampled_from(sorted(FLAGS[words[0]].items())))
        usual = texts | paths if takes == "TEXT" else numbers
        value = draw(st.one_of(usual, usual, paths, texts, numbers, st.just("")))
        at = words.index(name) if name in words[:-1] else len(words)
        return [*words[:at], *words[at + 2:], *draw(st.sampled_from(
            ([f"{name}={value}"], [name, value]) if takes else ([name], [f"{name}=1"])))]
    at = draw(st.integers(0, len(words) - 1))
    before, word, behind = words[:at], words[at], words[at + 1:]
    cut = draw(st.integers(0, max(len(word) - 1, 0)))
    letter = draw(st.sampled_from(string.ascii_lowercase + "-_=. "))
    return draw(st.sampled_from((
        [*before, *behind] or ["run"], [*before, draw(texts), word, *behind],
        [*before, draw(paths), *behind], [*behind, *before] or words,
        *([*words, word, value] for value in (*behind[:1], "1", "")),
        *([*before, other, *behind] for other in (
            word[:cut] + word[cut + 1:], word[:cut] + letter + word[cut:], word[:cut])))))


@st.composite
def spoilt_lines(draw: Draw) -> list[str]:
    words = draw(sound_lines)
    for _ in range(draw(st.sampled_from((1, 1, 1, 2, 2, 3)))):
        words = draw(spoilt(words))
    assume(fits(words))
    return words


class Asked(NamedTuple):
    """`flags`: in their order, with their values. `others`: words that are no flags."""

    subcommand: str
    flags: list[tuple[str, str]]
    others: list[str]

    def value(self, flag: str, usual: str = "") -> str:
        return dict(self.flags).get(flag, usual)

    def has(self, *flags: str) -> bool:
        return any(name in flags for name, _ in self.flags)

    @property
    def is_help(self) -> bool:
        """Also of no words, to which the program says how to begin."""
        return self == Asked("", [], []) or self.has("--help", "--version")


def read(words: list[str]) -> Asked:
    name = words[0] if words else ""
    known = FLAGS.get(name, {})
    asked = Asked(name, [], [])
    rest = list(words[1:] if known else words)
    while rest:
        word = rest.pop(0)
        flag, equals, value = word.partition("=")
        if word == "--":
            asked.others.extend(rest)
            break
        if word.startswith("-h"):
            asked.flags.append(("--help", ""))
        elif not word.startswith("--"):
            asked.others.append(word)
        else:
            takes_next = not equals and known.get(flag) and rest
            asked.flags.append((flag, rest.pop(0) if takes_next else value))
    return asked


def why_to_refuse(asked: Asked) -> str:
    """Empty: the line may be accepted."""
    if asked.is_help:
        return ""
    if asked.subcommand not in FLAGS:
        return "there is no such subcommand"
    if len(asked.others) > OTHERS.get(asked.subcommand, 0) or "" in asked.others:
        return f"{len(asked.others)} words that are no flags, or an empty one"
    names = [flag for flag, _ in asked.flags]
    for flag, value in asked.flags:
        takes = FLAGS[asked.subcommand].get(flag)
        if takes is None:
            return "an unknown flag"
        if names.count(flag) > 1:
            return f"{flag} is there twice"
        if takes and (value == "" or value.startswith("--")):
            return f"{flag} has no value, or a flag for one"
        if takes in ("INT", "UINT") and not WHOLE.fullmatch(value):
            return f"{flag} is no whole decimal number"
        if takes == "FLOAT" and not (REAL.fullmatch(value) and math.isfinite(float(value))):
            return f"{flag} is no finite decimal number"
        if FRACTION.fullmatch(flag) and float(value) <= 0:
            return f"{flag} is not greater than 0"
    return ""


def fits(words: list[str]) -> bool:
    """Whether the line stays in its folder, and is not sound work that takes seconds."""
    asked = read(words)
    if any(part.startswith("/") and part not in ABSOLUTE
           for word in words for part in (word, word.partition("=")[2])):
        return False
    if asked.subcommand == "matrix":
        small = asked.value("--seeds") == "1" and not asked.has("--tier", "--draw")
        return small or asked.has("--dry-run")
    if asked.subcommand == "run" and asked.value("--processes") != "1":
        return not re.search(r"parameter_server|--processes\W*\d", " ".join(words))
    return asked.subcommand != "report" or asked.value("--format") == "json"


def same(value: str, recorded: Any) -> bool:
    if isinstance(recorded, (bool, list)) or value == "auto":
        return True
    if isinstance(recorded, (int, float)):
        return bool(REAL.fullmatch(value)) and float(value) == recorded
    return value == ("off" if recorded is None else recorded)  # None: it has no part in this run


def wrong_records(words: list[str], lines: list[bytes]) -> list[str]:
    """Findings about the lines that a run added to its file, one a seed."""
    asked = read(words)
    seeds = int(asked.value("--seeds", "1"))
    found = [f"{len(lines)} lines for {seeds} seeds"] if len(lines) != seeds else []
    for seed, record in enumerate(map(json.loads, lines), int(asked.value("--seed", "1"))):
        cell = record["cell"]
        fields = {**cell, **cell["options"], "target": record["target"]["value"]}
        if "servers" in fields:
            fields.pop("processes")  # which counts those of the servers
        told = {"--" + name.replace("_", "-"): value for name, value in fields.items()}
        found += [f"{flag} {value!r}, but the record has {told[flag]!r}"
                  for flag, value in (dict(asked.flags) | {"--seed": str(seed)}).items()
                  if flag in told and not same(value, told[flag])]
        if not asked.has("--seeds", "--data-dir") and "".join(words).isascii():
            if shlex.split(record["command"]) != ["regatta", *words]:
                found.append("the record's command is another than the one that was given")
        if asked.has("--steps") and record["status"] != "failed":
            if record["evaluations"][-1]["examples"] < cell["global_batch"] * cell["steps"]:
                found.append("fewer steps than asked for")
    return found


def wrong_work(words: list[str], done: Done, stdout: str) -> list[str]:
    """Findings about a line that was accepted. `stdout`: where it went; empty: it was kept."""
    asked = read(words)
    is_verdict = done.code in VERDICTS
    prints = asked.is_help or not (asked.has("--out") or asked.subcommand == "run")
    why = why_to_refuse(asked)
    return [] if done.code not in (0, RUN_FAILED, *VERDICTS) else [
        finding for is_found, finding in (
            (why, f"accepted, though {why}"),
            (is_verdict and asked.subcommand != "compare", f"exit code {done.code}, a verdict"),
            (prints and (stdout or not done.stdout), "nothing was printed")) if is_found]
