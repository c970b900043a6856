# SPDX-License-Identifier: Apache-2.0
"""`regatta export` on the committed records, read by Python's parsers, held to each format's facts.

usage: export_test.py REGATTA SCHEMA [unittest arguments]

The facts are those that the readers of each format rely on: the tests of dawn-bench-entries, the
rules of MLPerf's compliance checker that hold for every benchmark (training_6.0.0/common.yaml),
google/benchmark's json_reporter.cc and compare.py, the README of github-action-benchmark, Bencher's
bmf.json, RFC 4180.
"""

import csv
import datetime
import io
import json
import math
import re
import statistics
import sys
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from test_support import fresh_folder, output_of, records_in, regatta, run_tests

RESULTS = Path("results")
QUICK = RESULTS / "xeon-no-amx-2-cores" / "quick"
AIRBENCH94 = RESULTS / "xeon-2-cores" / "airbench94"
SCHEMA: dict[str, Any] = json.loads(Path(sys.argv[2]).read_text())
AUTHOR = ("--author", "Ann O'Nym")
EMAIL = ("--author-email", "ann@example.org")
COMMIT = re.compile(r"[0-9a-f]{40}")


def refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def parsed(text: str) -> Any:
    return json.loads(text, parse_constant=refuse)


def exported(folder: Path, form: str, *flags: str) -> str:
    """Of a format that is one file."""
    return output_of("export", str(folder), "--format", form, *flags)


def exported_folder(folder: Path, form: str, *flags: str) -> Path:
    out = fresh_folder() / "new" / "folder"
    output_of("export", str(folder), "--format", form, "--out", str(out), *flags)
    return out


def folder_of(*lines: str) -> Path:
    folder = fresh_folder()
    (folder / "records.jsonl").write_text("".join(lines))
    return folder


def lines_in(folder: Path) -> list[str]:
    return (folder / "records.jsonl").read_text().splitlines(keepends=True)


def changed(line: str, **fields: Any) -> str:
    return json.dumps({**json.loads(line), **fields}) + "\n"


def failed(line: str) -> str:
    """The record of a run that diverged after two evaluations."""
    return changed(line, status="failed", training_time_to_target_ns=None, examples_to_target=None,
                   full_time_to_target_ns=None, evaluations=json.loads(line)["evaluations"][:2],
                   failure={"kind": "diverged", "text": 'step 7: "x, y"\r\nis not finite'})


def cell_of(record: dict[str, Any]) -> tuple[str, str]:
    """Of records of `QUICK`, which tell cells apart by this."""
    return record["cell"]["workload"], record["cell"]["strategy"]


