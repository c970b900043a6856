# SPDX-License-Identifier: Apache-2.0
"""Matrix files: those of ci/ and small ones, then keys, values or bytes changed. An input is one
file, shown by `regatta matrix FILE --dry-run`, which has to say as many cells and seeds as Python
counts in it.
"""

import json
import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from . import known, toml, values
from .folder import RECORDS, lost, state_of
from .oracle import Verdict, broken
from .processes import Done, run
from .subject import Subject

KIND = "matrices"
CI = Path(__file__).resolve().parent.parent
FILES = ("options.toml", "airbench94_races.toml", "normalization_groups.toml", "gate.toml",
         "history.toml")
SAID = re.compile(rb"(?m)^(\d+) cells x (\d+) seeds = (\d+) runs")
INSERTS = (*values.INSERTS, b"\n", b"[[race]]\n", b"[race]\n", b"'''", b'"""', b"\r\n", b"\n[x]\n")
ODD = ("1e999", "inf", "nan", "-nan", "true", "1979-05-27", "07:32:00", "{}", "{a = 1}", "[]",
       "[[]]", "[[1]]", "''", "' '", "'a b'", '"\\t"', '"\\u0000"', '"\\ud800"', "0x10", "0o17",
       "0b1", "1_000", "010", "+1", "-0", "1.0", ".5", "9223372036854775807",
       "9223372036854775808", "-9223372036854775808", "18446744073709551616", "'''a\nb'''", "x",
       "", "1 2", "[1, 'a']", "[1, 1]", "['single', 'single']", "[1,,2]", "'--out'", "'-1'",
       "'\u202e'", "0", "-1", "''''")
LISTS = ("workers", "global_batch", "target", "rate_scale", "normalization_group", "servers",
         "bucket_bytes", "steps")


def small(rng: random.Random, subject: Subject) -> str:
    strategies = rng.sample(subject.strategies, rng.choice((1, 2, 3)))
    text = f"seeds = {rng.choice(('1', '2', '[1, 7]', '5'))}\n" if rng.random() < 0.8 else ""
    text += f'[[race]]\nworkload = "parabola"\nstrategy = {json.dumps(strategies)}\n'
    text += rng.choice(("", "workers = 2\n", "workers = [1, 2]\n"))
    text += rng.choice(("", "steps = [2, 3]\n", "steps = 2\nglobal_batch = [10, 20]\n"))
    if rng.random() < 0.3:
        text += '[[race]]\nworkload = "parabola"\nstrategy = "single"\nsteps = 4\n'
    if rng.random() < 0.3:
        text += f'[[exclude]]\nstrategy = "{strategies[-1]}"\n'
        text += rng.choice(("", "workers = 2\n", 'workload = "parabola"\n'))
    return text


def sound(rng: random.Random, subject: Subject) -> str:
    if rng.random() < 0.1:
        return (CI / rng.choice(FILES)).read_text()
    return small(rng, subject)


def with_key_misspelt(rng: random.Random, text: str) -> str:
    keys = list(re.finditer(r"(?m)^\[*(\w+)", text))
    found = rng.choice(keys)
    return text[:found.start(1)] + values.misspelt(rng, found[1]) + text[found.end(1):]


def with_value_odd(rng: random.Random, text: str) -> str:
    found = rng.choice(list(re.finditer(r"(?m)= (.*)$", text)))
    odd = rng.choice(ODD)
    new = rng.choice((odd, f"[{odd}]", f"[{odd}, 1]", f"[1, {odd}]"))
    return text[:found.start(1)] + new + text[found.end(1):]


def with_line_more(rng: random.Random, text: str) -> str:
    line = rng.choice(("workers = 3", "seeds = 3", "race = 1", "[race]", "[[race]]", "[[exclude]]",
                       "[exclude]", "[[race.race]]", "exclude = []", "race.workload = 'parabola'",
                       "# \x01", "strategy = 'nonesuch'", "workload = 'parabla'", "out = 'g'",
                       "seed = 1", "cluster = 'c'", "overwrite = true", "data_dir = 'x'",
                       "global-batch = 10", "a.b.c = 1", "'' = 1",
                       "\"workers\" = 2", "continue_on_loss = true", "help = 1", "\ufeff"))
    lines = text.splitlines()
    lines.insert(rng.randrange(len(lines) + 1), line)
    return "\n".join(lines) + "\n"


