# SPDX-License-Identifier: Apache-2.0
"""Lines of records.jsonl: a record with a field, or some bytes, changed. An input is one line. A
hundred are in one file, which `export --format csv` reads: each has to come out as a row with the
values that the line has, or in a warning that names it. Then another command reads the same file.
"""

import csv
import io
import json
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from . import known, values
from .folder import RECORDS, lost, state_of
from .oracle import WARNING, Verdict, broken
from .processes import Done, run
from .subject import Subject

KIND = "records"
BATCH = 100
CSV = ("export", "r", "--format", "csv")
OTHERS = (("report", "r", "--format", "json"), ("compare", "r", "h"), ("compare", "h", "r"),
          ("export", "r", "--format", "gbench"), ("export", "r", "--format", "bmf"),
          ("export", "r", "--format", "github", "--out", "new"),
          ("export", "r", "--format", "mllog", "--author", "me", "--out", "new"),
          ("matrix", "matrix.toml", "--dry-run", "--out", "r"))
SCHEMA = re.compile(rb'"schema":\d+')
RUN_ID = re.compile(rb'"run_id":"\w*"')
REFUSED_WHOLE = re.compile(rb"records\.jsonl:\d+: schema ")
COLUMNS = ("run_id", "status", "timestamp", "command", "cell.workload", "cell.strategy",
           "cell.seed", "cell.workers", "cell.global_batch", "target.metric", "training_ns",
           "examples_to_target", "checksums.initial_weights")
TOKENS = ("1e999", "-1e999", "1E400", "NaN", "Infinity", "-0", "-0.0", "00", "01", "1.", ".1", "+1",
          "0x10", "1e", "18446744073709551616", "9223372036854775808", "-9223372036854775809",
          "1" * 400, "0." + "0" * 400 + "1", "tru", "nul", "", "'a'", "[1,]", '{"a":1,}', '"\\x41"',
          '"\\ud800"', '"\\udc00\\ud800"', '"\\u0000"', '"\t"', "[]", "{}", "[[[]]]", "null")
DEPTHS = (50, 500, 100_000)
HOLE = "@@hole@@"
MANY = 20_000
KNOWN = 10  # at most


class Together(NamedTuple):
    """Lines of one file: what was found wrong with all, and with each; which are rows."""

    wrong: list[str]
    of_lines: dict[int, list[str]]
    rows: set[int]