def cells_of(records: list[dict[str, Any]]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    cells: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for record in records:
        cells.setdefault(cell_of(record), []).append(record)
    return cells


def seconds_to_target(record: dict[str, Any]) -> float:
    ns = record["training_time_to_target_ns"]
    return math.inf if ns is None else ns / 1e9


class Dawnbench(unittest.TestCase):
    def setUp(self) -> None:
        self.out = exported_folder(AIRBENCH94, "dawnbench", *AUTHOR, *EMAIL, "--cost-per-hour", "0.5")
        self.files = sorted((self.out / "CIFAR10" / "train").iterdir())

    def test_has_a_json_and_a_tsv_for_each_run(self) -> None:
        self.assertEqual([path.suffix for path in self.files], [".json", ".tsv"] * 10)
        for entry, rows in zip(self.files[::2], self.files[1::2]):
            self.assertEqual(entry.stem, rows.stem)
            self.assertRegex(entry.stem, r"^Ann-O-Nym_[^_]+_[^_]+_regatta$")

    def test_json_has_the_required_fields_and_no_others_than_known(self) -> None:
        for path in self.files[::2]:
            entry = parsed(path.read_text())
            for field in ("version", "author", "authorEmail", "framework", "model", "hardware",
                          "timestamp", "commitHash"):
                self.assertIsInstance(entry.pop(field), str, field)
            self.assertEqual(entry.pop("costPerHour"), 0.5)
            self.assertIsInstance(entry.pop("misc"), dict)
            self.assertEqual(entry, {})

    def test_json_says_what_the_record_says(self) -> None:
        records = {record["run_id"]: record for record in records_in(AIRBENCH94)}
        for path in self.files[::2]:
            entry = parsed(path.read_text())
            record = records.pop(entry["misc"]["run_id"])
            self.assertEqual(entry["version"], "v1.0")
            self.assertEqual(entry["commitHash"], record["software"]["git_commit"])
            day = datetime.datetime.strptime(entry["timestamp"], "%Y-%m-%d")
            self.assertEqual(day.strftime("%Y-%m-%d"), record["timestamp"][:10])
            self.assertIn(record["machine"]["cpu"], entry["hardware"])
        self.assertEqual(records, {})

    def test_tsv_is_strict_and_its_first_row_at_94_is_the_result(self) -> None:
        records = {record["run_id"]: record for record in records_in(AIRBENCH94)}
        for entry, path in zip(self.files[::2], self.files[1::2]):
            record = records[parsed(entry.read_text())["misc"]["run_id"]]
            data = path.read_bytes()
            self.assertTrue(data.isascii() and b"\r" not in data and data.endswith(b"\n"))
            rows = list(csv.DictReader(io.StringIO(data.decode()), delimiter="\t", strict=True))
            self.assertEqual(list(rows[0]), ["epoch", "hours", "top1Accuracy"])
            self.assertEqual(len(rows), len(record["evaluations"]) - 1)
            hours = [float(row["hours"]) for row in rows]
            self.assertEqual(hours, sorted(hours))
            crossing = next(row for row in rows if float(row["top1Accuracy"]) >= 94)
            self.assertAlmostEqual(float(crossing["hours"]) * 3600, seconds_to_target(record))

    def test_has_no_entry_for_other_tasks_and_lesser_accuracies(self) -> None:
        for folder, why in ((QUICK, "DAWNBench has no such task"),
                            (RESULTS / "xeon-no-amx-2-cores" / "airbench94_short",
                             "did not reach 94 % accuracy")):
            out = fresh_folder()
            done = regatta("export", str(folder), "--format", "dawnbench", "--out", str(out),
                           *AUTHOR, *EMAIL)
            self.assertEqual(done.returncode, 1)
            self.assertIn(why, done.stderr)
            self.assertIn("holds nothing for --format dawnbench", done.stderr)
            self.assertEqual(list(out.iterdir()), [])


def mllog_lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text().splitlines():
        match = re.fullmatch(r":::MLLOG (\{.*\})", line)
        assert match, line
        yield parsed(match[1])


class Mllog(unittest.TestCase):
    ONE = ("submission_benchmark", "submission_org", "submission_platform", "submission_division",
           "init_stop", "run_start", "run_stop", "train_samples", "eval_samples")
    SOME = ("cache_clear", "init_start", "block_start", "block_stop", "eval_start", "eval_stop",
            "eval_accuracy", "seed", "global_batch_size")
    ENDS = {"start": "INTERVAL_START", "stop": "INTERVAL_END"}

    def setUp(self) -> None:
        self.out = exported_folder(QUICK, "mllog", *AUTHOR)
        self.logs = {path.relative_to(self.out): list(mllog_lines(path))
                     for path in sorted(self.out.rglob("*.txt"))}

    def test_there_is_one_for_each_run_that_claims_a_time(self) -> None:
        claiming = [run for run in records_in(QUICK) if run["cell"]["strategy"] != "independent"]
        self.assertEqual(len(self.logs), len(claiming))
        names = {str(path) for path in self.logs}
        for number in range(3):
            self.assertIn(f"parabola-all-reduce-x2/result_{number}.txt", names)

    def test_lines_have_exactly_their_fields_in_order(self) -> None:
        for lines in self.logs.values():
            for line in lines:
                self.assertEqual(list(line), ["namespace", "time_ms", "event_type", "key", "value",
                                              "metadata"])
                self.assertIs(type(line["time_ms"]), int)
                self.assertEqual(line["metadata"]["file"], "export_mllog.cpp")
                self.assertIs(type(line["metadata"]["lineno"]), int)
                ending = line["key"].rsplit("_")[-1]
                self.assertEqual(line["event_type"], self.ENDS.get(ending, "POINT_IN_TIME"))
            times = [line["time_ms"] for line in lines]
            self.assertEqual(times, sorted(times))

    def test_keys_occur_as_often_as_the_checker_requires(self) -> None:
        for path, lines in self.logs.items():
            keys = [line["key"] for line in lines]
            for key in self.ONE:
                self.assertEqual(keys.count(key), 1, (path, key))
            for key in self.SOME:
                self.assertGreaterEqual(keys.count(key), 1, (path, key))
            for line in lines:
                if line["key"] in self.ONE[:4]:
                    self.assertNotEqual(line["value"], "")

    def test_checks_of_each_key_hold(self) -> None:
        for lines in self.logs.values():
            at = {line["key"]: index for index, line in enumerate(lines)}  # of the last of each
            first_block = next(i for i, line in enumerate(lines) if line["key"] == "block_start")
            self.assertLess(at["init_start"], at["init_stop"])
            self.assertLess(at["init_stop"], at["run_start"])
            self.assertLess(at["run_start"], first_block)
            self.assertEqual(at["run_stop"], len(lines) - 1)
            self.assertEqual(lines[at["submission_division"]]["value"], "open")
            self.assertLess(lines[at["init_stop"]]["time_ms"] - lines[at["init_start"]]["time_ms"],
                            240 * 60 * 1000)
            for line in lines:
                metadata = line["metadata"]
                if line["key"].startswith(("block", "eval")) and line["key"] != "eval_samples":
                    self.assertGreaterEqual(metadata["samples_count"], 0)
                if line["key"] == "block_start":
                    self.assertGreater(metadata["epoch_count"], 0)
                    self.assertIn("first_epoch_num", metadata)

    def test_score_is_the_full_time_to_the_target(self) -> None:
        for cell, runs in cells_of(records_in(QUICK)).items():
            if cell[1] == "independent":
                continue
            logs = [lines for lines in self.logs.values()
                    if lines[0]["value"] == cell[0]
                    and [line["value"] for line in lines if line["key"] == "seed"] == [1]]
            scores = {line["time_ms"] for lines in logs for line in lines
                      if line["key"] == "run_stop"}
            (run,) = [run for run in runs if run["cell"]["seed"] == 1]
            begin = datetime.datetime.fromisoformat(run["timestamp"].replace("Z", "+00:00"))
            expected = begin.timestamp() * 1e3 + (run["setup_ns"] + run["warmup_ns"] +
                                                  run["full_time_to_target_ns"]) // 1_000_000
            self.assertIn(expected, scores, cell)

    def test_missed_and_failed_runs_are_aborted(self) -> None:
        line = lines_in(QUICK)[0]
        missed = changed(line, status="missed", training_time_to_target_ns=None,
                         full_time_to_target_ns=None, examples_to_target=None)
        out = exported_folder(folder_of(missed, failed(line), line), "mllog", *AUTHOR)
        stops = [list(mllog_lines(path))[-1]["metadata"]["status"]
                 for path in sorted(out.rglob("*.txt"))]
        self.assertEqual(stops, ["aborted", "aborted", "success"])


class GoogleBenchmark(unittest.TestCase):
    def test_has_what_its_reporter_writes(self) -> None:
        json_text = parsed(exported(QUICK, "gbench"))
        self.assertEqual(list(json_text), ["context", "benchmarks"])
        self.assertEqual(json_text["context"]["json_schema_version"], 1)
        datetime.datetime.fromisoformat(json_text["context"]["date"])
        for entry in json_text["benchmarks"]:
            self.assertEqual(list(entry)[:8], [
                "name", "family_index", "per_family_instance_index", "run_name", "run_type",
                "repetitions", "repetition_index", "threads"])
            self.assertEqual(entry["run_type"], "iteration")
            self.assertEqual(entry["time_unit"], "ns")
            self.assertGreaterEqual(entry["iterations"], 1)
            self.assertIs(type(entry["iterations"]), int)
            for time in ("real_time", "cpu_time", "items_per_second"):
                self.assertIs(type(entry[time]), float)

    def test_a_cell_is_a_family_and_a_run_a_repetition(self) -> None:
        entries = parsed(exported(QUICK, "gbench"))["benchmarks"]
        cells = cells_of(records_in(QUICK))
        self.assertEqual({entry["family_index"] for entry in entries}, set(range(len(cells))))
        for index, (cell, runs) in enumerate(cells.items()):
            family = [entry for entry in entries if entry["family_index"] == index]
            self.assertEqual(len({entry["name"] for entry in family}), 1)
            self.assertTrue(family[0]["name"].startswith(f"{cell[0]} {cell[1]} x"))
            self.assertEqual([entry["repetition_index"] for entry in family],
                             list(range(len(runs))))
            for entry, run in zip(family, runs):
                self.assertEqual(entry["repetitions"], len(runs))
                self.assertEqual(entry["items_per_second"], run["examples_per_s"])
                self.assertAlmostEqual(entry["real_time"] / 1e9 * run["examples_per_s"],
                                       run["cell"]["global_batch"])

    def test_a_failed_run_is_an_error_of_its_reporter(self) -> None:
        line = lines_in(QUICK)[0]
        good, bad = parsed(exported(folder_of(line, failed(line)), "gbench"))["benchmarks"]
        self.assertNotIn("error_occurred", good)
        self.assertIs(bad["error_occurred"], True)
        self.assertIn("diverged", bad["error_message"])
        self.assertEqual((bad["iterations"], bad["real_time"], bad["cpu_time"]), (0, 0, 0))


class GithubActionBenchmark(unittest.TestCase):
    def test_has_name_unit_and_value_for_each_cell(self) -> None:
        out = exported_folder(QUICK, "github")
        self.assertEqual(sorted(path.name for path in out.iterdir()),
                         ["bigger_is_better.json", "smaller_is_better.json"])
        cells = cells_of(records_in(QUICK))
        claiming = [cell for cell in cells if cell[1] != "independent"]
        for name, unit, count in (("smaller_is_better.json", "s", len(claiming)),
                                  ("bigger_is_better.json", "examples/s", len(cells))):
            entries = parsed((out / name).read_text())
            self.assertEqual(len(entries), count)
            self.assertEqual(len({entry["name"] for entry in entries}), count)
            for entry in entries:
                self.assertLessEqual(set(entry), {"name", "unit", "value", "range", "extra"})
                self.assertEqual(entry["unit"], unit)
                self.assertIs(type(entry["value"]), float)
                self.assertIsInstance(entry["range"], str)
                self.assertIsInstance(entry["extra"], str)

    def test_an_infinite_median_is_left_out_and_told(self) -> None:
        line = lines_in(QUICK)[0]
        out = fresh_folder() / "out"
        folder = folder_of(line, failed(line), failed(line))
        done = regatta("export", str(folder), "--format", "github", "--out", str(out))
        self.assertEqual(done.returncode, 0)
        self.assertIn("parabola single x1: 1 of 3 runs reached the target", done.stderr)
        self.assertIn("2 of 3 runs failed", done.stderr)
        self.assertEqual(parsed((out / "smaller_is_better.json").read_text()), [])
        self.assertEqual(len(parsed((out / "bigger_is_better.json").read_text())), 1)


class BencherMetricFormat(unittest.TestCase):
    def test_follows_its_schema(self) -> None:
        for name, measures in parsed(exported(QUICK, "bmf")).items():
            self.assertLessEqual(len(name), 1024)
            self.assertGreater(len(measures), 0)
            for measure, metric in measures.items():
                self.assertRegex(measure, r"^[a-z0-9-]{1,64}$")  # a slug
                self.assertIn("value", metric)
                self.assertLessEqual(set(metric), {"value", "lower_value", "upper_value"})
                for value in metric.values():
                    self.assertIs(type(value), float)

    def test_holds_medians_within_their_intervals(self) -> None:
        benchmarks = parsed(exported(QUICK, "bmf"))
        for cell, runs in cells_of(records_in(QUICK)).items():
            (measures,) = [measures for name, measures in benchmarks.items()
                           if name.startswith(f"{cell[0]} {cell[1]} x")]
            speeds = [run["examples_per_s"] for run in runs]
            self.assertEqual(measures["throughput"],
                             {"value": statistics.median(speeds), "lower_value": min(speeds),
                              "upper_value": max(speeds)})
            if cell[1] == "independent":
                self.assertEqual(list(measures), ["throughput"])
                continue
            times = [seconds_to_target(run) for run in runs]
            self.assertAlmostEqual(measures["training-time-to-target-s"]["value"],
                                   statistics.median(times))


def columns_of(schema: dict[str, Any], path: str = "") -> Iterator[str]:
    """The columns that a schema means: one for each field that is not an object."""
    for name, inner in schema["properties"].items():
        if name == "evaluations":
            yield from columns_of(inner["items"], "last_evaluation.")
        elif name not in ("workers", "losses"):
            if "properties" in inner:
                yield from columns_of(inner, f"{path}{name}.")
            else:
                yield path + name


class Csv(unittest.TestCase):
    def rows(self, folder: Path) -> list[dict[str, str]]:
        text = exported(folder, "csv", "--out", "/dev/stdout")
        return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))

    def test_has_a_column_for_each_field_of_the_schema(self) -> None:
        self.assertEqual(list(self.rows(QUICK)[0]), list(columns_of(SCHEMA)))

    def test_has_a_row_for_each_run(self) -> None:
        rows, records = self.rows(QUICK), records_in(QUICK)
        self.assertEqual(len(rows), len(records))
        for row, record in zip(rows, records):
            self.assertEqual(row["run_id"], record["run_id"])
            self.assertEqual(row["cell.strategy"], record["cell"]["strategy"])
            self.assertEqual(row["cell.all_reduce"], record["cell"]["all_reduce"] or "")
            self.assertEqual(float(row["examples_per_s"]), record["examples_per_s"])
            self.assertEqual(float(row["last_evaluation.metric"]),
                             record["evaluations"][-1]["metric"])
            self.assertEqual(row["software.dirty"], "false")
            self.assertEqual(row["failure.kind"], "")

    def test_ends_lines_as_the_rfc_does_and_quotes_what_holds_an_end(self) -> None:
        line = lines_in(QUICK)[0]
        folder = folder_of(line, failed(line))
        out = folder / "runs.csv"
        exported(folder, "csv", "--out", str(out))
        data = out.read_bytes()
        self.assertEqual(data.count(b"\n"), data.count(b"\r\n"))
        self.assertEqual(data.count(b"\r\n"), 4)  # three lines, and one within quotes
        rows = list(csv.DictReader(io.StringIO(data.decode(), newline=""), strict=True))
        self.assertEqual(rows[1]["failure.text"], 'step 7: "x, y"\r\nis not finite')


