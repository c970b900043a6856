# SPDX-License-Identifier: Apache-2.0
"""Compares `regatta plan` (first place, bounds, memory) with runs in virtual time.

usage: plan_test.py REGATTA SCHEMA [unittest arguments]
"""

import functools
import json
import re
import unittest
from pathlib import Path
from typing import NamedTuple

from simulated_support import messages
from test_support import fresh_folder, output_of, regatta, run_tests, skip_without_mpirun

skip_without_mpirun()
FAST, SLOW = 10, 0.01  # Gbit/s
BEST = 5


class Row(NamedTuple):
    simulated: bool
    step_ms: float
    memory: float
    flags: tuple[str, ...]


def cell(workers: int) -> tuple[str, ...]:
    return ("--workload", "gpt_tiny", "--workers", str(workers))


@functools.cache
def costs(workers: int) -> str:
    """A calibration of all candidates, with times that depend only on shapes."""
    file = fresh_folder() / "calibration.json"
    output_of("calibrate", "--plan", *cell(workers), "--messages", messages(), "--out", str(file))
    made = json.loads(file.read_text())
    for key in made["kernels"]:
        shapes = re.findall(r"(\d+(?:x\d+)*)[a-z]+\d+", key)
        sizes = [functools.reduce(lambda a, b: a * int(b), shape.split("x"), 1)
                 for shape in shapes]
        made["kernels"][key] = 500 + sum(sizes)
    way = {"message_ns": 5000, "bytes_per_ns": 5}
    transport = {"on_host": way, "between_hosts": way, "adding_bytes_per_ns": 5,
                 "sending_bytes_per_ns": None}
    made |= {"source": "the test", "step_ns": [],
             "transports": dict.fromkeys(made["transports"], transport)}
    return json.dumps(made)


@functools.cache
def cluster(workers: int, gbit: float, text: str = "") -> Path:
    folder = fresh_folder()
    (folder / "calibration.json").write_text(costs(workers))
    (folder / "cluster.toml").write_text(
        f'calibration = "calibration.json"\nlatency_us = 20\n{text}[[host]]\ncount = {workers}\n'
        f"gbit_per_s = {gbit}\nprocesses = 1\n")
    return folder / "cluster.toml"


@functools.cache
def planned(workers: int, file: Path, *flags: str) -> str:
    return output_of("plan", *cell(workers), "--cluster", str(file), *flags)


def in_bytes(number: str, unit: str) -> float:
    return float(number) * {"kB": 1e3, "MB": 1e6, "GB": 1e9}[unit]


def rows_of(text: str) -> list[Row]:
    found = re.findall(r"(?m)^ *(at least )?(\S+) ms +(?:< )?\S+ +(\S+) ([kMG]B) +\S+ .B  (.+)$",
                       text)
    return [Row(not bound, float(ms), in_bytes(memory, unit), tuple(flags.split()))
            for bound, ms, memory, unit, flags in found]


def step_ms(workers: int, file: Path, *flags: str) -> float:
    """The mean step of a run in virtual time."""
    out = fresh_folder()
    output_of("run", *cell(workers), "--processes", str(workers), "--strategy", *flags,
              "--cluster", str(file), "--out", str(out))
    record = json.loads((out / "simulated.jsonl").read_text())
    return float(record["training_ns"]) / float(record["step_time_ns"]["count"]) * 1e-6


