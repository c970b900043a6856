# SPDX-License-Identifier: Apache-2.0
"""Estimates speeds of workers on hosts of their own, by formulas, from a measured step.

The estimate takes the time to compute an example from the measured step, divides the same global
batch among more workers, and adds the transfers of link_formulas.py. It assumes that computing and
transfers do not overlap, and that no worker waits for a slower one.
"""

from dataclasses import dataclass
from typing import Any

from judgement import variant_of
from link_formulas import Formula, formula_of
from strategies import table

Json = dict[str, Any]

WORKERS = (2, 8, 32)
GIGABITS = (1, 10)
DELAY_S = 25e-6  # one-way delay between two hosts of a rack
RINGS = (None, "ring", "mpi")  # all_reduce algorithms that the ring's formula bounds


@dataclass
class WhatIf:
    label: str
    colour: str
    speeds: list[float]  # examples/s; for each of WORKERS, one for each of GIGABITS


def _computing(cell: Json) -> float:
    """Seconds that a worker needs to compute an example."""
    parts = cell["step_seconds"]
    batch: float = cell["cell"]["global_batch"] / cell["cell"]["workers"]
    return (parts["compute"] + parts["input"] + parts["update"]) / batch


def _speed(cell: Json, formula: Formula, workers: int, gigabits: int) -> float:
    measured = variant_of(cell["cell"])
    servers = int(measured.option("servers") or 1)
    parameters = cell["bytes_per_step_computed"] / formula(measured.workers, servers).sent
    transfers = formula(workers, servers).seconds(parameters, gigabits * 125e6, DELAY_S)
    batch = measured.global_batch
    return batch / (_computing(cell) * batch / workers + transfers)


def _formula(cell: Json) -> Formula | None:
    """The cell's formula; None if its strategy has none, or its step is no basis for estimates."""
    variant = variant_of(cell["cell"])
    if (variant.strategy not in table() or variant.workers < 2 or variant.global_batch <= 0
            or variant.option("all_reduce") not in RINGS or variant.straggler
            or variant.oversubscribed or cell["step_seconds"]["compute"] <= 0):
        return None
    return formula_of(table()[variant.strategy])


def what_if(judged: Json, labels: list[str], colours: list[str]) -> list[WhatIf]:
    """A row for each cell of one workload that has a formula."""
    return [WhatIf(label, colour, [_speed(cell, formula, workers, gigabits)
                                   for workers in WORKERS for gigabits in GIGABITS])
            for cell, label, colour in zip(judged["cells"], labels, colours)
            if (formula := _formula(cell))]