class Inputs(unittest.TestCase):
    def test_damaged_lines_cost_a_warning_each(self) -> None:
        lines = lines_in(QUICK)
        folder = folder_of(lines[0], "[]\n", lines[1], lines[2][:300])
        for form in ("csv", "bmf", "gbench"):
            done = regatta("export", str(folder), "--format", form)
            self.assertEqual(done.returncode, 0)
            self.assertIn("records.jsonl:2: ", done.stderr)
            self.assertIn("records.jsonl:4: ", done.stderr)
        self.assertEqual(len(parsed(exported(folder, "gbench"))["benchmarks"]), 2)

    def test_a_record_that_lacks_most_fields_is_no_made_up_number(self) -> None:
        record = json.loads(lines_in(QUICK)[0])
        bare = {"cell": {"workload": "parabola", "strategy": "single"}, "status": "missed",
                "schema": 1}
        folder = folder_of(json.dumps(bare) + "\n")
        for form in ("bmf", "gbench"):
            done = regatta("export", str(folder), "--format", form)
            self.assertEqual((done.returncode, done.stdout), (1, ""), form)
            self.assertIn("holds nothing for", done.stderr)
        del record["training_time_to_target_ns"], record["timestamp"]
        folder = folder_of(json.dumps(record) + "\n")
        (measures,) = parsed(exported(folder, "bmf")).values()
        self.assertEqual(list(measures), ["throughput"])

    def test_folders_without_records_are_errors(self) -> None:
        line = lines_in(QUICK)[0]
        for folder, why in ((fresh_folder(), "cannot read"), (folder_of(""), "no whole record"),
                            (folder_of(changed(line, schema=2)), "schema 2")):
            done = regatta("export", str(folder), "--format", "csv")
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(why, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1)