class Plan(unittest.TestCase):
    def test_agrees_with_runs_of_all_candidates(self) -> None:
        for workers in (4, 8):
            winners = set()
            for gbit in (FAST, SLOW):
                with self.subTest(workers=workers, gbit=gbit):
                    file = cluster(workers, gbit)
                    rows = rows_of(planned(workers, file))
                    self.check_rows(rows, [step_ms(workers, file, *row.flags) for row in rows])
                    winners.add(rows[0].flags)
            self.assertEqual(len(winners), 2)

    def check_rows(self, rows: list[Row], times: list[float]) -> None:
        simulated = [row for row in rows if row.simulated]
        self.assertGreaterEqual(len(simulated), BEST)
        self.assertLess(len(simulated), len(rows))
        self.assertEqual(simulated, sorted(simulated, key=lambda row: row.step_ms))
        for row, time in zip(rows, times, strict=True):
            if row.simulated:
                self.assertAlmostEqual(row.step_ms / time, 1, delta=1e-5, msg=row)
            else:
                self.assertGreater(time, simulated[BEST - 1].step_ms, row)
                self.assertLess(row.step_ms, 1.00001 * time, row)
        self.assertEqual(min(times), times[0])

    def test_bounds_steps_of_varying_times(self) -> None:
        file = cluster(4, FAST, '[compute_times]\nkind = "gamma"\nspread = 0.3\n')
        rows = rows_of(planned(4, file, "--microbatches", "4"))
        self.check_rows(rows, [step_ms(4, file, *row.flags, "--steps", "32") for row in rows])

    def test_prints_commands_and_a_matrix(self) -> None:
        text = planned(4, cluster(4, FAST))
        best = [row.flags for row in rows_of(text)[:BEST]]
        commands = [line.split()[1:] for line in re.findall("(?m)^regatta run .*", text)]
        self.assertEqual([tuple(command[command.index("--strategy") + 1:-2])
                          for command in commands], best)
        output_of(*commands[0], "--steps", "2", "--out", str(fresh_folder()))
        file = fresh_folder() / "best.toml"
        file.write_text(text[text.index("seeds = "):])
        shown = output_of("matrix", str(file), "--dry-run", "--out", str(fresh_folder()))
        self.assertRegex(shown, r"\b5 cells")

    def test_counts_what_is_impossible(self) -> None:
        text = planned(8, cluster(8, FAST))
        self.assertRegex(text, r"(?m)^\d+ combinations: strategy 'tensor_parallel' with 8 shards:")
        self.assertRegex(text, r"(?m)^1 combination: .* the same as sharded --shard optimizer$")
        counts = re.findall(r"(?m)^(\d+) combinations?: ", text)
        self.assertEqual(len(rows_of(text)) + sum(map(int, counts)), 52)

    def test_leaves_out_what_does_not_fit(self) -> None:
        rows = rows_of(planned(4, cluster(4, FAST)))
        needs = sorted(row.memory for row in rows)
        limit = needs[len(needs) // 2] * 1.001
        text = planned(4, cluster(4, FAST), "--memory", f"{limit / 1e3}kB")
        fit = rows_of(text)
        self.assertEqual(sorted(row.memory for row in fit), [n for n in needs if n <= limit])
        over = re.findall(r"(?m)^ *(\S+) (.B), (\S+) (.B) too much: (.+)$", text)
        self.assertLessEqual({row.flags for row in rows}, {row.flags for row in fit}
                             | {tuple(flags.split()) for *_, flags in over})
        for need, unit, more, of_more, _ in over:
            self.assertAlmostEqual(in_bytes(need, unit) - in_bytes(more, of_more), limit,
                                   delta=3e-3 * limit)


class BadInput(unittest.TestCase):
    def refused(self, says: str, *flags: str) -> None:
        done = regatta("plan", *flags)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertRegex(done.stderr, says)

    def test_is_refused_in_one_line(self) -> None:
        file = ("--cluster", str(cluster(4, FAST)))
        usual = (*cell(4), *file)
        least = min(row.memory for row in rows_of(planned(4, cluster(4, FAST))))
        need = f"{least / 1e3:.4g} kB" if least < 1e6 else f"{least / 1e6:.4g} MB"
        for says, *flags in (
                (rf"--memory 1kB: the least that a worker needs is {re.escape(need)}, with "
                 "--strategy .*fix: ", *usual, "--memory", "1kB"),
                (r"--memory '80': write a number above 0 and its unit", *usual, "--memory", "80"),
                (r"unknown workload 'gpt_tinny'; did you mean 'gpt_tiny'", "--workload",
                 "gpt_tinny", "--workers", "4", *file),
                (r"--workers is 1; fix: give 2 or more", *cell(1), *file),
                (r"needs --cluster", *cell(4)),
                (r"cannot read /nowhere", *cell(4), "--cluster", "/nowhere/cluster.toml"),
                (r"--strategy is a flag whose values are compared", *usual, "--strategy",
                 "all_reduce"),
                (r"no room for process 4 of 8", *cell(8), *file),
                (r"lacks kernels of it; fix: regatta calibrate --plan", *usual, "--global-batch",
                 "7")):
            with self.subTest(flags=flags):
                self.refused(says, *flags)


if __name__ == "__main__":
    run_tests()
