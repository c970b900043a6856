# SPDX-License-Identifier: Apache-2.0
"""Tests the parts of figures and pages that hold other programs against Regatta, by invented
records."""

import unittest
from pathlib import Path
from typing import Any

from figure_race import draw
from judgement import group_runs, runs_of
from labels import cell_labels
from made_up import made_up_judgement, made_up_record
from page import page_of
from palette import style_of
from strategies import split_program


def of_program(seed: int, digest: str = "0123456789abcdef", **change: Any) -> dict[str, Any]:
    """A run of PyTorch's all_reduce that takes three times as long as Regatta's."""
    record = made_up_record("parabola", "pytorch all_reduce", seed, pace=3.0)
    record["cell"]["program"] = {"name": "pytorch", "digest": digest, "strategy": "all_reduce"}
    record.update(schema=16, setup_ns=12_000_000_000, interface_bytes=120_000_000,
                  program={"framework": "pytorch", "versions": {"torch": "2.15.0"},
                           "notes": {"compile": "41 s"}},
                  proof={"gradient_difference": 1e-7, "loss_difference": 1e-7 * seed,
                         "parameter_difference": 0.0})
    return {**record, **change}


def with_regatta(*records: dict[str, Any]) -> Any:
    """A judgement of records beside three runs of Regatta's all_reduce."""
    return made_up_judgement([*(made_up_record("parabola", "all_reduce", seed)
                                for seed in (1, 2, 3)), *records])


class Programs(unittest.TestCase):
    def test_stand_beside_regatta_with_their_proof(self) -> None:
        (row,) = page_of(with_regatta(*map(of_program, (1, 2, 3))), Path()).programs
        self.assertEqual((row.label, row.framework, row.setup, row.proof),
                         ("pytorch all_reduce", "torch 2.15.0; compile: 41 s", "12.0 s",
                          "3.0e-07 in 3 of 3 runs"))
        self.assertAlmostEqual(float(row.times), 3.0, delta=0.4)
        self.assertEqual(row.sent, "2.00 kB")  # 120 MB, 60,000 examples

    def test_say_where_a_proof_is_missing_or_of_the_gradient_only(self) -> None:
        proof = {"gradient_difference": 2e-7, "loss_difference": None, "parameter_difference": None}
        (row,) = page_of(with_regatta(of_program(1, proof=proof)), Path()).programs
        self.assertEqual(row.proof, "gradient only: 2.0e-07")
        (row,) = page_of(with_regatta(of_program(1, proof=None)), Path()).programs
        self.assertEqual(row.proof, "none")
        self.assertEqual(page_of(with_regatta(), Path()).programs, [])

    def test_of_one_name_are_told_apart_by_their_commands(self) -> None:
        runs = runs_of(made_up_judgement([of_program(1), of_program(1, "f" * 16)])["workloads"])
        self.assertEqual(set(cell_labels(group_runs(runs)).values()),
                         {f"pytorch all_reduce, program {digits}"
                          for digits in ("012345", "ffffff")})

    def test_are_dashed_lines_in_a_shade_of_their_strategys_colour(self) -> None:
        runs = runs_of(with_regatta(*map(of_program, (1, 2, 3)))["workloads"])
        self.assertEqual(split_program("pytorch compiled all_reduce+powersgd"),
                         ("pytorch compiled", "all_reduce+powersgd"))
        self.assertEqual(split_program("mine"), ("mine", ""))
        self.assertNotIn(style_of("pytorch all_reduce").colour,
                         {style_of("all_reduce").colour, style_of("single").colour})
        styles = {line.get_linestyle() for axes in draw(runs).axes for line in axes.get_lines()
                  if len(line.get_xdata()) == 13}
        self.assertEqual(styles, {"-", "--"})


if __name__ == "__main__":
    unittest.main()
