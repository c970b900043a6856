# SPDX-License-Identifier: Apache-2.0
"""`regatta export` for leaderboards: DAWNBench's entries and MLPerf's logs, from committed records.

usage: export_leaderboards_test.py REGATTA SCHEMA [unittest arguments]

The tests check the facts on which readers rely: the tests of dawn-bench-entries, and the rules of
MLPerf's compliance checker for every benchmark (training_6.0.0/common.yaml).
"""

import csv
import datetime
import io
import json
import re
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from export_support import (AUTHOR, QUICK, RESULTS, cell_of, cells_of, changed, exported_folder,
                            failed, folder_of, lines_in, parsed, seconds_to_target)
from test_support import fresh_folder, records_in, regatta, run_tests

AIRBENCH94 = RESULTS / "xeon-2-cores" / "airbench94"
EMAIL = ("--author-email", "ann@example.org")


class Dawnbench(unittest.TestCase):
    def setUp(self) -> None:
        self.out = exported_folder(AIRBENCH94, "dawnbench", *AUTHOR, *EMAIL,
                                   "--cost-per-hour", "0.5")
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
            self.assertIn(f"parabola-all-reduce-2-workers/result_{number}.txt", names)

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
            at = {line["key"]: index for index, line in enumerate(lines)}  # the last line of each
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

    def test_says_how_batch_and_model_were_dealt(self) -> None:
        for path, lines in self.logs.items():
            stages = 2 if "model-parallel" in str(path) else 1
            replicas = 2 if "-2-workers" in str(path) and stages == 1 else 1
            value = {line["key"]: line["value"] for line in lines}
            self.assertEqual(value["pipeline_parallelism"], stages, path)
            self.assertEqual(value["micro_batch_size"] * replicas, value["global_batch_size"], path)

    def test_tells_shards_of_layers_from_stages(self) -> None:
        line = lines_in(QUICK)[0]
        cell = json.loads(line)["cell"] | {"workers": 4, "stages": 2}
        for strategy, options, pipeline, tensor, context in (
                ("all_reduce+pipeline", {}, 2, 1, 1), ("all_reduce+tensor_parallel", {}, 1, 2, 1),
                ("pipeline+tensor_parallel", {"shards": 2}, 2, 2, 1),
                ("pipeline+context_parallel", {"shards": 2}, 2, 1, 2)):
            record = changed(line, cell=cell | {
                "strategy": strategy, "options": options, "stages": pipeline * tensor * context})
            (path,) = exported_folder(folder_of(record), "mllog", *AUTHOR).rglob("*.txt")
            value = {entry["key"]: entry["value"] for entry in mllog_lines(path)}
            self.assertEqual(
                [value[f"{kind}_parallelism"] for kind in ("pipeline", "tensor", "context")],
                [pipeline, tensor, context])

    def test_names_no_share_where_shares_differ_or_cannot_be(self) -> None:
        (cell,) = [run["cell"] for run in records_in(QUICK) if cell_of(run) == (
            "resnet9_thin", "all_reduce") and run["cell"]["seed"] == 1]
        line = lines_in(QUICK)[0]
        for change, share in (({}, [cell["global_batch"] // 2]), ({"global_batch": 32}, [16]),
                              ({"global_batch": 24}, []),  # three groups of 8
                              ({"global_batch": 0}, []), ({"global_batch": 2**40}, []),
                              ({"workers": 0}, []), ({"stages": 5}, []),
                              ({"workload": "resnet8_thin"}, [])):
            record = changed(line, cell=cell | change)
            (path,) = exported_folder(folder_of(record), "mllog", *AUTHOR).rglob("*.txt")
            self.assertEqual([entry["value"] for entry in mllog_lines(path)
                              if entry["key"] == "micro_batch_size"], share, change)

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


if __name__ == "__main__":
    run_tests()
