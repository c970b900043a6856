# SPDX-License-Identifier: Apache-2.0
"""`regatta export` for other tools, from committed records, and its errors for bad input.

usage: export_test.py REGATTA SCHEMA [unittest arguments]

The tests check the facts on which readers of each format rely: google/benchmark's json_reporter.cc
and compare.py, the README of github-action-benchmark, Bencher's bmf.json, RFC 4180.
"""

import csv
import datetime
import io
import json
import sys
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from export_support import (QUICK, cells_of, changed, exported, exported_folder, failed,
                            folder_of, lines_in, parsed)
from test_support import fresh_folder, records_in, regatta, run_tests

SCHEMA: dict[str, Any] = json.loads(Path(sys.argv[2]).read_text())


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
            self.assertTrue(family[0]["name"].startswith(f"{cell[0]} {cell[1]} ("))
            self.assertEqual([entry["repetition_index"] for entry in family],
                             list(range(len(runs))))
            for entry, run in zip(family, runs):
                self.assertEqual(entry["repetitions"], len(runs))
                self.assertEqual(entry["items_per_second"], run["examples_per_s"])
                self.assertAlmostEqual(entry["real_time"] / 1e9 * run["examples_per_s"],
                                       run["cell"]["global_batch"])


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


# Fields that only records of earlier versions have.
GONE = [f"{part}.{name}" for version in SCHEMA["$defs"].values()
        for part, fields in version.get("properties", {}).items()
        for name, allowed in fields.get("properties", {}).items() if allowed is False]


def columns_of(schema: dict[str, Any], path: str = "") -> Iterator[str]:
    """The columns for a schema: one for each field that is not an object."""
    for name, inner in schema["properties"].items():
        if path + name == "evaluations":
            yield from columns_of(inner["items"], "last_evaluation.")
        elif "properties" in inner:
            yield from columns_of(inner, f"{path}{name}.")
        elif path + name not in ("workers", "clocks", "losses", *GONE):
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
            algorithm = record["cell"]["all_reduce"]  # in records of that time a field of the cell
            self.assertEqual(f"all_reduce={algorithm}" in row["cell.options"],
                             algorithm is not None)
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
                            (folder_of(changed(line, schema=99)), "schema 99")):
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
        for out, why in ((taken, "the folder is not empty"),
                         (taken / "old.txt", "Not a directory")):
            done = regatta("export", str(QUICK), "--format", "github", "--out", str(out))
            self.assertEqual(done.returncode, 1, out)
            self.assertIn(why, done.stderr)
            self.assertRegex(done.stderr, "choose another .*--out")
        self.assertEqual([path.name for path in taken.iterdir()], ["old.txt"])


if __name__ == "__main__":
    run_tests()