def large(rng: random.Random, text: str) -> str:
    """A file, or a matrix, of no sensible size."""
    kind = rng.randrange(6)
    if kind == 0:  # 10^4 to 10^9 cells
        keys = rng.sample(LISTS, rng.choice((2, 3, 4)))
        count = rng.choice((100, 178))
        return text + "\n[[race]]\nworkload = 'parabola'\n" + "".join(
            f"{key} = {list(range(1, count + 1))}\n" for key in keys)
    if kind == 1:
        count = rng.choice((10**6, 10**8, 10**10, 2**63 - 1))
        return re.sub("(?m)^seeds.*$", "", text).join((f"seeds = {count}\n", ""))
    if kind == 2:
        return text + ".".join("a" * rng.choice((10, 1000, 50_000))) + " = 1\n"
    if kind == 3:
        depth = rng.choice((10, 1000, 50_000))
        return text + "workers = " + "[" * depth + "]" * depth + "\n"
    if kind == 4:
        return text + f"# {'x' * 10_000_000}\n" + rng.choice(("", "x"))
    return text + "[[race]]\nworkload = 'parabola'\n" * rng.choice((100, 10_000))


CHANGES: tuple[tuple[float, Callable[[random.Random, str], str]], ...] = (
    (0.3, with_key_misspelt), (0.65, with_value_odd), (0.95, with_line_more), (1, large))


def file(subject: Subject, number: int) -> bytes:
    if number < len(known.MATRICES):
        return known.MATRICES[number].encode()
    rng = values.random_of(subject.seed, KIND, number)
    text = sound(rng, subject)
    draw = rng.random()
    if draw < 0.15:
        return text.encode()
    if draw < 0.4:
        return values.damaged(rng, text.encode(), INSERTS)
    for _ in range(rng.choice((1, 1, 2))):
        at = rng.random()
        change = next(change for share, change in CHANGES if at < share)
        text = change(rng, text)
    return text.encode(errors="surrogateescape")


def rejected(stdout: bytes) -> int:
    """Cells that are listed with why they cannot run."""
    count = 0
    for line in stdout.partition(b"\ncannot run, and why:\n")[2].splitlines():
        if not line.startswith(b"  "):
            break
        count += 1
    return count


def wrong_work(content: bytes, done: Done, subject: Subject) -> list[str]:
    flags = {flag[2:].replace("-", "_") for flag in subject.subcommands["run"].flags}
    try:
        size = toml.read(content, flags)
    except toml.Unsure:
        return []
    except toml.Refused as why:
        return [f"accepted, though it has to be refused: {why}"] if done.code == 0 else []
    if done.code != 0:
        none_can_run = b"none of the cells can run" in done.stderr
        return [] if none_can_run or done.overdue else [f"refused: {done.stderr[-120:]!r}"]
    found = SAID.search(done.stdout)
    if found is None:
        return ["exit code 0 without a word on cells"]
    cells, seeds, runs = (int(group) for group in found.groups())
    if (cells + rejected(done.stdout), seeds) != size or runs != cells * seeds:
        return [f"{cells} cells, {rejected(done.stdout)} rejected, {seeds} seeds, {runs} runs; "
                f"the file has {size.cells} cells and {size.seeds} seeds"]
    return []


def known_records(subject: Subject) -> bytes:
    """A record of each workload, so that no run is needed to tell how long others take."""
    record = json.loads(subject.records.splitlines()[0])
    lines = []
    for workload in subject.workloads:
        for dtype in ("f32", "bf16"):
            record["run_id"] = f"{len(lines):032x}"  # of two lines with one ID the second is no run
            record["cell"] |= {"workload": workload, "dtype": dtype}
            lines.append(json.dumps(record, separators=(",", ":")))
    return "\n".join(lines).encode() + b"\n"


def judged(subject: Subject, number: int, here: Path) -> Verdict:
    content = file(subject, number)
    (here / "input.toml").write_bytes(content)
    before = state_of(here)
    command = ("matrix", "input.toml", "--dry-run", "--out", "known")
    done = run([subject.program, *command], here, subject.limit_s)
    wrong = broken(done) + wrong_work(content, done, subject)
    wrong += lost(before, state_of(here), overwrite=False)
    lines = content[:200].decode(errors="backslashreplace").replace("\n", "; ")
    said = f"regatta {' '.join(command)}  # {len(content)} bytes: {lines}"
    return Verdict(number, done.accepted, said, tuple(wrong))


def judge(subject: Subject, numbers: Sequence[int], folder: Path) -> list[Verdict]:
    here = folder / KIND
    (here / "known").mkdir(parents=True, exist_ok=True)
    (here / "known" / RECORDS).write_bytes(known_records(subject))
    return [judged(subject, number, here) for number in numbers]
