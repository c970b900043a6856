# SPDX-License-Identifier: Apache-2.0
"""Properties of drawn records, matrices and clusters with their calibrations. A sound file is read
as Python reads it, a spoilt one is refused, and none ends the program badly or costs a file.

usage: properties_files_test.py REGATTA SCHEMA [unittest arguments]
Exits 77 (skipped) where python3-hypothesis or mpirun is not installed.
"""

import csv
import io
import itertools
import json
import re
from typing import Any

from properties_support import (RECORDED, RECORDS, SIMULATED, WARNING, Done, Draw, Property,
                                checked, damaged)
from test_support import fresh_folder, output_of, run_tests, skip_without_mpirun

from hypothesis import strategies as st  # properties_support skips where it is missing

skip_without_mpirun()
REFUSED, UNSURE = "refused", "unsure"  # of a sound file the verdict is its content
DEPTH, MANY = 100_000, 20_000
LINES = RECORDED.splitlines()
TOKENS = ("1e999", "-1e999", "Infinity", "-0.0", "01", "1.", "+1", "0x10", "1e", "1" * 400, "tru",
          "18446744073709551616", "-9223372036854775809", "", "'a'", "[1,]", '{"a":1,}', '"\\x41"',
          '"\\ud800"', '"\\u0000"', '"\t"', "[" * DEPTH, "[" * DEPTH + "]" * DEPTH,
          '{"a":' * DEPTH + "1" + "}" * DEPTH)
READERS = tuple(map(str.split, (
    "report r --format json", "compare r h", "compare h r", "export r --format gbench",
    "export r --format bmf", "export r --format github --out new",
    "export r --format mllog --author me --out new", "matrix matrix.toml --dry-run --out r")))
COLUMNS = ("run_id", "status", "timestamp", "command", "cell.workload", "cell.strategy",
           "cell.seed", "cell.workers", "cell.global_batch", "target.metric", "training_ns")
ODD_LINES = [b"", b" \t\r", b"null", b"[]", b"{}", b'""', b"\xef\xbb\xbf" + LINES[1], b"\xff\xfe",
             LINES[1] + b"\r", LINES[1] * 2, LINES[1][:99], b"[" * DEPTH]
RACE = "[[race]]\nworkload = 'parabola'\n"
LARGE = [f"{key} = {list(range(1, 101))}\n" for key in ("steps", "target", "rate_scale")]
LISTS = {"strategy": ("all_reduce", "async_shared"), "workers": (2, 3), "steps": (2, 3, 4),
         "global_batch": (6, 12)}
NO_VALUES = ("true", "07:32:00", "{}", "{a = 1}", "[]", "[[]]", "[[1]]", "''", "[1,,2]", "x", "",
             "1 2", "9223372036854775808", "''''", "010", '"\\ud800"', "[1, true]", "'a'\n'b'")
ODD_VALUES = ("1e999", "nan", "1.0", "0x10", "1_000", "' '", "'a b'", "'--out'", "0", "-1",
              "'\u202e'", "[1, 1]", "9223372036854775807", "-9223372036854775808", '"\\u0000"')
NO_LINES = ("[race]", "race = 1", "out = 'g'", "seed = 1", "cluster = 'c'", "# \x01", "help = 1",
            "'' = 1", "a.b.c = 1", "overwrite = true", "[[race.race]]", "[exclude]", "\ufeff",
            "[[exclude]]\nworkload = 'parabla'")
CALIBRATED = "--workload parabola --strategy all_reduce --workers 2 --processes 2".split()
# Keys of a cluster and of its hosts: sound values, and others.
TOP = {"calibration": (('"calibration.json"',), ('"nonesuch"', '"."', '"zero"', '"fifo"', '"loop"',
                                                 '""', f'"{"x" * 5000}"', '"a\\u0000"')),
       "latency_us": (("0", "25", "1e8"), ("100000001", "-1")), "seed": (("0", "7"), ("1.5", "-1")),
       "core_gbit_per_s": (("40", "1e-6", "1e6"), ("0", "9e-7")), "queue_kb": (("0", "80"), ("x",)),
       "server_cores": (("1", "4096"), ("0", "4097", "1.5")), "machine_cores": (("2",), ("0",)),
       "threads_per_worker": (("1",), ("0", "4097")), "cpus": ((), ("1",))}
HOST = {"count": (("2", "3", "4096"), ("0", "1", "4097")), "gbit_per_s": (("1", "2.5"), ("0",)),
        "processes": (("1", "2"), ("0", "1.5")), "hosts": ((), ("1",))}
