# SPDX-License-Identifier: Apache-2.0
"""What if the workers had hosts of their own: speeds by formulas, from a measured step.

The estimate takes what computing an example costs in the measured step, deals the same global batch
to more workers, and adds the transfers of link_formulas.py. Nothing overlaps in it, and no worker
waits for a slower one.
"""

from dataclasses import dataclass
from typing import Any

from judgement import Variant, variant_of
from link_formulas import TRANSFERS, parameter_bytes

Json = dict[str, Any]

WORKERS = (2, 8, 32)
GIGABITS = (1, 10)
DELAY_S = 25e-6  # one way, of a link between two hosts of a rack
RINGS = (None, "ring", "mpi")  # all_reduce algorithms that the ring's formula bounds


@dataclass
class WhatIf:
    label: str
    colour: str
    speeds: list[float]  # examples/s: for each of WORKERS, by GIGABITS


def _computing(cell: Json) -> float:
    """Seconds that a worker computes for an example."""
    parts = cell["step_seconds"]
    batch: float = cell["cell"]["global_batch"] / cell["cell"]["workers"]
    return (parts["compute"] + parts["input"] + parts["update"]) / batch


def _speed(cell: Json, variant: Variant, workers: int, gigabits: int) -> float:
    servers = variant.option("servers") or 1
    moved = parameter_bytes(variant.strategy, cell["bytes_per_step_computed"], variant.workers)
    transfers = TRANSFERS[variant.strategy](workers, int(servers))
    step = (_computing(cell) * variant.global_batch / workers
            + transfers.seconds(moved, gigabits * 125e6, DELAY_S))
    return variant.global_batch / step


def _has_formula(cell: Json, variant: Variant) -> bool:
    return (variant.strategy in TRANSFERS and variant.workers > 1
            and variant.option("all_reduce") in RINGS and not variant.straggler
            and not variant.oversubscribed and variant.global_batch > 0
            and cell["step_seconds"]["compute"] > 0)


def what_if(judged: Json, labels: list[str], colours: list[str]) -> list[WhatIf]:
    """A row for each cell that has a formula, of one workload."""
    return [WhatIf(label, colour, [_speed(cell, variant, workers, gigabits)
                                   for workers in WORKERS for gigabits in GIGABITS])
            for cell, label, colour in zip(judged["cells"], labels, colours)
            if _has_formula(cell, variant := variant_of(cell["cell"]))]
