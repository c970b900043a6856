# SPDX-License-Identifier: Apache-2.0
"""`regatta export --format mllog`, checked by MLPerf's own compliance checker.

usage: export_checker_test.py REGATTA SCHEMA [unittest arguments]

Exits 77 (skipped) if the checker is not installed. Debian does not package it:
    pip install --no-deps --target FOLDER mlperf-logging==4.1.68
    PYTHONPATH=FOLDER ctest --preset debug -R export_checker_test

Rules for single benchmarks are left out, since no run is of a benchmark of MLPerf's; the checker
always complains of submission_benchmark for the same reason. It ignores keys that it does not know.
"""

import logging
import unittest
from pathlib import Path
from unittest import mock

from export_support import (AUTHOR, QUICK, RESULTS, changed, exported_folder, failed, folder_of,
                            lines_in)
from test_support import run_tests, skip

try:
    from mlperf_logging.compliance_checker import mlp_compliance
    from mlperf_logging.mllog import constants
except ImportError as error:
    skip(f"MLPerf's checker is not installed ({error}): pip install --no-deps --target FOLDER "
         "mlperf-logging, and PYTHONPATH=FOLDER")

RULESETS = ("4.1.0", "5.0.0", "5.1.0", "6.0.0")
DISCLOSING = "6.1.0"  # requires more keys: precision, parallelism, configuration
ALWAYS = {"submission_benchmark"}
NOT_HERE = ALWAYS | {"lowest_numerical_precision_in_attn", "config_filename"}


def refused(log: Path, ruleset: str) -> set[str]:
    """The keys, or whole sentences, in the checker's complaints, warnings included."""
    rules = Path(mlp_compliance.__file__).parent
    enqueue = mlp_compliance.enqueue_config
    checker = mlp_compliance.make_checker("training", ruleset, quiet=False, werror=True)
    with mock.patch.object(mlp_compliance, "enqueue_config",
                           lambda name: enqueue(name) if (rules / name).exists() else None):
        checker.check_file(str(log), f"training_{ruleset}/common.yaml")
    return {*checker.overwritable, *checker.not_overwritable}


def logs_of(folder: Path) -> list[Path]:
    """The log of the first run of each cell."""
    return sorted(exported_folder(folder, "mllog", *AUTHOR).rglob("result_0.txt"))


class Checker(unittest.TestCase):
    def setUp(self) -> None:
        logging.disable()
        self.addCleanup(logging.disable, logging.NOTSET)

    def test_accepts_every_cell_by_the_rules_of_all_benchmarks(self) -> None:
        logs = logs_of(QUICK)
        self.assertEqual(len(logs), 16)
        for ruleset in RULESETS:
            for log in logs:
                self.assertEqual(refused(log, ruleset), ALWAYS, (log, ruleset))

    def test_accepts_what_a_run_here_can_disclose(self) -> None:
        for log in logs_of(QUICK):
            self.assertEqual(refused(log, DISCLOSING), NOT_HERE, log)

    def test_accepts_bf16_but_knows_not_in_what_it_travels(self) -> None:
        logs = logs_of(RESULTS / "xeon-2-cores" / "airbench94")
        self.assertEqual(len(logs), 2)
        for log in logs:
            self.assertEqual(refused(log, RULESETS[-1]), ALWAYS)
            self.assertEqual(refused(log, DISCLOSING),
                             NOT_HERE | {"lowest_numerical_precision_in_comm"})

    def test_accepts_missed_and_failed_runs(self) -> None:
        line = lines_in(QUICK)[0]
        missed = changed(line, status="missed", training_time_to_target_ns=None,
                         full_time_to_target_ns=None, examples_to_target=None)
        for bad in (missed, failed(line)):
            (log,) = logs_of(folder_of(bad))
            self.assertEqual(refused(log, RULESETS[-1]), ALWAYS)

    def test_knows_every_key(self) -> None:
        known = {value for value in vars(constants).values() if isinstance(value, str)}
        for log in logs_of(QUICK):
            for line in log.read_text().splitlines():
                self.assertIn(line.split('"key": "')[1].split('"')[0], known)

    def test_refuses_a_log_that_lacks_a_key_or_has_it_in_the_wrong_place(self) -> None:
        log = logs_of(QUICK)[0]
        lines = log.read_text().splitlines()
        for key in ("submission_org", "cache_clear", "init_start", "init_stop", "run_start",
                    "run_stop", "train_samples", "eval_samples", "eval_accuracy"):
            rest = [line for line in lines if f'"key": "{key}"' not in line]
            self.assertLess(len(rest), len(lines))
            log.write_text("\n".join(rest))
            self.assertLessEqual(ALWAYS | {key}, refused(log, RULESETS[-1]))
        log.write_text("\n".join(reversed(lines)))
        self.assertLessEqual({"init_stop", "run_start", "run_stop"}, refused(log, RULESETS[-1]))
        log.write_text("\n".join(line.replace('"fp32"', '"float"') for line in lines))
        self.assertIn("lowest_numerical_precision_in_linear", refused(log, RULESETS[-1]))


if __name__ == "__main__":
    run_tests()