NO_NUMBERS = ("nan", "inf", "true", "[]", "1e308", "{}")
ON_HOST = ("transports", "grpc", "on_host")
# Where in a calibration, its new value, and whether it is still sound.
CALIBRATIONS: tuple[tuple[tuple[str, ...], Any, bool], ...] = (
    (("source",), "a data sheet", True), (("source",), 5, False), (("cpu",), "another", False),
    (("calibration",), 2, False), (("calibration",), True, False),
    (("step_ns",), [1, 1e13], True), (("step_ns",), [0.5], False), (("step_ns",), 5, False),
    (("step_ns",), [1.1e13], False), (("kernels",), [], False), (("transports",), 5, False),
    (("transports", "grpc"), None, False), ((*ON_HOST, "message_ns"), 5, True),
    ((*ON_HOST, "message_ns"), 1.1e13, False), ((*ON_HOST, "bytes_per_ns"), None, True),
    ((*ON_HOST, "bytes_per_ns"), 0, False), ((*ON_HOST, "points"), [[2, 9e12], [1, 9e12]], False))


FILE = fresh_folder() / "calibration.json"
output_of("calibrate", *CALIBRATED, "--out", str(FILE))
CALIBRATION = FILE.read_bytes()


def places_in(part: Any) -> list[tuple[Any, Any]]:
    """All fields, each as the list or object that holds it and its key there."""
    inner = list(part.items() if isinstance(part, dict) else enumerate(part))
    return [(part, key) for key, _ in inner] + [
        place for _, value in inner if isinstance(value, (dict, list))
        for place in places_in(value)]


values = st.one_of(st.just("@@"), st.sampled_from(([0] * MANY, "x" * DEPTH, 2**64, "")),
                   st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
                                lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
                                max_leaves=4))


@st.composite
def record_lines(draw: Draw) -> bytes:
    record = json.loads(draw(st.sampled_from(LINES)))
    record["run_id"] = f"{draw(st.integers(1, 1 << 64)):032x}"
    kind = draw(st.sampled_from(("sound", "value", "value", "value", "gone", "more", "bytes")))
    part, key = draw(st.sampled_from(places_in(record)))
    if kind == "value":
        part[key] = draw(values)
    elif kind == "gone":
        del part[key]
    elif kind == "more" and isinstance(part, list):
        part += part * draw(st.sampled_from((1, 50)))
    text = json.dumps(record, separators=(",", ":"))
    text = text.replace('"@@"', draw(st.sampled_from(TOKENS)))
    return draw(damaged(text.encode())).replace(b"\n", b" ") if kind == "bytes" else text.encode()


@st.composite
def matrices(draw: Draw) -> tuple[bytes, Any]:
    """A file, and how many cells and seeds it has."""
    lists = {key: st.lists(st.sampled_from(those), min_size=1, unique=True)
             for key, those in LISTS.items()}
    blocks = draw(st.lists(st.fixed_dictionaries(
        {"workload": st.just(["parabola"]), "strategy": lists.pop("strategy")}, optional=lists),
        min_size=1, max_size=2))
    cells = {tuple(zip(block, chosen)) for block in blocks
             for chosen in itertools.product(*block.values())}
    seeds = draw(st.integers(1, 1000))
    text = f"seeds = {seeds}\n" + "".join("[[race]]\n" + "".join(
        f"{key} = {json.dumps(those)}\n" for key, those in block.items()) for block in blocks)
    out = draw(st.sampled_from(sorted({pair for cell in cells for pair in cell}, key=str)))
    if left := {cell for cell in cells if out not in cell}:
        cells = left
        text += f"[[exclude]]\n{out[0]} = {json.dumps(out[1])}\n"
    kind = draw(st.sampled_from(("sound", "bytes", "key", "value", "odd value", "line")))
    if kind == "bytes":
        return draw(damaged(text.encode())), UNSURE
    if kind == "line":
        text += draw(st.sampled_from(NO_LINES)) + "\n"
    elif kind != "sound":
        found = draw(st.sampled_from(list(re.finditer(r"(?m)^(\w+) = (.*)$", text))))
        group = 1 if kind == "key" else 2
        new = draw(st.sampled_from({"key": tuple(found[1] + more for more in "xs.-_"),
                                    "value": NO_VALUES, "odd value": ODD_VALUES}[kind]))
        text = text[:found.start(group)] + new + text[found.end(group):]
    return text.encode(), {"sound": (len(cells), seeds), "odd value": UNSURE}.get(kind, REFUSED)


@st.composite
def clusters(draw: Draw) -> tuple[bytes, bytes, Any]:
    """A cluster, its calibration, and the hosts and the latency in nanoseconds that it has."""
    tables = [draw(st.fixed_dictionaries(
        {first: st.sampled_from(keys[first][0])}, optional={
            key: st.sampled_from(sound) for key, (sound, _) in keys.items()
            if sound and key != first}))
        for keys, first in ((TOP, "calibration"), (HOST, "count"))]
    verdict: Any = (int(tables[1]["count"]), 1e3 * float(tables[0].get("latency_us", 0)))
    part = made = json.loads(CALIBRATION)
    kind = draw(st.sampled_from(("sound", "value", "value", "calibration")))
    if kind == "value":
        at, verdict = draw(st.integers(0, 1)), REFUSED
        key, (_, others) = draw(st.sampled_from(sorted((TOP, HOST)[at].items())))
        tables[at][key] = draw(st.sampled_from((*others, *NO_NUMBERS)))
    elif kind == "calibration":
        (*path, key), value, is_sound = draw(st.sampled_from(CALIBRATIONS))
        for name in path:
            part = part[name]
        part[key] = value
        verdict = verdict if is_sound else REFUSED
    top, host = ("".join(f"{key} = {table[key]}\n" for key in table) for table in tables)
    return f"{top}[[host]]\n{host}".encode(), json.dumps(made).encode(), verdict