class Outputs(unittest.TestCase):
    def test_are_the_same_bytes_every_time(self) -> None:
        for form in ("csv", "bmf", "gbench"):
            self.assertEqual(exported(QUICK, form), exported(QUICK, form))

    def test_that_cannot_be_written_are_errors(self) -> None:
        taken = fresh_folder()
        (taken / "old.txt").write_text("mine")
        for form, out, why in (("csv", "/dev/full", "No space left"),
                               ("csv", str(taken), "Is a directory"),
                               ("csv", str(taken / "no" / "file"), "No such file"),
                               ("github", str(taken), "the folder is not empty"),
                               ("github", str(taken / "old.txt"), "it is a file")):
            done = regatta("export", str(QUICK), "--format", form, "--out", out)
            self.assertEqual(done.returncode, 1, (form, out))
            self.assertIn(why, done.stderr)
            self.assertIn("choose another --out", done.stderr)
        self.assertEqual([path.name for path in taken.iterdir()], ["old.txt"])

    def test_flags_that_a_format_has_no_place_for_are_errors(self) -> None:
        for flags, why in ((("--format", "xml"), "unknown format 'xml'"),
                           ((), "--format is required"),
                           (("--format", "csv", *AUTHOR), "no place for --author"),
                           (("--format", "mllog", "--out", "x"), "needs --author"),
                           (("--format", "mllog", *AUTHOR), "name a new folder with --out"),
                           (("--format", "dawnbench", *AUTHOR), "needs --author-email")):
            done = regatta("export", str(QUICK), *flags)
            self.assertEqual((done.returncode, done.stdout), (1, ""), flags)
            self.assertIn(why, done.stderr)


if __name__ == "__main__":
    run_tests()