def parts_of(record: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all fields, those of lists by their place."""
    inner = record.items() if isinstance(record, dict) else enumerate(record)
    found = []
    for key, value in inner:
        found.append((*path, key))
        if isinstance(value, (dict, list)):
            found += parts_of(value, (*path, key))
    return found


def odd_value(rng: random.Random) -> Any:
    draw = rng.random()
    if draw < 0.4:
        return HOLE
    if draw < 0.7:
        return rng.choice((None, True, 0, -1, 1.5, 2**63, 2**64, -2**63 - 1, [], {}, [None], "",
                           {"a": 1}))
    if draw < 0.9:
        return values.text(rng).encode(errors="replace").decode()
    return rng.choice(([0] * MANY, "x" * 10 * MANY, {str(i): i for i in range(MANY)}))


def with_field_changed(rng: random.Random, record: dict[str, Any]) -> str:
    paths = parts_of(record)
    path = rng.choice(paths)
    part: Any = record
    for key in path[:-1]:
        part = part[key]
    draw = rng.random()
    if draw < 0.2:
        del part[path[-1]]
    elif draw < 0.3 and isinstance(part, dict):
        part[values.misspelt(rng, path[-1])] = part.pop(path[-1])
    elif draw < 0.35 and isinstance(part, list):
        part += part * rng.choice((1, 50))
    else:
        part[path[-1]] = odd_value(rng)
    text = json.dumps(record, separators=(",", ":"))
    depth = rng.choice(DEPTHS) if rng.random() < 0.1 else DEPTHS[0]
    token = rng.choice((*TOKENS, "[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth))
    return text.replace(f'"{HOLE}"', token)


def deep(rng: random.Random, whole: bytes) -> bytes:
    """By itself, or where a field of the record is."""
    depth = DEPTHS[2]
    nested = rng.choice((b"[" * depth, b"[" * depth + b"]" * depth,
                         b'{"a":' * depth + b"1" + b"}" * depth))
    field = rng.choice((b"", SCHEMA.findall(whole)[0], b'"failure":null', b'"losses":[',
                        b'"options":{'))
    return whole.replace(field, field[:field.find(b":") + 1] + nested, 1) if field else nested


def line(subject: Subject, number: int) -> bytes:
    rng = values.random_of(subject.seed, KIND, number)
    whole = rng.choice(subject.records.splitlines())
    whole = RUN_ID.sub(b'"run_id":"%032x"' % number, whole)  # the same run twice would be one row
    first = known.records(whole) if number < KNOWN else []
    if number < len(first):
        return first[number]
    draw = rng.random()
    if draw < 0.05:
        return whole
    if draw < 0.75:
        changed = with_field_changed(rng, json.loads(whole)).encode(errors="surrogatepass")
    elif draw < 0.95:
        changed = values.damaged(rng, whole)
    elif draw < 0.954:
        changed = deep(rng, whole)
    else:
        changed = rng.choice((b"", b" \t\r", b"null", b"[]", b"{}", b"0", b'""', b"#",
                              b"\xef\xbb\xbf" + whole, b"\xff\xfe", whole + b"\r",
                              whole + whole, whole + b" x", whole[:rng.randrange(len(whole))]))
    return changed.replace(b"\n", b" ")


def names_other_schema(text: bytes, newest: int) -> bool:
    """Than those that the program reads, 1 to the newest: it refuses all the file of such a line,
    which so needs one of its own."""
    count = text.count(b'"schema"')
    read = re.search(rb'"schema":([1-9]\d{0,8})[,}]', text)
    return count > 1 or (count == 1 and (read is None or int(read[1]) > newest))


def refuse_constant(name: str) -> float:
    raise ValueError(name)


def value_in(text: bytes) -> Any:
    """By strict JSON. Throws: ValueError, RecursionError."""
    value = json.loads(text.decode(), parse_constant=refuse_constant)
    if b"\\u" in text:
        json.dumps(value, ensure_ascii=False).encode()
    return value


def wrong_row(text: bytes, row: dict[str, str]) -> list[str]:
    """Where it says otherwise than its line."""
    try:
        value = value_in(text.removeprefix(b"\xef\xbb\xbf"))
    except RecursionError:
        return []
    except ValueError as error:
        return [f"a row of what is no JSON: {error}"]
    if not isinstance(value, dict):
        return ["a row of what is no object"]
    found = []
    for column in COLUMNS:
        field: Any = value
        for key in column.split("."):
            field = field.get(key) if isinstance(field, dict) else None
        if isinstance(field, bool) or not isinstance(field, (str, int)):
            continue
        if column == "examples_to_target" and value.get("status") != "reached":
            continue
        if (column, field) == ("run_id", ""):  # the row has the line's digest for one
            continue
        if row[column] != str(field):
            found.append(f"{column} is {str(field)[:40]!r}, its row has {row[column][:40]!r}")
    return found


def rows_of(done: Done) -> list[dict[str, str]]:
    csv.field_size_limit(1 << 30)
    return list(csv.DictReader(io.StringIO(done.stdout.decode(errors="replace"), newline="")))


def compared(done: Done, lines: dict[int, bytes]) -> Together:
    """The first line of the file is a good one."""
    warned = {int(found) for found in WARNING.findall(done.stderr)}
    kept = [number for place, number in enumerate(lines, start=2)
            if place not in warned and lines[number].strip(b" \t\r")]
    rows = rows_of(done)[1:]
    if len(rows) != len(kept):
        return Together([f"{len(rows)} rows and {len(warned)} warnings of {len(lines)} lines"], {},
                        set())
    of_lines = {number: wrong_row(lines[number], row) for number, row in zip(kept, rows)}
    return Together([], of_lines, set(kept))


def tried_together(subject: Subject, lines: dict[int, bytes], folder: Path) -> Together:
    records = folder / "r" / RECORDS
    records.write_bytes(subject.records.splitlines()[0] + b"\n"
                        + b"".join(text + b"\n" for text in lines.values()))
    before = state_of(folder)
    done = run([subject.program, *CSV], folder, subject.limit_s)
    wrong = broken(done)
    result = Together([], {}, set())
    if not wrong and done.code == 0:
        result = compared(done, lines)
    elif not wrong and not REFUSED_WHOLE.search(done.stderr):
        wrong = [f"the file is refused: {done.stderr[-80:]!r}"]
    other = OTHERS[min(lines) // BATCH % len(OTHERS)]
    wrong += [f"{text} (regatta {' '.join(other)})"
              for text in broken(run([subject.program, *other], folder, subject.limit_s))]
    return result._replace(wrong=result.wrong + wrong
                           + lost(before, state_of(folder), overwrite=False))


def emptied(folder: Path) -> None:
    """Of what was exported."""
    for path in sorted((folder / "new").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()


def judged(subject: Subject, lines: dict[int, bytes], folder: Path) -> list[Verdict]:
    """What is wrong with a file is traced to the lines that are enough for it."""
    if not lines:
        return []
    emptied(folder)
    together = tried_together(subject, lines, folder)
    if together.wrong and len(lines) > 1:
        numbers = list(lines)
        halves = numbers[:len(numbers) // 2], numbers[len(numbers) // 2:]
        verdicts = [verdict for half in halves
                    for verdict in judged(subject, {n: lines[n] for n in half}, folder)]
        if any(verdict.wrong for verdict in verdicts):
            return verdicts
    verdicts = []
    for number, text in lines.items():
        first = together.wrong if number == min(lines) else []
        wrong = tuple(first + together.of_lines.get(number, []))
        shown = text[:60].decode(errors="backslashreplace") + ("..." if len(text) > 60 else "")
        said = f"regatta {' '.join(CSV)}  # {len(lines)} lines, this one of {len(text)}: {shown}"
        needed = f"{min(lines)}-{max(lines)}" if first and len(lines) > 1 else ""
        verdicts.append(Verdict(number, number in together.rows, said, wrong, needed))
    return verdicts


def judge(subject: Subject, numbers: Sequence[int], folder: Path) -> list[Verdict]:
    here = folder / KIND
    for name in ("r", "h", "new"):
        (here / name).mkdir(parents=True, exist_ok=True)
    (here / "h" / RECORDS).write_bytes(subject.records)
    (here / "matrix.toml").write_text('[[race]]\nworkload = "parabola"\nsteps = [1, 2]\n')
    lines = {number: line(subject, number) for number in numbers}
    newest = json.loads(subject.records.splitlines()[0])["schema"]
    alone = [number for number in numbers if names_other_schema(lines[number], newest)]
    verdicts = judged(subject, {n: lines[n] for n in numbers if n not in alone}, here)
    for number in alone:
        verdicts += judged(subject, {number: lines[number]}, here)
    return verdicts