def wrong_row(text: bytes, row: dict[str, str]) -> list[str]:
    """Findings where a row differs from its line."""
    try:
        value = json.loads(text.removeprefix(b"\xef\xbb\xbf").decode(), parse_constant=int)
    except RecursionError:
        return []
    except (ValueError, TypeError) as error:
        return [f"a row of no JSON: {error}"]
    fields = {column: value for column in COLUMNS}
    for column in COLUMNS:
        for key in column.split("."):
            part = fields[column]
            fields[column] = part.get(key) if isinstance(part, dict) else None
    return [f"{column} is {str(field)[:40]!r}, its row has {row[column][:40]!r}"
            for column, field in fields.items()
            if isinstance(field, (str, int)) and not isinstance(field, bool)
            and row[column] != str(field) and (column, field) != ("run_id", "")]  # has a digest


class Files(Property):
    def is_sound(self, done: Done, verdict: Any) -> bool:
        """Whether the file is, so that its content can be compared."""
        if verdict in (REFUSED, UNSURE):
            self.assertTrue(verdict == UNSURE or done.code != 0, "accepted, not refused")
            return False
        self.assertEqual(0, done.code, done.stderr[-300:])
        return True

    @checked(40, [(ODD_LINES, READERS[0])], st.lists(record_lines(), min_size=1, max_size=8),
             st.sampled_from(READERS))
    def test_of_records_come_out_as_they_are_written(self, lines: list[bytes],
                                                    reader: list[str]) -> None:
        files = {"r/" + RECORDS: b"".join(line + b"\n" for line in (LINES[0], *lines))}
        self.tried(reader, files)
        done = self.tried(["export", "r", "--format", "csv"], files)
        if done.code != 0:
            self.assertRegex(done.stderr, rb"records\.jsonl:\d+: schema ")
            return
        warned = {int(number) for number in WARNING.findall(done.stderr)}
        kept = [line for place, line in enumerate(lines, 2)
                if place not in warned and line.strip(b" \t\r")]
        csv.field_size_limit(1 << 30)
        printed = io.StringIO(done.stdout.decode(errors="replace"), newline="")
        rows = list(csv.DictReader(printed))[1:]
        self.assertEqual(len(kept), len(rows), f"rows, beside {len(warned)} warnings")
        self.assertEqual([], [wrong for both in zip(kept, rows) for wrong in wrong_row(*both)])

    @checked(70, [((text.encode(), REFUSED),) for text in (
        "seeds = 9223372036854775807\n" + RACE,  # SIGABRT
        "seeds = 100000000\n" + RACE,  # all memory
        RACE + ".".join("a" * 50_000) + " = 1\n",  # SIGSEGV
        RACE + LARGE[0] + LARGE[1], RACE + "".join(LARGE),  # minutes
        RACE + "[[exclude]]\nstrategy = 'all_reduse'\n",  # not noticed
        RACE + "workers = " + "[" * DEPTH + "]" * DEPTH, RACE * 10_000, RACE + "#" * 10**7)],
        matrices())
    def test_of_matrices_are_counted_or_refused(self, file: tuple[bytes, Any]) -> None:
        done = self.tried("matrix input.toml --dry-run --out g".split(), {"input.toml": file[0]})
        if self.is_sound(done, file[1]):
            cells, seeds, runs = map(int, re.findall(
                rb"(?m)^(\d+) cells x (\d+) seeds = (\d+) runs", done.stdout)[0])
            self.assertEqual(((cells, seeds), cells * seeds), (file[1], runs))

    @checked(50, [], clusters(), st.sampled_from(("time", "train")))
    def test_of_clusters_are_in_the_record_or_refused(self, files: tuple[bytes, bytes, Any],
                                                     mode: str) -> None:
        done = self.tried(["run", *CALIBRATED, "--steps", "5", "--cluster", "cluster.toml",
                           "--virtual", mode, "--out", "new"],
                          {"cluster.toml": files[0], "calibration.json": files[1]})
        if self.is_sound(done, files[2]):
            said = json.loads((self.here / "new" / SIMULATED).read_bytes())["simulated"]
            self.assertEqual((*files[2], mode), (said["hosts"], said["hardware"]["latency_ns"],
                                                 said["mode"]))


if __name__ == "__main__":
    run_tests()
